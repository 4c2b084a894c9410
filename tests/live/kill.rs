//! SIGKILL at ten points of a drive (INV-4): what the server has in the end is what a run that was
//! never killed decides on the fixes that were received.

use std::collections::HashMap;

use geofenced::daemon::{self, REPLAY_TRUSTED};
use geofenced::edge::receiver::{Manner, Receiver};
use geofenced::logic::config::{Config, ConfigFile, Env, load};
use geofenced::logic::engine::{Engine, FixReport, Input, Step};
use geofenced::logic::gnss::FixQuality;
use geofenced::logic::gnss::record::Record;
use geofenced::store::ReadOnly;
use geofenced::units::{BootTime, EventTime, Span};
use serde_json::Value;

use crate::drive::{self, Epoch};
use crate::harness::{Daemon, Pty, Site, await_true, count, pause, records};

/// Commits as often as a config can ask for, so that each life makes several.
const FLASH: &str = "[flash]\ncommit_every = \"100ms\"\nheartbeat = \"100ms\"\n";

/// The epochs before a kill that are fed slowly: some five a commit, so that the kill falls
/// anywhere in a vote.
const SLOW: usize = 30;
const SLOW_STEP: Span = Span::from_millis(20);

/// Epochs that wait for a commit or in the pty when the kill comes, more or less.
const LAG: usize = 5;

/// How far after a crossing of the unkilled run each kill comes, and for how many epochs nothing
/// runs then; 400 s are more than S.
const KILLS: [(usize, usize); 10] =
    [(0, 0), (1, 0), (2, 2), (3, 30), (12, 400), (2, 0), (0, 5), (4, 0), (12, 400), (3, 1)];

/// From one start to one kill.
struct Life {
    fed: std::ops::Range<usize>,
    /// The last fix that was made durable; the whole feed in the last life.
    watermark: Option<EventTime>,
}

fn config(site: &Site) -> Config {
    let read = |name| ConfigFile::new(name, std::fs::read_to_string(site.path(name)).unwrap());
    let files = ["geofenced.toml", "conf.d/flash.toml", "conf.d/trust.toml"].map(read);
    load(&files, &Env::new()).unwrap().config
}

/// An engine without a store under the site's config.
fn engine(site: &Site) -> Engine {
    let config = config(site);
    let gateway = daemon::identity(&config.gateway.id).unwrap();
    let layers = daemon::read_layers(&config.zones.files, &config.decide).unwrap();
    Engine::replay(daemon::replay_setup(&config, &gateway, true), &layers)
}

/// All that comes of some inputs and the end of the feed.
fn decided<'a>(mut engine: Engine, inputs: impl Iterator<Item = Input<'a>>) -> Step {
    let end = Input::End { source: REPLAY_TRUSTED, at: BootTime::from_nanos(i64::MAX) };
    let mut all = Step::default();
    for input in inputs.chain([end]) {
        let step = engine.step(input);
        all.events.extend(step.events);
        all.fixes.extend(step.fixes);
    }
    all
}

fn of_bytes(site: &Site, bytes: &[u8]) -> Step {
    let at = BootTime::from_nanos(0);
    decided(engine(site), [Input::Bytes { source: REPLAY_TRUSTED, at, bytes }].into_iter())
}

/// What a life received.
fn received(site: &Site, epochs: &[Epoch], life: &Life) -> Vec<FixReport> {
    let all = of_bytes(site, &drive::bytes(&epochs[life.fed.clone()])).fixes;
    all.into_iter().filter(|report| Some(report.fix.time) <= life.watermark).collect()
}

/// The run that was never killed.
fn unkilled(site: &Site, fixes: &[FixReport]) -> Step {
    let inputs = fixes.iter().map(|FixReport { fix, .. }| Input::Record {
        source: REPLAY_TRUSTED,
        at: BootTime::from_nanos(fix.time.nanos()),
        record: Record {
            asset: None,
            time: fix.time,
            position: Ok(fix.position),
            accuracy_m: Some(fix.accuracy_m),
            received: None,
            speed_mps: fix.speed_mps,
            heading_deg: fix.heading_deg,
            quality: FixQuality::Measured,
            altitude_m: None,
        },
    });
    decided(engine(site), inputs)
}

