//! What is kept in memory of each of the two streams.
//!
//! Always holds: equals what is in the database at every moment between two transactions, but
//! for `acked`, which may be ahead of `acked_stored` for up to a commit: losing it only means
//! that events are sent again under the same ids.
//! Does not know: what the events say.

use rusqlite::{Connection, OptionalExtension};

use super::spool;
use crate::logic::event::Lane;

/// What a row weighs beside its body: rowid, kind, two times, record and cell headers, and its
/// share of a page that is on average three quarters full.
pub(super) const ROW_OVERHEAD_BYTES: u64 = 256;

/// One stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LaneState {
    pub(super) lane: Lane,
    /// The last number given.
    pub(super) last: u64,
    /// Everything up to here is acknowledged.
    pub(super) acked: u64,
    /// The same, as far as it is durable.
    pub(super) acked_stored: u64,
    /// Rows above `acked`.
    pub(super) waiting: u64,
    /// What they weigh.
    pub(super) bytes: u64,
    /// Dropped since the store was made.
    pub(super) lost: u64,
    /// Dead-lettered since the store was made.
    pub(super) dead: u64,
}

/// The lane's table, and its name in others.
pub(super) const fn name(lane: Lane) -> &'static str {
    match lane {
        Lane::Events => "event",
        Lane::Telemetry => "telemetry",
    }
}

/// Its place in an array of both.
pub(super) const fn index(lane: Lane) -> usize {
    match lane {
        Lane::Events => 0,
        Lane::Telemetry => 1,
    }
}

/// The last number that SQLite gave in this lane.
pub(super) fn sequence(conn: &Connection, lane: Lane) -> rusqlite::Result<u64> {
    let last: Option<i64> = conn
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = ?1")?
        .query_row([name(lane)], |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or(0) as u64)
}

/// Reads one stream's state at a start.
pub(super) fn load(conn: &Connection, lane: Lane) -> rusqlite::Result<LaneState> {
    let last = sequence(conn, lane)?;
    let (acked, lost, dead) = conn.query_row(
        "SELECT acked, lost, dead FROM lane WHERE lane = ?1",
        [name(lane)],
        |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)),
    )?;
    let acked = (acked as u64).min(last);
    let (waiting, bytes) = spool::weigh(conn, lane, acked, last)?;
    let (lost, dead) = (lost as u64, dead as u64);
    Ok(LaneState { lane, last, acked, acked_stored: acked, waiting, bytes, lost, dead })
}
