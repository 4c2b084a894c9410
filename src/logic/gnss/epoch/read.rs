//! One sentence → what it says of its epoch. Knots, NMEA times and `ddmm.mmmm` end here.
//!
//! Always holds: a sentence whose fields cannot be read is dropped whole ([`Reject::Malformed`]);
//! nothing that leaves is NaN or infinite; status and mode decide validity, the navigational
//! status never does (FIELD D4).
//! Does not know: which epoch is open, what was said before.
//!
//! RMC, GGA, GNS, GLL, GBS and ZDA are read here and not by `nmea`: it refuses second 60, lines
//! over 102 bytes, quality 9 and more than two GNS modes, takes NaN, latitude 100 and dead
//! reckoning for valid, and forgets how many decimals a position had. So is GSA, whose
//! two-dimensional form it refuses. GST and VTG are its own.

use nmea::sentences::{parse_gst, parse_vtg};
use nmea::{NmeaSentence, SentenceType};

use super::rhythm::Part;
use crate::logic::gnss::line::Sentence;
use crate::logic::gnss::{CivilDate, Reject, record};
use crate::units::{NANOS_PER_SEC, Position, Span};

const MPS_PER_KNOT: f64 = 1852.0 / 3600.0;
const MPS_PER_KMH: f64 = 1.0 / 3.6;

/// What is said of validity, the more cautious being the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Verdict {
    Measured,
    Estimated,
    Simulated,
    NoPosition,
}

/// The sentences that say where and when at once; they open and close epochs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Rmc,
    Gga,
    Gns,
    Gll,
    /// u-blox's own PUBX,00.
    Pubx,
}

impl Kind {
    /// How many there are.
    pub(super) const COUNT: usize = 5;

    /// Which is believed where two say the same thing: the greater.
    pub(super) fn rank(self) -> u8 {
        match self {
            Self::Gga => 4,
            Self::Gns => 3,
            Self::Rmc => 2,
            Self::Pubx => 1,
            Self::Gll => 0,
        }
    }

    pub(super) fn part(self) -> Part {
        match self {
            Self::Rmc => Part::Rmc,
            Self::Gga => Part::Gga,
            Self::Gns => Part::Gns,
            Self::Gll => Part::Gll,
            Self::Pubx => Part::Pubx,
        }
    }
}

/// A position as one sentence gave it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Given {
    /// How good: decimals of the minutes first, then the kind.
    pub(super) rank: (usize, u8),
    pub(super) position: Result<Position, Reject>,
}

/// Speed and course.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Motion {
    pub(super) speed_mps: Option<f32>,
    pub(super) heading_deg: Option<f32>,
}

/// What an RMC, GGA, GNS, GLL or PUBX,00 said.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Located {
    pub(super) kind: Kind,
    pub(super) talker: [u8; 2],
    pub(super) time: Option<Span>,
    /// Absent where one constellation of several says nothing of it.
    pub(super) verdict: Option<Verdict>,
    pub(super) given: Option<Given>,
    pub(super) date: Option<CivilDate>,
    pub(super) hdop: Option<f64>,
    /// The 68 % radius, where it is told.
    pub(super) radius_m: Option<f64>,
    pub(super) motion: Motion,
    pub(super) altitude_m: Option<f32>,
}

/// What one sentence says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Reading {
    Located(Located),
    /// ZDA.
    Date(Option<Span>, Option<CivilDate>),
    /// GST: the 68 % radius.
    Gst(Option<Span>, Option<f64>),
    /// GBS: the same of the error expected.
    Gbs(Option<Span>, Option<f64>),
    /// GSA.
    Hdop(Option<f64>),
    /// VTG.
    Motion(Motion),
    /// Part of a receiver's burst without anything for us.
    Burst,
    /// Somebody else's.
    Other,
}

