//! What the server has in the end, held against the truth and against what the daemon knows.
//!
//! Always holds: every check has a bad story in the tests below that it refuses.
//! Does not know: how the events came about.

use std::collections::{BTreeMap, BTreeSet};

use super::drive::Passage;
use crate::edge::receiver::Received;
use crate::logic::event::{Certainty, Event, GapCause, Kind};
use crate::units::Span;

/// A moment that was named may lie this far from the truth: the way of two fixes at 5 Hz.
const MOMENT_TOLERANCE: Span = Span::from_millis(400);

/// Everything the checks look at.
#[derive(Clone, Debug)]
pub(super) struct Story {
    /// Each id once, in the order of arrival.
    pub(super) events: Vec<Event>,
    /// Arrivals whose id had been stored before.
    pub(super) duplicates: usize,
    /// The last number the store has given.
    pub(super) decided: u64,
    /// Events that the store still holds for the server.
    pub(super) waiting: u64,
    /// Where the daemon says the vehicle is.
    pub(super) inside: BTreeSet<String>,
    /// What was crossed in truth.
    pub(super) passed: Vec<Passage>,
}

/// One check: what holds, or what does not.
pub(super) type Check = Result<String, String>;

impl Story {
    /// Reads what was received; an event that is not of our shape is a fault of its own.
    pub(super) fn new(
        received: &[Received],
        (decided, waiting): (u64, u64),
        inside: BTreeSet<String>,
        passed: Vec<Passage>,
    ) -> Result<Self, String> {
        let fresh = received.iter().filter(|received| !received.duplicate);
        let events: Result<Vec<Event>, String> = fresh.map(|r| event_of(&r.event)).collect();
        let duplicates = received.iter().filter(|received| received.duplicate).count();
        Ok(Self { events: events?, duplicates, decided, waiting, inside, passed })
    }

    /// All checks, in the order they are told.
    pub(super) fn checks(&self) -> Vec<Check> {
        vec![self.numbers(), self.fold(), self.depot(), self.moments(), self.unseen()]
    }

    /// Every number from 1 to the store's last, once in effect, in order, of one stream.
    fn numbers(&self) -> Check {
        let seqs: Vec<u64> = self.events.iter().map(|event| event.seq).collect();
        let wanted: Vec<u64> = (1..=self.decided).collect();
        if seqs != wanted {
            return Err(format!("numbers 1 to {} were decided; arrived: {seqs:?}", self.decided));
        }
        if self.waiting > 0 {
            return Err(format!("{} events still wait in the store", self.waiting));
        }
        let streams: BTreeSet<&str> =
            self.events.iter().filter_map(|e| e.id.rsplit_once('-')).map(|(s, _)| s).collect();
        if streams.len() != 1 {
            return Err(format!("the ids are of {} streams instead of one", streams.len()));
        }
        let again = match self.duplicates {
            0 => "none came twice".to_owned(),
            1 => "1 came twice and was dropped by its id".to_owned(),
            n => format!("{n} came twice and were dropped by their ids"),
        };
        Ok(format!("numbers 1 to {} all arrived, in order; {again}", self.decided))
    }

    /// INV-1: a fold over `inside` needs nothing else.
    fn fold(&self) -> Check {
        let mut sides: BTreeMap<String, bool> = BTreeMap::new();
        for event in &self.events {
            let (Some(inside), Some(zone)) = (event.body.inside, zone_of(event)) else { continue };
            if sides.insert(zone.clone(), inside) == Some(inside) {
                return Err(format!("#{} says of {zone} what was known already", event.seq));
            }
        }
        let folded: BTreeSet<String> =
            sides.into_iter().filter(|(_, inside)| *inside).map(|(zone, _)| zone).collect();
        if folded != self.inside {
            let (folded, own) = (list(&folded), list(&self.inside));
            return Err(format!("folding `inside` gives {folded}, but the daemon says {own}"));
        }
        Ok(format!("folding `inside` over them gives {}, and so says the daemon", list(&folded)))
    }

    /// One entry, one exit, one visit, across the kill.
    fn depot(&self) -> Check {
        let of = |kind: Kind| {
            let own = self.events.iter();
            own.filter(move |e| e.kind == kind && zone_of(e).as_deref() == Some("depots/nord"))
        };
        let count = |kind| of(kind).count();
        let counts = (count(Kind::FenceEntry), count(Kind::FenceDwell), count(Kind::FenceExit));
        if counts != (1, 1, 1) {
            return Err(format!(
                "entries, dwells and exits of depots/nord are {counts:?}, not one"
            ));
        }
        let entry = of(Kind::FenceEntry).map(|event| &event.id).next();
        let mut visits = of(Kind::FenceDwell).chain(of(Kind::FenceExit));
        if !visits.all(|event| event.body.visit.as_ref() == entry) {
            return Err("dwell and exit of depots/nord are not of the visit of its entry".into());
        }
        Ok("one entry into depots/nord, none after the kill; dwell and exit are of its visit"
            .into())
    }

    /// BRK-3: every crossing was reported, and its truth lies within what was reported.
    fn moments(&self) -> Check {
        let mut worst = Span::ZERO;
        for Passage { boundary, at: truth } in &self.passed {
            let (zone, inwards) = (boundary.zone, boundary.inwards);
            let found = self.events.iter().find(|event| {
                zone_of(event).as_deref() == Some(zone) && event.body.inside == Some(inwards)
            });
            let way = if inwards { "into" } else { "out of" };
            let Some(event) = found else { return Err(format!("the way {way} {zone} is missing")) };
            let body = &event.body;
            let inside = body.not_before.is_some_and(|from| from <= *truth)
                && body.not_after.or(body.confirmed_at).is_some_and(|to| *truth <= to);
            if !inside {
                return Err(format!("#{} went {way} {zone} outside of its own bracket", event.seq));
            }
            if let (Some(at), Some(Certainty::Observed)) = (body.at, body.certainty) {
                worst = worst.max((at - *truth).abs());
            }
        }
        if worst > MOMENT_TOLERANCE {
            return Err(format!("a moment was named {:.2} s beside the truth", worst.secs_f64()));
        }
        Ok(format!(
            "{} true crossings, each within the bracket reported for it; moments right to {:.2} s",
            self.passed.len(),
            worst.secs_f64()
        ))
    }

    /// BRK-1, BRK-2: what nobody saw is not called observed.
    fn unseen(&self) -> Check {
        for event in &self.events {
            let (Some(certainty), Some(zone)) = (event.body.certainty, zone_of(event)) else {
                continue;
            };
            let unseen = zone == "customers/0815" && event.body.inside == Some(false);
            let gap = event.body.gap.as_ref().is_some_and(|gap| gap.cause == GapCause::Restart);
            let wanted = if unseen { Certainty::Inferred } else { Certainty::Observed };
            if certainty != wanted || gap != unseen {
                return Err(format!("#{} of {zone} is {certainty:?}, gap {gap}", event.seq));
            }
        }
        Ok("the exit that nobody saw is called inferred and names its gap; all others observed"
            .into())
    }
}

/// The flat record inside a CloudEvent.
pub(super) fn event_of(envelope: &serde_json::Value) -> Result<Event, String> {
    serde_json::from_value(envelope["data"].clone())
        .map_err(|error| format!("the server got what is no event: {error}"))
}

/// `layer/zone`.
pub(super) fn zone_of(event: &Event) -> Option<String> {
    Some(format!("{}/{}", event.body.layer.as_ref()?, event.body.zone.as_ref()?))
}

fn list(zones: &BTreeSet<String>) -> String {
    if zones.is_empty() {
        return "no zone".to_owned();
    }
    zones.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
