//! A box of latitudes and longitudes that may reach over ±180°.
//!
//! Always holds: `south ≤ north`, `west ≤ east ≤ west + 360`; `east` may pass 180.

use super::ground::{DEGREE_EAST_EQUATOR_M, DEGREE_NORTH_MIN_M, wrap_deg};
use crate::units::Position;

/// A box in degrees. It contains all it encloses, boundary included.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    /// Least latitude.
    pub south: f64,
    /// Greatest latitude.
    pub north: f64,
    /// Where it begins, going east.
    pub west: f64,
    /// Where it ends, going east; past 180 when it reaches over the antimeridian.
    pub east: f64,
}

/// Boxes are padded by this much for what rounding may take away: a micrometre.
const PAD_DEG: f64 = 1e-11;

impl Bounds {
    /// The box that holds every place within `reach_m` of `p`.
    pub fn around(p: Position, reach_m: f64) -> Self {
        let (lat, lon) = (p.lat_deg(), p.lon_deg());
        Self { south: lat, north: lat, west: lon, east: lon }.expanded(reach_m)
    }

    /// The box around the straight way from `a` to `b`, the short way round.
    pub fn spanning(a: Position, b: Position) -> Self {
        let step = wrap_deg(b.lon_deg() - a.lon_deg());
        let west = a.lon_deg() + step.min(0.0);
        let turn = if west < -180.0 { 360.0 } else { 0.0 };
        Self {
            south: a.lat_deg().min(b.lat_deg()),
            north: a.lat_deg().max(b.lat_deg()),
            west: west + turn,
            east: west + turn + step.abs(),
        }
    }

    /// This box grown on all sides so that it holds every place within `reach_m` of it.
    #[must_use]
    pub fn expanded(self, reach_m: f64) -> Self {
        let up_deg = reach_m / DEGREE_NORTH_MIN_M + PAD_DEG;
        let (south, north) = ((self.south - up_deg).max(-90.0), (self.north + up_deg).min(90.0));
        let cos = south.abs().max(north.abs()).to_radians().cos().max(1e-9);
        let side_deg = reach_m / (DEGREE_EAST_EQUATOR_M * cos) + PAD_DEG;
        let (west, east) = (self.west - side_deg, self.east + side_deg);
        if east - west >= 360.0 {
            return Self { south, north, west: -180.0, east: 180.0 };
        }
        let turn = if west < -180.0 { 360.0 } else { 0.0 };
        Self { south, north, west: west + turn, east: east + turn }
    }

    /// Whether `p` lies in the box.
    pub fn contains(&self, p: Position) -> bool {
        let (lat, lon) = (p.lat_deg(), p.lon_deg());
        self.touches(&Self { south: lat, north: lat, west: lon, east: lon })
    }

    /// Whether the two boxes have a place in common.
    pub fn touches(&self, other: &Self) -> bool {
        let lat = self.south <= other.north && other.south <= self.north;
        let lon = [-360.0, 0.0, 360.0]
            .into_iter()
            .any(|turn| self.west <= other.east + turn && other.west + turn <= self.east);
        lat && lon
    }
}
