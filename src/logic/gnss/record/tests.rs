//! Records: texts in, values or a message out.

use proptest::prelude::*;

use super::*;

fn csv(text: &str) -> Vec<Result<Record, RecordError>> {
    let mut reader = csv_reader().from_reader(text.as_bytes());
    let columns = match Columns::new(reader.byte_headers().unwrap()) {
        Ok(columns) => columns,
        Err(error) => return vec![Err(error)],
    };
    reader.byte_records().map(|row| columns.record(&row.unwrap())).collect()
}

fn json(text: &str) -> Result<Record, RecordError> {
    Record::from_json(text.as_bytes())
}

fn time(text: &str) -> EventTime {
    text.parse().unwrap()
}

fn expected() -> Record {
    Record {
        asset: Some(AssetId::new("truck-7").unwrap()),
        time: time("2026-11-30T12:00:00.25Z"),
        position: Ok(Position::new(48.1374, 11.5755).unwrap()),
        accuracy_m: Some(4.5),
        received: Some(time("2026-11-30T12:00:01Z")),
        speed_mps: Some(13.5),
        heading_deg: Some(0.0),
        quality: FixQuality::Measured,
        altitude_m: None,
    }
}

#[test]
fn csv_columns_in_any_order() {
    let rows = csv(concat!(
        "\u{feff}Lon, lat ,note,time,asset,heading_deg,speed_mps,received,accuracy_m\n",
        "# a comment\n",
        "11.5755,48.1374,\"a, b\",2026-11-30T12:00:00.25Z,truck-7,360,13.5,1796040001000000000,4.5\n",
        "11.5755,48.1374,,1796040000250000000,truck-7,0,13.5,2026-11-30T13:00:01+01:00,4.5\r\n",
    ));
    assert_eq!(rows, [Ok(expected()), Ok(expected())]);
}

