//! What the store costs the flash, and what waits in it (STO-2).
//!
//! Always holds: counters only grow while the process runs; what is estimated says so.
//! Does not know: days and budgets; who asks subtracts.

use crate::units::{Span, WallTime};

/// A WAL frame's header, from SQLite's file format.
pub(super) const FRAME_HEADER_BYTES: u64 = 24;
/// Fsyncs of a checkpoint: the WAL before it, the database after it.
pub(super) const CHECKPOINT_FSYNCS: u64 = 2;

/// Work done since the start of the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meters {
    /// Transactions that were made durable.
    pub commits: u64,
    /// Transactions that failed; nothing of them was kept.
    pub commits_failed: u64,
    /// WAL moved into the database file.
    pub checkpoints: u64,
    /// Estimated: one a commit, one more where the WAL begins anew, two a checkpoint.
    pub fsyncs: u64,
    /// Estimated from above: WAL frames written, and at each checkpoint all its frames again, but
    /// no more than the database has pages.
    pub bytes_written: u64,
    /// The longest that a commit took, failed ones included.
    pub slowest_commit: Span,
    /// Stored events that could not be read back.
    pub unreadable: u64,
}

/// One stream's part of the spool.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LaneCounts {
    /// The last number given.
    pub last_seq: u64,
    /// Everything up to here is acknowledged.
    pub acked_seq: u64,
    /// Committed and not acknowledged.
    pub waiting: u64,
    /// What these weigh against `[spool] max_bytes`.
    pub waiting_bytes: u64,
    /// System clock when the oldest of these was committed. A hint.
    pub oldest_recorded: Option<WallTime>,
    /// Dropped for want of space or for age since the store was made.
    pub lost: u64,
    /// Moved aside because the server will not have them, since the store was made.
    pub dead_lettered: u64,
}

/// What `status` shows of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// What changes memberships.
    pub events: LaneCounts,
    /// Low-priority records.
    pub telemetry: LaneCounts,
    /// `[spool] max_bytes`.
    pub max_bytes: u64,
    /// Size of the database file, without its WAL.
    pub file_bytes: u64,
    /// Work done since the start of the process.
    pub meters: Meters,
}
