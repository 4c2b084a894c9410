//! From a fix to its events in process: intake, clock, order, gate, index, distances, crossings.
//!
//! Prints millions of fixes a second on one core and with two threads, each beside a one-core twin
//! in the same minutes, the median of five; then what one fix costs against the number of zones and
//! of assets. `cargo bench --bench fix_to_event`; with `-- profile` one core alone, for a profiler.

#[path = "../tests/field/chance.rs"]
mod chance;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use chance::Chance;
use geofenced::daemon::{REPLAY_TRUSTED, replay_setup};
use geofenced::logic::config::{ConfigFile, Env, load};
use geofenced::logic::engine::{Engine, Input, Setup};
use geofenced::logic::gnss::record::Record;
use geofenced::logic::zones::{Layer, parse_layer};
use geofenced::units::{AssetId, BootTime, EventTime, GatewayId, Position};

const RUNS: usize = 5;
const METRES_PER_DEG: f64 = 111_195.0;
/// One zone in so many square metres: a town's depots, stops and customers.
const ZONE_PER_M2: f64 = 250_000.0;

fn setup() -> Setup {
    let text = "[gateway]\nid = \"bench\"\n[[source]]\nname = \"fleet\"\nkind = \"file\"\n\
        path = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";
    let config = load(&[ConfigFile::new("bench", text)], &Env::new()).expect("a sound config");
    replay_setup(&config.config, &GatewayId::new("bench").expect("a sound id"), false)
}

/// The side of the square in which so many zones lie.
fn side_m(zones: u64) -> f64 {
    (zones as f64 * ZONE_PER_M2).sqrt()
}

/// Stars of 8 to 64 vertices, 40 to 200 m wide, about the equator.
fn layers(zones: u64) -> Vec<Arc<Layer>> {
    let (mut chance, side) = (Chance::new(3), side_m(zones));
    // A layer holds only so many.
    let layer = |first: u64, last: u64, chance: &mut Chance| {
        let mut text = format!(
            "{{\"type\":\"FeatureCollection\",\"geofenced\":{{\"layer\":\"l{first}\",\
             \"version\":1,\"created\":\"2026-11-30T00:00:00Z\"}},\"features\":["
        );
        for zone in first..last {
            let (east, north) = (chance.unit() * side, chance.unit() * side);
            let (radius, vertices) = (20.0 + 80.0 * chance.unit(), 8 + chance.below(57));
            let ring: Vec<String> = (0..=vertices)
                .map(|n| {
                    let turn = (n % vertices) as f64 / vertices as f64 * std::f64::consts::TAU;
                    let far = radius * (1.0 + 0.2 * (turn * 3.0).sin());
                    let lon = (east + far * turn.cos()) / METRES_PER_DEG;
                    let lat = (north + far * turn.sin()) / METRES_PER_DEG;
                    format!("[{lon:.7},{lat:.7}]")
                })
                .collect();
            let comma = if zone > first { "," } else { "" };
            let _ = write!(
                text,
                "{comma}{{\"type\":\"Feature\",\"id\":\"z{zone}\",\"properties\":{{}},\
                 \"geometry\":{{\"type\":\"Polygon\",\"coordinates\":[[{}]]}}}}",
                ring.join(",")
            );
        }
        text.push_str("]}");
        let checked = parse_layer(text.as_bytes(), &setup().decide);
        Arc::new(checked.expect("sound zones").layer)
    };
    let firsts = (0..zones).step_by(10_000);
    firsts.map(|first| layer(first, zones.min(first + 10_000), &mut chance)).collect()
}

