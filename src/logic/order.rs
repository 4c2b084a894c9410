//! One asset's fixes put in order: a bounded heap, its deadlines, the watermark (DESIGN §2 ORD).
//!
//! Always holds: what is released never goes back in key order (step number, event time,
//! arrival); nothing pushed is lost: it is released, or named late, a repeat, or of an instant
//! already held. An asset with nothing waiting owns no memory but its watermark; what it gives up
//! serves the next that fills, so that a fleet's fixes do not allocate one by one.
//! Does not know: clocks, sources' ranks, whether a fix is usable.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::units::{BootTime, EventTime, Span};

/// Most fixes that wait at once for one asset: 100 s at 10 Hz, ten times any window worth having.
/// When full the oldest is released early, so the newest are the ones still put in order.
pub const HEAP_FIXES_MAX: usize = 1024;

/// The last released key: what is at or before it is late (ORD-2).
///
/// Ordered as the key is: a greater step number makes any time acceptable.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Watermark {
    /// The step number.
    pub step: u32,
    /// The event time within that step.
    pub time: EventTime,
}

/// What is put in order.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Entry<T> {
    /// The asset's step number when it came.
    pub step: u32,
    /// Its event time.
    pub time: EventTime,
    /// Its stamp: when its bytes arrived.
    pub at: BootTime,
    /// How long it may wait for earlier ones.
    pub window: Span,
    /// `trust = "fixes"`: the feed's event time is its clock, and the stamp sets no deadline.
    pub trusted: bool,
    /// Who sent it. Only fixes of one source compete for an instant: another's may not vote.
    pub source: u16,
    /// 68 % radius, positive and finite.
    pub accuracy_m: f64,
    /// What is carried along; equal in it and in accuracy, two of one instant are one fix.
    pub payload: T,
}

impl<T> Entry<T> {
    const fn key(&self) -> Watermark {
        Watermark { step: self.step, time: self.time }
    }
    /// When boot time releases it.
    fn deadline(&self) -> BootTime {
        if self.trusted { NO_DEADLINE } else { self.at + self.window }
    }
    /// Whether a trusted feed that has got to `clock` releases it. An older step's fixes wait for
    /// nothing more.
    fn is_fed(&self, clock: Watermark) -> bool {
        let due = Watermark { step: self.step, time: self.time + self.window };
        self.trusted && due <= clock
    }
}

/// A fix in its place: only this module can make one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OrderedFix<T>(Entry<T>);

impl<T> OrderedFix<T> {
    /// Its step number.
    pub const fn step(&self) -> u32 {
        self.0.step
    }
    /// Its event time.
    pub const fn time(&self) -> EventTime {
        self.0.time
    }
    /// When its bytes arrived.
    pub const fn at(&self) -> BootTime {
        self.0.at
    }
    /// Who sent it.
    pub const fn source(&self) -> u16 {
        self.0.source
    }
    /// Whether its feed is trusted: then its stamp says nothing.
    pub const fn trusted(&self) -> bool {
        self.0.trusted
    }
    /// 68 % radius.
    pub const fn accuracy_m(&self) -> f64 {
        self.0.accuracy_m
    }
    /// What it carries.
    pub const fn payload(&self) -> &T {
        &self.0.payload
    }
}

/// What became of a pushed fix.
#[must_use]
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pushed<T> {
    /// It waits. `early` is the oldest, pushed out of a full heap: next in order, to be taken
    /// before anything [`Heap::release`] gives.
    Accepted {
        /// The oldest, when the heap was full.
        early: Option<OrderedFix<T>>,
    },
    /// At or before the watermark (ORD-2).
    Late {
        /// How far behind the watermark in event time; zero when level, or of an older step.
        by: Span,
    },
    /// Identical to one that waits (ORD-3).
    Repeat,
    /// One of its source and instant waits already: the more accurate of the two stays, the
    /// first where they are equal, and the other is gone (ORD-3).
    SameInstant,
}

/// The deadline of what no boot time releases.
const NO_DEADLINE: BootTime = BootTime::from_nanos(i64::MAX);

/// What emptied heaps gave up and the next that fill take again.
#[derive(Clone, Debug)]
pub struct Spares<T> {
    kept: Vec<VecDeque<Entry<T>>>,
}

/// Most that are kept: as many heaps as fill and empty between two of a kind, and 100 kB at most.
const SPARES_MAX: usize = 256;
/// One that has held more than this is freed: what a backlog took is given back.
const SPARE_FIXES_MAX: usize = 4;

impl<T> Spares<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self { kept: Vec::new() }
    }

    fn give(&mut self, entries: VecDeque<Entry<T>>) {
        if entries.capacity() <= SPARE_FIXES_MAX && self.kept.len() < SPARES_MAX {
            self.kept.push(entries);
        }
    }
}

impl<T> Default for Spares<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// ORD-3. The instant has waited since its first fix came, so that one's stamp stands.
fn compete<T: PartialEq>(held: &mut Entry<T>, new: Entry<T>) -> Pushed<T> {
    if held.payload == new.payload && held.accuracy_m == new.accuracy_m {
        return Pushed::Repeat;
    }
    if new.accuracy_m < held.accuracy_m {
        *held = Entry { at: held.at, window: held.window, ..new };
    }
    Pushed::SameInstant
}

/// The fixes of one asset that wait for earlier ones.
#[derive(Clone, Debug)]
pub struct Heap<T> {
    watermark: Option<Watermark>,
    /// In key order; of one instant, in order of arrival. Without memory while nothing waits.
    entries: VecDeque<Entry<T>>,
    /// So many from the front may go: a fix goes when it, or any after it, is due.
    going: u32,
    /// The earliest deadline of the others.
    deadline: BootTime,
}

