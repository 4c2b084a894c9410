//! Floor 0: quantities and names that every floor speaks in.
//!
//! Always holds: the three clocks are three types and arithmetic between them does not compile
//! (DESIGN §2); a [`Position`] is finite and on the globe; an id is short, printable text.
//! Does not know: where any of these come from. Sole user of `jiff`.

mod utc;

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Add, Sub};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub const NANOS_PER_SEC: i64 = 1_000_000_000;

/// A signed length of time in nanoseconds, the difference of two instants of one clock.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(i64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any span that can occur.
    pub const MAX: Self = Self(i64::MAX);

    /// A span of whole nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }
    /// A span of whole milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }
    /// A span of whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(NANOS_PER_SEC))
    }
    /// A span of fractional seconds; saturates, and NaN is zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * NANOS_PER_SEC as f64) as i64)
    }
    /// Whole nanoseconds.
    pub const fn nanos(self) -> i64 {
        self.0
    }
    /// Seconds with fraction.
    pub fn secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// The length without its sign.
    #[must_use]
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }
    /// This span `n` times.
    #[must_use]
    pub const fn times(self, n: i64) -> Self {
        Self(self.0.saturating_mul(n))
    }
    /// This span, or nothing when it is negative, for the standard library's timers.
    pub fn to_std(self) -> std::time::Duration {
        std::time::Duration::from_nanos(self.0.max(0) as u64)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}

impl From<std::time::Duration> for Span {
    fn from(d: std::time::Duration) -> Self {
        Self(i64::try_from(d.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// Writes one clock: an instant in nanoseconds with saturating arithmetic against [`Span`].
macro_rules! clock {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(i64);

        impl $name {
            /// The instant `nanos` nanoseconds after this clock's zero.
            pub const fn from_nanos(nanos: i64) -> Self {
                Self(nanos)
            }
            /// Nanoseconds since this clock's zero.
            pub const fn nanos(self) -> i64 {
                self.0
            }
        }
        impl Add<Span> for $name {
            type Output = Self;
            fn add(self, rhs: Span) -> Self {
                Self(self.0.saturating_add(rhs.0))
            }
        }
        impl Sub<Span> for $name {
            type Output = Self;
            fn sub(self, rhs: Span) -> Self {
                Self(self.0.saturating_sub(rhs.0))
            }
        }
        impl Sub for $name {
            type Output = Span;
            fn sub(self, rhs: Self) -> Span {
                Span(self.0.saturating_sub(rhs.0))
            }
        }
    };
}

clock! {
    /// UTC as the receiver tells it: orders fixes, decides crossings. Zero is 1970-01-01T00:00:00Z.
    EventTime
}
clock! {
    /// CLOCK_BOOTTIME, stamped when bytes arrive: latency, release deadlines, back-off.
    /// Meaningless across a restart unless the kernel's boot id is the same.
    BootTime
}
clock! {
    /// The system clock: a plausibility hint and log lines. It may be 1970, or jump.
    WallTime
}

/// Writes RFC 3339 for the clocks that are UTC.
macro_rules! utc_text {
    ($name:ident) => {
        impl fmt::Display for $name {
            /// RFC 3339 in UTC, with as many decimals as are needed.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
                    Ok(stamp) => write!(f, "{stamp}"),
                    Err(_) => write!(f, "{}ns", self.0),
                }
            }
        }
        impl std::str::FromStr for $name {
            type Err = TimeParseError;
            /// Reads RFC 3339 with an offset (`Z` included).
            fn from_str(text: &str) -> Result<Self, TimeParseError> {
                if let Some(nanos) = utc::nanos(text.as_bytes()) {
                    return Ok(Self(nanos));
                }
                let stamp: jiff::Timestamp =
                    text.parse().map_err(|_| TimeParseError(text.chars().take(40).collect()))?;
                i64::try_from(stamp.as_nanosecond())
                    .map(Self)
                    .map_err(|_| TimeParseError(text.chars().take(40).collect()))
            }
        }
    };
}

/// Carries a UTC clock through JSON as its RFC 3339 text, which keeps every nanosecond.
macro_rules! utc_serde {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Nanoseconds. Whoever stores one stores the kernel's boot id beside it.
impl Serialize for BootTime {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(s)
    }
}
impl<'de> Deserialize<'de> for BootTime {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        i64::deserialize(d).map(Self)
    }
}

