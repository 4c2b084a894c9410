//! Receivers: FIELD C5, C6, C17, C20 and D, from bytes to fixes and events.

use geofenced::logic::config::Decide;
use geofenced::logic::engine::FixReport;
use geofenced::logic::gnss::Reject;
use geofenced::units::Span;

use crate::harness::{Gateway, Place, layer};
use crate::timeline::*;

/// A sentence with its checksum and line end.
pub(crate) fn sentence(body: &str) -> String {
    let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    format!("${body}*{sum:02X}\r\n")
}

/// `ddmm.mmmmmmm`, hemisphere.
fn degrees(deg: f64, width: usize, signs: [char; 2]) -> String {
    let (whole, minutes) = (deg.abs().floor(), deg.abs().fract() * 60.0);
    let sign = if deg < 0.0 { signs[1] } else { signs[0] };
    format!("{whole:0width$}{minutes:010.7},{sign}")
}

fn place(place: Place) -> String {
    format!("{},{}", degrees(place.0, 2, ['N', 'S']), degrees(place.1, 3, ['E', 'W']))
}

/// Time of day of second `t`.
fn clock(t: f64) -> String {
    let of_day = 43_200.0 + t;
    let (h, m) = ((of_day / 3600.0).floor(), (of_day / 60.0).floor() % 60.0);
    format!("{h:02}{m:02}{:05.2}", of_day % 60.0)
}

/// RMC of second `t`, mode A.
pub(crate) fn rmc(t: f64, at: Place) -> String {
    rmc_mode(t, at, 'A')
}

fn rmc_mode(t: f64, at: Place, mode: char) -> String {
    sentence(&format!("GNRMC,{},A,{},0.0,,301126,,,{mode},V", clock(t), place(at)))
}

/// GGA of second `t`.
pub(crate) fn gga(t: f64, at: Place, hdop: &str) -> String {
    gga_quality(t, at, 1, hdop)
}

fn gga_quality(t: f64, at: Place, quality: u8, hdop: &str) -> String {
    let body = format!("GNGGA,{},{},{quality},12,{hdop},545.4,M,46.9,M,,", clock(t), place(at));
    sentence(&body)
}

/// Plays chunks of bytes, one a second, and gives every fix of the serial source.
fn fixes(chunks: &[&str]) -> (Vec<FixReport>, Gateway) {
    let timeline = chunks.iter().enumerate();
    let timeline: Vec<Do> =
        timeline.map(|(i, bytes)| Nmea(0.1 + i as f64, (*bytes).to_owned())).collect();
    let mut gateway = play(&layer(1, &[square("")]), &Decide::default(), &timeline);
    let received = std::mem::take(&mut gateway.received);
    (received, gateway)
}

fn rejected(gateway: &mut Gateway, reason: Reject) -> u64 {
    gateway.life().engine.counters().rejected(reason)
}

const D1_FIRST: &str =
    "$GNRMC,120000.00,A,4807.0380000,N,01131.0000000,E,12.3,084.4,301126,,,A,V*04\r\n";

/// D1: every talker alike; one epoch of several talkers is one fix.
#[test]
fn d1_talkers_are_alike() {
    let talkers = [
        ("GB", "66"),
        ("BD", "65"),
        ("GQ", "75"),
        ("QZ", "68"),
        ("GI", "6D"),
        ("GA", "65"),
        ("II", "63"),
    ];
    let line = |(talker, sum): (&str, &str)| {
        format!("${talker}RMC,120002.00,A,4807.0380,N,01131.0000,E,0.0,,301126,,,A*{sum}\r\n")
    };
    let mut all: Vec<Vec<FixReport>> = Vec::new();
    for talker in talkers {
        let (heard, _) = fixes(&[D1_FIRST, "", &line(talker)]);
        assert_eq!(heard.len(), 2, "D1: {talker:?}: {heard:?}");
        assert!(heard.iter().all(|fix| fix.reason.is_none()), "D1: {talker:?}: {heard:?}");
        all.push(heard);
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "D1: {all:?}");
    assert_eq!(all[0][1].fix.time.to_string(), "2026-11-30T12:00:02Z");
    let burst: String = talkers.into_iter().map(line).collect();
    let (heard, _) = fixes(&[D1_FIRST, "", &burst]);
    assert_eq!(heard, all[0], "D1: one epoch, one fix");
}

/// D2: no fix is no position, counted.
#[test]
fn d2_no_fix_is_counted() {
    let lines = [
        "$GNRMC,,V,,,,,,,,,,N*4D\r\n",
        "$GPRMC,,V,,,,,,,,,,N*53\r\n",
        "$GNRMC,120001.00,V,,,,,,,301126,,,N,V*1C\r\n",
    ];
    let (heard, mut gateway) = fixes(&lines);
    assert_eq!(heard, []);
    assert_eq!(rejected(&mut gateway, Reject::NoPosition), 3, "D2");
}