/// Reads one sentence.
pub(super) fn read(sentence: &Sentence<'_>) -> Result<Reading, Reject> {
    let fields = || Fields::split(sentence.data());
    let located = match sentence.kind() {
        "RMC" => rmc(&fields())?,
        "GGA" => gga(&fields())?,
        "GNS" => gns(&fields())?,
        "GLL" => match fields() {
            // Before NMEA 2.0 a GLL had neither time nor status: nothing to be had from it.
            fields if (4..6).contains(&fields.count) => return Ok(Reading::Burst),
            fields => gll(&fields)?,
        },
        "ZDA" => return zda(&fields()),
        "GST" => return gst(sentence, &fields()),
        "GBS" => return gbs(&fields()),
        "GSA" => return gsa(&fields()),
        "VTG" => return vtg(sentence, &fields()),
        "GSV" | "GRS" | "DTM" | "TXT" => return Ok(Reading::Burst),
        "UBX" if sentence.talker() == "P" => match fields() {
            fields if fields.at[0] == "00" => pubx(&fields)?,
            _ => return Ok(Reading::Burst),
        },
        _ => return Ok(Reading::Other),
    };
    let talker = sentence.talker().as_bytes();
    let talker = [talker.first().copied().unwrap_or(0), talker.get(1).copied().unwrap_or(0)];
    Ok(Reading::Located(Located { talker, ..located }))
}

/// Fields kept of a sentence: the last one read is the 16th, GSA's HDOP.
const FIELDS_KEPT: usize = 16;

/// The fields of a sentence; those that are not there are empty.
struct Fields<'a> {
    at: [&'a str; FIELDS_KEPT],
    count: usize,
}

impl<'a> Fields<'a> {
    fn split(data: &'a str) -> Self {
        let mut fields = Self { at: [""; FIELDS_KEPT], count: 0 };
        for field in data.split(',') {
            if let Some(slot) = fields.at.get_mut(fields.count) {
                *slot = field;
            }
            fields.count += 1;
        }
        fields
    }

    /// A sentence with fewer was cut, however right its checksum (FIELD D9).
    fn at_least(&self, count: usize) -> Result<(), Reject> {
        if self.count < count { Err(Reject::Malformed) } else { Ok(()) }
    }
}

/// time, status, lat, N, lon, E, knots, course, date, variation, its side, mode, nav status
fn rmc(fields: &Fields<'_>) -> Result<Located, Reject> {
    fields.at_least(9)?;
    let [time, status, lat, ns, lon, ew, knots, course, date, _, _, mode, ..] = fields.at;
    Ok(Located {
        date: two_digit_date(date)?,
        motion: motion(number(knots)?.map(|v| v * MPS_PER_KNOT), number(course)?),
        ..located(Kind::Rmc, time, by_status(status, mode)?, [lat, ns, lon, ew])?
    })
}

/// time, lat, N, lon, E, quality, satellites, HDOP, altitude, M, …
fn gga(fields: &Fields<'_>) -> Result<Located, Reject> {
    fields.at_least(8)?;
    let [time, lat, ns, lon, ew, quality, _, hdop, altitude, ..] = fields.at;
    let verdict = match quality {
        // 9 is a satellite based correction at NovAtel, and nothing elsewhere.
        "1" | "2" | "3" | "4" | "5" | "9" => Verdict::Measured,
        "6" => Verdict::Estimated,
        "7" | "8" => Verdict::Simulated,
        "0" | "" => Verdict::NoPosition,
        _ => return Err(Reject::Malformed),
    };
    Ok(Located {
        hdop: number(hdop)?,
        altitude_m: record::height(number(altitude)?),
        ..located(Kind::Gga, time, Some(verdict), [lat, ns, lon, ew])?
    })
}

