//! The bounded part of the streams that is not yet acknowledged (DEL-1, INV-5).
//!
//! Always holds: a row is waiting iff its seq is above the lane's `acked`; what is dropped is in
//! `loss` in the same transaction; telemetry goes first, an `events_lost` never goes for space.
//! Does not know: how or when events are sent.

use rusqlite::{Connection, OptionalExtension, params};

use super::lane::{LaneState, ROW_OVERHEAD_BYTES, name};
use crate::logic::event::{Event, Kind, Lane};
use crate::logic::group::{Batch, Loss, StoredEvent};
use crate::units::Span;

/// How many acknowledged events stay for `geofenced events` to show: a busy day's worth.
pub(super) const HISTORY_ROWS: u64 = 1_000;
/// And how much they may weigh: far below the smallest sensible spool.
pub(super) const HISTORY_BYTES: u64 = 1024 * 1024;
/// How many dead letters are kept for a person to look at.
pub(super) const DEAD_LETTERS: u64 = 100;
/// What an `events_lost` can name before it is worth a second one; bounds one read.
pub(super) const LOSSES_READ: u64 = 1_000;

/// How much may wait, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// `[spool] max_bytes`.
    pub(super) bytes: u64,
    /// `[spool] max_age`, in the store's own time: no step of any clock ages anything.
    pub(super) age: Span,
}

/// Stores how far the lane is acknowledged and deletes what is no longer wanted.
pub(super) fn persist_ack(conn: &Connection, state: &mut LaneState) -> rusqlite::Result<()> {
    if state.acked == state.acked_stored {
        return Ok(());
    }
    let lane = name(state.lane);
    conn.prepare_cached("UPDATE lane SET acked = ?1 WHERE lane = ?2")?
        .execute(params![state.acked.cast_signed(), lane])?;
    let mut upto = state.acked;
    if state.lane == Lane::Events {
        conn.prepare_cached("DELETE FROM loss WHERE reported_by <= ?1")?
            .execute([state.acked.cast_signed()])?;
        upto = state.acked.saturating_sub(HISTORY_ROWS);
    }
    let delete = format!("DELETE FROM {lane} WHERE seq <= ?1");
    conn.prepare_cached(&delete)?.execute([upto.cast_signed()])?;
    if state.lane == Lane::Events {
        let heavy = conn
            .prepare_cached(
                "SELECT seq FROM (SELECT seq, sum(octet_length(body)) OVER (ORDER BY seq DESC)
                 AS total FROM event WHERE seq <= ?1) WHERE total > ?2 ORDER BY seq DESC LIMIT 1",
            )?
            .query_row(params![state.acked.cast_signed(), HISTORY_BYTES.cast_signed()], |row| {
                row.get::<_, i64>(0)
            })
            .optional()?;
        if let Some(seq) = heavy {
            conn.prepare_cached(&delete)?.execute([seq])?;
        }
    }
    state.acked_stored = state.acked;
    Ok(())
}

/// Counts and weighs what lies in `(above, upto]`.
pub(super) fn weigh(
    conn: &Connection,
    lane: Lane,
    above: u64,
    upto: u64,
) -> rusqlite::Result<(u64, u64)> {
    let sql = format!(
        "SELECT count(*), coalesce(sum(octet_length(body) + {ROW_OVERHEAD_BYTES}), 0)
         FROM {} WHERE seq > ?1 AND seq <= ?2",
        name(lane)
    );
    conn.prepare_cached(&sql)?.query_row(params![above.cast_signed(), upto.cast_signed()], |row| {
        Ok((row.get::<_, i64>(0)? as u64, row.get::<_, i64>(1)? as u64))
    })
}

/// Drops what is too old, then what is too much. `age` is the store's own time.
pub(super) fn enforce(
    conn: &Connection,
    lanes: &mut [LaneState; 2],
    bounds: Bounds,
    age: Span,
) -> rusqlite::Result<u64> {
    let mut dropped = 0;
    for state in lanes.iter_mut() {
        let cutoff = age - bounds.age;
        let old = victims(conn, state, |victim| victim.age >= cutoff)?;
        dropped += drop_rows(conn, state, &old, "age")?;
    }
    for lane in [Lane::Telemetry, Lane::Events] {
        let total = lanes[0].bytes + lanes[1].bytes;
        let state = &mut lanes[super::lane::index(lane)];
        if total > bounds.bytes && state.waiting > 0 {
            // A tenth more than must go: a full spool then drops now and then, not at each commit.
            let victims = oldest(conn, state, total - bounds.bytes + bounds.bytes / 10)?;
            dropped += drop_rows(conn, state, &victims, "quota")?;
        }
    }
    Ok(dropped)
}

