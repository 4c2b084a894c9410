//! Reading back what was believed.
//!
//! Always holds: a value that is not what we wrote is damage, never a guess.
//! Does not know: what `state` texts say.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row};

use super::error::{At, StoreError};
use super::lane::LaneState;
use super::read::ReadOnly;
use crate::logic::event::Lane;
use crate::logic::group::{AssetRow, LastRun, LayerRow, PairKey, PairRow, Restored};
use crate::units::{AssetId, BootTime, EventTime, LayerId, StreamId, WallTime, ZoneId, ZoneKey};

/// The stream and the gateway of the store, where it has them yet.
pub(super) fn identity(conn: &Connection) -> rusqlite::Result<Option<(String, String)>> {
    conn.query_row("SELECT stream, gateway FROM store", (), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// All that is in the store but its events.
pub(super) fn believed(
    conn: &Connection,
    at: At<'_>,
    stream: StreamId,
    lanes: &[LaneState; 2],
) -> Result<Restored, StoreError> {
    let sql = |error| at.sql(error);
    Ok(Restored {
        stream,
        next_seq: lanes[0].last + 1,
        next_telemetry_seq: lanes[1].last + 1,
        assets: assets(conn).map_err(sql)?,
        pairs: rows(conn, "SELECT asset, layer, zone, shape, inside, visit, state FROM pair", pair)
            .map_err(sql)?,
        layers: layers(conn).map_err(sql)?,
        last_run: last_run(conn).map_err(sql)?,
        fresh: false,
        set_aside: None,
    })
}

/// Every asset's row.
pub(super) fn assets(conn: &Connection) -> rusqlite::Result<Vec<AssetRow>> {
    rows(conn, "SELECT asset, step, watermark_ns, state FROM asset", asset)
}

fn rows<T>(
    conn: &Connection,
    sql: &str,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    conn.prepare(sql)?.query_map((), read)?.collect()
}

/// Reads text that must be an id.
fn id<T, E: std::error::Error + Send + Sync + 'static>(
    row: &Row<'_>,
    column: usize,
    new: impl Fn(&str) -> Result<T, E>,
) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    new(&text).map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(
            column,
            rusqlite::types::Type::Text,
            Box::new(error),
        )
    })
}

fn asset(row: &Row<'_>) -> rusqlite::Result<AssetRow> {
    Ok(AssetRow {
        asset: id(row, 0, AssetId::new)?,
        step: row.get(1)?,
        watermark: row.get::<_, Option<i64>>(2)?.map(EventTime::from_nanos),
        state: row.get(3)?,
    })
}

fn pair(row: &Row<'_>) -> rusqlite::Result<PairRow> {
    let zone = ZoneKey { layer: id(row, 1, LayerId::new)?, zone: id(row, 2, ZoneId::new)? };
    Ok(PairRow {
        key: PairKey { asset: id(row, 0, AssetId::new)?, zone },
        shape: row.get(3)?,
        inside: row.get(4)?,
        visit: row.get(5)?,
        state: row.get(6)?,
    })
}

fn layers(conn: &Connection) -> rusqlite::Result<Vec<LayerRow>> {
    let mut layers = rows(conn, "SELECT layer, version, generation FROM layer", |row| {
        Ok(LayerRow {
            layer: id(row, 0, LayerId::new)?,
            version: row.get::<_, i64>(1)? as u64,
            generation: row.get::<_, i64>(2)? as u64,
            zones: Vec::new(),
        })
    })?;
    let mut zones: HashMap<LayerId, Vec<_>> = HashMap::new();
    for (layer, zone) in
        rows(conn, "SELECT layer, zone, shape, generation FROM layer_zone", |row| {
            let zone = (id(row, 1, ZoneId::new)?, row.get(2)?, row.get::<_, i64>(3)? as u64);
            Ok((id(row, 0, LayerId::new)?, zone))
        })?
    {
        zones.entry(layer).or_default().push(zone);
    }
    for layer in &mut layers {
        layer.zones = zones.remove(&layer.layer).unwrap_or_default();
    }
    Ok(layers)
}

fn last_run(conn: &Connection) -> rusqlite::Result<Option<LastRun>> {
    conn.query_row(
        "SELECT boot_id, started_boot_ns, last_commit_boot_ns, last_commit_wall_ns, clean,
         software FROM run ORDER BY run DESC LIMIT 1",
        (),
        |row| {
            Ok(LastRun {
                boot_id: row.get(0)?,
                started_boot: BootTime::from_nanos(row.get(1)?),
                last_commit_boot: BootTime::from_nanos(row.get(2)?),
                last_commit_wall: WallTime::from_nanos(row.get(3)?),
                clean: row.get(4)?,
                software: row.get(5)?,
            })
        },
    )
    .optional()
}

/// How many events wait in a store that was set aside, as far as it can be read.
pub(super) fn count_waiting(path: &Path) -> Option<u64> {
    ReadOnly::open(path).ok()?.waiting(Lane::Events).ok()
}
