//! A pair in twelve bytes, while it is quiet ([`Pair::is_quiet`]).
//!
//! Always holds: a quiet pair taken out of its slot is the pair that was put in, but for a change
//! of sign that no later step can ask for; one that is open lies elsewhere and its slot says where.
//! Does not know: how slots are found.

use super::observe::Side;
use super::pair::{Measured, Pair, Run, Seen};
use crate::units::EventTime;

/// A pair in twelve bytes.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// From the right: [`FLAGS`], then the zone.
    key: u32,
    /// While quiet, `not_before`: twice four bytes because eight would be aligned to eight. While
    /// open, the room.
    words: [u32; 2],
}

/// Eight bits beside the zone's place, which has 24: sixteen million zones.
const FLAGS: u32 = 8;
const INSIDE: u32 = 1;
const OPEN: u32 = 2;
const DIRTY: u32 = 4;
const STORED: u32 = 8;
/// Two bits: how many fixes in a row were clear on the committed side, at most 2.
const RUN: u32 = 4;
/// Two bits: how many of them were Outside as well.
const AWAY: u32 = 6;
const TWO_BITS: u32 = 3;

impl Slot {
    /// No pair.
    pub const VACANT: Self = Self::of(Self::ZONES_MAX);
    /// One more than the last place that a zone can have.
    pub const ZONES_MAX: u32 = (1 << (32 - FLAGS)) - 1;

    /// A zone's slot, with nothing in it.
    pub const fn of(zone: u32) -> Self {
        Self { key: zone << FLAGS, words: [0; 2] }
    }
    /// The zone's place.
    pub const fn zone(&self) -> u32 {
        self.key >> FLAGS
    }
    /// Whether there is no pair.
    pub const fn is_vacant(&self) -> bool {
        self.zone() == Self::ZONES_MAX
    }
    /// Where the pair lies, while it is open.
    pub const fn room(&self) -> Option<u32> {
        if self.has(OPEN) { Some(self.words[0]) } else { None }
    }
    const fn has(&self, flag: u32) -> bool {
        self.key & flag != 0
    }
    fn set(&mut self, flag: u32, on: bool) {
        self.key = if on { self.key | flag } else { self.key & !flag };
    }
    /// Changed since it was last made durable.
    pub const fn is_dirty(&self) -> bool {
        self.has(DIRTY)
    }
    /// The same.
    pub fn set_dirty(&mut self, dirty: bool) {
        self.set(DIRTY, dirty);
    }
    /// Whether the store has a row of it.
    pub const fn is_stored(&self) -> bool {
        self.has(STORED)
    }
    /// The same.
    pub fn set_stored(&mut self, stored: bool) {
        self.set(STORED, stored);
    }
    /// The committed side, and the last fix's, while quiet.
    pub const fn is_inside(&self) -> bool {
        self.has(INSIDE)
    }
    /// Whether the pair may be forgotten (PAIR-5).
    pub const fn is_away(&self) -> bool {
        self.key & (INSIDE | OPEN) == 0 && self.key >> AWAY & TWO_BITS >= 2
    }

    /// The pair lies in a room from now on.
    pub fn open(&mut self, room: u32) {
        self.key |= OPEN;
        self.words = [room, 0];
    }

    /// Puts a quiet pair in.
    pub fn put(&mut self, pair: &Pair) {
        let run = pair.run.filter(|run| Some(run.side) == pair.committed);
        let run = run.map_or(0, |run| u32::from(run.len));
        let side = if pair.committed == Some(Side::Inside) { INSIDE } else { 0 };
        let marks = self.key & (DIRTY | STORED);
        self.key = self.zone() << FLAGS | marks | side | run << RUN | u32::from(pair.away) << AWAY;
        self.set_time(pair.not_before);
    }

    /// The pair, if it is quiet.
    pub fn quiet(&self) -> Option<Pair> {
        if self.has(OPEN) {
            return None;
        }
        let inside = self.has(INSIDE);
        let side = if inside { Side::Inside } else { Side::Outside };
        let len = (self.key >> RUN & TWO_BITS) as u8;
        Some(Pair {
            committed: Some(side),
            run: (len > 0).then_some(Run { side, len }),
            away: (self.key >> AWAY & TWO_BITS) as u8,
            was_inside: Some(inside),
            ..Pair::unevaluated(self.time())
        })
    }

    const fn time(&self) -> EventTime {
        let nanos = self.words[0] as u64 | ((self.words[1] as u64) << 32);
        EventTime::from_nanos(nanos.cast_signed())
    }
    fn set_time(&mut self, time: EventTime) {
        let nanos = time.nanos() as u64;
        self.words = [nanos as u32, (nanos >> 32) as u32];
    }

    /// The step of [`super::machine`] for a quiet pair whose fix stays on the committed side:
    /// nothing can be opened, cast or committed, only the near end and the run may move. Gives
    /// whether that was so; else nothing has changed.
    #[inline]
    #[must_use]
    pub fn stay_quiet(&mut self, fix: &Measured, seen: &Seen) -> bool {
        if self.key & (INSIDE | OPEN) != u32::from(seen.inside) {
            return false;
        }
        let clear = u32::from(seen.is_clear(fix.clear_m));
        let outside = u32::from(seen.observation == Some(Side::Outside));
        let run = self.key >> RUN & TWO_BITS;
        let away = self.key >> AWAY & TWO_BITS;
        // Both from the second in a row; written without branches because any may come next.
        let near = if clear != 0 && run != 0 { fix.time } else { self.time() };
        self.set_time(near);
        let run = clear * (run + 1).min(2);
        let away = clear * outside * (away + 1).min(2);
        let rest = ((1 << RUN) - 1) | !((1 << FLAGS) - 1);
        self.key = self.key & rest | DIRTY | run << RUN | away << AWAY;
        true
    }
}
