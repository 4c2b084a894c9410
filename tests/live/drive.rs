//! A recorded drive cut into epochs, and zones drawn along it.
//!
//! Always holds: the epochs joined again are the log, byte for byte. Does not know: the daemon.

use std::ops::Range;
use std::path::{Path, PathBuf};

use geofenced::logic::gnss::line::{Checksum, Framer};
use serde_json::{Value, json};

/// The drive: three hours through Switzerland at 1 Hz.
const LOG: &str = "nmea/genivi__20100403_Z205_Switzerland_full.nmea";

/// All sentences of one time of day, with what stands before them.
#[derive(Clone)]
pub(crate) struct Epoch {
    pub(crate) bytes: Vec<u8>,
    pub(crate) of_day_ms: i64,
    /// Latitude and longitude, where it has a valid position.
    pub(crate) place: Option<(f64, f64)>,
}

/// The drive's epochs; `None`, said aloud, where there is no corpus.
pub(crate) fn load() -> Option<Vec<Epoch>> {
    let path = log_path()?;
    let epochs = cut(&std::fs::read(path).unwrap());
    assert!(epochs.len() > 10_000);
    Some(epochs)
}

/// Where the drive is; `None`, said aloud, where there is no corpus.
pub(crate) fn log_path() -> Option<PathBuf> {
    let named = std::env::var_os("GEOFENCED_CORPUS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let path = named.unwrap_or_else(beside).join(LOG);
    if path.exists() {
        return Some(path);
    }
    assert!(std::env::var_os("GEOFENCED_REQUIRE_CORPUS").is_none(), "no {}", path.display());
    println!("skipped: no corpus at {}", path.display());
    None
}

fn cut(log: &[u8]) -> Vec<Epoch> {
    let mut epochs: Vec<Epoch> = Vec::new();
    let mut pending = Vec::new();
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        pending.extend_from_slice(line);
        let text = String::from_utf8_lossy(line);
        let fields: Vec<&str> = text.trim().split(',').collect();
        let Some((of_day_ms, place)) = timed(&fields) else { continue };
        let bytes = std::mem::take(&mut pending);
        match epochs.last_mut() {
            Some(last) if last.of_day_ms == of_day_ms => {
                last.bytes.extend(bytes);
                last.place = place.or(last.place);
            }
            _ => epochs.push(Epoch { bytes, of_day_ms, place }),
        }
    }
    if let Some(last) = epochs.last_mut() {
        last.bytes.extend(pending);
    }
    epochs
}

/// Time and place of an RMC or GGA.
fn timed(fields: &[&str]) -> Option<(i64, Option<(f64, f64)>)> {
    let (valid, at) = match *fields.first()? {
        "$GPRMC" => (fields.get(2) == Some(&"A"), 3),
        "$GPGGA" => (fields.get(6).is_some_and(|quality| *quality != "0"), 2),
        _ => return None,
    };
    let time: f64 = fields.get(1)?.parse().ok()?;
    let (hours, rest) = ((time / 10_000.0).floor(), time % 10_000.0);
    let seconds = hours * 3600.0 + (rest / 100.0).floor() * 60.0 + rest % 100.0;
    let degrees = |at: usize| {
        let value: f64 = fields.get(at)?.parse().ok()?;
        Some((value / 100.0).floor() + value % 100.0 / 60.0)
    };
    let place = degrees(at).zip(degrees(at + 2)).filter(|_| valid);
    Some(((seconds * 1000.0).round() as i64, place))
}

/// The bytes of some epochs.
pub(crate) fn bytes(epochs: &[Epoch]) -> Vec<u8> {
    epochs.iter().flat_map(|epoch| epoch.bytes.iter().copied()).collect()
}

/// How many sentences a framer finds in it.
pub(crate) fn sentences(mut bytes: &[u8]) -> u64 {
    let mut framer = Framer::new(Checksum::Required);
    let mut good = 0;
    while let Some(framed) = framer.feed(&mut bytes) {
        good += u64::from(framed.is_ok());
    }
    good
}

