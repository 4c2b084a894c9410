//! What is remembered of one (asset, zone), PAIR-3.
//!
//! Always holds: `not_before` never lies after the fix that last moved it; votes are for the side
//! that is not committed, or for either while the first evaluation is pending. What is the same for
//! every zone of an asset (its last fix, its silences) is not in here.
//! Does not know: which asset or zone it belongs to, or how its crossing will be called.

use serde::{Deserialize, Serialize};

use super::machine::VoteRules;
use super::observe::{Observation, Side};
use crate::units::{EventTime, Position, Span};

/// Carries a [`Span`] through JSON as whole nanoseconds.
pub(crate) mod span_nanos {
    use super::Span;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(crate) fn serialize<S: Serializer>(span: &Span, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_i64(span.nanos())
    }
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Span, D::Error> {
        i64::deserialize(d).map(Span::from_nanos)
    }
}

/// A vote that is running.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Votes {
    /// What they are for.
    pub side: Side,
    /// How many; saturates.
    pub count: u8,
    /// When the first was cast.
    pub first: EventTime,
    /// Fixed when the first is cast (PAIR-1): later fixes find the vote run out.
    pub deadline: EventTime,
}

/// A change of sign of the distance: where and when the boundary was passed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Change {
    /// d interpolated to zero.
    pub at: EventTime,
    /// The place at that time.
    pub position: Position,
}

/// Successive measured fixes, up to the last, that all lay at least u on one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The side.
    pub side: Side,
    /// How many, at most 2: more says nothing.
    pub len: u8,
}

/// What is remembered of one (asset, zone).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Pair {
    /// The committed answer; `None` until the first evaluation has one (PAIR-6).
    pub committed: Option<Side>,
    /// A running vote.
    pub votes: Option<Votes>,
    /// The bracket's near end, its fallback included.
    pub not_before: EventTime,
    /// The bracket's far end, where two clear fixes have shown it.
    pub not_after: Option<EventTime>,
    /// Clear fixes in a row.
    pub run: Option<Run>,
    /// Fixes in a row that were Outside and at least u outside, at most 2 (PAIR-5).
    pub away: u8,
    /// The last change of sign; frozen while `not_after` stands.
    pub change: Option<Change>,
    /// What the half-open test said of the last measured fix.
    pub was_inside: Option<bool>,
    /// While the first evaluation is pending: since when no vote has been running.
    pub idle_since: EventTime,
}

/// One ordered, usable, measured fix: the same for every zone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Measured {
    /// When.
    pub time: EventTime,
    /// Where.
    pub position: Position,
    /// u: twice the accuracy, in metres.
    pub clear_m: f64,
    /// The asset's measured fix before this one.
    pub before: Option<Before>,
}

/// When and where the measured fix before was.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Before {
    /// When.
    pub time: EventTime,
    /// Where.
    pub position: Position,
}

impl Measured {
    /// Whether the receiver's clock has stepped back since the fix before (TIME-4).
    pub fn stepped_back(&self) -> bool {
        self.before.is_some_and(|before| self.time < before.time)
    }
}

/// What one fix says of one zone.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seen {
    /// OBS-1.
    pub observation: Observation,
    /// Signed distance to the boundary in metres.
    pub distance_m: f64,
    /// The half-open test.
    pub inside: bool,
    /// Metres from the fix before to the boundary; asked only where the sign has changed since.
    pub before_m: Option<f64>,
}

impl Seen {
    /// Whether this fix lies at least `clear_m` off the boundary, on its side.
    pub fn is_clear(&self, clear_m: f64) -> bool {
        let off_m = if self.inside { -self.distance_m } else { self.distance_m };
        off_m >= clear_m
    }
    /// The side on which this fix lies.
    pub const fn side(&self) -> Side {
        if self.inside { Side::Inside } else { Side::Outside }
    }
}

impl Pair {
    /// A pair whose first evaluation begins with the fix at `first`.
    pub const fn unevaluated(first: EventTime) -> Self {
        Self {
            committed: None,
            votes: None,
            not_before: first,
            not_after: None,
            run: None,
            away: 0,
            change: None,
            was_inside: None,
            idle_since: first,
        }
    }

    /// A pair that was not kept because it was clearly outside (PAIR-5): its `not_before` is
    /// `last`, the time of the last of the two fixes that showed it.
    pub const fn away(last: EventTime, was_inside: bool) -> Self {
        let mut pair = Self::unevaluated(last);
        pair.committed = Some(Side::Outside);
        pair.run = Some(Run { side: Side::Outside, len: 2 });
        pair.away = 2;
        pair.was_inside = Some(was_inside);
        pair
    }

    /// Whether nothing is open: committed, no vote, no far end, the last fix on the committed side.
    /// Whatever else is remembered of the boundary matters only until then: the next crossing
    /// needs a change of sign that is still to come.
    pub fn is_quiet(&self) -> bool {
        self.votes.is_none()
            && self.not_after.is_none()
            && self.committed.is_some()
            && self.committed.map(Side::is_inside) == self.was_inside
    }

    /// Whether this pair may be forgotten: what [`Pair::away`] makes of the asset's last fix is
    /// the same (PAIR-5).
    pub fn is_away(&self) -> bool {
        self.committed == Some(Side::Outside) && self.votes.is_none() && self.away >= 2
    }

    /// Drops a running vote, as an edit of the rules does; a minute without one begins at `now`.
    pub fn drop_votes(&mut self, now: Option<EventTime>) {
        if self.votes.take().is_some() {
            self.idle_since = now.unwrap_or(self.idle_since);
        }
    }

    /// The receiver's clock has stepped back from `last` to `now` (TIME-4). Nothing remembered may
    /// lie after it, or a bracket would end before it began and a vote outlive its deadline. The
    /// last fix of the old clock lies before the late ones, so what the bracket begins with moves
    /// that far back as well.
    pub fn stepped_back(&mut self, last: EventTime, now: EventTime, rules: &VoteRules) {
        let earliest = now - rules.adoption;
        self.not_before = earliest - (last - self.not_before.min(last));
        self.idle_since = self.idle_since.min(now);
        self.not_after = self.not_after.map(|time| time.min(now));
        if let Some(votes) = &mut self.votes {
            votes.first = votes.first.min(now);
            votes.deadline = votes.deadline.min(now + rules.window);
        }
        if let Some(change) = &mut self.change {
            change.at = change.at.min(now);
        }
    }

    /// The running vote as somebody who looks at `now` sees it (PAIR-4).
    pub fn votes_at(&self, now: EventTime) -> Option<Votes> {
        self.votes.filter(|votes| now <= votes.deadline)
    }
}