/// time, lat, N, lon, E, modes, satellites, HDOP, altitude, …
fn gns(fields: &Fields<'_>) -> Result<Located, Reject> {
    fields.at_least(8)?;
    let [time, lat, ns, lon, ew, modes, _, hdop, altitude, ..] = fields.at;
    // One letter a constellation: the best of them made the position. None at all is the form
    // in which one talker adds to another's.
    let mut verdict = None;
    for letter in modes.bytes() {
        let one = by_mode(letter)?;
        verdict = Some(verdict.map_or(one, |best: Verdict| best.min(one)));
    }
    Ok(Located {
        hdop: number(hdop)?,
        altitude_m: record::height(number(altitude)?),
        ..located(Kind::Gns, time, verdict, [lat, ns, lon, ew])?
    })
}

/// 00, time, lat, N, lon, E, height above the ellipsoid, status, hAcc, vAcc, km/h, course, vertical
/// speed, age, HDOP, … The height is not above the sea, so it is not taken.
fn pubx(fields: &Fields<'_>) -> Result<Located, Reject> {
    fields.at_least(15)?;
    let [_, time, lat, ns, lon, ew, _, status, radius, _, kmh, course, _, _, hdop, ..] = fields.at;
    let verdict = match status {
        "G2" | "G3" | "D2" | "D3" | "RK" => Verdict::Measured,
        "DR" => Verdict::Estimated,
        // A solution for the time alone has no place.
        "NF" | "TT" | "" => Verdict::NoPosition,
        _ => return Err(Reject::Malformed),
    };
    Ok(Located {
        hdop: number(hdop)?,
        radius_m: number(radius)?,
        motion: motion(number(kmh)?.map(|v| v * MPS_PER_KMH), number(course)?),
        ..located(Kind::Pubx, time, Some(verdict), [lat, ns, lon, ew])?
    })
}

/// lat, N, lon, E, time, status, mode
fn gll(fields: &Fields<'_>) -> Result<Located, Reject> {
    fields.at_least(6)?;
    let [lat, ns, lon, ew, time, status, mode, ..] = fields.at;
    located(Kind::Gll, time, by_status(status, mode)?, [lat, ns, lon, ew])
}

fn located(
    kind: Kind,
    time: &str,
    verdict: Option<Verdict>,
    place: [&str; 4],
) -> Result<Located, Reject> {
    let believed = verdict.is_some_and(|v| v != Verdict::NoPosition);
    Ok(Located {
        kind,
        talker: [0; 2],
        time: time_of_day(time)?,
        verdict,
        given: given(place, kind)?.filter(|_| believed),
        date: None,
        hdop: None,
        radius_m: None,
        motion: Motion::default(),
        altitude_m: None,
    })
}

/// Status `A` with a mode that carries on, or no mode at all as before NMEA 2.3.
fn by_status(status: &str, mode: &str) -> Result<Option<Verdict>, Reject> {
    let by_mode = match mode.as_bytes() {
        [] => Verdict::Measured,
        [letter] => by_mode(*letter)?,
        _ => return Err(Reject::Malformed),
    };
    match status {
        "A" => Ok(Some(by_mode)),
        "V" | "" => Ok(Some(Verdict::NoPosition)),
        _ => Err(Reject::Malformed),
    }
}

fn by_mode(letter: u8) -> Result<Verdict, Reject> {
    match letter {
        b'A' | b'D' | b'P' | b'R' | b'F' => Ok(Verdict::Measured),
        b'E' => Ok(Verdict::Estimated),
        b'M' | b'S' => Ok(Verdict::Simulated),
        b'N' => Ok(Verdict::NoPosition),
        _ => Err(Reject::Malformed),
    }
}

fn zda(fields: &Fields<'_>) -> Result<Reading, Reject> {
    fields.at_least(4)?;
    let [time, day, month, year, ..] = fields.at;
    let whole = |text: &str| match text {
        "" => Ok(None),
        text => digits(text).map(Some).ok_or(Reject::Malformed),
    };
    let date = match (whole(year)?, whole(month)?, whole(day)?) {
        (Some(year), Some(month), Some(day)) if year <= 9999 && month <= 12 && day <= 31 => {
            CivilDate::new(year as i16, month as i8, day as i8)
        }
        _ => None,
    };
    Ok(Reading::Date(time_of_day(time)?, date))
}

