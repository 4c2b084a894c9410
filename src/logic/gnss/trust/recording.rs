//! `trust = "fixes"`: a recorded or accelerated feed, where event time is arrival time (TIME-3).
//!
//! Always holds: no estimate, no clamp; arrival stamps decide nothing; a fix waits only for a
//! date. Does not know: a floor, unless `[time] floor` or `--floor` sets one outright.

use serde::{Deserialize, Serialize};

use super::date::nearest;
use super::floor::{Plausible, is_cold_start, undo_rollover};
use super::held::Held;
use super::{Around, AssetClock, ReceiverTime, Settled, Stamp};
use crate::logic::config::TimeRules;
use crate::logic::event::TimeQuality;
use crate::units::{EventTime, Span};

/// Event time that late fixes in a row must span to be a step back (TIME-3).
const STEP_SPANS: Span = Span::from_secs(2);

/// Late NMEA fixes in a row, each after the one before.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct LateRun {
    first: EventTime,
    last: EventTime,
    fixes: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Recording<T> {
    /// The last NMEA instant, from which epochs without a date carry on.
    last: Option<EventTime>,
    undated: Held<T>,
    late: Option<LateRun>,
}

/// A [`Recording`] that holds no fix, in less room.
#[derive(Clone, Debug)]
pub(super) struct Resting {
    last: Option<EventTime>,
    late: Option<Box<LateRun>>,
}

impl<T: Copy> Recording<T> {
    pub(super) fn new() -> Self {
        Self { last: None, undated: Held::new(), late: None }
    }

    /// The same in less room; what waits for a date is not in it.
    pub(super) fn rest(self) -> Resting {
        Resting { last: self.last, late: self.late.map(Box::new) }
    }

    /// Goes on where it rested.
    pub(super) fn wake(resting: Resting) -> Self {
        let Resting { last, late } = resting;
        Self { last, undated: Held::new(), late: late.map(|run| *run) }
    }

    pub(super) fn waiting(&self) -> usize {
        self.undated.len()
    }

    pub(super) fn handle(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        settled: &mut Settled<'_, T>,
    ) {
        let rules = around.rules;
        if let ReceiverTime::Utc(time) = stamp.time {
            if stamp.valid_position {
                let read = as_sent(time, rules, settled);
                self.begin(asset, read.0, settled);
                settled.push(asset, stamp, read);
            }
            return;
        }
        if let Some(time) = stamp.time.dated() {
            self.dated(asset, around, stamp, time, settled);
        } else if let Some(of_day) = stamp.time.of_day() {
            self.carry_on(asset, around, stamp, of_day, settled);
        } else if stamp.valid_position {
            settled.counters.no_time += 1;
        }
    }

    fn dated(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        time: EventTime,
        settled: &mut Settled<'_, T>,
    ) {
        if !stamp.valid_position {
            // A cold receiver makes up a date until it has a position.
            if !is_cold_start(time) && plausible(time, around.rules) {
                self.begin(asset, time, settled);
            }
            return;
        }
        let (time, quality) = as_sent(time, around.rules, settled);
        self.begin(asset, time, settled);
        self.emit(asset, around, stamp, (time, quality), settled);
    }

    /// A date: what waited for one is dated backwards from it.
    fn begin(&mut self, asset: &AssetClock, time: EventTime, settled: &mut Settled<'_, T>) {
        self.last = Some(time);
        if self.undated.is_empty() {
            return;
        }
        let waiting = self.undated.take();
        let mut times = Vec::with_capacity(waiting.len());
        let mut after = time;
        for of_day in waiting.iter().rev().filter_map(|stamp| stamp.time.of_day()) {
            after = nearest(after, of_day);
            times.push(after);
        }
        for (stamp, time) in waiting.into_iter().zip(times.into_iter().rev()) {
            settled.push(asset, stamp, (time, TimeQuality::Corrected));
        }
    }

    fn carry_on(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        of_day: Span,
        settled: &mut Settled<'_, T>,
    ) {
        if self.last.is_none() && self.undated.is_full() {
            self.begin_on_base_date(asset, around.rules, settled);
        }
        let Some(last) = self.last else {
            if stamp.valid_position {
                self.undated.keep(stamp, settled.counters);
            }
            return;
        };
        let time = nearest(last, of_day);
        self.last = Some(time);
        if stamp.valid_position {
            self.emit(asset, around, stamp, (time, TimeQuality::Corrected), settled);
        }
    }

    fn emit(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        (time, quality): (EventTime, TimeQuality),
        settled: &mut Settled<'_, T>,
    ) {
        if self.is_step_back(around.is_late(asset.step(), time), time, around.rules) {
            settled.counters.stepped += 1;
            if around.voting {
                asset.begin_step();
            }
        }
        settled.push(asset, stamp, (time, quality));
    }

    fn is_step_back(&mut self, late: bool, time: EventTime, rules: &TimeRules) -> bool {
        if !late {
            self.late = None;
            return false;
        }
        let run = match self.late {
            Some(run) if time > run.last => LateRun { last: time, fixes: run.fixes + 1, ..run },
            _ => LateRun { first: time, last: time, fixes: 1 },
        };
        let stepped =
            run.fixes >= u32::from(rules.steps_to_adopt) && run.last - run.first >= STEP_SPANS;
        self.late = (!stepped).then_some(run);
        stepped
    }

    /// No date came at all: `[time] floor` may name the day on which the recording begins.
    fn begin_on_base_date(
        &mut self,
        asset: &AssetClock,
        rules: &TimeRules,
        settled: &mut Settled<'_, T>,
    ) {
        let (Some(floor), Some(of_day)) =
            (rules.floor, self.undated.iter().next().and_then(|stamp| stamp.time.of_day()))
        else {
            return;
        };
        // The first instant with that time of day at or above the floor.
        let noon_after = floor + Span::from_secs(43_200);
        let mut time = nearest(noon_after, of_day);
        for stamp in self.undated.take() {
            let of_day = stamp.time.of_day().unwrap_or(of_day);
            time = nearest(time, of_day);
            settled.push(asset, stamp, (time, TimeQuality::Corrected));
        }
        self.last = Some(time);
    }

    pub(super) fn finish(
        &mut self,
        asset: &AssetClock,
        rules: &TimeRules,
        settled: &mut Settled<'_, T>,
    ) {
        self.begin_on_base_date(asset, rules, settled);
        settled.counters.no_time += self.undated.take().len() as u64;
    }
}

fn plausible(time: EventTime, rules: &TimeRules) -> bool {
    rules.floor.is_none_or(|floor| Plausible::above(floor).has(time))
}

/// A time with its own date: as it is, but for a rollover below a floor that was given.
fn as_sent<T>(
    time: EventTime,
    rules: &TimeRules,
    settled: &mut Settled<'_, T>,
) -> (EventTime, TimeQuality) {
    match rules.floor.and_then(|floor| undo_rollover(time, floor)) {
        Some(moved) => {
            settled.counters.rollover += 1;
            (moved, TimeQuality::Corrected)
        }
        None => (time, TimeQuality::Gnss),
    }
}