/// D4: the navigational status means nothing; status and mode say valid.
#[test]
fn d4_navigational_status_is_ignored() {
    let pair = [
        "$GNRMC,050700.00,A,5524.8683,N,01255.7938,E,0.2,181.3,230626,4.3,E,A,C*4E\r\n",
        &sentence("GNRMC,050701.00,A,5524.8683,N,01255.7938,E,0.2,181.3,230626,4.3,E,A,C"),
    ];
    let setup = |gateway: &mut Gateway| gateway.life().engine.counters().fixes;
    // June 2026 is before the release date, so only that it is a valid position is asked here.
    let (_, mut gateway) = fixes(&pair);
    assert_eq!(rejected(&mut gateway, Reject::NoPosition), 0, "D4");
    let at = (48.1173, 11.516_666_6);
    let (heard, mut gateway) = fixes(&[D1_FIRST, &rmc(1.0, at), &rmc(2.0, at)]);
    assert_eq!((heard.len(), setup(&mut gateway)), (3, 3), "D4: V in the last field");
}

/// D6 (FIX-3): dead reckoning sustains and never votes; simulated and manual are nothing.
#[test]
fn d6_dead_reckoning() {
    let layers = layer(1, &[square("")]);
    let lines = |mode: char| {
        let mut lines: Vec<Do> = (0..6).map(f64::from).map(|t| Nmea(t + 0.1, rmc(t, IN))).collect();
        lines.extend(
            (0..20).map(|i| 8.0 + f64::from(i)).map(|t| Nmea(t + 0.1, rmc_mode(t, OUT_E, mode))),
        );
        lines
    };
    for mode in ['E', 'S', 'M'] {
        let mut gateway = check(&format!("D6 {mode}"), &layers, &lines(mode), &["initialised S"]);
        let simulated = rejected(&mut gateway, Reject::Simulated);
        assert_eq!(simulated, if mode == 'E' { 0 } else { 20 }, "D6 {mode}");
    }
    check("D6 A", &layers, &lines('A'), &["initialised S", "exit S"]);
    for (quality, simulated) in [(6, 0), (7, 20), (8, 20)] {
        let mut timeline: Vec<Do> =
            (0..6).map(f64::from).map(|t| Nmea(t + 0.1, rmc(t, IN))).collect();
        timeline.extend(
            (0..20)
                .map(|i| 8.0 + f64::from(i))
                .map(|t| Nmea(t + 0.1, gga_quality(t, OUT_E, quality, "0.9"))),
        );
        let name = format!("D6 quality {quality}");
        let mut gateway = check(&name, &layers, &timeline, &["initialised S"]);
        assert_eq!(rejected(&mut gateway, Reject::Simulated), simulated, "{name}");
    }
}

/// D6 (FIX-3): between two votes it drops none, and it ends a silence.
#[test]
fn d6_dead_reckoning_drops_no_votes() {
    let layers = layer(1, &[square("")]);
    let lines = |timeline: &[(f64, Place, char)]| -> Vec<Do> {
        timeline.iter().map(|&(t, at, mode)| Nmea(t + 0.1, rmc_mode(t, at, mode))).collect()
    };
    let mut timeline: Vec<(f64, Place, char)> =
        (0..6).map(|i| (f64::from(i), OUT_E, 'A')).collect();
    timeline.extend([(8.0, IN, 'A'), (9.0, OUT_E, 'E'), (10.0, IN, 'A'), (11.0, IN, 'A')]);
    check("D6 votes", &layers, &lines(&timeline), &["entry S by=11"]);
}

/// D7: long sentences and seven decimals of a minute.
#[test]
fn d7_long_and_fine() {
    let line = "$GNGGA,115739.00,4158.8441367,N,09147.4416929,W,4,13,0.9,255.747,M,-32.00,M,01,0000*70\r\n";
    let date = |time: &str| sentence(&format!("GNZDA,{time},30,11,2026,00,00"));
    let next = line.replace("115739.00", "115740.00");
    let next = date("115740.00") + &sentence(&next[1..next.len() - 5]);
    let (heard, _) = fixes(&[&(date("115739.00") + line), &next]);
    assert_eq!(heard.len(), 2, "D7: {heard:?}");
    let at = heard[0].fix.position;
    assert!((at.lat_deg() - (41.0 + 58.844_136_7 / 60.0)).abs() < 1e-9, "D7: {at:?}");
    assert!((at.lon_deg() + (91.0 + 47.441_692_9 / 60.0)).abs() < 1e-9, "D7: {at:?}");
}

