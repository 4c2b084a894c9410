//! The order of a start, fixed in types (STO-4): open → check → migrate → load.
//!
//! Always holds: a file that is not ours, or from a later major, is left byte for byte as it was;
//! a store that cannot be gone on with is set aside once and a fresh one begun, and said so.
//! Does not know: what is done with what was restored. A process opens a store once: to look at
//! the header of a file that the same process has open would drop its POSIX locks.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, params};

use super::aside::{adopt_orphan, beside, directory, set_aside, sync_directory};
use super::error::{At, StoreError};
use super::{Store, lane, restore};
use crate::logic::event::Lane;
use crate::logic::group::{Restored, Runs, SetAside, SetAsideWhy};
use crate::units::{BootTime, GatewayId, Span, StreamId, WallTime};

/// "GFnc" in the file's header, so that `file` and we know whose it is.
pub(super) const APPLICATION_ID: i32 = 0x4746_6e63;
/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header holds the application id, and how much of the file tells (SQLite's format).
const APPLICATION_ID_AT: usize = 68;
const HEADER_BYTES: usize = 100;

/// `user_version` is major × 1000 + step.
const STEPS_PER_MAJOR: i64 = 1_000;
/// The major that this release reads and writes.
pub(super) const FORMAT_MAJOR: i64 = 1;
/// Every step of this major: the `user_version` it leads to, and how.
const MIGRATIONS: &[(i64, &str)] = &[
    (1_001, include_str!("migrations/1001.sql")),
    (1_002, include_str!("migrations/1002.sql")),
    (1_003, include_str!("migrations/1003.sql")),
];

/// The page cap is a backstop behind the quota: twice the spool, for half-empty pages and
/// indexes, and room for 100,000 pairs and zones.
const PAGES_BESIDE_SPOOL_BYTES: u64 = 64 * 1024 * 1024;
const PAGE_BYTES: u64 = 4096;
/// How many starts are remembered: enough to see a crash loop.
const RUNS_KEPT: i64 = 16;

/// What a start needs to know. Options are passed by name.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// The configured gateway.
    pub gateway: GatewayId,
    /// Name and version of what runs.
    pub software: String,
    /// The kernel's boot id.
    pub boot_id: String,
    /// Boot time now.
    pub now_boot: BootTime,
    /// The system clock now.
    pub now_wall: WallTime,
    /// Chance, from which a new stream's name is made.
    pub stream_seed: [u8; 8],
    /// `[spool] max_bytes`.
    pub max_bytes: u64,
    /// `[spool] max_age`.
    pub max_age: Span,
    /// At most so many assets are given back, those heard last; the others are left.
    pub assets_in_memory: usize,
    /// Reads boot time, to measure how long commits take.
    pub clock: fn() -> BootTime,
}

/// A connection to a file that is ours or new, and locked. Nothing in it was read yet.
pub struct Opened {
    conn: Connection,
    path: PathBuf,
    fresh: bool,
    unclean: bool,
}

/// A store of this major that reads back whole as far as was looked.
pub struct Checked(Opened);

/// A store in the format of this release.
pub struct Migrated(Opened);

/// Opens the store at `path`, or begins one, in the order of STO-4.
///
/// A damaged one (STO-5) and one of another gateway (STO-7) are set aside as
/// `<path>.damaged-<n>` or `<path>.gateway-<n>` and a fresh one is begun.
pub(super) fn start(path: &Path, options: &OpenOptions) -> Result<(Store, Restored), StoreError> {
    let (error, why, label) = match through(path, options) {
        Err(error @ StoreError::Damaged { .. }) => (error, SetAsideWhy::Damaged, "damaged"),
        Err(error @ StoreError::OtherGateway { .. }) => {
            (error, SetAsideWhy::OtherGateway, "gateway")
        }
        other => return other,
    };
    let at = At { path, doing: "setting it aside" };
    let (aside, removed) = set_aside(path, label).map_err(|error| at.io(error))?;
    let waiting = restore::count_waiting(&aside);
    let (store, mut restored) = through(path, options)?;
    let detail = error.to_string();
    restored.set_aside = Some(SetAside { path: aside, why, detail, waiting, removed });
    Ok((store, restored))
}

