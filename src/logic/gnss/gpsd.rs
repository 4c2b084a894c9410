//! gpsd's JSON, a line at a time: what its daemon says of itself, and TPV → [`Record`].
//!
//! Always holds: a line gives a value or a counted [`Reject`]; what a report does not say is
//! `None`. Does not know: connections. Its words are those of gpsd_json(5), protocol 3.

use serde::Deserialize;

use crate::logic::gnss::record::{self, Record};
use crate::logic::gnss::{FixQuality, Reject};
use crate::units::EventTime;

/// `mode`: below it there is no position.
const MODE_2D: u8 = 2;
/// `status`: dead reckoning, alone and mixed with satellites.
const STATUS_ESTIMATED: [u8; 2] = [5, 6];
/// `status`: surveyed or typed in (also NMEA's manual mode), and simulated.
const STATUS_NOT_MEASURED: [u8; 2] = [7, 8];

/// What gpsd says of itself, as far as a connection is steered by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// It greets: it may be asked to WATCH.
    Version,
    /// It will report.
    Watching,
    /// Every device that it has.
    Devices(Vec<Device>),
    /// One of them has come or gone.
    Device(Device),
    /// It did not like a request.
    Error(String),
    /// Anything else, reports of positions included.
    Other,
}

/// One of gpsd's devices.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    /// Its path, as gpsd writes it.
    pub path: String,
    /// Whether it is open.
    pub open: bool,
}

#[derive(Deserialize)]
struct RawSaid {
    class: String,
    #[serde(default)]
    devices: Vec<RawDevice>,
    path: Option<String>,
    #[serde(default)]
    activated: serde_json::Value,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize)]
struct RawDevice {
    path: Option<String>,
    #[serde(default)]
    activated: serde_json::Value,
}

impl RawDevice {
    /// `activated` is the time of opening; gpsd writes 0 when it closes one.
    fn told(self) -> Option<Device> {
        let closed = self.activated.is_null() || self.activated.as_f64() == Some(0.0);
        Some(Device { path: self.path?, open: !closed })
    }
}

/// What a line says of gpsd itself; `None` where it is no report at all.
pub fn said(line: &[u8]) -> Option<Said> {
    let raw: RawSaid = serde_json::from_slice(line).ok()?;
    Some(match raw.class.as_str() {
        "VERSION" => Said::Version,
        "WATCH" => Said::Watching,
        "DEVICES" => Said::Devices(raw.devices.into_iter().filter_map(RawDevice::told).collect()),
        "DEVICE" => {
            let device = RawDevice { path: raw.path, activated: raw.activated }.told();
            device.map_or(Said::Other, Said::Device)
        }
        "ERROR" => Said::Error(raw.message),
        _ => Said::Other,
    })
}

/// The requests that make gpsd report, and then say what it has: a device that it does not know it
/// refuses without a list.
pub fn watch(device: Option<&str>) -> String {
    let mut request = serde_json::json!({ "enable": true, "json": true });
    if let Some(device) = device {
        request["device"] = device.into();
    }
    format!("?WATCH={request};\n?DEVICES;\n")
}

#[derive(Deserialize)]
struct RawTpv<'a> {
    #[serde(default)]
    mode: u8,
    #[serde(default)]
    status: u8,
    device: Option<String>,
    time: Option<&'a str>,
    lat: Option<f64>,
    lon: Option<f64>,
    eph: Option<f64>,
    epx: Option<f64>,
    epy: Option<f64>,
    speed: Option<f64>,
    track: Option<f64>,
    #[serde(rename = "altMSL")]
    alt_msl: Option<f64>,
}

/// A line as a record; `None` where it is a report of something else, or of another device than
/// `device`.
pub fn record(line: &[u8], device: Option<&str>) -> Result<Option<Record>, Reject> {
    #[derive(Deserialize)]
    struct Class<'a> {
        class: &'a str,
    }
    // An array would do for the struct above, and must not.
    if line.first() != Some(&b'{') {
        return Err(Reject::Malformed);
    }
    let class: Class<'_> = serde_json::from_slice(line).map_err(|_| Reject::Malformed)?;
    if class.class != "TPV" {
        return Ok(None);
    }
    let raw: RawTpv<'_> = serde_json::from_slice(line).map_err(|_| Reject::Malformed)?;
    let ours = |wanted| raw.device.as_deref().is_none_or(|told| told == wanted);
    if !device.is_none_or(ours) {
        return Ok(None);
    }
    if raw.mode < MODE_2D {
        return Err(Reject::NoPosition);
    }
    if STATUS_NOT_MEASURED.contains(&raw.status) {
        return Err(Reject::Simulated);
    }
    let time = raw.time.ok_or(Reject::NoTime)?;
    let time: EventTime = time.parse().map_err(|_| Reject::BadDate)?;
    let (Some(lat), Some(lon)) = (raw.lat, raw.lon) else { return Err(Reject::NoPosition) };
    let estimated = STATUS_ESTIMATED.contains(&raw.status);
    Ok(Some(Record {
        asset: None,
        time,
        position: record::position(lat, lon),
        accuracy_m: radius_m(&raw),
        received: None,
        speed_mps: record::speed(raw.speed),
        heading_deg: record::heading(raw.track),
        quality: if estimated { FixQuality::Estimated } else { FixQuality::Measured },
        altitude_m: record::height(raw.alt_msl),
    }))
}

/// FIX-2, of `eph`, else of its two parts. gpsd_json(5) said "95 % confidence" of them up to 3.19
/// and says "Certainty unknown" since: gpsd's own model (DOP × 15 m) is meant as 95 %, what
/// receivers report themselves (GST, u-blox hAcc) is passed on as the 1-sigma it is. Taken as 68 %:
/// then it is at most 1.6 times too large, and no fix is ever called better than it is.
fn radius_m(raw: &RawTpv<'_>) -> Option<f64> {
    let parts = || Some(raw.epx?.hypot(raw.epy?));
    record::accuracy(raw.eph).or_else(|| record::accuracy(parts()))
}

#[cfg(test)]
mod tests;
