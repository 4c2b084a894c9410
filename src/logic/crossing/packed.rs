//! A pair in sixteen bytes, and what it holds besides while something is open.
//!
//! Always holds: packing and unpacking give back all that any later step can ask for. A pair is
//! *quiet* while nothing is open: committed, no vote, no far end, the last fix on the committed
//! side. Everything else that a [`Pair`] remembers matters only until it is quiet again: its last
//! change of sign lies before the next one, which the next crossing needs.
//! Does not know: where pairs are kept.

use super::observe::Side;
use super::pair::{Change, Pair, Run, Seen, Votes};
use crate::units::{EventTime, Position};

/// What a pair that is not quiet holds besides, in 56 bytes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Open {
    first: EventTime,
    deadline: EventTime,
    /// The bracket's far end; while the first evaluation is pending, since when no vote runs.
    end: EventTime,
    change: Change,
    votes: u8,
    side: Side,
    /// The running vote has been swept (PAIR-4): shown as resolved, and no event knows of it.
    pub lapsed: bool,
}

/// No such time.
const NEVER: EventTime = EventTime::from_nanos(i64::MIN);

/// A time that may be none.
fn known(time: EventTime) -> Option<EventTime> {
    (time != NEVER).then_some(time)
}

impl Open {
    /// The running vote.
    fn votes(&self) -> Option<Votes> {
        (self.votes > 0).then_some(Votes {
            side: self.side,
            count: self.votes,
            first: self.first,
            deadline: self.deadline,
        })
    }

    /// The running vote, unless it has been swept.
    pub fn running(&self) -> Option<Votes> {
        self.votes().filter(|_| !self.lapsed)
    }

    fn change(&self) -> Option<Change> {
        (self.change.at != NEVER).then_some(self.change)
    }
}

/// A pair in sixteen bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed {
    /// Place of the zone; [`Packed::NO_ZONE`] where there is no pair.
    pub zone: u32,
    bits: u32,
    not_before: EventTime,
}

/// Two bits that say nothing, outside or inside.
const OUTSIDE: u32 = 1;
const INSIDE: u32 = 2;
const SIDE: u32 = 3;

// From the right: committed (2), the last fix's side (2), the run's side (2) and length (2),
// away (2), dirty (1), stored (1), the place of what is open (20).
const WAS: u32 = 2;
const RUN: u32 = 4;
const RUN_LEN: u32 = 6;
const AWAY: u32 = 8;
const DIRTY: u32 = 1 << 10;
const STORED: u32 = 1 << 11;
const OPEN: u32 = 12;

/// Nothing is open. So many pairs of one asset can be open at once: more zones than a gateway
/// holds.
pub const NOT_OPEN: u32 = (1 << 20) - 1;

const fn bits_of(inside: bool) -> u32 {
    if inside { INSIDE } else { OUTSIDE }
}

const fn side_of(bits: u32) -> Option<Side> {
    match bits & SIDE {
        OUTSIDE => Some(Side::Outside),
        INSIDE => Some(Side::Inside),
        _ => None,
    }
}

impl Packed {
    /// No zone has this place.
    pub const NO_ZONE: u32 = u32::MAX;
    /// No pair.
    pub const VACANT: Self = Self::of(Self::NO_ZONE);

    /// Nothing is known of a zone yet.
    pub const fn of(zone: u32) -> Self {
        Self { zone, bits: NOT_OPEN << OPEN, not_before: EventTime::from_nanos(0) }
    }

    /// Packs, quiet or not; the place of what is open, the marks and the zone stay.
    pub fn hold(&mut self, pair: &Pair) {
        let side = |side: Option<Side>| side.map_or(0, |side| bits_of(side.is_inside()));
        let (run, len) = pair.run.map_or((0, 0), |run| (side(Some(run.side)), u32::from(run.len)));
        let said = side(pair.committed)
            | pair.was_inside.map_or(0, bits_of) << WAS
            | run << RUN
            | len << RUN_LEN
            | u32::from(pair.away) << AWAY;
        self.bits = self.bits & !((1 << 10) - 1) | said;
        self.not_before = pair.not_before;
    }

