//! Real drives through the engine and through a naive evaluator that shares no code with it.
//!
//! Always holds: event by event both say the same of the same usable fixes; the drive through
//! Switzerland gives its golden events (`GEOFENCED_BLESS=1` rewrites them).
//! Does not know: clocks, stores, restarts.

use std::path::{Path, PathBuf};

use geofenced::logic::config::Decide;
use geofenced::logic::engine::FixReport;
use geofenced::logic::event::Event;
use geofenced::logic::gnss::FixQuality;
use geofenced::units::{EventTime, Span};

#[expect(dead_code, reason = "the other corpus test uses the rest")]
#[path = "drive/harness.rs"]
mod harness;
#[path = "drive/naive.rs"]
mod naive;
#[path = "drive/shapes.rs"]
mod shapes;
#[path = "drive/tracks.rs"]
mod tracks;

use harness::{Recording, corpus, layer, name, replay};

/// How far apart interpolated times may be: distances differ by millimetres.
const CLOSE: i64 = naive::SECOND / 50;

fn rules(decide: &Decide) -> naive::Rules {
    naive::Rules {
        confirm: u64::from(decide.confirm),
        confirm_for_s: decide.confirm_for.secs_f64(),
        enter_margin_m: decide.enter_margin_m,
        exit_margin_m: decide.exit_margin_m,
        stale_after_s: decide.stale_after.secs_f64(),
        infer_limit_s: decide.infer_limit.map(Span::secs_f64),
        interval_s: 1.0,
    }
}

/// The fixes that the machine may use, as `--print fixes` gives them.
fn heard(fixes: &[FixReport]) -> Vec<naive::Heard> {
    let used = fixes.iter().filter(|report| report.reason.is_none());
    let heard = used.map(|FixReport { fix, .. }| naive::Heard {
        time: fix.time.nanos(),
        at: (fix.position.lon_deg(), fix.position.lat_deg()),
        accuracy_m: fix.accuracy_m,
        measured: fix.quality == FixQuality::Measured,
    });
    heard.collect()
}

/// An event of the engine in the naive evaluator's words.
fn plain(event: &Event) -> naive::Event {
    let body = &event.body;
    naive::Event {
        kind: event.kind.name().to_owned(),
        zone: body.zone.as_ref().expect("a replay has only zones' events").to_string(),
        inside: body.inside,
        at: body.at.map(EventTime::nanos),
        not_before: body.not_before.map(EventTime::nanos),
        not_after: body.not_after.map(EventTime::nanos),
        confirmed_at: body.confirmed_at.expect("a fix decided it").nanos(),
        certainty: body.certainty.map(|c| {
            let named = serde_json::to_value(c).expect("a word");
            named.as_str().expect("a word").to_owned()
        }),
        slack: 0,
    }
}

/// Whether two events say the same; the second is the naive one.
fn same(a: &naive::Event, b: &naive::Event) -> bool {
    let close = match (a.at, b.at) {
        (Some(x), Some(y)) => (x - y).abs() <= CLOSE + b.slack,
        (x, y) => x == y,
    };
    close && *a == naive::Event { at: a.at, slack: a.slack, ..b.clone() }
}

/// Every difference between the engine and the naive evaluator on one recording.
fn differences(engine: &[Event], naive: Vec<naive::Event>) -> Vec<String> {
    let mut engine: Vec<naive::Event> = engine.iter().map(plain).collect();
    let mut naive = naive;
    let key = |e: &naive::Event| (e.zone.clone(), e.confirmed_at, e.kind.clone());
    engine.sort_by_key(key);
    naive.sort_by_key(key);
    let mut found = Vec::new();
    let (mut a, mut b) = (engine.into_iter().peekable(), naive.into_iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (None, None) => return found,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(x), Some(y)) => key(x).cmp(&key(y)),
        };
        let x = if order.is_le() { a.next() } else { None };
        let y = if order.is_ge() { b.next() } else { None };
        match (x, y) {
            (Some(x), Some(y)) if same(&x, &y) => {}
            (x, y) => found.push(format!("engine {x:?}\n naive {y:?}")),
        }
    }
}

