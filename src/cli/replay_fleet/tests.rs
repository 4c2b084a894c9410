//! Random fleets: whatever the number of threads, what one engine gives.

use std::fmt::Write as _;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::daemon::{REPLAY_RECEIVED, REPLAY_TRUSTED, replay_setup};
use crate::logic::config::{ConfigFile, Env, load};
use crate::logic::engine::ASSETS_MAX;
use crate::logic::zones::{Layer, parse_layer};
use crate::units::{EventTime, GatewayId, Span};

/// What a replay reads, in pieces that can be fed twice.
#[derive(Clone, Debug)]
enum Fed {
    Record(Record),
    Bytes(Vec<u8>),
    Bad,
    /// The end of one of several inputs.
    End,
}

fn setup(report_fixes: bool) -> Setup {
    let text = "[gateway]\nid = \"replay\"\n[[source]]\nname = \"replay\"\nkind = \"file\"\n\
        path = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";
    let config = load(&[ConfigFile::new("test", text)], &Env::new()).unwrap().config;
    replay_setup(&config, &GatewayId::new("replay").unwrap(), report_fixes)
}

/// Circles in a row, each 100 m from the next, one over the other here and there.
fn zones() -> Arc<Layer> {
    let circle = |n: i32| {
        json!({
            "type": "Feature", "id": format!("z{n}"),
            "properties": {"radius_m": 40 + n % 3 * 15, "dwell": "20s", "detect_pass": n % 2 == 0},
            "geometry": {"type": "Point", "coordinates": [f64::from(n) * 0.0009, 0.0]},
        })
    };
    let features: Vec<_> = (0..8).map(circle).collect();
    let layer = json!({
        "type": "FeatureCollection", "features": features,
        "geofenced": {"layer": "row", "version": 1, "created": "2026-11-30T00:00:00Z"},
    });
    let decide = setup(false).decide;
    Arc::new(parse_layer(layer.to_string().as_bytes(), &decide).unwrap().layer)
}

fn inputs(fed: &Fed) -> Vec<Input<'_>> {
    let end = BootTime::from_nanos(i64::MAX);
    match fed {
        Fed::Record(record) => {
            let source = record.received.map_or(REPLAY_TRUSTED, |_| REPLAY_RECEIVED);
            let at = BootTime::from_nanos(record.received.unwrap_or(record.time).nanos());
            vec![Input::Record { source, at, record: record.clone() }]
        }
        Fed::Bytes(bytes) => {
            let at = BootTime::from_nanos(0);
            vec![Input::Bytes { source: REPLAY_TRUSTED, at, bytes }]
        }
        Fed::Bad => vec![Input::BadRecord { source: REPLAY_TRUSTED }],
        Fed::End => [REPLAY_TRUSTED, REPLAY_RECEIVED]
            .map(|source| Input::End { source, at: end })
            .into_iter()
            .collect(),
    }
}

/// What a person would see: every event and every fix, and the counts.
fn told(steps: &[Step], counters: &Counters) -> String {
    let mut text = String::new();
    for step in steps {
        step.events.iter().for_each(|event| writeln!(text, "{}", event.to_json()).unwrap());
    }
    for step in steps {
        step.fixes.iter().for_each(|fix| writeln!(text, "{fix:?}").unwrap());
    }
    let Counters { sentences, epochs, fixes, rejects, .. } = counters;
    writeln!(text, "{sentences} {epochs} {fixes} {rejects:?}").unwrap();
    text
}

/// The same inputs into one engine and into fleets. Gives the number of events.
fn check(fed: &[Fed], layers: &[Arc<Layer>], jobs: &[usize]) -> usize {
    checked(fed, layers, jobs).0
}

/// The same; gives what was counted as well.
fn checked(fed: &[Fed], layers: &[Arc<Layer>], jobs: &[usize]) -> (usize, Counters) {
    let setup = setup(true);
    let mut engine = Engine::replay(setup.clone(), layers);
    let steps: Vec<Step> = fed.iter().flat_map(inputs).map(|input| engine.step(input)).collect();
    let events = steps.iter().map(|step| step.events.len()).sum();
    let want = told(&steps, &engine.counters());
    for &jobs in jobs {
        let engine = Engine::replay(setup.clone(), layers);
        let mut fleet = Fleet::new(setup.clone(), &engine, jobs);
        let mut steps: Vec<Step> =
            fed.iter().flat_map(inputs).map(|input| fleet.step(input)).collect();
        steps.push(fleet.rest());
        let got = told(&steps, &fleet.counters());
        let differs = want.lines().zip(got.lines()).position(|(want, got)| want != got);
        if let Some(line) = differs {
            let (want, got) = (want.lines().nth(line), got.lines().nth(line));
            panic!("{jobs} jobs, line {line}:\n{want:?}\n{got:?}");
        }
        assert_eq!(want.len(), got.len(), "{jobs} jobs");
    }
    (events, engine.counters())
}

/// How random a fleet is.
#[derive(Clone, Debug)]
struct Plan {
    assets: u64,
    records: usize,
    /// Of a hundred: records with an arrival, without a position, no record at all, the end of an
    /// input.
    received: u64,
    nowhere: u64,
    bad: u64,
    ends: u64,
    /// How far arrivals and times go astray.
    astray_ms: u64,
    chance: u64,
}

