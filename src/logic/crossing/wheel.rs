//! One hashed timer wheel for all vote deadlines (Varghese and Lauck, scheme 6).
//!
//! Always holds: whatever was set comes out once, at or after its deadline and less than a tick
//! late, as soon as somebody turns the wheel that far. Does not know: what a deadline is for, nor
//! whether it still matters: who casts a vote sets one, nobody takes one back.

use crate::units::{BootTime, Span};

/// One turn is 256 ticks of a quarter of a second, 64 s: most votes run out in 4.5 s, those of
/// trackers that report once a minute go round a few times.
const SLOTS: i64 = 256;
const TICK: Span = Span::from_millis(250);

/// Something that runs out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Entry<T> {
    tick: i64,
    what: T,
}

/// The wheel.
#[derive(Debug)]
pub struct Wheel<T> {
    slots: Vec<Vec<Entry<T>>>,
    /// The last tick that has been turned past.
    turned: i64,
    /// When there is something to turn past again.
    next_tick: BootTime,
    len: usize,
}

impl<T> Default for Wheel<T> {
    fn default() -> Self {
        let slots = std::iter::repeat_with(Vec::new).take(SLOTS as usize).collect();
        Self { slots, turned: i64::MIN, next_tick: BootTime::from_nanos(i64::MIN), len: 0 }
    }
}

/// The first tick at or after `time`.
fn tick_at(time: BootTime) -> i64 {
    let ticks = time.nanos().div_euclid(TICK.nanos());
    ticks + i64::from(time.nanos().rem_euclid(TICK.nanos()) > 0)
}

const fn slot_of(tick: i64) -> usize {
    tick.rem_euclid(SLOTS) as usize
}

impl<T> Wheel<T> {
    /// How many are set.
    pub const fn len(&self) -> usize {
        self.len
    }
    /// Whether none is.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// `what` runs out at `deadline`; at the next turn, where that is past.
    pub fn set(&mut self, deadline: BootTime, what: T) {
        let tick = tick_at(deadline).max(self.turned.saturating_add(1));
        self.slots[slot_of(tick)].push(Entry { tick, what });
        self.len += 1;
    }

    /// Turns up to `now`; `out` gets whatever has run out, tick by tick unless a whole turn was
    /// missed.
    #[inline]
    pub fn turn(&mut self, now: BootTime, out: impl FnMut(T)) {
        if now >= self.next_tick {
            self.turn_on(now, out);
        }
    }

    #[inline(never)]
    fn turn_on(&mut self, now: BootTime, mut out: impl FnMut(T)) {
        let last = now.nanos().div_euclid(TICK.nanos());
        self.next_tick = BootTime::from_nanos(last.saturating_add(1).saturating_mul(TICK.nanos()));
        let first = self.turned.saturating_add(1).max(last.saturating_sub(SLOTS - 1));
        self.turned = last;
        for tick in first..=last {
            if self.len == 0 {
                return;
            }
            let slot = &mut self.slots[slot_of(tick)];
            let before = slot.len();
            for entry in slot.extract_if(.., |entry| entry.tick <= last) {
                out(entry.what);
            }
            self.len -= before - slot.len();
            if slot.is_empty() {
                *slot = Vec::new();
            }
        }
    }

    /// When the next runs out.
    pub fn next(&self) -> Option<BootTime> {
        if self.len == 0 {
            return None;
        }
        let due = |tick: &i64| self.slots[slot_of(*tick)].iter().any(|entry| entry.tick == *tick);
        let soon = (1..SLOTS).map(|ahead| self.turned.saturating_add(ahead)).find(due);
        let last = || self.slots.iter().flatten().map(|entry| entry.tick).min();
        let tick = soon.or_else(last)?;
        Some(BootTime::from_nanos(tick.saturating_mul(TICK.nanos())))
    }

    /// Everything that is set, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().flatten().map(|entry| &entry.what)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(millis: i64) -> BootTime {
        BootTime::from_nanos(millis * 1_000_000)
    }

    proptest! {
        /// PAIR-4: the wheel gives what a list of timers gives, at most a tick later, however it
        /// is turned: within a tick, round many times, or not for days.
        #[test]
        fn pair_4_the_wheel_is_a_list_of_timers(
            plays in prop::collection::vec(
                (prop::option::of(0i64..400_000), prop_oneof![0i64..900, 0i64..200_000]),
                1..300,
            ),
        ) {
            let (mut wheel, mut naive, mut now) = (Wheel::default(), Vec::new(), 5_000);
            for (ix, (set, turn)) in plays.into_iter().enumerate() {
                if let Some(ahead) = set {
                    wheel.set(at(now + ahead), ix);
                    naive.push((now + ahead, ix));
                }
                now += turn;
                let next = wheel.next();
                let mut out = Vec::new();
                wheel.turn(at(now), |what| out.push(what));
                out.sort_unstable();
                for what in &out {
                    let place = naive.iter().position(|(_, own)| own == what);
                    let (due, _) = naive.remove(place.expect("it comes out once"));
                    prop_assert!(due <= now, "{} came out at {now}", due);
                }
                let late = naive.iter().find(|(due, _)| due + TICK.nanos() / 1_000_000 <= now);
                prop_assert_eq!(late, None, "at {}", now);
                prop_assert_eq!(wheel.len(), naive.len());
                prop_assert_eq!(next.is_some_and(|next| next <= at(now)), !out.is_empty());
                prop_assert_eq!(wheel.iter().count(), naive.len());
            }
        }
    }
}
