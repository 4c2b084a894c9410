//! W2: trackers at 1 to 5 Hz whose fixes are delayed, shuffled and sent in bursts, a tenth of them
//! with a clock that steps by up to 3 s; made here from a seed, or read from a directory of the
//! generator that this follows (`geogen.py w2`, whose file format it is).
//!
//! Always holds: rows are in order of arrival, and each knows when it was truly measured.
//! Does not know: what a right answer is.

use std::f64::consts::TAU;
use std::fmt::Write;
use std::path::Path;

use crate::chance::Chance;

/// Half the side of the city, in metres.
const HALF_M: f64 = 10_000.0;
const SECOND: f64 = 1e9;
/// 2025-10-09T08:53:20Z, when every workload begins.
pub(crate) const T0_NANOS: i64 = 1_760_000_000_000_000_000;
const LAT0: f64 = 52.5;
const LON0: f64 = 13.4;
const METRES_PER_DEGREE: f64 = 6_371_008.8 * TAU / 360.0;

/// One fix.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) asset: u32,
    /// As its tracker's clock says.
    pub(crate) event: i64,
    /// When it arrived.
    pub(crate) at: i64,
    /// When it was measured.
    pub(crate) truth: i64,
    pub(crate) lat: f64,
    pub(crate) lon: f64,
    /// Zero where it has no error.
    pub(crate) accuracy_m: f32,
}

/// A fleet and its zones.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) rows: Vec<Row>,
    /// GeoJSON.
    pub(crate) zones: String,
}

/// What a made workload is like.
#[derive(Clone, Copy)]
pub(crate) struct Likeness {
    pub(crate) assets: u32,
    pub(crate) seconds: usize,
    /// Share of fixes that are 0.5 to 8 s late.
    pub(crate) tail: f64,
    /// Share of assets that are offline for 5 to 30 s and then send all at once.
    pub(crate) burst: f64,
    /// Share of assets whose clock steps.
    pub(crate) stepped: f64,
}

/// A zone's outline in metres, or a circle where there are no vertices.
struct Zone {
    centre: (f64, f64),
    radius_m: f64,
    ring: Vec<(f64, f64)>,
}

impl Workload {
    /// A fleet from a seed.
    pub(crate) fn make(name: &str, seed: u64, like: Likeness) -> Self {
        let mut chance = Chance::new(seed);
        let zones: Vec<Zone> = (0..600).map(|_| zone(&mut chance)).collect();
        let targets: Vec<(f64, f64)> = zones.iter().map(|zone| aim(zone, &mut chance)).collect();
        let mut rows = Vec::new();
        for asset in 0..like.assets {
            let path = walk(&mut chance, &targets, like.seconds + 1);
            tracker(&mut chance, asset, &path, like, &mut rows);
        }
        rows.sort_by_key(|row| (row.at, row.truth, row.asset));
        Self { name: format!("{name} seed {seed}"), rows, zones: collection(&zones) }
    }

    /// A directory of the generator.
    pub(crate) fn read(dir: &Path) -> Self {
        let read = |file: &str| std::fs::read(dir.join(file)).unwrap();
        let (fixes, truth) = (read("fixes.col"), read("true.col"));
        let count = u64::from_le_bytes(fixes[8..16].try_into().unwrap()) as usize;
        let (arrive, place) = (read("arrive.i64"), read("row.u32"));
        let u32_at = |b: &[u8], i: usize| u32::from_le_bytes(b[i..i + 4].try_into().unwrap());
        let i64_at = |b: &[u8], i: usize| i64::from_le_bytes(b[i..i + 8].try_into().unwrap());
        let f64_at = |b: &[u8], i: usize| f64::from_le_bytes(b[i..i + 8].try_into().unwrap());
        let column = |before: usize| 16 + count * before;
        let rows = (0..count).map(|n| Row {
            asset: u32_at(&fixes, column(0) + 4 * n),
            event: i64_at(&fixes, column(4) + 8 * n),
            at: i64_at(&arrive, 8 * n),
            truth: i64_at(&truth, column(4) + 8 * u32_at(&place, 4 * n) as usize),
            lat: f64_at(&fixes, column(12) + 8 * n),
            lon: f64_at(&fixes, column(20) + 8 * n),
            accuracy_m: f32::from_bits(u32_at(&fixes, column(28) + 4 * n)),
        });
        let name = dir.file_name().unwrap().to_string_lossy().into_owned();
        Self { name, rows: rows.collect(), zones: collection(&fences(&read("fences.bin"))) }
    }
}

