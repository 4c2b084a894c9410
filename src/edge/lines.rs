//! Bytes of one connection → whole lines.
//!
//! Always holds: at most one line of the longest kind is kept; a longer one is given cut, one byte
//! over the cap, so that whoever reads it counts it once; no byte of two connections meets in a
//! line. Does not know: what the lines say.

use crate::logic::gnss::record::RECORD_BYTES_MAX;
use crate::logic::lines;

/// One connection's half line.
#[derive(Debug, Default)]
pub(super) struct Lines {
    half: Vec<u8>,
}

impl Lines {
    /// Takes `bytes`; gives the whole lines there are now, each ended.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let (ended, rest) = lines::whole(bytes);
        let mut whole = Vec::new();
        if let Some(ended) = ended.strip_suffix(b"\n") {
            whole.reserve_exact(self.half.len() + ended.len() + 1);
            whole.append(&mut self.half);
            let mut begin = 0;
            for part in lines::parts(ended) {
                cut(&mut whole, begin, part);
                whole.push(b'\n');
                begin = whole.len();
            }
        }
        cut(&mut self.half, 0, rest);
        whole
    }

    /// The end of the connection: what is half read is a line too.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        if self.half.is_empty() { Vec::new() } else { self.push(b"\n") }
    }
}

/// Adds what there is room for to the line that begins at `begin`.
fn cut(line: &mut Vec<u8>, begin: usize, part: &[u8]) {
    let room = (RECORD_BYTES_MAX + 1).saturating_sub(line.len() - begin);
    line.extend_from_slice(&part[..part.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However the bytes are cut, the lines are the same.
    fn check(bytes: &[u8], expected: &[u8]) {
        for cut in [1, 2, 3, 7, 4096, usize::MAX] {
            let mut lines = Lines::default();
            let mut told: Vec<u8> = bytes.chunks(cut).flat_map(|part| lines.push(part)).collect();
            told.extend(lines.finish());
            assert!(told == expected, "cut at {cut}: {}", String::from_utf8_lossy(&told));
            assert_eq!(lines.finish(), b"");
        }
    }

    #[test]
    fn whole_lines_however_the_bytes_are_cut() {
        check(b"", b"");
        check(b"\n", b"\n");
        check(b"a\nbc\r\n\nd", b"a\nbc\r\n\nd\n");
        check(b"a\nb\n", b"a\nb\n");
    }

    #[test]
    fn a_line_without_end_is_given_once_and_cut() {
        let longest = vec![b'x'; RECORD_BYTES_MAX + 1];
        let endless = [&longest[..], &longest[..], b"\nb\n"].concat();
        check(&endless, &[&longest[..], b"\nb\n"].concat());
        let mut lines = Lines::default();
        for _ in 0..100 {
            assert_eq!(lines.push(&longest), b"");
        }
        assert!(lines.half.capacity() <= 4 * RECORD_BYTES_MAX);
    }
}
