//! What the demo plays on: a directory that is removed in the end, the vehicle, the server, and
//! the real daemon as a child; and the timeline of all of them.
//!
//! Always holds: whatever ends the demo, no process and no file of it stays; it waits for things
//! to happen, each for [`PATIENCE`], never for a while. Does not know: the plot.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::drive::{Drive, Passage};
use super::tell;
use super::verdict::{self, Story, zone_of};
use crate::cli::exit::plain;
use crate::cli::out::{Colour, Out, colour_on_stdout, paint};
use crate::cli::shipped::ZONES;
use crate::cli::{CliError, Exit, status};
use crate::edge::child::{self, Child};
use crate::edge::clock;
use crate::edge::pty::Pty;
use crate::edge::receiver::{Manner, Receiver};
use crate::logic::event::{Certainty, Event, Kind};
use crate::logic::health::Status;

/// One step of the plot takes seconds; ten times that is a machine too busy to show anything.
const PATIENCE: f64 = 30.0;
/// How often the vehicle is looked at while the server hears nothing.
const LOOK: Duration = Duration::from_millis(50);
/// Lines of the daemon's log kept for the case that something goes wrong.
const LOG_LINES_MAX: usize = 20;
/// No group can be called so: the socket stays ours, whatever groups this machine has.
const NO_GROUP: &str = "no group: demo";
/// `[gateway] state_dir`.
const STATE_DIR: &str = "state";
/// A socket's path has 107 bytes; the longest name in our directory takes the rest.
const HOME_BYTES_MAX: usize = 80;

/// A directory that is removed when it is dropped.
#[derive(Debug)]
struct Home(PathBuf);

impl Home {
    fn make() -> Result<Self, CliError> {
        let failed = |path: &Path, e: &std::io::Error| {
            let text = format!("cannot make {}: {}; set TMPDIR", path.display(), plain(e));
            CliError::new(Exit::TempFail, text)
        };
        let chance: [u8; 8] =
            clock::random_bytes().map_err(|e| failed(Path::new("a random name"), &e))?;
        let name = format!("geofenced-demo-{:016x}", u64::from_le_bytes(chance));
        let mut path = std::env::temp_dir().join(&name);
        if path.as_os_str().len() > HOME_BYTES_MAX {
            path = Path::new("/tmp").join(&name);
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(|e| failed(&path, &e))?;
        let home = Self(path);
        let state = home.path(STATE_DIR);
        fs::create_dir(&state).map_err(|e| failed(&state, &e))?;
        for (name, text) in ZONES {
            home.write(&format!("zones/{name}"), text)?;
        }
        Ok(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), CliError> {
        let path = self.path(name);
        let parent = path.parent().expect("names are below the directory");
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, text)).map_err(|e| {
            let message = format!("cannot write {}: {}", path.display(), plain(&e));
            CliError::new(Exit::TempFail, message)
        })
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A directory below the system's own for such things is no reason to fail.
        drop(fs::remove_dir_all(&self.0));
    }
}

/// Who a line of the timeline is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    Demo,
    Daemon,
    Vehicle,
    Server,
}

/// Everything on stage. The order of the fields is the order in which they go.
#[derive(Debug)]
pub(super) struct Stage {
    daemon: Option<Child>,
    drive: Drive,
    server: Receiver,
    home: Home,
    interrupted: Arc<AtomicBool>,
    out: Out,
    colour: bool,
    verbose: bool,
    events: Vec<Event>,
    heard: usize,
    passed: usize,
    log: VecDeque<String>,
}

impl Stage {
    /// Everything but the daemon; the vehicle stands at `x_m`.
    pub(super) fn set(x_m: f64, verbose: bool) -> Result<Self, CliError> {
        let failed = |what: &str, e: &std::io::Error| {
            CliError::new(Exit::TempFail, format!("cannot {what}: {}", plain(e)))
        };
        let interrupted = child::interrupted().map_err(|e| failed("hear signals", &e))?;
        let home = Home::make()?;
        let server = Receiver::start().map_err(|e| failed("serve on 127.0.0.1", &e))?;
        Ok(Self {
            daemon: None,
            drive: Drive::start(x_m)?,
            server,
            home,
            interrupted,
            out: Out::new(),
            colour: colour_on_stdout(),
            verbose,
            events: Vec::new(),
            heard: 0,
            passed: 0,
            log: VecDeque::new(),
        })
    }

    /// A line as it is.
    pub(super) fn line(&mut self, text: &str) -> Result<(), CliError> {
        self.out.line(text)?;
        self.out.flush()
    }

