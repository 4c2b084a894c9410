//! What people ask a daemon: `status` and `events`.

use std::io::{BufRead as _, BufReader};
use std::process::Output;
use std::sync::mpsc;
use std::time::Duration;

use geofenced::edge::clock;
use serde_json::Value;

use crate::drive;
use crate::harness::{Pty, Site, await_true, count, records};

fn site() -> Site {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    site
}

fn text(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

fn lines(out: &Output) -> Vec<String> {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    text(out).lines().map(str::to_owned).collect()
}

/// `status --check`: 2 down, 1 degraded, 0 ready.
#[test]
fn status_says_down_degraded_ready() {
    let site = site();
    let check = || site.command(&["status", "--check", "--config", "geofenced.toml"]);
    let down = check();
    assert_eq!(down.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&down.stderr).contains("no daemon at"));
    assert_eq!(site.command(&["status", "--socket", "control.sock"]).status.code(), Some(69));
    let daemon = site.start();
    site.await_status("no port", |s| s["sources"][0]["why"].is_string());
    let degraded = check();
    assert_eq!(degraded.status.code(), Some(1));
    assert!(text(&degraded).contains("DEGRADED: source gnss: "), "{}", text(&degraded));
    assert!(text(&degraded).lines().last().unwrap().trim_start().starts_with("try: "));
    let mut pty = Pty::plug(&site.path("gnss"));
    site.await_open();
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000))));
    site.await_status("the entry is acknowledged", |s| {
        s["events"]["waiting"] == 0 && s["events"]["last"]["inside"] == true
    });
    let ready = check();
    let screen = text(&ready);
    assert_eq!(ready.status.code(), Some(0), "{screen}");
    for words in [
        "gw-live / van   ready",
        "position  47.99",
        "inside    a/gate  since 00:17:05",
        "zones     1 in a v1",
        "fence_entry",
        ", acknowledged",
        "0 waiting",
    ] {
        assert!(screen.contains(words), "`{words}` is not in:\n{screen}");
    }
    assert!(screen.lines().all(|line| line.chars().count() <= 120), "{screen}");
    assert!(screen.lines().count() <= 24, "{screen}");
    assert!(!screen.contains('\u{1b}'), "no colour into a pipe");
    daemon.stop();
    assert_eq!(check().status.code(), Some(2));
}

/// `events`: the newest, of a zone, since a time, as JSON; the same from a stopped store.
#[test]
fn events_of_a_daemon_and_of_its_store() {
    let site = site();
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000))));
    site.feed_to_end_of(pty, &drive::bytes(&drive::leaving(1031)), 62);
    await_true("the exit arrives", || count(&records(&site.server), "fence_exit") == 1);
    let asked = |args: &[&str]| {
        let whole = [&["events", "--socket", "control.sock"], args].concat();
        lines(&site.command(&whole))
    };
    let all = asked(&[]);
    assert!(all[0].contains("gateway_started") && all[0].contains("(first)"), "{all:?}");
    assert!(all[1].contains("layer_activated") && all[1].contains(" a v1"), "{all:?}");
    let kinds = |all: &[String]| -> Vec<String> {
        all.iter().map(|line| line.split_whitespace().nth(2).unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&asked(&["-n", "2"])), ["fence_dwell", "fence_exit"]);
    assert_eq!(kinds(&asked(&["--zone", "a/gate"])), ["fence_entry", "fence_dwell", "fence_exit"]);
    assert_eq!(kinds(&asked(&["--since", "2026-06-01T00:17:14Z"])), ["fence_exit"]);
    assert_eq!(asked(&["--zone", "a/none"]), [""; 0]);
    let json = asked(&["--json"]);
    let flat: Vec<Value> = json.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(flat, records(&site.server), "people see what the server got");
    let stored = |args: &[&str]| {
        site.command(&[&["events", "--store", "state/geofenced.db"], args].concat())
    };
    assert_eq!(stored(&[]).status.code(), Some(75), "the daemon has it");
    daemon.stop();
    assert_eq!(lines(&stored(&["--json"])), json);
    assert_eq!(lines(&stored(&[])), all);
    let none = site.command(&["events", "--store", "state/none.db"]);
    assert_eq!(none.status.code(), Some(66));
}

/// `events --follow` prints an event as it is committed.
#[test]
fn events_are_followed_as_they_are_committed() {
    let site = site();
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    let mut follower = site.follow(&["events", "--follow", "-n", "1", "--socket", "control.sock"]);
    let (tell, told) = mpsc::channel();
    let stdout = follower.stdout();
    let reader = std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).for_each(|line| {
            let _ = tell.send(line);
        });
    });
    let next = || told.recv_timeout(Duration::from_secs(10)).expect("a line");
    assert!(next().contains("layer_activated"));
    let start = clock::boot_now();
    assert!(pty.feed(&drive::bytes(&drive::arriving(1000))));
    assert!(next().contains("asset_reconciled"));
    assert!(next().contains("fence_entry"));
    let took = (clock::boot_now() - start).secs_f64();
    assert!(took < 3.0, "an event is committed within a second, and seen after {took} s");
    // It ends with its daemon: refused by one that is stopping, or not answered.
    daemon.stop();
    let (code, _) = follower.end();
    assert!(code == 69 || code == 75, "{code}");
    reader.join().unwrap();
}
