//! The live pairs of one asset, found by zone.
//!
//! Open addressing over groups of four twelve-byte slots, because an asset has few pairs at most
//! times and hundreds in a city of zones, and a step must not search for its own: a group is
//! compared at once, so that a search rarely branches. Pairs at which something is open are few;
//! they lie in a second list, whole.
//!
//! Always holds: a zone has at most one pair; every open pair's room is its own; the table is at
//! most [`LOAD`] full and shrinks with its pairs. The order in which pairs are given depends on
//! the table's past: nobody may let an answer depend on it.
//! Does not know: zones, events.

use super::bracket::Context;
use super::machine::{self, Commit, VoteRules};
use super::pair::{Measured, Pair, Seen, Votes};
use super::slot::Slot;
use crate::units::EventTime;

/// At most this share of the slots is taken, as a fraction: of a hundred pairs about four lie
/// beyond their own group then (Poisson, 2.5 to a group of four).
const LOAD: (usize, usize) = (5, 8);

/// Slots that are compared at once: 48 bytes.
const GROUP: usize = 4;

/// No room.
const NONE: u32 = u32::MAX;

/// A vote that has just begun, for the wheel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Begun {
    /// The zone.
    pub zone: u32,
    /// When it runs out.
    pub deadline: EventTime,
}

/// What a step did besides, for counters and the wheel.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stepped {
    /// What was committed.
    pub commit: Option<Commit>,
    /// A vote began to run.
    pub begun: Option<Begun>,
    /// A vote was dropped, by an agreeing fix or by its deadline.
    pub reversed: bool,
}

/// The live pairs of one asset.
#[derive(Debug)]
pub struct PairTable {
    slots: Box<[Slot]>,
    len: u32,
    open: Vec<Room>,
    /// The first free room; [`NONE`] where all are taken.
    free: u32,
    /// How many rooms are taken.
    open_len: u32,
    /// How many votes are running and have not been swept.
    running: u32,
}

/// Room for one open pair.
#[derive(Clone, Copy, Debug)]
enum Room {
    /// The next free one.
    Free(u32),
    Taken(Open),
}

/// A pair at which something is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    pair: Pair,
    /// The running vote has been swept (PAIR-4): shown as resolved, and no event knows of it.
    lapsed: bool,
}

impl Open {
    /// The running vote, unless it has been swept.
    fn running(&self) -> Option<Votes> {
        self.pair.votes.filter(|_| !self.lapsed)
    }
}

/// Where a pair is, until pairs come or go.
#[derive(Clone, Copy, Debug)]
pub struct Place(usize);

/// Fibonacci hashing (Knuth 6.4): neighbouring places spread over the table.
const fn spread(zone: u32) -> u64 {
    zone.wrapping_mul(0x9E37_79B1) as u64
}

impl Default for PairTable {
    fn default() -> Self {
        Self {
            slots: Box::default(),
            len: 0,
            open: Vec::new(),
            free: NONE,
            open_len: 0,
            running: 0,
        }
    }
}

impl PairTable {
    /// How many pairs there are.
    pub const fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// How many votes are running and have not been swept.
    pub const fn running(&self) -> u32 {
        self.running
    }

    /// Where a zone's search begins.
    #[inline]
    fn home(&self, zone: u32) -> usize {
        ((spread(zone) * (self.slots.len() / GROUP) as u64) >> 32) as usize * GROUP
    }

    /// The slot of a zone, or the vacant one where its search ended.
    #[inline]
    fn search(&self, zone: u32) -> Result<usize, usize> {
        let mut first = self.home(zone);
        loop {
            let Some(group) = self.slots.get(first..first + GROUP) else {
                if self.slots.is_empty() {
                    return Err(0);
                }
                first = 0;
                continue;
            };
            let at = |zone: u32| {
                let bits = (0..GROUP).map(|ix| u32::from(group[ix].zone() == zone) << ix);
                bits.fold(0, |all, bit| all | bit).trailing_zeros() as usize
            };
            let own = at(zone);
            if own < GROUP {
                return Ok(first + own);
            }
            let vacant = at(Slot::ZONES_MAX);
            if vacant < GROUP {
                return Err(first + vacant);
            }
            first += GROUP;
        }
    }

    /// Where a zone's pair is.
    #[inline]
    pub fn find(&self, zone: u32) -> Option<Place> {
        self.search(zone).ok().map(Place)
    }

    /// What the half-open test said of the fix before to the pair there.
    #[inline]
    pub fn was_inside(&self, Place(at): Place) -> Option<bool> {
        let slot = &self.slots[at];
        self.open(slot).map_or(Some(slot.is_inside()), |open| open.pair.was_inside)
    }

