//! One fix and everything of one asset that it touches: a pair, its visit, its dwell, its pass.
//!
//! Always holds: what is the same for every zone is worked out once a fix.
//! Does not know: which zones there are.

use super::asset::{Happening, Limits, Pairs, What};
use super::bracket::Context;
use super::ground::{ActiveZone, Asked};
use super::machine::VoteRules;
use super::observe::Side;
use super::pair::{Measured, Seen};
use super::pass::PassTrack;
use super::table::{Begun, Place};
use crate::logic::config::Decide;
use crate::logic::geometry::Located;
use crate::units::{EventTime, Span};

/// One fix and all that is the same for every zone it touches.
pub(super) struct Turn<'a> {
    pub(super) decide: &'a Decide,
    pub(super) limits: Limits,
    pub(super) fix: Measured,
    pub(super) accuracy_m: f64,
    /// The longest silence since the fix before.
    pub(super) silence: Span,
    pub(super) context: Context<'a>,
    /// No path leads to this fix from the last.
    pub(super) displaced: bool,
}

/// What one fix gives.
pub(super) struct Outcome<'a> {
    pub(super) happenings: &'a mut Vec<Happening>,
    pub(super) begun: &'a mut Vec<Begun>,
    pub(super) initialised_outside: u32,
    pub(super) reversals: u32,
}

impl Turn<'_> {
    pub(super) fn rules(&self, (confirm, confirm_for): Asked) -> VoteRules {
        let fixed = self.decide.vote_timeout;
        VoteRules::new(confirm, confirm_for, fixed, self.limits.interval)
    }

    pub(super) fn seen(&self, zone: &ActiveZone, located: &Located) -> Seen {
        Seen {
            observation: zone.margins.observe(located, self.accuracy_m),
            distance_m: located.distance_m,
            inside: located.inside,
            before_m: None,
        }
    }

    /// Steps one pair and what hangs on it.
    pub(super) fn step(
        &self,
        pairs: &mut Pairs,
        place: Place,
        (ix, zone): (u32, &ActiveZone),
        out: &mut Outcome<'_>,
    ) {
        let shape = &zone.zone().shape;
        let mut seen = self.seen(zone, &shape.locate(self.fix.position));
        if pairs.table.was_inside(place).is_some_and(|was| was != seen.inside) {
            let before = self.fix.before.map(|before| shape.locate(before.position));
            seen.before_m = before.map(|located| located.distance_m);
        }
        let passes = zone.zone().rules.detect_pass;
        let before = passes.then(|| pairs.table.at(place));
        let rules = || self.rules(zone.asked());
        let stepped = pairs.table.step(rules, &self.context, place, &self.fix, &seen);
        out.begun.extend(stepped.begun);
        out.reversals += u32::from(stepped.reversed);
        match stepped.commit {
            Some(commit) if commit.first && !commit.side.is_inside() => {
                out.initialised_outside += 1;
            }
            Some(commit) => {
                let ended = pairs.visits.remove(&ix);
                out.happenings.push(Happening { zone: ix, what: What::Crossed(commit, ended) });
            }
            None => dwell(pairs, (ix, zone), self.fix.time, &seen, out.happenings),
        }
        if let Some(before) = before {
            let after = pairs.table.at(place);
            let track = pairs.passes.entry(ix).or_default();
            if self.displaced {
                *track = PassTrack::default();
                return;
            }
            let around = (&before, &after);
            if let Some(what) =
                track.step(shape, around, &self.context, (&self.fix, self.silence), &seen)
            {
                out.happenings.push(Happening { zone: ix, what });
            }
        }
    }
}

/// `fence_dwell`: by the first agreeing fix at or after the deadline, never while EXITING.
fn dwell(
    pairs: &mut Pairs,
    (ix, zone): (u32, &ActiveZone),
    now: EventTime,
    seen: &Seen,
    out: &mut Vec<Happening>,
) {
    let Some(dwell) = zone.zone().rules.dwell else { return };
    let Some(visit) = pairs.visits.get_mut(&ix) else { return };
    let agrees = seen.observation == Some(Side::Inside);
    let at = visit.dwell_from + dwell;
    if agrees && !visit.dwell_sent && now >= at {
        visit.dwell_sent = true;
        out.push(Happening { zone: ix, what: What::Dwelt { at, visit: visit.clone() } });
    }
}
