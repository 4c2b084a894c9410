//! From a Unix socket to the disk: the daemon of this build takes a fleet's JSON lines as fast as
//! it can, and decides on them what `replay` decides on the same lines.
//!
//! Prints fixes a second until everything is durable, the daemon's own CPU time by thread, and the
//! most memory that it had; ends in a fault where a line was dropped or an event differs.
//! The source is trusted (`trust = "fixes"`), because 750 s of a fleet come in some seconds: a live
//! source's clock would be held against the gateway's, and clamped, as it must be.
//! `cargo bench --bench socket`, with `-- FIXES CONNECTIONS RUNS` for other than 3,000,000, 2, 3.

mod fleet;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fleet::Fleet;
use geofenced::logic::event::Lane;
use geofenced::store::{EventQuery, ReadOnly};
use geofenced::units::{EventTime, Span};
use serde_json::Value;

const ASSETS: u64 = 4_000;
const ZONES: u64 = 6_000;

/// What a replay has no reason to say.
const LIVE_ONLY: [&str; 3] = ["gateway_started", "layer_activated", "asset_reconciled"];

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(2);
/// Between two looks at the daemon.
const LOOK: Duration = Duration::from_millis(20);

/// `CLK_TCK`, which Linux has fixed at 100 for programs.
const TICKS_PER_S: f64 = 100.0;

#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn now() -> Instant {
    Instant::now()
}

fn await_some<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begin = now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::park_timeout(LOOK);
    }
}

/// The fleet's first reports as trackers send them: to the millisecond and the centimetre.
fn lines(fixes: u64) -> impl Iterator<Item = (u64, String)> {
    Fleet::new(ASSETS, ZONES).take(fixes as usize).map(|report| {
        let nanos = report.time.nanos();
        let time = EventTime::from_nanos(nanos - nanos % Span::from_millis(1).nanos());
        let (lat, lon) = (report.position.lat_deg(), report.position.lon_deg());
        let asset = Fleet::name(report.asset);
        let mut line = String::with_capacity(128);
        let _ = writeln!(
            line,
            "{{\"asset\":\"{asset}\",\"time\":\"{time}\",\"lat\":{lat:.7},\"lon\":{lon:.7},\
             \"accuracy_m\":5.0}}"
        );
        (report.asset, line)
    })
}

/// A folder: config, zones, store, sockets.
struct Site {
    dir: tempfile::TempDir,
}

