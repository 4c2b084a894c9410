//! Short, stable names for content: equal bytes, equal name, on every machine and release.
//!
//! Does not know: what is named. Sole user of `sha2`.

use sha2::{Digest, Sha256};

/// Takes content piece by piece.
#[derive(Default)]
pub struct Short(Sha256);

impl Short {
    /// The next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    /// The first 64 bits of SHA-256: far more than a gateway's zones and rules need, and short
    /// enough to read aloud.
    pub fn finish(self) -> u64 {
        let digest = self.0.finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("SHA-256 has 32 bytes"))
    }
}

/// The name of one piece.
pub fn short(bytes: &[u8]) -> u64 {
    let mut hash = Short::default();
    hash.update(bytes);
    hash.finish()
}
