//! Floor 2: one SQLite database that holds what is believed and what is not yet delivered.
//!
//! Always holds: a group's events, memberships and last-seen commit in one transaction or not at
//! all (STO-1); numbers have no hole (INV-3); the fold of all events equals the stored
//! memberships at every commit (INV-2), if each group's does; only committed events are read
//! back; an event is deleted only once acknowledged or recorded as lost (INV-5).
//! Does not know: clocks (times are arguments), how events are decided or sent. Sole user of
//! `rusqlite`; owned by one thread; blocks.
//!
//! ```text
//! Store::start ─ open → check → migrate → load ─▶ (Store, Restored)
//! Store::commit(&Group)  →  batch  →  (sent)  →  acknowledge  →  deleted with the next commit
//! ```

mod aside;
mod error;
mod lane;
mod meter;
mod open;
mod read;
mod restore;
mod spool;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::logic::event::Lane;
use crate::logic::group::{Batch, CommitNumber, Group, Loss, Restored, Rows};
use crate::units::{AssetId, BootTime, Span, StreamId, WallTime};

pub use error::StoreError;
pub use meter::{Counts, LaneCounts, Meters};
pub use open::{Checked, Migrated, OpenOptions, Opened};
pub use read::{EventQuery, Found, ReadOnly};

use error::At;
use lane::LaneState;
use meter::{CHECKPOINT_FSYNCS, FRAME_HEADER_BYTES};
use spool::Bounds;

/// The WAL is moved into the database at this many frames (1 MiB): some 300 commits, so a power
/// cut leaves little to read back and a page written often is moved once.
const CHECKPOINT_FRAMES: u64 = 256;

/// How many batches full of unreadable rows are passed over at one go.
const UNREADABLE_ROUNDS: usize = 100;

/// The store of one gateway, open in this process alone.
pub struct Store {
    conn: Connection,
    path: PathBuf,
    stream: StreamId,
    run: i64,
    /// How many commits this run has made.
    commits: u64,
    lanes: [LaneState; 2],
    /// Time that daemons have run on this store: what the spool's age counts in. No receiver and no
    /// system clock can push it.
    age: Span,
    aged_at: BootTime,
    bounds: Bounds,
    page_bytes: u64,
    wal_frames: u64,
    meters: Meters,
    clock: fn() -> BootTime,
}

/// What a commit did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Committed {
    /// Events of both lanes that are now durable.
    pub events: u32,
    /// Older waiting records that had to go for them; see [`Store::pending_loss`].
    pub dropped: u64,
    /// Estimated bytes written.
    pub bytes: u64,
    /// How long it took.
    pub took: Span,
}

impl Store {
    /// Opens or begins the store at `path`; see [`Opened`] for the steps (STO-4).
    pub fn start(path: &Path, options: &OpenOptions) -> Result<(Self, Restored), StoreError> {
        open::start(path, options)
    }

    fn begun(
        conn: Connection,
        path: PathBuf,
        stream: StreamId,
        lanes: [LaneState; 2],
        age: Span,
        run: i64,
        options: &OpenOptions,
    ) -> Result<Self, StoreError> {
        let page_bytes = open::pragma(&conn, "page_size")
            .map_err(|error| At { path: &path, doing: "opening" }.sql(error))?;
        let mut store = Self {
            conn,
            path,
            stream,
            run,
            commits: 0,
            lanes,
            age,
            aged_at: options.now_boot,
            bounds: Bounds { bytes: options.max_bytes, age: options.max_age },
            page_bytes: page_bytes as u64,
            wal_frames: 0,
            meters: Meters::default(),
            clock: options.clock,
        };
        // Whatever an unclean stop left in the WAL is moved once, so that frames are ours.
        store.checkpoint("PASSIVE");
        Ok(store)
    }

    /// Makes `group` durable in one transaction, with the acknowledgements and drops that wait.
    /// An empty group is a heartbeat: it says that we still ran.
    ///
    /// After an error nothing of it was kept: the caller still has the group and may try again,
    /// merged with what comes after, where [`StoreError::may_recover`] says so.
    pub fn commit(
        &mut self,
        group: &Group,
        now_boot: BootTime,
        now_wall: WallTime,
    ) -> Result<Committed, StoreError> {
        let started = (self.clock)();
        let mut lanes = self.lanes;
        let age = self.age + (now_boot - self.aged_at).max(Span::ZERO);
        let commits = self.commits + 1;
        let run = Run { row: self.run, commits, now_boot, now_wall, clean: false };
        let done = self.transact(group, &run, &mut lanes, age);
        let took = (self.clock)() - started;
        self.meters.slowest_commit = self.meters.slowest_commit.max(took);
        let dropped = match done {
            Ok(dropped) => dropped,
            Err(error) => {
                self.meters.commits_failed += 1;
                if matches!(error, StoreError::Full(_)) {
                    // The WAL may be most of what fills the disk: give back what it holds.
                    self.checkpoint("TRUNCATE");
                }
                return Err(error);
            }
        };
        (self.lanes, self.commits) = (lanes, commits);
        (self.age, self.aged_at) = (age, now_boot.max(self.aged_at));
        let bytes = self.meter_commit();
        let events = group.events.len() as u32;
        Ok(Committed { events, dropped, bytes, took })
    }