fn plan() -> impl Strategy<Value = Plan> {
    let received = prop_oneof![Just(0_u64), Just(50), Just(100)];
    let astray = prop_oneof![Just(1_u64), Just(900), Just(20_000)];
    (1..24_u64, 1..6_000_usize, received, 0..10_u64, 0..3_u64, astray, any::<u64>()).prop_map(
        |(assets, records, received, nowhere, bad, astray_ms, chance)| {
            let ends = u64::from(records % 3 == 0);
            Plan { assets, records, received, nowhere, bad, ends, astray_ms, chance }
        },
    )
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// Everyone to and fro over the row of zones, about ten reports a second in all.
fn drive(plan: &Plan) -> Vec<Fed> {
    let mut chance = Chance(plan.chance);
    let begin = EventTime::from_nanos(1_790_000_000_000_000_000);
    let mut all = Vec::with_capacity(plan.records);
    for n in 0..plan.records {
        if chance.below(100) < plan.bad {
            all.push(Fed::Bad);
            continue;
        }
        if chance.below(2_000) < plan.ends {
            all.push(Fed::End);
        }
        let who = chance.below(plan.assets);
        let now = begin + Span::from_millis((100 * n as u64 * plan.assets / 8).cast_signed());
        let mut astray = || Span::from_millis(chance.below(plan.astray_ms).cast_signed());
        let (time, received) = (now - astray(), now + astray());
        let along = (now - begin).secs_f64() * (6.0 + who as f64) + who as f64 * 97.0;
        let metres = (along % 1_600.0 - 800.0).abs();
        let asset = (who > 0).then(|| AssetId::new(&format!("a{who}")).unwrap());
        let nowhere = chance.below(100) < plan.nowhere;
        let lat = chance.below(60) as f64 * 1e-6;
        let place = crate::units::Position::new(lat, metres / 111_195.0);
        let record = json!({"asset": "x", "time": time, "lat": lat, "lon": 0.0, "accuracy_m": 4.0});
        let record = Record {
            asset,
            position: if nowhere { Err(Reject::OutOfRange) } else { Ok(place.unwrap()) },
            received: (chance.below(100) < plan.received).then_some(received),
            ..Record::from_json(record.to_string().as_bytes()).unwrap()
        };
        all.push(Fed::Record(record));
    }
    all.push(Fed::End);
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn inv_7_any_number_of_threads_gives_what_one_gives(plan in plan(), jobs in 1..9_usize) {
        check(&drive(&plan), &[zones()], &[jobs]);
    }
}

#[test]
fn inv_7_a_fleet_of_several_batches_gives_the_events_of_one_thread() {
    let plan = Plan {
        assets: 21,
        records: 12_000,
        received: 30,
        nowhere: 2,
        bad: 1,
        ends: 1,
        astray_ms: 900,
        chance: 7,
    };
    let events = check(&drive(&plan), &[zones()], &[1, 2, 3, 8]);
    assert!(events > 200, "{events} events");
}

/// One cycle of a receiver.
fn nmea(second: u32) -> Vec<u8> {
    let (minute, second) = (second / 60, second % 60);
    let east = f64::from(second) * 0.01;
    let body = format!(
        "GPRMC,12{minute:02}{second:02},A,0000.000,N,00000.{:03},E,5.0,90,011226,,,A",
        (east * 100.0) as u32
    );
    let sum = body.bytes().fold(0, |sum, byte| sum ^ byte);
    format!("${body}*{sum:02X}\r\n").into_bytes()
}

/// An asset is first heard of at its first epoch, not where bytes begin: the order in which the
/// end of an input lets several assets go tells the difference.
#[test]
fn nmea_stays_whole_and_its_asset_has_the_place_that_one_thread_gives_it() {
    let record = |asset: &str, second: u32| {
        let time = format!("2026-12-01T12:00:{second:02}Z");
        let mut record = json!({"time": time, "lat": 0.0, "lon": 1e-4, "accuracy_m": 4.0});
        if !asset.is_empty() {
            record["asset"] = asset.into();
        }
        Fed::Record(Record::from_json(record.to_string().as_bytes()).unwrap())
    };
    let drive = Fed::Bytes((0..90).flat_map(nmea).collect());
    let noise = Fed::Bytes(b"nothing in it\r\n".repeat(9));
    let trio = |at: u32| (0..8).flat_map(move |s| ["b", "", "a"].map(|a| record(a, at + s)));
    for first in [drive, noise] {
        let mut fed = vec![first, Fed::End];
        fed.extend(trio(20));
        fed.push(Fed::End);
        fed.extend(trio(40));
        fed.push(Fed::End);
        let events = check(&fed, &[zones()], &[1, 2, 3, 5]);
        assert!(events >= 3, "{events}");
    }
}

#[test]
fn too_many_assets_are_counted_as_one_thread_counts_them() {
    let fed: Vec<Fed> = (0..ASSETS_MAX + 50)
        .map(|n| {
            let text = format!("{{\"asset\":\"a{n}\",\"time\":{n},\"lat\":1,\"lon\":9}}");
            Fed::Record(Record::from_json(text.as_bytes()).unwrap())
        })
        // Who names nobody is the configured asset, which has a place whoever came before.
        .chain([Fed::Record(Record::from_json(br#"{"time":1,"lat":1,"lon":9}"#).unwrap())])
        .chain([Fed::End])
        .collect();
    let (_, counters) = checked(&fed, &[], &[3]);
    let too_many = counters.rejects.get(&Reject::TooManyAssets).copied();
    assert_eq!((counters.fixes, too_many), (ASSETS_MAX as u64 + 1, Some(50)));
}
