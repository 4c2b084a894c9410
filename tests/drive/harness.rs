//! The corpus, and one recording through the whole engine as `replay` does it.
//!
//! Always holds: nothing of the corpus is copied; without it a test says so and passes, unless
//! `GEOFENCED_REQUIRE_CORPUS` is set. Does not know: what the events should be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use geofenced::daemon::{REPLAY_TRUSTED, replay_setup};
use geofenced::logic::config::{Config, ConfigFile, Decide, Env, load};
use geofenced::logic::engine::{Engine, FixReport, Input, Setup, Step};
use geofenced::logic::event::Event;
use geofenced::logic::gnss::Reject;
use geofenced::logic::gnss::record::{Columns, Record, csv_reader};
use geofenced::logic::zones::{Layer, parse_layer};
use geofenced::units::{BootTime, GatewayId};

/// A line for whoever runs the test with `--nocapture`.
#[expect(clippy::print_stdout, reason = "a test's own words")]
pub(crate) fn tell(line: &str) {
    println!("{line}");
}

/// A directory of the corpus, or `None` after saying that there is none.
pub(crate) fn corpus(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("GEOFENCED_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    let directory = root.join(part);
    if directory.is_dir() {
        return Some(directory);
    }
    let required = std::env::var_os("GEOFENCED_REQUIRE_CORPUS").is_some();
    assert!(!required, "no corpus at {}", directory.display());
    tell(&format!("skipped: no corpus at {}", directory.display()));
    None
}

/// The files of a directory in the order of their names.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the corpus can be listed");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The recorded logs: gpsd's `.chk` files hold its answers, not a receiver's bytes.
pub(crate) fn logs(directory: &Path) -> Vec<PathBuf> {
    files(directory).into_iter().filter(|path| !name(path).contains(".chk")).collect()
}

/// A file's name for people.
pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A recording.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recording<'a> {
    Nmea(&'a [u8]),
    Csv(&'a str),
    JsonLines(&'a str),
}

/// What came of one.
pub(crate) struct Replayed {
    pub(crate) events: Vec<Event>,
    pub(crate) fixes: Vec<FixReport>,
    pub(crate) sentences: u64,
    pub(crate) epochs: u64,
    pub(crate) usable: u64,
    pub(crate) rejects: BTreeMap<Reject, u64>,
}

/// What an engine that replays is told.
pub(crate) fn setup(decide: &Decide) -> Setup {
    let gateway = GatewayId::new("replay").expect("a sound id");
    replay_setup(&config(decide), &gateway, true)
}

fn config(decide: &Decide) -> Config {
    let text = "[gateway]\nid = \"replay\"\n[[source]]\nname = \"replay\"\nkind = \"file\"\n\
        path = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";
    let loaded = load(&[ConfigFile::new("test", text)], &Env::new()).expect("a sound config");
    Config { decide: decide.clone(), ..loaded.config }
}

/// A layer that passes every check.
pub(crate) fn layer(geojson: &str, decide: &Decide) -> Arc<Layer> {
    let checked = parse_layer(geojson.as_bytes(), decide).expect("a sound layer");
    assert!(checked.repairs.is_empty(), "{:?}", checked.repairs);
    Arc::new(checked.layer)
}

/// The whole engine over one recording.
pub(crate) fn replay(recording: Recording<'_>, layers: &[Arc<Layer>], decide: &Decide) -> Replayed {
    let mut engine = Engine::replay(setup(decide), layers);
    let mut steps = Vec::new();
    match recording {
        Recording::Nmea(bytes) => {
            let at = BootTime::from_nanos(0);
            for bytes in bytes.chunks(4_096) {
                steps.push(engine.step(Input::Bytes { source: REPLAY_TRUSTED, at, bytes }));
            }
        }
        Recording::Csv(text) => {
            let mut rows = csv_reader().from_reader(text.as_bytes());
            let columns = Columns::new(rows.byte_headers().expect("a header")).expect("our header");
            for row in rows.byte_records() {
                let record = columns.record(&row.expect("a row")).expect("a sound row");
                steps.push(engine.step(input(record)));
            }
        }
        Recording::JsonLines(text) => {
            for line in text.lines() {
                let record = Record::from_json(line.as_bytes()).expect("a sound line");
                steps.push(engine.step(input(record)));
            }
        }
    }
    let at = BootTime::from_nanos(i64::MAX);
    steps.push(engine.step(Input::End { source: REPLAY_TRUSTED, at }));
    replayed(&engine, steps)
}

fn input(record: Record) -> Input<'static> {
    let at = BootTime::from_nanos(record.time.nanos());
    Input::Record { source: REPLAY_TRUSTED, at, record }
}

fn replayed(engine: &Engine, steps: Vec<Step>) -> Replayed {
    let counters = engine.counters();
    let rejects = counters.rejects.iter().map(|(reason, count)| (*reason, *count)).collect();
    let (mut events, mut fixes) = (Vec::new(), Vec::new());
    for step in steps {
        events.extend(step.events);
        fixes.extend(step.fixes);
    }
    Replayed {
        events,
        fixes,
        sentences: counters.sentences,
        epochs: counters.epochs,
        usable: counters.fixes,
        rejects,
    }
}
