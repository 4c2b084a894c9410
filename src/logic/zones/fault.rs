//! What refuses a layer, and what was put right: each one line that says where, what, and what
//! would be right.

use std::fmt;

use crate::logic::geometry::{FaultKind, RingName, ShapeFault, Slip};
use crate::units::Position;

/// Where in a layer. Numbers count from 0, as in the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// The feature, by its number in `features`.
    pub feature: Option<usize>,
    /// Its id, where it has one.
    pub zone: Option<String>,
    /// The ring of its geometry.
    pub ring: Option<RingName>,
    /// The vertex there.
    pub vertex: Option<usize>,
    /// The coordinates there: longitude, latitude.
    pub at: Option<[f64; 2]>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        if let Some(feature) = self.feature {
            write!(f, "feature {feature}")?;
            comma = ", ";
        }
        if let Some(zone) = &self.zone {
            write!(f, " \"{}\"", zone.escape_debug())?;
        }
        if let Some(ring) = self.ring {
            write!(f, "{comma}{ring}")?;
        }
        if let Some(vertex) = self.vertex {
            write!(f, ", vertex {vertex}")?;
        }
        if let Some([lon, lat]) = self.at {
            write!(f, " at {lon}, {lat}")?;
        }
        Ok(())
    }
}

/// One thing wrong with a layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Where.
    pub place: Place,
    /// What is wrong and what would be right.
    pub reason: String,
}

impl Fault {
    /// A fault of the layer as a whole.
    pub(super) fn of_layer(reason: impl Into<String>) -> Self {
        Self { place: Place::default(), reason: reason.into() }
    }

    /// A fault of a shape, in a feature.
    pub(super) fn of_shape(feature: Place, fault: &ShapeFault) -> Self {
        let degrees = |p: Position| [p.lon_deg(), p.lat_deg()].map(round_e7);
        let (ring, vertex, at) = (fault.ring, fault.vertex, fault.at.map(degrees));
        Self { place: Place { ring, vertex, at, ..feature }, reason: fault.kind.to_string() }
    }
}

/// Enough digits to find the place again.
fn round_e7(deg: f64) -> f64 {
    (deg * 1e7).round() / 1e7
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, &self.place, &self.reason)
    }
}

impl std::error::Error for Fault {}

/// One thing put right, or worth knowing.
#[derive(Clone, PartialEq, Debug)]
pub struct Repair {
    /// Where.
    pub place: Place,
    /// What was wrong and what was done.
    pub what: String,
}

impl Repair {
    /// A slip of a shape, in a feature.
    pub(super) fn of_shape(feature: Place, slip: &Slip) -> Self {
        let times = if slip.times > 1 { format!(" ({} times)", slip.times) } else { String::new() };
        let what = format!("{}{times}", slip.kind);
        Self { place: Place { ring: Some(slip.ring), ..feature }, what }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        line(f, &self.place, &self.what)
    }
}

fn line(f: &mut fmt::Formatter<'_>, place: &Place, what: &str) -> fmt::Result {
    if *place != Place::default() {
        write!(f, "{place}: ")?;
    }
    f.write_str(what)
}

/// The fault for a shape that has more than its share.
pub(super) fn too_many(found: usize, what: &'static str, limit: usize) -> String {
    FaultKind::TooMany { found, what, limit }.to_string()
}