/// A waiting row that is to be dropped.
struct Victim {
    seq: u64,
    bytes: u64,
    age: Span,
}

/// Waiting rows in seq order until `enough` says stop before one.
fn victims(
    conn: &Connection,
    state: &LaneState,
    mut enough: impl FnMut(&Victim) -> bool,
) -> rusqlite::Result<Vec<Victim>> {
    let sql = format!(
        "SELECT seq, octet_length(body), age_ns FROM {}
         WHERE seq > ?1 AND kind <> ?2 ORDER BY seq",
        name(state.lane)
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![state.acked.cast_signed(), Kind::EventsLost.name()])?;
    let mut victims = Vec::new();
    while let Some(row) = rows.next()? {
        let victim = Victim {
            seq: row.get::<_, i64>(0)? as u64,
            bytes: row.get::<_, i64>(1)? as u64 + ROW_OVERHEAD_BYTES,
            age: Span::from_nanos(row.get(2)?),
        };
        if enough(&victim) {
            break;
        }
        victims.push(victim);
    }
    Ok(victims)
}

/// The oldest rows that together weigh at least `excess`.
fn oldest(conn: &Connection, state: &LaneState, excess: u64) -> rusqlite::Result<Vec<Victim>> {
    let mut freed = 0;
    victims(conn, state, |victim| {
        let enough = freed >= excess;
        freed += victim.bytes;
        enough
    })
}

/// Deletes rows and records their seqs as lost, one range for each run without a hole.
fn drop_rows(
    conn: &Connection,
    state: &mut LaneState,
    victims: &[Victim],
    reason: &str,
) -> rusqlite::Result<u64> {
    let delete = format!("DELETE FROM {} WHERE seq = ?1", name(state.lane));
    for victim in victims {
        conn.prepare_cached(&delete)?.execute([victim.seq.cast_signed()])?;
        state.waiting -= 1;
        state.bytes -= victim.bytes;
    }
    for run in victims.chunk_by(|a, b| a.seq + 1 == b.seq) {
        record_loss(conn, state.lane, run[0].seq, run[run.len() - 1].seq, reason)?;
    }
    let count = victims.len() as u64;
    state.lost += count;
    if count > 0 {
        conn.prepare_cached("UPDATE lane SET lost = ?1 WHERE lane = ?2")?
            .execute(params![state.lost.cast_signed(), name(state.lane)])?;
    }
    Ok(count)
}

