//! gpsd as oracle: for what its own regression tests report of a recorded log, a fix of ours has
//! the same time of day (10 ms) and place (1e-6°).
//!
//! Always holds: every report that has no such fix is of a class below, checked as far as it can
//! be, and the count of each is known. Does not know: reports without a position (mode below 2).
//! All logs with a `.chk` hold NMEA; what is binary in some of them (Zeus, u-blox, SkyTraq, RTCM)
//! costs us nothing and gives gpsd no position beyond NMEA's.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use geofenced::logic::gnss::epoch::{Assembler, Epoch};
use geofenced::logic::gnss::line::{Checksum, Framer};
use geofenced::units::{BootTime, Span};
use serde::Deserialize;

#[expect(dead_code, reason = "these tests replay nothing")]
#[path = "drive/harness.rs"]
mod harness;

/// The report says nothing of where, though `mode` says that it could: gpsd believes a GSA's 3D
/// before any sentence had a position.
const NO_PLACE: &str = "no place";
/// The receiver gives several places for one time of day (its RMC is a second old): gpsd passes
/// each on, one measurement has one; ours is that of one of its sentences, the finest or GGA's.
const SEVERAL: &str = "several places of one time";
/// The report has no time, gpsd's date not being known yet, and its place is no fix of ours.
const UNTIMED: &str = "no time, and no fix of ours";
/// None of these: a fault of ours until explained.
const UNEXPLAINED: &str = "unexplained";

/// What does not agree, how often, and why.
const DISAGREE: &[(&str, &str, usize, &str)] = &[
    ("bu353-glonass", NO_PLACE, 2, "a GSA before the first place"),
    ("com-1289", NO_PLACE, 1, "a GSA before the first place"),
    ("gps-360", NO_PLACE, 1, "a GSA before the first place"),
    ("iTrek", NO_PLACE, 5, "GSA before the first place"),
    ("st-teseo-liv4f", NO_PLACE, 4, "GSA before the first place"),
    ("GPSmap-76S", UNTIMED, 2, "simulated (`status` 8): unusable (FIX-1)"),
    ("mtk-3301", UNTIMED, 1, "GGA of quality 0 (no fix) with an old place"),
    ("bundg_zeus_9", UNTIMED, 2, "the GLL of a second whose GGA was taken"),
    ("bundg_zeus_9", SEVERAL, 929, "a plotter whose RMC has the GLL's place of a second before"),
];

/// One of gpsd's reports.
#[derive(Deserialize)]
struct Tpv {
    mode: u8,
    time: Option<String>,
    lat: Option<f64>,
    lon: Option<f64>,
}

/// A position of ours, with its time of day in seconds.
#[derive(Clone, Copy)]
struct Seen {
    of_day: Option<f64>,
    lat: f64,
    lon: f64,
}

impl Seen {
    fn of(epoch: &Epoch) -> Option<Self> {
        let position = epoch.fix.ok()?.position;
        let of_day = epoch.time.map(Span::secs_f64);
        Some(Self { of_day, lat: position.lat_deg(), lon: position.lon_deg() })
    }

    fn is_at(&self, lat: f64, lon: f64) -> bool {
        (self.lat - lat).abs() <= 1e-6 && (self.lon - lon).abs() <= 1e-6
    }

    fn is_when(&self, of_day: f64) -> bool {
        // A report has three decimals.
        self.of_day.is_some_and(|own| (own - of_day).abs() <= 0.010_001)
    }
}

/// The fixes of a log, and what each of its sentences would have been alone.
fn read(mut bytes: &[u8]) -> (Vec<Seen>, Vec<Seen>) {
    let now = BootTime::from_nanos(0);
    let new = || Assembler::new(5.0).patient();
    let (mut framer, mut assembler) = (Framer::new(Checksum::Required), new());
    let (mut fixes, mut alone) = (Vec::new(), Vec::new());
    while let Some(framed) = framer.feed(&mut bytes) {
        let Ok(sentence) = framed else { continue };
        let ended = assembler.push(&sentence, now).unwrap_or_default();
        fixes.extend(ended.as_ref().and_then(Seen::of));
        let mut single = new();
        if single.push(&sentence, now).is_ok() {
            alone.extend(single.finish().as_ref().and_then(Seen::of));
        }
    }
    fixes.extend(assembler.finish().as_ref().and_then(Seen::of));
    (fixes, alone)
}