    /// The pair, as [`Self::hold`] got it, as far as anything later can ask for.
    pub fn pair(&self, open: Option<&Open>) -> Pair {
        let run = side_of(self.bits >> RUN)
            .map(|side| Run { side, len: (self.bits >> RUN_LEN & SIDE) as u8 });
        let committed = self.committed();
        let end = open.and_then(|open| known(open.end));
        Pair {
            committed,
            votes: open.and_then(Open::votes),
            not_before: self.not_before,
            not_after: end.filter(|_| committed.is_some()),
            run,
            away: (self.bits >> AWAY & SIDE) as u8,
            change: open.and_then(Open::change),
            was_inside: self.was_inside(),
            idle_since: end.filter(|_| committed.is_none()).unwrap_or(self.not_before),
        }
    }

    /// The committed side.
    pub const fn committed(&self) -> Option<Side> {
        side_of(self.bits)
    }
    /// What the last fix was.
    pub fn was_inside(&self) -> Option<bool> {
        side_of(self.bits >> WAS).map(Side::is_inside)
    }
    /// Whether this may be forgotten (PAIR-5), unless a vote is running.
    pub const fn is_away(&self) -> bool {
        self.bits & SIDE == OUTSIDE && self.bits >> AWAY & SIDE >= 2
    }
    /// Where what is open is kept; [`NOT_OPEN`] where the pair is quiet.
    pub const fn open(&self) -> u32 {
        self.bits >> OPEN
    }
    /// What is open is kept there from now on.
    pub fn set_open(&mut self, place: u32) {
        self.bits = self.bits & ((1 << OPEN) - 1) | place << OPEN;
    }
    /// Changed since it was last made durable.
    pub const fn is_dirty(&self) -> bool {
        self.bits & DIRTY != 0
    }
    /// The same.
    pub fn set_dirty(&mut self, dirty: bool) {
        self.bits = if dirty { self.bits | DIRTY } else { self.bits & !DIRTY };
    }
    /// Whether the store has a row of it.
    pub const fn is_stored(&self) -> bool {
        self.bits & STORED != 0
    }
    /// The same.
    pub fn set_stored(&mut self, stored: bool) {
        self.bits = if stored { self.bits | STORED } else { self.bits & !STORED };
    }

    /// The step of [`super::machine`] for a quiet pair whose fix stays on the committed side:
    /// nothing can be opened, cast or committed, only the near end and the run may move. Gives
    /// whether that was so; else nothing has changed.
    #[inline]
    #[must_use]
    pub fn stay_quiet(&mut self, seen: &Seen) -> bool {
        let side = bits_of(seen.inside);
        if self.bits >> OPEN != NOT_OPEN || self.bits & SIDE != side {
            return false;
        }
        let out_m = if seen.inside { -seen.distance_m } else { seen.distance_m };
        let clear = out_m >= seen.clear_m;
        let away = clear && seen.observation == Some(Side::Outside);
        let ran = self.bits >> RUN & SIDE == side;
        if clear && ran {
            self.not_before = seen.time;
        }
        let run = if clear { side << RUN | (1 + u32::from(ran)) << RUN_LEN } else { 0 };
        let was_away = self.bits >> AWAY & SIDE;
        let away = if away { (was_away + 1).min(2) << AWAY } else { 0 };
        let kept = self.bits & !((1 << 10) - 1 & !SIDE);
        self.bits = kept | side << WAS | run | away | DIRTY;
        true
    }
}

/// What of a pair is open; none where it is quiet.
pub fn open_of(pair: &Pair) -> Option<Open> {
    let quiet = pair.votes.is_none()
        && pair.not_after.is_none()
        && pair.committed.is_some_and(|side| Some(side.is_inside()) == pair.was_inside);
    if quiet {
        return None;
    }
    let nowhere = Change { at: NEVER, position: Position::ORIGIN };
    let none = Votes { side: Side::Outside, count: 0, first: NEVER, deadline: NEVER };
    let votes = pair.votes.unwrap_or(none);
    Some(Open {
        first: votes.first,
        deadline: votes.deadline,
        end: if pair.committed.is_none() {
            pair.idle_since
        } else {
            pair.not_after.unwrap_or(NEVER)
        },
        change: pair.change.unwrap_or(nowhere),
        votes: votes.count,
        side: votes.side,
        lapsed: false,
    })
}
