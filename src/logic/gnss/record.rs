//! Recorded or relayed fixes: one row of CSV, one line of JSON → [`Record`]; and what kind of
//! input a stream is, by its first bytes.
//!
//! Always holds: what cannot be read says which key, what it holds and what would be right; a
//! value that is merely not known (empty, `null`, zero accuracy) is `None`, never a guess.
//! Does not know: line numbers, files, which asset a source is for when the record names none.
//! `asset, time, lat, lon, accuracy_m, received, speed_mps, heading_deg` are the keys (DESIGN §7);
//! others are let pass. A live feed counts an error as [`Reject::BadRecord`].

use std::borrow::Cow;
use std::str::FromStr;

use csv::ByteRecord;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::logic::gnss::{FixQuality, Reject, line};
use crate::units::{AssetId, EventTime, Position};

/// The longest line of JSON or CSV that is looked at, in bytes: a hundred times a usual one.
pub const RECORD_BYTES_MAX: usize = 16 * 1024;

/// One fix as it was recorded. Whoever reads many says by `A` how assets are known there.
#[derive(Clone, PartialEq, Debug)]
pub struct Record<A = AssetId> {
    /// Whom it is about, where the record says.
    pub asset: Option<A>,
    /// When it was measured.
    pub time: EventTime,
    /// Where, or why not.
    pub position: Result<Position, Reject>,
    /// 68 % radius, positive and finite; `None` is unknown.
    pub accuracy_m: Option<f64>,
    /// When it arrived.
    pub received: Option<EventTime>,
    /// Speed over ground.
    pub speed_mps: Option<f32>,
    /// Course over ground in degrees from north, below 360.
    pub heading_deg: Option<f32>,
    /// Measured, unless its sender can say otherwise.
    pub quality: FixQuality,
    /// Height above mean sea level, where its sender can say it.
    pub altitude_m: Option<f32>,
}

/// Why a line gives no record.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordError {
    /// One value is not what its key asks for.
    #[error("`{key}` is `{found}`; {want}")]
    Value {
        /// The column or key.
        key: &'static str,
        /// What it holds, cut to a readable length.
        found: String,
        /// What would be right.
        want: &'static str,
    },
    /// A key without which there is no fix is not there, or empty.
    #[error("`{key}` is missing; {want}")]
    Missing {
        /// The column or key.
        key: &'static str,
        /// What would be right.
        want: &'static str,
    },
    /// A column is named twice.
    #[error("the header names `{key}` twice; each column has one name")]
    Twice {
        /// The column.
        key: &'static str,
    },
    /// A row that does not fit its header.
    #[error("the row has {found} columns and the header {want}; they must be as many")]
    Columns {
        /// Columns of the row.
        found: usize,
        /// Columns of the header.
        want: usize,
    },
    /// The line is no JSON object, or no CSV row.
    #[error("this is no record: {why}; write one as {EXAMPLE}")]
    Syntax {
        /// What the parser says.
        why: String,
    },
}

impl RecordError {
    /// How a live feed counts it.
    pub const fn reject(&self) -> Reject {
        Reject::BadRecord
    }
}

const EXAMPLE: &str =
    r#"{"asset":"truck-7","time":"2026-11-30T12:00:00Z","lat":48.1374,"lon":11.5755}"#;

mod plain;

const ASSET: usize = 0;
const TIME: usize = 1;
const LAT: usize = 2;
const LON: usize = 3;
const ACCURACY: usize = 4;
const RECEIVED: usize = 5;
const SPEED: usize = 6;
const HEADING: usize = 7;

/// The keys in the order of the constants above, and what each wants.
const KEYS: [(&str, &str); 8] = [
    ("asset", "write an id of 1 to 128 characters without `/`, such as truck-7"),
    ("time", TIME_WANTED),
    ("lat", "write degrees north, such as 48.1374"),
    ("lon", "write degrees east, such as 11.5755"),
    ("accuracy_m", "write the 68 % radius in metres, such as 4.5, or leave it empty"),
    ("received", TIME_WANTED),
    ("speed_mps", "write metres per second, such as 13.9, or leave it empty"),
    ("heading_deg", "write degrees from north, such as 271.5, or leave it empty"),
];
const TIME_WANTED: &str =
    "write RFC 3339 such as 2026-11-30T12:00:00Z, or whole nanoseconds since 1970";

/// How such CSV is read: `#` comments, rows of any length (a wrong one is then named by
/// [`Columns::record`]), a header.
pub fn csv_reader() -> csv::ReaderBuilder {
    let mut builder = csv::ReaderBuilder::new();
    builder.flexible(true).comment(Some(b'#')).has_headers(true);
    builder
}

/// Where a CSV file has its columns, in whatever order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Columns {
    at: [Option<usize>; KEYS.len()],
    count: usize,
}

