//! What a receiver sends in one cycle, learned: an epoch can end with its last sentence, and a
//! pause need not be waited for longer than this receiver pauses inside a cycle.
//!
//! Always holds: what is learned decides when an epoch is given out and never what is of it; a
//! guess that proves wrong (more came behind the end) is dropped, and the next one needs twice
//! the proof, so that a cycle which never repeats costs a handful of guesses in all.
//! Does not know: what sentences say.
//!
//! Counted is only what tells something of a measurement. GSV and its like are not: they may
//! come behind the end. Of GSA and VTG the first counts, for receivers send one per constellation
//! in use. Order does not count.

use super::QUIET;
use crate::units::Span;

/// The shortest quiet that ends an epoch: twice the 16 ms for which a USB adapter holds bytes
/// back, and a little. Faster receivers than that end by the next time of day.
const QUIET_MIN: Span = Span::from_millis(40);

/// Cycles that must agree before the first guess.
const PROOF: u16 = 3;

/// The most that is ever asked: a quarter of an hour at 1 Hz.
const PROOF_MAX: u16 = 1_024;

/// What one sentence is in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Rmc,
    Gga,
    Gns,
    Gll,
    Pubx,
    Zda,
    Gst,
    Gbs,
    Gsa,
    Vtg,
}

/// How many of each part a cycle has, up to fifteen: four bits each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Roster(u64);

impl Roster {
    const PARTS: u32 = Part::Vtg as u32 + 1;

    pub(super) fn count(self, part: Part) -> u64 {
        self.0 >> (4 * part as u32) & 15
    }

    /// With one more.
    pub(super) fn and(self, part: Part) -> Self {
        let most = if matches!(part, Part::Gsa | Part::Vtg) { 1 } else { 15 };
        let more = u64::from(self.count(part) < most);
        Self(self.0 + (more << (4 * part as u32)))
    }

    /// Whether all of `other` is in it.
    fn covers(self, other: Self) -> bool {
        (0..Self::PARTS).all(|part| self.0 >> (4 * part) & 15 >= other.0 >> (4 * part) & 15)
    }
}

/// What is known of a receiver's cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    roster: Roster,
    /// So many cycles in a row were just that, lost lines aside.
    streak: u16,
    /// So many of late had less.
    short: u16,
    /// Cycles since a guess was wrong.
    calm: u16,
    /// So many must agree.
    proof: u16,
    /// The longest pause inside a cycle, ageing by an eighth a cycle.
    gap: Span,
}

impl Rhythm {
    pub(super) fn new() -> Self {
        Self {
            roster: Roster::default(),
            streak: 0,
            short: 0,
            calm: 0,
            proof: PROOF,
            gap: Span::ZERO,
        }
    }

    /// Whether nothing more of this cycle is to come.
    pub(super) fn is_complete(&self, seen: Roster) -> bool {
        self.streak >= self.proof && seen.covers(self.roster)
    }

    /// The quiet that ends a cycle.
    pub(super) fn quiet(&self) -> Span {
        if self.calm < self.proof {
            return QUIET;
        }
        (self.gap.times(2) + Span::from_millis(20)).clamp(QUIET_MIN, QUIET)
    }

    /// A cycle has ended.
    pub(super) fn ended(&mut self, seen: Roster, gap: Span) {
        let aged = self.gap - Span::from_nanos((self.gap - gap).nanos() / 8);
        self.gap = aged.max(gap);
        self.calm = self.calm.saturating_add(1);
        if seen == self.roster {
            (self.streak, self.short) = (self.streak.saturating_add(1), 0);
        } else if self.roster.covers(seen) && self.short < self.proof {
            self.short += 1;
        } else {
            (self.roster, self.streak, self.short) = (seen, 1, 0);
        }
    }

    /// More of a cycle came behind its end.
    pub(super) fn was_wrong(&mut self) {
        (self.streak, self.calm, self.gap) = (0, 0, QUIET);
        self.proof = self.proof.saturating_mul(2).min(PROOF_MAX);
    }
}

#[cfg(test)]
mod tests;
