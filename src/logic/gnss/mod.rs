//! From bytes to fixes: `line` frames and checks sentences, `epoch` merges them into one
//! measurement, `trust` gives it an honest time, `gate` says whether it may vote.
//!
//! Always holds: foreign input gives a value or a counted [`Reject`], never a panic.
//! Does not know: zones, files, sockets, clocks.

use serde::{Deserialize, Serialize};

use crate::logic::event::TimeQuality;
use crate::units::{EventTime, Position, Span};

pub mod baud;
pub mod epoch;
pub mod gate;
pub mod gpsd;
pub mod line;
pub mod record;
pub mod trust;
pub mod voting;

/// Whether the position was measured by satellites or carried on by dead reckoning (FIX-3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixQuality {
    /// Autonomous, differential or RTK.
    Measured,
    /// Dead reckoning: ends silence for a while, never votes.
    Estimated,
}

/// A date as a receiver tells it, which exists in the calendar. It may be decades off (TIME-2).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CivilDate {
    year: i16,
    month: i8,
    day: i8,
}

impl CivilDate {
    /// A checked date; `None` where the calendar has none.
    pub fn new(year: i16, month: i8, day: i8) -> Option<Self> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => return None,
        };
        ((1..=9999).contains(&year) && (1..=days).contains(&day)).then_some(Self {
            year,
            month,
            day,
        })
    }
    /// The year, four digits.
    pub const fn year(self) -> i16 {
        self.year
    }
    /// 1 to 12.
    pub const fn month(self) -> i8 {
        self.month
    }
    /// 1 to 31.
    pub const fn day(self) -> i8 {
        self.day
    }
    /// The instant of a time of this day, where 64 bits of nanoseconds reach.
    pub fn at(self, of_day: Span) -> Option<EventTime> {
        EventTime::from_civil(self.year, self.month, self.day, of_day)
    }
}

/// One asset's position at one event time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Fix {
    /// When, in UTC.
    pub time: EventTime,
    /// Where that time comes from.
    pub time_quality: TimeQuality,
    /// Where.
    pub position: Position,
    /// 68 % radius in metres, positive and finite (FIX-2).
    pub accuracy_m: f64,
    /// Measured or estimated.
    pub quality: FixQuality,
    /// Speed over ground.
    pub speed_mps: Option<f32>,
    /// Course over ground in degrees from north.
    pub heading_deg: Option<f32>,
    /// Height above mean sea level.
    pub altitude_m: Option<f32>,
}

/// Why something from outside was not used. Each is a counter (`health`), none is an error.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reject {
    /// Bytes that belong to no sentence.
    Noise,
    /// A line over the cap.
    Overlong,
    /// A checksum that does not match.
    Checksum,
    /// No checksum where the source requires one.
    NoChecksum,
    /// A sentence whose fields cannot be read.
    Malformed,
    /// A record (CSV, JSON lines) whose fields cannot be read.
    BadRecord,
    /// No valid position.
    NoPosition,
    /// Exactly 0,0.
    NullIsland,
    /// Out of range or not finite.
    OutOfRange,
    /// Simulated or manual mode.
    Simulated,
    /// Accuracy worse than `max_accuracy_m`.
    Accuracy,
    /// Implied speed above `max_speed_mps`.
    Jump,
    /// No time that can be trusted (TIME-6), and pushed out of the held fixes by newer ones.
    NoTime,
    /// A time of which no date can be made, or a date that does not exist.
    BadDate,
    /// Late: at or before the watermark (ORD-2).
    Late,
    /// Late by more than any window would have waited: a backlog.
    LateBacklog,
    /// An identical repeat of a fix already taken (ORD-3).
    Repeat,
    /// A less accurate fix of an instant already taken (ORD-3).
    SameInstant,
    /// One asset more than a gateway follows.
    TooManyAssets,
    /// From a source that is not the asset's voting one (ORD-4).
    Standby,
}

impl Reject {
    /// The name in counters, output and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Noise => "noise",
            Self::Overlong => "overlong",
            Self::Checksum => "checksum",
            Self::NoChecksum => "no_checksum",
            Self::Malformed => "malformed",
            Self::BadRecord => "bad_record",
            Self::NoPosition => "no_position",
            Self::NullIsland => "null_island",
            Self::OutOfRange => "out_of_range",
            Self::Simulated => "simulated",
            Self::Accuracy => "accuracy",
            Self::Jump => "jump",
            Self::NoTime => "no_time",
            Self::BadDate => "bad_date",
            Self::Late => "late",
            Self::LateBacklog => "late_backlog",
            Self::Repeat => "repeat",
            Self::SameInstant => "same_instant",
            Self::Standby => "standby",
            Self::TooManyAssets => "too_many_assets",
        }
    }
}