/// Where the feed is killed: shortly after crossings spread over the drive.
fn kill_points(site: &Site, epochs: &[Epoch]) -> Vec<usize> {
    let events = of_bytes(site, &drive::bytes(epochs)).events;
    let crossings: Vec<(i64, bool)> = events
        .iter()
        .filter_map(|event| Some((event.time()?, event.body.inside?)))
        .map(|(time, inside)| ((time - time.midnight()).nanos() / 1_000_000, inside))
        .collect();
    let mut points = Vec::new();
    for (ix, (after, asleep)) in KILLS.iter().enumerate() {
        let mut from = crossings[(ix + 1) * crossings.len() / 12..].iter();
        // A long sleep begins inside, so that something happens in it.
        let (of_day_ms, _) = *from.find(|(_, inside)| *asleep < 400 || *inside).unwrap();
        let at = epochs.iter().position(|epoch| epoch.of_day_ms >= of_day_ms).unwrap();
        points.push(at + after + LAG);
    }
    points.dedup();
    assert_eq!(points.len(), KILLS.len());
    points
}

/// Feeds up to `end`, the last of it slowly, and kills.
fn live_and_die(pty: &mut Pty, daemon: Daemon, epochs: &[Epoch]) {
    let slow = epochs.len().saturating_sub(SLOW);
    assert!(pty.feed(&drive::bytes(&epochs[..slow])));
    for epoch in &epochs[slow..] {
        pause(SLOW_STEP);
        assert!(pty.feed(&epoch.bytes));
    }
    daemon.kill();
}

/// The asset's durable watermark.
fn watermark(site: &Site) -> Option<EventTime> {
    let store = ReadOnly::open(&site.path("state/geofenced.db")).unwrap();
    store.assets().unwrap().first().and_then(|row| row.watermark)
}

/// Ten lives that are killed and one that ends well.
fn killed_drive(site: &Site, epochs: &[Epoch], mut server: impl FnMut(usize)) -> Vec<Life> {
    let mut lives = Vec::new();
    let mut next = 0;
    for (ix, point) in kill_points(site, epochs).into_iter().enumerate() {
        let end = point.max(next + SLOW);
        let mut pty = Pty::plug(&site.path("gnss"));
        let daemon = site.start_open();
        server(ix);
        live_and_die(&mut pty, daemon, &epochs[next..end]);
        lives.push(Life { fed: next..end, watermark: watermark(site) });
        // What a life received is told here by the store alone.
        let _ = std::fs::remove_file(site.path("control.checkpoint"));
        next = end + KILLS[ix].1;
    }
    let pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    server(KILLS.len());
    site.feed_to_end(pty, &drive::bytes(&epochs[next..]));
    await_true("all is delivered", || {
        site.status().is_some_and(|status| {
            let decided = status["events"]["decided"].as_u64().unwrap() as usize;
            status["events"]["waiting"] == 0 && site.server.events().len() == decided
        })
    });
    daemon.stop();
    lives.push(Life { fed: next..epochs.len(), watermark: Some(EventTime::from_nanos(i64::MAX)) });
    lives
}

