//! The flat record, its CloudEvents envelope and its schema say the same.

use super::*;
use crate::units::Span;

fn time(s: i64) -> EventTime {
    EventTime::from_nanos(1_795_996_800_000_000_000) + Span::from_secs(s)
}

fn start(layers: Map<String, Value>) -> Start {
    Start { cause: "crash".to_owned(), down_s: Some(1.8), same_boot: true, layers }
}

/// An event with every field filled, so that a field the schema does not know cannot hide.
fn full() -> Event {
    let position = Position::new(48.137_512, 11.575_502).unwrap();
    let place = Place::new(position, Some(3.1));
    let object = Map::from_iter([("a".to_owned(), Value::from(1))]);
    let id = |text: &str| text.to_owned();
    let body = Body {
        asset: Some(AssetId::new("van 7").unwrap()),
        layer: Some(LayerId::new("depots").unwrap()),
        zone: Some(ZoneId::new("way/7").unwrap()),
        zone_name: Some(id("Nord")),
        layer_version: Some(42),
        shape: Some(id("0123456789abcdef")),
        inside: Some(false),
        at: Some(time(0)),
        not_before: Some(time(-1)),
        not_after: Some(time(1)),
        confirmed_at: Some(time(2)),
        certainty: Some(Certainty::Inferred),
        cause: Some(id("layer")),
        gap: Some(Gap {
            cause: GapCause::Power,
            from: time(-9),
            to: time(-1),
            powered_from: Some(time(-5)),
        }),
        visit: Some(id("k7-1")),
        entered: Some(Entered {
            at: Some(time(-60)),
            not_before: Some(time(-61)),
            not_after: Some(time(-59)),
        }),
        duration_s: Some(60.0),
        duration_s_min: Some(58.0),
        duration_s_max: Some(62.0),
        position: Some(place),
        crossing: Some(Place::new(position, None)),
        speed_mps: Some(12.5),
        heading_deg: Some(90.0),
        fixes: Some(3),
        time_quality: Some(TimeQuality::Gnss),
        recorded_at: Some(WallTime::from_nanos(0)),
        rules: Some(id("0123456789abcdef")),
        software: Some(id("geofenced 0.1.0")),
        tags: Some(object.clone()),
        start: Some(start(object.clone())),
        reconciled: Some(Reconciled {
            silence_s: Some(1.0),
            believed_inside: vec![id("depots/nord")],
            inferred: 1,
            uncertain: 0,
            initialised_inside: 0,
            initialised_outside: 3,
        }),
        zones: Some(vec![SnapshotZone {
            layer: LayerId::new("depots").unwrap(),
            zone: ZoneId::new("nord").unwrap(),
            visit: id("k7-1"),
        }]),
        lost: Some(Lost {
            stream: Some(id("telemetry")),
            ranges: vec![(1, 2)],
            reason: id("quota"),
        }),
        late_s: Some(1.0),
        silence_s: Some(301.0),
        counters: Some(object),
    };
    let gateway = GatewayId::new("gw 1").unwrap();
    Event { seq: 9, id: id("k7-9"), kind: Kind::FenceExit, gateway, body }
}

/// As much of JSON Schema as the shipped one uses of types and names.
fn faults(schema: &Value, root: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let schema = match schema["$ref"].as_str() {
        Some(name) => root.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    let right = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some(other) => panic!("{at}: unknown type {other}"),
        None => {
            schema["enum"].as_array().is_some_and(|names| names.contains(value))
                || schema.get("const") == Some(value)
        }
    };
    if !right {
        found.push(format!("{at}: {value} is not {schema}"));
    }
    let Some(known) = schema["properties"].as_object() else { return };
    let object = value.as_object().unwrap();
    for (key, inner) in object {
        match known.get(key) {
            Some(schema) => faults(schema, root, inner, &format!("{at}.{key}"), found),
            None => found.push(format!("{at}.{key} is not in the schema")),
        }
    }
    for key in known.keys().filter(|key| !object.contains_key(*key)) {
        found.push(format!("{at}.{key} is in the schema and in no event"));
    }
}

#[test]
fn the_schema_knows_every_field_and_its_type() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let mut found = Vec::new();
    // A place with an accuracy and one without between them show every key.
    let mut event = full();
    event.body.crossing = event.body.position;
    faults(&schema, &schema, &serde_json::to_value(event).unwrap(), "event", &mut found);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn the_schema_names_every_kind() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let kinds = schema["properties"]["kind"]["enum"].as_array().unwrap();
    for kind in kinds {
        let read: Kind = serde_json::from_value(kind.clone()).unwrap();
        assert_eq!(Some(read.name()), kind.as_str());
    }
    assert_eq!(kinds.len(), Kind::GatewayHealth as usize + 1);
}

#[test]
fn an_event_reads_back_as_it_was_written() {
    let event = full();
    assert_eq!(serde_json::from_str::<Event>(&event.to_json()).unwrap(), event);
}

/// DESIGN §7: the envelope's attributes, of which `source` is a URI reference.
#[test]
fn the_envelope_carries_the_record() {
    let event = full();
    let envelope = event.to_cloudevent();
    for (key, want) in [
        ("specversion", "1.0"),
        ("id", "k7-9"),
        ("source", "/gateways/gw%201/assets/van%207"),
        ("type", "geofenced.fence_exit.v1"),
        ("subject", "depots/way/7"),
        ("time", "2026-11-30T00:00:00Z"),
        ("datacontenttype", "application/json"),
        ("dataschema", "urn:geofenced:event:v1"),
        ("sequence", "00000000000000000009"),
        ("partitionkey", "van 7"),
    ] {
        assert_eq!(envelope[key], want, "{key}");
    }
    assert_eq!(envelope["data"], serde_json::to_value(&event).unwrap());
}

#[test]
fn inv_3_no_two_lanes_give_the_same_id() {
    let stream = StreamId::new("k7q2m9xa").unwrap();
    assert_eq!(Event::id_of(&stream, Lane::Events, 7), "k7q2m9xa-7");
    assert_eq!(Event::id_of(&stream, Lane::Telemetry, 7), "k7q2m9xa-telemetry-7");
}
