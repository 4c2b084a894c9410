//! How deep inside a shape a place can be: the distance at its pole of inaccessibility.
//!
//! Always holds: the answer is reached by some place of the shape and at most about 1 % short.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::bounds::Bounds;
use super::ground::wrap_deg;
use super::path::Spot;
use super::polygon::middle_frame;
use crate::units::Position;

/// The search ends when nothing can be better by more than this part.
const GOOD_ENOUGH: f64 = 0.01;
/// The search ends after so many places, whatever it has: long thin shapes converge slowly.
const PLACES_MAX: usize = 4_000;

/// A rectangle of places with the best that any of them can offer.
struct Cell {
    lat: f64,
    lon: f64,
    half_lat: f64,
    half_lon: f64,
    bound_m: f64,
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}
impl Eq for Cell {}
impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bound_m.total_cmp(&other.bound_m)
    }
}

/// The greatest depth of a shape within `bounds`; `depth_m` is positive inside.
pub(super) fn greatest_depth_m(bounds: Bounds, depth_m: &dyn Fn(&Spot) -> f64) -> f64 {
    let frame = middle_frame(&bounds);
    let mut best_m: f64 = 0.0;
    let mut asked = 0;
    let mut cells = BinaryHeap::new();
    let ask = |lat: f64, lon: f64, half_lat: f64, half_lon: f64, best_m: &mut f64| {
        let place =
            Position::new(lat.clamp(-90.0, 90.0), wrap_deg(lon)).expect("a place in the box");
        let here_m = depth_m(&Spot::of(place));
        *best_m = best_m.max(here_m);
        let corner_m = (half_lat * frame.north_m).hypot(half_lon * frame.east_m);
        Cell { lat, lon, half_lat, half_lon, bound_m: here_m + corner_m }
    };
    let (half_lat, half_lon) =
        (0.5 * (bounds.north - bounds.south), 0.5 * (bounds.east - bounds.west));
    let (lat, lon) = (bounds.south + half_lat, bounds.west + half_lon);
    cells.push(ask(lat, lon, half_lat, half_lon, &mut best_m));
    while let Some(cell) = cells.pop() {
        if cell.bound_m <= best_m * (1.0 + GOOD_ENOUGH) || asked > PLACES_MAX {
            break;
        }
        // Cut the longer side, so that cells become square on the ground.
        let tall = cell.half_lat * frame.north_m > cell.half_lon * frame.east_m;
        let (hy, hx) = if tall { (0.5, 1.0) } else { (1.0, 0.5) };
        let (half_lat, half_lon) = (cell.half_lat * hy, cell.half_lon * hx);
        for side in [-1.0, 1.0] {
            let lat = if tall { cell.lat + side * half_lat } else { cell.lat };
            let lon = if tall { cell.lon } else { cell.lon + side * half_lon };
            asked += 1;
            let half = ask(lat, lon, half_lat, half_lon, &mut best_m);
            if half.bound_m > best_m * (1.0 + GOOD_ENOUGH) {
                cells.push(half);
            }
        }
    }
    best_m
}
