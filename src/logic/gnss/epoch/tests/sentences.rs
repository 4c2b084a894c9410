//! What each kind and version of sentence says, and that their order says nothing.

use super::*;

const RMC: &str = "$GNRMC,120004.00,A,4807.0380,N,01131.0000,E,12.3,084.4,301126,,,A,V";
const GGA: &str = "$GNGGA,120004.00,4807.0381,N,01131.0001,E,1,12,0.9,545.4,M,46.9,M,,";
const GNS: &str = "$GNGNS,120004.00,4807.0382,N,01131.0002,E,AANN,14,1.3,250.8,50.0,,,V";
const GLL: &str = "$GNGLL,4807.0383,N,01131.0003,E,120004.00,A,A";
const GST: &str = "$GNGST,120004.00,15.5,15.3,7.2,21.8,3.0,4.0,0.8";
const GBS: &str = "$GNGBS,120004.00,6.0,8.0,3.2,,,,";
const GSA: &str = "$GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,1.6,2.1,1";
const VTG: &str = "$GNVTG,54.7,T,,M,19.4,N,36.0,K,A";
const ZDA: &str = "$GNZDA,120004.00,30,11,2026,00,00";

fn pubx(status: &str, rest: &str) -> String {
    format!("$PUBX,00,120004.00,4807.0384,N,01131.0004,E,591.3,{status},{rest}")
}

/// u-blox's own sentence: place, `hAcc`, km/h, course; its height is not above the sea.
#[test]
fn pubx_00() {
    let rest = "2.1,2.0,36.0,77.5,0.007,,0.92,1.19,0.77,9,0,0";
    let epoch = one(&[&pubx("G3", rest)]);
    assert_eq!((epoch.time, epoch.accuracy_m), (Some(hms(12, 0, 4)), 2.1));
    assert_eq!((epoch.speed_mps, epoch.heading_deg), (Some(10.0), Some(77.5)));
    assert_eq!((epoch.altitude_m, epoch.date), (None, None));
    for (status, expected) in [
        ("NF", Err(Reject::NoPosition)),
        ("TT", Err(Reject::NoPosition)),
        ("DR", Ok(FixQuality::Estimated)),
        ("G2", MEASURED),
        ("D2", MEASURED),
        ("D3", MEASURED),
        ("RK", MEASURED),
    ] {
        assert_eq!(one(&[&pubx(status, rest)]).fix.map(|p| p.quality), expected, "{status}");
    }
    // The standard's sentences go before it, where they say the same.
    let epoch = one(&[&pubx("G3", rest), VTG]);
    assert_eq!((epoch.accuracy_m, epoch.heading_deg), (2.1, Some(54.7)));
    assert_eq!(one(&[&pubx("G3", rest), GST]).accuracy_m, 5.0);
    assert_eq!(one(&[GGA, &pubx("DR", rest)]).fix.map(|p| p.quality), Ok(FixQuality::Estimated));
    assert_eq!(one(&[&pubx("G3", ",,,,,,0.9,,,,,")]).accuracy_m, 4.5);
    let run = play(&[(0, &[&pubx("G3", "2.1,2.0"), &pubx("XX", rest)])]);
    assert_eq!(run.rejects, [Reject::Malformed; 2]);
    // Satellites and time are not asked for.
    assert_eq!(play(&[(0, &["$PUBX,03,0", "$PUBX,04,120004.00,301126", "$PUBX,00"])]).epochs, []);
}

/// GBS may say that a position is worse than HDOP suggests, never that it is better.
#[test]
fn gbs_never_flatters() {
    let gbs = |lat: &str, lon: &str| format!("$GPGBS,120004.00,{lat},{lon},3.1,03,,-21.4,3.8,1,0");
    for (lat, lon, expected) in
        [("6.0", "8.0", 10.0), ("0.2", "0.3", 4.5), ("-60", "80", 4.5), ("", "", 4.5)]
    {
        let gbs = gbs(lat, lon);
        for lines in [[GGA, gbs.as_str()], [gbs.as_str(), GGA]] {
            assert_eq!(one(&lines).accuracy_m, expected, "{lines:?}");
        }
        assert_eq!(one(&[GGA, &gbs, GST]).accuracy_m, 5.0);
        assert_eq!(one(&[RMC, &gbs]).accuracy_m, 15.0);
    }
    // Of another time it is nobody's, and cut it is nothing.
    let cut = "$GPGBS,120004.00,60.0";
    let run = play(&[(0, &["$GPGBS,120003.00,60.0,80.0,3.2,,,,", GGA, cut])]);
    assert_eq!(
        (run.epochs[0].accuracy_m, run.rejects.as_slice()),
        (4.5, [Reject::Malformed].as_slice())
    );
}