    /// The pair there.
    #[inline]
    pub fn at(&self, place: Place) -> Pair {
        self.pair(&self.slots[place.0])
    }

    /// Every pair with its zone, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Pair)> {
        self.taken().map(|slot| (slot.zone(), self.pair(slot)))
    }

    /// Every slot that holds a pair, in no order.
    pub fn taken(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| !slot.is_vacant())
    }

    /// The zones of all pairs, in no order, into `zones`.
    pub fn zones(&self, zones: &mut Vec<u32>) {
        zones.clear();
        zones.extend(self.taken().map(Slot::zone));
    }

    /// Every running vote that has not been swept, with its zone, in no order.
    pub fn votes(&self) -> impl Iterator<Item = (u32, Votes)> {
        self.taken().filter_map(|slot| Some((slot.zone(), self.open(slot)?.running()?)))
    }

    fn open(&self, slot: &Slot) -> Option<&Open> {
        let room = slot.room()?;
        let Room::Taken(open) = &self.open[room as usize] else { unreachable!("an open pair's") };
        Some(open)
    }

    fn pair(&self, slot: &Slot) -> Pair {
        let quiet = slot.quiet();
        quiet.unwrap_or_else(|| self.open(slot).expect("quiet or open").pair)
    }

    /// Puts a pair into place, where its zone has none; whether the store has a row that says the
    /// same.
    pub fn put(&mut self, zone: u32, pair: &Pair, stored: bool) {
        assert!(zone < Slot::ZONES_MAX, "fewer zones than that are in force");
        assert!(self.find(zone).is_none(), "a zone has one pair");
        let at = self.vacant(zone);
        if pair.is_quiet() {
            self.slots[at].put(pair);
        } else {
            self.running += u32::from(pair.votes.is_some());
            let room = self.keep(*pair);
            self.slots[at].open(room);
        }
        self.slots[at].set_dirty(!stored);
        self.slots[at].set_stored(stored);
    }

    /// Makes room for a zone that has no pair.
    fn vacant(&mut self, zone: u32) -> usize {
        if (self.len() + 1) * LOAD.1 > self.slots.len() * LOAD.0 {
            // A sixth more at a time: between two growths the table is three quarters full.
            let wanted = (self.len() + 1) * LOAD.1 / LOAD.0 + 1;
            self.resize(wanted + wanted / 6);
        }
        let at = self.search(zone).expect_err("it has no pair");
        self.slots[at] = Slot::of(zone);
        self.len += 1;
        at
    }

    fn resize(&mut self, slots: usize) {
        let slots = vec![Slot::VACANT; slots.next_multiple_of(GROUP)];
        let before = std::mem::replace(&mut self.slots, slots.into());
        for slot in before.iter().filter(|slot| !slot.is_vacant()) {
            let at = self.search(slot.zone()).expect_err("a zone has one pair");
            self.slots[at] = *slot;
        }
    }

    /// Forgets a pair. Gives whether the store has a row of it.
    pub fn remove(&mut self, zone: u32) -> Option<bool> {
        let at = self.search(zone).ok()?;
        let slot = std::mem::replace(&mut self.slots[at], Slot::VACANT);
        if let Some(room) = slot.room() {
            self.running -= u32::from(self.close(room).running().is_some());
        }
        self.len -= 1;
        if self.len() * 4 < self.slots.len() {
            self.resize(self.len() * LOAD.1 / LOAD.0 + usize::from(self.len > 0));
        } else {
            self.move_up(at - at % GROUP);
        }
        Some(slot.is_stored())
    }

    /// A slot of this group has become vacant: whoever went past it because it was full is put
    /// where a search finds it.
    fn move_up(&mut self, group: usize) {
        let others = self.slots[group..group + GROUP].iter();
        if others.filter(|slot| slot.is_vacant()).count() > 1 {
            return;
        }
        let mut first = group;
        loop {
            first = (first + GROUP) % self.slots.len();
            if first == group {
                return;
            }
            let full = self.slots[first..first + GROUP].iter().all(|slot| !slot.is_vacant());
            for at in first..first + GROUP {
                let slot = std::mem::replace(&mut self.slots[at], Slot::VACANT);
                if !slot.is_vacant() {
                    let to = self.search(slot.zone()).expect_err("it was just taken out");
                    self.slots[to] = slot;
                }
            }
            if !full {
                return;
            }
        }
    }

    /// Steps one pair by one fix.
    #[inline]
    pub fn step(
        &mut self,
        rules: impl FnOnce() -> VoteRules,
        context: &Context<'_>,
        Place(at): Place,
        fix: &Measured,
        seen: &Seen,
    ) -> Stepped {
        if !fix.stepped_back() && self.slots[at].stay_quiet(fix, seen) {
            return Stepped::default();
        }
        self.step_open(&rules(), context, at, fix, seen)
    }

    /// The whole step of the machine, for a pair that is not quiet or will not be.
    fn step_open(
        &mut self,
        rules: &VoteRules,
        context: &Context<'_>,
        at: usize,
        fix: &Measured,
        seen: &Seen,
    ) -> Stepped {
        self.slots[at].set_dirty(true);
        let slot = self.slots[at];
        let room = if let Some(room) = slot.room() {
            room
        } else {
            let quiet = slot.quiet().expect("quiet or open");
            let room = self.keep(quiet);
            self.slots[at].open(room);
            room
        };
        let Room::Taken(open) = &mut self.open[room as usize] else { unreachable!("its room") };
        let (before, ran) = (open.pair.votes, open.running());
        let commit = machine::advance(rules, context, &mut open.pair, fix, seen);
        let votes = open.pair.votes;
        let begun = votes.filter(|votes| ran.is_none_or(|ran| ran.deadline != votes.deadline));
        open.lapsed = false;
        self.running = self.running + u32::from(votes.is_some()) - u32::from(ran.is_some());
        if open.pair.is_quiet() {
            let pair = self.close(room).pair;
            self.slots[at].put(&pair);
        }
        Stepped {
            commit,
            begun: begun.map(|votes| Begun { zone: slot.zone(), deadline: votes.deadline }),
            reversed: before.is_some() && votes.is_none() && commit.is_none(),
        }
    }

    fn keep(&mut self, pair: Pair) -> u32 {
        self.open_len += 1;
        let taken = Room::Taken(Open { pair, lapsed: false });
        if self.free != NONE {
            let room = self.free;
            let Room::Free(next) = self.open[room as usize] else { unreachable!("a free room") };
            self.free = next;
            self.open[room as usize] = taken;
            return room;
        }
        if self.open.len() == self.open.capacity() {
            // As many again at a time would leave half of the rooms empty.
            self.open.reserve_exact(1 + self.open.len() / 4);
        }
        self.open.push(taken);
        self.open.len() as u32 - 1
    }

    fn close(&mut self, room: u32) -> Open {
        let freed = std::mem::replace(&mut self.open[room as usize], Room::Free(self.free));
        let Room::Taken(open) = freed else { unreachable!("an open pair's room") };
        self.free = room;
        self.open_len -= 1;
        // One room stays for the next that opens; what a burst left behind does not.
        if self.open_len == 0 && self.open.len() > 1 {
            self.open = Vec::new();
            self.free = NONE;
        }
        open
    }

    /// Whether the vote with this deadline is running and has not been swept.
    pub fn is_running(&self, begun: Begun) -> bool {
        let open = self.search(begun.zone).ok().and_then(|at| self.open(&self.slots[at]));
        let votes = open.and_then(Open::running);
        votes.is_some_and(|votes| votes.deadline == begun.deadline)
    }

    /// PAIR-4: the vote with this deadline has run out. Only what is shown changes. Gives whether
    /// it was running until now.
    pub fn sweep(&mut self, begun: Begun) -> bool {
        let Ok(at) = self.search(begun.zone) else { return false };
        let Some(room) = self.slots[at].room() else { return false };
        let Room::Taken(open) = &mut self.open[room as usize] else { return false };
        let due = open.running().is_some_and(|votes| votes.deadline == begun.deadline);
        open.lapsed |= due;
        self.running -= u32::from(due);
        due
    }

    /// Takes the marks of what changed since the last time: `row` is told the zone, the pair and
    /// whether the store has a row of it, and says whether it has one now.
    pub fn take_dirty(&mut self, mut row: impl FnMut(u32, Pair, bool) -> bool) {
        for at in 0..self.slots.len() {
            let slot = self.slots[at];
            if !slot.is_vacant() && slot.is_dirty() {
                let stored = row(slot.zone(), self.pair(&slot), slot.is_stored());
                self.slots[at].set_dirty(false);
                self.slots[at].set_stored(stored);
            }
        }
    }

    /// Every pair that changed since the last time, with its zone and whether the store has a row
    /// of it, in no order.
    pub fn dirty(&self) -> impl Iterator<Item = (u32, Pair, bool)> {
        let dirty = self.taken().filter(|slot| slot.is_dirty());
        dirty.map(|slot| (slot.zone(), self.pair(slot), slot.is_stored()))
    }

    /// The store has a row of this zone's pair that no longer says what it is.
    pub fn mark_stored(&mut self, zone: u32) -> bool {
        let Ok(at) = self.search(zone) else { return false };
        self.slots[at].set_dirty(true);
        self.slots[at].set_stored(true);
        true
    }
}
