//! ORD-4 in the pipeline: whose fixes enter an asset's order.
//!
//! Always holds: an asset of one source asks nobody. Does not know: how the voter is chosen.

use super::Engine;
use super::intake::{Carried, Trusting, UNRANKED};
use crate::logic::gnss::trust::Timed;
use crate::logic::gnss::voting::{Usable, Vote, Voting};
use crate::logic::gnss::{FixQuality, Reject};
use crate::units::{BootTime, EventTime};

impl Engine {
    /// A second source speaks of an asset.
    pub(super) fn begin_vote(&mut self, asset: usize, now: BootTime) {
        let own = &self.assets[asset];
        let ranked = |line: &super::asset::Line| self.setup.sources[line.source].rank != UNRANKED;
        if own.voting.is_some() || !own.lines.iter().all(ranked) {
            return;
        }
        let source = own.lines[0].source;
        let heard = own.last.is_some() || !own.heap.is_empty();
        let last = own.last.filter(|_| own.heap.is_empty());
        let at = last.map_or(now, |(fix, at)| self.vote_time(source, fix.time, at));
        let first = Voting::of_one(self.usable_of(asset, source, at), heard, own.gate.gaps());
        self.assets[asset].voting = Some(Box::new(first));
    }

    /// Whether a fix whose time is settled may wait in order: gives its step number, or why not.
    pub(super) fn admit(&mut self, asset: usize, timed: &Timed<Carried>) -> Result<u32, Reject> {
        let carried = &timed.payload;
        let source = usize::from(carried.source);
        let limit = self.assets[asset].gate.silence_limit(&self.gate_rules(source));
        let Some(voting) = self.assets[asset].voting.as_deref() else { return Ok(timed.step) };
        let step = self.assets[asset].clock.step();
        if voting.voter() == carried.source {
            return Ok(step);
        }
        let accurate =
            carried.accuracy_m > 0.0 && carried.accuracy_m <= self.setup.decide.max_accuracy_m;
        if !accurate {
            return Err(Reject::Accuracy);
        }
        if carried.quality != FixQuality::Measured {
            return Err(Reject::Standby);
        }
        let fix = self.usable_of(asset, source, self.vote_time(source, timed.time, timed.at));
        let own = &mut self.assets[asset];
        let Some(voting) = own.voting.as_deref_mut() else { return Ok(step) };
        match voting.admit(fix, limit) {
            Vote::Votes => {}
            Vote::Standby => return Err(Reject::Standby),
            Vote::TakesOver { step } => {
                self.counters.takeovers += 1;
                if step {
                    own.clock.begin_step();
                }
            }
        }
        Ok(own.clock.step())
    }

    /// What a fix of the voter came to says that its source lives.
    pub(super) fn renew_vote(&mut self, asset: usize, source: u16, time: EventTime, at: BootTime) {
        if self.assets[asset].voting.is_none() {
            return;
        }
        let source = usize::from(source);
        let fix = self.usable_of(asset, source, self.vote_time(source, time, at));
        let limit = self.assets[asset].gate.silence_limit(&self.gate_rules(source));
        if let Some(voting) = self.assets[asset].voting.as_deref_mut() {
            voting.judged_usable(fix, limit);
        }
    }

    /// In a trusted feed event time is arrival time (TIME-3).
    fn vote_time(&self, source: usize, time: EventTime, at: BootTime) -> BootTime {
        match self.setup.sources[source].trusting {
            Trusting::Fixes => BootTime::from_nanos(time.nanos()),
            Trusting::Serial | Trusting::Network => at,
        }
    }

    fn usable_of(&self, asset: usize, source: usize, at: BootTime) -> Usable {
        let setup = &self.setup.sources[source];
        let line = self.assets[asset].lines.iter().find(|line| line.source == source);
        Usable {
            source: source as u16,
            rank: setup.rank,
            at,
            declared: setup.interval,
            window: setup.window,
            offset: line.and_then(|line| line.trust.offset()),
        }
    }
}
