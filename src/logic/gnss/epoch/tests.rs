//! Epochs, read as lines in and epochs out.

mod sentences;

use super::*;
use crate::logic::gnss::line::{Checksum, Framer};

const RANGE_ERROR_M: f64 = 5.0;

fn at_ms(ms: i64) -> BootTime {
    BootTime::from_nanos(ms * 1_000_000)
}

/// Adds `$` and the checksum.
fn line(body: &str) -> String {
    let body = body.trim_start_matches('$');
    if body.contains('*') {
        return format!("${body}\r\n");
    }
    let sum = body.bytes().fold(0, |a, b| a ^ b);
    format!("${body}*{sum:02X}\r\n")
}

/// What a run gives: every epoch, and every reject on the way.
#[derive(Default)]
struct Run {
    epochs: Vec<Epoch>,
    rejects: Vec<Reject>,
}

/// Plays bursts of lines, each burst at its own time in ms; the loop wakes at deadlines.
fn play(bursts: &[(i64, &[&str])]) -> Run {
    let mut run = Run::default();
    let mut assembler = Assembler::new(RANGE_ERROR_M);
    for (ms, lines) in bursts {
        let now = at_ms(*ms);
        while assembler.deadline().is_some_and(|deadline| deadline <= now) {
            run.epochs.extend(assembler.flush(now));
        }
        let text: String = lines.iter().map(|body| line(body)).collect();
        feed(&mut run, &mut assembler, text.as_bytes(), now);
    }
    run.epochs.extend(assembler.finish());
    run
}

fn feed(run: &mut Run, assembler: &mut Assembler, mut bytes: &[u8], now: BootTime) {
    let mut framer = Framer::new(Checksum::Required);
    while let Some(framed) = framer.feed(&mut bytes) {
        match framed.and_then(|sentence| assembler.push(&sentence, now)) {
            Ok(epoch) => run.epochs.extend(epoch),
            Err(reject) => run.rejects.push(reject),
        }
    }
}

fn one(lines: &[&str]) -> Epoch {
    let run = play(&[(0, lines)]);
    assert_eq!(run.rejects, [], "{lines:?}");
    assert_eq!(run.epochs.len(), 1, "{lines:?}: {:?}", run.epochs);
    run.epochs[0]
}

fn hms(hour: i64, minute: i64, second: i64) -> Span {
    Span::from_secs(hour * 3600 + minute * 60 + second)
}

const MEASURED: Result<FixQuality, Reject> = Ok(FixQuality::Measured);

/// Whole numbers below what is asked, from a seed (xorshift64).
pub(super) fn dice(seed: u64) -> impl FnMut(usize) -> usize {
    let mut random = seed;
    move |below| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) as usize % below
    }
}

/// D1: all talkers alike; knots become metres per second.
#[test]
fn d1_talkers() {
    let epoch =
        one(&["$GNRMC,120000.00,A,4807.0380000,N,01131.0000000,E,12.3,084.4,301126,,,A,V*04"]);
    let place = epoch.fix.unwrap();
    assert_eq!(place.quality, FixQuality::Measured);
    assert!((place.position.lat_deg() - 48.1173).abs() < 1e-9);
    assert!((place.position.lon_deg() - 11.516_666_666_7).abs() < 1e-9);
    assert!((epoch.speed_mps.unwrap() - 6.3277).abs() < 1e-3);
    assert_eq!(epoch.heading_deg, Some(84.4));
    assert_eq!(epoch.time, Some(hms(12, 0, 0)));
    assert_eq!(epoch.date, CivilDate::new(2026, 11, 30));
    for (talker, sum) in
        [("GB", 66), ("BD", 65), ("GQ", 75), ("QZ", 68), ("GI", 0x6D), ("GA", 65), ("II", 63)]
    {
        let sum = if talker == "GI" { "6D".to_owned() } else { sum.to_string() };
        let text =
            format!("${talker}RMC,120002.00,A,4807.0380,N,01131.0000,E,0.0,,301126,,,A*{sum}");
        let epoch = one(&[&text]);
        assert_eq!(epoch.fix.map(|p| p.quality), MEASURED, "{text}");
        assert_eq!(epoch.heading_deg, None);
    }
    let run = play(&[(
        0,
        &[
            "$GPRMC,120002.00,A,4807.0380,N,01131.0000,E,0.0,,301126,,,A",
            "$GLRMC,120002.00,A,4807.0380,N,01131.0000,E,0.0,,301126,,,A",
            "$GNGNS,120002.00,4807.0380,N,01131.0000,E,AAAAN,14,1.3,250.8,50.0,,,V",
            "$GPGNS,120002.00,,,,,,6,,,,1.0,0",
        ],
    )]);
    assert_eq!((run.epochs.len(), run.rejects.len()), (1, 0));
    assert_eq!(run.epochs[0].fix.map(|p| p.quality), MEASURED);
}