fn through(path: &Path, options: &OpenOptions) -> Result<(Store, Restored), StoreError> {
    let steps = || Opened::open(path)?.check()?.migrate(options)?.load(options);
    steps().map_err(|error| match error {
        // What we ask here is fixed and tested: it is the file that is not what we wrote.
        StoreError::Refused { path, source, .. } => {
            StoreError::Damaged { path, detail: source.to_string() }
        }
        other => other,
    })
}

impl Opened {
    /// Finds or makes the file and takes it for this process alone.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let at = At { path, doing: "opening" };
        let dir = directory(path);
        match fs::metadata(dir) {
            Ok(meta) if meta.is_dir() => {}
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(StoreError::NotAllowed(dir.to_owned()));
            }
            _ => return Err(StoreError::NoDirectory(dir.to_owned())),
        }
        adopt_orphan(path, "damaged").map_err(|error| at.io(error))?;
        let fresh = match classify(&header(path)?) {
            Header::Empty => true,
            Header::Ours => false,
            Header::Damaged => {
                let detail = "its header is not whole".to_owned();
                return Err(StoreError::Damaged { path: path.to_owned(), detail });
            }
            Header::Foreign => return Err(StoreError::NotOurs(path.to_owned())),
        };
        let wal = beside(path, "-wal");
        let unclean = fs::metadata(&wal).is_ok_and(|meta| meta.len() > 0);
        // Both files by hand: SQLite says only "unable to open", the file system says why.
        let made = if fresh { path } else { &wal };
        create(made).map_err(|error| At { path: made, doing: "making it" }.io(error))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).map_err(|error| at.sql(error))?;
        lock(&conn, fresh).map_err(|error| at.sql(error))?;
        if conn.is_readonly(rusqlite::MAIN_DB).map_err(|error| at.sql(error))? {
            return Err(why_not_writable(path));
        }
        Ok(Self { conn, path: path.to_owned(), fresh, unclean })
    }

    /// Checks that this release may write it and, after an unclean stop, that it reads whole.
    pub fn check(self) -> Result<Checked, StoreError> {
        let at = At { path: &self.path, doing: "checking" };
        let version: i64 = pragma(&self.conn, "user_version").map_err(|error| at.sql(error))?;
        if version / STEPS_PER_MAJOR > FORMAT_MAJOR {
            let found = version / STEPS_PER_MAJOR;
            return Err(StoreError::Newer { path: self.path, found, known: FORMAT_MAJOR });
        }
        if !self.unclean && !self.fresh && tail_missing(&self.conn, &self.path) {
            let detail = "its tail is missing".to_owned();
            return Err(StoreError::Damaged { path: self.path, detail });
        }
        if self.unclean || !ended_clean(&self.conn) {
            let answer: String = self
                .conn
                .query_row("PRAGMA quick_check(1)", (), |row| row.get(0))
                .map_err(|error| at.sql(error))?;
            if answer != "ok" {
                return Err(StoreError::Damaged { path: self.path, detail: answer });
            }
        }
        Ok(Checked(self))
    }
}

impl Checked {
    /// Brings it to the format of this release, one transaction a step.
    pub fn migrate(self, options: &OpenOptions) -> Result<Migrated, StoreError> {
        let Self(mut opened) = self;
        let at = At { path: &opened.path, doing: "migrating" };
        let pages = (2 * options.max_bytes + PAGES_BESIDE_SPOOL_BYTES) / PAGE_BYTES;
        prepare(&opened.conn, pages).map_err(|error| at.sql(error))?;
        for (version, sql) in MIGRATIONS {
            step(&mut opened.conn, *version, sql).map_err(|error| at.sql(error))?;
        }
        Ok(Migrated(opened))
    }
}

