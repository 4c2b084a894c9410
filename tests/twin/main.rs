//! The engine against a slow interpreter of DESIGN §4, over random streams.
//!
//! `GEOFENCED_LONG=1` runs a hundred million pair steps, `GEOFENCED_STEPS=n` as many as it says;
//! `GEOFENCED_SEED=n` runs one stream again.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

#[path = "../field/chance.rs"]
mod chance;
mod clock;
mod runs;
mod spec;

use std::collections::HashMap;
use std::sync::Arc;

use chance::Chance;
use geofenced::logic::config::{Decide, PositionDetail, TimeRules};
use geofenced::logic::engine::{
    Engine, Feed, HeartbeatRules, Input, Setup, SourceSetup, Telemetry, Trusting, UNRANKED,
};
use geofenced::logic::event::{Certainty, Event};
use geofenced::logic::gnss::FixQuality;
use geofenced::logic::gnss::line::Checksum;
use geofenced::logic::gnss::record::Record;
use geofenced::logic::zones::{Layer, parse_layer};
use geofenced::units::{AssetId, BootTime, EventTime, GatewayId, Position, SourceId, Span};
use spec::{Fix, Rules, Said, Twin};

const S: i64 = 1_000_000_000;
const T0: i64 = 1_796_040_000 * S;
const FIXES: usize = 250;
const ZONES: usize = 6;

/// The seconds between fixes, over and over. The last two are silent exactly as
/// long as S, the one where that is three intervals and the other for `infer_limit` as well.
const GAPS: [&[f64]; 10] = [
    &[0.04],
    &[0.2],
    &[1.0],
    &[1.0],
    &[10.0],
    &[2.0, 7.0],
    &[60.0, 600.0],
    &[86_400.0],
    &[120.0, 120.0, 120.0, 120.0, 120.0, 120.0, 360.0],
    &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 300.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3600.0],
];

/// One fix of a stream: when, where, how well, and whether by dead reckoning.
#[derive(Clone, Copy, Debug)]
struct Spot {
    t: i64,
    lat: f64,
    lon: f64,
    accuracy_m: f64,
    estimated: bool,
}

fn setup(decide: &Decide) -> Setup {
    let source = SourceSetup {
        id: SourceId::new("file").unwrap(),
        feed: Feed::Nmea,
        asset: AssetId::new("van").unwrap(),
        checksum: Checksum::Required,
        interval: Span::from_secs(1),
        window: Span::from_millis(500),
        trusting: Trusting::Fixes,
        rank: UNRANKED,
    };
    Setup {
        gateway: GatewayId::new("gw").unwrap(),
        software: None,
        decide: decide.clone(),
        time: TimeRules { floor: Some(EventTime::from_nanos(T0 - S)), ..TimeRules::default() },
        detail: PositionDetail::None,
        sources: vec![source],
        announce: false,
        report_fixes: false,
        telemetry: Telemetry::default(),
        heartbeat: HeartbeatRules {
            commit_every: Span::from_secs(1),
            heartbeat: Span::from_secs(900),
        },
    }
}

fn decide(infer_limit: Option<i64>) -> Decide {
    let infer_limit = infer_limit.map(Span::from_nanos);
    Decide { infer_limit, max_speed_mps: 1e9, ..Decide::default() }
}

fn layer(rules: &[Rules]) -> Vec<Arc<Layer>> {
    let features: Vec<_> = rules.iter().enumerate().map(|(n, rules)| zone(n, rules)).collect();
    let text = format!(
        r#"{{"type":"FeatureCollection","geofenced":{{"layer":"l","version":1}},"features":[{}]}}"#,
        features.join(",")
    );
    let checked = parse_layer(text.as_bytes(), &Decide::default());
    vec![Arc::new(checked.unwrap_or_else(|faults| panic!("{faults:?}: {text}")).layer)]
}

fn zone(n: usize, rules: &Rules) -> String {
    let (lon, lat) = (11.0 + 0.0008 * n as f64, 48.0);
    let geometry = if n.is_multiple_of(2) {
        format!(r#"{{"type":"Point","coordinates":[{lon},{lat}]}}"#)
    } else {
        let (w, e, s, n) = (lon - 0.0012, lon + 0.0012, lat - 0.0008, lat + 0.0008);
        format!(
            r#"{{"type":"Polygon","coordinates":[[[{w},{s}],[{e},{s}],[{e},{n}],[{w},{n}],[{w},{s}]]]}}"#
        )
    };
    let radius = if n.is_multiple_of(2) { r#""radius_m":70,"# } else { "" };
    let dwell = rules.dwell.map_or(String::new(), |d| format!(r#","dwell":"{}s""#, d / S));
    format!(
        r#"{{"type":"Feature","id":"{n}","geometry":{geometry},"properties":{{{radius}
        "confirm":{},"confirm_for":"{}ms","enter_margin_m":{},"exit_margin_m":{}{dwell}}}}}"#,
        rules.confirm,
        rules.confirm_for / (S / 1000),
        rules.enter_m,
        rules.exit_m
    )
}