    /// A line in a colour.
    pub(super) fn coloured(&mut self, colour: Colour, text: &str) -> Result<(), CliError> {
        let text = paint(colour, text, self.colour);
        self.line(&text)
    }

    /// A line of the timeline, as of now.
    pub(super) fn say(&mut self, who: Who, text: &str) -> Result<(), CliError> {
        let now_s = self.drive.now_s();
        self.say_at(now_s, who, text)
    }

    fn say_at(&mut self, at_s: f64, who: Who, text: &str) -> Result<(), CliError> {
        let (name, colour) = match who {
            Who::Demo => ("demo", Colour::Bold),
            Who::Daemon => ("daemon", Colour::Yellow),
            Who::Vehicle => ("vehicle", Colour::Dim),
            Who::Server => ("server", Colour::Green),
        };
        let name = paint(colour, &format!("{name:<8}"), self.colour);
        self.line(&format!("{at_s:5.1} s  {name} {text}"))
    }

    /// Where the server is, for people.
    pub(super) fn server_address(&self) -> String {
        self.server.address().to_string()
    }

    /// The server stores the next batch, but its answer is lost on the way.
    pub(super) fn lose_an_answer(&self) {
        self.server.once([Manner::DropAnswer]);
    }

    /// The vehicle may go on to `x_m`.
    pub(super) fn go_to(&self, x_m: f64) {
        self.drive.go_to(x_m);
    }

    /// Where the vehicle is.
    pub(super) fn x_m(&self) -> f64 {
        self.drive.x_m()
    }

    /// Seconds since the start.
    pub(super) fn now_s(&self) -> f64 {
        self.drive.now_s()
    }

    /// Whether the server has this of `zone`.
    pub(super) fn has(&self, kind: Kind, zone: &str) -> bool {
        self.events.iter().any(|event| {
            event.kind == kind && zone_of(event).is_none_or(|of_event| of_event == zone)
        })
    }