utc_serde!(EventTime);
utc_serde!(WallTime);
utc_text!(EventTime);
utc_text!(WallTime);

/// A text that is not an RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a time; write it as 2026-11-30T12:00:00Z")]
pub struct TimeParseError(String);

impl EventTime {
    /// The instant of a civil UTC date and time of day, or `None` where there is no such date.
    ///
    /// `of_day` may reach 24 h: 23:59:60 is a time (TIME-5) and is the same instant as the
    /// midnight that follows it.
    pub fn from_civil(year: i16, month: i8, day: i8, of_day: Span) -> Option<Self> {
        let date = jiff::civil::Date::new(year, month, day).ok()?;
        let stamp = jiff::tz::TimeZone::UTC.to_timestamp(date.into()).ok()?;
        let midnight = stamp.as_nanosecond();
        Some(Self(i64::try_from(midnight).ok()?.checked_add(of_day.0)?))
    }
    /// Midnight UTC at the start of this instant's day.
    #[must_use]
    pub fn midnight(self) -> Self {
        Self(self.0 - self.0.rem_euclid(86_400 * NANOS_PER_SEC))
    }
    /// Reads a receiver's UTC out of what the system clock says, where TIME-5 allows it.
    pub const fn from_wall(wall: WallTime) -> Self {
        Self(wall.0)
    }
}

/// A length on the ground in metres.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metres(pub f64);

/// A place on WGS84: finite, latitude within ±90°, longitude within ±180°.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Position {
    lat_deg: f64,
    lon_deg: f64,
}

impl Position {
    /// Where the equator meets the prime meridian: a place for what has none.
    pub const ORIGIN: Self = Self { lat_deg: 0.0, lon_deg: 0.0 };

    /// A checked place; `None` when not finite or out of range. `-0` becomes `0`.
    pub fn new(lat_deg: f64, lon_deg: f64) -> Option<Self> {
        let ok = lat_deg.is_finite() && lon_deg.is_finite();
        (ok && lat_deg.abs() <= 90.0 && lon_deg.abs() <= 180.0)
            .then_some(Self { lat_deg: lat_deg + 0.0, lon_deg: lon_deg + 0.0 })
    }
    /// Degrees north.
    pub const fn lat_deg(self) -> f64 {
        self.lat_deg
    }
    /// Degrees east.
    pub const fn lon_deg(self) -> f64 {
        self.lon_deg
    }
}

impl Serialize for Position {
    /// As `[lat, lon]` in degrees.
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        (self.lat_deg, self.lon_deg).serialize(s)
    }
}

impl<'de> Deserialize<'de> for Position {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let (lat, lon) = <(f64, f64)>::deserialize(d)?;
        Self::new(lat, lon).ok_or_else(|| serde::de::Error::custom("not a place on the globe"))
    }
}

/// The longest id in bytes: fits a file name and a topic level.
pub const ID_BYTES_MAX: usize = 128;

/// A text that cannot be an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be an id: {why}")]
pub struct IdError {
    text: String,
    why: &'static str,
}

/// Checks what every id must be: 1 to [`ID_BYTES_MAX`] bytes, no control characters, no blank at
/// either end, and no `/` but in a zone's id, which comes last in `layer/zone`.
fn check_id(text: &str, slash: bool) -> Result<(), IdError> {
    let why = if text.is_empty() {
        "it is empty"
    } else if text.len() > ID_BYTES_MAX {
        "it is longer than 128 bytes"
    } else if text.chars().any(char::is_control) {
        "it has a control character"
    } else if !slash && text.contains('/') {
        "`/` separates layer from zone"
    } else if text.trim() != text {
        "it begins or ends with a blank"
    } else {
        return Ok(());
    };
    Err(IdError { text: text.chars().take(40).collect(), why })
}

/// Writes one kind of id: shared, immutable, checked text.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, slash: $slash:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// A checked id.
            pub fn new(text: &str) -> Result<Self, IdError> {
                check_id(text, $slash)?;
                Ok(Self(text.into()))
            }
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        /// Found by its text: both hash and compare alike.
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    };
}

