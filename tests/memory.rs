//! A gateway with room for a few assets says what one with room for all says, byte for byte:
//! what is forgotten comes back as it was, and that it left is seen in no event (PAIR-5).
//!
//! `GEOFENCED_LONG=1` runs for minutes; `GEOFENCED_SEED=n` runs the one that was printed.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

#[path = "field/chance.rs"]
mod chance;
#[expect(dead_code, reason = "the drives of the invariants need more of it")]
#[path = "field/drive.rs"]
mod drive;
#[expect(dead_code, reason = "the cases of the field need more of it")]
#[path = "field/harness.rs"]
mod harness;
#[path = "field/ledger.rs"]
mod ledger;

use std::fmt::Write;
use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{Feed, Setup, SourceSetup, Telemetry, Trusting};
use geofenced::logic::event::{Event, GapCause, Kind};
use geofenced::logic::gnss::record::Record;
use geofenced::logic::zones::Layer;
use geofenced::units::{AssetId, SourceId, Span};

use chance::Chance;
use drive::{Drive, Noise, Report};
use harness::{Gateway, NETWORK, Place, VAN, feature, layer, named_layer, record};

/// Who drives; the van is the one that the configuration names.
const FLEET: [&str; 20] = [
    VAN, "a01", "a02", "a03", "a04", "a05", "a06", "a07", "a08", "a09", "b10", "b11", "b12", "b13",
    "b14", "b15", "b16", "x17", "x18", "x19",
];

/// A third source: lines of records, several at a time.
const LINES: usize = 2;
/// A fourth: records of a feed that is trusted.
const TRUSTED: usize = 3;

fn setup() -> Setup {
    let mut setup = harness::setup(&Decide::default());
    let like = setup.sources[NETWORK].clone();
    let id = |name| SourceId::new(name).unwrap();
    setup.sources.push(SourceSetup { id: id("lines"), feed: Feed::Records, ..like.clone() });
    setup.sources.push(SourceSetup { id: id("fed"), trusting: Trusting::Fixes, ..like });
    setup.telemetry = Telemetry { late_fix: true, stale_markers: true };
    setup
}

/// The same with ranks, so that sources of one asset take turns (ORD-4).
fn ranked() -> Setup {
    let mut setup = setup();
    for (rank, source) in (1..).zip(&mut setup.sources) {
        source.rank = rank;
    }
    setup
}

/// What a gateway goes through.
enum Op {
    Hear { source: usize, t: f64, record: Record },
    Lines { t: f64, lines: Vec<u8> },
    Commit,
    Snapshot,
    Crash(f64),
    PowerCut(f64, f64),
    Stop(f64),
    Layers(f64, u64),
}