    /// The transaction itself; `lanes` is a draft that counts only if it succeeds.
    fn transact(
        &mut self,
        group: &Group,
        run: &Run,
        lanes: &mut [LaneState; 2],
        age: Span,
    ) -> Result<u64, StoreError> {
        let at = At { path: &self.path, doing: "committing" };
        let sql = |error| at.sql(error);
        let tx =
            self.conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let target = write::Target { conn: &tx, at, stream: &self.stream, now_wall: run.now_wall };
        write::group(&target, lanes, age, group)?;
        for state in lanes.iter_mut() {
            spool::persist_ack(&tx, state).map_err(sql)?;
        }
        let dropped = spool::enforce(&tx, lanes, self.bounds, age).map_err(sql)?;
        run.write(&tx).map_err(sql)?;
        tx.commit().map_err(sql)?;
        Ok(dropped)
    }

    /// Counts a commit, and moves the WAL when it has grown long.
    fn meter_commit(&mut self) -> u64 {
        let frames = self.frames();
        // The WAL begins anew after a checkpoint that moved all of it: its header is synced.
        let anew = self.wal_frames == 0;
        let written = frames.saturating_sub(self.wal_frames);
        let bytes = written * (self.page_bytes + FRAME_HEADER_BYTES);
        self.wal_frames = frames;
        self.meters.commits += 1;
        self.meters.fsyncs += 1 + u64::from(anew);
        self.meters.bytes_written += bytes;
        if frames >= CHECKPOINT_FRAMES {
            self.checkpoint("PASSIVE");
        }
        bytes
    }

    /// Frames in the WAL, without doing anything to it.
    fn frames(&self) -> u64 {
        self.conn
            .query_row("PRAGMA wal_checkpoint(NOOP)", (), |row| row.get::<_, i64>(1))
            .map_or(self.wal_frames, |frames| frames.max(0) as u64)
    }

    /// Moves the WAL into the database. To fail here loses nothing: the next commit tries again.
    fn checkpoint(&mut self, mode: &str) {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        let moved = self.conn.query_row(&sql, (), |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        if let Ok((0, frames, moved)) = moved {
            // A page that was written often is moved once: no more than there are pages.
            let pages = open::pragma(&self.conn, "page_count").unwrap_or(moved);
            self.meters.checkpoints += 1;
            self.meters.fsyncs += CHECKPOINT_FSYNCS;
            self.meters.bytes_written += moved.clamp(0, pages.max(0)) as u64 * self.page_bytes;
            self.wal_frames = if frames == moved { 0 } else { frames.max(0) as u64 };
        }
    }

    /// Notes that the run ends as it should and moves the WAL. Consumes the store.
    pub fn close_clean(mut self, now_boot: BootTime, now_wall: WallTime) -> Result<(), StoreError> {
        let commits = self.commits + 1;
        let run = Run { row: self.run, commits, now_boot, now_wall, clean: true };
        let mut lanes = self.lanes;
        self.transact(&Group::default(), &run, &mut lanes, self.age)?;
        let at = At { path: &self.path, doing: "closing" };
        self.conn.close().map_err(|(_, error)| at.sql(error))
    }

    /// The oldest waiting events above `after`, in seq order: at most `max_events` that weigh at
    /// most `max_bytes`, but at least one. What cannot be read is dead-lettered on the way.
    pub fn batch(
        &mut self,
        lane: Lane,
        after: Option<u64>,
        max_events: usize,
        max_bytes: u64,
    ) -> Result<Batch, StoreError> {
        for _ in 0..UNREADABLE_ROUNDS {
            let at = At { path: &self.path, doing: "reading a batch" };
            let state = &self.lanes[lane::index(lane)];
            let read = spool::read_batch(&self.conn, state, after, max_events, max_bytes)
                .map_err(|error| at.sql(error))?;
            if read.unreadable.is_empty() {
                return Ok(read.batch);
            }
            for seq in read.unreadable {
                self.meters.unreadable += 1;
                self.dead_letter(lane, seq, "cannot be read back from the store")?;
            }
        }
        Ok(Batch { lane, events: Vec::new(), more: true })
    }

    /// Takes everything up to `up_to` as delivered and says how many that newly were. They are
    /// deleted with the next commit: until then a kill means that they are sent again. A number
    /// that was never given counts as the last one given.
    pub fn acknowledge(&mut self, lane: Lane, up_to: u64) -> Result<u64, StoreError> {
        let at = At { path: &self.path, doing: "acknowledging" };
        let state = &mut self.lanes[lane::index(lane)];
        let up_to = up_to.min(state.last);
        if up_to <= state.acked {
            return Ok(0);
        }
        let (rows, bytes) =
            spool::weigh(&self.conn, lane, state.acked, up_to).map_err(|error| at.sql(error))?;
        state.waiting -= rows;
        state.bytes -= bytes;
        state.acked = up_to;
        Ok(rows)
    }

    /// Whether an acknowledgement waits for a commit: make one within a second or so.
    pub fn ack_pending(&self) -> bool {
        self.lanes.iter().any(|state| state.acked != state.acked_stored)
    }

    /// Moves one waiting event aside, at once and durably: the server will not have it. `false`
    /// where it no longer waits.
    pub fn dead_letter(&mut self, lane: Lane, seq: u64, why: &str) -> Result<bool, StoreError> {
        let at = At { path: &self.path, doing: "dead-lettering" };
        let mut state = self.lanes[lane::index(lane)];
        let tx = self
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| at.sql(error))?;
        let moved = spool::dead_letter(&tx, &mut state, seq, why)
            .and_then(|moved| tx.commit().map(|()| moved))
            .map_err(|error| at.sql(error))?;
        self.lanes[lane::index(lane)] = state;
        self.meter_commit();
        Ok(moved)
    }

