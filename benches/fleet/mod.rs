//! The fleet that benches share: thousands of assets among thousands of zones, from a seed.
//!
//! Always holds: the same numbers give the same zones and the same fixes, on every machine.
//! Does not know: how fixes travel.

#[path = "../../tests/field/chance.rs"]
mod chance;

use std::fmt::Write as _;

use chance::Chance;
use geofenced::units::{EventTime, Position, Span};

const METRES_PER_DEG: f64 = 111_195.0;
/// One zone in so many square metres: a town's depots, stops and customers.
const ZONE_PER_M2: f64 = 250_000.0;
/// A layer holds only so many.
const LAYER_ZONES: u64 = 10_000;
/// When the first of it was measured.
const BEGIN: EventTime = EventTime::from_nanos(1_790_000_000_000_000_000);

/// The side of the square in which so many zones lie.
fn side_m(zones: u64) -> f64 {
    (zones as f64 * ZONE_PER_M2).sqrt()
}

/// Layers as text: stars of 8 to 64 vertices, 40 to 200 m wide, about the equator.
pub(crate) fn layer_texts(zones: u64) -> Vec<String> {
    let (mut chance, side) = (Chance::new(3), side_m(zones));
    let firsts = (0..zones).step_by(LAYER_ZONES as usize);
    let last = |first: u64| zones.min(first + LAYER_ZONES);
    firsts.map(|first| layer_text(first, last(first), side, &mut chance)).collect()
}

fn layer_text(first: u64, last: u64, side: f64, chance: &mut Chance) -> String {
    let mut text = format!(
        "{{\"type\":\"FeatureCollection\",\"geofenced\":{{\"layer\":\"l{first}\",\
         \"version\":1,\"created\":\"2026-11-30T00:00:00Z\"}},\"features\":["
    );
    for zone in first..last {
        let (east, north) = (chance.unit() * side, chance.unit() * side);
        let (radius, vertices) = (20.0 + 80.0 * chance.unit(), 8 + chance.below(57));
        let ring: Vec<String> = (0..=vertices)
            .map(|n| {
                let turn = (n % vertices) as f64 / vertices as f64 * std::f64::consts::TAU;
                let far = radius * (1.0 + 0.2 * (turn * 3.0).sin());
                let lon = (east + far * turn.cos()) / METRES_PER_DEG;
                let lat = (north + far * turn.sin()) / METRES_PER_DEG;
                format!("[{lon:.7},{lat:.7}]")
            })
            .collect();
        let comma = if zone > first { "," } else { "" };
        let _ = write!(
            text,
            "{comma}{{\"type\":\"Feature\",\"id\":\"z{zone}\",\"properties\":{{}},\
             \"geometry\":{{\"type\":\"Polygon\",\"coordinates\":[[{}]]}}}}",
            ring.join(",")
        );
    }
    text.push_str("]}");
    text
}

/// One report.
#[derive(Clone, Copy)]
pub(crate) struct Report {
    /// Whose, from 0.
    pub(crate) asset: u64,
    pub(crate) time: EventTime,
    pub(crate) position: Position,
}

/// One report a second of each asset for ever, interleaved by time: straight on at 5 to 25 m/s,
/// back at the edge, 3 m of noise.
pub(crate) struct Fleet {
    chance: Chance,
    side: f64,
    vans: Vec<[f64; 4]>,
    next: u64,
}

impl Fleet {
    pub(crate) fn new(assets: u64, zones: u64) -> Self {
        let (mut chance, side) = (Chance::new(5), side_m(zones));
        let van = |_| {
            let (turn, speed) = (chance.unit() * std::f64::consts::TAU, 5.0 + 20.0 * chance.unit());
            let place = [chance.unit() * side, chance.unit() * side];
            [place[0], place[1], speed * turn.cos(), speed * turn.sin()]
        };
        let vans = (0..assets).map(van).collect();
        Self { chance, side, vans, next: 0 }
    }

    /// The name of asset `n`.
    pub(crate) fn name(n: u64) -> String {
        format!("van-{n}")
    }
}

impl Iterator for Fleet {
    type Item = Report;

    fn next(&mut self) -> Option<Report> {
        let assets = self.vans.len() as u64;
        let (n, asset) = (self.next, self.next % assets);
        self.next += 1;
        let [east, north, by_east, by_north] = &mut self.vans[asset as usize];
        for (at, by) in [(&mut *east, by_east), (&mut *north, by_north)] {
            *at += *by;
            if *at < 0.0 || *at > self.side {
                *by = -*by;
            }
        }
        let lon = (*east + 3.0 * self.chance.normal()) / METRES_PER_DEG;
        let lat = (*north + 3.0 * self.chance.normal()) / METRES_PER_DEG;
        let nanos = (n / assets) * 1_000_000_000 + asset * 1_000_000_000 / assets;
        Some(Report {
            asset,
            time: BEGIN + Span::from_nanos(nanos.cast_signed()),
            position: Position::new(lat, lon).expect("near the equator"),
        })
    }
}
