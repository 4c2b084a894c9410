//! What can go wrong with a store, and what a person can do about it.
//!
//! Always holds: a variant says whose fault it is, and its text names the file.
//! Does not know: exit codes; the caller picks them.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// A store that could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory for it does not exist.
    #[error("{}: there is no such directory; create it, or set [gateway] state_dir", .0.display())]
    NoDirectory(PathBuf),
    /// There is no store to read.
    #[error("{}: there is no store here", .0.display())]
    NoStore(PathBuf),
    /// The file or its directory may not be read or written by this user.
    #[error(
        "{}: not allowed; give this user read and write on the file and its directory", .0.display()
    )]
    NotAllowed(PathBuf),
    /// The file system is mounted read-only.
    #[error(
        "{}: the file system is read-only; [gateway] state_dir must be writable", .0.display()
    )]
    ReadOnly(PathBuf),
    /// A file of somebody else.
    #[error(
        "{}: is not a geofenced store; it was left as it is: \
         move it away, or set another [gateway] state_dir",
        .0.display()
    )]
    NotOurs(PathBuf),
    /// Written by a release of a later major.
    #[error(
        "{}: was written by a newer geofenced (store format {found}, this one knows {known}); \
         it was left as it is: run that release, or move the file away to start anew",
        .path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Major of its format.
        found: i64,
        /// Major that this release knows.
        known: i64,
    },
    /// Another process has it open.
    #[error(
        "{}: is in use by another process; is geofenced already running? \
         Then ask it: geofenced status, geofenced events",
        .0.display()
    )]
    InUse(PathBuf),
    /// It cannot be read (STO-5).
    #[error("{}: is damaged: {detail}", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says of it.
        detail: String,
    },
    /// It belongs to another gateway (STO-7).
    #[error("{}: belongs to gateway {theirs}, not {ours}", .path.display())]
    OtherGateway {
        /// The file.
        path: PathBuf,
        /// The gateway that wrote it.
        theirs: String,
        /// The one that is configured.
        ours: String,
    },
    /// No space on the disk, or the page cap is reached. Nothing of the group was kept.
    #[error("{}: no space left", .0.display())]
    Full(PathBuf),
    /// The disk failed, or a file is not what it was. Nothing of the group was kept.
    #[error("{}: {doing}: {source}", .path.display())]
    Disk {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What came of it.
        source: io::Error,
    },
    /// Our bug: an event's number or id is not the one that the store would have given it.
    #[error("our bug: {lane} {found} was to be stored where {expected} comes next (INV-3)")]
    Sequence {
        /// Which stream.
        lane: &'static str,
        /// What comes next by the store.
        expected: String,
        /// What came.
        found: String,
    },
    /// Our bug: an asset's step number or watermark went back (INV-3).
    #[error("our bug: step or watermark of asset {0} went back (INV-3)")]
    WentBack(String),
    /// Our bug, most likely: SQLite refused what we asked.
    #[error("{}: {doing}: {source}", .path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What SQLite says.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Whether the world may get better by itself: keep the group, decide on, try again (STO-5).
    pub fn may_recover(&self) -> bool {
        matches!(self, Self::Full(_) | Self::ReadOnly(_) | Self::NotAllowed(_) | Self::Disk { .. })
    }
}

/// Names a file that an error is about, and what was tried with it.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) path: &'a Path,
    pub(super) doing: &'static str,
}

impl At<'_> {
    /// What a refusal of the file system means.
    pub(super) fn io(self, source: io::Error) -> StoreError {
        let path = self.path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => StoreError::NoStore(path),
            io::ErrorKind::PermissionDenied => StoreError::NotAllowed(path),
            io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly(path),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(path),
            _ => StoreError::Disk { path, doing: self.doing, source },
        }
    }

    /// What a refusal of SQLite means.
    pub(super) fn sql(self, source: rusqlite::Error) -> StoreError {
        let path = self.path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::InUse(path),
            Some(ErrorCode::DiskFull) => StoreError::Full(path),
            Some(ErrorCode::ReadOnly) => StoreError::ReadOnly(path),
            Some(ErrorCode::PermissionDenied) => StoreError::NotAllowed(path),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                StoreError::Damaged { path, detail: source.to_string() }
            }
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => {
                let source = io::Error::other(source.to_string());
                StoreError::Disk { path, doing: self.doing, source }
            }
            _ => unreadable(path, self.doing, source),
        }
    }
}

/// A value that is not what we wrote is damage; anything else is a refusal.
fn unreadable(path: PathBuf, doing: &'static str, source: rusqlite::Error) -> StoreError {
    use rusqlite::Error as Sql;
    match source {
        Sql::FromSqlConversionFailure(..)
        | Sql::IntegralValueOutOfRange(..)
        | Sql::Utf8Error(..)
        | Sql::InvalidColumnType(..)
        | Sql::QueryReturnedNoRows => StoreError::Damaged { path, detail: source.to_string() },
        source => StoreError::Refused { path, doing, source },
    }
}
