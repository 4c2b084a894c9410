//! What systemd is told and what its signals do.

use std::os::unix::net::UnixDatagram;
use std::time::Duration;

use geofenced::edge::clock;
use geofenced::edge::receiver::Manner;
use geofenced::units::Span;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::drive;
use crate::harness::{Daemon, Pty, Site, await_true, count, pause, records};

/// As DESIGN §5 has it: 3 s of them are `flush_on_stop`.
const STOP_MAX: Duration = Duration::from_secs(4);

/// systemd's end of the notify socket.
struct Systemd {
    socket: UnixDatagram,
    path: String,
}

impl Systemd {
    fn new(site: &Site) -> Self {
        let path = site.path("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { socket, path: path.to_str().unwrap().to_owned() }
    }

    /// The next message.
    fn next(&self) -> String {
        let mut buffer = [0; 4096];
        let len = self.socket.recv(&mut buffer).expect("systemd hears something");
        String::from_utf8(buffer[..len].to_vec()).unwrap()
    }

    /// Reads on until a message has this line; gives that message.
    fn until(&self, line: &str) -> String {
        loop {
            let message = self.next();
            if message.lines().any(|own| own == line) {
                return message;
            }
        }
    }

    /// All that is there now.
    fn rest(&self) -> Vec<String> {
        self.socket.set_nonblocking(true).unwrap();
        let mut all = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(len) = self.socket.recv(&mut buffer) {
            all.push(String::from_utf8(buffer[..len].to_vec()).unwrap());
        }
        self.socket.set_nonblocking(false).unwrap();
        all
    }
}

/// A site with the gate, whose daemon systemd watches.
fn watched() -> (Site, Systemd, Pty) {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let systemd = Systemd::new(&site);
    let pty = Pty::plug(&site.path("gnss"));
    (site, systemd, pty)
}

fn start(site: &Site, systemd: &Systemd) -> Daemon {
    site.start_with(&[("NOTIFY_SOCKET", &systemd.path)])
}

/// Drives into the gate and waits until the server knows.
fn arrive(site: &Site, pty: &mut Pty) {
    site.await_open();
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000))));
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
}

/// (zone, inside) of every event that changes a membership.
fn changes(records: &[Value]) -> Vec<(String, bool)> {
    let change = |r: &Value| Some((r["zone"].as_str()?.to_owned(), r["inside"].as_bool()?));
    records.iter().filter_map(change).collect()
}

fn pair(zone: &str, inside: bool) -> (String, bool) {
    (zone.to_owned(), inside)
}

/// STO-4: READY=1 when what was believed is loaded, STOPPING=1 at SIGTERM; A10: a stop and a
/// start are no crossing.
#[test]
fn sto_4_ready_when_loaded_and_stopping_at_the_end() {
    let (site, systemd, mut pty) = watched();
    let daemon = start(&site, &systemd);
    assert_eq!(systemd.next(), "EXTEND_TIMEOUT_USEC=90000000\n", "a check may take a while");
    assert!(systemd.next().starts_with("READY=1\nSTATUS="));
    arrive(&site, &mut pty);
    daemon.stop();
    assert_eq!(systemd.next(), "STOPPING=1\n");
    let daemon = start(&site, &systemd);
    systemd.until("READY=1");
    let status = site.status().expect("it answers at once");
    assert_eq!(status["start_cause"], "clean");
    assert_eq!(status["assets"][0]["inside"][0]["zone"], "a/gate");
    daemon.stop();
    assert_eq!(systemd.rest(), ["STOPPING=1\n"]);
    assert_eq!(changes(&records(&site.server)), [pair("gate", true)]);
}

/// STO-4: no READY=1 from a daemon whose store another one has; it says to try later.
#[test]
fn sto_4_a_second_daemon_is_never_ready() {
    let (site, systemd, _pty) = watched();
    let first = site.start_open();
    let second = start(&site, &systemd);
    assert_eq!(second.end().0, 75);
    assert_eq!(systemd.rest(), [""; 0]);
    assert!(site.log().contains("another geofenced listens"), "{}", site.log());
    first.stop();
}

/// The watchdog is fed by the process that is watched, and by no other.
#[test]
fn the_watchdog_is_fed_where_it_watches_this_process() {
    let (site, systemd, _pty) = watched();
    let env = [("NOTIFY_SOCKET", systemd.path.as_str()), ("WATCHDOG_USEC", "500000")];
    let daemon = site.start_watched(&env);
    systemd.until("READY=1");
    let start = clock::boot_now();
    for _ in 0..4 {
        systemd.until("WATCHDOG=1");
        let status = systemd.next();
        assert!(status.starts_with("STATUS=inside 0 zones, no fix yet, "), "{status}");
    }
    let took = (clock::boot_now() - start).secs_f64();
    assert!(took < 4.0 * 0.4, "four pings in {took} s");
    daemon.stop();
    systemd.rest();
    let daemon = site.start_with(&[env[0], env[1], ("WATCHDOG_PID", "1")]);
    systemd.until("READY=1");
    site.await_open();
    pause(Span::from_millis(400));
    daemon.stop();
    assert_eq!(systemd.rest(), ["STOPPING=1\n"]);
}