/// Widens the loss that ends right before `first`, where no `events_lost` covers it yet, or
/// records a new one.
fn record_loss(
    conn: &Connection,
    lane: Lane,
    first: u64,
    last: u64,
    reason: &str,
) -> rusqlite::Result<()> {
    let (lane, first, last) = (name(lane), first.cast_signed(), last.cast_signed());
    let widened = conn
        .prepare_cached(
            "UPDATE loss SET last = ?3 WHERE lane = ?1 AND last = ?2 - 1 AND reason = ?4
             AND reported_by IS NULL",
        )?
        .execute(params![lane, first, last, reason])?;
    if widened == 0 {
        conn.prepare_cached(
            "INSERT INTO loss (lane, first, last, reason) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![lane, first, last, reason])?;
    }
    Ok(())
}

/// Moves one waiting event aside, and what it may have reported as lost is to be reported again.
pub(super) fn dead_letter(
    conn: &Connection,
    state: &mut LaneState,
    seq: u64,
    why: &str,
) -> rusqlite::Result<bool> {
    let lane = name(state.lane);
    let (rows, bytes) = weigh(conn, state.lane, seq.saturating_sub(1), seq)?;
    if rows == 0 || seq <= state.acked {
        return Ok(false);
    }
    conn.execute(
        &format!(
            "INSERT INTO dead_letter (lane, seq, why, body)
             SELECT ?1, seq, ?3, CAST(body AS TEXT) FROM {lane} WHERE seq = ?2"
        ),
        params![lane, seq.cast_signed(), why],
    )?;
    conn.execute(&format!("DELETE FROM {lane} WHERE seq = ?1"), [seq.cast_signed()])?;
    conn.execute(
        "DELETE FROM dead_letter WHERE id <= (SELECT max(id) FROM dead_letter) - ?1",
        [DEAD_LETTERS.cast_signed()],
    )?;
    if state.lane == Lane::Events {
        conn.execute(
            "UPDATE loss SET reported_by = NULL WHERE reported_by = ?1",
            [seq.cast_signed()],
        )?;
    }
    record_loss(conn, state.lane, seq, seq, "dead_letter")?;
    state.waiting -= rows;
    state.bytes -= bytes;
    state.dead += 1;
    conn.execute(
        "UPDATE lane SET dead = ?1 WHERE lane = ?2",
        params![state.dead.cast_signed(), lane],
    )?;
    Ok(true)
}

/// Losses that no `events_lost` covers yet, oldest first.
pub(super) fn pending_loss(conn: &Connection) -> rusqlite::Result<Vec<Loss>> {
    let mut statement = conn.prepare_cached(
        "SELECT id, lane, first, last, reason FROM loss WHERE reported_by IS NULL
         ORDER BY id LIMIT ?1",
    )?;
    let rows = statement.query_map([LOSSES_READ.cast_signed()], |row| {
        let lane: String = row.get(1)?;
        Ok(Loss {
            id: row.get::<_, i64>(0)? as u64,
            lane: if lane == name(Lane::Telemetry) { Lane::Telemetry } else { Lane::Events },
            first: row.get::<_, i64>(2)? as u64,
            last: row.get::<_, i64>(3)? as u64,
            reason: row.get(4)?,
        })
    })?;
    rows.collect()
}

/// A batch, and the seqs of rows in its way that cannot be read.
pub(super) struct Read {
    pub(super) batch: Batch,
    pub(super) unreadable: Vec<u64>,
}

/// Reads waiting events above `after` in seq order. At least one, however heavy.
pub(super) fn read_batch(
    conn: &Connection,
    state: &LaneState,
    after: Option<u64>,
    max_events: usize,
    max_bytes: u64,
) -> rusqlite::Result<Read> {
    let above = after.unwrap_or(0).min(state.last).max(state.acked);
    let sql = format!("SELECT seq, body FROM {} WHERE seq > ?1 ORDER BY seq", name(state.lane));
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([above.cast_signed()])?;
    let batch = Batch { lane: state.lane, events: Vec::new(), more: false };
    let mut read = Read { batch, unreadable: Vec::new() };
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)? as u64;
        let Some(stored) = parse(row, seq) else {
            read.unreadable.push(seq);
            continue;
        };
        bytes += stored.body.len() as u64;
        let full = read.batch.events.len() >= max_events || bytes > max_bytes;
        if full && !read.batch.events.is_empty() {
            read.batch.more = true;
            break;
        }
        read.batch.events.push(stored);
    }
    Ok(read)
}

/// One row's event; `None` where a byte of it is not what we wrote.
pub(super) fn parse(row: &rusqlite::Row<'_>, seq: u64) -> Option<StoredEvent> {
    let body: String = row.get(1).ok()?;
    let event: Event = serde_json::from_str(&body).ok()?;
    (event.seq == seq).then_some(StoredEvent { event, body })
}

/// Whether any loss is named by an `events_lost` that is not acknowledged.
pub(super) fn loss_report_waits(conn: &Connection) -> rusqlite::Result<bool> {
    conn.prepare_cached("SELECT 1 FROM loss WHERE reported_by IS NOT NULL LIMIT 1")?.exists([])
}

/// The store's own time when it was last written.
pub(super) fn age(conn: &Connection) -> rusqlite::Result<Span> {
    let sql = "SELECT max(coalesce((SELECT max(age_ns) FROM event), 0),
                          coalesce((SELECT max(age_ns) FROM telemetry), 0))";
    conn.query_row(sql, [], |row| row.get(0)).map(Span::from_nanos)
}