/// The 68 % radius from the deviations of latitude and longitude is their root of squares
/// (distance RMS): 68 % of fixes lie within it where one deviation rules, 63 % where they are
/// equal. HDOP × range error is the same quantity, so the two may stand in for each other.
fn gst(sentence: &Sentence<'_>, fields: &Fields<'_>) -> Result<Reading, Reject> {
    fields.at_least(8)?;
    let gst = parse_gst(for_nmea(sentence, SentenceType::GST)).map_err(|_| Reject::Malformed)?;
    let deviation = |v: Option<f32>| v.map(f64::from).filter(|v| v.is_finite() && *v > 0.0);
    let radius = deviation(gst.lat_sd).zip(deviation(gst.long_sd)).map(|(a, b)| a.hypot(b));
    // The time is read here, for second 60.
    Ok(Reading::Gst(time_of_day(fields.at[0])?, radius))
}

/// time, latitude error, longitude error, …; empty while integrity cannot be told.
fn gbs(fields: &Fields<'_>) -> Result<Reading, Reject> {
    fields.at_least(8)?;
    let error = |text| number(text).map(|v| v.filter(|v| *v > 0.0));
    let radius = error(fields.at[1])?.zip(error(fields.at[2])?).map(|(a, b)| a.hypot(b));
    Ok(Reading::Gbs(time_of_day(fields.at[0])?, radius))
}

/// mode, mode, twelve satellites, PDOP, HDOP, VDOP. Before a fix some cut it short. (The crate
/// refuses the whole sentence of a two-dimensional fix, which has no VDOP.)
fn gsa(fields: &Fields<'_>) -> Result<Reading, Reject> {
    fields.at_least(3)?;
    Ok(Reading::Hdop(number(fields.at[15])?.filter(|v| *v > 0.0)))
}

/// course, T, magnetic course, M, knots, N, km/h, K, mode
fn vtg(sentence: &Sentence<'_>, fields: &Fields<'_>) -> Result<Reading, Reject> {
    if fields.at[8] == "N" {
        return Ok(Reading::Motion(Motion::default()));
    }
    let vtg = parse_vtg(for_nmea(sentence, SentenceType::VTG)).map_err(|_| Reject::Malformed)?;
    let knots = vtg.speed_over_ground.map(|v| f64::from(v) * MPS_PER_KNOT);
    let speed = match knots {
        Some(speed) => Some(speed),
        // The crate loses a speed that comes in km/h only.
        None => number(fields.at[6])?.map(|v| v * MPS_PER_KMH),
    };
    Ok(Reading::Motion(motion(speed, vtg.true_course.map(f64::from))))
}

/// The crate's own parsers look at the data alone: length and checksum are ours to judge.
fn for_nmea<'a>(sentence: &Sentence<'a>, message_id: SentenceType) -> NmeaSentence<'a> {
    NmeaSentence { talker_id: sentence.talker(), message_id, data: sentence.data(), checksum: 0 }
}

/// Speeds below nothing and courses off the rose are unknown, not wrong sentences.
fn motion(speed_mps: Option<f64>, course_deg: Option<f64>) -> Motion {
    Motion { speed_mps: record::speed(speed_mps), heading_deg: record::heading(course_deg) }
}

