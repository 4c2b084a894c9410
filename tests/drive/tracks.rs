//! Other people's drives as CSV, zones placed along them by chance with a seed, sets of rules.
//!
//! Always holds: the same seed places the same zones. Does not know: what should happen there.

use std::fmt::Write as _;
use std::path::Path;

use geofenced::logic::config::Decide;
use geofenced::units::Span;
use serde_json::{Value, json};

use crate::harness::{files, name};
use crate::naive::Heard;
use crate::shapes::Point;

/// The rules that drives are run under: the defaults, quick ones that go stale, slow ones.
pub(crate) fn rule_sets() -> Vec<(&'static str, Decide)> {
    let defaults = Decide::default();
    let touchy = Decide {
        confirm: 2,
        confirm_for: Span::from_secs(1),
        exit_margin_m: 3.0,
        stale_after: Span::from_secs(8),
        infer_limit: Some(Span::from_secs(25)),
        ..Decide::default()
    };
    let slow = Decide {
        confirm: 6,
        confirm_for: Span::from_secs(9),
        enter_margin_m: 2.0,
        exit_margin_m: 30.0,
        stale_after: Span::from_secs(20),
        ..Decide::default()
    };
    let single = Decide { confirm: 1, confirm_for: Span::ZERO, ..Decide::default() };
    let mut sets = vec![("defaults", defaults), ("touchy", touchy)];
    if long() {
        sets.extend([("slow", slow), ("single", single)]);
    }
    sets
}

/// How many cars of a collection, and points of a track, the short version takes.
const CARS: usize = 12;
const POINTS: usize = 500;
/// How much of a log it takes.
const LOG_BYTES: usize = 150_000;

/// As much of a log as is taken.
pub(crate) fn cut(log: &[u8]) -> &[u8] {
    if long() { log } else { &log[..log.len().min(LOG_BYTES)] }
}

fn long() -> bool {
    std::env::var_os("GEOFENCED_LONG").is_some()
}

/// How many layers each drive is run against.
pub(crate) fn seeds() -> u64 {
    if long() { 20 } else { 1 }
}

/// Every track of the corpus that is text, as CSV.
pub(crate) fn all(directory: &Path) -> Vec<(String, String)> {
    let mut tracks = Vec::new();
    for path in files(directory) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let name = name(&path);
        match path.extension().and_then(|e| e.to_str()) {
            Some("gpx") => tracks.push((name, gpx(&text))),
            Some("csv") if text.starts_with("id,time,geometry") => {
                tracks.extend(floating_cars(&name, &text));
            }
            _ => {}
        }
    }
    tracks
}

const HEADER: &str = "asset,time,lat,lon\n";

/// What stands between two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let rest = &text[text.find(from)? + from.len()..];
    Some(&rest[..rest.find(to)?])
}

/// Track points that have a time, by a plain scan.
fn gpx(text: &str) -> String {
    let mut csv = HEADER.to_owned();
    let most = if long() { usize::MAX } else { POINTS };
    for point in text.split("<trkpt").skip(1).take(most) {
        let point = point.split("</trkpt>").next().unwrap_or_default();
        let (lat, lon) = (between(point, "lat=\"", "\""), between(point, "lon=\"", "\""));
        let time = between(point, "<time>", "</time>");
        if let (Some(lat), Some(lon), Some(time)) = (lat, lon, time) {
            let _ = writeln!(csv, "track,{},{lat},{lon}", time.trim());
        }
    }
    csv
}

/// One drive for each id of `id,time,geometry`.
fn floating_cars(name: &str, text: &str) -> Vec<(String, String)> {
    let most = if long() { usize::MAX } else { CARS };
    let mut cars: Vec<(String, String)> = Vec::new();
    for line in text.lines().skip(1) {
        let mut cells = line.splitn(3, ',');
        let (Some(id), Some(time)) = (cells.next(), cells.next()) else { continue };
        let point = cells.next().and_then(|g| between(g, "(", ")"));
        let Some((lon, lat)) = point.and_then(|p| p.split_once(' ')) else { continue };
        let car = format!("{name} car {id}");
        if cars.last().is_none_or(|(known, _)| *known != car) {
            cars.push((car, HEADER.to_owned()));
        }
        if cars.len() > most {
            cars.pop();
            break;
        }
        let time = time.replace(' ', "T");
        let (_, csv) = cars.last_mut().expect("one was pushed");
        let _ = writeln!(csv, "car,{time},{lat},{lon}");
    }
    cars
}

/// Chance with a seed: splitmix64.
struct Dice(u64);

impl Dice {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[((self.unit() * from.len() as f64) as usize).min(from.len() - 1)]
    }
}