    /// Losses that no `events_lost` covers yet, oldest first. To report one, put an
    /// `events_lost` and a [`crate::logic::group::LossReport`] into the same group.
    pub fn pending_loss(&self) -> Result<Vec<Loss>, StoreError> {
        let at = At { path: &self.path, doing: "reading losses" };
        spool::pending_loss(&self.conn).map_err(|error| at.sql(error))
    }

    /// Whether an `events_lost` waits to be acknowledged: what is lost meanwhile waits for the next
    /// one, so that a full spool does not fill itself (DEL-1: at most one unsent).
    pub fn loss_report_waits(&self) -> Result<bool, StoreError> {
        let at = At { path: &self.path, doing: "reading losses" };
        spool::loss_report_waits(&self.conn).map_err(|error| at.sql(error))
    }

    /// One asset with its pairs, as of the last commit. That it is there, whoever asks knows.
    pub fn asset(&self, id: &AssetId) -> Result<Rows, StoreError> {
        let at = At { path: &self.path, doing: "reading an asset" };
        let found = restore::one(&self.conn, id).map_err(|error| at.sql(error))?;
        found.ok_or_else(|| StoreError::Damaged {
            path: self.path.clone(),
            detail: format!("asset {id} is gone"),
        })
    }

    /// At most `most` assets with ids behind `after`, by id, as of the last commit.
    pub fn assets(&self, after: Option<&AssetId>, most: usize) -> Result<Vec<Rows>, StoreError> {
        let at = At { path: &self.path, doing: "reading assets" };
        restore::page(&self.conn, after, most).map_err(|error| at.sql(error))
    }

    /// The newest events that are wanted, in seq order: the waiting ones and the last
    /// acknowledged.
    pub fn events(&self, lane: Lane, query: &EventQuery) -> Result<Found, StoreError> {
        let at = At { path: &self.path, doing: "reading events" };
        read::newest(&self.conn, lane, query).map_err(|error| at.sql(error))
    }

    /// The last commit, by which a checkpoint is known to go on from it (STO-3).
    pub fn last_commit(&self) -> CommitNumber {
        CommitNumber { run: self.run.cast_unsigned(), commit: self.commits }
    }

    /// The stream that events belong to.
    pub fn stream(&self) -> &StreamId {
        &self.stream
    }

    /// What waits, and what it cost.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        let at = At { path: &self.path, doing: "counting" };
        let sql = |error| at.sql(error);
        Ok(Counts {
            events: self.lane_counts(Lane::Events).map_err(sql)?,
            telemetry: self.lane_counts(Lane::Telemetry).map_err(sql)?,
            max_bytes: self.bounds.bytes,
            file_bytes: open::pragma(&self.conn, "page_count").map_err(sql)? as u64
                * self.page_bytes,
            meters: self.meters,
        })
    }

    fn lane_counts(&self, lane: Lane) -> rusqlite::Result<LaneCounts> {
        let state = &self.lanes[lane::index(lane)];
        let sql = format!(
            "SELECT recorded_ns FROM {} WHERE seq > ?1 ORDER BY seq LIMIT 1",
            lane::name(lane)
        );
        let oldest = self
            .conn
            .prepare_cached(&sql)?
            .query_row([state.acked.cast_signed()], |row| row.get(0))
            .optional()?;
        Ok(LaneCounts {
            last_seq: state.last,
            acked_seq: state.acked,
            waiting: state.waiting,
            waiting_bytes: state.bytes,
            oldest_recorded: oldest.map(WallTime::from_nanos),
            lost: state.lost,
            dead_lettered: state.dead,
        })
    }
}

/// This process's row: how far its last commit came.
struct Run {
    row: i64,
    commits: u64,
    now_boot: BootTime,
    now_wall: WallTime,
    clean: bool,
}

impl Run {
    fn write(&self, tx: &Transaction<'_>) -> rusqlite::Result<()> {
        tx.prepare_cached(
            "UPDATE run SET last_commit_boot_ns = ?1, last_commit_wall_ns = ?2, clean = ?3,
             commits = ?4 WHERE run = ?5",
        )?
        .execute(params![
            self.now_boot.nanos(),
            self.now_wall.nanos(),
            self.clean,
            self.commits.cast_signed(),
            self.row
        ])?;
        Ok(())
    }
}
