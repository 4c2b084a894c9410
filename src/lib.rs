//! `geofenced` as a library: see the README for what it is for.
//!
//! # Floors
//!
//! Imports go down only; `tests/tidy.rs` holds it.
//!
//! | floor | module | what it is |
//! |---|---|---|
//! | 4 | [`cli`] | arguments and one file per command |
//! | 3 | [`daemon`] | wiring only: the pipeline thread, start order, shutdown |
//! | 2 | [`store`] | SQLite, synchronous |
//! | 2 | [`edge`] | the outside, one file per kind |
//! | 1 | [`logic`] | every decision, pure |
//! | 0 | [`units`] | quantities and names |
//!
//! # What flows
//!
//! ```text
//! bytes → Sentence → Fix → OrderedFix → Observation → Commit → Event
//! Engine::step(Input) → Step   Engine::take_group() → Group
//! Store::commit(&Group), one transaction
//! Store → Batch (only ever read back from the store) → uplink → Ack → Store deletes
//! ```

pub mod cli;
pub mod daemon;
pub mod edge;
pub mod logic;
pub mod store;
pub mod units;