fn rules(chance: &mut Chance, infer_limit: Option<i64>) -> Rules {
    Rules {
        confirm: [1, 2, 3, 3, 5, 31][chance.below(6) as usize],
        confirm_for: [0, 2, 2, 10][chance.below(4) as usize] * S,
        enter_m: [0.0, 0.0, 3.0][chance.below(3) as usize],
        exit_m: [0.0, 10.0, 10.0, 25.0][chance.below(4) as usize],
        dwell: [None, Some(60 * S), Some(600 * S)][chance.below(3) as usize],
        infer_limit,
    }
}

/// A walk to and fro over the zones at one of many rates.
fn stream(chance: &mut Chance) -> Vec<Spot> {
    let gaps = GAPS[chance.below(GAPS.len() as u64) as usize];
    let quiet = [0.0, 0.02][chance.below(2) as usize];
    let reckoned = [0.0, 0.0, 0.1, 0.7][chance.below(4) as usize];
    let (mut x, mut t, mut heading) = (11.0 + 0.004 * chance.unit(), T0, 1.0);
    let stride = 0.0006 * chance.unit().powi(2);
    let noise = 0.000_08 * chance.unit();
    let accuracy_m = 3.0 + 9.0 * chance.unit();
    let mut spots = Vec::new();
    for i in 0..FIXES {
        if chance.unit() < 0.03 {
            heading = chance.unit() * 2.0 - 1.0;
        }
        x += stride * heading;
        if !(10.996..11.008).contains(&x) {
            heading = if x < 11.0 { 1.0 } else { -1.0 };
        }
        let mut gap = (gaps[i % gaps.len()] * 1e9) as i64;
        if chance.unit() < quiet {
            gap += (4000.0 * chance.unit().powi(2) * 1e9) as i64;
        }
        if chance.unit() < reckoned {
            spots.extend(dead_reckoning(chance, t, gap));
        }
        t += gap;
        let lat = 48.0 + noise * chance.normal();
        let lon = x + noise * chance.normal();
        spots.push(Spot { t, lat, lon, accuracy_m, estimated: false });
    }
    spots
}

/// Estimated fixes anywhere at all in a gap, some of them on the edge of a minute.
fn dead_reckoning(chance: &mut Chance, last: i64, gap: i64) -> Vec<Spot> {
    let n = 1 + chance.below(3);
    let after = |chance: &mut Chance| match chance.below(4) {
        0 => 60 * S + chance.below(2).cast_signed(),
        1 => (90e9 * chance.unit()) as i64,
        _ => (gap as f64 * chance.unit()) as i64,
    };
    let mut times: Vec<i64> = (0..n).map(|_| after(chance)).collect();
    times.retain(|after| (1..gap).contains(after));
    times.sort_unstable();
    times.dedup();
    let spot = |after: i64| Spot {
        t: last + after,
        lat: 48.0,
        lon: 10.996 + 0.012 * chance.unit(),
        accuracy_m: 3.0 + 30.0 * chance.unit(),
        estimated: true,
    };
    times.into_iter().map(spot).collect()
}

fn said(event: &Event, opened: &HashMap<String, usize>) -> Said {
    let body = &event.body;
    let nanos = |time: Option<EventTime>| time.map(EventTime::nanos);
    Said {
        kind: event.kind.name(),
        inside: body.inside,
        at: nanos(body.at),
        not_before: nanos(body.not_before),
        not_after: nanos(body.not_after),
        confirmed_at: body.confirmed_at.unwrap().nanos(),
        certainty: body.certainty.map(|certainty| match certainty {
            Certainty::Observed => "observed",
            Certainty::Inferred => "inferred",
            Certainty::Uncertain => "uncertain",
        }),
        gap: body.gap.as_ref().map(|gap| (gap.from.nanos(), gap.to.nanos())),
        fixes: body.fixes.map(|n| n as usize),
        visit: body.visit.as_ref().map(|visit| opened[visit]),
    }
}