#[test]
fn json_keys_in_any_order() {
    for text in [
        r#"{"asset":"truck-7","time":"2026-11-30T12:00:00.25Z","lat":48.1374,"lon":11.5755,"accuracy_m":4.5,"received":1796040001000000000,"speed_mps":13.5,"heading_deg":360}"#,
        r#" {"x":{"time":1},"heading_deg":0,"lon":"11.5755","lat":481374e-4,"time":1796040000250000000,"received":"2026-11-30T12:00:01Z","accuracy_m":4.5,"speed_mps":13.5,"asset":"truck-\u0037"} "#,
    ] {
        assert_eq!(json(text), Ok(expected()), "{text}");
    }
    let bare = json(r#"{"time":-1,"lat":1,"lon":2,"accuracy_m":null,"asset":null}"#).unwrap();
    assert_eq!((bare.time, bare.asset, bare.received), (EventTime::from_nanos(-1), None, None));
}

/// B5, FIX-1: unknown is not perfect, and a place that is none is counted as such.
#[test]
fn b5_unknown_values() {
    for (accuracy, known) in
        [("0", None), ("", None), ("-3", None), ("NaN", None), ("inf", None), ("2.5", Some(2.5))]
    {
        let rows = csv(&format!(
            "time,lat,lon,accuracy_m,speed_mps,heading_deg\n1,2,3,{accuracy},-1,400\n"
        ));
        let record = rows[0].as_ref().unwrap();
        assert_eq!(record.accuracy_m, known, "{accuracy}");
        assert_eq!((record.speed_mps, record.heading_deg), (None, None));
    }
    for (lat, lon, reject) in [
        ("0", "-0.0", Reject::NullIsland),
        ("90.1", "0", Reject::OutOfRange),
        ("NaN", "0", Reject::OutOfRange),
        ("1", "inf", Reject::OutOfRange),
        ("", "", Reject::NoPosition),
    ] {
        let rows = csv(&format!("time,lat,lon\n1,{lat},{lon}\n"));
        assert_eq!(rows[0].as_ref().unwrap().position, Err(reject), "{lat},{lon}");
    }
}

/// Every message says the key, what it holds and what would be right.
#[test]
fn errors_say_what_would_be_right() {
    let says = |result: &Result<Record, RecordError>, parts: &[&str]| {
        let error = result.as_ref().unwrap_err();
        assert_eq!(error.reject(), Reject::BadRecord);
        let text = error.to_string();
        for part in parts {
            assert!(text.contains(part), "{text} / {part}");
        }
    };
    says(&csv("time,lat,lon\n1,north,3\n")[0], &["`lat` is `north`", "48.1374"]);
    says(&csv("time,lat,lon\nnoon,2,3\n")[0], &["`time` is `noon`", "2026-11-30T12:00:00Z"]);
    says(&csv("time,lat,lon\n,2,3\n")[0], &["`time` is missing", "nanoseconds"]);
    says(&csv("time,lat,lon\n99999999999999999999,2,3\n")[0], &["`time` is `9999"]);
    says(&csv("time,lat,lon\n1,2\n")[0], &["2 columns", "header 3"]);
    says(&csv("time,lat,lon\n1,2,\n")[0], &["`lon` is missing"]);
    says(&csv("when,lat,lon\n1,2,3\n")[0], &["`time` is missing", "header must name"]);
    says(&csv("time,lat,lat,lon\n1,2,2,3\n")[0], &["`lat` twice"]);
    says(&json(r#"{"time":1,"lat":[1],"lon":2}"#), &["`lat` is `[1]`"]);
    says(&json(r#"{"time":true,"lat":1,"lon":2}"#), &["`time` is `true`"]);
    says(&json(r#"{"time":1.5,"lat":1,"lon":2}"#), &["`time` is `1.5`"]);
    says(&json(r#"{"time":1,"lat":1,"lon":2,"asset":"a/b"}"#), &["`asset` is `a/b`"]);
    // Not the same as none: that is the source's own.
    says(&json(r#"{"time":1,"lat":1,"lon":2,"asset":""}"#), &["`asset` is"]);
    says(&json(r#"{"lat":1,"lon":2}"#), &["`time` is missing"]);
    says(&json("[1,2]"), &["not a JSON object", "truck-7"]);
    says(&json(r#"{"time":1,"lat":1"#), &["no record", "column"]);
    says(&json("\u{0}\u{1}"), &["no record"]);
    says(&json(&format!(r#"{{"x":"{}"}}"#, "x".repeat(RECORD_BYTES_MAX))), &["bytes long"]);
}

#[test]
fn formats_are_recognised_by_content() {
    let cases: &[(&[u8], Option<Format>)] = &[
        (b"$GPRMC,,V,,,,,,,,,,N*53\r\n", Some(Format::Nmea)),
        (b"# {\"class\":\"VERSION\"}\n#\n$GPRMC,,V", Some(Format::Nmea)),
        (b"{\"class\":\"VERSION\"}\r\n$GPRMC,,V", Some(Format::Nmea)),
        (b"\0$PSRFTXT,Version\r\n", Some(Format::Nmea)),
        (b"\xB5\x62\x01\x07\n\x24\x24$GNGGA,1", Some(Format::Nmea)),
        (b"!AIVDM,1,1,,B,3:16", Some(Format::Nmea)),
        (b"0,0$GVGNSVER,4,0,0\n", Some(Format::Nmea)),
        (b"\n\n {\"time\":1}", Some(Format::JsonLines)),
        (b"\xEF\xBB\xBF{", Some(Format::JsonLines)),
        (b"# made by hand\r\nasset,Time,lon,lat\r\n", Some(Format::Csv)),
        (b"time,lat,lon", Some(Format::Csv)),
        (b"time,latitude\n", None),
        (b"", None),
        (b"hello $ world", None),
        (b"$GP", None),
    ];
    for (bytes, format) in cases {
        assert_eq!(Format::sniff(bytes), *format, "{}", String::from_utf8_lossy(bytes));
    }
}

/// Bytes flipped, cut and doubled: an answer every time.
#[test]
fn mutations() {
    const SEED: u64 = 0xA076_1D64_78BD_642F;
    let clean =
        br#"{"asset":"truck-7","time":"2026-11-30T12:00:00.25Z","lat":48.1374,"lon":11.57}"#;
    let mut random = SEED;
    for _ in 0..5_000 {
        let mut bytes = clean.to_vec();
        for _ in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = (random >> 20) as usize % bytes.len();
            match random % 3 {
                0 => bytes[at] = (random >> 8) as u8,
                1 => bytes.insert(at, bytes[at]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        for record in Record::from_json(&bytes).into_iter().chain(csv(&text).into_iter().flatten())
        {
            assert!(record.accuracy_m.is_none_or(|v| v > 0.0), "seed {SEED:#x}: {text}");
        }
    }
}

/// A number that 64 bits hold and 32 do not is none; a course just below 360 is north.
#[test]
fn numbers_beyond_thirty_two_bits() {
    let line = r#"{"time":0,"lat":48,"lon":11,"speed_mps":1e300,"heading_deg":359.9999999999}"#;
    let record = Record::from_json(line.as_bytes()).unwrap();
    assert_eq!((record.speed_mps, record.heading_deg), (None, Some(0.0)));
}

/// What a value can look like, and what only looks like one.
fn value() -> impl Strategy<Value = String> {
    const ODD: &str = r#"null|nul|true|false|tru|[1]|{"a":1}|""|"a/b"|" a"|"van-1"|"a\"b"|"a|1.|
        "\u0041"|"NaN"|"1"|-|-0|-0.0|01|.5|1e5|1E+5|1e-5|1e|+1|1e999|99999999999999999999|1 |0x1|
        NaN|Infinity|"2026-11-30T12:00:00Z"|"2026-02-30T12:00:00Z"|"2026-11-30T13:00:00.5+01:00"|
        1796040000250000000||"vän""#;
    let mut odd: Vec<&str> = ODD.split('|').map(|v| v.trim_start_matches(['\n', ' '])).collect();
    odd.push("\"a\u{1}b\"");
    prop_oneof![
        proptest::sample::select(odd).prop_map(str::to_owned),
        any::<f64>().prop_map(|v| format!("{v:?}")),
        any::<i64>().prop_map(|v| v.to_string()),
        (-90.0..90.0_f64).prop_map(|v| format!("{v:.7}")),
        "\"[ -~]{0,8}\"",
        (0..4_000_000_000_i64)
            .prop_map(|s| format!("\"{}\"", EventTime::from_nanos(s * 1_000_000_007))),
    ]
}

fn member() -> impl Strategy<Value = String> {
    let keys = ["asset", "time", "lat", "lon", "accuracy_m", "received", "speed_mps"];
    let other = ["heading_deg", "id", "Lat", "l\\u0061t", "", "sp\u{e4}t"];
    let blank = || proptest::sample::select(vec!["", "", "", " ", "\t", "\r\n", "\u{c}", "\u{a0}"]);
    let keys = proptest::sample::select([&keys[..], &other].concat());
    (blank(), keys, blank(), value(), blank())
        .prop_map(|(a, key, b, value, c)| format!("{a}\"{key}\"{b}:{c}{value}"))
}

/// A line, mostly one that says enough, and often with one byte that is another.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let sound = proptest::sample::select(vec![
        "",
        "\"time\":1,\"lat\":2,\"lon\":3",
        "\"asset\":\"van-1\",\"time\":\"2026-11-30T12:00:00.25Z\",\"lat\":48.1,\"lon\":-11.5",
    ]);
    let members = proptest::collection::vec(member(), 0..4);
    let bytes = proptest::sample::select(b"{}\"\\,:0-.eEntf \n\x00\x7f\x80\xff[]".to_vec());
    let changed = proptest::option::of((any::<prop::sample::Index>(), bytes, any::<bool>()));
    (sound, members, changed).prop_map(|(sound, mut members, changed)| {
        if !sound.is_empty() {
            members.insert(0, sound.to_owned());
        }
        let mut line = format!("{{{}}}", members.join(",")).into_bytes();
        if let Some((at, byte, instead)) = changed {
            let at = at.index(line.len());
            line.splice(at..at + usize::from(instead), [byte]);
        }
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// The plain form is read as any other is: the same records, refused with the same words.
    #[test]
    fn a_plain_line_says_what_serde_json_reads_in_it(line in line()) {
        if let Some(texts) = plain::texts(&line) {
            prop_assert_eq!(record(&texts, named), any_json(&line, named));
        }
    }
}

/// What trackers send is plain; what needs more than one look is not.
#[test]
fn plain_lines_are_known() {
    for (place, (name, _)) in KEYS.iter().enumerate() {
        assert_eq!(plain::key(name), Some(place), "{name}");
    }
    let check = |line: &str, plain: bool| {
        assert_eq!(plain::texts(line.as_bytes()).is_some(), plain, "{line}");
    };
    for line in [
        r#"{"asset":"van-1","time":"2026-11-30T12:00:00Z","lat":48.1,"lon":-11.5,"accuracy_m":5}"#,
        " { \"lat\" : 1e-3 , \"asset\" : null , \"note\" : \"\u{e4}\" , \"on\" : true } ",
        r#"{"asset":null,"lat":1}"#,
        r#"{"time":"","lat":1,"lon":2,"time_ms":0,"battery":-0.5E+3,"off":false,"x":null}"#,
    ] {
        check(line, true);
    }
    for line in [
        "",
        "{}",
        r#"{"lat":1,}"#,
        r#"{"lat":1}}"#,
        r#"{"lat":1,"lat":2}"#,
        r#"{"asset":""}"#,
        r#"{"asset":"\u0041"}"#,
        r#"{"attributes":{"ignition":true}}"#,
        r#"{"lat":true}"#,
        r#"{"lat":01}"#,
        r#"{"lat":1.}"#,
        r#"[{"lat":1}]"#,
        "\u{feff}{\"lat\":1}",
    ] {
        check(line, false);
    }
}