/// D9: truncated with a valid checksum: dropped whole, nothing else changes.
#[test]
fn d9_truncated_with_a_valid_checksum() {
    let cut = "$GPRMC,181536.000,A,5936.79K,D*3A\r\n";
    let (with, mut gateway) = fixes(&[D1_FIRST, &rmc(1.0, IN), cut, &rmc(3.0, IN)]);
    let (without, _) = fixes(&[D1_FIRST, &rmc(1.0, IN), "", &rmc(3.0, IN)]);
    assert_eq!(with, without, "D9");
    assert_eq!(rejected(&mut gateway, Reject::Malformed), 1, "D9");
}

/// D12: binary between sentences; NMEA goes on.
#[test]
fn d12_binary_between() {
    let plain = [rmc(0.0, IN), rmc(1.0, IN), rmc(2.0, IN)];
    let junk = ["\u{b5}b\u{1}\u{7}$\u{0}", "$$$GN", "*00\r\n$GNRMC,12"];
    let (want, _) = fixes(&[&plain[0], &plain[1], &plain[2]]);
    for junk in junk {
        let dirty: Vec<String> = plain.iter().map(|line| format!("{junk}{line}")).collect();
        let (heard, _) = fixes(&[&dirty[0], &dirty[1], &dirty[2]]);
        assert_eq!(heard, want, "D12: {junk:?}");
    }
    let mut gateway = play(&layer(1, &[]), &Decide::default(), &[]);
    let ubx = [0xb5, 0x62, 0x01, 0x07, 0x5c, 0x00, 0x24, 0x24, 0xff, 0x00, 0xff, 0x24, 0x80];
    for (i, line) in plain.iter().enumerate() {
        let bytes = [&ubx[..], line.as_bytes(), &ubx[..]].concat();
        gateway.nmea(6.0 + i as f64, &bytes);
    }
    gateway.pass(15.0);
    gateway.commit();
    assert_eq!(gateway.received.len(), 3, "D12: UBX");
}

/// D14: a burst in one write is one fix, whatever its order; never three votes.
#[test]
fn d14_bursts_are_one_fix() {
    let burst = |t: f64, at: Place, order: &[usize]| -> String {
        let time = clock(t);
        let parts = [
            rmc(t, at),
            sentence("GNVTG,84.4,T,,M,12.3,N,22.8,K,A"),
            gga(t, at, "0.9"),
            sentence("GNGSA,A,3,01,02,03,04,05,06,07,08,,,,,1.5,0.9,1.2,1"),
            sentence("GPGSV,3,1,09,01,40,083,46,02,17,308,41,12,07,344,39,14,22,228,45"),
            sentence("GPGSV,3,2,09,15,40,083,46,17,17,308,41,19,07,344,39,24,22,228,45"),
            sentence("GPGSV,3,3,09,25,40,083,46"),
            sentence(&format!("GNGLL,{},{time},A,A", place(at))),
        ];
        order.iter().map(|&i| parts[i].as_str()).collect()
    };
    let orders: [&[usize]; 4] = [
        &[0, 1, 2, 3, 4, 5, 6, 7],
        &[7, 6, 5, 4, 3, 2, 1, 0],
        &[2, 0, 3, 7, 1, 4, 5, 6],
        &[4, 5, 6, 3, 7, 2, 0, 1],
    ];
    let layers = layer(1, &[square("")]);
    for order in orders {
        let chunks: Vec<String> = (0..4).map(|i| burst(f64::from(i), IN, order)).collect();
        let chunks: Vec<&str> = chunks.iter().map(String::as_str).collect();
        let (heard, _) = fixes(&chunks);
        assert_eq!(heard.len(), 4, "D14: {order:?}");
        assert!(heard.iter().all(|h| h.reason.is_none()), "D14: {order:?}: {heard:?}");
        // Outside first, then two bursts inside: six sentences with a place, two votes.
        let mut timeline: Vec<Do> =
            (0..6).map(f64::from).map(|t| Nmea(t + 0.1, burst(t, OUT_E, order))).collect();
        timeline.extend([8.0, 9.0].map(|t| Nmea(t + 0.1, burst(t, IN, order))));
        timeline.extend([12.0, 13.0].map(|t| Nmea(t + 0.1, burst(t, OUT_E, order))));
        check(&format!("D14 {order:?}"), &layers, &timeline, &[]);
    }
}

