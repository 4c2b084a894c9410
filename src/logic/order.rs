//! One asset's fixes put in order: a bounded heap, its deadlines, the watermark (DESIGN §2 ORD).
//!
//! Always holds: what is released never goes back in key order (step number, event time,
//! arrival); nothing pushed is lost: it is released, or named late, a repeat, or of an instant
//! already held. An asset with nothing waiting owns no memory but its watermark.
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
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry<T> {
    /// The asset's step number when it came.
    pub step: u32,
    /// Its event time.
    pub time: EventTime,
    /// Its stamp: when its bytes arrived.
    pub at: BootTime,
    /// How long it may wait for earlier ones.
    pub window: Span,
    /// Who sent it. Only fixes of one source compete for an instant: another's may not vote.
    pub source: u16,
    /// 68 % radius, positive and finite.
    pub accuracy_m: f64,
    /// What is carried along; equal payloads at one instant are one fix.
    pub payload: T,
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

/// A fix that waits.
///
/// A fix goes when it, or any after it, is due; so each holds the earliest due of itself and all
/// behind it. Those never fall from front to back, and the front's is that of the whole heap.
#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    entry: Entry<T>,
    trusted: bool,
    /// When the loop's clock gets here.
    deadline: BootTime,
    /// When the trusted feed's clock gets here.
    fed_due: Watermark,
}

/// The deadline of what no boot time releases.
const NO_DEADLINE: BootTime = BootTime::from_nanos(i64::MAX);
/// Where no trusted feed's clock gets.
const NO_FED: Watermark = Watermark { step: u32::MAX, time: EventTime::from_nanos(i64::MAX) };

impl<T> Slot<T> {
    fn new(entry: Entry<T>, trusted: bool) -> Self {
        let (step, window) = (entry.step, entry.window);
        let (deadline, fed_due) = if trusted {
            (NO_DEADLINE, Watermark { step, time: entry.time + window })
        } else {
            (entry.at + window, NO_FED)
        };
        Self { entry, trusted, deadline, fed_due }
    }
    const fn key(&self) -> Watermark {
        Watermark { step: self.entry.step, time: self.entry.time }
    }
}

/// What an asset owns while anything waits.
#[derive(Clone, Debug)]
struct Waiting<T> {
    /// In key order; of one instant, in order of arrival.
    slots: VecDeque<Slot<T>>,
    /// The trusted feed's clock: its highest key. An older step's fixes wait for nothing more.
    fed: Option<Watermark>,
    /// The feed has ended: all may go.
    ended: bool,
}

impl<T: Copy + PartialEq> Waiting<T> {
    const fn new() -> Self {
        Self { slots: VecDeque::new(), fed: None, ended: false }
    }

    /// Inserts from the back, where nearly every fix belongs. `Some` when ORD-3 answers instead.
    fn insert(&mut self, mut new: Slot<T>) -> Option<Pushed<T>> {
        let key = new.key();
        let mut place = self.slots.len();
        while place > 0 && self.slots[place - 1].key() > key {
            place -= 1;
        }
        let instant = self.slots.range_mut(..place).rev().take_while(|held| held.key() == key);
        for held in instant {
            if held.entry.source == new.entry.source {
                return Some(compete(&mut held.entry, new.entry));
            }
        }
        if new.trusted {
            self.fed = self.fed.max(Some(key));
        }
        if let Some(behind) = self.slots.get(place) {
            new.deadline = new.deadline.min(behind.deadline);
            new.fed_due = new.fed_due.min(behind.fed_due);
        }
        for before in self.slots.range_mut(..place).rev() {
            if before.deadline <= new.deadline && before.fed_due <= new.fed_due {
                break;
            }
            before.deadline = before.deadline.min(new.deadline);
            before.fed_due = before.fed_due.min(new.fed_due);
        }
        self.slots.insert(place, new);
        None
    }

    fn may_go(&self, now: BootTime) -> bool {
        let due = |front: &Slot<T>| {
            front.deadline <= now || self.fed.is_some_and(|fed| front.fed_due <= fed)
        };
        self.ended || self.slots.front().is_some_and(due)
    }
}

/// ORD-3. The instant has waited since its first fix came, so that one's stamp stands.
fn compete<T: PartialEq>(held: &mut Entry<T>, new: Entry<T>) -> Pushed<T> {
    if held.payload == new.payload {
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
    /// Absent while nothing waits, so that a million idle assets cost a watermark each.
    waiting: Option<Box<Waiting<T>>>,
}

impl<T: Copy + PartialEq> Heap<T> {
    /// An empty heap that goes on after the key released last, if any was.
    pub const fn new(restored: Option<Watermark>) -> Self {
        Self { watermark: restored, waiting: None }
    }

    /// Takes a fix in. `trusted` is `trust = "fixes"`: the feed's event time is its clock, and
    /// the stamp sets no deadline.
    pub fn push(&mut self, entry: Entry<T>, trusted: bool) -> Pushed<T> {
        let key = Watermark { step: entry.step, time: entry.time };
        if let Some(mark) = self.watermark.filter(|mark| key <= *mark) {
            let behind = if key.step == mark.step { mark.time - key.time } else { Span::ZERO };
            return Pushed::Late { by: behind };
        }
        let waiting = self.waiting.get_or_insert_with(|| Box::new(Waiting::new()));
        if let Some(answer) = waiting.insert(Slot::new(entry, trusted)) {
            return answer;
        }
        let full = waiting.slots.len() > HEAP_FIXES_MAX;
        let early = if full { self.take() } else { None };
        Pushed::Accepted { early }
    }

    /// When [`Heap::release`] has something to give next, if boot time decides it. After a push
    /// into a trusted feed, and after [`Heap::finish`], it may have at once.
    pub fn next_deadline(&self) -> Option<BootTime> {
        let front = self.waiting.as_ref()?.slots.front()?;
        Some(front.deadline).filter(|deadline| *deadline < NO_DEADLINE)
    }

    /// The next fix that may go by `now`, in key order. Ask until it is `None`, after each push
    /// and at each deadline.
    pub fn release(&mut self, now: BootTime) -> Option<OrderedFix<T>> {
        if self.waiting.as_ref()?.may_go(now) { self.take() } else { None }
    }

    /// The feed has ended: all that waits may go.
    pub fn finish(&mut self) {
        if let Some(waiting) = self.waiting.as_mut() {
            waiting.ended = true;
        }
    }

    /// The key released last.
    pub const fn watermark(&self) -> Option<Watermark> {
        self.watermark
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.as_ref().map_or(0, |waiting| waiting.slots.len())
    }

    /// Whether none wait.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_none()
    }

    /// Those that wait, in key order, and whether each is of a trusted feed: for the checkpoint.
    /// Pushed again in this order into a heap of the same watermark they make the same heap.
    pub fn waiting(&self) -> impl Iterator<Item = (&Entry<T>, bool)> {
        let slots = self.waiting.iter().flat_map(|waiting| waiting.slots.iter());
        slots.map(|slot| (&slot.entry, slot.trusted))
    }

    fn take(&mut self) -> Option<OrderedFix<T>> {
        let waiting = self.waiting.as_mut()?;
        let fix = OrderedFix(waiting.slots.pop_front()?.entry);
        if waiting.slots.is_empty() {
            self.waiting = None;
        }
        let key = Watermark { step: fix.step(), time: fix.time() };
        assert!(self.watermark.is_none_or(|mark| mark <= key), "releases are in key order");
        self.watermark = Some(key);
        Some(fix)
    }
}

#[cfg(test)]
mod tests;
