//! The ground: WGS84, metres per degree at a place, and the distance between two places.
//!
//! Always holds: longitude differences are taken the short way round, so nothing here knows a
//! seam at ±180°. Does not know: shapes.

use crate::units::Position;

/// Equatorial radius of WGS84 in metres (NGA.STND.0036, table 3.1).
const EQUATOR_RADIUS_M: f64 = 6_378_137.0;
/// Flattening of WGS84 (same table).
const FLATTENING: f64 = 1.0 / 298.257_223_563;
/// First eccentricity squared, f (2 − f).
const ECCENTRICITY_SQ: f64 = FLATTENING * (2.0 - FLATTENING);
/// Mean radius in metres, (2a + b) / 3: turns a chord into an arc.
const MEAN_RADIUS_M: f64 = EQUATOR_RADIUS_M * (1.0 - FLATTENING / 3.0);

/// Fewest metres in a degree of latitude anywhere, at the equator: a (1 − e²) π/180.
pub const DEGREE_NORTH_MIN_M: f64 = 110_574.27;
/// Metres in a degree of longitude on the equator: a π/180.
pub const DEGREE_EAST_EQUATOR_M: f64 = 111_319.49;

/// The plane that touches the ground at one latitude.
///
/// Sub-centimetre within 500 m of the place it was made for; straight in longitude/latitude is
/// straight in it, so distances to straight edges need no more than it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frame {
    /// Metres in a degree of longitude.
    pub east_m: f64,
    /// Metres in a degree of latitude.
    pub north_m: f64,
}

impl Frame {
    /// The frame at a latitude, from the radii of curvature of WGS84: along the meridian
    /// M = a (1 − e²) / W³ and across it N = a / W, with W = √(1 − e² sin²φ)
    /// (Snyder, Map Projections, USGS PP 1395, eq. 4-18 to 4-21).
    pub fn at(lat_deg: f64) -> Self {
        let (sin, cos) = lat_deg.to_radians().sin_cos();
        let w_sq = 1.0 - ECCENTRICITY_SQ * sin * sin;
        let across_m = EQUATOR_RADIUS_M / w_sq.sqrt();
        let along_m = across_m * (1.0 - ECCENTRICITY_SQ) / w_sq;
        let per_degree = std::f64::consts::PI / 180.0;
        Self { east_m: across_m * cos.max(0.0) * per_degree, north_m: along_m * per_degree }
    }

    /// Metres east and north from one place to another.
    pub fn offset_m(self, from: Position, to: Position) -> (f64, f64) {
        let east = wrap_deg(to.lon_deg() - from.lon_deg()) * self.east_m;
        (east, (to.lat_deg() - from.lat_deg()) * self.north_m)
    }
}

/// A difference of longitudes the short way round: in [−180, 180).
pub fn wrap_deg(difference_deg: f64) -> f64 {
    if (-180.0..180.0).contains(&difference_deg) {
        return difference_deg;
    }
    (difference_deg + 180.0).rem_euclid(360.0) - 180.0
}

/// A place in metres from the centre of the Earth, on the ellipsoid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Centric([f64; 3]);

impl Centric {
    /// Geodetic to geocentric (EPSG method 9602) at height zero.
    pub(crate) fn of(p: Position) -> Self {
        let (sin_lat, cos_lat) = p.lat_deg().to_radians().sin_cos();
        let (sin_lon, cos_lon) = p.lon_deg().to_radians().sin_cos();
        let across_m = EQUATOR_RADIUS_M / (1.0 - ECCENTRICITY_SQ * sin_lat * sin_lat).sqrt();
        let z = across_m * (1.0 - ECCENTRICITY_SQ) * sin_lat;
        Self([across_m * cos_lat * cos_lon, across_m * cos_lat * sin_lon, z])
    }

    /// Along the ground: the chord, bent to the mean radius. Millimetres at 100 km, within 0.6 %
    /// anywhere, and without a special case at the poles or at ±180°.
    pub(crate) fn distance_m(self, other: Self) -> f64 {
        let [dx, dy, dz] = [0, 1, 2].map(|i| self.0[i] - other.0[i]);
        let half_chord_m = 0.5 * (dx * dx + dy * dy + dz * dz).sqrt();
        let sine = (half_chord_m / MEAN_RADIUS_M).min(1.0);
        2.0 * MEAN_RADIUS_M * sine.asin()
    }
}

/// Most metres in a degree of latitude anywhere, at the poles: a² / b π/180.
const DEGREE_NORTH_MAX_M: f64 = 111_693.98;

/// Metres that [`distance_m`] of two places does not exceed, for a small part of its price: the way
/// along a meridian and a parallel, a degree taken at its longest, and 1 % for its chord.
pub fn distance_at_most_m(a: Position, b: Position) -> f64 {
    let north_m = (b.lat_deg() - a.lat_deg()).abs() * DEGREE_NORTH_MAX_M;
    let east_m = wrap_deg(b.lon_deg() - a.lon_deg()).abs() * DEGREE_EAST_EQUATOR_M;
    1.01 * (north_m + east_m)
}

/// Metres along the ground between two places.
pub fn distance_m(a: Position, b: Position) -> f64 {
    Centric::of(a).distance_m(Centric::of(b))
}
