//! What an asset costs in memory, and what one costs that is only in the store.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]
#![expect(clippy::cast_possible_wrap, reason = "bytes and assets of a test, not of a machine")]

#[expect(dead_code, reason = "the cases of the field need more of it")]
#[path = "field/harness.rs"]
mod harness;
#[path = "field/ledger.rs"]
mod ledger;

use std::alloc::System;

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{Birth, Engine, Input};
use geofenced::logic::group::{Group, Restored};
use geofenced::units::{AssetId, BootTime, StreamId, WallTime};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use harness::{NETWORK, Place, at, feature, layer, record, setup};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ASSETS: usize = 100_000;
const ACTIVE: usize = 1_000;

/// Bytes in use that were not before.
fn grown(region: &Region<'_, System>) -> i64 {
    let change = region.change();
    change.bytes_allocated as i64 - change.bytes_deallocated as i64
}

fn engine() -> Engine {
    let square = feature(
        "S",
        r#"{"type":"Polygon","coordinates":[[[11,48],[11.002,48],[11.002,48.001],[11,48.001],
        [11,48]]]}"#,
        "",
    );
    let mut setup = setup(&Decide::default());
    setup.report_fixes = false;
    let restored = Restored::nothing(StreamId::new("x").unwrap());
    let (boot, wall) = (BootTime::from_nanos(0), WallTime::from_nanos(0));
    let birth = Birth { boot, boot_id: "x".to_owned(), wall, reload: false };
    Engine::start(setup, &layer(1, &[square]), restored, &birth)
}

/// Five fixes each, a second apart; one asset in four stands in the zone.
fn hear(engine: &mut Engine, from: f64, assets: std::ops::Range<usize>) {
    let boot = |t: f64| BootTime::from_nanos(((t + 100.0) * 1e9) as i64);
    for n in 0..5 {
        for asset in assets.clone() {
            let place: Place = if asset % 4 == 0 { (48.0005, 11.001) } else { (48.0005, 11.01) };
            let t = from + f64::from(n) + asset as f64 * 1e-6;
            let record = record(&format!("tracker-{asset:06}"), t, place, Some(3.0));
            // On the wire for a while, each time a bit longer or shorter.
            let arrives = boot(t + 0.1 + ((asset + n as usize * 7) % 5) as f64 * 0.01);
            let _ = engine.step(Input::Record { source: NETWORK, at: arrives, record });
        }
    }
    let _ = engine.step(Input::Wake { now: boot(from + 70.0) });
    let mut group = Group::default();
    engine.take_rows(&mut group, boot(from + 70.0));
}

/// 100,000 assets of which 1,000 are heard: those cost what they did, the others a fraction.
#[test]
fn pair_5_a_silent_asset_costs_a_fraction() {
    assert!(at(0.0) < at(1.0));
    let region = Region::new(COUNTED);
    let mut engine = engine();
    let empty = grown(&region);
    hear(&mut engine, 0.0, 0..ASSETS);
    hear(&mut engine, 100.0, 0..ACTIVE);
    let all = grown(&region) - empty;
    engine.forget(ACTIVE);
    let (here, away) = engine.in_memory();
    assert!(here <= ACTIVE && here + away == ASSETS, "{here} and {away}");
    let few = grown(&region) - empty;
    let (before, after) = (all / ASSETS as i64, few / ASSETS as i64);
    println!("{ASSETS} assets, {here} in memory: {before} B each before, {after} B after");
    println!("{} MB before, {} MB after", all / 1_000_000, few / 1_000_000);
    assert!(before >= 1_500, "{before} bytes each");
    assert!(after <= 800, "{after} bytes each");
    assert!(engine.lacks(&AssetId::new("tracker-050000").unwrap()));
}