/// LAY-1: SIGHUP puts a new version in force; what was believed stays believed.
#[test]
fn lay_1_sighup_takes_a_new_layer_and_keeps_the_membership() {
    let (site, systemd, mut pty) = watched();
    let daemon = start(&site, &systemd);
    arrive(&site, &mut pty);
    systemd.rest();
    site.write(
        "zones/a.geojson",
        &drive::gate(2, &[drive::circle("far", drive::north_m(500.0), 60.0)]),
    );
    daemon.signal(Signal::SIGHUP);
    let reloading = systemd.until("RELOADING=1");
    let usec = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
    let usec: i64 = usec.unwrap().parse().unwrap();
    assert!(usec > 0 && usec * 1000 <= clock::boot_now().nanos());
    let ready = systemd.until("READY=1");
    assert!(ready.contains("STATUS="));
    let status = site.await_status("the source opens again", |s| s["sources"][0]["up"] == true);
    assert_eq!(status["layers"][0]["version"], 2);
    assert_eq!(status["layers"][0]["zones"], 2);
    assert_eq!(status["assets"][0]["inside"][0]["zone"], "a/gate");
    site.feed_to_end(pty, &drive::bytes(&drive::leaving(1031)));
    let wanted = [pair("gate", true), pair("gate", false), pair("far", true)];
    await_true("all events arrive", || changes(&records(&site.server)).len() >= wanted.len());
    let heard_s = site.status().unwrap()["assets"][0]["heard_s_ago"].as_f64().unwrap();
    assert!(heard_s < 60.0, "heard {heard_s} s ago");
    daemon.stop();
    let all = records(&site.server);
    assert_eq!(changes(&all), wanted);
    let versions: Vec<&Value> = all
        .iter()
        .filter(|r| r["kind"] == "layer_activated")
        .map(|r| &r["layer_version"])
        .collect();
    assert_eq!(versions, [1, 2]);
    assert_eq!(count(&all, "asset_reconciled"), 2, "once a start");
}

/// INV-8: what fails its checks never replaces what passed; the log says why.
#[test]
fn inv_8_sighup_with_something_bad_changes_nothing() {
    let (site, systemd, mut pty) = watched();
    let mut daemon = start(&site, &systemd);
    arrive(&site, &mut pty);
    let bad_layer = drive::gate(2, &[]).replace("100.0", "-5");
    for (name, text, why) in [
        ("zones/a.geojson", bad_layer.as_str(), "radius_m"),
        ("conf.d/z.toml", "[decide]\nconfirm = 99\n", "confirm"),
        ("conf.d/z.toml", "[decide]\nconfrim = 2\n", "confrim"),
        ("conf.d/z.toml", "[gateway]\nstate_dir = \"/nonexistent/x\"\n", "state_dir"),
        ("conf.d/z.toml", "[control]\nsocket = \"/nonexistent/s.sock\"\n", "socket"),
    ] {
        let before = std::fs::read_to_string(site.path(name)).ok();
        systemd.rest();
        site.write(name, text);
        daemon.signal(Signal::SIGHUP);
        systemd.until("RELOADING=1");
        let ready = systemd.until("READY=1");
        assert!(ready.contains("old config stays"), "{ready}");
        let log = site.log();
        assert!(log.lines().any(|l| l.contains("refused") && l.contains(why)), "{why}: {log}");
        assert!(daemon.alive());
        site.await_status("status says so", |s| s["problems"].to_string().contains("refused"));
        match before {
            Some(before) => site.write(name, &before),
            None => std::fs::remove_file(site.path(name)).unwrap(),
        }
    }
    assert!(pty.feed(&drive::bytes(&drive::leaving(1031))));
    await_true("it goes on", || count(&records(&site.server), "fence_exit") == 1);
    daemon.stop();
    assert_eq!(count(&records(&site.server), "gateway_started"), 1);
}

