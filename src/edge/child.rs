//! A daemon as a child process that speaks systemd's protocol to us, and the wish to interrupt us.
//!
//! Always holds: a child does not outlive its handle; nothing here waits longer than it is told.
//! Does not know: what the child is.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};

/// Longer than anything the protocol carries.
const NOTIFY_BYTES_MAX: usize = 4096;

/// A running child.
#[derive(Debug)]
pub struct Child {
    process: std::process::Child,
    notify: UnixDatagram,
    said: Receiver<String>,
    ready: bool,
}

impl Child {
    /// Starts `program`, which is to say READY at the socket that is made at `notify_path`.
    pub fn start(
        program: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        notify_path: &Path,
    ) -> io::Result<Self> {
        // One that a child before this one used.
        drop(std::fs::remove_file(notify_path));
        let notify = UnixDatagram::bind(notify_path)?;
        notify.set_nonblocking(true)?;
        let mut process = Command::new(program)
            .args(args)
            .env("NOTIFY_SOCKET", notify_path)
            .env_remove("WATCHDOG_USEC")
            .env_remove("WATCHDOG_PID")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let talk = process.stderr.take().expect("standard error was asked for");
        let (sender, said) = channel();
        let child = Self { process, notify, said, ready: false };
        std::thread::Builder::new().name("talk".into()).spawn(move || {
            for line in BufReader::new(talk).lines().map_while(Result::ok) {
                // Whoever no longer listens wants no more lines; the pipe must still be emptied.
                drop(sender.send(line));
            }
        })?;
        Ok(child)
    }

    /// Its process number.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether it has said READY.
    pub fn is_ready(&mut self) -> bool {
        let mut buffer = [0; NOTIFY_BYTES_MAX];
        while let Ok(len) = self.notify.recv(&mut buffer) {
            self.ready |= buffer[..len].split(|byte| *byte == b'\n').any(|line| line == b"READY=1");
        }
        self.ready
    }

    /// What it wrote to standard error since the last call.
    pub fn said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.try_wait().ok().flatten()
    }

    /// SIGKILL: it gets no chance to do anything.
    pub fn kill(&mut self) -> io::Result<()> {
        self.process.kill()?;
        self.process.wait().map(drop)
    }

    /// SIGTERM: asks it to stop.
    pub fn terminate(&self) -> io::Result<()> {
        let pid = i32::try_from(self.process.id()).expect("Linux numbers processes up to 2^22");
        Ok(kill(Pid::from_raw(pid), Signal::SIGTERM)?)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.ended().is_none() {
            // It can only have ended just now.
            drop(self.kill());
        }
    }
}

/// Becomes true when somebody asks this process to end (Ctrl-C, SIGTERM, a closed terminal),
/// which from now on does not end it at once.
pub fn interrupted() -> io::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut int, mut term, mut hup) = {
        let _inside = runtime.enter();
        let on = signal;
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?, on(SignalKind::hangup())?)
    };
    let told = Arc::clone(&flag);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
                _ = hup.recv() => {}
            }
        });
        told.store(true, Ordering::Relaxed);
    })?;
    Ok(flag)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;
    use std::time::Duration;

    fn shell(script: &str, dir: &Path) -> Child {
        Child::start(Path::new("/bin/sh"), ["-c", script], &dir.join("notify")).unwrap()
    }

    #[test]
    fn a_child_is_heard_and_ends_as_asked() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'exit 7' TERM; echo hello >&2; while :; do :; done";
        let mut child = shell(script, dir.path());
        assert_eq!(child.said.recv_timeout(Duration::from_secs(10)).unwrap(), "hello");
        assert!(!child.is_ready() && child.ended().is_none() && child.said().is_empty());
        child.terminate().unwrap();
        child.process.wait().unwrap();
        assert_eq!(child.ended().unwrap().code(), Some(7));

        let mut child = shell("exec cat /dev/zero > /dev/null", dir.path());
        child.kill().unwrap();
        assert_eq!(child.ended().unwrap().signal(), Some(9));
    }

    #[test]
    fn ready_is_what_systemd_takes_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut child = shell("exec cat /dev/zero > /dev/null", dir.path());
        let socket = UnixDatagram::unbound().unwrap();
        socket.send_to(b"STATUS=NOT READY=1", dir.path().join("notify")).unwrap();
        assert!(!child.is_ready());
        socket.send_to(b"READY=1\nSTATUS=up\n", dir.path().join("notify")).unwrap();
        assert!(child.is_ready());
    }
}
