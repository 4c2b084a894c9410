//! An honest time for every fix of one (asset, source): the clock-trust machine (TIME-1…7).
//!
//! Always holds: a fix keeps its own time unless it is ahead of what the source's other fixes
//! say; a fix comes out once, or is counted under `no_time`; everything is bounded. The system
//! clock only ever names a date, and only where the kernel vouches for it.
//! Does not know: what a fix is (`T`), ordering, which source votes; it is told.

use serde::{Deserialize, Serialize};

use crate::logic::config::TimeRules;
use crate::logic::event::TimeQuality;
use crate::units::{BootTime, EventTime, Span, WallTime};

mod date;
mod floor;
mod held;
mod live;
mod offset;
mod recording;
#[cfg(test)]
mod tests;

pub use floor::AssetClock;

use live::Live;
use recording::Recording;

/// Fixes kept while their time is not known yet (TIME-6): 17 min at 1 Hz.
pub const HELD_MAX: usize = 1024;

/// How far a source's arrival times may be believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// Bytes arrive when they are sent: a serial port.
    Serial,
    /// Bytes may arrive much later: everything that crosses a network or another program.
    Network,
    /// `trust = "fixes"`: recorded or accelerated, event time is arrival time.
    Fixes,
}

/// What the receiver says of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum ReceiverTime {
    /// NMEA, where each part may be missing. 23:59:60 is a time of day (TIME-5).
    Nmea {
        /// Time of day, zero to 24 h and a second.
        of_day: Option<Span>,
        /// Year, month, day.
        date: Option<(i16, i8, i8)>,
    },
    /// A full instant: records and gpsd.
    Utc(EventTime),
}

/// One epoch as it arrived.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stamp<T> {
    /// When its first byte came.
    pub at: BootTime,
    /// What it says of time.
    pub time: ReceiverTime,
    /// Whether it has a valid position. One without only informs the date.
    pub valid_position: bool,
    /// The fix, not dated yet.
    pub payload: T,
}

/// A fix whose time is settled.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Timed<T> {
    /// The fix.
    pub payload: T,
    /// Its event time.
    pub time: EventTime,
    /// Where that comes from (TIME-7).
    pub quality: TimeQuality,
    /// When it arrived.
    pub at: BootTime,
    /// The asset's step number it belongs to.
    pub step: u32,
}

/// What happened to times, by kind. Only ever grows. A process counts its own; but that the floor
/// was proved wrong goes on to be true (STO-3).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct TrustCounters {
    /// Ahead of the estimate and pulled back to it (TIME-3).
    #[serde(skip)]
    pub clamped: u64,
    /// Given boot time + offset instead of a time of their own (TIME-6).
    #[serde(skip)]
    pub restamped: u64,
    /// Steps adopted (TIME-4).
    #[serde(skip)]
    pub stepped: u64,
    /// Fixes that had an era added (TIME-2).
    #[serde(skip)]
    pub rollover: u64,
    /// Times the floor was proved wrong and lowered (TIME-2).
    pub floor_conflict: u64,
    /// Fixes that had to wait for a time (TIME-6).
    #[serde(skip)]
    pub held: u64,
    /// Fixes lost because no time came for them.
    #[serde(skip)]
    pub no_time: u64,
    /// Epochs with a date that does not exist; they count as undated.
    #[serde(skip)]
    pub bad_date: u64,
}

/// Why a source's clock needs a person's attention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Degraded {
    /// No date within 60 s, and the system's is not synchronised (TIME-5).
    NoDate,
    /// The receiver proved the floor wrong: release date, stored time or `[time] floor` is
    /// ahead of the truth, or the receiver is far behind it (TIME-2).
    FloorConflict,
    /// Fixes are waiting for a time that can be trusted (TIME-6).
    Held,
}

/// What is known around one stamp.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// `[time]`.
    pub rules: &'a TimeRules,
    /// The asset's last released key: step number and time.
    pub watermark: Option<(u32, EventTime)>,
    /// Whether this source votes.
    pub voting: bool,
    /// The system clock, where the kernel says that it is synchronised.
    pub system: Option<WallTime>,
}

impl Around<'_> {
    /// ORD-2, for a fix that would be released with this key.
    fn is_late(&self, step: u32, time: EventTime) -> bool {
        self.watermark.is_some_and(|mark| (step, time) <= mark)
    }
}