/// One letter a constellation, of which there may be any number: the best made the position.
#[test]
fn gns_with_any_number_of_modes() {
    for (modes, expected) in [
        ("A", MEASURED),
        ("NA", MEASURED),
        ("AANN", MEASURED),
        ("NNNNNNNNNNNNR", MEASURED),
        ("NNNNEN", Ok(FixQuality::Estimated)),
        ("NNNNNN", Err(Reject::NoPosition)),
        ("NS", Err(Reject::Simulated)),
    ] {
        let text = GNS.replace("AANN", modes);
        assert_eq!(one(&[&text]).fix.map(|p| p.quality), expected, "{modes}");
    }
    assert_eq!(play(&[(0, &[&GNS.replace("AANN", "AX")])]).rejects, [Reject::Malformed]);
    assert_eq!(one(&[GNS]).altitude_m, Some(250.8));
}

/// NMEA 2.0 to 4.11: what was added behind changes nothing of what stands before.
#[test]
fn versions() {
    let versions: [(&str, &[&str]); 4] = [
        (
            "2.0",
            &[
                "$GPRMC,120004,A,4807.0380,N,01131.0000,E,12.3,084.4,301126,3.2,E",
                "$GPGLL,4807.0380,N,01131.0000,E,120004,A",
                "$GPGLL,4807.0380,N,01131.0000,E",
                "$GPVTG,084.4,T,,M,12.3,N,22.8,K",
                "$GPGSA,A,3,01,02,03,,,,,,,,,,1.5,0.9,1.2",
            ],
        ),
        (
            "2.3",
            &[
                "$GPRMC,120004.0,A,4807.0380,N,01131.0000,E,12.3,084.4,301126,3.2,E,A",
                "$GPGLL,4807.0380,N,01131.0000,E,120004.0,A,A",
                "$GPVTG,084.4,T,,M,12.3,N,22.8,K,A",
                "$GPGSA,A,3,01,02,03,,,,,,,,,,1.5,0.9,1.2",
            ],
        ),
        (
            "4.1",
            &[
                "$GNRMC,120004.00,A,4807.0380,N,01131.0000,E,12.3,084.4,301126,,,A,V",
                "$GNGNS,120004.00,4807.0380,N,01131.0000,E,AANN,14,0.9,,50.0,,,V",
                "$GNGSA,A,3,01,02,03,,,,,,,,,,1.5,0.9,1.2,1",
                "$GNGSA,A,3,,,,,,,,,,,,,1.5,0.9,1.2,4",
            ],
        ),
        (
            "4.11",
            &[
                "$GNRMC,120004.000,A,4807.0380,N,01131.0000,E,12.3,084.4,301126,,,D,C",
                "$GNGSA,A,3,01,02,03,,,,,,,,,,1.5,0.9,1.2,F",
                "$GNGBS,120004.000,0.9,0.8,3.1,,,,,1,1",
                "$GPGSV,1,1,01,07,63,152,29,8",
            ],
        ),
    ];
    for (version, lines) in versions {
        let epoch = one(lines);
        assert_eq!(epoch.fix.map(|p| p.quality), MEASURED, "{version}");
        assert_eq!((epoch.accuracy_m, epoch.heading_deg), (4.5, Some(84.4)), "{version}");
        assert_eq!((epoch.time, epoch.date), (Some(hms(12, 0, 4)), CivilDate::new(2026, 11, 30)));
    }
    // Tag blocks stand before the sentence and are let go.
    let tagged = format!("\\s:r1,c:1796040004*33\\{}\\g:2-2-1*50\\{}", line(RMC), line(GGA));
    let (mut run, mut assembler) = (Run::default(), Assembler::new(RANGE_ERROR_M));
    feed(&mut run, &mut assembler, tagged.as_bytes(), at_ms(0));
    assert_eq!((assembler.finish(), run.rejects), (Some(one(&[RMC, GGA])), Vec::new()));
}

/// D14: any order of one burst's sentences gives the same epoch, though each says it differently.
#[test]
fn d14_order_says_nothing() {
    const SEED: u64 = 0x1656_67B1_9E37_79F9;
    let own = pubx("G3", "2.1,2.0,30.0,77.5,0.007,,0.92,1.19,0.77,9,0,0");
    let all = [RMC, GGA, GNS, GLL, GST, GBS, GSA, VTG, ZDA, &own];
    let mut next = dice(SEED);
    for round in 0..2_000 {
        // Any of them may be missing, but for one with a time and a place.
        let mut lines = vec![[RMC, GGA, GNS, GLL, own.as_str()][next(5)]];
        lines.extend(all.iter().filter(|_| next(3) > 0));
        lines.sort_unstable();
        lines.dedup();
        let wanted = one(&lines);
        for _ in 0..4 {
            (1..lines.len()).for_each(|i| lines.swap(i, next(i + 1)));
            assert_eq!(one(&lines), wanted, "seed {SEED:#x}, round {round}: {lines:?}");
        }
    }
}

/// A number that 64 bits hold and 32 do not is none; a course just below 360 is north.
#[test]
fn numbers_beyond_thirty_two_bits() {
    let huge = "9".repeat(60);
    let gga = GGA.replace("545.4", &huge);
    let rmc = RMC.replace("12.3", &huge).replace("084.4", "359.999999999");
    let epoch = one(&[&gga, &rmc]);
    assert_eq!((epoch.altitude_m, epoch.speed_mps, epoch.heading_deg), (None, None, Some(0.0)));
}