/// One report a second of each asset, interleaved by time: straight on at 5 to 25 m/s, back at the
/// edge, 3 m of noise.
fn fleet(assets: u64, zones: u64, fixes: u64) -> Vec<Record> {
    let (mut chance, side) = (Chance::new(5), side_m(zones));
    let mut vans: Vec<(AssetId, [f64; 4])> = (0..assets)
        .map(|n| {
            let (turn, speed) = (chance.unit() * std::f64::consts::TAU, 5.0 + 20.0 * chance.unit());
            let place = [chance.unit() * side, chance.unit() * side];
            let id = AssetId::new(&format!("van-{n}")).expect("a sound id");
            (id, [place[0], place[1], speed * turn.cos(), speed * turn.sin()])
        })
        .collect();
    let begin = EventTime::from_nanos(1_790_000_000_000_000_000);
    let like = Record::from_json(br#"{"time":0,"lat":1,"lon":1,"accuracy_m":5}"#);
    let like = like.expect("a sound record");
    let mut all = Vec::with_capacity(fixes as usize);
    for n in 0..fixes {
        let (id, [east, north, by_east, by_north]) = &mut vans[(n % assets) as usize];
        for (at, by) in [(&mut *east, by_east), (&mut *north, by_north)] {
            *at += *by;
            if *at < 0.0 || *at > side {
                *by = -*by;
            }
        }
        let lon = (*east + 3.0 * chance.normal()) / METRES_PER_DEG;
        let lat = (*north + 3.0 * chance.normal()) / METRES_PER_DEG;
        let nanos = (n / assets) * 1_000_000_000 + (n % assets) * 1_000_000_000 / assets;
        all.push(Record {
            asset: Some(id.clone()),
            time: EventTime::from_nanos(begin.nanos() + nanos.cast_signed()),
            position: Ok(Position::new(lat, lon).expect("near the equator")),
            ..like.clone()
        });
    }
    all
}

/// Feeds all of it, after the first fifth unmeasured: nanoseconds a fix, and the events.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn feed(mut engine: Engine, records: Vec<Record>) -> (f64, usize) {
    let (warm, mut events) = (records.len() / 5, 0);
    let measured = records.len() - warm;
    let mut begin = Instant::now();
    for (n, record) in records.into_iter().enumerate() {
        if n == warm {
            begin = Instant::now();
        }
        let at = BootTime::from_nanos(record.time.nanos());
        let step = engine.step(Input::Record { source: REPLAY_TRUSTED, at, record });
        events += black_box(step).events.len();
    }
    (begin.elapsed().as_nanos() as f64 / measured as f64, events)
}

/// So many threads, assets dealt out among them: nanoseconds a fix of all of them together. Each
/// has ids of its own, because two counts in one line of cache are the price of a bench, not ours.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn feed_on(threads: usize, engine: &Engine, records: &[Record]) -> (f64, usize) {
    let share = |thread: usize| {
        let mut ids: HashMap<&AssetId, AssetId> = HashMap::new();
        let own = records.iter().filter_map(|record| {
            let id = record.asset.as_ref().expect("an asset");
            let number: usize = id.as_str()[4..].parse().expect("a number");
            let copy = || AssetId::new(id.as_str()).expect("it was one");
            (number % threads == thread)
                .then(|| ids.entry(id).or_insert_with(copy).clone())
                .map(|id| Record { asset: Some(id), ..record.clone() })
        });
        own.collect::<Vec<Record>>()
    };
    let dealt: Vec<Vec<Record>> = (0..threads).map(share).collect();
    let engines: Vec<Engine> = dealt.iter().map(|_| engine.sibling()).collect();
    let begin = Instant::now();
    let threads: Vec<_> = engines
        .into_iter()
        .zip(dealt)
        .map(|(engine, records)| std::thread::spawn(|| feed(engine, records).1))
        .collect();
    let events = threads.into_iter().map(|thread| thread.join().expect("it ends")).sum();
    (begin.elapsed().as_nanos() as f64 / records.len() as f64, events)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let engine = Engine::replay(setup(), &layers(6_000));
    let records = fleet(4_000, 6_000, 2_000_000);
    if std::env::args().any(|arg| arg == "profile") {
        let (nanos, events) = feed(engine, records);
        return writeln!(out, "{nanos:.0} ns a fix, {events} events");
    }
    let (mut one, mut two, mut gain) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (alone, events) = feed_on(1, &engine, &records);
        let (both, same) = feed_on(2, &engine, &records);
        assert_eq!(events, same, "threads change nothing");
        one.push(1e3 / alone);
        two.push(1e3 / both);
        gain.push(alone / both);
    }
    let (one, two, gain) = (median(one), median(two), median(gain));
    writeln!(out, "4,000 assets, 6,000 zones of 8 to 64 vertices, {} fixes", records.len())?;
    writeln!(out, "one core {one:.2} M fixes/s, two threads {two:.2} M fixes/s: {gain:.2} times")?;
    drop(records);
    writeln!(out, "\n  zones  assets  ns a fix")?;
    for zones in [100, 1_000, 10_000, 100_000] {
        let engine = Engine::replay(setup(), &layers(zones));
        for assets in [1, 100, 10_000, 100_000] {
            let records = fleet(assets, zones, (assets * 5).max(300_000));
            let nanos = feed(engine.sibling(), records).0;
            writeln!(out, "{zones:>7} {assets:>7} {nanos:>9.0} {}", bar(nanos))?;
        }
    }
    Ok(())
}

/// A bar as long as the logarithm says: from 100 ns on, 20 to a decade.
fn bar(nanos: f64) -> String {
    "#".repeat((20.0 * (nanos / 100.0).log10()).max(0.0).round() as usize)
}
