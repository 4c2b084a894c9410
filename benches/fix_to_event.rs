//! From a fix to its events in process: intake, clock, order, gate, index, distances, crossings.
//!
//! Prints millions of fixes a second on one core and with two threads, each beside a one-core twin
//! in the same minutes, the median of five; then what one fix costs against the number of zones and
//! of assets. `cargo bench --bench fix_to_event`; with `-- profile` one core alone, for a profiler.

mod fleet;

use std::collections::HashMap;
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use fleet::{Fleet, Report};
use geofenced::daemon::{REPLAY_TRUSTED, replay_setup};
use geofenced::logic::config::{ConfigFile, Env, load};
use geofenced::logic::engine::{Engine, Input, Setup};
use geofenced::logic::gnss::record::Record;
use geofenced::logic::zones::{Layer, parse_layer};
use geofenced::units::{AssetId, BootTime, GatewayId};

const RUNS: usize = 5;

fn setup() -> Setup {
    let text = "[gateway]\nid = \"bench\"\n[[source]]\nname = \"fleet\"\nkind = \"file\"\n\
        path = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";
    let config = load(&[ConfigFile::new("bench", text)], &Env::new()).expect("a sound config");
    replay_setup(&config.config, &GatewayId::new("bench").expect("a sound id"), false)
}

/// The fleet's zones, checked.
fn layers(zones: u64) -> Vec<Arc<Layer>> {
    let checked = |text: String| parse_layer(text.as_bytes(), &setup().decide);
    let texts = fleet::layer_texts(zones).into_iter();
    texts.map(|text| Arc::new(checked(text).expect("sound zones").layer)).collect()
}

/// The fleet's reports as records.
fn fleet(assets: u64, zones: u64, fixes: u64) -> Vec<Record> {
    let id = |n| AssetId::new(&Fleet::name(n)).expect("a sound id");
    let ids: Vec<AssetId> = (0..assets).map(id).collect();
    let like = Record::from_json(br#"{"time":0,"lat":1,"lon":1,"accuracy_m":5}"#);
    let like = like.expect("a sound record");
    let record = |report: Report| Record {
        asset: Some(ids[report.asset as usize].clone()),
        time: report.time,
        position: Ok(report.position),
        ..like.clone()
    };
    Fleet::new(assets, zones).take(fixes as usize).map(record).collect()
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