/// D2: no fix is no position, with its time and date where they are told.
#[test]
fn d2_no_fix() {
    let run = play(&[
        (0, &["$GNRMC,,V,,,,,,,,,,N*4D", "$GNGGA,,,,,,0,00,99.99,,,,,,"]),
        (1000, &["$GPRMC,,V,,,,,,,,,,N*53"]),
        (2000, &["$GNRMC,120001.00,V,,,,,,,301126,,,N,V*1C"]),
    ]);
    assert_eq!(run.epochs.len(), 3);
    assert!(run.epochs.iter().all(|e| e.fix == Err(Reject::NoPosition)));
    assert_eq!(run.epochs[1].time, None);
    assert_eq!(
        (run.epochs[2].time, run.epochs[2].date),
        (Some(hms(12, 0, 1)), CivilDate::new(2026, 11, 30))
    );
    // Without pauses the kinds' turn tells the epochs apart.
    let burst: &[&str] = &["$GNRMC,,V,,,,,,,,,,N", "$GNGGA,,,,,,0,,,,,,,,", "$GNGLL,,,,,,V,N"];
    assert_eq!(play(&[(0, burst), (0, burst), (0, burst)]).epochs.len(), 3);
}

/// D4, D6: status and mode decide, the navigational status never does; the cautious wins.
#[test]
fn d4_d6_validity() {
    let rmc = |status: &str, mode: &str| {
        format!("$GNRMC,120004.00,{status},4807.0380,N,01131.0000,E,0.0,,301126,,,{mode}")
    };
    let gga = |quality: &str| {
        format!("$GNGGA,120004.00,4807.0380,N,01131.0000,E,{quality},12,0.9,545.4,M,46.9,M,,")
    };
    let gns = |modes: &str| {
        format!("$GNGNS,120004.00,4807.0380,N,01131.0000,E,{modes},12,0.9,545.4,46.9,,,V")
    };
    let estimated = Ok(FixQuality::Estimated);
    let simulated = Err(Reject::Simulated);
    let nothing = Err(Reject::NoPosition);
    let cases: &[(&[String], Result<FixQuality, Reject>)] = &[
        (&[rmc("A", "A,V")], MEASURED),
        (&[rmc("A", "D,S")], MEASURED),
        (&[rmc("A", "R,C")], MEASURED),
        (&[rmc("A", "F,V")], MEASURED),
        (&[rmc("A", "E,V")], estimated),
        (&[rmc("A", "S,V")], simulated),
        (&[rmc("A", "M,V")], simulated),
        (&[rmc("A", "N,V")], nothing),
        (&[rmc("V", "A,S")], nothing),
        (&[rmc("A", "")], MEASURED),
        (&[gga("1")], MEASURED),
        (&[gga("5")], MEASURED),
        (&[gga("9")], MEASURED),
        (&[gga("0")], nothing),
        (&[gga("6")], estimated),
        (&[gga("7")], simulated),
        (&[gga("8")], simulated),
        (&[gns("NNA")], MEASURED),
        (&[gns("NE")], estimated),
        (&[gns("NNNN")], nothing),
        (&[gga("1"), rmc("A", "E")], estimated),
        (&[rmc("A", "A"), gga("6")], estimated),
        (&[rmc("A", "A"), gga("8")], simulated),
        (&[rmc("V", "N"), gga("1")], nothing),
        (
            &["$GNRMC,050700.00,A,5524.8683,N,01255.7938,E,0.2,181.3,230626,4.3,E,A,C*4E".into()],
            MEASURED,
        ),
        (&["$GNRMC,120004.00,A,4807.0380,N,01131.0000,E,0.0,,301126,,,E,V*12".into()], estimated),
    ];
    for (lines, expected) in cases {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(one(&lines).fix.map(|p| p.quality), *expected, "{lines:?}");
    }
}