/// The zones of the drives, and every other time a layer that goes and comes back drawn anew.
fn layers(version: u64) -> Vec<Arc<Layer>> {
    let mut layers = drive::layers(version);
    if version.is_multiple_of(2) {
        let (south, north) = (47.999 + version as f64 * 0.0002, 48.001);
        let ring = format!(
            r#"{{"type":"Polygon","coordinates":[[[10.999,{south}],[11.003,{south}],
            [11.003,{north}],[10.999,{north}],[10.999,{south}]]]}}"#
        );
        layers.push(named_layer("m", version + 1, &[feature("M", &ring, r#""dwell":"20s""#)]));
    }
    layers
}

/// A record as a line.
fn line(report: &Report, late_s: f64) -> String {
    let record = report.record();
    let (lat, lon) = record.position.map(|place| (place.lat_deg(), place.lon_deg())).unwrap();
    let time = record.time - Span::from_secs_f64(late_s);
    let accuracy = record.accuracy_m.unwrap();
    let asset = report.asset;
    format!(
        r#"{{"asset":"{asset}","time":"{time}","lat":{lat},"lon":{lon},"accuracy_m":{accuracy}}}"#
    ) + "\n"
}

/// A random life: who is heard through which source, and what happens in between.
fn life(chance: &mut Chance, mixed: bool) -> Vec<Op> {
    let drive = Drive::random_of(&FLEET, chance, 1600);
    let noise = Noise::any(chance);
    let mut reports = drive.reports(chance, noise);
    // Long enough that everyone is stale.
    let half = reports.len() / 2;
    reports[half..].iter_mut().for_each(|report| report.t += 700.0);
    let troubles = [0.0, 0.002, 0.01][chance.below(3) as usize];
    let mut ops = Vec::new();
    let (mut lines, mut version, mut now) = (Vec::new(), 0, 0.0_f64);
    for report in &reports {
        let t = now.max(report.t + 0.2 * chance.unit());
        now = t;
        let own = FLEET.iter().position(|id| *id == report.asset).unwrap();
        // Each has a source of its own, or speaks through any.
        let way = if mixed { chance.below(3) as usize } else { own % 3 };
        match way {
            0 => {
                // Some come again, and some come too late.
                let again = chance.unit() < 0.03;
                let mut record = report.record();
                if chance.unit() < 0.03 {
                    record.time = record.time - Span::from_secs_f64(20.0 * chance.unit());
                }
                if again {
                    ops.push(Op::Hear { source: NETWORK, t, record: record.clone() });
                }
                ops.push(Op::Hear { source: NETWORK, t, record });
            }
            1 => lines.extend(line(report, 0.0).bytes()),
            _ => ops.push(Op::Hear { source: TRUSTED, t, record: report.record() }),
        }
        if !lines.is_empty() && chance.unit() < 0.4 {
            ops.push(Op::Lines { t, lines: std::mem::take(&mut lines) });
        }
        if chance.unit() < 0.08 {
            ops.push(Op::Commit);
        }
        if chance.unit() < 0.004 {
            ops.push(Op::Snapshot);
        }
        if chance.unit() < troubles {
            ops.push(match chance.below(8) {
                0..3 => Op::Crash(t),
                3 => Op::PowerCut(t, t + 1.0 + 600.0 * chance.unit().powi(4)),
                4..6 => Op::Stop(t),
                _ => {
                    version += 1;
                    Op::Layers(t, version)
                }
            });
        }
    }
    ops
}

/// What came of it, as text: events, telemetry, and what became of every fix.
fn run(ops: &[Op], setup: Setup, most: usize) -> (Vec<String>, u32) {
    let mut gateway = Gateway::bounded(&layers(0), setup, most);
    for op in ops {
        // Nothing happens before what has happened.
        let at = |t: f64| t.max(gateway.now());
        match op {
            Op::Hear { source, t, record } => gateway.hear_from(*source, at(*t), record.clone()),
            Op::Lines { t, lines } => gateway.bytes_from(LINES, at(*t), lines),
            Op::Commit => gateway.commit(),
            Op::Snapshot => gateway.snapshot(),
            Op::Crash(t) => gateway.crash(at(*t)),
            Op::PowerCut(t, on) => gateway.power_cut(at(*t), on.max(gateway.now() + 1.0)),
            Op::Stop(t) => gateway.stop(at(*t)),
            Op::Layers(t, version) => gateway.change_layers(at(*t), &layers(*version)),
        }
    }
    let end = gateway.now() + 2000.0;
    gateway.pass(end);
    gateway.snapshot();
    gateway.commit();
    let mut said: Vec<String> = gateway.events().iter().map(Event::to_json).collect();
    said.extend(gateway.telemetry().iter().map(Event::to_json));
    for heard in &gateway.received {
        let mut text = String::new();
        write!(text, "{heard:?}").unwrap();
        said.push(text);
    }
    (said, gateway.recalls)
}

fn seeds(short: u64, long: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("GEOFENCED_SEED") {
        return seed..=seed;
    }
    1..=if std::env::var_os("GEOFENCED_LONG").is_some() { long } else { short }
}

/// What must have happened, or nothing is shown.
const SEEN: [&str; 9] = [
    "fence_entry",
    "fence_exit",
    "fence_transition_uncertain",
    "fence_dwell",
    "fence_retired",
    "asset_reconciled",
    "asset_stale",
    "asset_recovered",
    "late_fix",
];

/// PAIR-5, INV-7: room for 3 of 20, or for none but the configured, is room for all.
#[test]
fn pair_5_a_few_in_memory_say_what_all_would() {
    let (mut seen, mut recalls) = ([0; SEEN.len()], 0);
    for seed in seeds(6, 400) {
        let mut chance = Chance::new(seed ^ 0x3e3);
        let mixed = seed % 3 == 0;
        let ops = life(&mut chance, mixed);
        let setup = || if mixed { ranked() } else { setup() };
        let (want, none) = run(&ops, setup(), usize::MAX);
        assert_eq!(none, 0);
        for most in [0, 3, 12] {
            let (have, recalled) = run(&ops, setup(), most);
            let same = have.iter().zip(&want).take_while(|(a, b)| a == b).count();
            assert!(
                have == want,
                "seed {seed}, {most} in memory, line {same}:\nhave {}\nwant {}",
                have.get(same).map_or("nothing", String::as_str),
                want.get(same).map_or("nothing", String::as_str)
            );
            recalls += recalled;
        }
        let count = |kind: &str| want.iter().filter(|line| line.contains(kind)).count();
        for (kind, n) in SEEN.iter().zip(&mut seen) {
            *n += count(&format!("\"kind\":\"{kind}\""));
        }
    }
    println!("PAIR-5: {recalls} recalls, {SEEN:?} {seen:?}");
    let all = std::env::var_os("GEOFENCED_SEED").is_some() || seen.iter().all(|n| *n > 0);
    assert!(all && recalls > 100, "{recalls} recalls, {seen:?}");
}

const IN: Place = (48.0005, 11.0010);
const OUT: Place = (48.0005, 11.0100);

/// INSIDE is never lost: forgotten for a day, one exit ends the visit that began before it; nothing
/// tells of a restart, because there was none.
#[test]
fn pair_5_inside_outlives_memory() {
    let square = feature(
        "S",
        r#"{"type":"Polygon","coordinates":[[[11,48],[11.002,48],[11.002,48.001],[11,48.001],
        [11,48]]]}"#,
        "",
    );
    let mut gateway = Gateway::bounded(&layer(1, &[square]), setup(), 1);
    let drive = |gateway: &mut Gateway, from: f64, asset: &str, place: Place| {
        for n in 0..8 {
            let t = from + f64::from(n);
            gateway.hear(t + 0.2, record(asset, t, place, Some(3.0)));
        }
        gateway.pass(from + 10.0);
        gateway.commit();
    };
    drive(&mut gateway, 0.0, "truck", OUT);
    drive(&mut gateway, 20.0, "truck", IN);
    for (n, other) in FLEET.iter().enumerate() {
        drive(&mut gateway, 3600.0 * (1.0 + n as f64), other, OUT);
    }
    let truck = AssetId::new("truck").unwrap();
    let engine = &gateway.life().engine;
    assert!(engine.lacks(&truck), "{:?}", engine.in_memory());
    assert_eq!(engine.in_memory(), (1, FLEET.len()), "the van is configured");
    drive(&mut gateway, 86_400.0, "truck", OUT);
    let events = gateway.events();
    let own = |event: &&Event| event.body.asset.as_ref() == Some(&truck);
    let own: Vec<&Event> = events.iter().filter(own).collect();
    let kinds: Vec<Kind> = own.iter().map(|event| event.kind).collect();
    let want = [Kind::AssetReconciled, Kind::FenceEntry, Kind::FenceTransitionUncertain];
    assert_eq!(kinds, want, "{own:#?}");
    assert_eq!(own[2].body.visit, own[1].body.visit);
    assert_eq!(own[2].body.gap.as_ref().map(|gap| gap.cause), Some(GapCause::Silence));
}

