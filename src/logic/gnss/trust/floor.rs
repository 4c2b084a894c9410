//! Which times can be true at all (TIME-1), and which are true but 1024 weeks back (TIME-2).
//!
//! Always holds: an era is added only far below the release date (or `[time] floor`), never
//! because of what was stored; a right receiver is never moved (C9, C18, C21).
//! Does not know: boot times and offsets; who accuses the floor is counted elsewhere.

use serde::{Deserialize, Serialize};

use crate::logic::config::TimeRules;
use crate::units::{EventTime, Span};

const DAY: Span = Span::from_secs(86_400);
const WEEK: Span = DAY.times(7);
/// One roll of the ten-bit week number of GPS (IS-GPS-200).
const ERA: Span = WEEK.times(1024);
/// Plausible is less than this above the floor (TIME-1): under one era, so that no two eras of
/// one time are both plausible.
const PLAUSIBLE: Span = WEEK.times(1000);
/// What the floor lies below the time it comes from (TIME-1).
const FLOOR_MARGIN: Span = Span::from_secs(3600);
/// A time is a week rollover only when it is more than this below the base (TIME-2): 5 years.
const ROLLOVER_BELOW: Span = Span::from_secs(5 * 31_557_600);
/// An era may put it this far below the base: a release is run on the day it is made, below its
/// date, and a receiver that rolled must not be worse off there than a right one (TIME-2).
const ROLLOVER_EARLY: Span = DAY;
/// An era must put it within this above the base (TIME-2): 14 years.
const ROLLOVER_ABOVE: Span = Span::from_secs(14 * 31_557_600);

/// Days since 1970 on which receivers wake before they know the time: 1970-01-01, 1980-01-06,
/// 1999-08-22, 2000-01-01, 2019-04-07 (TIME-2).
const COLD_START_DAYS: [i64; 5] = [0, 3_657, 10_825, 10_957, 17_993];

/// What all sources of one asset share about time: how often it stepped, and its floor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AssetClock {
    step: u32,
    last_gnss: Option<EventTime>,
    /// Where the floor was lowered to in this run (TIME-2). A checkpoint keeps it, the store does
    /// not: a start that is no mere resumption judges the receiver afresh.
    lowered: Option<EventTime>,
}

impl AssetClock {
    /// An asset never seen before.
    pub const NEW: Self = Self { step: 0, last_gnss: None, lowered: None };

    /// A restart without an accepted checkpoint: the next step begins (ORD-1).
    pub fn restored(step: u32, last_gnss: Option<EventTime>) -> Self {
        Self { step: step.saturating_add(1), last_gnss, lowered: None }
    }
    /// The asset's step number, first part of the ordering key.
    pub fn step(&self) -> u32 {
        self.step
    }
    /// The last stored event time of quality `gnss`.
    pub fn last_gnss(&self) -> Option<EventTime> {
        self.last_gnss
    }
    /// An event or fix of quality `gnss` was stored with this time. It may lie below the one
    /// before: that one was a lie (C21).
    pub fn stored_gnss(&mut self, time: EventTime) {
        self.last_gnss = Some(time);
    }
    /// A new step begins (TIME-4, ORD-4).
    pub fn begin_step(&mut self) {
        self.step = self.step.saturating_add(1);
    }
    /// Where the floor was lowered to, if a receiver proved it wrong (TIME-2).
    pub fn lowered(&self) -> Option<EventTime> {
        self.lowered
    }
    pub(super) fn lower_floor(&mut self, lowest: EventTime) {
        self.lowered = Some(lowest - FLOOR_MARGIN);
    }
    /// The earliest plausible time, for status.
    pub fn floor(&self, rules: &TimeRules) -> EventTime {
        self.plausible(rules).floor
    }
    /// The plausible times (TIME-1). Lowering the floor leaves the upper end where it was: a
    /// receiver that wakes in 1980 must not make 2026 implausible.
    pub(super) fn plausible(&self, rules: &TimeRules) -> Plausible {
        let latest = self.last_gnss.map_or(rules.release_date, |t| t.max(rules.release_date));
        let floor = rules.floor.unwrap_or(latest - FLOOR_MARGIN);
        Plausible { floor: self.lowered.unwrap_or(floor), ..Plausible::above(floor) }
    }
}

/// Where a time stands against the floor (TIME-1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// Below the floor: accuses it.
    Below,
    /// Can be true.
    Plausible,
    /// 1000 weeks or more above the floor.
    Beyond,
}

/// The times that can be true.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plausible {
    floor: EventTime,
    end: EventTime,
}

impl Plausible {
    /// Everything from a floor to 1000 weeks above it.
    pub(super) fn above(floor: EventTime) -> Self {
        Self { floor, end: floor + PLAUSIBLE }
    }

    /// Compares a time with them.
    pub(super) fn standing(self, time: EventTime) -> Standing {
        if time < self.floor {
            Standing::Below
        } else if time < self.end {
            Standing::Plausible
        } else {
            Standing::Beyond
        }
    }