#[test]
fn places_that_are_none() {
    let at = |lat: &str, ns: &str, lon: &str, ew: &str| {
        let text = format!("$GNGGA,120004.00,{lat},{ns},{lon},{ew},1,12,0.9,545.4,M,46.9,M,,");
        let run = play(&[(0, &[&text])]);
        match run.epochs.first() {
            Some(epoch) => epoch.fix.map(|p| p.position),
            None => Err(run.rejects[0]),
        }
    };
    assert_eq!(at("0000.0000", "N", "00000.0000", "E"), Err(Reject::NullIsland));
    assert_eq!(at("0000.0000", "S", "00000.0000", "W"), Err(Reject::NullIsland));
    assert_eq!(at("10000.0000", "N", "01131.0000", "E"), Err(Reject::OutOfRange));
    assert_eq!(at("4807.0", "N", "18000.1", "E"), Err(Reject::OutOfRange));
    assert_eq!(at("4861.0", "N", "01131.0000", "E"), Err(Reject::OutOfRange));
    assert_eq!(at("", "", "", ""), Err(Reject::NoPosition));
    for lat in ["NaN", "inf", "-4807.0", "4807.03.8", "48", "4807.0e3", "4807,N"] {
        assert_eq!(at(lat, "N", "01131.0000", "E"), Err(Reject::Malformed), "{lat}");
    }
    assert_eq!(at("4807.0", "", "01131.0000", "E"), Err(Reject::Malformed));
    assert_eq!(at("4807.0", "N", "01131.0000", "N"), Err(Reject::Malformed));
    let rounded = at("4760.0000", "N", "01131.0000", "E").unwrap();
    assert!((rounded.lat_deg() - 48.0).abs() < 1e-12);
    let antipode = at("3330.0", "S", "18000.0000", "W").unwrap();
    assert_eq!((antipode.lat_deg(), antipode.lon_deg()), (-33.5, -180.0));
}

/// D7: seven decimals of a minute keep 2 cm; of two sentences the finer position is taken.
#[test]
fn d7_fine_positions() {
    let long =
        "$GNGGA,115739.00,4158.8441367,N,09147.4416929,W,4,13,0.9,255.747,M,-32.00,M,01,0000*70";
    let coarse = "$GNRMC,115739.00,A,4158.84,N,09147.44,W,0.0,,301126,,,A";
    for lines in [[long, coarse], [coarse, long]] {
        let epoch = one(&lines);
        let position = epoch.fix.unwrap().position;
        assert!((position.lat_deg() - (41.0 + 58.844_136_7 / 60.0)).abs() < 1e-9);
        assert!((position.lon_deg() + 91.0 + 47.441_692_9 / 60.0).abs() < 1e-9);
        assert_eq!(epoch.altitude_m, Some(255.747));
    }
}

