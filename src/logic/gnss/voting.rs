//! Which of an asset's sources votes (ORD-4).
//!
//! Always holds: exactly one source votes at a time, and it is changed only by a usable fix of
//! the one that takes over. An asset of one source has none of this.
//! Does not know: what makes a fix usable, zones, clocks.
//!
//! It is decided at the stamp, before the order, so that a standby's times move no watermark. A
//! standby is usable by its stamp; the voter lives by what its fixes came to once they were in
//! order, so that one that only jumps lapses like one that is silent.
//!
//! A standby "only ends silence", and for that nothing is to be done: the voter lapses after
//! three intervals, at least 3 s, and its window, but never after more than S, the asset's limit
//! of silence. So a usable fix of a standby either finds a voter that lives, and there is no
//! silence to end; or it takes over, and ends it as any vote does.

use serde::{Deserialize, Serialize};

use super::gate::Gaps;
use crate::units::{BootTime, Span};

/// A source has lapsed when it gave no usable fix for this many of its intervals (ORD-4) …
const LAPSE_INTERVALS: i64 = 3;
/// … and at least for this long: a fast receiver may stop for breath.
const LAPSE_MIN: Span = Span::from_secs(3);
/// A better source must have been back this long before it votes again (ORD-4).
pub const RETURN_AFTER: Span = Span::from_secs(10);
/// Offsets that differ by more say that the sources' times cannot be put in one order (ORD-4).
/// So after a take-over without a new step no fix comes later than this.
pub const OFFSET_APART_MAX: Span = Span::from_secs(10);

/// Before any stamp.
const ALWAYS: BootTime = BootTime::from_nanos(i64::MIN);

/// One usable fix, as voting sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Usable {
    /// Who sent it.
    pub source: u16,
    /// Its rank: the lower, the better. Of equal ranks the one that votes stays.
    pub rank: u8,
    /// Its stamp. Sources may disagree about event time, so boot time says who has lapsed; in a
    /// trusted feed event time is arrival time and is given here.
    pub at: BootTime,
    /// Its source's declared interval.
    pub declared: Span,
    /// How long its source's fixes wait in order before they are judged.
    pub window: Span,
    /// Its source's running offset, where it has one (TIME-3).
    pub offset: Option<Span>,
}

/// What a usable fix may do.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vote {
    /// It votes.
    Votes,
    /// It does not.
    Standby,
    /// It votes, and so does its source from now on.
    TakesOver {
        /// The offsets differ by more than [`OFFSET_APART_MAX`]: the step number grows.
        step: bool,
    },
}

/// What is known of one source.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    last: Usable,
    /// Whether `last` was usable: the source that was alone may never have been.
    heard: bool,
    gaps: Gaps,
    /// Since when it has come without a lapse; for ever, where it never had one: whoever is
    /// heard for the first time does not return.
    since: BootTime,
}

impl Seen {
    fn first(fix: Usable) -> Self {
        Self { last: fix, heard: true, gaps: Gaps::default(), since: ALWAYS }
    }

    /// `limit` is S.
    fn lapsed(&self, now: BootTime, limit: Span) -> bool {
        let intervals = self.gaps.interval(self.last.declared).times(LAPSE_INTERVALS);
        let patience = intervals.max(LAPSE_MIN) + self.last.window;
        !self.heard || now - self.last.at > patience.min(limit)
    }

    fn renew(&mut self, fix: Usable, limit: Span) {
        if self.lapsed(fix.at, limit) {
            self.since = fix.at;
        }
        if self.heard {
            self.gaps.note(fix.at - self.last.at);
        }
        // Ordered by event time, stamps may come back to front: they never make it older.
        let at = if self.heard { fix.at.max(self.last.at) } else { fix.at };
        (self.last, self.heard) = (Usable { at, ..fix }, true);
    }
}

/// The sources of one asset that has several.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Voting {
    voter: Seen,
    /// All but the voter; bounded by the sources that are configured.
    others: Vec<Seen>,
}

impl Voting {
    /// The source that was alone so far votes until it lapses: `last` is its last usable fix, or
    /// merely names it where there was none (`heard`).
    pub fn of_one(last: Usable, heard: bool, gaps: Gaps) -> Self {
        Self { voter: Seen { heard, gaps, ..Seen::first(last) }, others: Vec::new() }
    }

    /// Decides for a fix that is usable by its stamp. `limit` is S.
    pub fn admit(&mut self, fix: Usable, limit: Span) -> Vote {
        if self.voter() == fix.source {
            return Vote::Votes;
        }
        let voter = self.voter;
        let index = self.see(fix, limit);
        if !self.takes_over(&self.others[index], fix.at, limit) {
            return Vote::Standby;
        }
        self.voter = std::mem::replace(&mut self.others[index], voter);
        let apart = voter.last.offset.zip(fix.offset).map(|(old, new)| (new - old).abs());
        Vote::TakesOver { step: apart.is_some_and(|apart| apart > OFFSET_APART_MAX) }
    }

    /// A fix has been judged in its turn and was usable, or came late by no more than a
    /// take-over can make it.
    pub fn judged_usable(&mut self, fix: Usable, limit: Span) {
        // Of a source that has been taken over from since, its stamp already said as much.
        if self.voter() == fix.source {
            self.voter.renew(fix, limit);
        }
    }

    /// The source that votes.
    pub fn voter(&self) -> u16 {
        self.voter.last.source
    }

    /// Notes the fix of a source that is not voting; where it is kept.
    fn see(&mut self, fix: Usable, limit: Span) -> usize {
        if let Some(index) = self.others.iter().position(|seen| seen.last.source == fix.source) {
            self.others[index].renew(fix, limit);
            return index;
        }
        self.others.push(Seen::first(fix));
        self.others.len() - 1
    }

    fn takes_over(&self, candidate: &Seen, now: BootTime, limit: Span) -> bool {
        let rank = candidate.last.rank;
        let beaten = |seen: &Seen| seen.last.rank < rank && !seen.lapsed(now, limit);
        if self.others.iter().any(beaten) {
            return false;
        }
        let better = rank < self.voter.last.rank && now - candidate.since >= RETURN_AFTER;
        self.voter.lapsed(now, limit) || better
    }
}

#[cfg(test)]
mod tests;
