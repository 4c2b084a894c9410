//! The crossing machine (DESIGN §4): from what fixes say of a zone to what is committed.
//!
//! `ground` holds the zones in force; `observe` says Inside, Outside or Unsure; `pair` is what is
//! remembered of one (asset, zone); `machine` is the pure step; `bracket` names what a crossing is
//! called; `pass` follows a path past a zone; `first` is the common first evaluation; `turn` is
//! one fix; `asset` runs all pairs of one asset. `slot` and `table` are how pairs lie in memory,
//! `silences` is what the brackets of one asset share, `wheel` sweeps votes that ran out.
//!
//! Always holds: per pair, commits alternate (INV-1); time is applied before the observation.
//! Does not know: bytes, stores, event numbers, other assets.

pub mod asset;
pub mod bracket;
pub mod first;
pub mod ground;
pub mod machine;
pub mod observe;
pub mod pair;
pub mod pass;
pub mod silences;
pub mod slot;
pub mod table;
mod turn;
pub mod wheel;
