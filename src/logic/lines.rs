//! Bytes as lines.
//!
//! Always holds: no byte is lost and none is copied. Does not know: what lines say, how long they
//! may be. Sole user of `memchr`.

use memchr::{memchr, memrchr};

/// What lies between line ends, and before the first and behind the last: one part more than
/// there are ends.
pub fn parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest?;
        let Some(end) = memchr(b'\n', bytes) else { return rest.take() };
        rest = Some(&bytes[end + 1..]);
        Some(&bytes[..end])
    })
}

/// The lines that are whole, ends and all, and what follows them.
pub fn whole(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(memrchr(b'\n', bytes).map_or(0, |last| last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_of_the_standard_library() {
        for text in ["", "\n", "a", "a\n", "\na", "a\nbc\r\n\nd", "\n\n", "abc\0\n\u{ff}\n"] {
            let wanted: Vec<&[u8]> = text.as_bytes().split(|byte| *byte == b'\n').collect();
            assert_eq!(parts(text.as_bytes()).collect::<Vec<_>>(), wanted, "{text:?}");
            let (ended, rest) = whole(text.as_bytes());
            assert_eq!([ended, rest].concat(), text.as_bytes());
            assert_eq!(rest, *wanted.last().unwrap(), "{text:?}");
        }
    }
}