/// D9: truncated under a right checksum is dropped whole, and nothing changes.
#[test]
fn d9_truncated() {
    let good = "$GPRMC,181535.000,A,5936.7900,N,01000.0000,E,0.0,,301126,,,A";
    let run = play(&[(
        0,
        &[
            good,
            "$GPRMC,181536.000,A,5936.79K,D*3A",
            "$GPGGA,181536.000,5936.79",
            "$GPGLL,5936.79",
            "$GPZDA,181536.000,30",
            "$GPGST,181536.000,1",
            "$GPGSA,A",
            "$GPVTG,1",
            "$GPRMC,181536.0x0,A,5936.7900,N,01000.0000,E,0.0,,301126,,,A",
            "$GPRMC,181536.000,A,5936.7900,N,01000.0000,E,fast,,301126,,,A",
            "$GPRMC,181536.000,A,5936.7900,N,01000.0000,E,0.0,,3011,,,A",
            "$GPRMC,181536.000,A,5936.7900,N,01000.0000,E,0.0,,301126,,,Q",
        ],
    )]);
    assert_eq!(run.rejects, [Reject::Malformed; 11]);
    assert_eq!(run.epochs, [one(&[good])]);
}

/// B5: zero, empty, negative and 99.99 are no accuracy to boast of. FIX-2: GST, else HDOP.
#[test]
fn b5_accuracy() {
    let gga = |hdop: &str| {
        format!("$GNGGA,120004.00,4807.0380,N,01131.0000,E,1,12,{hdop},545.4,M,46.9,M,,")
    };
    let gst = |lat: &str, lon: &str| format!("$GNGST,120004.00,15.5,15.3,7.2,21.8,{lat},{lon},0.8");
    let gsa = "$GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.6,2.1";
    for (hdop, expected) in [("0.9", 4.5), ("0", 15.0), ("0.0", 15.0), ("", 15.0), ("-1.0", 15.0)] {
        let epoch = one(&[&gga(hdop)]);
        assert!((epoch.accuracy_m - expected).abs() < 1e-9, "{hdop}: {}", epoch.accuracy_m);
    }
    assert!((one(&[&gga("99.99")]).accuracy_m - 499.95).abs() < 1e-9);
    assert!((one(&[&gga(""), gsa]).accuracy_m - 8.0).abs() < 1e-5);
    assert!(
        (one(&[&gga(""), "$GPGSA,A,2,02,04,27,,,,,,,,,,10.5,5.0,"]).accuracy_m - 25.0).abs() < 1e-5
    );
    assert_eq!(one(&[&gga(""), "$GPGSA,A,1,,,,*32"]).accuracy_m, 15.0);
    for (lat, lon, expected) in
        [("3.0", "4.0", 5.0), ("0.0", "4.0", 4.5), ("", "", 4.5), ("-3.0", "4.0", 4.5)]
    {
        for lines in [[gga("0.9"), gst(lat, lon)], [gst(lat, lon), gga("0.9")]] {
            let epoch = one(&[&lines[0], &lines[1]]);
            assert!((epoch.accuracy_m - expected).abs() < 1e-6, "{lines:?}");
        }
    }
}

#[test]
fn speeds_and_courses() {
    let gga = "$GNGGA,120004.00,4807.0380,N,01131.0000,E,1,12,0.9,545.4,M,46.9,M,,";
    let speed = |vtg: &str| {
        let epoch = one(&[gga, vtg]);
        (epoch.speed_mps.map(|v| (v * 100.0).round()), epoch.heading_deg)
    };
    assert_eq!(speed("$GNVTG,360.0,T,,M,10.0,N,18.52,K,A"), (Some(514.0), Some(0.0)));
    assert_eq!(speed("$GNVTG,54.7,T,,M,,N,36.0,K,A"), (Some(1000.0), Some(54.7_f32)));
    assert_eq!(speed("$GNVTG,,T,,M,-3.0,N,,K,A"), (None, None));
    assert_eq!(speed("$GNVTG,0.0,T,,M,0.0,N,0.0,K,N"), (None, None));
    assert_eq!(speed("$GNVTG,nan,T,,M,inf,N,,K,A"), (None, None));
}

