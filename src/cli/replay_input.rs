//! What is read of a replay's input at once: its first bytes, a line.
//!
//! Always holds: however long a line is, no more of it than the longest record is kept.
//! Does not know: what is in it.

use std::io::{self, BufRead, Read};

use crate::logic::gnss::record::{RECORD_BYTES_MAX, SNIFF_BYTES};

/// A record's longest line: a read of 64 KiB of quotation marks, and as much again.
const LONG_BYTES_MAX: usize = 256 * 1024;

/// The bytes that tell what an input is, however a pipe cuts them.
pub(super) fn first_bytes(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut first = Vec::new();
    source.take(SNIFF_BYTES as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// The next line into `line`. Of one that is too long comes just enough to be refused, and the
/// rest is skipped: nothing in it is a line. Says how much came; 0 at the end.
pub(super) fn line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    bounded(reader, line, RECORD_BYTES_MAX + 1)
}

/// The same for a line of what `record` wrote: a source's longest read, escaped.
pub(super) fn long_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    bounded(reader, line, LONG_BYTES_MAX)
}

fn bounded(reader: &mut impl BufRead, line: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
    line.clear();
    let read = reader.by_ref().take(limit as u64).read_until(b'\n', line)?;
    if read == limit && !line.ends_with(b"\n") {
        reader.skip_until(b'\n')?;
    }
    Ok(read)
}

/// Passes bytes on until a line has more of them than the longest record. The reader behind it
/// keeps a line whole in memory, whatever its length.
pub(super) struct BoundedLines<R> {
    inner: R,
    line_bytes: usize,
}

impl<R> BoundedLines<R> {
    pub(super) fn new(inner: R) -> Self {
        Self { inner, line_bytes: 0 }
    }
}

impl<R: Read> Read for BoundedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        for piece in buffer[..len].split_inclusive(|byte| *byte == b'\n') {
            self.line_bytes += piece.len();
            if self.line_bytes > RECORD_BYTES_MAX {
                let why = format!("a line is longer than {RECORD_BYTES_MAX} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            if piece.ends_with(b"\n") {
                self.line_bytes = 0;
            }
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives one byte a read, as a slow pipe may.
    struct Slow<R>(R);

    impl<R: Read> Read for Slow<R> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }

    #[test]
    fn the_first_bytes_are_as_many_as_there_are_however_they_come() {
        let text = vec![b'x'; SNIFF_BYTES + 9];
        for (len, want) in [(0, 0), (7, 7), (SNIFF_BYTES + 9, SNIFF_BYTES)] {
            assert_eq!(first_bytes(&mut Slow(&text[..len])).unwrap().len(), want);
        }
    }

    /// Bytes in a line without its end, and whether CSV takes them and what JSON lines keep.
    #[test]
    fn a_line_is_kept_up_to_the_longest_record() {
        for (len, fits) in
            [(9, true), (RECORD_BYTES_MAX - 1, true), (RECORD_BYTES_MAX, false), (90_000, false)]
        {
            let mut text = vec![b'{'; len];
            text.extend(b"\nnext\n");
            let mut all = Vec::new();
            let read = BoundedLines::new(Slow(text.as_slice())).read_to_end(&mut all);
            assert_eq!(read.is_ok(), fits, "{len}");

            let (mut reader, mut kept) = (text.as_slice(), Vec::new());
            let read = line(&mut reader, &mut kept).unwrap();
            assert_eq!((read, kept.len()), ((len + 1).min(RECORD_BYTES_MAX + 1), read), "{len}");
            line(&mut reader, &mut kept).unwrap();
            assert_eq!(kept, b"next\n", "{len}");
            assert_eq!(line(&mut reader, &mut kept).unwrap(), 0, "{len}");
        }
    }
}
