//! From what a receiver says of time to a UTC instant (TIME-5).
//!
//! Always holds: a time of day without a date takes the date nearest to a reference, within
//! 12 h; without a reference it has no instant. Does not know: whether the instant is true.

use serde::{Deserialize, Serialize};

use super::ReceiverTime;
use crate::units::{BootTime, EventTime, Span};

const DAY_NANOS: i64 = 86_400 * crate::units::NANOS_PER_SEC;

/// A source that has sent no date for this long takes the system's (TIME-5).
pub(super) const DATE_PATIENCE: Span = Span::from_secs(60);

/// The instant with this time of day that lies nearest to `reference`.
pub(super) fn nearest(reference: EventTime, of_day: Span) -> EventTime {
    let since = reference.nanos().saturating_sub(of_day.nanos()).rem_euclid(DAY_NANOS);
    let before = reference - Span::from_nanos(since);
    if since > DAY_NANOS / 2 { before + Span::from_nanos(DAY_NANOS) } else { before }
}

impl ReceiverTime {
    /// The instant, where the receiver itself named the date.
    pub(super) fn dated(self) -> Option<EventTime> {
        match self {
            Self::Utc(time) => Some(time),
            Self::Nmea { of_day: Some(of_day), date: Some((year, month, day)) } => {
                EventTime::from_civil(year, month, day, of_day)
            }
            Self::Nmea { .. } => None,
        }
    }

    /// Whether there is a date, but no such day.
    pub(super) fn names_no_day(self) -> bool {
        matches!(self, Self::Nmea { of_day: Some(_), date: Some(_) }) && self.dated().is_none()
    }

    /// The time of day, where there is one without a usable date.
    pub(super) fn of_day(self) -> Option<Span> {
        match self {
            Self::Nmea { of_day, .. } => of_day,
            Self::Utc(_) => None,
        }
    }
}

/// What one live source has told about the date so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Dates {
    first_heard: Option<BootTime>,
    /// An instant and the boot time at which it was true, near enough to name a date.
    known: Option<(BootTime, EventTime)>,
    /// Sixty seconds passed without a date from anywhere.
    missing: bool,
}

impl Dates {
    /// The source spoke. Takes the system's date when the receiver's is overdue and the kernel
    /// says the system clock is synchronised.
    pub(super) fn heard(&mut self, at: BootTime, system: Option<EventTime>) {
        let first = *self.first_heard.get_or_insert(at);
        if self.known.is_some() || at - first < DATE_PATIENCE {
            return;
        }
        self.known = system.map(|time| (at, time));
        self.missing = self.known.is_none();
    }

    /// A plausible date came, with or without a position.
    pub(super) fn learn(&mut self, at: BootTime, time: EventTime) {
        self.known = Some((at, time));
        self.missing = false;
    }

    /// About what time it was at `at`, if any date is known.
    pub(super) fn reference(&self, at: BootTime) -> Option<EventTime> {
        self.known.map(|(then, time)| time + (at - then))
    }

    /// No date came in time and the system had none to give.
    pub(super) fn missing(&self) -> bool {
        self.missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C6: just after midnight a time of day just before it is yesterday's, and the reverse.
    #[test]
    fn time_5_the_nearest_date_is_within_12_h() {
        let cases = [
            ("2026-12-01T00:00:00.7Z", 86_399_900, "2026-11-30T23:59:59.9Z"),
            ("2026-11-30T23:59:59.9Z", 100, "2026-12-01T00:00:00.1Z"),
            ("2026-11-30T12:00:00Z", 43_200_000, "2026-11-30T12:00:00Z"),
            ("2026-11-30T12:00:00Z", 0, "2026-11-30T00:00:00Z"),
            ("2026-11-30T12:00:00Z", 1, "2026-11-30T00:00:00.001Z"),
            ("2026-11-30T12:00:00.001Z", 0, "2026-12-01T00:00:00Z"),
            // C19: 23:59:60 is the midnight that follows, seen from either side.
            ("2026-11-30T23:59:59Z", 86_400_000, "2026-12-01T00:00:00Z"),
            ("2026-12-01T00:00:01Z", 86_400_000, "2026-12-01T00:00:00Z"),
        ];
        for (reference, of_day_ms, want) in cases {
            let got = nearest(reference.parse().unwrap(), Span::from_millis(of_day_ms));
            assert_eq!(got.to_string(), want, "{reference} {of_day_ms}");
        }
    }
}
