//! Which of an asset's sources votes (ORD-4).
//!
//! Always holds: at most one source votes at a time, and it is changed only by a usable fix of
//! the one that takes over. An asset of one source owns no memory beyond this struct.
//! Does not know: what makes a fix usable, zones, clocks.

use crate::units::{BootTime, Span};

/// A source has lapsed when it gave no usable fix for this many of its intervals (ORD-4).
const LAPSE_INTERVALS: i64 = 3;
/// A better source must have been back this long before it votes again (ORD-4).
pub const RETURN_AFTER: Span = Span::from_secs(10);
/// Offsets that differ by more say that the sources' times cannot be put in one order (ORD-4).
pub const OFFSET_APART_MAX: Span = Span::from_secs(10);

/// One usable fix, as voting sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Usable {
    /// Who sent it.
    pub source: u16,
    /// Its rank: the lower, the better. Of equal ranks the one that votes stays.
    pub rank: u8,
    /// Its stamp. Sources may disagree about event time, so boot time says who has lapsed; in a
    /// trusted feed event time is arrival time and is given here.
    pub at: BootTime,
    /// Its source's interval.
    pub interval: Span,
    /// Its source's running offset, where it has one (TIME-3).
    pub offset: Option<Span>,
}

/// What a usable fix may do.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    /// It votes.
    Votes,
    /// It only ends silence.
    Standby,
    /// It votes, and so does its source from now on.
    TakesOver {
        /// The offsets differ by more than [`OFFSET_APART_MAX`]: the step number grows.
        step: bool,
    },
}

/// What is known of one source.
#[derive(Clone, Copy, Debug)]
struct Seen {
    last: Usable,
    /// Since when it has come without a lapse.
    since: BootTime,
}

impl Seen {
    const fn first(fix: Usable) -> Self {
        Self { last: fix, since: fix.at }
    }

    fn lapsed(&self, now: BootTime) -> bool {
        now - self.last.at > self.last.interval.times(LAPSE_INTERVALS)
    }

    fn renew(&mut self, fix: Usable) {
        if self.lapsed(fix.at) {
            self.since = fix.at;
        }
        // Ordered by event time, stamps may come back to front: they never make it older.
        let at = fix.at.max(self.last.at);
        self.last = Usable { at, ..fix };
    }
}

/// The sources of one asset.
#[derive(Clone, Default, Debug)]
pub struct Voting {
    voter: Option<Seen>,
    /// All but the voter; bounded by the sources that are configured for the asset.
    others: Vec<Seen>,
}

impl Voting {
    /// Decides for the next usable fix.
    pub fn admit(&mut self, fix: Usable) -> Vote {
        let Some(voter) = self.voter.as_mut() else {
            self.voter = Some(Seen::first(fix));
            return Vote::Votes;
        };
        if voter.last.source == fix.source {
            voter.renew(fix);
            return Vote::Votes;
        }
        let voter = *voter;
        let index = self.see(fix);
        if !self.takes_over(&voter, &self.others[index], fix.at) {
            return Vote::Standby;
        }
        self.voter = Some(std::mem::replace(&mut self.others[index], voter));
        let apart = voter.last.offset.zip(fix.offset).map(|(old, new)| (new - old).abs());
        Vote::TakesOver { step: apart.is_some_and(|apart| apart > OFFSET_APART_MAX) }
    }

    /// The source that votes.
    pub fn voter(&self) -> Option<u16> {
        self.voter.map(|voter| voter.last.source)
    }

    /// Notes the fix of a source that is not voting; where it is kept.
    fn see(&mut self, fix: Usable) -> usize {
        if let Some(index) = self.others.iter().position(|seen| seen.last.source == fix.source) {
            self.others[index].renew(fix);
            return index;
        }
        self.others.push(Seen::first(fix));
        self.others.len() - 1
    }

    fn takes_over(&self, voter: &Seen, candidate: &Seen, now: BootTime) -> bool {
        let rank = candidate.last.rank;
        let beaten = |seen: &Seen| seen.last.rank < rank && !seen.lapsed(now);
        if self.others.iter().any(beaten) {
            return false;
        }
        let back_for = now - candidate.since;
        voter.lapsed(now) || (rank < voter.last.rank && back_for >= RETURN_AFTER)
    }
}

#[cfg(test)]
mod tests;
