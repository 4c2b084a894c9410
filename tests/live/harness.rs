//! A folder with everything one daemon needs, and the daemon as a child process.
//!
//! Always holds: nothing outlives its test; whoever waits has a limit and says what it waited for.
//! Does not know: what is tested.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use geofenced::edge::clock;
use geofenced::edge::receiver::Receiver;
use geofenced::units::{BootTime, Span};
use nix::fcntl::OFlag;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::drive;

/// Longer than anything here takes on a loaded machine.
pub(crate) const PATIENCE: Span = Span::from_secs(30);

/// Between two looks at something that cannot be waited on.
const LOOK: Span = Span::from_millis(5);

/// Looks until `found` finds something.
pub(crate) fn await_some<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = clock::boot_now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(clock::boot_now() < end, "waited in vain: {what}");
        pause(LOOK);
    }
}

/// Looks until `done` is true.
pub(crate) fn await_true(what: &str, mut done: impl FnMut() -> bool) {
    await_some(what, || done().then_some(()));
}

/// Waits until `then`, where that is still to come: a drive goes at its own pace.
pub(crate) fn pause_until(then: BootTime) {
    while clock::boot_now() < then {
        std::thread::park_timeout(clock::until(then));
    }
}

/// Waits a while.
pub(crate) fn pause(span: Span) {
    pause_until(clock::boot_now() + span);
}

/// A folder: config, zones, state, log, socket.
pub(crate) struct Site {
    dir: tempfile::TempDir,
    pub(crate) server: Receiver,
}

