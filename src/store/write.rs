//! One group into one transaction (STO-1).
//!
//! Always holds: numbers follow without a hole, and SQLite's own count agrees before and after
//! (INV-3); an asset's step and watermark never go back; nothing here begins or ends a
//! transaction.
//! Does not know: what a group means.

use rusqlite::{Connection, params};

use super::error::{At, StoreError};
use super::lane::{LaneState, ROW_OVERHEAD_BYTES, index, name, sequence};
use crate::logic::event::{Event, Kind};
use crate::logic::group::{AssetRow, Group, LayerRow, PairKey, PairRow};
use crate::units::{EventTime, Span, StreamId, WallTime};

/// What a group is written into.
pub(super) struct Target<'a> {
    pub(super) conn: &'a Connection,
    pub(super) at: At<'a>,
    pub(super) stream: &'a StreamId,
    pub(super) now_wall: WallTime,
}

/// Writes all of `group` but the run row. `age` is the store's own time (see [`super::Store`]).
pub(super) fn group(
    target: &Target<'_>,
    lanes: &mut [LaneState; 2],
    age: Span,
    group: &Group,
) -> Result<(), StoreError> {
    numbers_agree(target, lanes)?;
    for row in &group.assets {
        asset(target, row)?;
    }
    for row in &group.events {
        event(target, &mut lanes[index(row.kind.lane())], age, row)?;
    }
    memberships(target.conn, group).map_err(|error| target.at.sql(error))?;
    numbers_agree(target, lanes)
}

/// SQLite's count and ours are two ways to the same number.
fn numbers_agree(target: &Target<'_>, lanes: &[LaneState; 2]) -> Result<(), StoreError> {
    for state in lanes {
        let found = sequence(target.conn, state.lane).map_err(|error| target.at.sql(error))?;
        if found != state.last {
            return Err(StoreError::Sequence {
                lane: name(state.lane),
                expected: state.last.to_string(),
                found: found.to_string(),
            });
        }
    }
    Ok(())
}

/// Appends one event: SQLite gives the number, and it must be the one that the event bears.
fn event(
    target: &Target<'_>,
    state: &mut LaneState,
    age: Span,
    event: &Event,
) -> Result<(), StoreError> {
    let expected = Event::id_of(target.stream, state.lane, state.last + 1);
    if event.seq != state.last + 1 || event.id != expected {
        let found = format!("{} (seq {})", event.id, event.seq);
        return Err(StoreError::Sequence { lane: name(state.lane), expected, found });
    }
    let body = event.to_json();
    let sql = format!(
        "INSERT INTO {} (kind, age_ns, recorded_ns, body) VALUES (?1, ?2, ?3, ?4)",
        name(state.lane)
    );
    let given = target
        .conn
        .prepare_cached(&sql)
        .and_then(|mut insert| {
            insert.insert(params![event.kind.name(), age.nanos(), target.now_wall.nanos(), body])
        })
        .map_err(|error| target.at.sql(error))? as u64;
    if given != event.seq {
        let found = given.to_string();
        return Err(StoreError::Sequence { lane: name(state.lane), expected, found });
    }
    state.last = given;
    state.waiting += 1;
    state.bytes += body.len() as u64 + ROW_OVERHEAD_BYTES;
    Ok(())
}

/// Writes one asset's row, which may only go forward (INV-3).
fn asset(target: &Target<'_>, row: &AssetRow) -> Result<(), StoreError> {
    let watermark = row.watermark.map(EventTime::nanos);
    let changed = target
        .conn
        .prepare_cached(
            "INSERT INTO asset (asset, step, watermark_ns, state) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (asset) DO UPDATE
             SET step = excluded.step, watermark_ns = excluded.watermark_ns,
                 state = excluded.state
             WHERE excluded.step > asset.step OR (excluded.step = asset.step
                 AND (asset.watermark_ns IS NULL OR excluded.watermark_ns >= asset.watermark_ns))",
        )
        .and_then(|mut upsert| {
            upsert.execute(params![row.asset.as_str(), row.step, watermark, row.state])
        })
        .map_err(|error| target.at.sql(error))?;
    if changed == 1 { Ok(()) } else { Err(StoreError::WentBack(row.asset.to_string())) }
}

/// Writes what is believed: pairs, layers, and which losses are now reported.
fn memberships(conn: &Connection, group: &Group) -> rusqlite::Result<()> {
    for key in &group.pairs_gone {
        pair_gone(conn, key)?;
    }
    for row in &group.pairs {
        pair(conn, row)?;
    }
    for layer in &group.layers_gone {
        conn.prepare_cached("DELETE FROM layer_zone WHERE layer = ?1")?
            .execute([layer.as_str()])?;
        conn.prepare_cached("DELETE FROM layer WHERE layer = ?1")?.execute([layer.as_str()])?;
    }
    for row in &group.layers {
        layer(conn, row)?;
    }
    for report in &group.losses_reported {
        conn.prepare_cached("UPDATE loss SET reported_by = ?1 WHERE id = ?2")?
            .execute(params![report.by.cast_signed(), report.loss.cast_signed()])?;
    }
    assert!(
        group.losses_reported.is_empty()
            || group.events.iter().any(|event| event.kind == Kind::EventsLost),
        "a loss is reported by an events_lost of the same group"
    );
    Ok(())
}

fn pair(conn: &Connection, row: &PairRow) -> rusqlite::Result<()> {
    let key = &row.key;
    conn.prepare_cached(
        "INSERT INTO pair (asset, layer, zone, shape, inside, visit, state)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (asset, layer, zone) DO UPDATE
         SET shape = excluded.shape, inside = excluded.inside, visit = excluded.visit,
             state = excluded.state",
    )?
    .execute(params![
        key.asset.as_str(),
        key.zone.layer.as_str(),
        key.zone.zone.as_str(),
        row.shape,
        row.inside,
        row.visit,
        row.state
    ])?;
    Ok(())
}

fn pair_gone(conn: &Connection, key: &PairKey) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM pair WHERE asset = ?1 AND layer = ?2 AND zone = ?3")?
        .execute([key.asset.as_str(), key.zone.layer.as_str(), key.zone.zone.as_str()])?;
    Ok(())
}

/// Writes a layer and exactly its zones.
fn layer(conn: &Connection, row: &LayerRow) -> rusqlite::Result<()> {
    let layer = row.layer.as_str();
    conn.prepare_cached(
        "INSERT INTO layer (layer, version, generation) VALUES (?1, ?2, ?3)
         ON CONFLICT (layer) DO UPDATE
         SET version = excluded.version, generation = excluded.generation",
    )?
    .execute(params![layer, row.version.cast_signed(), row.generation.cast_signed()])?;
    conn.prepare_cached("DELETE FROM layer_zone WHERE layer = ?1")?.execute([layer])?;
    let mut insert = conn.prepare_cached(
        "INSERT INTO layer_zone (layer, zone, shape, generation) VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (zone, shape, generation) in &row.zones {
        insert.execute(params![layer, zone.as_str(), shape, generation.cast_signed()])?;
    }
    Ok(())
}
