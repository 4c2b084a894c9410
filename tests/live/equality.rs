//! The daemon decides on a live feed what `replay` decides on the same bytes.

use std::collections::HashMap;

use geofenced::edge::clock;
use geofenced::units::Span;
use serde_json::Value;

use crate::drive::{self, Epoch};
use crate::harness::{Pty, Site, await_true, pause_until, records};

/// What a replay has no reason to say.
const LIVE_ONLY: [&str; 3] = ["gateway_started", "layer_activated", "asset_reconciled"];

/// Events as both sides can have them: without numbers, visits named by their place.
pub(crate) fn comparable(records: &[Value]) -> Vec<Value> {
    let mut visits: HashMap<String, usize> = HashMap::new();
    let mut all = Vec::new();
    for record in records {
        if LIVE_ONLY.iter().any(|kind| record["kind"] == *kind) {
            continue;
        }
        let mut record = record.clone();
        let fields = record.as_object_mut().unwrap();
        for own in ["seq", "id", "gateway", "recorded_at", "software"] {
            fields.remove(own);
        }
        if let Some(Value::String(visit)) = fields.get("visit") {
            let next = visits.len();
            let place = *visits.entry(visit.clone()).or_insert(next);
            fields.insert("visit".into(), place.into());
        }
        all.push(record);
    }
    all
}

/// What `replay` decides on `name` under the site's config.
fn replayed(site: &Site, name: &str) -> Vec<Value> {
    let out =
        site.command(&["replay", name, "--config", "geofenced.toml", "--zones", "zones/a.geojson"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let lines = out.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

fn compare(live: &[Value], wanted: &[Value]) {
    for (ix, (live, wanted)) in live.iter().zip(wanted).enumerate() {
        assert_eq!(live, wanted, "event {ix}");
    }
    assert_eq!(live.len(), wanted.len());
}

/// INV-7: a whole drive as fast as the pty takes it.
#[test]
fn inv_7_a_fast_feed_gives_what_replay_gives() {
    let Some(log) = drive::log_path() else { return };
    let epochs = drive::load().unwrap();
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::layer("a", 1, &drive::circles(&epochs, 12, 200.0)));
    let wanted = comparable(&replayed(&site, log.to_str().unwrap()));
    assert!(wanted.len() > 20, "the drive crosses zones");
    let pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    let start = clock::boot_now();
    site.feed_to_end(pty, &drive::bytes(&epochs));
    let read = clock::boot_now() - start;
    await_true("every event arrives", || comparable(&records(&site.server)).len() >= wanted.len());
    let (took, fixes) = ((clock::boot_now() - start).secs_f64(), epochs.len() as f64);
    println!(
        "fast feed: {fixes} epochs read in {:.2} s ({:.0} fixes/s), all {} events at the server \
         after {took:.2} s",
        read.secs_f64(),
        fixes / read.secs_f64(),
        wanted.len()
    );
    daemon.stop();
    compare(&comparable(&records(&site.server)), &wanted);
}

/// Feeds each epoch when it is due.
fn pace(pty: &mut Pty, epochs: &[Epoch]) {
    let start = clock::boot_now();
    for epoch in epochs {
        let due = Span::from_millis(epoch.of_day_ms - epochs[0].of_day_ms);
        pause_until(start + due);
        assert!(pty.feed(&epoch.bytes));
    }
}

/// INV-7, TIME-3, TIME-4, ORD-1: in real time, under the full clock rules.
#[test]
fn inv_7_real_time_gives_what_replay_gives() {
    let Some(epochs) = drive::load() else { return };
    let long = std::env::var_os("GEOFENCED_LONG").is_some();
    let (seconds, zones) = if long { (600, 10) } else { (25, 1) };
    let epochs = &epochs[drive::fastest(&epochs, seconds)];
    let site = Site::new();
    site.write("zones/a.geojson", &drive::layer("a", 1, &drive::circles(epochs, zones, 80.0)));
    std::fs::write(site.path("stretch.nmea"), drive::bytes(epochs)).unwrap();
    let wanted = comparable(&replayed(&site, "stretch.nmea"));
    assert!(wanted.len() >= 2, "it enters and leaves: {wanted:?}");
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    pace(&mut pty, epochs);
    let fixes = epochs.len() as u64;
    let status = site.await_status("the last fix is decided", |s| s["counters"]["fixes"] == fixes);
    await_true("every event arrives", || comparable(&records(&site.server)).len() >= wanted.len());
    let latency = &site.status().unwrap()["latency"];
    let ceiling = latency["durable_p99_max_s"].as_f64();
    assert_eq!(ceiling, Some(1.6), "window + 1.1 s");
    assert!(latency["durable"]["p99_s"].as_f64() <= ceiling, "{latency}");
    for stage in ["released", "decided", "durable", "acknowledged"] {
        assert!(latency[stage]["count"].as_u64() >= Some(2), "{stage}: {latency}");
        println!("{stage}: 99 % within {} s", latency[stage]["p99_s"]);
    }
    let counters = &status["counters"];
    for never in ["clamped", "stepped", "restamped", "rollover", "floor_conflict", "chunks_lost"] {
        assert_eq!(counters[never], 0, "{never}: {counters}");
    }
    let rejects = counters["rejects"].as_object().unwrap();
    assert!(rejects.keys().all(|reason| reason == "malformed"), "{rejects:?}");
    println!("real time: {fixes} fixes, {} events, counters {counters}", wanted.len());
    daemon.stop();
    compare(&comparable(&records(&site.server)), &wanted);
}