/// TIME-5, C9: what receivers call the date; a cold start's 1980 is seen as such.
#[test]
fn time_5_dates() {
    let date = |text: &str| {
        one(&[&format!("$GPRMC,000000.00,V,,,,,,,{text},,,N")])
            .date
            .map(|d| (d.year(), d.month(), d.day()))
    };
    assert_eq!(date("060180"), Some((1980, 1, 6)));
    assert_eq!(date("220899"), Some((1999, 8, 22)));
    assert_eq!(date("010100"), Some((2000, 1, 1)));
    assert_eq!(date("290226"), None);
    assert_eq!(date("000000"), None);
    assert_eq!(date("311279"), Some((2079, 12, 31)));
    // Four digits beat two, wherever in the burst they stand.
    let rmc = "$GPRMC,120000.00,A,4807.0380,N,01131.0000,E,0.0,,010170,,,A";
    let zda = "$GPZDA,120000.00,01,01,1970,00,00";
    for lines in [[rmc, zda], [zda, rmc]] {
        assert_eq!(one(&lines).date, CivilDate::new(1970, 1, 1));
    }
    // A ZDA of another second is no epoch and dates none.
    let run =
        play(&[(0, &["$GPZDA,115959.00,30,11,2026,00,00", "$GPGLL,4807.0,N,01131.0,E,120000,A"])]);
    assert_eq!(run.epochs.len(), 1);
    assert_eq!(run.epochs[0].date, None);
}

/// C19: 23:59:60 is a time, in every sentence, and any rounding to 60 is.
#[test]
fn c19_second_60() {
    let epoch = one(&[
        "$GNRMC,235960.00,A,4807.0380,N,01131.0000,E,0.0,,311226,,,A",
        "$GNGGA,235960,4807.0380,N,01131.0000,E,1,12,0.9,545.4,M,46.9,M,,",
        "$GNZDA,235960.000,31,12,2026,00,00",
    ]);
    assert_eq!(epoch.time, Some(Span::from_secs(86_400)));
    assert_eq!(epoch.fix.map(|p| p.quality), MEASURED);
    for wrong in ["240000", "126000", "120061", "12000", "1200000", "12:00"] {
        let text = format!("$GNGGA,{wrong},4807.0380,N,01131.0000,E,1,12,0.9,545.4,M,46.9,M,,");
        assert_eq!(play(&[(0, &[&text])]).rejects, [Reject::Malformed], "{wrong}");
    }
}

fn burst(second: i64) -> [String; 9] {
    let time = format!("1200{second:02}.00");
    let place = "4807.0380,N,01131.0000,E";
    [
        format!("$GPRMC,{time},A,{place},0.0,,301126,,,A"),
        format!("$GPVTG,{second}.0,T,,M,1.0,N,1.852,K,A"),
        format!("$GPGGA,{time},{place},1,12,,545.4,M,46.9,M,,"),
        format!("$GPGSA,A,3,04,05,,09,12,,,24,,,,,2.5,{}.0,2.1", second + 1),
        "$GPGSV,3,1,11,07,63,152,29,13,57,053,39,10,43,302,33,04,43,215,36".into(),
        "$GPGSV,3,2,11,02,42,284,35,08,32,188,33,23,30,066,40,05,18,302,37".into(),
        "$GPGSV,3,3,11,20,07,122,,29,02,334,,16,09,036,".into(),
        format!("$GPGLL,{place},{time},A,A"),
        format!("$GPGST,{time},1,,,,,,"),
    ]
}