/// C1 (ORD-2): the newest first, then the backlog: late, counted, the state does not move back.
#[test]
fn c1_newest_first_then_the_backlog() {
    let layers = layer(1, &[square("")]);
    let mut gateway = play(&layers, &Decide::default(), &[Stay(0.0, 5, 1.0, OUT_E)]);
    let backlog = [(100.0, OUT_E), (40.0, IN), (39.0, IN), (38.0, IN), (10.0, OUT_E)];
    for (i, (t, place)) in backlog.into_iter().enumerate() {
        let arrives = 100.2 + i as f64;
        gateway.hear(arrives, crate::harness::record("van", t, place, Some(3.0)));
    }
    gateway.pass(110.0);
    gateway.commit();
    compare("C1", &mut gateway, &[]);
    assert_eq!(rejected(&mut gateway, Reject::Late), 1, "C1: by 60 s");
    assert_eq!(rejected(&mut gateway, Reject::LateBacklog), 3, "C1");
}

/// C5 (ORD-3): six fixes of one instant, half of them inside: one answer, whatever the order.
#[test]
fn c5_one_instant_one_answer() {
    let layers = layer(1, &[square("")]);
    let spots = [(IN, 3.0), (OUT_E, 5.0), (IN, 2.0), (OUT_E, 4.0), (IN, 6.0), (OUT_E, 7.0)];
    let run = |shift: usize| {
        let mut gateway = play(&layers, &Decide::default(), &[Stay(0.0, 5, 1.0, OUT_E)]);
        for second in 0..4 {
            let t = 8.0 + f64::from(second);
            for i in 0..spots.len() {
                let (place, accuracy_m) = spots[(i + shift) % spots.len()];
                let record = crate::harness::record("van", t, place, Some(accuracy_m));
                gateway.hear(t + 0.2, record);
            }
        }
        gateway.pass(20.0);
        gateway.commit();
        compare("C5", &mut gateway, &["entry S by=10 fixes=3"]);
        assert_eq!(rejected(&mut gateway, Reject::SameInstant), 20, "C5");
    };
    (0..spots.len()).for_each(run);
}

/// C6 (TIME-5): GGA alone, the host a little past midnight: dated the day before.
#[test]
fn c6_midnight_is_dated_by_the_estimate() {
    let day = 43_200.0;
    let lines = |t: f64, time: &str, date: Option<&str>| {
        let at = place((48.1173, 11.516_666_6));
        let mut text =
            date.map_or(String::new(), |date| sentence(&format!("GNZDA,{time},{date},00,00")));
        text += &sentence(&format!("GNGGA,{time},{at},1,12,0.9,545.4,M,46.9,M,,"));
        Nmea(t, text)
    };
    let timeline = [
        lines(day - 2.0, "235957.90", Some("30,11,2026")),
        lines(day - 1.0, "235958.90", None),
        Nmea(
            day + 0.7,
            "$GNGGA,235959.90,4807.0380000,N,01131.0000000,E,1,12,0.9,545.400,M,46.900,M,,*79\r\n"
                .into(),
        ),
    ];
    let gateway = play(&layer(1, &[]), &Decide::default(), &timeline);
    let times: Vec<_> = gateway.received.iter().map(|h| h.fix.time.to_string()).collect();
    assert_eq!(times.last().map(String::as_str), Some("2026-11-30T23:59:59.9Z"), "{times:?}");
}

/// C17 (TIME-3): one fix two hours ahead: the watermark does not move with it.
#[test]
fn c17_one_fix_far_ahead_makes_no_other_late() {
    let layers = layer(1, &[square("")]);
    let mut gateway = play(&layers, &Decide::default(), &[Stay(0.0, 5, 1.0, OUT_E)]);
    gateway.hear(12.2, crate::harness::record("van", 7212.0, OUT_E, Some(3.0)));
    for i in 0..4 {
        let t = 15.0 + f64::from(i);
        gateway.hear(t + 0.2, crate::harness::record("van", t, IN, Some(3.0)));
    }
    gateway.pass(25.0);
    gateway.commit();
    compare("C17", &mut gateway, &["entry S observed by=17"]);
    assert_eq!(rejected(&mut gateway, Reject::Late), 0, "C17");
}

/// C20: half a minute of serial bytes read at once: every fix keeps its own time.
#[test]
fn c20_blocked_reader_keeps_times() {
    let layers = layer(1, &[square("")]);
    let mut timeline: Vec<Do> =
        (0..10).map(f64::from).map(|t| Nmea(t + 0.1, rmc(t, OUT_E))).collect();
    let bunch = (10..40).map(f64::from).map(|t| rmc(t, if t < 20.0 { OUT_E } else { IN }));
    timeline.push(Nmea(40.1, bunch.collect()));
    timeline.push(Nmea(41.1, rmc(40.0, IN)));
    let gateway = check("C20", &layers, &timeline, &["entry S observed by=23"]);
    let times = gateway.received.windows(2).map(|two| two[1].fix.time - two[0].fix.time);
    assert_eq!(times.collect::<Vec<_>>(), [Span::from_secs(1); 40], "C20");
}
