//! `asset_reconciled`: once per asset per start, what was believed and what the first fixes made
//! of it.
//!
//! Always holds: sent when nothing is in doubt any more after a full confirmation, or after
//! [`RECONCILE_MAX`], whichever comes first. Does not know: how anything was decided.

use crate::logic::crossing::asset::AssetCrossing;
use crate::logic::event::{Certainty, Reconciled};
use crate::units::{EventTime, Span, ZoneKey};

use super::Ground;

/// A first evaluation may wait 60 s on Unsure fixes (PAIR-6); half as much again is late.
const RECONCILE_MAX: Span = Span::from_secs(90);

/// The tally of one asset since this start.
#[derive(Debug)]
pub(super) struct Reconcile {
    believed: Vec<ZoneKey>,
    first: Option<EventTime>,
    fixes: u32,
    silence: Option<Span>,
    inferred: u32,
    uncertain: u32,
    initialised_inside: u32,
}

impl Reconcile {
    /// Begins with what is believed before the first fix.
    pub(super) fn new(ground: &Ground, crossing: &AssetCrossing) -> Self {
        Self {
            believed: crossing.pairs.visits.keys().map(|ix| ground.zone(*ix).key.clone()).collect(),
            first: None,
            fixes: 0,
            silence: None,
            inferred: 0,
            uncertain: 0,
            initialised_inside: 0,
        }
    }

    /// One usable fix of this start; `last_seen` is from before it.
    pub(super) fn fix(&mut self, time: EventTime, last_seen: Option<EventTime>) {
        self.fixes += 1;
        if self.first.is_none() {
            self.first = Some(time);
            self.silence = last_seen.map(|last| time - last);
        }
    }

    /// A membership was decided.
    pub(super) fn crossed(&mut self, first: bool, certainty: Certainty) {
        match (first, certainty) {
            (true, _) => self.initialised_inside += 1,
            (false, Certainty::Inferred) => self.inferred += 1,
            (false, Certainty::Uncertain) => self.uncertain += 1,
            (false, Certainty::Observed) => {}
        }
    }

    /// The record, once there is nothing left to wait for.
    pub(super) fn done(
        &self,
        crossing: &AssetCrossing,
        confirm: u8,
        confirm_for: Span,
        now: EventTime,
    ) -> Option<Reconciled> {
        let since = now - self.first?;
        let heard = self.fixes >= u32::from(confirm) && since >= confirm_for;
        if since < RECONCILE_MAX && !(heard && crossing.is_settled(now)) {
            return None;
        }
        Some(Reconciled {
            silence_s: self.silence.map(|silence| silence.secs_f64().max(0.0)),
            believed_inside: self.believed.iter().map(ToString::to_string).collect(),
            inferred: self.inferred,
            uncertain: self.uncertain,
            initialised_inside: self.initialised_inside,
            initialised_outside: crossing.initialised_outside,
        })
    }
}
