//! A pseudo-terminal that stands for a receiver's port, for `demo`.
//!
//! Always holds: sending never waits; what does not fit into the line is lost, as on a real one.
//! Does not know: what is sent.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::termios::{SetArg, cfmakeraw, tcgetattr, tcsetattr};

/// The receiver's end of a port.
#[derive(Debug)]
pub struct Pty {
    receiver: File,
    path: PathBuf,
}

impl Pty {
    /// A new port that nobody has open. It takes one reader in its life: the kernel forgets
    /// neither the bytes in it nor that it was taken exclusively while our end lives.
    pub fn new() -> io::Result<Self> {
        let pair = nix::pty::openpty(None, None)?;
        let path = nix::unistd::ttyname(&pair.slave)?;
        let mut raw = tcgetattr(&pair.slave)?;
        cfmakeraw(&mut raw);
        tcsetattr(&pair.slave, SetArg::TCSANOW, &raw)?;
        let flags = OFlag::from_bits_truncate(fcntl(&pair.master, FcntlArg::F_GETFL)?);
        fcntl(&pair.master, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        Ok(Self { receiver: File::from(pair.master), path })
    }

    /// What a source opens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Sends; says whether the line took all of it.
    pub fn send(&self, bytes: &[u8]) -> bool {
        (&self.receiver).write_all(bytes).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::OpenOptionsExt as _;

    use super::*;

    #[test]
    fn a_line_carries_bytes_as_they_are_and_never_waits() {
        let pty = Pty::new().unwrap();
        let mut options = File::options();
        let mut port =
            options.read(true).custom_flags(OFlag::O_NOCTTY.bits()).open(pty.path()).unwrap();
        let sent = b"$GNRMC,\r\n\x03\x04";
        assert!(pty.send(sent));
        let mut got = [0; 11];
        port.read_exact(&mut got).unwrap();
        assert_eq!(&got, sent);
        // Nobody reads on: it fills up, and sending still returns.
        let full = (0..10_000).any(|_| !pty.send(&[b'x'; 1024]));
        assert!(full);
    }
}