impl<T: Copy + PartialEq> Heap<T> {
    /// An empty heap that goes on after the key released last, if any was.
    pub const fn new(restored: Option<Watermark>) -> Self {
        let entries = VecDeque::new();
        Self { watermark: restored, entries, going: 0, deadline: NO_DEADLINE }
    }

    /// Takes a fix in.
    pub fn push(&mut self, entry: Entry<T>, spares: &mut Spares<T>) -> Pushed<T> {
        let key = entry.key();
        if let Some(mark) = self.watermark.filter(|mark| key <= *mark) {
            let behind = if key.step == mark.step { mark.time - key.time } else { Span::ZERO };
            return Pushed::Late { by: behind };
        }
        if self.entries.capacity() == 0 {
            self.entries = spares.kept.pop().unwrap_or_default();
        }
        if let Some(answer) = self.insert(entry) {
            return answer;
        }
        let full = self.entries.len() > HEAP_FIXES_MAX;
        let early = if full { self.take(spares) } else { None };
        Pushed::Accepted { early }
    }

    /// When [`Heap::release`] has something to give next, if boot time decides it. After a push
    /// into a trusted feed, and after [`Heap::finish`], it may have at once.
    pub fn next_deadline(&self) -> Option<BootTime> {
        Some(self.deadline).filter(|deadline| *deadline < NO_DEADLINE)
    }

    /// The next fix that may go by `now`, in key order. Ask until it is `None`, after each push
    /// and at each deadline.
    pub fn release(&mut self, now: BootTime, spares: &mut Spares<T>) -> Option<OrderedFix<T>> {
        if self.may_go(now) { self.take(spares) } else { None }
    }

    /// The feed has ended: all that waits may go.
    pub fn finish(&mut self) {
        self.let_go(|_| true);
    }

    /// The key released last.
    pub const fn watermark(&self) -> Option<Watermark> {
        self.watermark
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Those that wait, in key order, for the checkpoint. Pushed again in this order into a heap
    /// of the same watermark they make the same heap.
    pub fn waiting(&self) -> impl Iterator<Item = &Entry<T>> {
        self.entries.iter()
    }

    /// Inserts from the back, where nearly every fix belongs. `Some` when ORD-3 answers instead.
    fn insert(&mut self, new: Entry<T>) -> Option<Pushed<T>> {
        let mut place = self.entries.len();
        if self.entries.back().is_some_and(|last| last.key() >= new.key()) {
            place = match self.place_of(&new) {
                Ok(place) => place,
                Err(held) => return Some(compete(&mut self.entries[held], new)),
            };
        }
        if self.entries.len() == self.entries.capacity() {
            // One by one at first: most assets hold one to three.
            self.entries.reserve_exact((self.entries.len() / 2).max(1));
        }
        if place == self.entries.len() {
            self.entries.push_back(new);
        } else {
            self.entries.insert(place, new);
        }
        if place < self.going as usize {
            self.going += 1;
        } else {
            self.deadline = self.deadline.min(new.deadline());
        }
        if new.trusted {
            self.feed();
        }
        None
    }

    /// Where a fix belongs that is not the newest; or the one of its source and instant.
    fn place_of(&self, new: &Entry<T>) -> Result<usize, usize> {
        let key = new.key();
        let mut place = self.entries.len();
        while place > 0 && self.entries[place - 1].key() > key {
            place -= 1;
        }
        let instant = self.entries.iter().enumerate().take(place).rev();
        let mut instant = instant.take_while(|(_, held)| held.key() == key);
        let held = instant.find(|(_, held)| held.source == new.source);
        held.map_or(Ok(place), |(at, _)| Err(at))
    }

    /// The trusted feed's clock, its highest key, may have moved on. Once that key is released
    /// nothing waits that this clock could release.
    fn feed(&mut self) {
        let trusted = |entry: &&Entry<T>| entry.trusted;
        let Some(clock) = self.entries.iter().rev().find(trusted).map(Entry::key) else { return };
        self.let_go(|entry| entry.is_fed(clock));
    }

    /// Those that are due, and all before them, may go.
    fn let_go(&mut self, is_due: impl Fn(&Entry<T>) -> bool) {
        self.deadline = NO_DEADLINE;
        for (place, entry) in self.entries.iter().enumerate().skip(self.going as usize) {
            if is_due(entry) {
                self.going = place as u32 + 1;
                self.deadline = NO_DEADLINE;
            } else {
                self.deadline = self.deadline.min(entry.deadline());
            }
        }
    }

    fn may_go(&mut self, now: BootTime) -> bool {
        if self.going == 0 && self.deadline <= now {
            self.let_go(|entry| entry.deadline() <= now);
        }
        self.going > 0
    }

    fn take(&mut self, spares: &mut Spares<T>) -> Option<OrderedFix<T>> {
        let fix = OrderedFix(self.entries.pop_front()?);
        if self.going > 0 {
            self.going -= 1;
        } else {
            // Pushed out before its time: its deadline may have been the earliest.
            self.let_go(|_| false);
        }
        if self.entries.is_empty() {
            spares.give(std::mem::take(&mut self.entries));
        }
        let key = fix.0.key();
        assert!(self.watermark.is_none_or(|mark| mark <= key), "releases are in key order");
        self.watermark = Some(key);
        Some(fix)
    }
}

#[cfg(test)]
mod tests;