/// D14: a log cut out of a drive, read at once: the first epoch has its GSA inside, so the one
/// behind it is the next epoch's, as it is where the receiver pauses.
#[test]
fn d14_a_gsa_behind_an_epoch_that_has_one_is_of_the_next() {
    let gsa = |hdop: i64| format!("$GPGSA,A,3,13,07,10,08,,,,,,,,,2.3,{hdop}.0,1.6");
    let rmc = |second: i64| {
        format!("$GPRMC,14192{second}.000,A,4618.7862,N,00729.3857,E,0.00,,030410,,,A")
    };
    let gll = "$GPGLL,4618.7862,N,00729.3857,E,141921.000,A,A";
    let bursts = [vec![gll.to_owned(), gsa(1), rmc(1)], vec![gsa(2), rmc(2)], vec![gsa(3), rmc(3)]];
    for pause_ms in [0, 1000] {
        let bursts: Vec<Vec<&str>> =
            bursts.iter().map(|lines| lines.iter().map(String::as_str).collect()).collect();
        let timed: Vec<(i64, &[&str])> =
            (0..).map(|ix| ix * pause_ms).zip(bursts.iter().map(Vec::as_slice)).collect();
        let run = play(&timed);
        let accuracies: Vec<f64> = run.epochs.iter().map(|epoch| epoch.accuracy_m).collect();
        assert_eq!(accuracies, [5.0, 10.0, 15.0], "pause {pause_ms} ms");
    }
}

/// D14: one burst, one fix, whatever its order; GSA and VTG stay with their burst. With pauses
/// from the first burst on; without (a log read at once) when the stream began with it.
#[test]
fn d14_any_order_is_one_fix() {
    let mut order: Vec<usize> = (0..9).collect();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..300 {
        for i in (1..order.len()).rev() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            order.swap(i, (random % (i as u64 + 1)) as usize);
        }
        for interval_ms in [0, 1000] {
            let bursts: Vec<(i64, Vec<String>)> = (0..5)
                .map(|n| (n * interval_ms, order.iter().map(|i| burst(n)[*i].clone()).collect()))
                .collect();
            let lines: Vec<Vec<&str>> =
                bursts.iter().map(|(_, l)| l.iter().map(String::as_str).collect()).collect();
            let played: Vec<(i64, &[&str])> =
                bursts.iter().zip(&lines).map(|((at, _), l)| (*at, l.as_slice())).collect();
            let run = play(&played);
            assert_eq!(run.rejects, [], "{round} {order:?}");
            assert_eq!(run.epochs.len(), 5, "{round} {order:?}");
            for (n, epoch) in (0_i64..).zip(&run.epochs) {
                assert_eq!(epoch.fix.map(|p| p.quality), MEASURED);
                assert_eq!(epoch.time, Some(hms(12, 0, n)));
                assert_eq!(epoch.stamp, at_ms(n * interval_ms));
                let first = order.iter().find(|i| [0, 1, 2, 3, 7].contains(i));
                let told = interval_ms > 0
                    || first.is_some_and(|i| ![1, 3].contains(i))
                    || tail_is_located(&order);
                if told {
                    assert_eq!(epoch.accuracy_m, (n as f64 + 1.0) * 5.0, "{interval_ms} {order:?}");
                    assert_eq!(epoch.heading_deg, Some(n as f32), "{interval_ms} {order:?}");
                }
            }
        }
    }
}

/// Whether neither GSA nor VTG stands behind the last sentence with a time.
fn tail_is_located(order: &[usize]) -> bool {
    let last = order.iter().rposition(|i| [0, 2, 7].contains(i)).unwrap();
    order[last..].iter().all(|i| ![1, 3].contains(i))
}

