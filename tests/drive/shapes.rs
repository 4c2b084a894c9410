//! The naive side of the drive test: zones as drawn, and distances by geodesics.
//!
//! Always holds: shares no code with the product's geometry; slow and plain on purpose.
//! Does not know: fixes, votes, events.

use geographiclib_rs::{Geodesic, InverseGeodesic};
use serde_json::Value;

/// Longitude and latitude in degrees, as GeoJSON has them.
pub(crate) type Point = (f64, f64);

/// Beyond this many metres a plane is good enough: no rule reaches that far.
const NEAR_M: f64 = 500.0;

/// What is drawn.
#[derive(Clone, Debug)]
pub(crate) enum Area {
    /// Parts, each an outer ring and its holes.
    Polygons(Vec<Part>),
    /// Centre and radius in metres.
    Circle(Point, f64),
    /// A line and half its width in metres.
    Corridor(Vec<Point>, f64),
}

/// Where a point lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// In the area.
    pub(crate) inside: bool,
    /// Metres to the boundary, negative inside.
    pub(crate) d_m: f64,
    /// The greatest depth of the hole that it lies in.
    pub(crate) hole_m: Option<f64>,
}

fn point(value: &Value) -> Point {
    (value[0].as_f64().expect("a longitude"), value[1].as_f64().expect("a latitude"))
}

fn points(value: &Value) -> Vec<Point> {
    value.as_array().expect("a list of positions").iter().map(point).collect()
}

/// A ring, and how deep a point in it can be.
type Ring = (Vec<Point>, f64);
/// An outer ring and its holes.
type Part = Vec<Ring>;

fn part(value: &Value) -> Part {
    let rings = value.as_array().expect("a list of rings").iter().map(points);
    rings.map(|ring| (ring.clone(), depth_m(&ring))).collect()
}

impl Area {
    /// Reads a feature's geometry.
    pub(crate) fn read(feature: &Value) -> Self {
        let (geometry, props) = (&feature["geometry"], &feature["properties"]);
        let drawn = &geometry["coordinates"];
        match geometry["type"].as_str() {
            Some("Polygon") => Self::Polygons(vec![part(drawn)]),
            Some("MultiPolygon") => {
                Self::Polygons(drawn.as_array().expect("parts").iter().map(part).collect())
            }
            Some("Point") => Self::Circle(point(drawn), props["radius_m"].as_f64().expect("m")),
            Some("LineString") => {
                Self::Corridor(points(drawn), props["width_m"].as_f64().expect("m") / 2.0)
            }
            other => panic!("no shape of ours: {other:?}"),
        }
    }

    /// Where `p` lies.
    pub(crate) fn place(&self, p: Point) -> Place {
        match self {
            Self::Circle(centre, radius_m) => at(distance_m(p, *centre) - radius_m),
            Self::Corridor(line, half_m) => at(to_line_m(p, line) - half_m),
            Self::Polygons(parts) => {
                let rings = parts.iter().flatten();
                let to_boundary_m =
                    rings.map(|(r, _)| to_line_m(p, r)).fold(f64::INFINITY, f64::min);
                let inside = parts.iter().any(|part| in_part(p, part));
                let mut holes = parts.iter().flat_map(|part| &part[1..]);
                let hole = holes.find(|(hole, _)| !inside && in_ring(p, hole));
                let d_m = if inside { -to_boundary_m } else { to_boundary_m };
                Place { inside, d_m, hole_m: hole.map(|hole| hole.1) }
            }
        }
    }

    /// Whether `p` lies in it.
    fn holds(&self, p: Point) -> bool {
        match self {
            Self::Polygons(parts) => parts.iter().any(|part| in_part(p, part)),
            _ => self.place(p).inside,
        }
    }

    /// Shares of the straight way from `a` to `b` at which it first comes in and last leaves.
    pub(crate) fn crossed(&self, a: Point, b: Point) -> Option<(f64, f64)> {
        let way_m = distance_m(a, b);
        if self.place(a).d_m > way_m && self.place(b).d_m > way_m {
            return None;
        }
        let on = |share: f64| (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share);
        let inside = |share: f64| self.holds(on(share));
        if let Self::Polygons(parts) = self {
            let edges = parts.iter().flatten().flat_map(|(ring, _)| ring.windows(2));
            let mut cuts: Vec<f64> = edges.filter_map(|edge| cut(a, b, edge)).collect();
            cuts.extend([0.0, 1.0]);
            cuts.sort_by(f64::total_cmp);
            let mut within = cuts.windows(2).filter(|w| inside(f64::midpoint(w[0], w[1])));
            let first = within.next()?;
            return Some((first[0], within.next_back().map_or(first[1], |last| last[1])));
        }
        let steps = (way_m * 2.0).clamp(20.0, 4_000.0) as usize;
        let shares: Vec<f64> = (0..=steps).map(|i| i as f64 / steps as f64).collect();
        let first = shares.iter().position(|s| inside(*s))?;
        let last = shares.iter().rposition(|s| inside(*s))?;
        let bisect = |mut out: f64, mut within: f64| {
            for _ in 0..40 {
                let half = f64::midpoint(out, within);
                if inside(half) { within = half } else { out = half }
            }
            within
        };
        let begin = if first == 0 { 0.0 } else { bisect(shares[first - 1], shares[first]) };
        let end = if last == steps { 1.0 } else { bisect(shares[last + 1], shares[last]) };
        Some((begin, end))
    }
}

