//! Whether holes lie in their part and parts beside each other.
//!
//! Always holds: asked only of rings that neither cross nor run along each other, so one place
//! of a ring off the other's boundary speaks for all of it.

use super::check::{Draft, place};
use super::fault::{FaultKind, ShapeFault};
use super::path::{Path, Spot};

/// A place nearer than this to a ring may lie on it: 0.1 mm, squared.
const ON_RING_SQ_M: f64 = 1e-8;

/// Adds a fault for every hole or part that lies where it must not.
pub(super) fn check(drafts: &[Draft], paths: &[Path], faults: &mut Vec<ShapeFault>) {
    let within = |i: usize, k: usize| lies_within(&drafts[i], &paths[i], &paths[k]);
    for (i, inner) in drafts.iter().enumerate() {
        let name = inner.name;
        let hole = name.ring > 0;
        let shell = drafts.iter().position(|d| d.name.part == name.part);
        if hole && !shell.is_some_and(|shell| within(i, shell)) {
            faults.push(FaultKind::HoleOutside.of_ring(name));
            continue;
        }
        for (k, outer) in drafts.iter().enumerate() {
            let other = outer.name;
            if i == k || (other.ring > 0) != hole || (hole && other.part != name.part) {
                continue;
            }
            if !within(i, k) {
                continue;
            }
            if hole {
                faults.push(FaultKind::HoleInHole { ring: other }.of_ring(name));
            } else if !holes_of(drafts, k).any(|h| within(i, h)) {
                faults.push(FaultKind::PartInPart { part: other.part }.of_ring(name));
            }
        }
    }
}

/// The holes of the part whose outer ring is `shell`: they follow it.
fn holes_of(drafts: &[Draft], shell: usize) -> impl Iterator<Item = usize> + '_ {
    let part = drafts[shell].name.part;
    (shell + 1..drafts.len()).take_while(move |&i| drafts[i].name.part == part)
}

/// Whether a ring lies within another: by its first vertex, or middle of an edge, that is off
/// the other's boundary.
fn lies_within(draft: &Draft, inner: &Path, outer: &Path) -> bool {
    if !inner.box_touches(outer) {
        return false;
    }
    let points = || draft.points.iter().map(|p| p.map(|v| v as f64));
    let middles = (0..draft.points.len()).map(|i| {
        let (a, b) = (draft.points[i], draft.points[draft.next(i)]);
        [0, 1].map(|axis| 0.5 * (a[axis] + b[axis]) as f64)
    });
    let spots = points().chain(middles).filter_map(place).map(Spot::of);
    let off_ring = |q: &Spot| {
        let mut best_sq = f64::INFINITY;
        outer.nearest_sq(q, &mut best_sq);
        best_sq > ON_RING_SQ_M
    };
    let mut off = spots.filter(off_ring);
    off.next().is_some_and(|q| outer.encloses(&q))
}
