//! The truth: when a drive crosses the boundary of a shape.
//!
//! Always holds: it is found on the noise-free way against the real shape, by the geometry that
//! decides, and refined until the moment is sure; no crossing is missed that lasts longer than
//! [`GRAIN_M`] of way. Does not know: receivers, events.

use super::drive::{Drive, between};
use crate::logic::geometry::Shape;
use crate::logic::geometry::distance_m;
use crate::logic::zones::Layer;
use crate::units::{EventTime, Position, Span, ZoneKey};

/// Pieces of way that are not looked into: a centimetre.
const GRAIN_M: f64 = 0.01;
/// Distances to a boundary are trusted this far: they come from a plane, the ground is none.
const SLACK: f64 = 1.02;

/// A boundary truly crossed.
#[derive(Clone, PartialEq, Debug)]
pub struct Crossing {
    /// When.
    pub time: EventTime,
    /// Whether inwards.
    pub inside: bool,
    /// Where.
    pub place: Position,
}

/// The truth about one zone.
#[derive(Clone, PartialEq, Debug)]
pub struct Truth {
    /// Which zone.
    pub zone: ZoneKey,
    /// Whether the drive begins inside.
    pub begins_inside: bool,
    /// In order of time.
    pub crossings: Vec<Crossing>,
}

impl Truth {
    /// The truth about every zone of the layers, in their order.
    pub fn of<'a>(
        drive: &Drive,
        began: EventTime,
        layers: impl IntoIterator<Item = &'a Layer>,
    ) -> Vec<Self> {
        let zones =
            layers.into_iter().flat_map(|layer| layer.zones.iter().map(move |z| (layer, z)));
        let truths = zones.map(|(layer, zone)| Self {
            zone: ZoneKey { layer: layer.id.clone(), zone: zone.id.clone() },
            begins_inside: zone.shape.locate(drive.at(Span::ZERO)).inside,
            crossings: crossings(drive, began, &zone.shape),
        });
        truths.collect()
    }
}

/// Every crossing of a shape's boundary, in order of time.
pub fn crossings(drive: &Drive, began: EventTime, shape: &Shape) -> Vec<Crossing> {
    let mut found = Vec::new();
    for (a, b) in drive.legs() {
        let way_m = distance_m(a.place, b.place);
        if way_m == 0.0 {
            continue;
        }
        let leg = Leg { shape, a: a.place, b: b.place, way_m };
        leg.look(0.0, 1.0, &mut |share, inside| {
            let after = a.after + Span::from_secs_f64((b.after - a.after).secs_f64() * share);
            let place = between(a.place, b.place, share);
            found.push(Crossing { time: began + after, inside, place });
        });
    }
    found
}

/// A straight way against a shape.
struct Leg<'a> {
    shape: &'a Shape,
    a: Position,
    b: Position,
    way_m: f64,
}

impl Leg<'_> {
    fn inside(&self, share: f64) -> bool {
        self.shape.locate(between(self.a, self.b, share)).inside
    }

    /// Finds crossings between two shares of the way. A piece whose middle is farther from the
    /// boundary than its ends from the middle has none.
    fn look(&self, from: f64, to: f64, found: &mut impl FnMut(f64, bool)) {
        let middle = 0.5 * (from + to);
        let half_m = 0.5 * (to - from) * self.way_m;
        let located = self.shape.locate(between(self.a, self.b, middle));
        if located.distance_m.abs() > half_m * SLACK + GRAIN_M {
            return;
        }
        if half_m > GRAIN_M {
            self.look(from, middle, found);
            self.look(middle, to, found);
            return;
        }
        let (before, after) = (self.inside(from), self.inside(to));
        if before != after {
            found(self.moment(from, to, after), after);
        }
    }

    /// The moment, to the last bit: where `inside` becomes `after`.
    fn moment(&self, mut from: f64, mut to: f64, after: bool) -> f64 {
        for _ in 0..f64::MANTISSA_DIGITS {
            let middle = 0.5 * (from + to);
            if self.inside(middle) == after {
                to = middle;
            } else {
                from = middle;
            }
        }
        to
    }
}