fn at(d_m: f64) -> Place {
    Place { inside: d_m <= 0.0, d_m, hole_m: None }
}

/// The geodesic.
pub(crate) fn distance_m(a: Point, b: Point) -> f64 {
    Geodesic::wgs84().inverse(a.1, a.0, b.1, b.0)
}

/// Even-odd over all rings of one part.
fn in_part(p: Point, rings: &[Ring]) -> bool {
    in_ring(p, &rings[0].0) && !rings[1..].iter().any(|(hole, _)| in_ring(p, hole))
}

fn in_ring(p: Point, ring: &[Point]) -> bool {
    let mut inside = false;
    for edge in ring.windows(2) {
        let (a, b) = (edge[0], edge[1]);
        if (a.1 > p.1) != (b.1 > p.1) {
            let lon = a.0 + (p.1 - a.1) / (b.1 - a.1) * (b.0 - a.0);
            inside ^= lon > p.0;
        }
    }
    inside
}

/// The share of the way from `a` to `b` at which it meets an edge.
fn cut(a: Point, b: Point, edge: &[Point]) -> Option<f64> {
    let (c, d) = (edge[0], edge[1]);
    let cross = |u: Point, v: Point| u.0 * v.1 - u.1 * v.0;
    let (way, along, to) = ((b.0 - a.0, b.1 - a.1), (d.0 - c.0, d.1 - c.1), (c.0 - a.0, c.1 - a.1));
    let both = cross(way, along);
    let (share, on_edge) = (cross(to, along) / both, cross(to, way) / both);
    let unit = 0.0..=1.0;
    (both != 0.0 && unit.contains(&share) && unit.contains(&on_edge)).then_some(share)
}

/// Metres per degree of longitude and latitude around a latitude, WGS84.
fn metres_per_degree(lat: f64) -> (f64, f64) {
    let (a, e2) = (6_378_137.0_f64, 0.006_694_379_990_141_3_f64);
    let sin = lat.to_radians().sin();
    let w = (1.0 - e2 * sin * sin).sqrt();
    let degree = std::f64::consts::PI / 180.0;
    (degree * a / w * lat.to_radians().cos(), degree * a * (1.0 - e2) / (w * w * w))
}

/// The nearest place of a chain is found in a plane around `p`; the way to it is the geodesic.
fn to_line_m(p: Point, line: &[Point]) -> f64 {
    let (kx, ky) = metres_per_degree(p.1);
    let mut nearest = (f64::INFINITY, line[0]);
    for edge in line.windows(2) {
        let (a, b) = (edge[0], edge[1]);
        let (ax, ay) = ((a.0 - p.0) * kx, (a.1 - p.1) * ky);
        let (dx, dy) = ((b.0 - a.0) * kx, (b.1 - a.1) * ky);
        let length2 = dx * dx + dy * dy;
        let share = if length2 > 0.0 { -(ax * dx + ay * dy) / length2 } else { 0.0 };
        let share = share.clamp(0.0, 1.0);
        let away_m = (ax + dx * share).hypot(ay + dy * share);
        if away_m < nearest.0 {
            nearest = (away_m, (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share));
        }
    }
    if nearest.0 > NEAR_M { nearest.0 } else { distance_m(p, nearest.1) }
}

/// How deep in a ring a point can be: a grid, then ever finer ones around the best.
fn depth_m(ring: &[Point]) -> f64 {
    let least = |of: fn(&Point) -> f64| ring.iter().map(of).fold(f64::INFINITY, f64::min);
    let most = |of: fn(&Point) -> f64| ring.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let (mut west, mut south) = (least(|p| p.0), least(|p| p.1));
    let (mut wide, mut high) = (most(|p| p.0) - west, most(|p| p.1) - south);
    let mut best = (0.0, ring[0]);
    for _ in 0..6 {
        for i in 0..=20 {
            for j in 0..=20 {
                let p = (west + wide * f64::from(i) / 20.0, south + high * f64::from(j) / 20.0);
                if in_ring(p, ring) && to_line_m(p, ring) > best.0 {
                    best = (to_line_m(p, ring), p);
                }
            }
        }
        (wide, high) = (wide / 5.0, high / 5.0);
        (west, south) = (best.1.0 - wide / 2.0, best.1.1 - high / 2.0);
    }
    best.0
}
