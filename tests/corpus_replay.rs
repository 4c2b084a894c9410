//! Every recorded log of the corpus through the whole engine: nothing panics, a table says what
//! came of each; one drive gives the same events as NMEA, CSV and JSON lines.
//!
//! Always holds: what is counted is what is printed. Does not know: which events are right.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::engine::FixReport;
use geofenced::logic::event::Event;
use geofenced::logic::gnss::FixQuality;
use geofenced::logic::zones::Layer;
use serde_json::json;

#[path = "drive/harness.rs"]
mod harness;

use harness::{Recording, corpus, layer, name, replay};

/// A circle round a place.
fn one_zone(lon: f64, lat: f64) -> Arc<Layer> {
    let geojson = json!({
        "type": "FeatureCollection",
        "geofenced": {"layer": "start", "version": 1, "created": "2026-11-30T00:00:00Z"},
        "features": [{
            "type": "Feature", "id": "start", "properties": {"radius_m": 100},
            "geometry": {"type": "Point", "coordinates": [lon, lat]},
        }],
    });
    layer(&geojson.to_string(), &Decide::default())
}

fn is_usable(report: &FixReport) -> bool {
    report.reason.is_none() && report.fix.quality == FixQuality::Measured
}

#[test]
fn every_log_replays() {
    let Some(directory) = corpus("nmea") else { return };
    let decide = Decide::default();
    let head = ("log", "sentences", "epochs", "usable", "events");
    let (log, sentences, epochs, usable, events) = head;
    harness::tell(&format!(
        "{log:<52} {sentences:>9} {epochs:>7} {usable:>7} {events:>6}  rejects"
    ));
    for path in harness::logs(&directory) {
        let bytes = std::fs::read(&path).expect("a log can be read");
        let bare = replay(Recording::Nmea(&bytes), &[], &decide);
        let first = bare.fixes.iter().find(|fix| is_usable(fix)).map(|report| report.fix.position);
        let layers: Vec<_> =
            first.map(|p| one_zone(p.lon_deg(), p.lat_deg())).into_iter().collect();
        let full = replay(Recording::Nmea(&bytes), &layers, &decide);
        let name = name(&path);
        assert_eq!((bare.usable, bare.epochs), (full.usable, full.epochs), "{name}");
        assert_eq!(bare.rejects, full.rejects, "{name}");
        let rejects: BTreeMap<_, _> = full.rejects.iter().map(|(r, n)| (r.name(), n)).collect();
        let (sentences, events) = (full.sentences, full.events.len());
        let (epochs, usable) = (full.epochs, full.usable);
        harness::tell(&format!(
            "{name:<52} {sentences:>9} {epochs:>7} {usable:>7} {events:>6}  {rejects:?}"
        ));
    }
}

/// What an event says, without the speed and heading that were rounded on the way.
fn said(events: &[Event]) -> Vec<String> {
    let lines = events.iter().map(|event| {
        let mut event = event.clone();
        (event.body.speed_mps, event.body.heading_deg) = (None, None);
        event.to_json()
    });
    lines.collect()
}

#[test]
fn one_drive_is_the_same_in_every_form() {
    let Some(directory) = corpus("nmea") else { return };
    let log = directory.join("genivi__20100403_Z205_Switzerland_full.nmea");
    let bytes = std::fs::read(log).expect("the drive");
    let decide = Decide::default();
    let layers = [layer(include_str!("drive/switzerland.geojson"), &decide)];
    let nmea = replay(Recording::Nmea(&bytes), &layers, &decide);
    let (mut csv, mut lines) = ("asset,time,lat,lon,accuracy_m\n".to_owned(), String::new());
    for FixReport { asset, fix, .. } in nmea.fixes.iter().filter(|fix| is_usable(fix)) {
        let (lat, lon) = (fix.position.lat_deg(), fix.position.lon_deg());
        let (time, accuracy_m) = (fix.time, fix.accuracy_m);
        let _ = writeln!(csv, "{asset},{time},{lat},{lon},{accuracy_m}");
        let record = json!({
            "asset": asset, "time": time, "lat": lat, "lon": lon, "accuracy_m": accuracy_m,
        });
        let _ = writeln!(lines, "{record}");
    }
    let events = said(&nmea.events);
    assert!(events.len() > 50, "the drive crosses its zones");
    assert_eq!(said(&replay(Recording::Csv(&csv), &layers, &decide).events), events);
    assert_eq!(said(&replay(Recording::JsonLines(&lines), &layers, &decide).events), events);
}