/// INV-1 and B14: per zone memberships alternate; of one fix the exits come first.
fn check_order(events: &[Event]) {
    let mut inside = std::collections::BTreeMap::new();
    for (i, event) in events.iter().enumerate() {
        assert_eq!(event.seq, i as u64 + 1, "INV-3");
        let Some(now) = event.body.inside else { continue };
        let zone = event.body.zone.clone();
        let before = inside.insert(zone, now);
        assert_ne!(before.unwrap_or(false), now, "INV-1: {}", event.to_json());
    }
    for pair in events.windows(2) {
        let (a, b) = (&pair[0].body, &pair[1].body);
        let entry_first = a.inside == Some(true) && b.inside == Some(false);
        assert!(!(entry_first && a.confirmed_at == b.confirmed_at), "B14: {}", pair[1].to_json());
    }
}

/// The engine against the naive evaluator; gives the number of events.
fn differ(recording: Recording<'_>, geojson: &str, decide: &Decide, what: &str) -> usize {
    let replayed = replay(recording, &[layer(geojson, decide)], decide);
    check_order(&replayed.events);
    let zones = naive::zones(geojson, rules(decide));
    let expected = naive::evaluate(&zones, &heard(&replayed.fixes));
    let found = differences(&replayed.events, expected);
    assert!(found.is_empty(), "{what}: {} differ\n{}", found.len(), found.join("\n"));
    replayed.events.len()
}

fn own(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drive").join(file)
}

const SWISS: &str = "genivi__20100403_Z205_Switzerland_full.nmea";

/// Standard output of the command itself.
fn printed(args: &[&str]) -> String {
    let mut command = assert_cmd::Command::cargo_bin("geofenced").expect("the binary is built");
    let output = command.args(args).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn switzerland_gives_its_golden_events() {
    let Some(directory) = corpus("nmea") else { return };
    let log = directory.join(SWISS).display().to_string();
    let zones = own("switzerland.geojson").display().to_string();
    printed(&["zones", "check", &zones]);
    let events = printed(&["replay", &log, "--zones", &zones, "--format", "jsonl"]);
    let golden = own("switzerland.events.jsonl");
    if std::env::var_os("GEOFENCED_BLESS").is_some() {
        std::fs::write(&golden, &events).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&golden).expect("the golden file");
    for (i, (now, before)) in events.lines().zip(expected.lines()).enumerate() {
        assert_eq!(now, before, "line {} of {}", i + 1, golden.display());
    }
    assert_eq!(events.lines().count(), expected.lines().count());
}

#[test]
fn switzerland_is_what_the_naive_evaluator_says() {
    let Some(directory) = corpus("nmea") else { return };
    let bytes = std::fs::read(directory.join(SWISS)).expect("the drive");
    let geojson = std::fs::read_to_string(own("switzerland.geojson")).expect("the layer");
    for (what, decide) in tracks::rule_sets() {
        let events = differ(Recording::Nmea(&bytes), &geojson, &decide, what);
        harness::tell(&format!("{what}: {events} events, all alike"));
    }
}

#[test]
fn other_drives_are_what_the_naive_evaluator_says() {
    let (Some(tracks), Some(logs)) = (corpus("tracks"), corpus("nmea")) else { return };
    let mut drives = 0;
    for (what, csv) in tracks::all(&tracks) {
        drives += usize::from(drive(&what, Recording::Csv(&csv)));
    }
    for path in harness::logs(&logs) {
        let bytes = std::fs::read(&path).expect("a log can be read");
        drives += usize::from(drive(&name(&path), Recording::Nmea(tracks::cut(&bytes))));
    }
    harness::tell(&format!("{drives} drives"));
    assert!(drives >= 20, "only {drives} drives");
}

/// One drive against zones placed along it; whether it was one.
fn drive(what: &str, recording: Recording<'_>) -> bool {
    let bare = heard(&replay(recording, &[], &Decide::default()).fixes);
    let forward = bare.windows(2).all(|w| w[0].time < w[1].time);
    if bare.len() < 60 || !forward {
        return false;
    }
    for (set, decide) in tracks::rule_sets() {
        for seed in 1..=tracks::seeds() {
            let geojson = tracks::zones_along(&bare, seed);
            let told = format!("{what}, {set}, seed {seed}");
            let events = differ(recording, &geojson, &decide, &told);
            let fixes = bare.len();
            harness::tell(&format!("{told}: {fixes} fixes, {events} events, all alike"));
        }
    }
    true
}