/// D14, E9: what comes behind the deadline, or again, is no second fix.
#[test]
fn d14_late_tail_and_frozen_time() {
    let [rmc, _, gga, ..] = burst(0);
    let run = play(&[(0, &[&rmc]), (400, &[&gga]), (1000, &[&rmc]), (60_000, &[&gga])]);
    assert_eq!((run.epochs.len(), run.rejects.len()), (1, 3));
    assert!(run.rejects.iter().all(|r| *r == Reject::Repeat));
    // Two receivers on one line, half a second apart, their bursts interleaved.
    let (a, b) = (burst(5), burst(4));
    let run = play(&[(0, &[&a[0], &b[0], &a[2], &b[2], &a[7], &b[7]])]);
    assert_eq!(run.epochs.len(), 2);
    // One sentence rounds its time where another does not.
    let place = "3728.0549,N,12213.8639,W";
    let fine = format!("$GPGLL,{place},014413.076,A,A");
    let rounded = format!("$GPGGA,014413.08,{place},1,05,1.0,19,M,-28,M,,");
    assert_eq!(one(&[&fine, &rounded]).accuracy_m, 5.0);
    // The same time on another day is another epoch.
    let next = "$GPRMC,120000.00,A,4807.0380,N,01131.0000,E,0.0,,011226,,,A";
    assert_eq!(play(&[(0, &[&rmc, next])]).epochs.len(), 2);
    assert_eq!(play(&[(0, &[&gga]), (86_400_000, &[&gga])]).epochs.len(), 2);
    // C10: a step back of three seconds loses no more than the one second given last.
    let seconds = [burst(3), burst(4), burst(5), burst(6), burst(4), burst(5), burst(6), burst(7)];
    let bursts: Vec<[&str; 1]> = seconds.iter().map(|b| [b[0].as_str()]).collect();
    let played: Vec<(i64, &[&str])> =
        (0..).zip(&bursts).map(|(n, b)| (n * 1000, b.as_slice())).collect();
    assert_eq!(play(&played).epochs.len(), 8);
}

/// The loop is told when to come back, and nothing more is held.
#[test]
fn deadlines() {
    let mut assembler = Assembler::new(RANGE_ERROR_M);
    let mut run = Run::default();
    assert_eq!(assembler.deadline(), None);
    let [rmc, _, gga, _, gsv, ..] = burst(0).map(|body| line(&body));
    feed(&mut run, &mut assembler, rmc.as_bytes(), at_ms(0));
    feed(&mut run, &mut assembler, gga.as_bytes(), at_ms(120));
    feed(&mut run, &mut assembler, gsv.as_bytes(), at_ms(250));
    feed(&mut run, &mut assembler, line("$WIMWV,282,R,11.6,N,A").as_bytes(), at_ms(300));
    assert_eq!(assembler.deadline(), Some(at_ms(250) + QUIET));
    assert_eq!(assembler.flush(at_ms(449)), None);
    let epoch = assembler.flush(at_ms(450)).unwrap();
    assert_eq!(epoch.stamp, at_ms(0));
    assert_eq!((assembler.deadline(), assembler.finish()), (None, None));
}

/// Bytes flipped, dropped, doubled and cut: no panic, and never more epochs than sentences.
#[test]
fn d12_mutations() {
    const SEED: u64 = 0xD1B5_4A32_D192_ED03;
    let clean: Vec<u8> =
        (0..8).flat_map(|n| burst(n).map(|b| line(&b)).concat().into_bytes()).collect();
    let mut next = dice(SEED);
    for round in 0..1_500 {
        let mut bytes = clean.clone();
        for _ in 0..=next(12) {
            let at = next(bytes.len());
            // Cutting leaves at least one byte.
            match next(6) {
                0 => bytes[at] ^= 1 << next(8),
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, bytes[at]),
                3 => bytes.truncate(at.max(1)),
                4 => bytes[at] = next(256) as u8,
                _ => {
                    let end = (at + next(90)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    let to = next(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        let (mut run, mut assembler) = (Run::default(), Assembler::new(RANGE_ERROR_M));
        feed(&mut run, &mut assembler, &bytes, at_ms(0));
        run.epochs.extend(assembler.finish());
        assert!(run.epochs.len() <= 100, "seed {SEED:#x}, round {round}");
        for epoch in &run.epochs {
            assert!(epoch.accuracy_m > 0.0 && epoch.accuracy_m.is_finite());
            assert!(epoch.time.is_none_or(|t| t < Span::from_secs(86_401) && t >= Span::ZERO));
        }
    }
}
