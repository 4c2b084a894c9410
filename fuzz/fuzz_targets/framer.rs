//! Any bytes through the framer.
//!
//! Holds: what is handed out is printable and keeps no mark of a line; at most a sentence or fault
//! and a run of noise for each line end, `$` or `!`; pieces of any size give what the whole gives.

#![no_main]

use geofenced::logic::gnss::Reject;
use geofenced::logic::gnss::line::{Checksum, Framer, SENTENCE_BYTES_MAX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else { return };
    let policy = if first & 1 == 0 { Checksum::Required } else { Checksum::IfPresent };
    let piece = usize::from(first >> 1).max(1);
    let whole = fed(policy, bytes, bytes.len().max(1));
    assert_eq!(fed(policy, bytes, piece), whole, "in pieces of {piece}");
    let marks = bytes.iter().filter(|b| matches!(b, b'$' | b'!' | b'\r' | b'\n')).count();
    assert!(whole.len() <= 2 * (marks + 1), "{} of {marks}", whole.len());
});

/// What comes out: of a sentence its length and a sum of its bytes.
fn fed(policy: Checksum, bytes: &[u8], piece: usize) -> Vec<Result<(usize, u64), Reject>> {
    let mut framer = Framer::new(policy);
    let mut seen = Vec::new();
    for mut chunk in bytes.chunks(piece) {
        while let Some(framed) = framer.feed(&mut chunk) {
            seen.push(
                framed.map(|sentence| told(sentence.talker(), sentence.kind(), sentence.data())),
            );
        }
        assert!(chunk.is_empty(), "all is taken");
    }
    seen.extend(framer.finish().map(|framed| {
        framed.map(|sentence| told(sentence.talker(), sentence.kind(), sentence.data()))
    }));
    seen
}

fn told(talker: &str, kind: &str, data: &str) -> (usize, u64) {
    let bytes = || talker.bytes().chain(kind.bytes()).chain([b',']).chain(data.bytes());
    assert!(bytes().all(|b| (b' '..=b'~').contains(&b) && !matches!(b, b'$' | b'!' | b'*')));
    assert!(bytes().count() <= SENTENCE_BYTES_MAX);
    (bytes().count(), bytes().fold(0, |sum: u64, b| sum.wrapping_mul(31) + u64::from(b)))
}