impl Site {
    fn new() -> std::io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let root = dir.path().display();
        fs::create_dir(dir.path().join("state"))?;
        for (n, text) in fleet::layer_texts(ZONES).iter().enumerate() {
            fs::write(dir.path().join(format!("{n}.geojson")), text)?;
        }
        let config = format!(
            "[gateway]\nid = \"bench\"\nstate_dir = \"{root}/state\"\n\
             [[source]]\nkind = \"jsonl\"\npath = \"{root}/trackers.sock\"\ntrust = \"fixes\"\n\
             [zones]\nfiles = [\"{root}/*.geojson\"]\n[uplink]\nkind = \"none\"\n\
             [spool]\nmax_bytes = \"1024MiB\"\n[control]\nsocket = \"{root}/control.sock\"\n"
        );
        fs::write(dir.path().join("geofenced.toml"), config)?;
        Ok(Self { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn program(&self, args: &[&str]) -> Command {
        let named = std::env::var_os("GEOFENCED_BINARY");
        let mut command = Command::new(named.unwrap_or(env!("CARGO_BIN_EXE_geofenced").into()));
        command.current_dir(self.dir.path()).args(args);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        command
    }

    /// What `replay` decides on the first lines, by asset.
    fn replayed(&self, fixes: u64) -> std::io::Result<Decided> {
        let zones = self.path("*.geojson");
        let args = ["replay", "-", "--config", "geofenced.toml", "--zones"];
        let mut command = self.program(&args);
        command.arg(zones).stdin(Stdio::piped()).stdout(fs::File::create(self.path("replay"))?);
        let mut replay = command.spawn()?;
        let mut into = std::io::BufWriter::new(replay.stdin.take().expect("a pipe"));
        for (_, line) in lines(fixes) {
            into.write_all(line.as_bytes())?;
        }
        into.into_inner()?;
        assert!(replay.wait()?.success(), "the replay ends well");
        let text = fs::read_to_string(self.path("replay"))?;
        Ok(by_asset(text.lines().map(|line| serde_json::from_str(line).expect("an event"))))
    }

    /// What the daemon has made durable, by asset, once it has ended.
    fn stored(&self) -> Decided {
        let store = ReadOnly::open(&self.path("state/geofenced.db")).expect("a store");
        let query = EventQuery { max: usize::MAX, ..EventQuery::default() };
        let found = store.events(Lane::Events, &query).expect("events");
        assert_eq!(found.unreadable, 0);
        by_asset(found.events.iter().map(|event| serde_json::to_value(event).expect("an event")))
    }

    fn status(&self) -> Option<Value> {
        let out = self.program(&["status", "--json", "--socket", "control.sock"]).output().ok()?;
        out.status.success().then(|| serde_json::from_slice(&out.stdout).expect("a status"))
    }
}

/// Events of each asset in their order.
type Decided = HashMap<String, Vec<Value>>;

/// As both sides can have them: without numbers, visits named by their place.
fn by_asset(events: impl Iterator<Item = Value>) -> Decided {
    let mut decided = Decided::new();
    let mut visits: HashMap<String, usize> = HashMap::new();
    for mut event in events {
        if LIVE_ONLY.iter().any(|kind| event["kind"] == *kind) {
            continue;
        }
        let asset = event["asset"].as_str().expect("an asset").to_owned();
        let own = decided.entry(asset).or_default();
        let fields = event.as_object_mut().expect("a record");
        for live in ["seq", "id", "recorded_at", "software"] {
            fields.remove(live);
        }
        if let Some(Value::String(visit)) = fields.get("visit") {
            let place = *visits.entry(visit.clone()).or_insert(own.len());
            fields.insert("visit".into(), place.into());
        }
        own.push(event);
    }
    decided
}

fn count(decided: &Decided) -> usize {
    decided.values().map(Vec::len).sum()
}

fn compare(live: &Decided, wanted: &Decided) {
    for (asset, wanted) in wanted {
        let live = live.get(asset).map_or(&[][..], Vec::as_slice);
        for (ix, (live, wanted)) in live.iter().zip(wanted).enumerate() {
            assert_eq!(live, wanted, "event {ix} of {asset}");
        }
        assert_eq!(live.len(), wanted.len(), "{asset}");
    }
    assert_eq!(live.len(), wanted.len(), "assets");
}

/// The daemon; killed when dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a process has used.
struct Used {
    /// CPU seconds of each thread by its name.
    threads: Vec<(String, f64)>,
    peak_mb: f64,
}

impl Daemon {
    fn start(site: &Site) -> std::io::Result<Self> {
        let log = fs::File::create(site.path("log"))?;
        let mut command = site.program(&["run", "--config", "geofenced.toml"]);
        let daemon = Self(command.stdin(Stdio::null()).stderr(log).spawn()?);
        await_some("it listens", || UnixStream::connect(site.path("trackers.sock")).ok());
        Ok(daemon)
    }

    fn used(&self) -> std::io::Result<Used> {
        let proc = PathBuf::from(format!("/proc/{}", self.0.id()));
        let mut threads = Vec::new();
        for task in fs::read_dir(proc.join("task"))? {
            threads.push(cpu(&task?.path())?);
        }
        let status = fs::read_to_string(proc.join("status"))?;
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = peak.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
        Ok(Used { threads, peak_mb: kb.unwrap_or(0.0) / 1e3 })
    }

    /// SIGTERM to the end, which must be good.
    fn stop(mut self) -> std::io::Result<()> {
        let pid = nix::unistd::Pid::from_raw(self.0.id().cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM)?;
        assert!(self.0.wait()?.success(), "it ends well");
        Ok(())
    }
}

/// A thread's name and its CPU seconds so far.
fn cpu(task: &Path) -> std::io::Result<(String, f64)> {
    let stat = fs::read_to_string(task.join("stat"))?;
    let (name, rest) = stat.split_once(" (").and_then(|(_, s)| s.rsplit_once(") ")).expect("stat");
    let field = |n: usize| rest.split(' ').nth(n).and_then(|text| text.parse::<f64>().ok());
    // utime and stime are the 14th and 15th field; the first two are gone.
    let ticks = field(11).zip(field(12)).map_or(0.0, |(user, system)| user + system);
    Ok((name.to_owned(), ticks / TICKS_PER_S))
}

/// What one run showed.
struct Run {
    fixes_per_s: f64,
    cpu_s: Vec<(String, f64)>,
    peak_mb: f64,
    commits: u64,
}

/// Sends all of it and waits until it is durable.
fn run(site: &Site, fixes: u64, parts: &[Vec<u8>], wanted: &Decided) -> std::io::Result<Run> {
    let daemon = Daemon::start(site)?;
    let before = daemon.used()?;
    let begin = now();
    let senders: Vec<_> = std::thread::scope(|scope| {
        let send = |part: &Vec<u8>| {
            let mut stream = UnixStream::connect(site.path("trackers.sock"))?;
            stream.write_all(part).map(|()| stream)
        };
        let all: Vec<_> = parts.iter().map(|part| scope.spawn(move || send(part))).collect();
        all.into_iter().map(|sender| sender.join().expect("it sends")).collect()
    });
    let events = count(wanted) as u64 + 2 + ASSETS;
    let status = await_some("everything is durable", || {
        site.status().filter(|s| s["events"]["decided"].as_u64() >= Some(events))
    });
    let wall = begin.elapsed();
    let after = daemon.used()?;
    assert_eq!(status["counters"]["fixes"], fixes, "every fix but the last second's");
    assert_eq!(status["counters"]["sentences"], fixes + ASSETS);
    assert_eq!(status["counters"]["rejects"], serde_json::json!({}));
    assert_eq!(status["counters"]["chunks_lost"], 0);
    assert_eq!(status["events"]["lost"], 0);
    assert_eq!(status["events"]["decided"], events);
    drop(senders);
    daemon.stop()?;
    compare(&site.stored(), wanted);
    let so_far = |name: &str| before.threads.iter().find(|t| t.0 == name).map_or(0.0, |t| t.1);
    let spent = after.threads.iter().map(|(name, s)| (name.clone(), s - so_far(name)));
    fs::remove_dir_all(site.path("state"))?;
    fs::create_dir(site.path("state"))?;
    Ok(Run {
        fixes_per_s: fixes as f64 / wall.as_secs_f64(),
        cpu_s: spent.filter(|(_, s)| *s > 0.0).collect(),
        peak_mb: after.peak_mb,
        commits: status["store"]["commits"].as_u64().unwrap_or(0),
    })
}

fn main() -> std::io::Result<()> {
    let asked: Vec<u64> = std::env::args().filter_map(|arg| arg.parse().ok()).collect();
    let ask = |place: usize, default| asked.get(place).copied().unwrap_or(default);
    let (fixes, connections, runs) = (ask(0, 3_000_000), ask(1, 2), ask(2, 3));
    assert!(fixes > ASSETS && connections > 0, "everyone is heard, by someone");
    let mut out = std::io::stdout().lock();
    let site = Site::new()?;
    let wanted = site.replayed(fixes)?;
    // One second more: in a trusted feed it is the next fix that releases the one before.
    let mut parts = vec![Vec::new(); connections as usize];
    for (asset, line) in lines(fixes + ASSETS) {
        parts[(asset % connections) as usize].extend_from_slice(line.as_bytes());
    }
    let bytes: usize = parts.iter().map(Vec::len).sum();
    writeln!(
        out,
        "{fixes} fixes of {ASSETS} assets, {:.0} bytes each, over {connections} connections; \
         {ZONES} zones; {} events by replay",
        bytes as f64 / (fixes + ASSETS) as f64,
        count(&wanted)
    )?;
    for _ in 0..runs {
        let run = run(&site, fixes, &parts, &wanted)?;
        let millions = fixes as f64 / 1e6;
        let whole: f64 = run.cpu_s.iter().map(|(_, s)| s).sum();
        let each: Vec<String> =
            run.cpu_s.iter().map(|(name, s)| format!("{name} {:.2}", s / millions)).collect();
        writeln!(
            out,
            "{:.0} k fixes/s to the disk, {:.2} CPU-s a million ({}), peak {:.0} MB, {} commits, \
             0 drops, all events as replay's",
            run.fixes_per_s / 1e3,
            whole / millions,
            each.join(", "),
            run.peak_mb,
            run.commits
        )?;
    }
    Ok(())
}