/// The zones of a `fences.bin`.
fn fences(bytes: &[u8]) -> Vec<Zone> {
    let u32_at = |i: usize| u32::from_le_bytes(bytes[i..i + 4].try_into().unwrap());
    let f64_at = |i: usize| f64::from_le_bytes(bytes[i..i + 8].try_into().unwrap());
    let (count, vertices) = (u32_at(8) as usize, u32_at(12) as usize);
    let [kinds, lats, lons, radii, first] = [0, 1, 9, 17, 21].map(|size| 16 + count * size);
    let vertex_lats = first + 4 * (count + 1);
    let vertex_lons = vertex_lats + 8 * vertices;
    let zone = |n: usize| {
        let own = u32_at(first + 4 * n) as usize..u32_at(first + 4 * n + 4) as usize;
        let vertex = |v| metres(f64_at(vertex_lats + 8 * v), f64_at(vertex_lons + 8 * v));
        let circle = bytes[kinds + n] == 1;
        Zone {
            centre: metres(f64_at(lats + 8 * n), f64_at(lons + 8 * n)),
            radius_m: f64::from(f32::from_bits(u32_at(radii + 4 * n))),
            ring: if circle { Vec::new() } else { own.map(vertex).collect() },
        }
    };
    (0..count).map(zone).collect()
}

fn metres(lat: f64, lon: f64) -> (f64, f64) {
    let kx = METRES_PER_DEGREE * LAT0.to_radians().cos();
    ((lon - LON0) * kx, (lat - LAT0) * METRES_PER_DEGREE)
}

fn degrees((x, y): (f64, f64)) -> (f64, f64) {
    let kx = METRES_PER_DEGREE * LAT0.to_radians().cos();
    (LAT0 + y / METRES_PER_DEGREE, LON0 + x / kx)
}

fn between(chance: &mut Chance, low: f64, high: f64) -> f64 {
    low + (high - low) * chance.unit()
}

/// Anywhere in the city.
fn anywhere(chance: &mut Chance) -> (f64, f64) {
    (between(chance, -HALF_M, HALF_M), between(chance, -HALF_M, HALF_M))
}

fn exponential(chance: &mut Chance, mean: f64) -> f64 {
    -mean * (1.0 - chance.unit()).ln()
}

/// A circle or a rough star of 8 to 64 vertices, of 60 to 600 m.
fn zone(chance: &mut Chance) -> Zone {
    let centre = anywhere(chance);
    let radius_m = between(chance, 60_f64.ln(), 600_f64.ln()).exp();
    if chance.unit() < 0.3 {
        return Zone { centre, radius_m, ring: Vec::new() };
    }
    let count = 8 + chance.below(57) as usize;
    let mut turns: Vec<f64> = (0..count).map(|_| chance.unit()).collect();
    turns.sort_by(f64::total_cmp);
    let vertex = |(n, turn): (usize, &f64)| {
        let angle = (turn + n as f64 / count as f64) * TAU / 2.0;
        let reach = radius_m * (1.0 - 0.25 * chance.unit());
        (centre.0 + reach * angle.cos(), centre.1 + reach * angle.sin())
    };
    Zone { centre, radius_m, ring: turns.iter().enumerate().map(vertex).collect() }
}

/// A place on a zone's boundary, which vehicles drive to.
fn aim(zone: &Zone, chance: &mut Chance) -> (f64, f64) {
    if zone.ring.is_empty() {
        let (sin, cos) = (TAU * chance.unit()).sin_cos();
        return (zone.centre.0 + zone.radius_m * cos, zone.centre.1 + zone.radius_m * sin);
    }
    zone.ring[chance.below(zone.ring.len() as u64) as usize]
}