impl Site {
    /// With a config that works and no zones yet.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let server = Receiver::start().unwrap();
        let site = Self { dir, server };
        for folder in ["state", "zones", "conf.d"] {
            fs::create_dir(site.path(folder)).unwrap();
        }
        let root = site.dir.path().display();
        let url = site.server.url();
        site.write(
            "geofenced.toml",
            &format!(
                "[gateway]\nid = \"gw-live\"\nasset = \"van\"\nstate_dir = \"{root}/state\"\n\
                 [[source]]\nkind = \"serial\"\npath = \"{root}/gnss\"\n\
                 [time]\nfloor = \"2010-01-01T00:00:00Z\"\n\
                 [zones]\nfiles = [\"{root}/zones/*.geojson\"]\n\
                 [uplink]\nurl = \"{url}\"\nlinger = \"100ms\"\nbackoff_max = \"1s\"\n\
                 [control]\nsocket = \"{root}/control.sock\"\n"
            ),
        );
        site
    }

    /// With a config that trusts its fixes, as a recorded feed wants.
    pub(crate) fn trusted() -> Self {
        let site = Self::new();
        site.write("conf.d/trust.toml", "[[source]]\ntrust = \"fixes\"\n");
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Another command, to its end.
    pub(crate) fn command(&self, args: &[&str]) -> Output {
        let mut command = program();
        command.current_dir(self.dir.path()).args(args);
        command.output().unwrap()
    }

    /// Another command as a user that owns nothing; `None` where that cannot be tried.
    pub(crate) fn as_nobody<'a>(&'a self, args: &'a [&str]) -> Option<impl Fn() -> Output + 'a> {
        let nobody = move |program: &Path, args: &[&str]| {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
            command.arg(program).args(args).current_dir(self.dir.path()).output().ok()
        };
        // The build may lie where only its owner may go.
        let copy = self.path("geofenced");
        fs::copy(program().get_program(), &copy).unwrap();
        let tried = nobody(&copy, &["--version"])?;
        tried.status.success().then_some(move || nobody(&copy, args).unwrap())
    }

    /// What `status --json` says, if anybody answers.
    pub(crate) fn status(&self) -> Option<Value> {
        let out = self.command(&["status", "--json", "--socket", "control.sock"]);
        out.status.success().then(|| serde_json::from_slice(&out.stdout).unwrap())
    }

    /// Waits for a status of which `wanted` holds.
    pub(crate) fn await_status(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let end = clock::boot_now() + PATIENCE;
        loop {
            let status = self.status();
            if let Some(status) = status.clone().filter(&wanted) {
                return status;
            }
            let told = || format!("{:#}\n{}", status.clone().unwrap_or_default(), self.log());
            assert!(clock::boot_now() < end, "waited in vain: {what}\n{}", told());
            pause(LOOK);
        }
    }

    /// Waits until the source is open.
    pub(crate) fn await_open(&self) {
        self.await_status("the source opens", |s| s["sources"][0]["up"] == true);
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// The daemon, started; not yet ready.
    pub(crate) fn start(&self) -> Daemon {
        self.start_with(&[])
    }

    /// With these variables.
    pub(crate) fn start_with(&self, env: &[(&str, &str)]) -> Daemon {
        let mut command = program();
        command.args(["run", "--config", "geofenced.toml"]);
        self.spawn(command, env)
    }

    /// With these variables, and `WATCHDOG_PID` that of the daemon itself.
    pub(crate) fn start_watched(&self, env: &[(&str, &str)]) -> Daemon {
        let daemon = program();
        let mut command = Command::new("sh");
        let line = "export WATCHDOG_PID=$$; exec \"$0\" run --config geofenced.toml";
        command.args(["-c", line]).arg(daemon.get_program());
        self.spawn(command, env)
    }

    fn spawn(&self, mut command: Command, env: &[(&str, &str)]) -> Daemon {
        let log = OpenOptions::new().create(true).append(true).open(self.path("log")).unwrap();
        command.current_dir(self.dir.path()).envs(env.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Daemon { child: command.spawn().unwrap() }
    }

    /// Feeds all of it to a daemon just started, waits until it is read, and unplugs: the end of
    /// a trusted feed releases what waits in order.
    pub(crate) fn feed_to_end(&self, pty: Pty, bytes: &[u8]) {
        self.feed_to_end_of(pty, bytes, 0);
    }

    /// The same where the daemon has read so many sentences before.
    pub(crate) fn feed_to_end_of(&self, mut pty: Pty, bytes: &[u8], before: u64) {
        assert!(pty.feed(bytes));
        // What nobody has read yet is gone when a port is unplugged.
        let sentences = before + drive::sentences(bytes);
        self.await_status("all is read", |s| s["sources"][0]["sentences"] == sentences);
        drop(pty);
        self.await_status("the feed ends", |s| s["sources"][0]["up"] == false);
    }

    /// A command that goes on until it is ended, with its output.
    pub(crate) fn follow(&self, args: &[&str]) -> Daemon {
        let mut command = program();
        command.current_dir(self.dir.path()).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Daemon { child: command.spawn().unwrap() }
    }

    /// The daemon with its source open.
    pub(crate) fn start_open(&self) -> Daemon {
        let daemon = self.start();
        self.await_open();
        daemon
    }
}

/// The binary of this build, or the one that is to be tried instead (a release, say).
fn program() -> Command {
    let named = std::env::var_os("GEOFENCED_BINARY");
    let mut command = Command::new(named.unwrap_or(env!("CARGO_BIN_EXE_geofenced").into()));
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY"] {
        command.env_remove(name);
    }
    command
}

/// A running daemon; killed when dropped.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The output of a command that is followed.
    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub(crate) fn alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    /// SIGKILL, at once.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// The exit code, once it ends by itself, and how long that took.
    pub(crate) fn end(mut self) -> (i32, Duration) {
        let start = clock::boot_now();
        let status = await_some("the daemon ends", || self.child.try_wait().unwrap());
        let code = status.code().unwrap_or_else(|| -status.signal().unwrap());
        (code, (clock::boot_now() - start).to_std())
    }

    /// SIGTERM to the end, which must be good.
    pub(crate) fn stop(self) -> Duration {
        self.signal(Signal::SIGTERM);
        let (code, took) = self.end();
        assert_eq!(code, 0);
        took
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A pseudo terminal whose far side the daemon finds under a name that stays.
pub(crate) struct Pty {
    master: File,
    name: PathBuf,
    link: PathBuf,
}

impl Drop for Pty {
    /// The link goes first: the system gives the number to whoever asks next.
    fn drop(&mut self) {
        if fs::read_link(&self.link).is_ok_and(|to| to == self.name) {
            let _ = fs::remove_file(&self.link);
        }
    }
}

impl Pty {
    /// Puts a new one under `link`; one that was there before is as unplugged.
    pub(crate) fn plug(link: &Path) -> Self {
        // No child may inherit it: a master that somebody holds is not unplugged.
        let flags = OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let master = nix::pty::posix_openpt(flags).unwrap();
        nix::pty::grantpt(&master).unwrap();
        nix::pty::unlockpt(&master).unwrap();
        let name = PathBuf::from(nix::pty::ptsname_r(&master).unwrap());
        if fs::symlink_metadata(link).is_ok() {
            fs::remove_file(link).unwrap();
        }
        symlink(&name, link).unwrap();
        Self { master: OwnedFd::from(master).into(), name, link: link.to_owned() }
    }

    /// The device itself.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Writes all of it as fast as the other side reads; `false` when nobody has it open.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> bool {
        let mut end = clock::boot_now() + PATIENCE;
        while !bytes.is_empty() {
            match self.master.write(bytes) {
                Ok(len) => {
                    bytes = &bytes[len..];
                    end = clock::boot_now() + PATIENCE;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    assert!(clock::boot_now() < end, "the daemon reads no more");
                    pause(Span::from_millis(1));
                }
                Err(_) => return false,
            }
        }
        true
    }
}

/// The flat record of each event that the server has, each once.
pub(crate) fn records(server: &Receiver) -> Vec<Value> {
    server.events().into_iter().map(|event| event["data"].clone()).collect()
}

/// How many of this kind.
pub(crate) fn count(records: &[Value], kind: &str) -> usize {
    records.iter().filter(|record| record["kind"] == kind).count()
}
