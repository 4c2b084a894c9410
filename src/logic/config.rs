//! Text to [`Config`]: every check, working defaults, and who set what.
//!
//! Always holds: a `Config` that exists passed every check (INV-8); defaults are those of the
//! shipped reference. Does not know: where the files are or how they are read.

use crate::units::{EventTime, Span};

/// `[decide]`: what makes a crossing. A zone may override the first four.
#[derive(Clone, PartialEq, Debug)]
pub struct Decide {
    /// Agreeing fixes needed to change a membership, 1..=31.
    pub confirm: u8,
    /// Which must span this long.
    pub confirm_for: Span,
    /// How far inside an inside vote must be.
    pub enter_margin_m: f64,
    /// How far outside an outside vote must be, beyond twice the accuracy.
    pub exit_margin_m: f64,
    /// Accuracy counts at most this much against an outside vote.
    pub accuracy_cap_m: f64,
    /// A worse fix decides nothing.
    pub max_accuracy_m: f64,
    /// Accuracy is HDOP times this when the receiver gives no better.
    pub range_error_m: f64,
    /// A faster implied motion is a jump.
    pub max_speed_mps: f64,
    /// Fixed time a vote stands; `None` follows PAIR-1.
    pub vote_timeout: Option<Span>,
    /// The silence limit is at least this.
    pub stale_after: Span,
    /// Longer brackets are uncertain; `None` is the silence limit.
    pub infer_limit: Option<Span>,
}

impl Default for Decide {
    fn default() -> Self {
        Self {
            confirm: 3,
            confirm_for: Span::from_secs(2),
            enter_margin_m: 0.0,
            exit_margin_m: 10.0,
            accuracy_cap_m: 30.0,
            max_accuracy_m: 50.0,
            range_error_m: 5.0,
            max_speed_mps: 100.0,
            vote_timeout: None,
            stale_after: Span::from_secs(300),
            infer_limit: None,
        }
    }
}

/// When this source was released (TIME-1): of the source, not of the build, so that the same
/// source judges alike on every machine. 2026-11-30T00:00:00Z.
pub const RELEASE_DATE: EventTime = EventTime::from_nanos(1_795_996_800_000_000_000);

/// `[time]`: what makes a receiver's time believable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeRules {
    /// How far a fix may lie from the running offset (TIME-3).
    pub skew_tolerance: Span,
    /// Fixes in a row that must agree before a step is believed (TIME-4).
    pub steps_to_adopt: u8,
    /// Earliest plausible time, set outright (TIME-1); also the base of TIME-2.
    pub floor: Option<EventTime>,
    /// Else the floor follows from this and from what was stored.
    pub release_date: EventTime,
}

impl Default for TimeRules {
    fn default() -> Self {
        Self {
            skew_tolerance: Span::from_secs(2),
            steps_to_adopt: 5,
            floor: None,
            release_date: RELEASE_DATE,
        }
    }
}
