//! One fix and everything of one asset that it touches: a pair, its visit, its dwell, its pass.
//!
//! Always holds: what is the same for every zone is worked out once a fix.
//! Does not know: which zones there are.

use super::asset::{Happening, Heard, Limits, Live, Remembered, What};
use super::bracket::Context;
use super::first;
use super::ground::ActiveZone;
use super::machine::{self, VoteRules};
use super::observe::Side;
use super::pair::{Seen, Silence};
use super::pass::PassTrack;
use crate::logic::config::Decide;
use crate::logic::geometry::Located;

/// One fix and all that is the same for every zone it touches.
pub(super) struct Turn<'a> {
    pub(super) decide: &'a Decide,
    pub(super) limits: Limits,
    pub(super) fix: Heard,
    pub(super) silence: Silence,
    pub(super) context: Context,
    /// No path leads to this fix from the last.
    pub(super) displaced: bool,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        decide: &'a Decide,
        limits: Limits,
        fix: Heard,
        remembered: &Remembered,
    ) -> Self {
        Self {
            decide,
            limits,
            fix,
            silence: remembered.unheard.unwrap_or(Silence::none_at(fix.time)),
            context: Context {
                silence_limit: limits.silence,
                infer_limit: decide.infer_limit.unwrap_or(limits.silence),
                restarted_after: remembered.restarts.last().map(|restart| restart.after),
            },
            displaced: false,
        }
    }

    /// u.
    pub(super) fn clear_m(&self) -> f64 {
        2.0 * self.fix.accuracy_m
    }

    pub(super) fn rules(&self, (confirm, confirm_for): first::Asked) -> VoteRules {
        let fixed = self.decide.vote_timeout;
        VoteRules::new(confirm, confirm_for, fixed, self.limits.interval)
    }

    pub(super) fn seen(&self, zone: &ActiveZone, located: &Located) -> Seen {
        Seen {
            time: self.fix.time,
            position: self.fix.position,
            observation: zone.margins.observe(located, self.fix.accuracy_m),
            distance_m: located.distance_m,
            inside: located.inside,
            clear_m: self.clear_m(),
            silence: self.silence,
        }
    }

    /// Steps one pair and what hangs on it.
    pub(super) fn step(
        &self,
        live: &mut Live,
        zone: &ActiveZone,
        located: &Located,
        initialised_outside: &mut u32,
        out: &mut Vec<Happening>,
    ) {
        let seen = self.seen(zone, located);
        let rules = self.rules((zone.confirm, zone.confirm_for));
        let before = live.pair;
        let (pair, commit) = machine::step(&rules, &self.context, before, &seen);
        live.pair = pair;
        live.dirty = true;
        if let Some(commit) = commit {
            if commit.first && !commit.side.is_inside() {
                *initialised_outside += 1;
            } else {
                let ended = live.visit.take();
                let what = What::Crossed(commit, ended);
                out.push(Happening { zone: live.zone, what });
            }
        } else {
            dwell(live, zone, &seen, out);
        }
        if zone.zone().rules.detect_pass {
            let track = live.pass.get_or_insert_default();
            if self.displaced {
                *track = PassTrack::default();
                return;
            }
            let shape = &zone.zone().shape;
            if let Some(what) = track.step(shape, &before, &live.pair, &self.context, &seen) {
                out.push(Happening { zone: live.zone, what });
            }
        }
    }
}

/// `fence_dwell`: by the first agreeing fix at or after the deadline, never while EXITING.
fn dwell(live: &mut Live, zone: &ActiveZone, seen: &Seen, out: &mut Vec<Happening>) {
    let (Some(dwell), Some(visit)) = (zone.zone().rules.dwell, &mut live.visit) else { return };
    let agrees = seen.observation == Some(Side::Inside);
    let at = visit.dwell_from + dwell;
    if agrees && !visit.dwell_sent && seen.time >= at {
        visit.dwell_sent = true;
        out.push(Happening { zone: live.zone, what: What::Dwelt { at, visit: visit.clone() } });
    }
}
