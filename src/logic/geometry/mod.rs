//! Shapes on the ground: signed distance in metres, half-open membership, an index of many.
//!
//! Always holds: edges are straight in longitude/latitude (RFC 7946); a boundary point belongs to
//! exactly one of two neighbours, to the one that has it on its western or southern edge; the
//! index answers as the naive twin does (INV-6); a shape never changes.
//! Does not know: zones' names and rules, votes, time.
//!
//! | file | what |
//! |---|---|
//! | `ground` | WGS84: metres per degree, distance between places |
//! | `bounds` | a box of latitudes and longitudes |
//! | `pack` | boxes over runs of sixteen: the index of a path |
//! | `path` | a chain of vertices: which side, how far, where crossed |
//! | `polygon`, `circle`, `corridor` | the three shapes |
//! | `depth` | how deep inside a place can be |
//! | `check`, `sweep`, `nesting` | rings as drawn → rings that bound an area, or faults |
//! | `index` | which zones can be near |

mod bounds;
mod check;
mod circle;
mod corridor;
mod depth;
mod fault;
pub mod ground;
mod index;
mod nesting;
mod pack;
mod path;
mod polygon;
mod sweep;

#[cfg(test)]
mod tests;

pub use bounds::Bounds;
pub use check::{RING_VERTICES_MAX, RINGS_MAX};
pub use circle::{Circle, RADIUS_MAX_M};
pub use corridor::{Corridor, HALF_WIDTH_MAX_M};
pub use fault::{FaultKind, RingName, ShapeFault, Slip, SlipKind};
pub use ground::{distance_at_most_m, distance_m};
pub use index::Index;
#[cfg(test)]
pub use index::NaiveIndex;
pub use polygon::Polygons;

pub(crate) use path::{Path, TURN};

use crate::units::Position;

/// Where a place lies relative to a shape.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Located {
    /// The half-open test.
    pub inside: bool,
    /// Metres to the boundary, negative inside.
    pub distance_m: f64,
    /// The greatest depth of the hole of a polygon that the place lies in, if it does (OBS-1).
    pub hole_depth_m: Option<f64>,
}

/// A closed area on the ground. Immutable, cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// Polygons with holes, one or more parts.
    Polygons(Polygons),
    /// A circle.
    Circle(Circle),
    /// All within half a width of a line.
    Corridor(Corridor),
}

/// A shape and what was put right to get it.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawn {
    /// The shape.
    pub shape: Shape,
    /// Slips that were repaired.
    pub slips: Vec<Slip>,
}

impl Shape {
    /// Polygons: parts, each an outer ring and its holes, closed or not, wound either way.
    /// All faults are found, not only the first.
    pub fn polygons(parts: &[Vec<Vec<Position>>]) -> Result<Drawn, Vec<ShapeFault>> {
        let (rings, slips) = check::rings(parts)?;
        Ok(Drawn { shape: Self::Polygons(Polygons::new(rings)), slips })
    }

    /// A circle.
    pub fn circle(centre: Position, radius_m: f64) -> Result<Self, ShapeFault> {
        Circle::new(centre, radius_m).map(Self::Circle)
    }

    /// A corridor.
    pub fn corridor(line: &[Position], half_width_m: f64) -> Result<Drawn, ShapeFault> {
        let (line, slips) = check::line(line)?;
        let shape = Corridor::new(line, half_width_m).map(Self::Corridor)?;
        Ok(Drawn { shape, slips })
    }

    /// The box around it.
    pub fn bounds(&self) -> Bounds {
        match self {
            Self::Polygons(s) => s.bounds(),
            Self::Circle(s) => s.bounds(),
            Self::Corridor(s) => s.bounds(),
        }
    }

    /// Where a place lies.
    pub fn locate(&self, p: Position) -> Located {
        self.locate_within(p, f64::INFINITY).expect("nothing is out of an infinite reach")
    }

    /// Where a place lies, or `None` when it is outside by at least `reach_m`.
    pub fn locate_within(&self, p: Position, reach_m: f64) -> Option<Located> {
        match self {
            Self::Polygons(s) => s.locate_within(p, reach_m),
            Self::Circle(s) => Some(s.locate(p)).filter(|at| at.distance_m < reach_m),
            Self::Corridor(s) => s.locate_within(p, reach_m),
        }
    }

    /// How deep inside a place can be, at most about 1 % short. A search: not for every fix.
    pub fn greatest_depth_m(&self) -> f64 {
        match self {
            Self::Polygons(s) => s.greatest_depth_m(),
            Self::Circle(s) => s.radius_m(),
            Self::Corridor(s) => s.half_width_m(),
        }
    }

    /// Fractions of the straight way from `a` to `b` at which it first comes inside and last
    /// leaves; `None` when it never is inside.
    pub fn crossing(&self, a: Position, b: Position) -> Option<(f64, f64)> {
        match self {
            Self::Polygons(s) => s.crossing(a, b),
            Self::Circle(s) => s.crossing(a, b),
            Self::Corridor(s) => s.crossing(a, b),
        }
    }

    /// What the shape is called in events.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Polygons(_) => "polygon",
            Self::Circle(_) => "circle",
            Self::Corridor(_) => "corridor",
        }
    }

    /// How many vertices it has: what it costs.
    pub fn vertices(&self) -> usize {
        match self {
            Self::Polygons(s) => s.rings().iter().map(|r| r.path.vertices().len()).sum(),
            Self::Circle(_) => 1,
            Self::Corridor(s) => s.line().vertices().len(),
        }
    }
}
