//! Tests of reading layers, and fingerprints (LAY-1).

use super::*;
use crate::logic::config::Decide;

const SQUARE: &str = "[[[11.0,48.0],[11.002,48.0],[11.002,48.001],[11.0,48.001],[11.0,48.0]]]";

fn polygon(coordinates: &str) -> String {
    format!(r#"{{"type":"Polygon","coordinates":{coordinates}}}"#)
}

fn feature(id: &str, properties: &str, geometry: &str) -> String {
    format!(r#"{{"type":"Feature","id":"{id}","properties":{properties},"geometry":{geometry}}}"#)
}

fn layer_text(features: &[String]) -> String {
    let features = features.join(",\n");
    format!(
        r#"{{"type":"FeatureCollection","geofenced":{{"layer":"depots","version":3,"created":"2026-11-30T12:00:00Z"}},"features":[{features}]}}"#
    )
}

fn read(features: &[String]) -> Result<Checked, Vec<Fault>> {
    parse_layer(layer_text(features).as_bytes(), &Decide::default())
}

fn refused(found: Result<Checked, Vec<Fault>>, right: &[&str]) {
    let found: Vec<String> = found.expect_err(right[0]).iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), right.len(), "{found:#?}");
    for (found, right) in found.iter().zip(right) {
        assert!(found.contains(right), "`{found}` lacks `{right}`");
        assert!(!found.contains('\n'), "{found}");
    }
}

/// One zone with these properties.
fn with(properties: &str) -> Result<Checked, Vec<Fault>> {
    read(&[feature("a", properties, &polygon(SQUARE))])
}