/// A start finds more than memory holds, and each start is told of when the asset is heard.
#[test]
fn sto_1_what_a_start_leaves_in_the_store_comes_back_with_every_start_since() {
    let square = feature(
        "S",
        r#"{"type":"Polygon","coordinates":[[[11,48],[11.002,48],[11.002,48.001],[11,48.001],
        [11,48]]]}"#,
        "",
    );
    let mut gateway = Gateway::bounded(&layer(1, &[square]), setup(), 2);
    let drive = |gateway: &mut Gateway, from: f64, place: Place| {
        for n in 0..8 {
            for asset in FLEET {
                let t = from + f64::from(n);
                gateway.hear(t + 0.2, record(asset, t, place, Some(3.0)));
            }
        }
        gateway.pass(from + 10.0);
    };
    drive(&mut gateway, 0.0, OUT);
    drive(&mut gateway, 20.0, IN);
    gateway.power_cut(40.0, 50.0);
    gateway.stop(60.0);
    gateway.crash(65.0);
    let (here, away) = gateway.life().engine.in_memory();
    assert!(here <= 3 && here + away == FLEET.len(), "{here} and {away}");
    drive(&mut gateway, 80.0, OUT);
    gateway.commit();
    let events = gateway.events();
    let left = events.iter().filter(|event| event.body.inside == Some(false));
    let causes: Vec<_> = left.map(|event| event.body.gap.as_ref().map(|gap| gap.cause)).collect();
    assert_eq!(causes, vec![Some(GapCause::Power); FLEET.len()]);
    let reconciled = events.iter().filter(|event| event.kind == Kind::AssetReconciled);
    assert_eq!(reconciled.count(), 2 * FLEET.len());
}