/// Where what is settled goes.
#[derive(Debug)]
struct Settled<'a, T> {
    out: &'a mut Vec<Timed<T>>,
    counters: &'a mut TrustCounters,
}

/// What a mode needs to remember.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "in a daemon all are live")]
enum Machine<T> {
    Live(Live<T>),
    Recording(Recording<T>),
}

/// The clock-trust machine of one (asset, source).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trust<T> {
    machine: Machine<T>,
    counters: TrustCounters,
}

/// A clock of which nobody speaks, in less room.
#[derive(Clone, Debug)]
pub struct Resting(AtRest);

#[derive(Clone, Debug)]
enum AtRest {
    Live(live::Resting),
    Recording(recording::Resting),
}

impl<T: Copy> Trust<T> {
    /// A source not heard yet.
    pub fn new(mode: Mode) -> Self {
        let machine = match mode {
            Mode::Serial | Mode::Network => Machine::Live(Live::new(mode)),
            Mode::Fixes => Machine::Recording(Recording::new()),
        };
        Self { machine, counters: TrustCounters::default() }
    }

    /// Whether nothing waits here and nothing is wrong: such a clock may rest.
    pub fn is_settled(&self) -> bool {
        self.degraded().is_none()
    }

    /// All that a settled clock knows, in less room, but for its counters: those are whoever's
    /// lets it rest.
    pub fn rest(self) -> Resting {
        match self.machine {
            Machine::Live(live) => Resting(AtRest::Live(live.rest())),
            Machine::Recording(own) => Resting(AtRest::Recording(own.rest())),
        }
    }

    /// Goes on where it rested, counting from zero.
    pub fn wake(resting: Resting) -> Self {
        let machine = match resting.0 {
            AtRest::Live(live) => Machine::Live(Live::wake(live)),
            AtRest::Recording(own) => Machine::Recording(Recording::wake(own)),
        };
        Self { machine, counters: TrustCounters::default() }
    }

    /// Takes one epoch. What is settled is appended to `out` in order of arrival: at most
    /// [`HELD_MAX`] + 1 fixes.
    pub fn handle(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        out: &mut Vec<Timed<T>>,
    ) {
        self.counters.bad_date += u64::from(stamp.time.names_no_day());
        let mut settled = Settled { out, counters: &mut self.counters };
        match &mut self.machine {
            Machine::Live(live) => live.handle(asset, around, stamp, &mut settled),
            Machine::Recording(recording) => recording.handle(asset, around, stamp, &mut settled),
        }
    }

    /// The input has ended: dates what a recording allows, counts the rest under `no_time`.
    pub fn finish(&mut self, asset: &AssetClock, rules: &TimeRules, out: &mut Vec<Timed<T>>) {
        let mut settled = Settled { out, counters: &mut self.counters };
        match &mut self.machine {
            Machine::Live(live) => live.finish(&mut settled),
            Machine::Recording(recording) => recording.finish(asset, rules, &mut settled),
        }
    }

    /// What happened so far.
    pub fn counters(&self) -> TrustCounters {
        self.counters
    }

    /// Event time minus boot time, where it is known: ORD-4 compares voters by it.
    pub fn offset(&self) -> Option<Span> {
        match &self.machine {
            Machine::Live(live) => live.offset(),
            Machine::Recording(_) => None,
        }
    }

    /// Fixes waiting for a time.
    pub fn waiting(&self) -> usize {
        match &self.machine {
            Machine::Live(live) => live.waiting(),
            Machine::Recording(recording) => recording.waiting(),
        }
    }

    /// The worst of what is wrong with this source's clock.
    pub fn degraded(&self) -> Option<Degraded> {
        if matches!(&self.machine, Machine::Live(live) if live.date_missing()) {
            Some(Degraded::NoDate)
        } else if self.counters.floor_conflict > 0 {
            Some(Degraded::FloorConflict)
        } else {
            (self.waiting() > 0).then_some(Degraded::Held)
        }
    }
}

impl<T> Settled<'_, T> {
    fn push(
        &mut self,
        asset: &AssetClock,
        stamp: Stamp<T>,
        (time, quality): (EventTime, TimeQuality),
    ) {
        let Stamp { at, payload, .. } = stamp;
        self.out.push(Timed { payload, time, quality, at, step: asset.step() });
    }
}