#[test]
fn a_layer_is_read_with_all_it_says() {
    let rules = r#"{"name":"Gate","enter_margin_m":5,"exit_margin_m":20.5,"confirm":5,
        "confirm_for":"500ms","dwell":"15min","detect_pass":true,"tags":{"site":"north"},"other":1}"#;
    let point = r#"{"type":"Point","coordinates":[11.1,48.1,500,1]}"#;
    let line = r#"{"type":"LineString","coordinates":[[11.0,48.0],[11.1,48.0]]}"#;
    let found = read(&[
        feature("gate", rules, &polygon(SQUARE)),
        feature("way/7", r#"{"radius_m":50}"#, point),
        feature("road", r#"{"width_m":30}"#, line),
        format!(r#"{{"type":"Feature","properties":{{"id":12}},"geometry":{}}}"#, polygon(SQUARE)),
    ]);
    let Checked { layer, repairs } = found.unwrap();
    assert_eq!(repairs, []);
    assert_eq!((layer.id.as_str(), layer.version), ("depots", 3));
    assert_eq!(layer.created.unwrap().to_string(), "2026-11-30T12:00:00Z");
    let ids: Vec<&str> = layer.zones.iter().map(|z| z.id.as_str()).collect();
    assert_eq!(ids, ["gate", "way/7", "road", "12"]);
    let kinds: Vec<&str> = layer.zones.iter().map(|z| z.shape.kind_name()).collect();
    assert_eq!(kinds, ["polygon", "circle", "corridor", "polygon"]);
    let gate = &layer.zones[0];
    assert_eq!(gate.name.as_deref(), Some("Gate"));
    let right = ZoneRules {
        enter_margin_m: Some(5.0),
        exit_margin_m: Some(20.5),
        confirm: Some(5),
        confirm_for: Some(Span::from_millis(500)),
        dwell: Some(Span::from_secs(900)),
        detect_pass: true,
    };
    assert_eq!(gate.rules, right);
    assert_eq!(gate.tags["site"], "north");
    assert_eq!(layer.zones[3].rules, ZoneRules::default());
    assert_eq!(layer.zones[2].shape.greatest_depth_m(), 15.0);
}

#[test]
fn what_is_no_layer_is_refused_with_where() {
    let parse = |text: &str| parse_layer(text.as_bytes(), &Decide::default());
    refused(parse(""), &["not valid GeoJSON"]);
    refused(parse("{\n \"type\": oops}"), &["line 2 column 10"]);
    refused(parse("[1, 2]"), &["not valid GeoJSON"]);
    refused(parse(r#"["FeatureCollection",[],{}]"#), &["type \"FeatureCollection\""]);
    refused(parse(r#"{"type":"Feature"}"#), &["this one's type is \"Feature\""]);
    let bare = r#"{"type":"FeatureCollection","features":[]}"#;
    refused(parse(bare), &["no `geofenced` member; add \"geofenced\": {\"layer\""]);
    let header =
        |h: &str| format!(r#"{{"type":"FeatureCollection","geofenced":{h},"features":[]}}"#);
    refused(
        parse(&header(r#"{"layer":"a/b","version":-1,"created":"today"}"#)),
        &[
            "`geofenced.layer`: `a/b` cannot be an id",
            "`geofenced.version` must be",
            "`geofenced.created`",
        ],
    );
    let noted = parse(&header(r#"{"layer":"a","version":1,"verion":2}"#)).unwrap();
    assert!(noted.repairs[0].to_string().contains("`geofenced.verion` is not known"));
    let mark = format!("\u{feff}{}", header(r#"{"layer":"a","version":1}"#));
    assert!(parse(&mark).is_ok());
    refused(parse_layer(&vec![b' '; LAYER_BYTES_MAX + 1], &Decide::default()), &["the limit is"]);
    refused(parse_layer(b"{\"type\":\"\xff\"}", &Decide::default()), &["not valid GeoJSON"]);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(parse(&header(&deep)).is_err());
    assert!(read(&[feature("a", "{}", &polygon(&deep))]).is_err());
    assert!(read(&[feature("a", &format!("{{\"x\":{deep}}}"), &polygon(SQUARE))]).is_err());
}

/// Every fault of every feature is listed, by its place.
#[test]
fn every_fault_is_listed() {
    let bow_tie = "[[[0,0],[2,2],[2,0],[0,2.5],[0,0]]]";
    let bad = r#"[[[200,48],[11,95],["x",48],[11],7,[11,48]]]"#;
    let found = read(&[
        feature("tie", "{}", &polygon(bow_tie)),
        feature("bad", "{}", &polygon(bad)),
        feature("tie", "{}", r#"{"type":"Point","coordinates":[11,48]}"#),
        feature("flat", "{}", &polygon("[[11,48]]")),
        feature("many", "{}", r#"{"type":"MultiPoint","coordinates":[[11,48]]}"#),
        feature("all", "{}", r#"{"type":"GeometryCollection","geometries":[]}"#),
        feature("none", "{}", "null"),
        "7".to_owned(),
    ]);
    refused(
        found,
        &[
            "feature 0 \"tie\", part 0, ring 0, vertex 0 at 1.1111111, 1.1111111: the edge from this vertex crosses",
            "feature 1 \"bad\", part 0, ring 0, vertex 0 at 200, 48: longitude 200 is out of range ±180; write -160",
            "vertex 1 at 11, 95: latitude 95 is out of range; longitude comes first, are they swapped?",
            "vertex 2: has a coordinate that is not a number",
            "vertex 3: has fewer than two numbers",
            "vertex 4: is not a position",
            "feature 2 \"tie\": a Point needs the property `radius_m`",
            "feature 3 \"flat\", part 0, ring 0: holds numbers where positions should be",
            "feature 4 \"many\": a MultiPoint is no zone",
            "feature 5 \"all\": a GeometryCollection is no zone",
            "feature 6 \"none\": has no geometry",
            "feature 7: is not an object",
        ],
    );
    let twice = [feature("a", "{}", &polygon(SQUARE)), feature("a", "{}", &polygon(SQUARE))];
    refused(read(&twice), &["feature 1 \"a\": feature 0 has the same id"]);
    refused(
        read(&vec![feature("a", "7", "null"); 2_000]).map_err(|f| f[FAULTS_MAX..].to_vec()),
        &["listing stops"],
    );
}

#[test]
fn bad_properties_are_refused() {
    for (properties, right) in [
        (r#"{"confirm":0}"#, "`confirm` is 0; it must be a whole number from 1 to 31"),
        (r#"{"confirm":2.5}"#, "`confirm` is 2.5"),
        (r#"{"confirm_for":"2"}"#, "`confirm_for`: \"2\" is not a duration"),
        (r#"{"confirm_for":2}"#, "`confirm_for`: 2 must be text such as \"2s\""),
        (r#"{"dwell":"15m"}"#, "a bare `m` is not a unit; write \"15min\""),
        (r#"{"dwell":"0s"}"#, "`dwell`: must be from"),
        (r#"{"enter_margin_m":-1}"#, "`enter_margin_m` is -1"),
        (r#"{"enter_margin_m":"5"}"#, "`enter_margin_m` is \"5\""),
        (r#"{"enter_margin_m":60}"#, "no place in it is 60 m inside"),
        (r#"{"detect_pass":"yes"}"#, "`detect_pass` is \"yes\"; it must be true or false"),
        (r#"{"name":7}"#, "`name` must be text"),
        (r#"{"tags":[1]}"#, "`tags` must be an object"),
        ("[]", "its `properties` are not an object"),
    ] {
        refused(with(properties), &[right]);
    }
    assert!(with(r#"{"enter_margin_m":50,"confirm":31,"name":null}"#).is_ok());
    let asks = Decide { enter_margin_m: 60.0, ..Decide::default() };
    let text = layer_text(&[feature("a", "{}", &polygon(SQUARE))]);
    refused(parse_layer(text.as_bytes(), &asks), &["no place in it is 60 m inside"]);
}

fn point(properties: &str) -> Result<Checked, Vec<Fault>> {
    read(&[feature("a", properties, r#"{"type":"Point","coordinates":[11,48]}"#)])
}

fn line(properties: &str) -> Result<Checked, Vec<Fault>> {
    read(&[feature("a", properties, r#"{"type":"LineString","coordinates":[[11,48],[12,48]]}"#)])
}

/// A size that is there and wrong is not also missing.
#[test]
fn a_bad_size_is_one_fault() {
    refused(point(r#"{"radius_m":-5}"#), &["`radius_m` is -5; it must be a number of metres"]);
    refused(point(r#"{"radius_m":"50"}"#), &["`radius_m` is \"50\""]);
    refused(line(r#"{"width_m":-5}"#), &["`width_m` is -5; it must be a number of metres"]);
    refused(line(r#"{"width_m":[]}"#), &["`width_m` is []"]);
    refused(line(r#"{"width_m":null}"#), &["needs the property `width_m`"]);
    refused(with(r#"{"width_m":-5}"#), &["`width_m` is -5"]);
}

/// What is not obeyed is said; what is plainly not ours is left alone.
#[test]
fn properties_without_effect_are_told() {
    let told = |found: Result<Checked, Vec<Fault>>| -> Vec<String> {
        found.unwrap().repairs.iter().map(ToString::to_string).collect()
    };
    for (properties, key, right) in [
        (r#"{"confrim":5}"#, "confrim", "confirm"),
        (r#"{"dwel":"5min"}"#, "dwel", "dwell"),
        (r#"{"Dwell":"5min"}"#, "Dwell", "dwell"),
        (r#"{"radius":5}"#, "radius", "radius_m"),
        (r#"{"exit_margin":5}"#, "exit_margin", "exit_margin_m"),
        (r#"{"detectPass":true}"#, "detectPass", "detect_pass"),
    ] {
        let line =
            format!("feature 0 \"a\": `{key}` is not known and was ignored; is `{right}` meant?");
        assert_eq!(told(with(properties)), [line]);
    }
    let foreign =
        r##"{"id":"b","name":"x","lanes":2,"fid":7,"type":"gate","stroke":"#f00","taxi":1}"##;
    assert_eq!(told(with(foreign)), [""; 0]);
    let both = r#"{"radius_m":5,"width_m":5}"#;
    let of = |key: &str, user: &str, kind: &str| {
        format!("feature 0 \"a\": `{key}` was ignored: it is for a {user}, and this is a {kind}")
    };
    let (radius, width) =
        (of("radius_m", "Point", "Polygon"), of("width_m", "LineString", "Polygon"));
    assert_eq!(told(with(both)), [radius, width]);
    assert_eq!(told(point(both)), [of("width_m", "LineString", "Point")]);
    assert_eq!(told(line(both)), [of("radius_m", "Point", "LineString")]);
    let many: Vec<String> =
        (0..1_100).map(|i| feature(&i.to_string(), both, &polygon(SQUARE))).collect();
    let lines = told(read(&many));
    assert_eq!(lines.len(), FAULTS_MAX + 1);
    assert!(lines[FAULTS_MAX].contains("listing stops"), "{}", lines[FAULTS_MAX]);
}

fn print_of(properties: &str, coordinates: &str) -> Fingerprint {
    read(&[feature("a", properties, &polygon(coordinates))]).unwrap().layer.zones[0].fingerprint
}

/// LAY-1: the same area has the same fingerprint however it is written; another has another.
#[test]
fn lay_1_fingerprints() {
    let plain = print_of("{}", SQUARE);
    for same in [
        "[[[11.002,48.0],[11.002,48.001],[11.0,48.001],[11.0,48.0],[11.002,48.0]]]",
        "[[[11.0,48.0],[11.0,48.001],[11.002,48.001],[11.002,48.0],[11.0,48.0]]]",
        "[[[11.0,48.0],[11.002,48.0],[11.002,48.001],[11.0,48.001]]]",
        "[[[11.0,48.0],[11.0,48.0,5],[11.00200000001,48.0],[11.002,48.001],[11.0,48.001],[11.0,48.0]]]",
    ] {
        assert_eq!(print_of("{}", same), plain, "{same}");
    }
    assert_eq!(print_of(r#"{"name":"x","confirm":9,"tags":{"a":1}}"#, SQUARE), plain);
    let moved = "[[[11.0,48.0],[11.0020001,48.0],[11.002,48.001],[11.0,48.001],[11.0,48.0]]]";
    assert_ne!(print_of("{}", moved), plain);
    let hole = |h: &str| format!("{},{h}]", &SQUARE[..SQUARE.len() - 1]);
    let one = "[[11.0001,48.0001],[11.0002,48.0001],[11.0002,48.0002]]";
    let two = "[[11.0005,48.0001],[11.0006,48.0001],[11.0006,48.0002]]";
    assert_eq!(
        print_of("{}", &hole(&format!("{one},{two}"))),
        print_of("{}", &hole(&format!("{two},{one}")))
    );
    assert_ne!(print_of("{}", &hole(one)), plain);
    // Pinned: a stored fingerprint must mean the same in every later release.
    assert_eq!(plain.to_string(), "c036b0c05f5195c6");
    assert_eq!(plain.to_string().parse(), Ok(plain));
    assert_eq!(Fingerprint::from_bits(plain.bits()), plain);
    for bad in ["", "xyz", "+123456789abcdef", "00000000000000000"] {
        assert!(bad.parse::<Fingerprint>().is_err(), "{bad}");
    }
}

/// LAY-1: over ±180° the start of the ring decides how it is unwrapped, and nothing else.
#[test]
fn lay_1_fingerprint_over_the_antimeridian() {
    let from_west = "[[[179.9,-16.9],[-179.9,-16.9],[-179.9,-16.7],[179.9,-16.7],[179.9,-16.9]]]";
    let from_east = "[[[-179.9,-16.9],[-179.9,-16.7],[179.9,-16.7],[179.9,-16.9]]]";
    assert_eq!(print_of("{}", from_west), print_of("{}", from_east));
}

#[test]
fn lay_1_circles_and_corridors_count_their_size() {
    let circle = |lon: &str, r: &str| {
        let point = format!(r#"{{"type":"Point","coordinates":[{lon},48]}}"#);
        let found = read(&[feature("a", &format!(r#"{{"radius_m":{r}}}"#), &point)]);
        found.unwrap().layer.zones[0].fingerprint
    };
    assert_eq!(circle("180", "50"), circle("-180", "50.0001"));
    assert_ne!(circle("11", "50"), circle("11", "50.001"));
    assert_ne!(circle("11", "50"), circle("11.0000001", "50"));
    let corridor = |line: &str, w: &str| {
        let line = format!(r#"{{"type":"LineString","coordinates":{line}}}"#);
        let found = read(&[feature("a", &format!(r#"{{"width_m":{w}}}"#), &line)]);
        found.unwrap().layer.zones[0].fingerprint
    };
    let (there, back) = ("[[11,48],[11.1,48],[11.1,48.1]]", "[[11.1,48.1],[11.1,48],[11,48]]");
    assert_eq!(corridor(there, "30"), corridor(back, "30"));
    assert_ne!(corridor(there, "30"), corridor(there, "31"));
}
