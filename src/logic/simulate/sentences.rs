//! Epochs as NMEA 0183, the way a common receiver writes them: RMC, GGA and if wanted GST.
//!
//! Always holds: every sentence has its checksum; an epoch is its own sentences and no more.
//! Does not know: what is read out of them.

use std::fmt::Write as _;

use super::receiver::Epoch;
use crate::logic::config::Decide;
use crate::units::{EventTime, Position};

/// Metres a second in knots.
const KNOTS: f64 = 3600.0 / 1852.0;

/// How a receiver tells how good it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quality {
    /// By GST: its deviations. The HDOP is there too.
    Deviations,
    /// By HDOP alone: the claimed radius over the default range error.
    Dilution,
}

/// The sentences of one epoch. Times are told to the hundredth of a second.
pub fn sentences(epoch: &Epoch, quality: Quality) -> String {
    let (date, clock) = civil(epoch.time);
    let Some(place) = epoch.place else {
        let rmc = format!("GNRMC,{clock},V,,,,,,,{date},,,N");
        let gga = format!("GNGGA,{clock},,,,,0,00,99.99,,,,,,");
        return framed(&rmc) + &framed(&gga);
    };
    let at = position(place);
    let knots = epoch.motion.speed_mps * KNOTS;
    let heading_deg = epoch.motion.heading_deg;
    let dilution = epoch.accuracy_m / Decide::default().range_error_m;
    let rmc = format!("GNRMC,{clock},A,{at},{knots:.2},{heading_deg:.1},{date},,,A");
    let gga = format!("GNGGA,{clock},{at},1,14,{dilution:.2},519.0,M,46.9,M,,");
    let mut text = framed(&rmc) + &framed(&gga);
    if quality == Quality::Deviations {
        let own = epoch.deviation_m;
        let gst = format!("GNGST,{clock},{own:.2},,,,{own:.2},{own:.2},{:.2}", 1.5 * own);
        text += &framed(&gst);
    }
    text
}

/// Latitude and longitude with their hemispheres.
fn position(place: Position) -> String {
    let (lat, lon) = (place.lat_deg(), place.lon_deg());
    let (ns, ew) = (if lat < 0.0 { 'S' } else { 'N' }, if lon < 0.0 { 'W' } else { 'E' });
    format!("{},{ns},{},{ew}", angle(lat.abs(), 2), angle(lon.abs(), 3))
}

/// NMEA's degrees and minutes, to 1e-6 minutes (2 mm).
fn angle(degrees: f64, digits: usize) -> String {
    const MICROS_A_DEGREE: u64 = 60_000_000;
    let micros = (degrees * MICROS_A_DEGREE as f64).round() as u64;
    let (whole, rest) = (micros / MICROS_A_DEGREE, micros % MICROS_A_DEGREE);
    format!("{whole:0digits$}{:02}.{:06}", rest / 1_000_000, rest % 1_000_000)
}

/// NMEA's date (ddmmyy) and time of day (hhmmss.ss).
fn civil(time: EventTime) -> (String, String) {
    let centis = (time - time.midnight()).nanos() / 10_000_000;
    let secs = centis / 100;
    let (hour, minute, second) = (secs / 3600, secs / 60 % 60, secs % 60);
    let text = time.midnight().to_string();
    let date = format!("{}{}{}", &text[8..10], &text[5..7], &text[2..4]);
    (date, format!("{hour:02}{minute:02}{second:02}.{:02}", centis % 100))
}

/// `$…*hh`, and a line end.
fn framed(body: &str) -> String {
    let sum = body.bytes().fold(0, |sum: u8, byte| sum ^ byte);
    let mut line = format!("${body}*");
    // Writing to a String cannot fail.
    let _ = write!(line, "{sum:02X}\r\n");
    line
}

#[cfg(test)]
mod tests {
    use super::super::drive::Motion;
    use super::*;

    fn check(time: &str, place: Option<(f64, f64)>, quality: Quality, expected: &str) {
        let epoch = Epoch {
            true_time: EventTime::from_nanos(0),
            time: time.parse().unwrap(),
            place: place.map(|(lat, lon)| Position::new(lat, lon).unwrap()),
            deviation_m: 3.0,
            accuracy_m: 4.0,
            motion: Motion { speed_mps: 20.0, heading_deg: 90.0 },
        };
        assert_eq!(sentences(&epoch, quality).replace("\r\n", "|"), expected);
    }

    #[test]
    fn sentences_are_sound() {
        check(
            "2026-11-30T23:59:59.9Z",
            Some((48.15, 11.56)),
            Quality::Dilution,
            "$GNRMC,235959.90,A,4809.000000,N,01133.600000,E,38.88,90.0,301126,,,A*7E|\
             $GNGGA,235959.90,4809.000000,N,01133.600000,E,1,14,0.80,519.0,M,46.9,M,,*42|",
        );
        check(
            "2026-12-01T00:00:00Z",
            Some((-0.5, -179.999_999_999_9)),
            Quality::Deviations,
            "$GNRMC,000000.00,A,0030.000000,S,18000.000000,W,38.88,90.0,011226,,,A*71|\
             $GNGGA,000000.00,0030.000000,S,18000.000000,W,1,14,0.80,519.0,M,46.9,M,,*4C|\
             $GNGST,000000.00,3.00,,,,3.00,3.00,4.50*65|",
        );
        check(
            "2026-12-01T00:00:00Z",
            None,
            Quality::Deviations,
            "$GNRMC,000000.00,V,,,,,,,011226,,,N*65|\
             $GNGGA,000000.00,,,,,0,00,99.99,,,,,,*78|",
        );
        assert_eq!(
            framed("GPGLL,5057.970,N,00146.110,E,142451,A"),
            "$GPGLL,5057.970,N,00146.110,E,142451,A*27\r\n"
        );
        assert_eq!(angle(11.999_999_999_9, 3), "01200.000000");
    }
}