/// INV-3, INV-5: numbers without holes, in order, and one body an id.
fn check_stream(server: &Receiver) {
    let mut bodies: HashMap<String, Value> = HashMap::new();
    for received in server.received() {
        let id = received.event["id"].as_str().unwrap().to_owned();
        let first = bodies.entry(id).or_insert_with(|| received.event.clone());
        assert_eq!(*first, received.event, "one id, two bodies");
    }
    let seqs: Vec<u64> = records(server).iter().map(|r| r["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}

/// Each start says once why, and reconciles what it heard at most once.
fn check_starts(records: &[Value], received: &[Vec<FixReport>]) {
    let lives: Vec<&[Value]> =
        records.split(|record| record["kind"] == "gateway_started").skip(1).collect();
    let starts = records.iter().filter(|record| record["kind"] == "gateway_started");
    let causes: Vec<&str> = starts.map(|r| r["start"]["cause"].as_str().unwrap()).collect();
    assert_eq!(causes[0], "first");
    assert_eq!(causes[1..], ["crash"; KILLS.len()]);
    assert_eq!(lives.len(), received.len());
    for (ix, (life, fixes)) in lives.iter().zip(received).enumerate() {
        let reconciled = count(life, "asset_reconciled");
        let span = match (fixes.first(), fixes.last()) {
            (Some(first), Some(last)) => last.fix.time - first.fix.time,
            _ => Span::ZERO,
        };
        assert!(reconciled <= 1, "life {ix}: {reconciled}");
        assert!(reconciled == 1 || span < Span::from_secs(100), "life {ix}: {span:?}");
    }
}

fn time(value: &Value) -> Option<EventTime> {
    value.as_str().map(|text| text.parse().unwrap())
}

/// INV-4 for one event against the same one of the unkilled run.
fn check_event(record: &Value, same: &Value, gaps: &[(EventTime, EventTime)]) {
    let told = || format!("{record}\n{same}");
    let wanted = time(&same["at"]);
    assert_eq!(record["confirmed_at"], same["confirmed_at"], "{}", told());
    if let (Some(from), Some(to)) = (time(&record["gap"]["from"]), time(&record["gap"]["to"])) {
        assert!(gaps.contains(&(from, to)) || record["gap"] == same["gap"], "gap: {}", told());
    }
    match record["certainty"].as_str() {
        Some("observed") | None => assert_eq!(time(&record["at"]), wanted, "at: {}", told()),
        Some("inferred" | "uncertain") => {
            let from = time(&record["not_before"]).unwrap();
            let to = time(&record["not_after"]).or(time(&record["confirmed_at"])).unwrap();
            let within = |at: EventTime| from <= at && at <= to;
            assert!(wanted.is_none_or(within), "bracket: {}", told());
            assert!(time(&record["at"]).is_none_or(within), "own bracket: {}", told());
            assert_eq!(record["certainty"] == "uncertain", record["at"].is_null(), "{}", told());
            assert!(record["gap"].is_object(), "no gap: {}", told());
        }
        other => panic!("certainty {other:?}: {}", told()),
    }
}

/// INV-4 as a whole.
fn check_decisions(records: &[Value], steps: &Step, received: &[Vec<FixReport>]) {
    let usable: Vec<EventTime> =
        steps.fixes.iter().filter(|r| r.reason.is_none()).map(|r| r.fix.time).collect();
    let lives: Vec<&Vec<FixReport>> = received.iter().filter(|fixes| !fixes.is_empty()).collect();
    let gaps: Vec<(EventTime, EventTime)> = lives
        .windows(2)
        .map(|pair| {
            let (end, start) = (pair[0].last().unwrap(), pair[1].first().unwrap());
            let last = usable.iter().rev().find(|time| **time <= end.fix.time).unwrap();
            (*last, *usable.iter().find(|time| **time >= start.fix.time).unwrap())
        })
        .collect();
    let zoned = |record: &&Value| record["zone"].is_string();
    let name = |r: &Value| format!("{} {} {}", r["zone"], r["inside"], r["kind"] == "fence_dwell");
    let wanted: Vec<Value> =
        steps.events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    let live: Vec<&Value> = records.iter().filter(zoned).collect();
    let wanted: Vec<&Value> = wanted.iter().filter(zoned).collect();
    for (ix, (live, same)) in live.iter().zip(&wanted).enumerate() {
        assert_eq!(name(live), name(same), "event {ix}: {live}\n{same}");
        check_event(live, same, &gaps);
    }
    assert_eq!(live.len(), wanted.len());
    let graded = |grade: &str| live.iter().filter(|r| r["certainty"] == grade).count();
    let (all, inferred, uncertain) = (live.len(), graded("inferred"), graded("uncertain"));
    println!("{all} events, {inferred} inferred, {uncertain} uncertain");
    assert!(all > 100 && inferred + uncertain > 0, "the kills came to nothing");
}

/// `server` is told of each life as it begins.
fn check(mut server: impl FnMut(usize, &Site)) -> Option<Site> {
    let epochs = drive::load()?;
    let site = Site::trusted();
    site.write("conf.d/flash.toml", FLASH);
    site.write("zones/a.geojson", &drive::layer("a", 1, &drive::circles(&epochs, 60, 250.0)));
    let lives = killed_drive(&site, &epochs, |ix| server(ix, &site));
    let received: Vec<Vec<FixReport>> =
        lives.iter().map(|life| received(&site, &epochs, life)).collect();
    for (ix, (life, fixes)) in lives.iter().zip(&received).enumerate() {
        println!("life {ix}: fed {:?}, {} fixes received", life.fed, fixes.len());
    }
    let steps = unkilled(&site, &received.concat());
    let records = records(&site.server);
    check_stream(&site.server);
    check_starts(&records, &received);
    check_decisions(&records, &steps, &received);
    Some(site)
}

/// INV-4: killed at any instruction and restarted.
#[test]
fn inv_4_ten_kills_change_nothing_but_what_was_not_received() {
    check(|_, _| {});
}

/// INV-5, A12: the server stored a batch whose acknowledgement never came.
#[test]
fn inv_5_a_kill_before_the_acknowledgement_sends_the_same_ids_again() {
    let manner = |life| if life % 2 == 0 { Manner::DropAnswer } else { Manner::Good };
    let last = KILLS.len();
    let server = |life, site: &Site| {
        site.server.set_manner(if life == last { Manner::Good } else { manner(life) });
    };
    let Some(site) = check(server) else { return };
    let again = site.server.received().iter().filter(|received| received.duplicate).count();
    assert!(again > 0, "nothing was sent twice");
}
