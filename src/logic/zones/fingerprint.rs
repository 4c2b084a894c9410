//! A shape's fingerprint: what membership is stored against (LAY-1).
//!
//! Always holds: the same area drawn with another start, winding, closing or repeated points has
//! the same fingerprint; any other change of the shape gives another. Names, rules and tags play
//! no part.

use std::fmt;
use std::str::FromStr;

use crate::logic::geometry::{Path, Polygons, Shape, TURN};
use crate::logic::hash::Short;

/// The first 64 bits of the SHA-256 of a shape's canonical form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Fingerprint(u64);

/// A ring in the canonical form: places in 1e-7°, first the least.
type Canonical = Vec<[i64; 2]>;

impl Fingerprint {
    /// The fingerprint of a shape.
    pub fn of(shape: &Shape) -> Self {
        let mut hash = Short::default();
        match shape {
            Shape::Polygons(polygons) => {
                hash.update(b"polygons-1");
                for part in canonical_parts(polygons) {
                    put_count(&mut hash, part.len());
                    for ring in &part {
                        put_points(&mut hash, ring);
                    }
                }
            }
            Shape::Circle(circle) => {
                hash.update(b"circle-1");
                let grid = |deg: f64| (deg * 1e7).round() as i64;
                let centre = [grid(circle.centre().lon_deg()), grid(circle.centre().lat_deg())];
                put_points(&mut hash, &[[turned(centre[0]), centre[1]]]);
                put_millimetres(&mut hash, circle.radius_m());
            }
            Shape::Corridor(corridor) => {
                hash.update(b"corridor-1");
                let line = places(corridor.line());
                let back: Canonical = line.iter().rev().copied().collect();
                put_points(&mut hash, &line.min(back));
                put_millimetres(&mut hash, corridor.half_width_m());
            }
        }
        Self(hash.finish())
    }

    /// From its 64 bits, as a store keeps them.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// Its 64 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// Each part's outer ring, then its holes in order; the parts in order.
fn canonical_parts(polygons: &Polygons) -> Vec<Vec<Canonical>> {
    let mut parts: Vec<Vec<Canonical>> = Vec::new();
    for ring in polygons.rings() {
        let points = canonical_ring(&ring.path);
        match parts.last_mut() {
            Some(part) if ring.hole_depth_m.is_some() => part.push(points),
            _ => parts.push(vec![points]),
        }
    }
    for part in &mut parts {
        part[1..].sort_unstable();
    }
    parts.sort_unstable();
    parts
}

/// The ring from its least place; where that comes more than once, from the one that makes the
/// whole least. The winding is one already: checked rings are wound as RFC 7946 asks.
fn canonical_ring(path: &Path) -> Canonical {
    let mut points = places(path);
    points.pop();
    let Some(&least) = points.iter().min() else { return points };
    let starts = (0..points.len()).filter(|&i| points[i] == least);
    let from = |start: usize| points[start..].iter().chain(&points[..start]);
    let start = starts.reduce(|a, b| if from(b).lt(from(a)) { b } else { a });
    points.rotate_left(start.unwrap_or(0));
    points
}

/// A path's places with longitudes in [−180°, 180°), whatever it counts them from.
fn places(path: &Path) -> Canonical {
    let origin = i64::from(path.origin());
    path.vertices().iter().map(|v| [turned(origin + i64::from(v[0])), i64::from(v[1])]).collect()
}

fn turned(lon: i64) -> i64 {
    (lon + TURN / 2).rem_euclid(TURN) - TURN / 2
}

fn put_count(hash: &mut Short, count: usize) {
    hash.update(&(count as u64).to_be_bytes());
}

fn put_points(hash: &mut Short, points: &[[i64; 2]]) {
    put_count(hash, points.len());
    for p in points {
        hash.update(&p[0].to_be_bytes());
        hash.update(&p[1].to_be_bytes());
    }
}

fn put_millimetres(hash: &mut Short, metres: f64) {
    hash.update(&((metres * 1000.0).round() as i64).to_be_bytes());
}

impl fmt::Display for Fingerprint {
    /// 16 hex digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text that is not a fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is 16 hexadecimal digits")]
pub struct FingerprintError;

impl FromStr for Fingerprint {
    type Err = FingerprintError;
    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let plain = text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit());
        let bits = plain.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        bits.map(Self).ok_or(FingerprintError)
    }
}
