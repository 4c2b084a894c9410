//! Lines as gpsd 3.22 and its forerunners write them, and lines that nobody should.

use super::*;
use crate::units::Position;

/// A TPV with these keys instead of, or besides, the usual ones.
fn tpv(keys: &[(&str, &str)]) -> String {
    let mut all = vec![
        ("class", r#""TPV""#),
        ("device", r#""/dev/ttyACM0""#),
        ("mode", "3"),
        ("time", r#""2026-11-30T12:00:00.250Z""#),
        ("lat", "48.1374"),
        ("lon", "11.5755"),
    ];
    for key in keys {
        match all.iter_mut().find(|known| known.0 == key.0) {
            Some(known) => *known = *key,
            None => all.push(*key),
        }
    }
    let all: Vec<String> = all.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    format!("{{{}}}", all.join(","))
}

fn read(keys: &[(&str, &str)]) -> Result<Option<Record>, Reject> {
    record(tpv(keys).as_bytes(), None)
}

fn good(keys: &[(&str, &str)]) -> Record {
    read(keys).unwrap().unwrap()
}

#[test]
fn a_whole_report() {
    let told = good(&[
        ("status", "2"),
        ("eph", "3.5"),
        ("epx", "9"),
        ("epy", "9"),
        ("speed", "13.5"),
        ("track", "360"),
        ("altHAE", "560.1"),
        ("altMSL", "512.5"),
        ("leapseconds", "18"),
    ]);
    let expected = Record {
        asset: None,
        time: "2026-11-30T12:00:00.25Z".parse().unwrap(),
        position: Ok(Position::new(48.1374, 11.5755).unwrap()),
        accuracy_m: Some(3.5),
        received: None,
        speed_mps: Some(13.5),
        heading_deg: Some(0.0),
        quality: FixQuality::Measured,
        altitude_m: Some(512.5),
    };
    assert_eq!(told, expected);
}

#[test]
fn fix_2_accuracy() {
    for (keys, accuracy) in [
        (&[][..], None),
        (&[("eph", "0")], None),
        (&[("eph", "-1")], None),
        (&[("eph", "null")], None),
        (&[("epx", "3"), ("epy", "4")], Some(5.0)),
        (&[("epx", "3")], None),
        (&[("eph", "0"), ("epx", "3"), ("epy", "4")], Some(5.0)),
        (&[("eph", "7.25"), ("epx", "3"), ("epy", "4")], Some(7.25)),
    ] {
        assert_eq!(good(keys).accuracy_m, accuracy, "{keys:?}");
    }
}

#[test]
fn fix_1_and_fix_3_status() {
    for (status, quality) in [
        ("0", Ok(FixQuality::Measured)),
        ("1", Ok(FixQuality::Measured)),
        ("4", Ok(FixQuality::Measured)),
        ("5", Ok(FixQuality::Estimated)),
        ("6", Ok(FixQuality::Estimated)),
        ("7", Err(Reject::Simulated)),
        ("8", Err(Reject::Simulated)),
        ("9", Ok(FixQuality::Measured)),
    ] {
        let told = read(&[("status", status)]).map(|told| told.unwrap().quality);
        assert_eq!(told, quality, "{status}");
    }
}

#[test]
fn what_gives_no_fix_says_why() {
    for (keys, reason) in [
        (&[("mode", "0")][..], Reject::NoPosition),
        (&[("mode", "1")], Reject::NoPosition),
        (&[("lat", "null")], Reject::NoPosition),
        (&[("time", "null")], Reject::NoTime),
        (&[("time", r#""2026-02-30T12:00:00Z""#)], Reject::BadDate),
        (&[("time", "7")], Reject::Malformed),
        (&[("mode", r#""3""#)], Reject::Malformed),
        (&[("lat", "1e999")], Reject::Malformed),
    ] {
        assert_eq!(read(keys), Err(reason), "{keys:?}");
    }
    for (lat, lon, reason) in [
        ("0", "0", Reject::NullIsland),
        ("91", "11", Reject::OutOfRange),
        ("48", "180.5", Reject::OutOfRange),
    ] {
        assert_eq!(good(&[("lat", lat), ("lon", lon)]).position, Err(reason));
    }
}

#[test]
fn other_reports_are_let_pass_and_nonsense_is_counted() {
    for line in [
        r#"{"class":"SKY","device":"/dev/ttyACM0","satellites":[{"PRN":3,"el":1}]}"#,
        r#"{"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}"#,
        r#"{"class":"PPS","mode":"3"}"#,
    ] {
        assert_eq!(record(line.as_bytes(), None), Ok(None), "{line}");
    }
    for line in [
        "",
        "{",
        "[]",
        "[\"TPV\"]",
        "$GPRMC,1,A",
        "{\"class\":7}",
        r#"{"mode":3}"#,
        r#"{"class":"TPV","mode":3"#,
        "\u{0}\u{ff}",
    ] {
        assert_eq!(record(line.as_bytes(), None), Err(Reject::Malformed), "{line:?}");
        assert_eq!(said(line.as_bytes()), None, "{line:?}");
    }
    // Nested as deep as a line may be long: no stack is used up.
    let deep = [br#"{"class":"SKY","a":"#.as_slice(), &[b'['; record::RECORD_BYTES_MAX]].concat();
    assert_eq!(record(&deep, None), Err(Reject::Malformed));
}

#[test]
fn only_the_chosen_device() {
    let line = tpv(&[]);
    let read = |device| record(line.as_bytes(), device).unwrap().is_some();
    assert_eq!([None, Some("/dev/ttyACM0"), Some("/dev/ttyACM1")].map(read), [true, true, false]);
    // A gpsd that is asked for one device alone may leave the name out.
    assert!(record(tpv(&[("device", "null")]).as_bytes(), Some("/dev/ttyACM1")).unwrap().is_some());
}

#[test]
fn what_gpsd_says_of_itself() {
    let device = |path: &str, open| Device { path: path.to_owned(), open };
    for (line, told) in [
        (r#"{"class":"VERSION","release":"3.22","rev":"3.22"}"#, Said::Version),
        (
            r#"{"class":"DEVICES","devices":[{"class":"DEVICE","path":"/dev/a"},
                {"path":"/dev/b","activated":"2026-11-30T12:00:00.000Z","flags":1},{"flags":2}]}"#,
            Said::Devices(vec![device("/dev/a", false), device("/dev/b", true)]),
        ),
        (
            r#"{"class":"DEVICE","path":"/dev/a","activated":"2026-11-30T12:00:00.000Z"}"#,
            Said::Device(device("/dev/a", true)),
        ),
        (
            r#"{"class":"DEVICE","path":"/dev/a","activated":0}"#,
            Said::Device(device("/dev/a", false)),
        ),
        (r#"{"class":"DEVICE"}"#, Said::Other),
        (r#"{"class":"WATCH","enable":true,"json":true}"#, Said::Watching),
        (r#"{"class":"ERROR","message":"no"}"#, Said::Error("no".to_owned())),
        (r#"{"class":"TPV","mode":1}"#, Said::Other),
    ] {
        assert_eq!(said(line.as_bytes()), Some(told), "{line}");
    }
}

#[test]
fn requests() {
    assert_eq!(watch(None), "?WATCH={\"enable\":true,\"json\":true};\n?DEVICES;\n");
    let one: serde_json::Value = {
        let text = watch(Some("/dev/\"x"));
        serde_json::from_str(
            text.strip_prefix("?WATCH=").unwrap().strip_suffix(";\n?DEVICES;\n").unwrap(),
        )
        .unwrap()
    };
    assert_eq!(one, serde_json::json!({"enable": true, "json": true, "device": "/dev/\"x"}));
}