fn record(Spot { t, lat, lon, accuracy_m, estimated }: Spot) -> Record {
    Record {
        asset: None,
        time: EventTime::from_nanos(t),
        position: Ok(Position::new(lat, lon).unwrap()),
        accuracy_m: Some(accuracy_m),
        received: None,
        speed_mps: None,
        heading_deg: None,
        quality: if estimated { FixQuality::Estimated } else { FixQuality::Measured },
        altitude_m: None,
    }
}

/// Both answers to a stream, zone by zone.
fn both(decide: &Decide, rules: &[Rules], spots: &[Spot]) -> Vec<(Vec<Said>, Vec<Said>)> {
    let mut engine = Engine::replay(setup(decide), &layer(rules));
    let mut twins: Vec<_> = rules.iter().map(|rules| Twin::new(*rules)).collect();
    let mut events = Vec::new();
    for &spot in spots {
        let Spot { t, lat, lon, accuracy_m, estimated } = spot;
        let position = Position::new(lat, lon).unwrap();
        for (ix, twin) in twins.iter_mut().enumerate() {
            let located = engine.ground().locate(ix as u32, position);
            let fix = Fix { t, d_m: located.distance_m, inside: located.inside, accuracy_m };
            if estimated { twin.estimated(t) } else { twin.fix(fix) }
        }
        let record = record(spot);
        let at = BootTime::from_nanos(t - T0);
        events.extend(engine.step(Input::Record { source: 0, at, record }).events);
    }
    let at = BootTime::from_nanos(i64::MAX / 2);
    events.extend(engine.step(Input::End { source: 0, at }).events);
    events.extend(engine.step(Input::Wake { now: at }).events);
    let zone_of = |ix: usize| engine.ground().zone(ix as u32).key.zone.clone();
    let mut pairs = Vec::new();
    for (ix, twin) in twins.iter().enumerate() {
        let zone = zone_of(ix);
        let own = events.iter().filter(|event| event.body.zone.as_ref() == Some(&zone));
        let own: Vec<_> = own.collect();
        let opened = own.iter().enumerate().map(|(n, event)| (event.id.clone(), n)).collect();
        pairs.push((own.iter().map(|e| said(e, &opened)).collect(), twin.said().to_vec()));
    }
    pairs
}

/// Equal, the moment to a microsecond.
fn same(have: &[Said], want: &[Said]) -> bool {
    let near = |a: &Said, b: &Said| match (a.at, b.at) {
        (Some(x), Some(y)) => (x - y).abs() <= 1000 && Said { at: b.at, ..a.clone() } == *b,
        _ => a == b,
    };
    have.len() == want.len() && have.iter().zip(want).all(|(a, b)| near(a, b))
}

fn check(seed: u64) -> usize {
    let mut chance = Chance::new(seed);
    let infer_limit = [None, Some(3600 * S)][chance.below(2) as usize];
    let rules: Vec<_> = (0..ZONES).map(|_| rules(&mut chance, infer_limit)).collect();
    let spots = stream(&mut chance);
    let decide = decide(infer_limit);
    let answers = both(&decide, &rules, &spots);
    if answers.iter().all(|(have, want)| same(have, want)) {
        return answers.iter().map(|(have, _)| have.len()).sum();
    }
    let differs = |n: &usize| both(&decide, &rules, &spots[..*n]).iter().any(|(a, b)| !same(a, b));
    let prefix = (1..=spots.len()).find(differs).unwrap_or(spots.len());
    for (ix, (have, want)) in both(&decide, &rules, &spots[..prefix]).iter().enumerate() {
        assert!(
            same(have, want),
            "seed {seed}: the first {prefix} fixes: zone {ix} {:?}\nhave {:#?}\nwant {:#?}",
            rules[ix],
            have.last(),
            want.last()
        );
    }
    panic!("seed {seed}: only the whole stream differs");
}

/// §4: the engine says what a reader of the contract works out.
#[test]
fn the_engine_is_its_twin() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let long = std::env::var_os("GEOFENCED_LONG").is_some();
    let steps = number("GEOFENCED_STEPS").unwrap_or(if long { 100_000_000 } else { 150_000 });
    let seeds = match number("GEOFENCED_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=steps.div_ceil((FIXES * ZONES) as u64),
    };
    let events: usize = seeds.clone().map(check).sum();
    println!("twin: {seeds:?}, {} steps each, {events} events", FIXES * ZONES);
    assert!(events > 0);
}