/// `2018-08-20T09:50:01.000Z` in seconds of its day.
fn of_day(time: &str) -> f64 {
    let part = |from: usize, to: usize| time[from..to].parse::<f64>().expect("digits");
    part(11, 13) * 3600.0 + part(14, 16) * 60.0 + part(17, time.len() - 1)
}

/// The class of a report; `None` where it agrees.
fn class(tpv: &Tpv, fixes: &[Seen], alone: &[Seen]) -> Option<&'static str> {
    let (Some(lat), Some(lon)) = (tpv.lat, tpv.lon) else { return Some(NO_PLACE) };
    let Some(time) = &tpv.time else {
        return (!fixes.iter().any(|fix| fix.is_at(lat, lon))).then_some(UNTIMED);
    };
    let time = of_day(time);
    let ours: Vec<&Seen> = fixes.iter().filter(|fix| fix.is_when(time)).collect();
    if ours.iter().any(|fix| fix.is_at(lat, lon)) {
        return None;
    }
    let said = |lat, lon| alone.iter().any(|one| one.is_when(time) && one.is_at(lat, lon));
    let contradicts = said(lat, lon) && ours.iter().any(|fix| said(fix.lat, fix.lon));
    Some(if contradicts { SEVERAL } else { UNEXPLAINED })
}

/// What gpsd's test reports of a log, line by line.
fn reports(log: &Path) -> Option<Vec<u8>> {
    let beside = |suffix: &str| std::fs::read(format!("{}{suffix}", log.display())).ok();
    if let Some(plain) = beside(".chk") {
        return Some(plain);
    }
    let mut bytes = Vec::new();
    let packed = beside(".chk.gz")?;
    let read = flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut bytes);
    read.expect("the corpus is whole");
    Some(bytes)
}

#[test]
fn what_gpsd_reports_is_a_fix() {
    let Some(directory) = harness::corpus("nmea") else { return };
    let (mut logs, mut agree) = (0, 0_usize);
    let mut found: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for path in harness::logs(&directory) {
        let name = harness::name(&path);
        let Some(name) = name.strip_prefix("gpsd__").and_then(|n| n.strip_suffix(".log")) else {
            continue;
        };
        let Some(reports) = reports(&path) else { continue };
        logs += 1;
        let (fixes, alone) = read(&std::fs::read(&path).expect("a log can be read"));
        for line in reports.split(|b| *b == b'\n').filter(|l| l.starts_with(b"{\"class\":\"TPV\""))
        {
            let tpv: Tpv = serde_json::from_slice(line).expect("gpsd writes JSON");
            match class(&tpv, &fixes, &alone) {
                _ if tpv.mode < 2 => {}
                None => agree += 1,
                Some(class) => *found.entry((name.to_owned(), class)).or_default() += 1,
            }
        }
    }
    let of = |class| found.iter().filter(|((_, c), _)| *c == class).map(|(_, n)| n).sum::<usize>();
    let (several, no_place) = (of(SEVERAL), of(NO_PLACE));
    let all = agree + found.values().sum::<usize>();
    let share = 100.0 * agree as f64 / (all - several - no_place) as f64;
    println!(
        "{logs} logs, {all} reports, {agree} agree; {no_place} say no place, {several} are of"
    );
    println!("times with several places; {share:.2} % of the others agree");
    for ((name, class), count) in &found {
        let why = DISAGREE.iter().find(|row| (row.0, row.1) == (name, *class)).map(|row| row.3);
        println!("{name:<16} {class:<28} {count:>4}  {}", why.unwrap_or("?"));
    }
    let known = DISAGREE.iter().map(|(name, class, n, _)| (((*name).to_owned(), *class), *n));
    assert_eq!(found, known.collect(), "found, known");
    assert!(logs >= 60 && share >= 99.5, "{share} % of {logs} logs");
}