impl Columns {
    /// Reads the header. Names are taken without regard to case and blanks.
    pub fn new(header: &ByteRecord) -> Result<Self, RecordError> {
        let mut at = [None; KEYS.len()];
        for (column, name) in header.iter().enumerate() {
            let name = name.strip_prefix(BOM).unwrap_or(name).trim_ascii();
            let Some(key) = KEYS.iter().position(|(k, _)| name.eq_ignore_ascii_case(k.as_bytes()))
            else {
                continue;
            };
            if at[key].replace(column).is_some() {
                return Err(RecordError::Twice { key: KEYS[key].0 });
            }
        }
        for key in [TIME, LAT, LON] {
            if at[key].is_none() {
                let want = "the header must name time, lat and lon, and may name asset, \
                            accuracy_m, received, speed_mps and heading_deg";
                return Err(RecordError::Missing { key: KEYS[key].0, want });
            }
        }
        Ok(Self { at, count: header.len() })
    }

    /// One row as a record.
    pub fn record(&self, row: &ByteRecord) -> Result<Record, RecordError> {
        if row.len() != self.count {
            return Err(RecordError::Columns { found: row.len(), want: self.count });
        }
        let mut texts = [const { Cow::Borrowed("") }; KEYS.len()];
        for (key, column) in self.at.iter().enumerate() {
            if let Some(value) = column.and_then(|column| row.get(column)) {
                texts[key] = String::from_utf8_lossy(value.trim_ascii());
            }
        }
        record(&texts.each_ref().map(AsRef::as_ref), named)
    }
}

/// A line of JSON as its values' texts; what is not asked for is not looked at.
#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    asset: Option<&'a RawValue>,
    #[serde(borrow, default)]
    time: Option<&'a RawValue>,
    #[serde(borrow, default)]
    lat: Option<&'a RawValue>,
    #[serde(borrow, default)]
    lon: Option<&'a RawValue>,
    #[serde(borrow, default)]
    accuracy_m: Option<&'a RawValue>,
    #[serde(borrow, default)]
    received: Option<&'a RawValue>,
    #[serde(borrow, default)]
    speed_mps: Option<&'a RawValue>,
    #[serde(borrow, default)]
    heading_deg: Option<&'a RawValue>,
}

impl Record {
    /// One line of JSON as a record.
    pub fn from_json(line: &[u8]) -> Result<Self, RecordError> {
        Self::read_json(line, named)
    }

    /// The same, where the name of an asset is looked up; `asset` gives `None` for what cannot be
    /// a name.
    pub fn read_json<A>(
        line: &[u8],
        asset: impl FnOnce(&str) -> Option<A>,
    ) -> Result<Record<A>, RecordError> {
        if line.len() > RECORD_BYTES_MAX {
            let why = format!("it is {} bytes long, over {RECORD_BYTES_MAX}", line.len());
            return Err(RecordError::Syntax { why });
        }
        match plain::texts(line) {
            Some(texts) => record(&texts, asset),
            None => any_json(line, asset),
        }
    }
}

impl<A> Record<A> {
    /// The same fix, its asset known otherwise.
    #[must_use]
    pub fn known_as<B>(self, asset: impl FnOnce(A) -> B) -> Record<B> {
        Record {
            asset: self.asset.map(asset),
            time: self.time,
            position: self.position,
            accuracy_m: self.accuracy_m,
            received: self.received,
            speed_mps: self.speed_mps,
            heading_deg: self.heading_deg,
            quality: self.quality,
            altitude_m: self.altitude_m,
        }
    }
}

/// An asset by the name that a record gives it.
fn named(text: &str) -> Option<AssetId> {
    AssetId::new(text).ok()
}

/// A line of JSON of whatever form, and all that can be said against it.
fn any_json<A>(
    line: &[u8],
    asset: impl FnOnce(&str) -> Option<A>,
) -> Result<Record<A>, RecordError> {
    let syntax = |error: serde_json::Error| RecordError::Syntax { why: error.to_string() };
    let line = line.strip_prefix(BOM).unwrap_or(line);
    // An array would do for the struct below, and must not.
    if line.trim_ascii_start().first() != Some(&b'{') {
        return Err(RecordError::Syntax { why: "it is not a JSON object".to_owned() });
    }
    let raw: Raw<'_> = serde_json::from_slice(line).map_err(syntax)?;
    let values = [
        raw.asset,
        raw.time,
        raw.lat,
        raw.lon,
        raw.accuracy_m,
        raw.received,
        raw.speed_mps,
        raw.heading_deg,
    ];
    let mut texts = [const { Cow::Borrowed("") }; KEYS.len()];
    for (key, value) in values.into_iter().enumerate() {
        texts[key] = match value.map(RawValue::get) {
            None | Some("null") => Cow::Borrowed(""),
            // A tracker that names itself with nothing is not the gateway's own vehicle.
            Some(text @ "\"\"") if key == ASSET => return Err(wrong(key, text)),
            Some(text) if text.starts_with('"') => serde_json::from_str(text).map_err(syntax)?,
            Some(text) if text.starts_with(['{', '[', 't', 'f']) => {
                return Err(wrong(key, text));
            }
            Some(text) => Cow::Borrowed(text),
        };
    }
    record(&texts.each_ref().map(AsRef::as_ref), asset)
}