id! {
    /// The Linux box. Configured, never guessed.
    GatewayId, slash: false
}
id! {
    /// What is located: the vehicle, a trailer, a tracker on the vehicle's network.
    AssetId, slash: false
}
id! {
    /// One input.
    SourceId, slash: false
}
id! {
    /// A named, versioned set of zones.
    LayerId, slash: false
}
id! {
    /// One zone within its layer.
    ZoneId, slash: true
}
id! {
    /// The numbered sequence of events of one store.
    StreamId, slash: false
}

/// A zone is known as (layer, zone).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ZoneKey {
    /// The layer that holds it.
    pub layer: LayerId,
    /// Its id there.
    pub zone: ZoneId,
}

impl fmt::Display for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.layer, self.zone)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_jiff(text: &str) -> Option<i64> {
        let stamp: jiff::Timestamp = text.parse().ok()?;
        i64::try_from(stamp.as_nanosecond()).ok()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Whatever is read at once is what `jiff` reads, of numbers in range and just beyond.
        #[test]
        fn a_usual_time_is_what_jiff_reads(
            (year, month, day) in (1965..2105_u16, 0..14_u8, 0..33_u8),
            (hour, minute, second) in (0..26_u8, 0..62_u8, 0..62_u8),
            end in "Z|\\.[0-9]{1,9}Z|\\.[0-9]{10}Z|\\.Z||z|\\+00:00|\\.5|,5Z",
            between in "T|t| ",
        ) {
            let text = format!(
                "{year:04}-{month:02}-{day:02}{between}{hour:02}:{minute:02}:{second:02}{end}"
            );
            if let Some(nanos) = utc::nanos(text.as_bytes()) {
                prop_assert_eq!(Some(nanos), of_jiff(&text), "{}", text);
            }
        }
    }

    /// Every day is known, and the usual forms are read at once.
    #[test]
    fn every_day_is_read_at_once() {
        let usual = |text: &str| {
            let nanos = utc::nanos(text.as_bytes());
            assert!(nanos.is_some() && nanos == of_jiff(text), "{text}");
        };
        for day in 0..(2100 - 1970) * 365 + 32 {
            let seconds = day * 86_400 + day % 86_400;
            usual(&EventTime::from_nanos(seconds * NANOS_PER_SEC).to_string());
        }
        usual("2026-11-30T23:59:59.123456789Z");
        usual("2026-11-30T23:59:59.1Z");
        for other in ["2026-11-30T23:59:60Z", "2026-02-29T00:00:00Z", "+026-11-30T00:00:00Z"] {
            assert_eq!(utc::nanos(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn times_read_and_write_the_same() {
        for text in ["2026-11-30T12:00:00Z", "1970-01-01T00:00:00.5Z", "2126-02-28T23:59:59.999Z"] {
            let time: EventTime = text.parse().unwrap();
            assert_eq!(time.to_string(), text);
        }
        for text in ["", "2026-11-30", "2026-11-30T12:00:00", "yesterday"] {
            assert!(text.parse::<EventTime>().is_err(), "{text}");
        }
    }

    /// TIME-5: 23:59:60 is the instant of the midnight that follows.
    #[test]
    fn time_5_leap_second_is_the_next_midnight() {
        let leap = EventTime::from_civil(2016, 12, 31, Span::from_secs(86_400)).unwrap();
        assert_eq!(leap.to_string(), "2017-01-01T00:00:00Z");
        assert_eq!(EventTime::from_civil(2026, 2, 29, Span::ZERO), None);
    }

    #[test]
    fn positions_and_ids_are_checked() {
        for (lat, lon) in [(f64::NAN, 0.0), (90.1, 0.0), (0.0, 180.1), (f64::INFINITY, 0.0)] {
            assert_eq!(Position::new(lat, lon), None);
        }
        for bad in ["", " a", "a\n", &"x".repeat(129)] {
            assert!(ZoneId::new(bad).is_err(), "{bad:?}");
        }
        assert!(LayerId::new("a/b").is_err());
        assert_eq!(ZoneId::new("way/7").unwrap().as_str(), "way/7");
        assert_eq!(ZoneId::new("depot 1").unwrap().as_str(), "depot 1");
    }
}
