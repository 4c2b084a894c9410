//! Setting a store aside that cannot be gone on with (STO-5, STO-7).
//!
//! Always holds: a store is renamed, never rewritten; at most [`KEPT_ASIDE`] are kept, and which
//! one was deleted is said; a crash anywhere in here is finished by the next start.
//! Does not know: what is in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// How many stores set aside are kept: the first is usually the one that matters, the others
/// show that it happens again; more would fill a small disk.
pub(super) const KEPT_ASIDE: usize = 3;

/// `path` with `suffix` after its whole name.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The directory that holds `path`.
pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// Makes renames and new files in the directory of `path` durable.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// Stores set aside from `path` under `label`, oldest first, with their numbers.
fn existing(path: &Path, label: &str) -> io::Result<Vec<(u64, PathBuf)>> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Ok(Vec::new());
    };
    let prefix = format!("{name}.{label}-");
    let mut found = Vec::new();
    for entry in fs::read_dir(directory(path))? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.strip_prefix(&prefix))
            .and_then(|rest| rest.parse().ok());
        if let Some(number) = number {
            found.push((number, entry.path()));
        }
    }
    found.sort();
    Ok(found)
}

/// Renames the store at `path` to `<path>.<label>-<n>`, its WAL after it, and says where it is
/// now and which older one had to go.
///
/// The database goes first: should we be killed in between, what stays is a WAL alone, which
/// [`adopt_orphan`] puts where it belongs. The other way round a start could take the database
/// without its WAL for whole, and give numbers twice.
pub(super) fn set_aside(path: &Path, label: &str) -> io::Result<(PathBuf, Option<PathBuf>)> {
    let mut kept = existing(path, label)?;
    let next = kept.last().map_or(1, |(number, _)| number + 1);
    let mut removed = None;
    while kept.len() >= KEPT_ASIDE {
        let (_, oldest) = kept.remove(0);
        remove_if_there(&beside(&oldest, "-wal"))?;
        fs::remove_file(&oldest)?;
        removed = Some(oldest);
    }
    let aside = beside(path, &format!(".{label}-{next}"));
    fs::rename(path, &aside)?;
    adopt_orphan(path, label)?;
    sync_directory(path)?;
    Ok((aside, removed))
}

/// Puts a WAL without a database beside the store that was set aside last.
pub(super) fn adopt_orphan(path: &Path, label: &str) -> io::Result<()> {
    remove_if_there(&beside(path, "-shm"))?;
    let wal = beside(path, "-wal");
    if path.exists() || !wal.exists() {
        return Ok(());
    }
    if fs::metadata(&wal)?.len() == 0 {
        return fs::remove_file(&wal);
    }
    match existing(path, label)?.last() {
        Some((_, aside)) if !beside(aside, "-wal").exists() => {
            fs::rename(&wal, beside(aside, "-wal"))
        }
        // Of no use without its database, and SQLite would delete it.
        _ => fs::rename(&wal, beside(path, ".orphan-wal")),
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