/// A source that never ends keeps neither a reload nor a stop.
#[test]
fn an_endless_source_does_not_keep_us() {
    let (site, systemd, _pty) = watched();
    site.write("conf.d/f.toml", "[[source]]\nkind = \"file\"\npath = \"/dev/zero\"\n");
    let daemon = start(&site, &systemd);
    systemd.until("READY=1");
    daemon.signal(Signal::SIGHUP);
    systemd.until("RELOADING=1");
    systemd.until("READY=1");
    let took = daemon.stop();
    assert!(took < STOP_MAX, "{took:?}");
}

/// DEL-1: a full spool drops the oldest, says so once, and then rests; it does not fill itself.
#[test]
fn del_1_a_full_spool_rests() {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    site.write(
        "conf.d/s.toml",
        "[spool]\nmax_bytes = \"256KiB\"\n[uplink]\nurl = \"http://127.0.0.1:9/v1\"\n",
    );
    let pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    // To and fro through the gate, twenty seconds on either side.
    let metres = (0..16_000).map(|second| if second / 20 % 2 == 0 { 300.0 } else { 0.0 });
    site.feed_to_end(pty, &drive::bytes(&drive::made_up(1000, metres)));
    let full = site.await_status("the oldest go", |s| s["events"]["lost"].as_u64() > Some(0));
    pause(Span::from_secs(2));
    let settled = site.status().unwrap();
    pause(Span::from_secs(3));
    let later = site.status().unwrap();
    for key in ["decided", "waiting", "lost"] {
        assert_eq!(settled["events"][key], later["events"][key], "{key}: {full}");
    }
    assert_eq!(settled["store"]["commits"], later["store"]["commits"]);
    daemon.stop();
}

/// DEL-2, A10: SIGTERM commits and ends in time whatever the server does; nothing is lost and
/// nothing is made up.
fn stops_in_time(manner: Option<&Manner>) {
    let (site, systemd, mut pty) = watched();
    let daemon = start(&site, &systemd);
    site.await_status("the start is delivered", |s| s["events"]["waiting"] == 0);
    match manner {
        Some(manner) => site.server.set_manner(manner.clone()),
        // Nobody listens there.
        None => site.write("conf.d/u.toml", "[uplink]\nurl = \"http://127.0.0.1:9/v1\"\n"),
    }
    if manner.is_none() {
        daemon.signal(Signal::SIGHUP);
        systemd.until("RELOADING=1");
        systemd.until("READY=1");
    }
    site.await_open();
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000))));
    site.await_status("the entry is committed", |s| s["events"]["last"]["inside"] == true);
    daemon.signal(Signal::SIGTERM);
    let (code, took) = daemon.end();
    assert_eq!(code, 0, "{}", site.log());
    assert!(took < STOP_MAX, "{took:?}");
    systemd.until("STOPPING=1");
    site.server.set_manner(Manner::Good);
    let _ = std::fs::remove_file(site.path("conf.d/u.toml"));
    let daemon = start(&site, &systemd);
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
    site.await_status("all is delivered", |s| s["events"]["waiting"] == 0);
    assert_eq!(site.status().unwrap()["start_cause"], "clean", "{}", site.log());
    daemon.stop();
    assert_eq!(changes(&records(&site.server)), [pair("gate", true)]);
}

#[test]
fn del_2_sigterm_in_time_while_the_server_is_down() {
    stops_in_time(None);
}

#[test]
fn del_2_sigterm_in_time_while_the_server_hangs() {
    stops_in_time(Some(&Manner::Slow(Duration::from_mins(1))));
}

#[test]
fn del_2_sigterm_in_time_while_the_server_refuses() {
    stops_in_time(Some(&Manner::RetryAfter(503, 600)));
}

/// A reload does not wait for a server that hangs, and does not end the daemon.
#[test]
fn sighup_works_while_the_server_hangs() {
    let (site, systemd, mut pty) = watched();
    let daemon = start(&site, &systemd);
    site.await_status("the start is delivered", |s| s["events"]["waiting"] == 0);
    site.server.set_manner(Manner::Slow(Duration::from_mins(1)));
    site.await_open();
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000))));
    site.await_status("the entry is committed", |s| s["events"]["last"]["inside"] == true);
    // The entry's request is on its way by now, and hangs; a later one will not.
    pause(Span::from_millis(300));
    site.server.set_manner(Manner::Good);
    site.write("zones/a.geojson", &drive::gate(2, &[]));
    systemd.rest();
    daemon.signal(Signal::SIGHUP);
    systemd.until("RELOADING=1");
    let start = clock::boot_now();
    systemd.until("READY=1");
    let took = (clock::boot_now() - start).secs_f64();
    assert!(took < 2.0, "deaf for {took} s");
    site.await_status("the new layer is in force", |s| s["layers"][0]["version"] == 2);
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
    daemon.stop();
    assert_eq!(changes(&records(&site.server)), [pair("gate", true)]);
}
