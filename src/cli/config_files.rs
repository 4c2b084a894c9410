//! Finds and reads the files a config is made of (DESIGN §7): the vendor's, this machine's,
//! then `conf.d/*.toml` in the order of their names.
//!
//! Always holds: a file that is named and cannot be read is an error, an installed one that is
//! not there is not. Does not know: what is in them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{CliError, Exit};
use crate::logic::config::{self, ConfigFile, Env, Loaded};

/// The vendor's file: comes with the package or the image.
pub const VENDOR_FILE: &str = "/usr/lib/geofenced/geofenced.toml";
/// This machine's file; `conf.d` is beside it.
pub const MACHINE_FILE: &str = "/etc/geofenced/geofenced.toml";

/// A config file is a page or two; a larger one is some other file.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The files of the installed config, or of the one that was named with the `conf.d` beside it.
pub fn gather(named: Option<&Path>) -> Result<Vec<ConfigFile>, CliError> {
    match named {
        Some(file) => {
            let mut files = vec![read(file)?];
            files.extend(beside(file)?);
            Ok(files)
        }
        None => gather_installed(Path::new("/")),
    }
}

/// The installed config under another root, for the tests.
fn gather_installed(root: &Path) -> Result<Vec<ConfigFile>, CliError> {
    let under = |path: &str| root.join(path.trim_start_matches('/'));
    let mut files = Vec::new();
    for path in [under(VENDOR_FILE), under(MACHINE_FILE)] {
        match fs::symlink_metadata(&path) {
            Ok(_) => files.push(read(&path)?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(CliError::reading(&path, &e)),
        }
    }
    files.extend(beside(&under(MACHINE_FILE))?);
    if files.is_empty() {
        let message = format!("there is no config at {MACHINE_FILE}; write one, or give a FILE");
        return Err(CliError::new(Exit::NoInput, message));
    }
    Ok(files)
}

/// The files in the `conf.d` beside a file, sorted by name; hidden ones are an editor's.
fn beside(file: &Path) -> Result<Vec<ConfigFile>, CliError> {
    let dir = file.parent().unwrap_or(Path::new("")).join("conf.d");
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(e) => return Err(CliError::reading(&dir, &e)),
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        let path = entry.map_err(|e| CliError::reading(&dir, &e))?.path();
        let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if !hidden && path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

/// Reads one file.
pub fn read(path: &Path) -> Result<ConfigFile, CliError> {
    let meta = fs::metadata(path).map_err(|e| CliError::reading(path, &e))?;
    // Before it is opened: to open a pipe waits for its writer.
    if !meta.is_file() && !meta.is_dir() {
        let message = format!("{}: is not a regular file, a file is needed", path.display());
        return Err(CliError::new(Exit::NoInput, message));
    }
    let size = meta.len();
    if size > FILE_BYTES_MAX {
        let message =
            format!("{}: is {size} bytes long; a config has at most 1 MiB", path.display());
        return Err(CliError::new(Exit::Config, message));
    }
    let bytes = fs::read(path).map_err(|e| CliError::reading(path, &e))?;
    match String::from_utf8(bytes) {
        // A byte order mark is an editor's habit, not a fault.
        Ok(text) => Ok(ConfigFile::new(
            path.display().to_string(),
            text.strip_prefix('\u{feff}').unwrap_or(&text),
        )),
        Err(e) => {
            let good = e.utf8_error().valid_up_to();
            let line = String::from_utf8_lossy(&e.as_bytes()[..good]).matches('\n').count() + 1;
            let message = format!("{}:{line}: is not UTF-8 text; save it as UTF-8", path.display());
            Err(CliError::new(Exit::Config, message))
        }
    }
}

/// What of the environment a config may refer to.
pub fn env() -> Env {
    std::env::vars().filter(|(name, _)| name == "CREDENTIALS_DIRECTORY").collect()
}

/// Loads a config that this release can run: what it refuses, and why, else.
pub fn load(files: &[ConfigFile]) -> Result<Loaded, CliError> {
    let loaded = config::load(files, &env()).map_err(|faults| CliError::config(&faults))?;
    let unsupported = loaded.unsupported();
    if unsupported.is_empty() { Ok(loaded) } else { Err(CliError::config(&unsupported)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vendors_file_comes_first_and_conf_d_last_by_name() {
        let root = tempfile::tempdir().unwrap();
        let put = |path: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let names = || -> Vec<String> {
            let files = gather_installed(root.path()).unwrap();
            let name = |f: &ConfigFile| f.path.rsplit('/').take(2).collect::<Vec<_>>().join("<");
            files.iter().map(name).collect()
        };
        assert_eq!(gather_installed(root.path()).unwrap_err().exit, Exit::NoInput);
        put("etc/geofenced/conf.d/20-b.toml");
        put("etc/geofenced/conf.d/10-a.toml");
        put("etc/geofenced/conf.d/.10-a.toml.swp.toml");
        put("etc/geofenced/conf.d/notes.txt");
        put("etc/geofenced/geofenced.toml");
        put("usr/lib/geofenced/geofenced.toml");
        assert_eq!(
            names(),
            [
                "geofenced.toml<geofenced",
                "geofenced.toml<geofenced",
                "10-a.toml<conf.d",
                "20-b.toml<conf.d"
            ]
        );
    }
}
