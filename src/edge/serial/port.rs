//! Opening a port for us alone, and who else has it.
//!
//! Always holds: a port that does not open says why and what to do. Does not know: what comes
//! over it.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::FlockArg;
use nix::unistd::{AccessFlags, Gid, Group};
use tokio_serial::{SerialPortBuilderExt, SerialStream};

/// Who usually holds a port that is a GNSS receiver.
const USUAL_HOLDERS: [&str; 4] = ["gpsd", "ModemManager", "agetty", "getty"];

/// Whose serial ports are on every distribution.
const GROUP_USUAL: &str = "dialout";

/// Why a port does not open.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// No such device.
    #[error("`{}` is not there; waiting for it to be plugged in", .0.display())]
    NotThere(PathBuf),
    /// Somebody else has it.
    #[error("`{}` is in use{}", path.display(), holder.sentence())]
    Busy {
        /// The port.
        path: PathBuf,
        /// By whom.
        holder: Holder,
    },
    /// The file mode forbids it.
    #[error("`{}` may not be opened: {advice}", path.display())]
    NotAllowed {
        /// The port.
        path: PathBuf,
        /// What to do.
        advice: String,
    },
    /// Something else lies there.
    #[error("`{}` is not a serial port but {what}", path.display())]
    NotAPort {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Anything else.
    #[error("`{}` does not open: {text}", path.display())]
    Other {
        /// The port.
        path: PathBuf,
        /// What the system said.
        text: String,
    },
}

/// Who has the port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// This process has it open.
    Known {
        /// Its name.
        name: String,
        /// Its number.
        pid: u32,
    },
    /// It cannot be seen, but this program runs and is known for it.
    Likely(String),
    /// Not a trace.
    Unknown,
}

impl Holder {
    /// Behind what it does to us.
    pub(super) fn also(&self) -> String {
        match self {
            Self::Known { name, pid } => format!(": {name} (process {pid}) reads it as well"),
            Self::Likely(name) => format!(": most likely {name}, which is running, reads it too"),
            Self::Unknown => String::new(),
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Known { name, pid } => {
                format!(" by {name} (process {pid}): stop it, or use a gpsd source")
            }
            Self::Likely(name) => {
                format!(", most likely by {name}, which is running: stop it, or use a gpsd source")
            }
            Self::Unknown => {
                "; usual holders are gpsd, ModemManager and getty: stop it there".to_owned()
            }
        }
    }
}

/// Opens the port for us alone.
pub(super) fn open(path: &Path, rate: u32) -> Result<SerialStream, OpenError> {
    // The kind of file comes first: the error of the system names it only by number.
    check_kind(path)?;
    let mut port = tokio_serial::new(path.to_string_lossy(), rate)
        .exclusive(true)
        .open_native_async()
        .map_err(|e| explain(path, &e))?;
    if fs::canonicalize(path).is_ok_and(|device| device.starts_with("/dev/pts")) {
        lock_only(&mut port).map_err(|e| explain(path, &e))?;
    }
    Ok(port)
}

/// A pseudo terminal stays TIOCEXCL while its other end is open: one that we held when we were
/// killed would shut us out for good. The flock ends with us, and holds off a second geofenced.
fn lock_only(port: &mut SerialStream) -> tokio_serial::Result<()> {
    port.set_exclusive(false)?;
    #[expect(deprecated, reason = "the port offers no owned descriptor that Flock would take")]
    nix::fcntl::flock(port.as_raw_fd(), FlockArg::LockExclusiveNonblock)
        .map_err(|e| tokio_serial::Error::new(tokio_serial::ErrorKind::NoDevice, e.desc()))
}

fn check_kind(path: &Path) -> Result<(), OpenError> {
    let kind = match fs::metadata(path) {
        Ok(meta) => meta.file_type(),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::NotThere(path.into()));
        }
        Err(e) => return Err(OpenError::Other { path: path.into(), text: e.to_string() }),
    };
    let what = if kind.is_char_device() {
        return Ok(());
    } else if kind.is_file() {
        "a file: use kind = \"file\""
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe: use kind = \"file\""
    } else {
        "something else"
    };
    Err(OpenError::NotAPort { path: path.into(), what })
}

pub(super) fn explain(path: &Path, error: &tokio_serial::Error) -> OpenError {
    use tokio_serial::ErrorKind;
    let path = path.to_path_buf();
    match error.kind() {
        ErrorKind::NoDevice => OpenError::Busy { holder: holder(&path, None), path },
        ErrorKind::Io(io::ErrorKind::NotFound) => OpenError::NotThere(path),
        ErrorKind::Io(io::ErrorKind::PermissionDenied) => {
            OpenError::NotAllowed { advice: advice_for(&path), path }
        }
        // The crate keeps the text of the errno and drops its number.
        _ if error.description == Errno::ENOTTY.desc() => {
            OpenError::NotAPort { path, what: "another device" }
        }
        // TIOCEXCL of another process answers root's open and ours alike.
        _ if nix::unistd::access(&path, AccessFlags::R_OK | AccessFlags::W_OK)
            == Err(Errno::EACCES) =>
        {
            OpenError::NotAllowed { advice: advice_for(&path), path }
        }
        _ => OpenError::Other { path, text: error.to_string() },
    }
}

/// How one is let in to the port at `path`.
fn advice_for(path: &Path) -> String {
    let device = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    let Ok(meta) = fs::metadata(&device) else { return advice(&device, GROUP_USUAL, 0o660) };
    let group = Group::from_gid(Gid::from_raw(meta.gid())).ok().flatten();
    advice(&device, &group.map_or_else(|| meta.gid().to_string(), |g| g.name), meta.mode())
}

/// A port whose group may nothing, or whose group is root's, must be given away first.
pub(super) fn advice(device: &Path, group: &str, mode: u32) -> String {
    if mode & 0o060 == 0o060 && group != "root" {
        return format!("add the user of geofenced to group `{group}`");
    }
    let name = device.file_name().unwrap_or_default().display();
    format!(
        "it is for root alone; give it to group `{GROUP_USUAL}` by a line in \
         /etc/udev/rules.d/99-gnss.rules, SUBSYSTEM==\"tty\", KERNEL==\"{name}\", \
         GROUP=\"{GROUP_USUAL}\", MODE=\"0660\", and plug it in again"
    )
}

/// Looks through /proc for a process, other than `except`, that has `path` open; may see only its
/// own user's.
pub(super) fn holder(path: &Path, except: Option<u32>) -> Holder {
    let Ok(device) = fs::canonicalize(path) else { return Holder::Unknown };
    let Ok(processes) = fs::read_dir("/proc") else { return Holder::Unknown };
    let mut likely = Holder::Unknown;
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if Some(pid) == except {
            continue;
        }
        let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        let name = name.trim().to_owned();
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            if USUAL_HOLDERS.contains(&name.as_str()) {
                likely = Holder::Likely(name);
            }
            continue;
        };
        if files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|to| to == device)) {
            return Holder::Known { name, pid };
        }
    }
    likely
}