    /// How many of a kind the server has.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.events.iter().filter(|event| event.kind == kind).count()
    }

    /// Starts the daemon on a port of its own and waits until it says READY.
    pub(super) fn start_daemon(&mut self) -> Result<(), CliError> {
        let failed = |what: &str, e: &std::io::Error| {
            CliError::new(Exit::TempFail, format!("cannot {what}: {}", plain(e)))
        };
        let line = Pty::new().map_err(|e| failed("make a pseudo-terminal", &e))?;
        self.home.write("geofenced.toml", &self.config(line.path()))?;
        self.drive.plug(line);
        let program = std::env::current_exe().map_err(|e| failed("find this program", &e))?;
        let config = self.home.path("geofenced.toml");
        let args = ["run".as_ref(), "--config".as_ref(), config.as_os_str()];
        let daemon = Child::start(&program, args, &self.home.path("notify"))
            .map_err(|e| failed("start the daemon", &e))?;
        let id = daemon.id();
        self.daemon = Some(daemon);
        self.until("the daemon says READY", |stage| {
            stage.daemon.as_mut().is_some_and(Child::is_ready)
        })?;
        self.say(Who::Daemon, &format!("READY (process {id})"))
    }

    /// Rust quotes a text as TOML does.
    fn config(&self, port: &Path) -> String {
        let url = self.server.url();
        let path = |name: &str| self.home.path(name).display().to_string();
        let port = port.display().to_string();
        format!(
            "gateway = {{ id = \"demo-gateway\", asset = \"demo-van\", state_dir = {:?} }}\n\
             control = {{ socket = {:?}, group = \"{NO_GROUP}\", admin_group = \"{NO_GROUP}\" }}\n\
             zones = {{ files = [{:?}] }}\n\
             uplink = {{ url = {url:?} }}\n\
             source = [{{ kind = \"serial\", path = {port:?}, interval = \"200ms\" }}]\n",
            path(STATE_DIR),
            path("control.sock"),
            path("zones/*.geojson"),
        )
    }

    /// SIGKILL.
    pub(super) fn kill_daemon(&mut self) -> Result<(), CliError> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        let id = daemon.id();
        daemon.kill().map_err(|e| CliError::new(Exit::TempFail, plain(&e)))?;
        let text =
            format!("KILLED with kill -9 (process {id}), the vehicle at {:.0} m", self.x_m());
        let text = paint(Colour::Red, &text, self.colour);
        self.say(Who::Daemon, &text)
    }

    /// SIGTERM, and waits for the end.
    pub(super) fn stop_daemon(&mut self) -> Result<(), CliError> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        daemon.terminate().map_err(|e| CliError::new(Exit::TempFail, plain(&e)))?;
        let since_s = self.now_s();
        let mut end = None;
        let waited = self.until("the daemon stops", |_| {
            end = daemon.ended();
            end.is_some()
        });
        self.note(&daemon.said())?;
        waited?;
        if !end.is_some_and(|end| end.success()) {
            return Err(self.failure(&format!("SIGTERM ended the daemon with {end:?}")));
        }
        let took_s = self.now_s() - since_s;
        self.say(Who::Daemon, &format!("stopped in order {took_s:.1} s after SIGTERM"))
    }

    /// Asks the daemon as `geofenced status --json` does.
    pub(super) fn status(&self) -> Result<Status, CliError> {
        status::ask(&self.home.path("control.sock"), "/v1/status")
    }

    /// The store that the daemon leaves.
    pub(super) fn store(&self) -> PathBuf {
        self.home.path(STATE_DIR).join("geofenced.db")
    }

    /// Everything for the checks.
    pub(super) fn story(
        &self,
        decided: u64,
        waiting: u64,
        inside: BTreeSet<String>,
    ) -> Result<Story, CliError> {
        let passed: Vec<Passage> = self.drive.passed();
        Story::new(&self.server.received(), (decided, waiting), inside, passed)
            .map_err(|why| CliError::new(Exit::Software, why))
    }

    /// Tells what happens until `yes`.
    pub(super) fn until(
        &mut self,
        what: &str,
        mut yes: impl FnMut(&mut Self) -> bool,
    ) -> Result<(), CliError> {
        let since_s = self.now_s();
        loop {
            self.catch_up()?;
            if yes(self) {
                return self.catch_up();
            }
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(CliError::new(Exit::TempFail, "interrupted; nothing of it stays"));
            }
            if let Some(end) = self.daemon.as_mut().and_then(Child::ended) {
                return Err(self.failure(&format!("the daemon ended by itself: {end}")));
            }
            if self.now_s() - since_s > PATIENCE {
                return Err(self.failure(&format!("waited {PATIENCE} s in vain until {what}")));
            }
            let heard = self.heard;
            self.server.wait_until(LOOK, |received| received.len() > heard);
        }
    }

    fn failure(&mut self, text: &str) -> CliError {
        let said = self.daemon.as_ref().map(Child::said).unwrap_or_default();
        // What is to be said now is worse than a closed standard output.
        drop(self.note(&said));
        let log: Vec<&str> = self.log.iter().map(String::as_str).collect();
        CliError::new(Exit::Software, format!("{text}\nthe daemon's log:\n{}", log.join("\n")))
    }

    /// Tells what is new, truth first.
    fn catch_up(&mut self) -> Result<(), CliError> {
        let said = self.daemon.as_ref().map(Child::said).unwrap_or_default();
        self.note(&said)?;
        for Passage { boundary, at } in self.drive.passed().into_iter().skip(self.passed) {
            self.passed += 1;
            let way = if boundary.inwards { "into" } else { "out of" };
            let at_s = self.drive.secs_of(at);
            self.say_at(
                at_s,
                Who::Vehicle,
                &format!("crosses the boundary {way} {}", boundary.zone),
            )?;
        }
        for received in self.server.received().into_iter().skip(self.heard) {
            self.heard += 1;
            let event = verdict::event_of(&received.event)
                .map_err(|why| CliError::new(Exit::Software, why))?;
            self.tell(&event, received.duplicate)?;
            if !received.duplicate {
                self.events.push(event);
            }
        }
        Ok(())
    }

    fn note(&mut self, lines: &[String]) -> Result<(), CliError> {
        for line in lines {
            if self.log.len() == LOG_LINES_MAX {
                self.log.pop_front();
            }
            self.log.push_back(line.clone());
            if self.verbose {
                let text = format!("                 | {line}");
                self.coloured(Colour::Dim, &text)?;
            }
        }
        Ok(())
    }

    fn tell(&mut self, event: &Event, again: bool) -> Result<(), CliError> {
        let drive = &self.drive;
        let secs = |time| drive.secs_of(time);
        let what = tell::what(event, &secs);
        let why = tell::why(event, &secs).filter(|_| !again);
        if again {
            return self.say(Who::Server, &format!("{what}  — had it, drops it by its id"));
        }
        let colour = match event.body.certainty {
            Some(Certainty::Inferred | Certainty::Uncertain) => Colour::Yellow,
            _ => Colour::Bold,
        };
        let what = paint(colour, &what, self.colour && event.body.inside.is_some());
        self.say(Who::Server, &what)?;
        match why {
            Some(why) => self.line(&format!("                    {why}")),
            None => Ok(()),
        }
    }
}