/// `hhmmss` with any number of decimals. Second 60 is a time (TIME-5), so the result may pass
/// 24 h, by less than a second.
fn time_of_day(text: &str) -> Result<Option<Span>, Reject> {
    if text.is_empty() {
        return Ok(None);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let clock = digits(whole).filter(|_| whole.len() == 6).ok_or(Reject::Malformed)?;
    let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
    if hour > 23 || minute > 59 || second > 60 {
        return Err(Reject::Malformed);
    }
    let mut nanos = 0;
    let mut unit = NANOS_PER_SEC / 10;
    for byte in fraction.bytes() {
        if !byte.is_ascii_digit() {
            return Err(Reject::Malformed);
        }
        nanos += i64::from(byte - b'0') * unit;
        unit /= 10;
    }
    let seconds = i64::from(hour * 3600 + minute * 60 + second);
    Ok(Some(Span::from_nanos(seconds * NANOS_PER_SEC + nanos)))
}

/// `ddmmyy`. GPS began in 1980, so 80 to 99 are the last century's: a cold start says 1980.
/// A date that no calendar has (receivers send 000000 before they know) is unknown.
fn two_digit_date(text: &str) -> Result<Option<CivilDate>, Reject> {
    if text.is_empty() {
        return Ok(None);
    }
    let date = digits(text).filter(|_| text.len() == 6).ok_or(Reject::Malformed)?;
    let year = (date % 100) as i16;
    let year = if year >= 80 { 1900 + year } else { 2000 + year };
    Ok(CivilDate::new(year, (date / 100 % 100) as i8, (date / 10_000) as i8))
}

/// `lat, N|S, lon, E|W` of one sentence; `None` where all of it is empty.
fn given([lat, ns, lon, ew]: [&str; 4], kind: Kind) -> Result<Option<Given>, Reject> {
    if lat.is_empty() && lon.is_empty() {
        return Ok(None);
    }
    let sign = |side: &str, plus: &str, minus: &str| match side {
        s if s == plus => Ok(1.0),
        s if s == minus => Ok(-1.0),
        _ => Err(Reject::Malformed),
    };
    let (north, east) = (sign(ns, "N", "S")?, sign(ew, "E", "W")?);
    let ((lat, lat_decimals), (lon, lon_decimals)) = (degrees(lat)?, degrees(lon)?);
    let position = match (lat, lon) {
        (Some(lat), Some(lon)) => Position::new(north * lat, east * lon),
        _ => None,
    };
    Ok(Some(Given {
        rank: (lat_decimals.min(lon_decimals), kind.rank()),
        position: position.ok_or(Reject::OutOfRange),
    }))
}

/// `dddmm.mmmm` in degrees, `None` with more than 60 minutes; and how many decimals there were.
/// Sixty is what receivers make of 59.99999 when they round.
fn degrees(text: &str) -> Result<(Option<f64>, usize), Reject> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole_part = digits(whole).filter(|_| whole.len() >= 3).ok_or(Reject::Malformed)?;
    // Fifteen decimals are below an atom and still exact in an f64.
    let kept = fraction.get(..fraction.len().min(15)).ok_or(Reject::Malformed)?;
    let (mut parts, mut scale) = (0_u64, 1.0);
    for byte in fraction.bytes() {
        if !byte.is_ascii_digit() {
            return Err(Reject::Malformed);
        }
    }
    for byte in kept.bytes() {
        parts = parts * 10 + u64::from(byte - b'0');
        scale *= 10.0;
    }
    let minutes = f64::from(whole_part % 100) + parts as f64 / scale;
    let degrees = f64::from(whole_part / 100) + minutes / 60.0;
    Ok(((minutes <= 60.0).then_some(degrees), fraction.len()))
}

/// A decimal number as NMEA writes it: no exponent, no `nan`. Empty is unknown.
fn number(text: &str) -> Result<Option<f64>, Reject> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Ok(None);
    }
    let plain = text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'+' | b'-'));
    let value = if plain { text.parse().ok() } else { None };
    value.map(Some).ok_or(Reject::Malformed)
}

/// Up to nine digits and nothing else.
fn digits(text: &str) -> Option<u32> {
    let fits = (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.bytes().fold(0, |sum, b| sum * 10 + u32::from(b - b'0')))
}
