//! Reading back what was believed.
//!
//! Always holds: a value that is not what we wrote is damage, never a guess.
//! Does not know: what `state` texts say.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::{At, StoreError};
use super::lane::LaneState;
use super::read::ReadOnly;
use crate::logic::event::Lane;
use crate::logic::group::{
    AssetRow, CommitNumber, Ended, LastRun, LayerRow, PairKey, PairRow, Restored, Rows, Runs,
};
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
    keep: usize,
) -> Result<Restored, StoreError> {
    let sql = |error| at.sql(error);
    let (assets, pairs, left) = in_memory(conn, keep).map_err(sql)?;
    Ok(Restored {
        stream,
        next_seq: lanes[0].last + 1,
        next_telemetry_seq: lanes[1].last + 1,
        assets,
        pairs,
        left,
        runs: Runs { this: 0, powered: 0, unmarked: 0 },
        layers: layers(conn).map_err(sql)?,
        last_run: last_run(conn).map_err(sql)?,
        last_commit: last_commit(conn).map_err(sql)?,
        ended: ended(conn).map_err(sql)?,
        fresh: false,
        set_aside: None,
    })
}

/// The columns of an asset's row and of a pair's, as they are read.
const ASSET: &str = "SELECT asset, step, watermark_ns, state FROM asset";
const PAIR: &str = "SELECT asset, layer, zone, shape, inside, visit, state FROM pair";

/// The rows of the assets heard last, at most `keep`, and who is left; all by id.
fn in_memory(
    conn: &Connection,
    keep: usize,
) -> rusqlite::Result<(Vec<AssetRow>, Vec<PairRow>, Vec<AssetId>)> {
    let mut heard = rows(conn, "SELECT asset, watermark_ns FROM asset ORDER BY asset", |row| {
        Ok((id(row, 0, AssetId::new)?, row.get::<_, Option<i64>>(1)?))
    })?;
    if heard.len() <= keep {
        return Ok((assets(conn)?, rows(conn, &format!("{PAIR} ORDER BY asset"), pair)?, vec![]));
    }
    heard.sort_by_key(|(_, watermark)| std::cmp::Reverse(*watermark));
    let mut left: Vec<AssetId> = heard.split_off(keep).into_iter().map(|(id, _)| id).collect();
    left.sort_unstable();
    heard.sort_unstable();
    let (mut assets, mut pairs) = (Vec::new(), Vec::new());
    for (id, _) in heard {
        if let Some(rows) = one(conn, &id)? {
            assets.push(rows.asset);
            pairs.extend(rows.pairs);
        }
    }
    Ok((assets, pairs, left))
}

/// One asset, if it is there.
pub(super) fn one(conn: &Connection, id: &AssetId) -> rusqlite::Result<Option<Rows>> {
    let mut statement = conn.prepare_cached(&format!("{ASSET} WHERE asset = ?1"))?;
    let Some(asset) = statement.query_row([id.as_str()], asset).optional()? else {
        return Ok(None);
    };
    let mut statement =
        conn.prepare_cached(&format!("{PAIR} WHERE asset = ?1 ORDER BY layer, zone"))?;
    let pairs = statement.query_map([id.as_str()], pair)?.collect::<Result<_, _>>()?;
    Ok(Some(Rows { asset, pairs }))
}

/// At most `most` assets with ids behind `after`, by id.
pub(super) fn page(
    conn: &Connection,
    after: Option<&AssetId>,
    most: usize,
) -> rusqlite::Result<Vec<Rows>> {
    let after = after.map_or("", AssetId::as_str);
    let mut statement =
        conn.prepare_cached("SELECT asset FROM asset WHERE asset > ?1 ORDER BY asset LIMIT ?2")?;
    let ids = statement
        .query_map(params![after, i64::try_from(most).unwrap_or(i64::MAX)], |row| {
            id(row, 0, AssetId::new)
        })?;
    let ids: Vec<AssetId> = ids.collect::<Result<_, _>>()?;
    let found = ids.iter().filter_map(|id| one(conn, id).transpose());
    found.collect()
}

/// What the runs so far tell of the next.
pub(super) struct LastRuns {
    /// The last: its number, its boot id, and its `powered`.
    last: Option<(u64, String, u64)>,
    unmarked: u64,
}

/// Reads it.
pub(super) fn last_runs(conn: &Connection) -> rusqlite::Result<LastRuns> {
    let last = conn
        .query_row("SELECT run, boot_id, powered FROM run ORDER BY run DESC LIMIT 1", (), |row| {
            let (run, powered): (i64, i64) = (row.get(0)?, row.get(2)?);
            Ok((run.cast_unsigned(), row.get(1)?, powered.cast_unsigned()))
        })
        .optional()?;
    let unmarked: i64 = conn.query_row(
        "SELECT coalesce(max(run) FILTER (WHERE powered = 0), min(run) - 1, 0) FROM run",
        (),
        |row| row.get(0),
    )?;
    Ok(LastRuns { last, unmarked: unmarked.cast_unsigned() })
}

impl LastRuns {
    /// With one more, of this number and boot id.
    pub(super) fn followed_by(self, this: u64, boot_id: &str) -> Runs {
        let powered = match self.last {
            Some((run, last, powered)) if last == boot_id => {
                if powered == 0 {
                    run
                } else {
                    powered
                }
            }
            _ => this,
        };
        Runs { this, powered, unmarked: self.unmarked }
    }
}

/// Every asset's row.
pub(super) fn assets(conn: &Connection) -> rusqlite::Result<Vec<AssetRow>> {
    rows(conn, &format!("{ASSET} ORDER BY asset"), asset)
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

/// The last commit of the last run.
fn last_commit(conn: &Connection) -> rusqlite::Result<Option<CommitNumber>> {
    conn.query_row("SELECT run, commits FROM run ORDER BY run DESC LIMIT 1", (), |row| {
        let (run, commit): (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok(CommitNumber { run: run.cast_unsigned(), commit: commit.cast_unsigned() })
    })
    .optional()
}

/// The last runs, newest first.
fn ended(conn: &Connection) -> rusqlite::Result<Vec<Ended>> {
    let sql = "SELECT boot_id, started_boot_ns, clean FROM run ORDER BY run DESC LIMIT 2";
    rows(conn, sql, |row| {
        let started = BootTime::from_nanos(row.get(1)?);
        Ok(Ended { boot_id: row.get(0)?, started, clean: row.get(2)? })
    })
}

/// How many events wait in a store that was set aside, as far as it can be read.
pub(super) fn count_waiting(path: &Path) -> Option<u64> {
    ReadOnly::open(path).ok()?.waiting(Lane::Events).ok()
}