/// Where a vehicle is at each second: from waypoint to waypoint at 3 to 20 m/s, with stops.
fn walk(chance: &mut Chance, targets: &[(f64, f64)], seconds: usize) -> Vec<(f64, f64)> {
    let mut place = anywhere(chance);
    let (mut goal, mut speed, mut wait) = (place, 0.0, 0.0);
    let mut path = Vec::with_capacity(seconds);
    for _ in 0..seconds {
        let left = (goal.0 - place.0).hypot(goal.1 - place.1);
        if left <= speed && wait <= 0.0 {
            goal = match chance.unit() {
                share if share < 0.5 => {
                    let near = |from: f64, by: f64| (from + 900.0 * by).clamp(-HALF_M, HALF_M);
                    (near(place.0, chance.normal()), near(place.1, chance.normal()))
                }
                share if share < 0.65 => anywhere(chance),
                _ => targets[chance.below(targets.len() as u64) as usize],
            };
            speed = between(chance, 3.0, 20.0);
            let parks = chance.unit() < 0.1;
            wait = exponential(chance, if parks { 120.0 } else { 10.0 });
        }
        if wait <= 0.0 {
            let left = (goal.0 - place.0).hypot(goal.1 - place.1).max(1e-9);
            let share = speed.min(left) / left;
            place = (place.0 + (goal.0 - place.0) * share, place.1 + (goal.1 - place.1) * share);
        }
        wait -= 1.0;
        path.push(place);
    }
    path
}

/// What one tracker sends along a path, and when it arrives.
fn tracker(
    chance: &mut Chance,
    asset: u32,
    path: &[(f64, f64)],
    like: Likeness,
    rows: &mut Vec<Row>,
) {
    let seconds = like.seconds as f64;
    let rate = 1 + chance.below(5);
    let phase = 0.999 * chance.unit();
    let own = between(chance, -0.02, 0.02);
    let step = if chance.unit() < like.stepped { between(chance, -3.0, 3.0) } else { 0.0 };
    let steps_at = between(chance, 0.0, seconds);
    let bursts = chance.unit() < like.burst;
    let from = between(chance, 0.0, (seconds - 5.0).max(1.0));
    let until = from + between(chance, 5.0, 30.0);
    for n in 0..rate * like.seconds as u64 {
        let t = ((n as f64 + phase) / rate as f64).min(seconds - 1e-6);
        let (whole, part) = (t as usize, t.fract());
        let (a, b) = (path[whole], path[whole + 1]);
        let place = (a.0 + (b.0 - a.0) * part, a.1 + (b.1 - a.1) * part);
        let skew = own + if t >= steps_at { step } else { 0.0 };
        let mut delay = 0.06 * (0.8 * chance.normal()).exp();
        if chance.unit() < like.tail {
            delay = between(chance, 0.5, 8.0);
        }
        if bursts && (from..until).contains(&t) {
            delay = until - t + between(chance, 0.0, 0.3);
        }
        let nanos = |seconds: f64| T0_NANOS + (seconds * SECOND) as i64;
        let (lat, lon) = degrees(place);
        let (event, at, truth) = (nanos(t + skew), nanos(t + delay), nanos(t));
        rows.push(Row { asset, event, at, truth, lat, lon, accuracy_m: 0.0 });
    }
}

/// The zones as a layer.
fn collection(zones: &[Zone]) -> String {
    let mut features = String::new();
    for (n, zone) in zones.iter().enumerate() {
        let position = |place| {
            let (lat, lon) = degrees(place);
            format!("[{lon},{lat}]")
        };
        let (kind, coordinates, properties) = if zone.ring.is_empty() {
            ("Point", position(zone.centre), format!(r#""radius_m":{}"#, zone.radius_m))
        } else {
            let closed = zone.ring.iter().chain(zone.ring.first());
            let ring: Vec<String> = closed.map(|place| position(*place)).collect();
            ("Polygon", format!("[[{}]]", ring.join(",")), String::new())
        };
        let comma = if n == 0 { "" } else { "," };
        write!(
            features,
            r#"{comma}{{"type":"Feature","id":"{n}","properties":{{{properties}}},
            "geometry":{{"type":"{kind}","coordinates":{coordinates}}}}}"#
        )
        .unwrap();
    }
    format!(
        r#"{{"type":"FeatureCollection","geofenced":{{"layer":"city","version":1}},
        "features":[{features}]}}"#
    )
}