impl Migrated {
    /// Reads all that was believed and notes that a run has begun.
    pub fn load(self, options: &OpenOptions) -> Result<(Store, Restored), StoreError> {
        let Self(Opened { mut conn, path, fresh, .. }) = self;
        let at = At { path: &path, doing: "reading what was believed" };
        let sql = |error| at.sql(error);
        let found = restore::identity(&conn).map_err(sql)?;
        if let Some((_, gateway)) = &found
            && *gateway != options.gateway.as_str()
        {
            let (theirs, ours) = (gateway.clone(), options.gateway.to_string());
            return Err(StoreError::OtherGateway { path, theirs, ours });
        }
        let begun = found.is_none();
        let stream = match found {
            Some((stream, _)) => StreamId::new(&stream).map_err(|error| StoreError::Damaged {
                path: path.clone(),
                detail: error.to_string(),
            })?,
            None => stream_id(options.stream_seed),
        };
        let lanes = [
            lane::load(&conn, Lane::Events).map_err(sql)?,
            lane::load(&conn, Lane::Telemetry).map_err(sql)?,
        ];
        let keep = options.assets_in_memory;
        let mut restored = restore::believed(&conn, at, stream.clone(), &lanes, keep)?;
        restored.fresh = fresh || begun;
        let runs = begin(&mut conn, &stream, options).map_err(sql)?;
        restored.runs = runs;
        let run = runs.this.cast_signed();
        let age = super::spool::age(&conn).map_err(sql)?;
        let store = Store::begun(conn, path, stream, lanes, age, run, options)?;
        Ok((store, restored))
    }
}

/// What the first bytes of a file say.
enum Header {
    Empty,
    Ours,
    Damaged,
    Foreign,
}

fn header(path: &Path) -> Result<Vec<u8>, StoreError> {
    let at = At { path, doing: "reading its header" };
    let mut bytes = Vec::new();
    // Before it is opened: to open a pipe waits for its writer.
    if fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Err(StoreError::NotOurs(path.to_owned()));
    }
    match File::open(path) {
        Ok(file) => {
            file.take(HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(|error| at.io(error))?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(at.io(error)),
    }
    Ok(bytes)
}

/// Tells ours with a flaw from somebody else's before SQLite touches the file. Zeros are what a
/// power cut leaves of a file that was being made.
fn classify(header: &[u8]) -> Header {
    let id = APPLICATION_ID.to_be_bytes();
    let alike = header
        .get(APPLICATION_ID_AT..APPLICATION_ID_AT + id.len())
        .map(|found| found.iter().zip(id).filter(|(found, ours)| **found == *ours).count());
    let sqlite = header.iter().zip(MAGIC).all(|(found, magic)| found == magic);
    match (header.len(), sqlite, alike) {
        (0, ..) => Header::Empty,
        (_, true, Some(4)) => Header::Ours,
        (_, _, Some(3 | 4)) | (_, true, None) => Header::Damaged,
        _ if header.iter().all(|byte| *byte == 0) => Header::Damaged,
        _ => Header::Foreign,
    }
}

/// Makes a file that the daemon's group may read, or proves that one may be written.
fn create(path: &Path) -> io::Result<()> {
    fs::OpenOptions::new().create(true).append(true).mode(0o640).open(path)?;
    sync_directory(path)
}

/// Takes the file for this process alone. What is not yet checked is not written either: until
/// then not even closing moves the WAL.
fn lock(conn: &Connection, fresh: bool) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::ZERO)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    if fresh {
        // In the header before anything else, and before there is a WAL that could hold it.
        conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    // Reads the file, and so takes the lock.
    conn.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))
}

/// Whether the file, without a WAL, is shorter than its header says.
fn tail_missing(conn: &Connection, path: &Path) -> bool {
    let pages = pragma(conn, "page_count").unwrap_or(0) * pragma(conn, "page_size").unwrap_or(0);
    fs::metadata(path).is_ok_and(|meta| meta.len() < pages.cast_unsigned())
}

