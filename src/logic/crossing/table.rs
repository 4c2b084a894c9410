//! The live pairs of one asset, found by zone.
//!
//! Open addressing over sixteen-byte slots, because an asset has few pairs at most times and
//! hundreds in a city of zones, and a step must not search for its own. What is open of a pair
//! lies in a second list, because few are.
//!
//! Always holds: a zone has at most one pair; every open pair's place is its own; the table is at
//! most [`LOAD`] full and shrinks with its pairs. The order in which pairs are given depends on
//! the table's past: nobody may let an answer depend on it.
//! Does not know: zones, events.

use super::bracket::Context;
use super::machine::{self, Commit, VoteRules};
use super::packed::{NOT_OPEN, Open, Packed, open_of};
use super::pair::{Pair, Seen, Votes};
use crate::units::EventTime;

/// At most this share of the slots is taken, as a fraction: a search then looks at about three
/// (Knuth 6.4, linear probing: (1 + 1/(1 − 13/16)) / 2), all in one or two cache lines.
const LOAD: (usize, usize) = (13, 16);

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
    slots: Box<[Packed]>,
    len: u32,
    open: Vec<Room>,
    /// The first free room; [`NOT_OPEN`] where all are taken.
    free: u32,
    /// How many rooms are taken.
    open_len: u32,
    /// How many votes are running and have not been swept.
    running: u32,
}

/// Room for what is open of one pair.
#[derive(Clone, Copy, Debug)]
enum Room {
    /// The next free one.
    Free(u32),
    Taken(Open),
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
            free: NOT_OPEN,
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

    /// The slot of a zone, or the vacant one where its search ended.
    #[inline]
    fn search(&self, zone: u32) -> Result<usize, usize> {
        let slots = &*self.slots;
        let mut at = (spread(zone) * slots.len() as u64 >> 32) as usize;
        loop {
            match slots.get(at) {
                Some(slot) if slot.zone == zone => return Ok(at),
                Some(slot) if slot.zone == Packed::NO_ZONE => return Err(at),
                Some(_) => at += 1,
                None if slots.is_empty() => return Err(0),
                None => at = 0,
            }
        }
    }

    /// Where a zone's pair is.
    #[inline]
    pub fn find(&self, zone: u32) -> Option<Place> {
        self.search(zone).ok().map(Place)
    }

    /// What the last fix was to the pair there.
    pub fn was_inside(&self, place: Place) -> Option<bool> {
        self.slots[place.0].was_inside()
    }

    /// The pair there.
    pub fn at(&self, place: Place) -> Pair {
        self.pair_at(&self.slots[place.0])
    }

    /// A zone's pair.
    pub fn get(&self, zone: u32) -> Option<Pair> {
        self.search(zone).ok().map(|at| self.pair_at(&self.slots[at]))
    }

