//! Epochs as CSV and the truth as JSON lines.
//!
//! Always holds: `replay` reads the rows as they stand. Does not know: files.

use serde_json::json;

use super::receiver::Epoch;
use super::truth::Truth;
use crate::units::AssetId;

/// The first line of the CSV.
pub const HEADER: &str = "asset,time,lat,lon,accuracy_m,speed_mps,heading_deg\n";

/// An epoch as a row; without a fix the place is empty. An asset with a comma or a quotation mark
/// in it is quoted.
pub fn row(epoch: &Epoch, asset: &AssetId) -> String {
    let asset = match asset.as_str() {
        text if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
        text => text.to_owned(),
    };
    let time = epoch.time;
    let Some(place) = epoch.place else { return format!("{asset},{time},,,,,\n") };
    let (lat, lon) = (place.lat_deg(), place.lon_deg());
    let (accuracy_m, motion) = (epoch.accuracy_m, epoch.motion);
    let (speed_mps, heading_deg) = (motion.speed_mps, motion.heading_deg);
    format!("{asset},{time},{lat:.8},{lon:.8},{accuracy_m:.2},{speed_mps:.2},{heading_deg:.1}\n")
}

/// The truth, one line a crossing in order of time, with the keys that events have; before them,
/// without `at`, each zone that the drive begins in.
pub fn truth_lines(truths: &[Truth]) -> String {
    let begins = truths.iter().filter(|truth| truth.begins_inside).map(|truth| {
        json!({"layer": truth.zone.layer, "zone": truth.zone.zone, "inside": true}).to_string()
    });
    let mut crossings: Vec<_> = truths
        .iter()
        .flat_map(|truth| truth.crossings.iter().map(move |crossing| (&truth.zone, crossing)))
        .collect();
    crossings.sort_by_key(|(_, crossing)| crossing.time);
    let crossings = crossings.into_iter().map(|(zone, crossing)| {
        // To the centimetre: finer digits differ from machine to machine.
        let round = |degrees: f64| (degrees * 1e7).round() / 1e7;
        let (lat, lon) = (round(crossing.place.lat_deg()), round(crossing.place.lon_deg()));
        let millis = (crossing.time.nanos() + 500_000).div_euclid(1_000_000);
        let at = crate::units::EventTime::from_nanos(millis * 1_000_000);
        json!({
            "layer": zone.layer, "zone": zone.zone, "inside": crossing.inside, "at": at,
            "crossing": {"lat": lat, "lon": lon},
        })
        .to_string()
    });
    begins.chain(crossings).map(|line| line + "\n").collect()
}
