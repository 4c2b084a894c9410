//! Starts that are refused: which exit code, which words, and nothing changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use nix::unistd::Uid;

use crate::drive;
use crate::harness::{Pty, Site};

/// Every file below a folder: what it is and what is in it.
fn snapshot(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                dirs.push(entry.path());
            }
            let bytes = if kind.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            all.insert(entry.path(), bytes);
        }
    }
    all
}

/// A start that must be refused so, and leave everything as it was.
fn check(site: &Site, run: impl FnOnce() -> Output, exit: i32, words: &[&str]) {
    let before = snapshot(&site.path(""));
    let out = run();
    let told = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(exit), "{told}");
    for word in words {
        assert!(told.contains(word), "`{word}` is not in: {told}");
    }
    assert!(told.lines().count() <= 4, "too many words: {told}");
    assert!(out.stdout.is_empty());
    let after = snapshot(&site.path(""));
    let names = |all: &BTreeMap<PathBuf, Vec<u8>>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after), "{told}");
    assert!(before == after, "bytes have changed: {told}");
}

fn site() -> Site {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    site
}

const RUN: [&str; 3] = ["run", "--config", "geofenced.toml"];

#[test]
fn configs_and_layers_that_do_not_work() {
    let bad_zone = r#"{"type": "Feature", "id": "bow", "properties": {}, "geometry": {"type":
        "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]]]}}"#;
    let bad_zone = drive::layer("a", 1, &[serde_json::from_str(bad_zone).unwrap()]);
    let cases: [(&str, &str, i32, &[&str]); 7] = [
        ("zones/a.geojson", bad_zone.as_str(), 65, &["a.geojson", "bow", "refused"]),
        ("zones/a.geojson", "{", 65, &["a.geojson"]),
        ("zones/b.geojson", &drive::gate(2, &[]), 65, &["`a`", "a.geojson", "b.geojson"]),
        ("conf.d/z.toml", "[decide]\nconfirm = 0\n", 78, &["z.toml", "confirm"]),
        ("conf.d/z.toml", "[decide]\nconfrim = 3\n", 78, &["z.toml:2", "confirm"]),
        ("conf.d/z.toml", "[zones]\nfiles = [\"none/*.geojson\"]\n", 66, &["none/*.geojson"]),
        ("conf.d/z.toml", "[uplink]\nurl = \"http://far.example/v1\"\n", 78, &["https"]),
    ];
    for (name, text, exit, words) in cases {
        let site = site();
        site.write(name, text);
        check(&site, || site.command(&RUN), exit, words);
    }
    let site = site();
    check(&site, || site.command(&["run", "--config", "none.toml"]), 66, &["none.toml"]);
}

#[test]
fn state_that_cannot_be_gone_on_with() {
    let site = site();
    site.write(
        "conf.d/z.toml",
        &format!("[gateway]\nstate_dir = \"{}\"\n", site.path("none").display()),
    );
    check(&site, || site.command(&RUN), 78, &["none", "there is no directory", "state_dir"]);
    fs::remove_file(site.path("conf.d/z.toml")).unwrap();

    site.write("state/geofenced.db", "Dear diary,\n");
    check(&site, || site.command(&RUN), 78, &["geofenced.db", "not"]);
    fs::remove_file(site.path("state/geofenced.db")).unwrap();

    let _pty = Pty::plug(&site.path("gnss"));
    site.start_open().stop();
    // Somebody else's: SQLite's header holds the application id at byte 68.
    let mut bytes = fs::read(site.path("state/geofenced.db")).unwrap();
    bytes[68..72].copy_from_slice(b"Mine");
    fs::write(site.path("state/geofenced.db"), bytes).unwrap();
    check(&site, || site.command(&RUN), 78, &["geofenced.db", "not"]);
}

#[test]
fn state_and_sockets_that_may_not_be_made() {
    let site = site();
    let mode = |name, mode| {
        fs::set_permissions(site.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("state", 0o555);
    if !Uid::effective().is_root() {
        check(&site, || site.command(&RUN), 77, &["state"]);
        return;
    }
    // Root may write anything: as nobody, then, who can read everything else.
    mode("", 0o777);
    let Some(run) = site.as_nobody(&RUN) else {
        println!("skipped: no setpriv, or nobody may not run the binary");
        return;
    };
    check(&site, &run, 77, &["state"]);
    mode("state", 0o777);
    mode("", 0o755);
    check(&site, &run, 77, &["control.sock", "may not be written"]);
}

#[test]
fn places_that_others_have() {
    let site = site();
    let _pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    // The same config: whoever started it twice.
    check(&site, || site.command(&RUN), 75, &["another geofenced listens"]);
    // The same store from another config.
    let socket = format!("[control]\nsocket = \"{}\"\n", site.path("other.sock").display());
    site.write("conf.d/z.toml", &socket);
    check(&site, || site.command(&RUN), 75, &["in use", "geofenced.db"]);
    daemon.stop();
}

#[test]
fn control_sockets_that_cannot_be_made() {
    let site = site();
    let socket = |path: &str, exit, words: &[&str]| {
        let path = site.path(path);
        site.write("conf.d/z.toml", &format!("[control]\nsocket = \"{}\"\n", path.display()));
        check(&site, || site.command(&RUN), exit, words);
    };
    socket("none/control.sock", 78, &["[control] socket", "there is no directory"]);
    socket("geofenced.toml", 78, &["geofenced.toml", "not a socket"]);
    socket(&"x".repeat(120), 78, &["longer than"]);
}

/// A receiver may come later: what is wrong with its port is a problem, not the end.
#[test]
fn a_port_that_cannot_be_opened_is_said_and_waited_for() {
    let site = site();
    site.write("gnss", "no port\n");
    let daemon = site.start();
    let told = |s: &serde_json::Value, words: &str| {
        s["problems"][0]["what"].as_str().is_some_and(|what| what.contains(words))
    };
    site.await_status("a file is no port", |s| told(s, "use kind = \"file\""));
    fs::remove_file(site.path("gnss")).unwrap();
    let _pty = Pty::plug(&site.path("gnss"));
    site.await_open();
    // The port of a running daemon.
    let other = self::site();
    let link = fs::read_link(site.path("gnss")).unwrap();
    std::os::unix::fs::symlink(link, other.path("gnss")).unwrap();
    let second = other.start();
    let holder = format!("by geofenced (process {})", daemon.pid());
    other.await_status("the port is taken", |s| told(s, &holder));
    second.stop();
    daemon.stop();
}
