//! GeoJSON to a checked [`Layer`], and fingerprints.
//!
//! Always holds: a `Layer` that exists passed every check (INV-8); foreign bytes give a layer or
//! the list of all their faults, never a panic.
//! Does not know: files, signatures, which layer is active.

use serde_json::{Map, Value};

use crate::logic::geometry::Shape;
use crate::units::{EventTime, LayerId, Span, ZoneId};

mod coordinates;
mod fault;
mod feature;
mod fingerprint;
mod read;

#[cfg(test)]
mod tests;

pub use fault::{Fault, Place, Repair};
pub use fingerprint::{Fingerprint, FingerprintError};
pub use read::{
    Checked, FAULTS_MAX, LAYER_BYTES_MAX, LAYER_VERTICES_MAX, VERSION_MAX, ZONES_MAX, parse_layer,
};

/// A named, versioned set of zones, checked.
#[derive(Clone, PartialEq, Debug)]
pub struct Layer {
    /// Its name.
    pub id: LayerId,
    /// Its version; only grows.
    pub version: u64,
    /// When it was drawn, as it says itself.
    pub created: Option<EventTime>,
    /// The zones in the order of the file.
    pub zones: Vec<Zone>,
}

/// A closed area on the ground and what holds for it.
#[derive(Clone, PartialEq, Debug)]
pub struct Zone {
    /// Its id in the layer.
    pub id: ZoneId,
    /// A name for people.
    pub name: Option<String>,
    /// Where it is.
    pub shape: Shape,
    /// What its shape is known by (LAY-1).
    pub fingerprint: Fingerprint,
    /// What it asks for other than the configured rules.
    pub rules: ZoneRules,
    /// Passed into its events untouched.
    pub tags: Map<String, Value>,
}

/// A zone's own rules; what is `None` is as configured in `[decide]`.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ZoneRules {
    /// How far inside an inside vote must be, metres.
    pub enter_margin_m: Option<f64>,
    /// How far outside an outside vote must be beyond twice the accuracy, metres.
    pub exit_margin_m: Option<f64>,
    /// Agreeing fixes needed, 1..=31.
    pub confirm: Option<u8>,
    /// Which must span this long.
    pub confirm_for: Option<Span>,
    /// Report a visit that lasts this long.
    pub dwell: Option<Span>,
    /// Report passages between two fixes.
    pub detect_pass: bool,
}
