//! Whether an ordered fix may vote, and how often usable ones come (FIX-1, FIX-3, FIX-4).
//!
//! Always holds: only a usable fix changes the interval or the place that jumps are measured
//! from; one outlier, however accurate it claims to be, changes neither.
//! Does not know: zones, ranks, clocks. Positions that are none never get here (`epoch`).

use serde::{Deserialize, Serialize};

use crate::logic::geometry::ground;
use crate::logic::gnss::{Fix, FixQuality, Reject};
use crate::units::{EventTime, Position, Span};

/// Estimated fixes sustain an asset this long after the last measured one (FIX-3).
pub const ESTIMATED_MAX: Span = Span::from_secs(60);
/// This many fixes that agree with one another overrule the last usable one (FIX-1).
pub const OVERRULE_FIXES: u8 = 3;
/// The interval is read from this many gaps (FIX-4).
pub const GAPS: usize = 5;
/// The longest interval: a tracker that reports once a day (FIX-4).
pub const INTERVAL_MAX: Span = Span::from_secs(24 * 3600);
/// The silence limit is at least this many intervals (FIX-4).
const SILENCE_INTERVALS: i64 = 3;

/// What the gate is told, from config.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GateRules {
    /// A fix with a worse accuracy is unusable.
    pub max_accuracy_m: f64,
    /// A faster implied motion is a jump.
    pub max_speed_mps: f64,
    /// The silence limit is at least this.
    pub stale_after: Span,
    /// The declared reporting interval, until the gaps show another.
    pub interval: Span,
}

/// What a fix may do.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// May vote.
    Usable,
    /// May vote, but stands where the last usable one was not: no way leads from there to here.
    Overrules,
    /// Ends silence, and nothing else.
    Sustains,
    /// Does nothing but be counted.
    Rejected(Reject),
}

/// Where and when a fix was, for the implied speed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Spot {
    time: EventTime,
    position: Position,
    accuracy_m: f64,
    source: u16,
    step: u32,
}

impl Spot {
    /// FIX-1. Between sources or steps times cannot be compared, so nothing is implied.
    ///
    /// Ordering makes times grow within a step; should they not, the time apart counts without
    /// its sign, and at no time apart any distance beyond both accuracies is too fast.
    fn jumps_to(&self, other: &Self, max_speed_mps: f64) -> bool {
        if (self.source, self.step) != (other.source, other.step) {
            return false;
        }
        let way_m = max_speed_mps * (other.time - self.time).abs().secs_f64();
        let is_beyond = |apart_m: f64| {
            let beyond_m = (apart_m - self.accuracy_m - other.accuracy_m).max(0.0);
            beyond_m > way_m
        };
        let (here, there) = (self.position, other.position);
        is_beyond(ground::distance_at_most_m(here, there))
            && is_beyond(ground::distance_m(here, there))
    }
}

/// Fixes at a new place that may yet overrule the last usable one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Challenger {
    last: Spot,
    fixes: u8,
}

/// What one asset's fixes are judged against.
///
/// Stored: fields may be added, and an older row then starts them at nothing (STO-6).
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Gate {
    /// The last usable fix; usable ones are measured.
    last: Option<Spot>,
    /// Boxed because it is there only after a jump.
    challenger: Option<Box<Challenger>>,
    #[serde(flatten)]
    gaps: Gaps,
}

/// The last gaps between one asset's usable fixes, or those of one of its sources (FIX-4).
///
/// Stored with the gate.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Gaps {
    /// In nanoseconds, newest first.
    gaps_nanos: [i64; GAPS],
    /// How many of them have been seen.
    gaps_seen: u8,
}

impl Gaps {
    /// A time that stands or goes back (a new step, two sources of one instant) is no gap.
    pub fn note(&mut self, gap: Span) {
        if gap > Span::ZERO {
            self.gaps_nanos.rotate_right(1);
            self.gaps_nanos[0] = gap.nanos();
            self.gaps_seen = (self.gaps_seen + 1).min(GAPS as u8);
        }
    }

    /// FIX-4: the second longest of the last gaps, the declared interval in the place of those
    /// not yet seen. One long gap is the longest, so it never changes it.
    pub fn interval(&self, declared: Span) -> Span {
        let mut gaps = [declared.nanos(); GAPS];
        let seen = usize::from(self.gaps_seen).min(GAPS);
        gaps[..seen].copy_from_slice(&self.gaps_nanos[..seen]);
        gaps.sort_unstable();
        Span::from_nanos(gaps[GAPS - 2]).min(INTERVAL_MAX)
    }
}

impl Gate {
    /// Judges the next fix in order.
    pub fn judge(&mut self, rules: &GateRules, fix: &Fix, source: u16, step: u32) -> Verdict {
        let accuracy_m = fix.accuracy_m;
        // Zero or NaN would be an unknown that `epoch` let through: it claims nothing here.
        if !(accuracy_m > 0.0 && accuracy_m <= rules.max_accuracy_m) {
            return Verdict::Rejected(Reject::Accuracy);
        }
        let spot = Spot { time: fix.time, position: fix.position, accuracy_m, source, step };
        let jumps = self.last.is_some_and(|last| last.jumps_to(&spot, rules.max_speed_mps));
        match fix.quality {
            FixQuality::Estimated if jumps => Verdict::Rejected(Reject::Jump),
            FixQuality::Estimated if self.sustains(fix.time) => Verdict::Sustains,
            FixQuality::Estimated => Verdict::Rejected(Reject::NoPosition),
            FixQuality::Measured if jumps && !self.overrules(rules, spot) => {
                Verdict::Rejected(Reject::Jump)
            }
            FixQuality::Measured => {
                self.accept(spot);
                if jumps { Verdict::Overrules } else { Verdict::Usable }
            }
        }
    }

    /// FIX-4.
    pub fn interval(&self, rules: &GateRules) -> Span {
        self.gaps.interval(rules.interval)
    }

    /// What the interval is read from.
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// FIX-4: S. A silence longer than this makes the asset stale.
    pub fn silence_limit(&self, rules: &GateRules) -> Span {
        rules.stale_after.max(self.interval(rules).times(SILENCE_INTERVALS))
    }

    /// When the last usable fix was.
    pub fn last_usable(&self) -> Option<EventTime> {
        self.last.map(|last| last.time)
    }

    /// Where the last usable fix was.
    pub fn last_position(&self) -> Option<Position> {
        self.last.map(|last| last.position)
    }

    /// FIX-3.
    fn sustains(&self, time: EventTime) -> bool {
        let since = self.last.map(|last| time - last.time);
        since.is_some_and(|since| since >= Span::ZERO && since <= ESTIMATED_MAX)
    }

    /// Counts a jumping fix for the new place; true when it is the one that overrules.
    fn overrules(&mut self, rules: &GateRules, spot: Spot) -> bool {
        let agreeing = match self.challenger.as_deref() {
            Some(held)
                if (held.last.source, held.last.step) == (spot.source, spot.step)
                    && !held.last.jumps_to(&spot, rules.max_speed_mps) =>
            {
                held.fixes
            }
            _ => 0,
        };
        let fixes = agreeing + 1;
        self.challenger = Some(Box::new(Challenger { last: spot, fixes }));
        fixes >= OVERRULE_FIXES
    }

    fn accept(&mut self, spot: Spot) {
        if let Some(last) = self.last {
            self.gaps.note(spot.time - last.time);
        }
        self.last = Some(spot);
        self.challenger = None;
    }
}

#[cfg(test)]
mod tests;