    /// Whether a time is one of them.
    pub(super) fn has(self, time: EventTime) -> bool {
        self.standing(time) == Standing::Plausible
    }
}

/// Whether the time is within a day of one that receivers make up when cold.
pub(super) fn is_cold_start(time: EventTime) -> bool {
    let day = time.nanos().div_euclid(DAY.nanos());
    COLD_START_DAYS.iter().any(|cold| (day - cold).abs() <= 1)
}

/// The time with the week rollover undone, where TIME-2 says that it is one.
pub(super) fn undo_rollover(time: EventTime, base: EventTime) -> Option<EventTime> {
    if time >= base - ROLLOVER_BELOW || is_cold_start(time) {
        return None;
    }
    let earliest = base - ROLLOVER_EARLY;
    let missing = i128::from(earliest.nanos()) - i128::from(time.nanos());
    let era = i128::from(ERA.nanos());
    let eras = (missing + era - 1) / era;
    let moved = i128::from(time.nanos()) + eras * era;
    let moved = EventTime::from_nanos(i64::try_from(moved).ok()?);
    (moved - base <= ROLLOVER_ABOVE).then_some(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(text: &str) -> EventTime {
        text.parse().unwrap()
    }

    #[test]
    fn time_2_era_is_the_one_that_lands_above_the_base() {
        let base = t("2026-11-30T00:00:00Z");
        let cases = [
            ("2007-04-16T12:00:00Z", Some("2026-11-30T12:00:00Z")),
            ("1987-08-31T12:00:00Z", Some("2026-11-30T12:00:00Z")),
            // Fourteen years on the receiver still rolls right; after that nobody can know.
            ("2021-01-01T00:00:00Z", Some("2040-08-17T00:00:00Z")),
            ("2021-12-01T00:00:00Z", None),
            // The day before the release is still the receiver's own.
            ("2007-04-15T12:00:00Z", Some("2026-11-29T12:00:00Z")),
            ("2007-04-14T12:00:00Z", None),
            // A right receiver is left alone (C9), so is a cold one (C18).
            ("2026-11-29T00:00:00Z", None),
            ("2027-01-01T00:00:00Z", None),
            ("1970-01-01T00:00:05Z", None),
            ("1980-01-06T00:00:05Z", None),
            ("1980-01-05T23:59:47Z", None),
            ("1999-08-22T12:00:00Z", None),
            ("2000-01-01T12:00:00Z", None),
            ("2019-04-08T12:00:00Z", None),
        ];
        for (time, want) in cases {
            assert_eq!(undo_rollover(t(time), base), want.map(t), "{time}");
        }
    }

    #[test]
    fn time_1_floor_is_the_later_of_release_and_stored_less_an_hour() {
        let mut rules = TimeRules { release_date: t("2026-11-30T00:00:00Z"), ..<_>::default() };
        let mut clock = AssetClock::default();
        assert_eq!(clock.floor(&rules), t("2026-11-29T23:00:00Z"));
        clock.stored_gnss(t("2020-01-01T00:00:00Z"));
        assert_eq!(clock.floor(&rules), t("2026-11-29T23:00:00Z"));
        clock.stored_gnss(t("2027-01-01T00:00:00Z"));
        assert_eq!(clock.floor(&rules), t("2026-12-31T23:00:00Z"));
        rules.floor = Some(t("2010-01-01T00:00:00Z"));
        assert_eq!(clock.floor(&rules), t("2010-01-01T00:00:00Z"));
        clock.lower_floor(t("2009-01-01T00:00:00Z"));
        assert_eq!(clock.floor(&rules), t("2008-12-31T23:00:00Z"));
        assert_eq!(AssetClock::restored(7, clock.last_gnss()).step(), 8);
    }

    #[test]
    fn an_asset_clock_survives_json() {
        let mut clock = AssetClock::restored(4, Some(t("2027-01-01T00:00:00.000000001Z")));
        clock.lower_floor(t("2009-01-01T00:00:00Z"));
        let json = serde_json::to_string(&clock).unwrap();
        let back: AssetClock = serde_json::from_str(&json).unwrap();
        assert_eq!(back, clock);
    }

    #[test]
    fn time_1_plausible_is_a_thousand_weeks() {
        let floor = t("2026-11-30T00:00:00Z");
        let rules = TimeRules { floor: Some(floor), ..<_>::default() };
        let mut clock = AssetClock::default();
        let moment = Span::from_nanos(1);
        let cases = [
            (floor - moment, Standing::Below),
            (floor, Standing::Plausible),
            (floor + PLAUSIBLE - moment, Standing::Plausible),
            (floor + PLAUSIBLE, Standing::Beyond),
        ];
        for (time, want) in cases {
            assert_eq!(clock.plausible(&rules).standing(time), want, "{time}");
        }
        clock.lower_floor(t("1980-01-06T00:00:00Z"));
        assert!(clock.plausible(&rules).has(floor + PLAUSIBLE - moment));
        assert!(clock.plausible(&rules).has(t("1980-01-06T00:00:00Z")));
    }
}
