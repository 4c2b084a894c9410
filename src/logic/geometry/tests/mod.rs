//! Tests of the geometry: cases from the field, tables, and random shapes against naive twins,
//! `geo` and geographiclib.

mod checks;
mod field;
mod indexes;
mod random;

use super::*;

/// A place by longitude and latitude, as GeoJSON writes it.
pub(super) fn at(lon: f64, lat: f64) -> Position {
    Position::new(lat, lon).unwrap()
}

pub(super) fn ring(points: &[(f64, f64)]) -> Vec<Position> {
    let mut ring: Vec<Position> = points.iter().map(|&(lon, lat)| at(lon, lat)).collect();
    ring.push(ring[0]);
    ring
}

pub(super) fn polygon(rings: &[&[(f64, f64)]]) -> Shape {
    let rings = rings.iter().map(|r| ring(r)).collect();
    Shape::polygons(&[rings]).unwrap().shape
}

/// A small generator with a seed: the same everywhere.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    pub(super) fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A star-shaped ring around a centre: `n` vertices at random distances.
pub(super) fn star(
    chance: &mut Chance,
    lon: f64,
    lat: f64,
    size: f64,
    n: usize,
) -> Vec<(f64, f64)> {
    let vertex = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / n as f64;
        let r = size * chance.between(0.4, 1.0);
        (lon + r * angle.cos(), lat + r * angle.sin())
    };
    (0..n).map(vertex).collect()
}
