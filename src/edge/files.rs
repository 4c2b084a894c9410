//! Files: inputs read no faster than the loop, and small files read whole.
//!
//! Always holds: a whole file is read up to its cap and no further; every failure names the path
//! and what is wrong with it. Does not know: what is in them.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;

use crate::edge::lines::Lines;
use crate::edge::source::{Closed, Happened, Outlet, READ_BYTES};

/// A file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Nothing there.
    #[error("`{}` does not exist", .0.display())]
    Missing(PathBuf),
    /// Not for us.
    #[error("`{}` may not be read: permission denied", .0.display())]
    NotAllowed(PathBuf),
    /// Not a file.
    #[error("`{}` is a directory, a file is needed", .0.display())]
    Directory(PathBuf),
    /// A pipe, a socket or a device: opening or reading it may never end.
    #[error("`{}` is not a regular file, a file is needed", .0.display())]
    NotAFile(PathBuf),
    /// Longer than the cap.
    #[error("`{}` is longer than {bytes_max} bytes", path.display())]
    TooBig {
        /// Which.
        path: PathBuf,
        /// The cap.
        bytes_max: u64,
    },
    /// Not text.
    #[error("`{}` is not UTF-8 text: byte {at} is the first that is not", path.display())]
    NotText {
        /// Which.
        path: PathBuf,
        /// Where.
        at: usize,
    },
    /// A pattern that is more than this understands.
    #[error("`{}`: `*` and `?` are understood in the last part of a path only", .0.display())]
    Pattern(PathBuf),
    /// Anything else.
    #[error("`{}` cannot be read: {source}", path.display())]
    Other {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl FileError {
    fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::PermissionDenied => Self::NotAllowed(path),
            io::ErrorKind::IsADirectory => Self::Directory(path),
            _ => Self::Other { path, source },
        }
    }
}

/// The whole of a file of at most `bytes_max` bytes.
pub fn read_bytes(path: &Path, bytes_max: u64) -> Result<Vec<u8>, FileError> {
    // Before it is opened: to open a pipe waits for its writer.
    let kind = fs::metadata(path).map_err(|e| FileError::new(path, e))?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err(FileError::NotAFile(path.into()));
    }
    let file = File::open(path).map_err(|e| FileError::new(path, e))?;
    let mut bytes = Vec::new();
    file.take(bytes_max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|e| FileError::new(path, e))?;
    if bytes.len() as u64 > bytes_max {
        return Err(FileError::TooBig { path: path.into(), bytes_max });
    }
    Ok(bytes)
}

/// The whole of a text file of at most `bytes_max` bytes.
pub fn read_text(path: &Path, bytes_max: u64) -> Result<String, FileError> {
    String::from_utf8(read_bytes(path, bytes_max)?)
        .map_err(|e| FileError::NotText { path: path.into(), at: e.utf8_error().valid_up_to() })
}

/// Puts a file of these bytes in the place of whatever was at `path`, for its owner alone: whoever
/// reads sees the one before or this one. Not flushed: a power cut may leave anything.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let written = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&beside)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| drop(fs::remove_file(&beside)))
}

/// The files that `pattern` names, sorted. A path without `*` or `?` names itself, there or not;
/// hidden files match only a pattern that begins with a dot.
pub fn glob(pattern: &Path) -> Result<Vec<PathBuf>, FileError> {
    let wild = |text: &str| text.contains(['*', '?']);
    let last = pattern.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let dir = match pattern.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    if dir.to_str().is_some_and(wild) {
        return Err(FileError::Pattern(pattern.into()));
    }
    if !wild(last) {
        return Ok(vec![pattern.into()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| FileError::new(dir, e))? {
        let entry = entry.map_err(|e| FileError::new(dir, e))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let hidden = name.starts_with('.') && !last.starts_with('.');
        if !hidden && matches(last.as_bytes(), name.as_bytes()) && !entry.path().is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// `*` is any run of bytes, `?` one character's first byte and what belongs to it.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(b'?') => {
                p += 1;
                n += 1;
                while name.get(n).is_some_and(|b| b & 0xC0 == 0x80) {
                    n += 1;
                }
            }
            Some(&byte) if byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => {
                // The last star takes one more.
                let Some((at, took)) = star else { return false };
                star = Some((at, took + 1));
                (p, n) = (at + 1, took + 1);
            }
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

/// An input that has an end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileInput {
    /// Standard input.
    Stdin,
    /// A file or a pipe.
    Path(PathBuf),
}

/// Reads the input on a thread of its own, no faster than the pipeline takes it, and says `End`;
/// `whole_lines` where what reads the bytes wants no half ones.
///
/// A thread, because opening a pipe and reading standard input block and cannot be called off;
/// it ends with the input, when nobody listens, or with the process.
pub fn spawn(input: FileInput, whole_lines: bool, outlet: Outlet) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("file-source".into()).spawn(move || {
        if read_all(&input, whole_lines, &outlet).is_ok() {
            // Nobody left to tell is not a fault.
            let _ = outlet.send_blocking(Happened::End);
        }
    })
}

fn read_all(input: &FileInput, whole_lines: bool, outlet: &Outlet) -> Result<(), Closed> {
    let (mut reader, path): (Box<dyn Read>, &Path) = match input {
        FileInput::Stdin => (Box::new(io::stdin().lock()), Path::new("standard input")),
        FileInput::Path(path) => match File::open(path) {
            Ok(file) => (Box::new(file), path),
            Err(e) => return down(path, e, outlet),
        },
    };
    outlet.send_blocking(Happened::Up)?;
    let mut buffer = vec![0; READ_BYTES];
    let mut lines = Lines::default();
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => match lines.finish() {
                half if half.is_empty() => return Ok(()),
                half => return outlet.send_blocking(Happened::Bytes(half)),
            },
            Ok(len) if whole_lines => {
                outlet.send_blocking(Happened::Bytes(lines.push(&buffer[..len])))?;
            }
            Ok(len) => outlet.send_blocking(Happened::Bytes(buffer[..len].to_vec()))?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return down(path, e, outlet),
        }
    }
}

fn down(path: &Path, error: io::Error, outlet: &Outlet) -> Result<(), Closed> {
    let why = FileError::new(path, error).to_string();
    outlet.send_blocking(Happened::Down { why })
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
