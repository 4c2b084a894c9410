//! The receiver: what it says of a drive, epoch by epoch.
//!
//! Always holds: the same receiver, drive and chance give the same epochs; each epoch draws the
//! same numbers whatever becomes of it, so an outage changes nothing but what it hides. The
//! accuracy that is claimed is the honest 68 % radius of the noise, outliers left out, as a
//! receiver does not know of them.
//! Does not know: zones, sentences.

use super::chance::Chance;
use super::drive::{Drive, Motion, beside};
use crate::units::{EventTime, Position, Span};

/// The 68 % radius of noise with deviation 1 along each axis: √(−2 ln 0.32).
pub const HONEST_RADIUS: f64 = 1.509_592;

/// 1,024 weeks: one era of the week number that GPS sends.
const ERA: Span = Span::from_secs(1024 * 7 * 86_400);

/// Noise whose next value remembers the last: first-order Gauss–Markov. A `tau` of half a minute
/// is multipath; one of many minutes is drift.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wander {
    /// Deviation along each axis in the long run.
    pub sigma_m: f64,
    /// After so long a share of 1/e is left.
    pub tau: Span,
}

/// Positions that are plainly wrong.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Outliers {
    /// Share of the epochs, 0 to 1.
    pub share: f64,
    /// How far off, in any direction.
    pub size_m: f64,
}

/// What is missing in an outage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// Positions: the receiver goes on talking, as in a tunnel.
    Fix,
    /// Everything: the cable, the power.
    Everything,
}

/// From one moment until just before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// Its beginning.
    pub from: Span,
    /// Its end.
    pub until: Span,
    /// What is missing.
    pub missing: Missing,
}

/// What is wrong with the time that a receiver tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockFault {
    /// The week number rolled over: 1,024 weeks behind from this moment on.
    Rollover {
        /// When.
        at: Span,
    },
    /// The clock is off by so much from this moment on.
    Step {
        /// When.
        at: Span,
        /// Ahead; negative is behind.
        by: Span,
    },
    /// One epoch alone is off.
    Jump {
        /// When.
        at: Span,
        /// Ahead; negative is behind.
        by: Span,
    },
}

/// A receiver's qualities.
#[derive(Clone, PartialEq, Debug)]
pub struct Receiver {
    /// From one epoch to the next.
    pub interval: Span,
    /// Deviation along each axis of the noise that is new in each epoch.
    pub white_m: f64,
    /// Noise that lasts.
    pub wanders: Vec<Wander>,
    /// Plainly wrong positions.
    pub outliers: Outliers,
    /// It never claims to be more accurate than this.
    pub accuracy_min_m: f64,
    /// When nothing is heard.
    pub outages: Vec<Outage>,
    /// What is wrong with its clock.
    pub faults: Vec<ClockFault>,
}

/// All of one measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Epoch {
    /// When it was measured.
    pub true_time: EventTime,
    /// When the receiver says it was.
    pub time: EventTime,
    /// Where the receiver says it is; `None` without a fix.
    pub place: Option<Position>,
    /// The claimed deviation along each axis.
    pub deviation_m: f64,
    /// The claimed 68 % radius.
    pub accuracy_m: f64,
    /// How it moves, free of noise.
    pub motion: Motion,
}

impl Receiver {
    /// Without noise, at one epoch an interval.
    pub fn exact(interval: Span) -> Self {
        Self {
            interval,
            white_m: 0.0,
            wanders: Vec::new(),
            outliers: Outliers::default(),
            accuracy_min_m: 1.0,
            outages: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// The deviation along each axis of all its noise together.
    pub fn deviation_m(&self) -> f64 {
        let wanders: f64 = self.wanders.iter().map(|w| w.sigma_m * w.sigma_m).sum();
        (self.white_m * self.white_m + wanders).sqrt().max(self.accuracy_min_m / HONEST_RADIUS)
    }

    /// What it says of a drive that began at `began`, from the beginning to the end.
    pub fn epochs<'a>(
        &'a self,
        drive: &'a Drive,
        began: EventTime,
        mut chance: Chance,
    ) -> impl Iterator<Item = Epoch> + 'a {
        let steady = |w: &Wander| {
            let kept = (-self.interval.secs_f64() / w.tau.secs_f64().max(f64::MIN_POSITIVE)).exp();
            (kept, w.sigma_m * (1.0 - kept * kept).sqrt())
        };
        let steps: Vec<(f64, f64)> = self.wanders.iter().map(steady).collect();
        let start = |w: &Wander| (w.sigma_m * chance.normal(), w.sigma_m * chance.normal());
        let mut offs: Vec<(f64, f64)> = self.wanders.iter().map(start).collect();
        let interval = Span::from_nanos(self.interval.nanos().max(1));
        let count = drive.length().nanos() / interval.nanos();
        (0..=count).filter_map(move |n| {
            let after = interval.times(n);
            let mut off = (self.white_m * chance.normal(), self.white_m * chance.normal());
            for ((kept, fresh_m), own) in steps.iter().zip(&mut offs) {
                off = (off.0 + own.0, off.1 + own.1);
                own.0 = kept * own.0 + fresh_m * chance.normal();
                own.1 = kept * own.1 + fresh_m * chance.normal();
            }
            let (wrong, (east, north)) = (chance.unit(), chance.direction());
            if wrong < self.outliers.share {
                let size_m = self.outliers.size_m;
                off = (off.0 + size_m * east, off.1 + size_m * north);
            }
            self.epoch(drive, began, after, off)
        })
    }

    fn epoch(
        &self,
        drive: &Drive,
        began: EventTime,
        after: Span,
        (east_m, north_m): (f64, f64),
    ) -> Option<Epoch> {
        let missing = |what| {
            let mut own = self.outages.iter().filter(|o| o.missing == what);
            own.any(|o| o.from <= after && after < o.until)
        };
        if missing(Missing::Everything) {
            return None;
        }
        let place = beside(drive.at(after), east_m, north_m);
        let deviation_m = self.deviation_m();
        Some(Epoch {
            true_time: began + after,
            time: self.told(began + after, after),
            place: (!missing(Missing::Fix)).then_some(place),
            deviation_m,
            accuracy_m: HONEST_RADIUS * deviation_m,
            motion: drive.motion(after),
        })
    }

    /// The time that it tells.
    fn told(&self, time: EventTime, after: Span) -> EventTime {
        self.faults.iter().fold(time, |time, fault| match *fault {
            ClockFault::Rollover { at } if at <= after => time - ERA,
            ClockFault::Step { at, by } if at <= after => time + by,
            ClockFault::Jump { at, by } if at <= after && after < at + self.interval => time + by,
            _ => time,
        })
    }
}