    /// Every pair with its zone, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, Pair)> {
        self.taken().map(|slot| (slot.zone, self.pair_at(slot)))
    }

    /// Every pair as it is packed, in no order.
    pub fn taken(&self) -> impl Iterator<Item = &Packed> {
        self.slots.iter().filter(|slot| slot.zone != Packed::NO_ZONE)
    }

    /// The zones of all pairs, in no order, into `zones`.
    pub fn zones(&self, zones: &mut Vec<u32>) {
        zones.clear();
        zones.extend(self.taken().map(|slot| slot.zone));
    }

    /// Every running vote that has not been swept, with its zone, in no order.
    pub fn votes(&self) -> impl Iterator<Item = (u32, Votes)> {
        self.taken().filter_map(|slot| Some((slot.zone, self.room(slot.open())?.running()?)))
    }

    fn room(&self, place: u32) -> Option<&Open> {
        match self.open.get(place as usize) {
            Some(Room::Taken(open)) => Some(open),
            _ => None,
        }
    }

    fn pair_at(&self, slot: &Packed) -> Pair {
        slot.pair(self.room(slot.open()))
    }

    /// Puts a pair into place, where its zone has one or none; whether the store has a row that
    /// says the same.
    pub fn put(&mut self, zone: u32, pair: &Pair, stored: bool) {
        assert!(zone != Packed::NO_ZONE, "a zone has a place");
        let at = self.search(zone).unwrap_or_else(|_| self.vacant(zone));
        self.store(at, pair);
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
        self.slots[at] = Packed::of(zone);
        self.len += 1;
        at
    }

    fn resize(&mut self, slots: usize) {
        let before = std::mem::replace(&mut self.slots, vec![Packed::VACANT; slots].into());
        for slot in before.iter().filter(|slot| slot.zone != Packed::NO_ZONE) {
            let at = self.search(slot.zone).expect_err("a zone has one pair");
            self.slots[at] = *slot;
        }
    }

    /// Forgets a pair. Gives whether the store has a row of it.
    pub fn remove(&mut self, zone: u32) -> Option<bool> {
        let mut hole = self.search(zone).ok()?;
        let slot = self.slots[hole];
        self.running -= u32::from(self.close(slot.open()).is_some_and(|o| o.running().is_some()));
        self.len -= 1;
        let count = self.slots.len();
        let mut at = hole;
        loop {
            at = (at + 1) % count;
            let next = self.slots[at];
            if next.zone == Packed::NO_ZONE {
                break;
            }
            // Whoever would be found before its hole keeps its place (Knuth 6.4, algorithm R).
            let home = (spread(next.zone) * count as u64 >> 32) as usize;
            if (at + count - home) % count >= (at + count - hole) % count {
                self.slots[hole] = next;
                hole = at;
            }
        }
        self.slots[hole] = Packed::VACANT;
        if self.len() * 4 < count {
            self.resize(self.len() * LOAD.1 / LOAD.0 + usize::from(self.len > 0));
        }
        Some(slot.is_stored())
    }

    /// Steps one pair by one fix.
    #[inline]
    pub fn step(
        &mut self,
        rules: impl FnOnce() -> VoteRules,
        context: &Context<'_>,
        Place(at): Place,
        seen: &Seen,
    ) -> Stepped {
        let back = seen.before.is_some_and(|before| seen.time < before.time);
        if !back && self.slots[at].stay_quiet(seen) {
            return Stepped::default();
        }
        self.step_open(&rules(), context, at, seen)
    }

    /// The whole step of the machine, for a pair that is not quiet or will not be.
    #[inline(never)]
    fn step_open(
        &mut self,
        rules: &VoteRules,
        context: &Context<'_>,
        at: usize,
        seen: &Seen,
    ) -> Stepped {
        let before = self.pair_at(&self.slots[at]);
        let (pair, commit) = machine::step(rules, context, before, seen);
        let begun = self.store(at, &pair);
        self.slots[at].set_dirty(true);
        let reversed =
            before.votes.is_some() && pair.votes.is_none() && pair.committed == before.committed;
        Stepped { commit, begun, reversed }
    }

    /// Puts a stepped pair back. Gives the vote that has begun to run, or runs again.
    fn store(&mut self, at: usize, pair: &Pair) -> Option<Begun> {
        let place = self.slots[at].open();
        let ran = self.room(place).and_then(Open::running);
        let open = open_of(pair);
        let runs = open.as_ref().and_then(Open::running);
        self.running = self.running + u32::from(runs.is_some()) - u32::from(ran.is_some());
        let place = match open {
            Some(open) if place != NOT_OPEN => {
                self.open[place as usize] = Room::Taken(open);
                place
            }
            Some(open) => self.keep(open),
            None => {
                self.close(place);
                NOT_OPEN
            }
        };
        let slot = &mut self.slots[at];
        slot.hold(pair);
        slot.set_open(place);
        let began = |votes: &Votes| ran.is_none_or(|ran| ran.deadline != votes.deadline);
        let zone = slot.zone;
        runs.filter(began).map(|votes| Begun { zone, deadline: votes.deadline })
    }

    fn keep(&mut self, open: Open) -> u32 {
        self.open_len += 1;
        let place = self.free;
        if let Some(room) = self.open.get_mut(place as usize) {
            let Room::Free(next) = *room else { unreachable!("a free room is free") };
            self.free = next;
            *room = Room::Taken(open);
            return place;
        }
        let place = self.open.len() as u32;
        assert!(place < NOT_OPEN, "fewer zones than that are in force");
        // As many again at a time would leave half of the rooms empty.
        if self.open.len() == self.open.capacity() {
            self.open.reserve_exact(1 + self.open.len() / 4);
        }
        self.open.push(Room::Taken(open));
        place
    }

    fn close(&mut self, place: u32) -> Option<Open> {
        let open = *self.room(place)?;
        self.open[place as usize] = Room::Free(self.free);
        self.free = place;
        self.open_len -= 1;
        if self.open_len == 0 {
            self.open = Vec::new();
            self.free = NOT_OPEN;
        }
        Some(open)
    }

    /// PAIR-4: the vote with this deadline has run out. Only what is shown changes. Gives whether
    /// it was running until now.
    pub fn sweep(&mut self, begun: Begun) -> bool {
        let Ok(at) = self.search(begun.zone) else { return false };
        let place = self.slots[at].open() as usize;
        let Some(Room::Taken(open)) = self.open.get_mut(place) else { return false };
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
            if slot.zone != Packed::NO_ZONE && slot.is_dirty() {
                let stored = row(slot.zone, self.pair_at(&slot), slot.is_stored());
                self.slots[at].set_dirty(false);
                self.slots[at].set_stored(stored);
            }
        }
    }

    /// The store has a row of this zone's pair that no longer says what it is.
    pub fn mark_stored(&mut self, zone: u32) -> bool {
        let Ok(at) = self.search(zone) else { return false };
        self.slots[at].set_dirty(true);
        self.slots[at].set_stored(true);
        true
    }
}
