//! A circle on the ground.
//!
//! Always holds: distances are the ground's own at every latitude, poles included; the boundary
//! is outside. Kept in whole 1e-7° and millimetres, as its fingerprint is.

use super::bounds::Bounds;
use super::ground::{Centric, Frame};
use super::path::PER_DEG;
use super::{FaultKind, Located, ShapeFault};
use crate::units::Position;

/// The widest circle in metres: past this it is a region, better drawn as a polygon.
pub const RADIUS_MAX_M: f64 = 1_000_000.0;

/// A circle: centre and radius.
#[derive(Clone, PartialEq, Debug)]
pub struct Circle {
    centre: Position,
    radius_m: f64,
    /// The centre once more, ready for distances.
    centric: Centric,
}

impl Circle {
    /// A checked circle.
    pub(crate) fn new(centre: Position, radius_m: f64) -> Result<Self, ShapeFault> {
        let radius_m = (radius_m * 1000.0).round() / 1000.0;
        if !(radius_m > 0.0 && radius_m <= RADIUS_MAX_M) {
            return Err(FaultKind::Radius { max_m: RADIUS_MAX_M }.nowhere());
        }
        let on_grid = |deg: f64| (deg * PER_DEG).round() / PER_DEG;
        let centre = Position::new(on_grid(centre.lat_deg()), on_grid(centre.lon_deg()))
            .expect("rounding to the grid stays within the bounds, which lie on it");
        Ok(Self { centre, radius_m, centric: Centric::of(centre) })
    }

    /// Its middle.
    pub fn centre(&self) -> Position {
        self.centre
    }

    /// From the middle to the boundary.
    pub fn radius_m(&self) -> f64 {
        self.radius_m
    }

    pub(super) fn bounds(&self) -> Bounds {
        Bounds::around(self.centre, self.radius_m)
    }

    pub(super) fn locate(&self, p: Position) -> Located {
        let distance_m = self.centric.distance_m(Centric::of(p)) - self.radius_m;
        Located { inside: distance_m < 0.0, distance_m, hole_depth_m: None }
    }

    /// Where the straight way from `a` to `b` is inside, in the frame half-way to the centre.
    pub(super) fn crossing(&self, a: Position, b: Position) -> Option<(f64, f64)> {
        let frame = Frame::at(0.5 * (self.centre.lat_deg() + 0.5 * (a.lat_deg() + b.lat_deg())));
        let (ax, ay) = frame.offset_m(self.centre, a);
        let (dx, dy) = frame.offset_m(a, b);
        disc_interval((ax, ay), (dx, dy), self.radius_m)
    }
}

/// The part of `from + t × step`, 0 ≤ t ≤ 1, that lies within `radius` of the origin.
pub(super) fn disc_interval(from: (f64, f64), step: (f64, f64), radius: f64) -> Option<(f64, f64)> {
    let a = step.0 * step.0 + step.1 * step.1;
    let half_b = from.0 * step.0 + from.1 * step.1;
    let c = from.0 * from.0 + from.1 * from.1 - radius * radius;
    if a == 0.0 {
        return (c < 0.0).then_some((0.0, 1.0));
    }
    let root_sq = half_b * half_b - a * c;
    if root_sq <= 0.0 {
        return None;
    }
    let root = root_sq.sqrt();
    let (t0, t1) = (((-half_b - root) / a).max(0.0), ((-half_b + root) / a).min(1.0));
    (t0 < t1).then_some((t0, t1))
}