/// Whether the last run said goodbye; not, where that cannot be read.
fn ended_clean(conn: &Connection) -> bool {
    conn.query_row("SELECT clean FROM run ORDER BY run DESC LIMIT 1", (), |row| row.get(0))
        .unwrap_or(false)
}

/// Sets what holds for every later transaction.
fn prepare(conn: &Connection, max_pages: u64) -> rusqlite::Result<()> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.query_row("PRAGMA journal_mode=WAL", (), |_| Ok(()))?;
    // Store::commit says when, so that it can be metered.
    conn.query_row("PRAGMA wal_autocheckpoint=0", (), |_| Ok(()))?;
    conn.query_row(&format!("PRAGMA max_page_count={max_pages}"), (), |_| Ok(()))?;
    conn.pragma_update(None, "temp_store", "MEMORY")
}

/// One migration, unless it was made before.
fn step(conn: &mut Connection, version: i64, sql: &str) -> rusqlite::Result<()> {
    if pragma(conn, "user_version")? >= version {
        return Ok(());
    }
    let tx = conn.transaction()?;
    tx.execute_batch(sql)?;
    tx.pragma_update(None, "user_version", version)?;
    tx.commit()
}

/// Notes that a run has begun, and whose store it is where it is new.
fn begin(
    conn: &mut Connection,
    stream: &StreamId,
    options: &OpenOptions,
) -> rusqlite::Result<Runs> {
    let tx = conn.transaction()?;
    let before = restore::last_runs(&tx)?;
    tx.execute(
        "INSERT INTO store (one, stream, gateway) VALUES (1, ?1, ?2) ON CONFLICT DO NOTHING",
        [stream.as_str(), options.gateway.as_str()],
    )?;
    tx.execute(
        "INSERT INTO run (boot_id, software, started_boot_ns, last_commit_boot_ns,
         last_commit_wall_ns) VALUES (?1, ?2, ?3, ?3, ?4)",
        params![
            options.boot_id,
            options.software,
            options.now_boot.nanos(),
            options.now_wall.nanos()
        ],
    )?;
    let run = tx.last_insert_rowid();
    let runs = before.followed_by(run.cast_unsigned(), &options.boot_id);
    tx.execute("UPDATE run SET powered = ?1 WHERE run = ?2", [runs.powered.cast_signed(), run])?;
    tx.execute("DELETE FROM run WHERE run <= ?1", [run - RUNS_KEPT])?;
    tx.commit()?;
    Ok(runs)
}

/// A stream's name: eight letters and digits that are not mistaken for one another.
fn stream_id(seed: [u8; 8]) -> StreamId {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let text: String =
        seed.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect();
    StreamId::new(&text).expect("letters and digits are an id")
}

pub(super) fn pragma(conn: &Connection, name: &str) -> rusqlite::Result<i64> {
    conn.query_row(&format!("PRAGMA {name}"), (), |row| row.get(0))
}

/// SQLite fell back to reading: by the mount, by permission, or by what the header says?
fn why_not_writable(path: &Path) -> StoreError {
    if let Err(error) = fs::OpenOptions::new().append(true).open(path) {
        return At { path, doing: "opening" }.io(error);
    }
    let detail = "its header says that it cannot be written".to_owned();
    StoreError::Damaged { path: path.to_owned(), detail }
}

/// That there is a store at `path` and that it is ours, without opening it.
pub(super) fn must_be_ours(path: &Path) -> Result<(), StoreError> {
    let bytes = header(path)?;
    match classify(&bytes) {
        Header::Ours | Header::Damaged => Ok(()),
        Header::Empty if !path.exists() => Err(StoreError::NoStore(path.to_owned())),
        Header::Empty | Header::Foreign => Err(StoreError::NotOurs(path.to_owned())),
    }
}
