//! Serial ports: open when they are there, read, notice when they are gone, open again.
//!
//! Always holds: at most one descriptor of a port is held, and it is dropped before the port is
//! opened again (a held one gives the device a new number); a port that fails is waited for and
//! never fatal. Does not know: what the receiver says. Sole user of `tokio-serial`.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::FlockArg;
use nix::unistd::{AccessFlags, Gid, Group};
use tokio::io::AsyncReadExt;
use tokio_serial::{SerialPortBuilderExt, SerialStream};

use crate::edge::backoff::{RETRY_MAX, RETRY_MIN, Retry};
use crate::edge::source::{Closed, Outlet, READ_BYTES};
use crate::units::Span;

/// What `auto` means so far: NMEA 0183's own default for receivers that speak more than 4800.
/// On a pty or USB-CDC port the number is ignored by the device.
const BAUD_AUTO: u32 = 9600;

/// Who usually holds a port that is a GNSS receiver.
const USUAL_HOLDERS: [&str; 4] = ["gpsd", "ModemManager", "agetty", "getty"];

/// Whose serial ports are on every distribution.
const GROUP_USUAL: &str = "dialout";

/// The speed of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Baud {
    /// 9600 baud, which is right for most receivers and irrelevant for USB ones.
    #[default]
    Auto,
    /// This many bits a second.
    Fixed(u32),
}

/// One port.
#[derive(Clone, PartialEq, Debug)]
pub struct SerialOptions {
    /// Best a name under `/dev/serial/by-id`, which outlives a replug.
    pub path: PathBuf,
    /// The speed.
    pub baud: Baud,
    /// The first wait before opening again.
    pub retry_min: Span,
    /// The longest.
    pub retry_max: Span,
}

impl SerialOptions {
    /// With the waits of the field.
    pub fn new(path: PathBuf, baud: Baud) -> Self {
        Self { path, baud, retry_min: RETRY_MIN, retry_max: RETRY_MAX }
    }
}

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

/// Reads the port until nobody listens. `chance` gives fractions in 0..1 for the back-off.
pub async fn run(options: SerialOptions, outlet: Outlet, chance: impl FnMut() -> f64) {
    let mut retry = Retry::new(options.retry_min, options.retry_max, chance);
    loop {
        let why = match open(&options) {
            Ok(port) => match read_until_gone(port, &outlet, &mut retry).await {
                Ok(why) => format!("`{}` is gone: {why}", options.path.display()),
                Err(Closed) => return,
            },
            Err(error) => error.to_string(),
        };
        if retry.failed(&outlet, why).await.is_err() {
            return;
        }
    }
}

/// Takes the port by value, so that it is closed before anybody opens it again.
async fn read_until_gone(
    mut port: SerialStream,
    outlet: &Outlet,
    retry: &mut Retry<impl FnMut() -> f64>,
) -> Result<String, Closed> {
    retry.opened(outlet).await?;
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = tokio::select! {
            read = port.read(&mut buffer) => read,
            () = outlet.closed() => return Err(Closed),
        };
        match read {
            // A port that was hung up gives this for ever (E3).
            Ok(0) => return Ok("unplugged (hung up)".into()),
            Ok(len) => {
                retry.useful(outlet).await?;
                outlet.offer(&buffer[..len]).await?;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Ok(gone_text(&e)),
        }
    }
}

fn gone_text(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(e @ (Errno::EIO | Errno::ENXIO | Errno::ENODEV | Errno::EBADF)) => {
            format!("unplugged ({e:?})")
        }
        _ => error.to_string(),
    }
}

/// Opens the port for us alone.
fn open(options: &SerialOptions) -> Result<SerialStream, OpenError> {
    let path = &options.path;
    let baud = match options.baud {
        Baud::Auto => BAUD_AUTO,
        Baud::Fixed(rate) => rate,
    };
    // The kind of file comes first: the error of the system names it only by number.
    check_kind(path)?;
    let mut port = tokio_serial::new(path.to_string_lossy(), baud)
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

fn explain(path: &Path, error: &tokio_serial::Error) -> OpenError {
    use tokio_serial::ErrorKind;
    let path = path.to_path_buf();
    match error.kind() {
        ErrorKind::NoDevice => OpenError::Busy { holder: holder(&path), path },
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
fn advice(device: &Path, group: &str, mode: u32) -> String {
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

/// Looks through /proc for the process that has `path` open; may see only its own user's.
fn holder(path: &Path) -> Holder {
    let Ok(device) = fs::canonicalize(path) else { return Holder::Unknown };
    let Ok(processes) = fs::read_dir("/proc") else { return Holder::Unknown };
    let mut likely = Holder::Unknown;
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
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

#[cfg(test)]
#[path = "serial_tests.rs"]
mod tests;
