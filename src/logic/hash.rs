//! Short, stable names for content: equal bytes, equal name, on every machine and release.
//!
//! Does not know: what is named. Sole user of `sha2`.

use sha2::{Digest, Sha256};

/// The first 64 bits of SHA-256: far more than a gateway's zones and rules need, and short enough
/// to read aloud.
pub fn short(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    u64::from_be_bytes(digest[..8].try_into().expect("SHA-256 has 32 bytes"))
}
