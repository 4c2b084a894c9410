//! Reading events for people: of the running store, and of a file whose daemon is stopped.
//!
//! Always holds: only committed events are seen; a file that is read stays byte for byte as it
//! was, WAL included; an event that cannot be read is counted, never shown in part.
//! Does not know: how events are printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::aside::beside;
use super::error::{At, StoreError};
use super::lane::{self, name};
use super::{open, restore, spool};
use crate::logic::event::{Event, Lane};
use crate::logic::group::AssetRow;
use crate::units::EventTime;

/// Which events are wanted.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// At most this many: the newest.
    pub max: usize,
    /// Only those numbered above this.
    pub after: Option<u64>,
    /// Only those filed at or after this time; those without a time are then left out.
    pub since: Option<EventTime>,
    /// Only those of this zone: its id, or `layer/zone`.
    pub zone: Option<String>,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Found {
    /// In seq order.
    pub events: Vec<Event>,
    /// How many on the way could not be read.
    pub unreadable: u64,
}

impl EventQuery {
    fn wants(&self, event: &Event) -> bool {
        let since = self.since.is_none_or(|since| event.time().is_some_and(|time| time >= since));
        let zone = self.zone.as_deref().is_none_or(|wanted| {
            let (layer, zone) = (&event.body.layer, &event.body.zone);
            zone.as_ref().is_some_and(|zone| {
                zone.as_str() == wanted
                    || layer.as_ref().is_some_and(|layer| format!("{layer}/{zone}") == wanted)
            })
        });
        since && zone
    }
}

/// The newest events that are wanted, in seq order: the waiting and the last acknowledged.
pub(super) fn newest(conn: &Connection, lane: Lane, query: &EventQuery) -> rusqlite::Result<Found> {
    let sql = format!("SELECT seq, body FROM {} WHERE seq > ?1 ORDER BY seq DESC", name(lane));
    let above = query.after.map_or(0, |seq| i64::try_from(seq).unwrap_or(i64::MAX));
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query([above])?;
    let mut found = Found::default();
    while found.events.len() < query.max
        && let Some(row) = rows.next()?
    {
        match spool::parse(row, row.get::<_, i64>(0)? as u64) {
            Some(stored) if query.wants(&stored.event) => found.events.push(stored.event),
            Some(_) => {}
            None => found.unreadable += 1,
        }
    }
    found.events.reverse();
    Ok(found)
}

/// A store that no daemon has open, for reading.
pub struct ReadOnly {
    conn: Connection,
    path: PathBuf,
}

impl ReadOnly {
    /// Opens the store at `path` without changing it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let at = At { path, doing: "opening" };
        open::must_be_ours(path)?;
        let has_wal = fs::metadata(beside(path, "-wal")).is_ok_and(|meta| meta.len() > 0);
        let conn = if has_wal { with_wal(path) } else { alone(path) };
        let conn = conn.map_err(|error| at.sql(error))?;
        Ok(Self { conn, path: path.to_owned() })
    }

    /// The newest events that are wanted, in seq order.
    pub fn events(&self, lane: Lane, query: &EventQuery) -> Result<Found, StoreError> {
        let at = At { path: &self.path, doing: "reading events" };
        newest(&self.conn, lane, query).map_err(|error| at.sql(error))
    }

    /// Every asset ever heard, as far as it was made durable.
    pub fn assets(&self) -> Result<Vec<AssetRow>, StoreError> {
        let at = At { path: &self.path, doing: "reading assets" };
        restore::assets(&self.conn).map_err(|error| at.sql(error))
    }

    /// How many are committed and not acknowledged.
    pub fn waiting(&self, lane: Lane) -> Result<u64, StoreError> {
        let at = At { path: &self.path, doing: "counting" };
        Ok(lane::load(&self.conn, lane).map_err(|error| at.sql(error))?.waiting)
    }
}

/// After a clean stop the file says all. SQLite is told that nobody writes, so that it makes no
/// files of its own: a running daemon always has a WAL.
fn alone(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => uri.extend(["%", &format!("{byte:02x}")]),
        }
    }
    uri.push_str("?immutable=1");
    Connection::open_with_flags(uri, flags)
}

/// After a kill the WAL holds the last commits. Reading it takes the lock, which a running
/// daemon does not give; closing leaves the WAL where it is.
fn with_wal(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)?;
    conn.busy_timeout(Duration::ZERO)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    conn.pragma_update(None, "query_only", true)?;
    conn.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
    Ok(conn)
}
