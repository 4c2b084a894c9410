//! Polygons with holes, several parts as one zone.
//!
//! Always holds: rings passed `check`, so a place is inside iff an odd number of rings enclose
//! it. By the half-open rule of `path` a place on a shared edge is in exactly one neighbour.
//! Where two parts of one zone share an edge it counts as boundary for distances.

use std::sync::Arc;

use super::Located;
use super::bounds::Bounds;
use super::depth::greatest_depth_m;
use super::ground::Frame;
use super::path::{Path, Spot};
use crate::units::Position;

/// One closed ring. A part's outer ring comes first, its holes follow.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Ring {
    pub(crate) path: Path,
    /// Holes only: the greatest distance to its edge that a place in the hole can have.
    pub(crate) hole_depth_m: Option<f32>,
}

/// Parts with holes; cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Polygons {
    rings: Arc<[Ring]>,
    bounds: Bounds,
}

impl Polygons {
    /// From checked rings: `(path, is a hole)`.
    pub(super) fn new(rings: Vec<(Path, bool)>) -> Self {
        let bounds = joint_bounds(rings.iter().map(|(path, _)| path.bounds()));
        let rings = rings.into_iter().map(|(path, hole)| {
            let depth_m = hole.then(|| {
                greatest_depth_m(path.bounds(), &|q| signed_m(std::slice::from_ref(&path), q))
            });
            Ring { hole_depth_m: depth_m.map(|m| m as f32), path }
        });
        Self { rings: rings.collect(), bounds }
    }

    pub(crate) fn rings(&self) -> &[Ring] {
        &self.rings
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    fn inside(&self, q: &Spot) -> bool {
        self.rings.iter().fold(false, |odd, r| odd ^ r.path.encloses(q))
    }

    fn nearest_sq(&self, q: &Spot, mut best_sq: f64) -> f64 {
        for ring in &*self.rings {
            ring.path.nearest_sq(q, &mut best_sq);
        }
        best_sq
    }

    /// The depth of the innermost hole around a place outside.
    fn hole_depth_m(&self, q: &Spot) -> Option<f64> {
        let holes = self.rings.iter().filter_map(|r| Some((r.hole_depth_m?, &r.path)));
        let around = holes.filter(|(_, path)| path.encloses(q)).map(|(m, _)| f64::from(m));
        around.reduce(f64::min)
    }

    pub(super) fn locate_within(&self, p: Position, reach_m: f64) -> Option<Located> {
        let q = Spot::of(p);
        if self.inside(&q) {
            let distance_m = -self.nearest_sq(&q, f64::INFINITY).sqrt();
            return Some(Located { inside: true, distance_m, hole_depth_m: None });
        }
        let far_sq = reach_m * reach_m;
        let best_sq = self.nearest_sq(&q, far_sq);
        if best_sq >= far_sq && far_sq.is_finite() {
            return None;
        }
        let distance_m = best_sq.sqrt();
        Some(Located { inside: false, distance_m, hole_depth_m: self.hole_depth_m(&q) })
    }

    pub(super) fn greatest_depth_m(&self) -> f64 {
        let shells = self.rings.iter().filter(|r| r.hole_depth_m.is_none());
        let depths = shells.map(|shell| {
            greatest_depth_m(shell.path.bounds(), &|q| {
                let distance_m = self.nearest_sq(q, f64::INFINITY).sqrt();
                if self.inside(q) { distance_m } else { -distance_m }
            })
        });
        depths.fold(0.0, f64::max)
    }

    pub(super) fn crossing(&self, a: Position, b: Position) -> Option<(f64, f64)> {
        let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
        for ring in &*self.rings {
            ring.path.crossed(a, b, &mut |t| {
                first = first.min(t);
                last = last.max(t);
            });
        }
        if self.inside(&Spot::of(a)) {
            first = 0.0;
            last = last.max(0.0);
        }
        if self.inside(&Spot::of(b)) {
            last = 1.0;
            first = first.min(1.0);
        }
        (first < last).then_some((first, last))
    }
}

/// Positive inside a ring: what the search for its greatest depth asks.
fn signed_m(ring: &[Path], q: &Spot) -> f64 {
    let mut best_sq = f64::INFINITY;
    let mut odd = false;
    for path in ring {
        path.nearest_sq(q, &mut best_sq);
        odd ^= path.encloses(q);
    }
    if odd { best_sq.sqrt() } else { -best_sq.sqrt() }
}

/// One box around all, starting where the widest stretch without any part ends.
fn joint_bounds(all: impl Iterator<Item = Bounds>) -> Bounds {
    let mut parts: Vec<Bounds> = all.collect();
    let south = parts.iter().map(|b| b.south).fold(90.0, f64::min);
    let north = parts.iter().map(|b| b.north).fold(-90.0, f64::max);
    parts.sort_by(|a, b| a.west.total_cmp(&b.west));
    // Going east, `reached` is how far the parts so far cover; a gap is what none covers.
    let reached_after_a_turn =
        parts.iter().map(|b| b.east - 360.0).fold(f64::NEG_INFINITY, f64::max);
    let (mut reached, mut widest, mut start) = (reached_after_a_turn, 0.0, None);
    for b in &parts {
        if b.west - reached > widest {
            (widest, start) = (b.west - reached, Some(b.west));
        }
        reached = reached.max(b.east);
    }
    match start {
        Some(west) => Bounds { south, north, west, east: west + 360.0 - widest },
        None => Bounds { south, north, west: -180.0, east: 180.0 },
    }
}

/// Metres east and north at the middle of a box.
pub(super) fn middle_frame(b: &Bounds) -> Frame {
    Frame::at(0.5 * (b.south + b.north))
}
