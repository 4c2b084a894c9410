//! `[record] dir`: what a killed daemon's segments replay to, and a disk that is not there.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::drive::{self, Epoch};
use crate::equality::comparable;
use crate::harness::{Pty, Site, await_true, count, records};

/// Past the gate and back, a minute each way, and out of it for the last minute.
fn drive(legs: u32) -> Vec<Epoch> {
    let leg = (0..60).map(|second| f64::from(second) * 20.0 - 600.0);
    let back = leg.clone().map(|metres| -metres);
    let way = |number: u32| -> Vec<f64> {
        if number.is_multiple_of(2) { leg.clone().collect() } else { back.clone().collect() }
    };
    let away = (0..60).map(|_| if legs.is_multiple_of(2) { -600.0 } else { 600.0 });
    drive::made_up(1000, (0..legs).flat_map(way).chain(away))
}

/// The site's segments in the order of their names.
fn segments(site: &Site) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(site.path("record")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn with_dir(site: &Site) {
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let dir = site.path("record");
    site.write(
        "conf.d/record.toml",
        &format!("[record]\ndir = \"{}\"\nmax_bytes = \"1MiB\"\n", dir.display()),
    );
}

/// The exit code, the events, and what was said.
fn replay(site: &Site, inputs: &[PathBuf]) -> (i32, Vec<Value>, String) {
    let inputs = inputs.iter().map(|path| path.to_str().unwrap());
    let rest = ["--config", "geofenced.toml", "--zones", "zones/a.geojson"];
    let args: Vec<&str> = ["replay"].into_iter().chain(inputs).chain(rest).collect();
    let out = site.command(&args);
    let lines = out.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let events = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    (out.status.code().unwrap(), events, String::from_utf8(out.stderr).unwrap())
}

/// INV-7: killed, started again, and what the first life left is decided as it decided.
#[test]
fn inv_7_segments_of_a_killed_daemon_replay_to_its_events() {
    let site = Site::trusted();
    with_dir(&site);
    fs::create_dir(site.path("record")).unwrap();
    let epochs = drive(41);
    let bytes = drive::bytes(&epochs);
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    assert!(pty.feed(&bytes));
    let sentences = drive::sentences(&bytes);
    site.await_status("all is read and delivered", |status| {
        status["sources"][0]["sentences"] == sentences && status["events"]["waiting"] == 0
    });
    await_true("it has left", || count(&records(&site.server), "fence_exit") == 41);
    let record = site.status().unwrap()["record"].clone();
    assert_eq!((&record["dropped"], &record["trouble"]), (&0.into(), &Value::Null), "{record}");
    daemon.kill();
    let live = comparable(&records(&site.server));
    let of_first = segments(&site);
    assert!(of_first.len() > 2, "{of_first:?}");

    // The next life keeps them, and writes behind them.
    drop(pty);
    let pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    site.feed_to_end(pty, &drive::bytes(&epochs[..9]));
    daemon.stop();
    let all = segments(&site);
    assert_eq!(all[..of_first.len()], of_first);
    assert!(all.len() > of_first.len());

    // In whatever order they are given.
    let given: Vec<PathBuf> = of_first.iter().rev().cloned().collect();
    let (code, again, said) = replay(&site, &given);
    assert_eq!(code, 0, "{said}");
    let again = comparable(&again);
    for (live, again) in live.iter().zip(&again) {
        assert_eq!(live, again);
    }
    assert_eq!(live.len(), again.len());
    println!("segments: {record}, {} events equal", live.len());
    let (code, _, said) = replay(&site, &all);
    assert_eq!(code, 0, "both lives of one boot: {said}");

    // A power cut leaves half a line.
    let last = of_first.last().unwrap();
    let text = fs::read(last).unwrap();
    fs::write(last, &text[..text.len() - 9]).unwrap();
    let (code, _, said) = replay(&site, &of_first);
    assert!(code == 0 && said.contains("breaks off within this line"), "{code}: {said}");
}

/// A fix does not wait for the record: events go out, status says what to do, and once the
/// directory is there the record goes on.
#[test]
fn a_record_without_its_directory_costs_no_event() {
    let site = Site::trusted();
    with_dir(&site);
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    assert!(pty.feed(&drive::bytes(&drive(1))));
    await_true("it has left", || count(&records(&site.server), "fence_exit") == 1);
    let status = site.status().unwrap();
    let problems = status["problems"].as_array().unwrap();
    let own = |key: &str, part: &str| {
        problems.iter().any(|problem| problem[key].as_str().unwrap().contains(part))
    };
    assert!(own("what", "entries dropped so far"), "{problems:#?}");
    assert!(own("attempt", "make the directory"), "{problems:#?}");
    assert!(status["record"]["dropped"].as_u64() > Some(0));
    fs::create_dir(site.path("record")).unwrap();
    let mut later = drive::made_up(9000, (0..60_000).map(|_| 900.0)).into_iter();
    await_true("it goes on by itself", || {
        assert!(pty.feed(&later.next().unwrap().bytes));
        site.status().is_some_and(|status| status["record"]["trouble"].is_null())
    });
    daemon.stop();
    let (code, _, said) = replay(&site, &segments(&site));
    assert!(said.contains("entries are missing here"), "{code}: {said}");
}