/// A place some metres away, to 1e-7 degrees.
fn moved(from: Point, east_m: f64, north_m: f64) -> [f64; 2] {
    let lon = from.0 + east_m / (111_320.0 * from.1.to_radians().cos());
    let lat = from.1 + north_m / 111_195.0;
    [lon, lat].map(|deg| (deg * 1e7).round() / 1e7)
}

/// A ring round a place, wound as RFC 7946 asks.
fn ring(dice: &mut Dice, centre: Point, radius_m: f64, hole: bool) -> Value {
    let corners = *dice.pick(&[4, 5, 7, 12]);
    let turn = dice.between(0.0, 1.0);
    let mut ring: Vec<[f64; 2]> = (0..corners)
        .map(|k| {
            let angle = (f64::from(k) + turn) / f64::from(corners) * std::f64::consts::TAU;
            moved(centre, radius_m * angle.cos(), radius_m * angle.sin())
        })
        .collect();
    if hole {
        ring.reverse();
    }
    ring.push(ring[0]);
    json!(ring)
}

/// Some twenty zones along a drive: circles, polygons, holes, corridors, two parts, own rules.
pub(crate) fn zones_along(fixes: &[Heard], seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut features = Vec::new();
    let radii_m = [6.0, 15.0, 40.0, 120.0, 400.0, 2_000.0];
    for n in 0..20 {
        let near = dice.pick(fixes).at;
        let radius_m = *dice.pick(&radii_m) * dice.between(0.8, 1.2);
        let aside = dice.between(-1.3, 1.3) * radius_m;
        let centre = moved(near, aside, dice.between(-0.5, 0.5) * radius_m);
        let centre = (centre[0], centre[1]);
        let mut own = json!({"detect_pass": dice.unit() < 0.5});
        let geometry = match n % 5 {
            0 => {
                own["radius_m"] = json!((radius_m * 10.0).round() / 10.0);
                json!({"type": "Point", "coordinates": [centre.0, centre.1]})
            }
            1 => {
                let rings = [ring(&mut dice, centre, radius_m, false)];
                json!({"type": "Polygon", "coordinates": rings})
            }
            2 => {
                let outer = ring(&mut dice, centre, radius_m * 2.0, false);
                let rings = [outer, ring(&mut dice, centre, radius_m * 0.6, true)];
                json!({"type": "Polygon", "coordinates": rings})
            }
            3 => {
                own["width_m"] = json!(*dice.pick(&[10.0, 30.0, 80.0]));
                corridor(&mut dice, fixes)
            }
            _ => {
                let east = moved(centre, radius_m * 2.5, 0.0);
                let parts = [
                    [ring(&mut dice, centre, radius_m, false)],
                    [ring(&mut dice, (east[0], east[1]), radius_m, false)],
                ];
                json!({"type": "MultiPolygon", "coordinates": parts})
            }
        };
        own_rules(&mut dice, &mut own);
        features.push(json!({
            "type": "Feature", "id": format!("z{n:02}"), "properties": own, "geometry": geometry,
        }));
    }
    json!({
        "type": "FeatureCollection",
        "geofenced": {"layer": "along", "version": 1, "created": "2026-11-30T00:00:00Z"},
        "features": features,
    })
    .to_string()
}

/// A line along part of the drive, its points well apart.
fn corridor(dice: &mut Dice, fixes: &[Heard]) -> Value {
    let begin = (dice.unit() * fixes.len() as f64 * 0.8) as usize;
    let mut line: Vec<[f64; 2]> = Vec::new();
    for fix in fixes[begin..].iter().take(300) {
        let here = moved(fix.at, 0.0, 0.0);
        let far = line.last().is_none_or(|last| {
            crate::shapes::distance_m((last[0], last[1]), (here[0], here[1])) > 60.0
        });
        if far {
            line.push(here);
        }
    }
    if line.len() < 2 {
        line.push(moved((line[0][0], line[0][1]), 200.0, 50.0));
    }
    json!({"type": "LineString", "coordinates": line})
}

fn own_rules(dice: &mut Dice, own: &mut Value) {
    if dice.unit() < 0.3 {
        own["confirm"] = json!(*dice.pick(&[1, 2, 5]));
    }
    if dice.unit() < 0.3 {
        own["confirm_for"] = json!(*dice.pick(&["1s", "5s", "12s"]));
    }
    if dice.unit() < 0.3 {
        own["exit_margin_m"] = json!(*dice.pick(&[0.0, 4.0, 60.0]));
    }
    if dice.unit() < 0.2 {
        own["enter_margin_m"] = json!(2.5);
    }
    if dice.unit() < 0.5 {
        own["dwell"] = json!(*dice.pick(&["20s", "90s", "10min"]));
    }
}