/// The values' texts, in the order of [`KEYS`], as a record. Empty is unknown.
fn record<A>(
    texts: &[&str; KEYS.len()],
    asset: impl FnOnce(&str) -> Option<A>,
) -> Result<Record<A>, RecordError> {
    let time = time(texts, TIME)?;
    let number = |key| read::<f64>(texts, key);
    let position = match (number(LAT)?, number(LON)?) {
        (Some(lat), Some(lon)) => position(lat, lon),
        (None, None) => Err(Reject::NoPosition),
        (None, _) => return Err(missing(LAT)),
        (_, None) => return Err(missing(LON)),
    };
    let asset = match texts[ASSET] {
        "" => None,
        text => Some(asset(text).ok_or_else(|| wrong(ASSET, text))?),
    };
    Ok(Record {
        asset,
        time: time.ok_or_else(|| missing(TIME))?,
        position,
        accuracy_m: accuracy(number(ACCURACY)?),
        received: self::time(texts, RECEIVED)?,
        speed_mps: speed(number(SPEED)?),
        heading_deg: heading(number(HEADING)?),
        quality: FixQuality::Measured,
        altitude_m: None,
    })
}

/// A radius that can be one: zero and less are how receivers say that they do not know (FIX-2).
pub(super) fn accuracy(m: Option<f64>) -> Option<f64> {
    m.filter(|v| v.is_finite() && *v > 0.0)
}

/// A speed that can be one.
pub(super) fn speed(mps: Option<f64>) -> Option<f32> {
    height(mps).filter(|v| *v >= 0.0)
}

/// A height that can be one: what 32 bits cannot hold is none.
pub(super) fn height(m: Option<f64>) -> Option<f32> {
    m.map(|v| v as f32).filter(|v| v.is_finite())
}

/// A course that can be one; 360, or what 32 bits make 360 of, is north.
pub(super) fn heading(deg: Option<f64>) -> Option<f32> {
    let short = deg.map(|v| v as f32).filter(|v| (0.0..=360.0).contains(v));
    short.map(|v| if v == 360.0 { 0.0 } else { v })
}

/// A place that can be one (FIX-1).
pub(super) fn position(lat: f64, lon: f64) -> Result<Position, Reject> {
    if lat == 0.0 && lon == 0.0 {
        return Err(Reject::NullIsland);
    }
    Position::new(lat, lon).ok_or(Reject::OutOfRange)
}

fn read<T: FromStr>(texts: &[&str; KEYS.len()], key: usize) -> Result<Option<T>, RecordError> {
    match texts[key] {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| wrong(key, text)),
    }
}

fn time(texts: &[&str; KEYS.len()], key: usize) -> Result<Option<EventTime>, RecordError> {
    match texts[key].strip_prefix('-').unwrap_or(texts[key]) {
        digits if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            Ok(read(texts, key)?.map(EventTime::from_nanos))
        }
        _ => read(texts, key),
    }
}

fn missing(key: usize) -> RecordError {
    RecordError::Missing { key: KEYS[key].0, want: KEYS[key].1 }
}

fn wrong(key: usize, text: &str) -> RecordError {
    RecordError::Value {
        key: KEYS[key].0,
        found: text.chars().take(40).collect(),
        want: KEYS[key].1,
    }
}

/// What some editors put before UTF-8 text.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How many bytes [`Format::sniff`] wants to see, unless the input is shorter: more than the
/// comments that head a recorded log.
pub const SNIFF_BYTES: usize = 16 * 1024;

/// What an input is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// NMEA 0183, with whatever lies between the sentences.
    Nmea,
    /// CSV with a header.
    Csv,
    /// One JSON object a line.
    JsonLines,
}

impl Format {
    /// Recognises an input by its first bytes (up to [`SNIFF_BYTES`]); `None` if it is none of
    /// these.
    pub fn sniff(first_bytes: &[u8]) -> Option<Self> {
        let bytes = first_bytes.strip_prefix(BOM).unwrap_or(first_bytes);
        let mut lines = bytes.split(|b| matches!(b, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
        let sentence =
            |l: &[u8]| l.split_first().is_some_and(|(b, l)| *b == b'$' && line::has_header(l));
        // Before all else: gpsd's logs begin with JSON.
        if lines.clone().any(sentence) {
            return Some(Self::Nmea);
        }
        let first = lines.find(|l| !l.is_empty() && !l.starts_with(b"#")).unwrap_or_default();
        if first.starts_with(b"{") {
            return Some(Self::JsonLines);
        }
        let named = |key: usize| {
            first
                .split(|b| *b == b',')
                .any(|n| n.trim_ascii().eq_ignore_ascii_case(KEYS[key].0.as_bytes()))
        };
        if named(TIME) && named(LAT) && named(LON) {
            return Some(Self::Csv);
        }
        let starts = bytes.iter().enumerate().filter(|(_, b)| matches!(b, b'$' | b'!'));
        starts.map(|(at, _)| at + 1).any(|at| line::has_header(&bytes[at..])).then_some(Self::Nmea)
    }
}

#[cfg(test)]
mod tests;
