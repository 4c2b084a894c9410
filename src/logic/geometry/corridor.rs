//! A corridor: all within half a width of a line, with round caps and round bends.
//!
//! Always holds: the boundary is outside; the line has at least two different vertices.

use super::bounds::Bounds;
use super::circle::disc_interval;
use super::ground::Frame;
use super::path::{PER_DEG, Path, Spot, Vertex};
use super::{FaultKind, Located, ShapeFault};
use crate::units::Position;

/// The widest half width in metres: distances come from the plane at the place asked about,
/// which at this distance is still right to a metre between ±70°.
pub const HALF_WIDTH_MAX_M: f64 = 10_000.0;

/// A line and half a width.
#[derive(Clone, PartialEq, Debug)]
pub struct Corridor {
    line: Path,
    half_width_m: f64,
}

impl Corridor {
    /// A checked corridor around a checked line.
    pub(super) fn new(line: Path, half_width_m: f64) -> Result<Self, ShapeFault> {
        let half_width_m = (half_width_m * 1000.0).round() / 1000.0;
        if half_width_m > 0.0 && half_width_m <= HALF_WIDTH_MAX_M {
            return Ok(Self { line, half_width_m });
        }
        Err(FaultKind::HalfWidth { max_m: HALF_WIDTH_MAX_M }.nowhere())
    }

    /// From the line to the boundary.
    pub fn half_width_m(&self) -> f64 {
        self.half_width_m
    }

    pub(crate) fn line(&self) -> &Path {
        &self.line
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.line.bounds().expanded(self.half_width_m)
    }

    pub(super) fn locate_within(&self, p: Position, reach_m: f64) -> Option<Located> {
        let far_m = self.half_width_m + reach_m;
        let mut best_sq = far_m * far_m;
        self.line.nearest_sq(&Spot::of(p), &mut best_sq);
        if best_sq >= far_m * far_m && far_m.is_finite() {
            return None;
        }
        let distance_m = best_sq.sqrt() - self.half_width_m;
        Some(Located { inside: distance_m < 0.0, distance_m, hole_depth_m: None })
    }

    pub(super) fn crossing(&self, a: Position, b: Position) -> Option<(f64, f64)> {
        let frame = Frame::at(0.5 * (a.lat_deg() + b.lat_deg()));
        let scale = [frame.east_m / PER_DEG, frame.north_m / PER_DEG];
        let (from, to) = self.line.segment(a, b);
        let metres = |p: [f64; 2]| ((p[0] - from[0]) * scale[0], (p[1] - from[1]) * scale[1]);
        let margin = scale.map(|k| self.half_width_m / k.max(f64::MIN_POSITIVE) + 1.0);
        let step = metres(to);
        let mut both: Option<(f64, f64)> = None;
        self.line.edges_near(from, to, margin, &mut |p: Vertex, q: Vertex| {
            let (p, q) = (metres(p.map(f64::from)), metres(q.map(f64::from)));
            if let Some(part) = capsule_interval(p, q, step, self.half_width_m) {
                both = Some(hull(both, part));
            }
        });
        both
    }
}

fn hull(a: Option<(f64, f64)>, b: (f64, f64)) -> (f64, f64) {
    a.map_or(b, |a| (a.0.min(b.0), a.1.max(b.1)))
}

/// The part of `t × step`, 0 ≤ t ≤ 1, within `radius` of the segment `p q`: a capsule is convex,
/// so it is the hull of what lies in the two discs and in the rectangle between them.
fn capsule_interval(
    p: (f64, f64),
    q: (f64, f64),
    step: (f64, f64),
    radius: f64,
) -> Option<(f64, f64)> {
    let mut both = None;
    for end in [p, q] {
        if let Some(part) = disc_interval((-end.0, -end.1), step, radius) {
            both = Some(hull(both, part));
        }
    }
    let (ex, ey) = (q.0 - p.0, q.1 - p.1);
    let len = ex.hypot(ey);
    if len > 0.0 {
        let (ux, uy) = (ex / len, ey / len);
        let along = clip(-(p.0 * ux + p.1 * uy), step.0 * ux + step.1 * uy, 0.0, len);
        let across = clip(p.0 * uy - p.1 * ux, step.1 * ux - step.0 * uy, -radius, radius);
        if let (Some(m), Some(n)) = (along, across) {
            let (t0, t1) = (m.0.max(n.0), m.1.min(n.1));
            if t0 < t1 {
                both = Some(hull(both, (t0, t1)));
            }
        }
    }
    both
}

/// Where `at + t × rate` lies within `lo ..= hi`, for 0 ≤ t ≤ 1.
fn clip(at: f64, rate: f64, lo: f64, hi: f64) -> Option<(f64, f64)> {
    if rate == 0.0 {
        return (lo <= at && at <= hi).then_some((0.0, 1.0));
    }
    let (s, t) = ((lo - at) / rate, (hi - at) / rate);
    let (t0, t1) = (s.min(t).max(0.0), s.max(t).min(1.0));
    (t0 < t1).then_some((t0, t1))
}