/// The stretch of `seconds` that gets furthest, heard every second.
pub(crate) fn fastest(epochs: &[Epoch], seconds: usize) -> Range<usize> {
    let steady = |at: usize| {
        let step = epochs[at + 1].of_day_ms - epochs[at].of_day_ms;
        (step == 1000 && epochs[at].place.is_some() && epochs[at + 1].place.is_some()) as usize
    };
    let mut run = 0;
    let mut best = (0.0, 0..0);
    for at in 0..epochs.len() - 1 {
        run = (run + 1) * steady(at);
        if run < seconds {
            continue;
        }
        let start = at + 1 - seconds;
        let (from, to) = (epochs[start].place.unwrap(), epochs[at].place.unwrap());
        let length = (from.0 - to.0).hypot((from.1 - to.1) * from.0.to_radians().cos());
        if length > best.0 {
            best = (length, start..at + 1);
        }
    }
    assert!(best.0 > 0.0, "no steady stretch of {seconds} s");
    best.1
}

/// A circle.
pub(crate) fn circle(id: &str, (lat, lon): (f64, f64), radius_m: f64) -> Value {
    json!({
        "type": "Feature", "id": id, "properties": {"radius_m": radius_m, "dwell": "8s"},
        "geometry": {"type": "Point", "coordinates": [lon, lat]},
    })
}

/// Circles along `epochs`, the middle of each of `count` equal parts.
pub(crate) fn circles(epochs: &[Epoch], count: usize, radius_m: f64) -> Vec<Value> {
    let placed: Vec<(f64, f64)> = epochs.iter().filter_map(|epoch| epoch.place).collect();
    let middle = |part: usize| placed[(2 * part + 1) * placed.len() / (2 * count)];
    (0..count).map(|part| circle(&format!("c{part}"), middle(part), radius_m)).collect()
}

/// A layer as a file.
pub(crate) fn layer(name: &str, version: u64, zones: &[Value]) -> String {
    json!({
        "type": "FeatureCollection", "features": zones,
        "geofenced": {"layer": name, "version": version, "created": "2026-11-30T00:00:00Z"},
    })
    .to_string()
}

/// Where made-up drives pass: a zone called `gate` round it is what they cross.
pub(crate) const GATE: (f64, f64) = (48.0, 11.0);

/// A layer with the gate and whatever more.
pub(crate) fn gate(version: u64, more: &[Value]) -> String {
    let mut zones = vec![circle("gate", GATE, 100.0)];
    zones.extend_from_slice(more);
    layer("a", version, &zones)
}

/// Where somebody is that is so many metres north of the gate.
pub(crate) fn north_m(metres: f64) -> (f64, f64) {
    // A degree of latitude is 111.2 km here, to a part in a thousand.
    (GATE.0 + metres / 111_200.0, GATE.1)
}

/// A drive along a meridian, one epoch a second from `start_s` of a day in 2026: how far north of
/// the gate it is at each.
pub(crate) fn made_up(start_s: i64, metres: impl IntoIterator<Item = f64>) -> Vec<Epoch> {
    let one = |(second, metres): (i64, f64)| {
        let of_day = format!("{:02}{:02}{:02}.000", second / 3600, second / 60 % 60, second % 60);
        let (lat, lon) = north_m(metres);
        let angle = |value: f64| (value.floor(), value.fract() * 60.0);
        let ((lat_deg, lat_min), (lon_deg, lon_min)) = (angle(lat), angle(lon));
        let place = format!("{lat_deg:02}{lat_min:07.4},N,{lon_deg:03}{lon_min:07.4},E");
        let gga = sentence(&format!("GPGGA,{of_day},{place},1,09,0.9,500.0,M,48.0,M,,"));
        let rmc = sentence(&format!("GPRMC,{of_day},A,{place},20.0,0.0,010626,,,A"));
        Epoch {
            bytes: [gga, rmc].concat().into_bytes(),
            of_day_ms: second * 1000,
            place: Some((lat, lon)),
        }
    };
    (start_s..).zip(metres).map(one).collect()
}

/// A line with its checksum.
pub(crate) fn sentence(body: &str) -> String {
    let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    format!("${body}*{sum:02X}\r\n")
}

/// From 600 m south to the gate, 20 m/s: the entry is decided at the 28th of 31.
pub(crate) fn arriving(start_s: i64) -> Vec<Epoch> {
    made_up(start_s, (0..=30).map(|second| f64::from(second) * 20.0 - 600.0))
}

/// From the gate to 600 m north of it.
pub(crate) fn leaving(start_s: i64) -> Vec<Epoch> {
    made_up(start_s, (0..=30).map(|second| f64::from(second) * 20.0))
}
