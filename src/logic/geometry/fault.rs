//! What can be wrong with a drawn shape, and what was put right.
//!
//! Always holds: a fault says where, what, and what would be right.

use std::fmt;

use crate::units::Position;

/// What refuses a shape.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// Not a usable radius.
    #[error("the radius must be more than 0 and at most {max_m} m")]
    Radius {
        /// The limit.
        max_m: f64,
    },
    /// Not a usable width.
    #[error("the width must be more than 0 and at most {} m", 2.0 * max_m)]
    HalfWidth {
        /// The limit.
        max_m: f64,
    },
    /// No polygon at all, or a polygon without a ring.
    #[error("has no ring; a polygon needs an outer ring")]
    NoRing,
    /// Not enough different points.
    #[error("has {found} different points; it needs at least {needed}")]
    TooFewPoints {
        /// How many there are.
        found: usize,
        /// How many there must be.
        needed: usize,
    },
    /// Bounds nothing.
    #[error("encloses no area; its points lie on one line")]
    NoArea,
    /// More than the bound.
    #[error("has {found} {what}; the limit is {limit}: simplify it or cut it in parts")]
    TooMany {
        /// How many there are.
        found: usize,
        /// Of what.
        what: &'static str,
        /// How many there may be.
        limit: usize,
    },
    /// Does not close after unwrapping.
    #[error(
        "goes round a pole; cut it in two halves at longitudes 0 and 180, or add the corners at latitude ±90"
    )]
    RoundPole,
    /// Unwrapped, more than a turn.
    #[error("spans more than 360° of longitude; cut it in parts")]
    OverATurn,
    /// Two edges cross.
    #[error(
        "the edge from this vertex crosses the edge from vertex {vertex} of {ring}; the boundary must not cross itself"
    )]
    Crosses {
        /// The other edge's ring.
        ring: RingName,
        /// The other edge's first vertex.
        vertex: usize,
    },
    /// Two edges run along each other.
    #[error(
        "the edge from this vertex runs along the edge from vertex {vertex} of {ring}; remove the doubled stretch"
    )]
    Overlaps {
        /// The other edge's ring.
        ring: RingName,
        /// The other edge's first vertex.
        vertex: usize,
    },
    /// A hole that is not in its part.
    #[error("is a hole that lies outside its outer ring; make it a part of its own or remove it")]
    HoleOutside,
    /// A hole within a hole.
    #[error("is a hole that lies in hole {ring}; remove one, or make it a part of its own")]
    HoleInHole {
        /// The enclosing hole.
        ring: RingName,
    },
    /// A part within another.
    #[error("lies within part {part}; remove one of the two")]
    PartInPart {
        /// The enclosing part.
        part: usize,
    },
}

/// A ring by its part and number; ring 0 is the outer one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RingName {
    /// Which polygon of the zone.
    pub part: usize,
    /// Which ring of it.
    pub ring: usize,
}

impl fmt::Display for RingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "part {}, ring {}", self.part, self.ring)
    }
}

impl FaultKind {
    /// A fault of the whole shape.
    pub(crate) fn nowhere(self) -> ShapeFault {
        ShapeFault { ring: None, vertex: None, at: None, kind: self }
    }

    /// A fault of a ring.
    pub(crate) fn of_ring(self, ring: RingName) -> ShapeFault {
        ShapeFault { ring: Some(ring), vertex: None, at: None, kind: self }
    }
}

/// One fault of a shape and where it is. Numbers are those of the input.
#[derive(Clone, PartialEq, Debug)]
pub struct ShapeFault {
    /// The ring.
    pub ring: Option<RingName>,
    /// The vertex there.
    pub vertex: Option<usize>,
    /// The place.
    pub at: Option<Position>,
    /// What is wrong.
    pub kind: FaultKind,
}

impl fmt::Display for ShapeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ring) = self.ring {
            write!(f, "{ring}")?;
            if let Some(vertex) = self.vertex {
                write!(f, ", vertex {vertex}")?;
            }
            if let Some(at) = self.at {
                write!(f, " at {}, {}", round_e7(at.lon_deg()), round_e7(at.lat_deg()))?;
            }
            f.write_str(": ")?;
        }
        write!(f, "{}", self.kind)
    }
}

/// Enough digits to find the place again.
fn round_e7(deg: f64) -> f64 {
    (deg * 1e7).round() / 1e7
}

impl std::error::Error for ShapeFault {}

/// What was put right in a ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub enum SlipKind {
    /// The last point is not the first.
    #[error("was not closed; closed it")]
    Unclosed,
    /// The same point again.
    #[error("repeated a point; took it once")]
    Repeated,
    /// Out and back along one line.
    #[error("ran out and back along one line; took the spike off")]
    Spike,
    /// Wound the other way than RFC 7946 asks.
    #[error("was wound the wrong way; turned it round")]
    Winding,
    /// Touches itself or another ring in a point: taken as drawn.
    #[error("touches itself or another ring in a point; taken as drawn")]
    Touch,
    /// Two parts side by side: taken as one zone.
    #[error("shares an edge with another part; taken as one zone")]
    SharedEdge,
}

/// A slip that was repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slip {
    /// The ring.
    pub ring: RingName,
    /// What was put right.
    pub kind: SlipKind,
    /// How often there.
    pub times: usize,
}

impl fmt::Display for Slip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.ring, self.kind)?;
        if self.times > 1 {
            write!(f, " ({} times)", self.times)?;
        }
        Ok(())
    }
}
