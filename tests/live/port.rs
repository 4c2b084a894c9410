//! The receiver's port: unplugged and back, hung up, silent; what `record` kept of it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use geofenced::edge::clock;
use geofenced::units::{BootTime, Span};
use serde_json::Value;

use crate::drive;
use crate::equality::comparable;
use crate::harness::{Daemon, Pty, Site, await_true, count, pause, records};

/// socat as the receiver: what is written to its input comes out of `link`.
struct Socat(Child);

impl Socat {
    /// `None`, said aloud, where there is none.
    fn plug(link: &Path) -> Option<Self> {
        let pty = format!("PTY,link={},raw,echo=0", link.display());
        let mut socat = Command::new("socat");
        socat.args(["-u", "-", &pty]).stdin(Stdio::piped()).stderr(Stdio::null());
        match socat.spawn() {
            Ok(child) => Some(Self(child)),
            Err(error) => {
                println!("skipped: no socat ({error})");
                None
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) {
        let input = self.0.stdin.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }
}

impl Drop for Socat {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// E1, E2: ten times unplugged and back in the middle of a drive.
#[test]
fn e_1_ten_replugs_by_socat_lose_no_epoch_and_repeat_none() {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let link = site.path("gnss");
    let mut daemon = site.start();
    let epochs = [drive::arriving(1000), drive::leaving(1100)].concat();
    let parts: Vec<_> = epochs.chunks(6).collect();
    assert!(parts.len() > 10);
    let mut sentences = 0;
    for part in &parts {
        let Some(mut socat) = Socat::plug(&link) else { return };
        site.await_open();
        let bytes = drive::bytes(part);
        socat.feed(&bytes);
        sentences += drive::sentences(&bytes);
        site.await_status("all is read", |s| s["sources"][0]["sentences"] == sentences);
        drop(socat);
        site.await_status("it is unplugged", |s| s["sources"][0]["up"] == false);
    }
    assert!(daemon.alive());
    await_true("both crossings arrive", || count(&records(&site.server), "fence_exit") == 1);
    assert_eq!(count(&records(&site.server), "fence_entry"), 1);
    let status = site.status().unwrap();
    let counters = &status["counters"];
    assert_eq!(counters["epochs"].as_u64(), Some(epochs.len() as u64), "{counters}");
    assert!(counters["rejects"].get("repeat").is_none(), "nothing is read again: {counters}");
    println!("socat: {} plugs, {} epochs in, counters {counters}", parts.len(), epochs.len());
    daemon.stop();
}

/// What a process has used: context switches of all its threads, and CPU time in ticks.
fn used(pid: u32) -> (u64, u64) {
    let number = |text: &str| text.trim().parse::<u64>().unwrap();
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let switches = tasks.flatten().map(|task| {
        let text = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
        let own = text.lines().filter_map(|line| line.split_once("ctxt_switches:"));
        own.map(|(_, n)| number(n)).sum::<u64>()
    });
    let switches = switches.sum();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (switches, number(fields[11]) + number(fields[12]))
}

/// Whether the daemon has `pty` open.
fn holds(daemon: &Daemon, pty: &Pty) -> bool {
    let files = std::fs::read_dir(format!("/proc/{}/fd", daemon.pid())).unwrap();
    files.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|to| to == pty.name()))
}

/// E3: a port that opens and is hung up at once, again and again: reads give 0 for ever.
#[test]
fn e_3_a_port_that_hangs_up_at_once_costs_nothing() {
    let long = std::env::var_os("GEOFENCED_LONG").is_some();
    let seconds = if long { 60 } else { 6 };
    let site = Site::new();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let link = site.path("gnss");
    let daemon = site.start();
    site.await_status("it runs", |_| true);
    let (switches, ticks) = used(daemon.pid());
    let end = clock::boot_now() + Span::from_secs(seconds);
    let mut hung_up = 0;
    while clock::boot_now() < end {
        let pty = Pty::plug(&link);
        while clock::boot_now() < end && !holds(&daemon, &pty) {
            pause(Span::from_millis(20));
        }
        hung_up += 1;
    }
    let (after, ticks_after) = used(daemon.pid());
    let (switches, ticks) = (after - switches, ticks_after - ticks);
    println!(
        "hang-ups: {hung_up} in {seconds} s, {switches} context switches, {ticks} ticks of CPU"
    );
    assert!(switches < 40 * seconds as u64, "{switches} context switches in {seconds} s");
    assert!(ticks <= 5 * seconds as u64, "{ticks} ticks of CPU in {seconds} s");
    // And it is as ready as ever.
    let mut pty = Pty::plug(&link);
    await_true("it is opened again", || holds(&daemon, &pty));
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000)[..2])));
    site.await_status("it reads again", |s| s["sources"][0]["sentences"].as_u64() > Some(0));
    daemon.stop();
}

pub(crate) fn lines(text: &[u8]) -> Vec<Value> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// What was decided, and when it says that happened.
pub(crate) fn story(events: &[Value]) -> Vec<[Value; 4]> {
    let part = |event: &Value| ["kind", "zone", "inside", "at"].map(|key| event[key].clone());
    comparable(events).iter().map(part).collect()
}

/// What `record` wrote is decided by `replay` as the daemon decided it: the full clock rules, in
/// real time, with garbage and an unplug between.
#[test]
fn a_record_replays_to_what_the_daemon_decided() {
    let site = Site::new();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let link = site.path("gnss");
    let mut pty = Pty::plug(&link);
    let daemon = site.start_open();
    let start = clock::boot_now();
    let drive = [drive::arriving(1000), drive::leaving(1031)].concat();
    let epochs = &drive[18..50];
    let mut due: BootTime = start;
    for (ix, epoch) in epochs.iter().enumerate() {
        crate::harness::pause_until(due);
        assert!(pty.feed(&epoch.bytes));
        if ix == 14 {
            assert!(pty.feed(b"\xb5\x62\x01\x07\x00$GPRMC,1234*00\r\n"));
            let read = |s: &Value| s["counters"]["rejects"]["checksum"].as_u64() > Some(0);
            site.await_status("it is read", read);
            drop(pty);
            site.await_status("it is unplugged", |s| s["sources"][0]["up"] == false);
            pty = Pty::plug(&link);
            site.await_open();
        }
        due = due + Span::from_secs(1);
    }
    await_true("it has left", || count(&records(&site.server), "fence_exit") == 1);
    let out = site.command(&["record", "--socket", "control.sock", "-o", "drive.record"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let short = site.command(&["record", "--socket", "control.sock", "--since", "5s"]).stdout;
    daemon.stop();
    let whole = std::fs::read(site.path("drive.record")).unwrap();
    assert!(short.len() < whole.len() && lines(&short)[0]["lost"].as_u64() > Some(0));
    let header = &lines(&whole)[0];
    assert!(header["lost"] == 0 && header["sources"][0]["id"] == "gnss", "{header}");
    let replay = ["replay", "drive.record", "--zones", "zones/a.geojson"];
    let out = site.command(&replay);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let (live, again) = (story(&records(&site.server)), story(&lines(&out.stdout)));
    assert!(live.len() >= 2, "{live:?}");
    assert_eq!(live, again);
    println!("record: {} bytes, {} events equal", whole.len(), live.len());
}
