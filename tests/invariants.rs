//! Random drives with everything the road does to them, against the invariants of DESIGN §4.
//!
//! INV-1, -2 and -3 are checked at every commit (`field/ledger.rs`); here are those that need a
//! second run: INV-4 against a gateway that never stopped, INV-7 under other wake-ups and other
//! chunks, BRK-3 against the route itself. `GEOFENCED_LONG=1` runs for minutes; a seed that is
//! printed is a run that can be had again: `GEOFENCED_SEED=n`.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

#[path = "field/chance.rs"]
mod chance;
#[path = "field/drive.rs"]
mod drive;
#[expect(dead_code, reason = "the cases of the field need more of it")]
#[path = "field/harness.rs"]
mod harness;
#[path = "field/ledger.rs"]
mod ledger;

use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{Birth, Engine, Input};
use geofenced::logic::event::{Certainty, Event, Kind};
use geofenced::logic::gnss::Reject;
use geofenced::logic::group::Restored;
use geofenced::logic::zones::Layer;
use geofenced::units::{BootTime, EventTime, StreamId, WallTime};

use chance::Chance;
use drive::{Drive, Report};
use harness::{Gateway, NETWORK, SERIAL, at, second, setup};

/// Seeds to run: a few, or many.
fn seeds(short: u64, long: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("GEOFENCED_SEED") {
        return seed..=seed;
    }
    let first = number("GEOFENCED_FIRST_SEED").unwrap_or(1);
    let count = if std::env::var_os("GEOFENCED_LONG").is_some() { long } else { short };
    first..=first + count - 1
}

/// What the reference is told: what the gateway under test has received.
enum Told {
    Fix(Report),
    Layers(f64, Vec<Arc<Layer>>),
}

/// Drives a gateway through reports with kills, power cuts, stops and new layers between them.
/// Gives it, and what it received.
fn hard_life(seed: u64, reports: &[Report], chance: &mut Chance) -> (Gateway, Vec<Told>) {
    let mut gateway = Gateway::new(&drive::layers(0), &Decide::default());
    let mut told = Vec::new();
    let mut version = 0;
    let rate = [0.0, 0.002, 0.01, 0.05][chance.below(4) as usize];
    for report in reports {
        let arrives = report.t + 0.2 + 0.2 * chance.unit();
        if arrives <= gateway.now() {
            continue;
        }
        if chance.unit() < rate {
            let t = gateway.now().max(arrives - 2.0 * chance.unit());
            match chance.below(10) {
                0..4 => gateway.crash(t),
                4..6 => gateway.power_cut(t, t + 1.0 + 400.0 * chance.unit().powi(4)),
                6..8 => gateway.stop(t),
                _ => {
                    version += 1;
                    let layers = drive::layers(version);
                    gateway.change_layers(t, &layers);
                    take_received(&mut gateway, reports, &mut told);
                    told.push(Told::Layers(t, layers));
                }
            }
            if arrives <= gateway.now() {
                continue;
            }
        }
        gateway.hear(arrives, report.record());
        if chance.unit() < 0.1 {
            gateway.wake();
        }
    }
    let end = gateway.now() + 5.0;
    gateway.pass(end);
    gateway.commit();
    take_received(&mut gateway, reports, &mut told);
    assert!(!told.is_empty(), "seed {seed}: nothing was received");
    (gateway, told)
}

/// Moves what commits have covered to what the reference is told.
fn take_received(gateway: &mut Gateway, reports: &[Report], told: &mut Vec<Told>) {
    for heard in gateway.received.drain(..) {
        let skipped = [Some(Reject::Late), Some(Reject::Repeat), Some(Reject::SameInstant)];
        if skipped.contains(&heard.reason) {
            continue;
        }
        let same = |r: &&Report| at(r.t) == heard.fix.time && r.asset == heard.asset.as_str();
        let report = reports.iter().find(same).expect("it was sent");
        told.push(Told::Fix(*report));
    }
}

/// A gateway that never stops but for the layers.
fn easy_life(told: &[Told]) -> Gateway {
    let mut gateway = Gateway::new(&drive::layers(0), &Decide::default());
    for what in told {
        match what {
            Told::Fix(report) => gateway.hear(report.t + 0.2, report.record()),
            Told::Layers(t, layers) => gateway.change_layers(*t, layers),
        }
    }
    let end = gateway.now() + 5.0;
    gateway.pass(end);
    gateway.commit();
    gateway
}

/// The events of one asset that change memberships.
fn changes(events: &[Event], asset: &str) -> Vec<Event> {
    let own = |event: &&Event| {
        event.body.inside.is_some()
            && event.body.asset.as_ref().is_some_and(|a| a.as_str() == asset)
    };
    events.iter().filter(own).cloned().collect()
}

fn name(event: &Event) -> String {
    let body = &event.body;
    format!("{}:{}", body.zone.as_ref().unwrap(), body.inside.unwrap())
}

fn line(event: &Event) -> String {
    let s = |time: Option<EventTime>| time.map_or(f64::NAN, second);
    let body = &event.body;
    format!(
        "{} {} {:?} at={} from={} to={} by={}",
        event.kind.name(),
        name(event),
        body.certainty,
        s(body.at),
        s(body.not_before),
        s(body.not_after),
        s(body.confirmed_at)
    )
}

/// INV-4: the same memberships as without the kills; each moment equal, or bracketed and graded.
fn compare(seed: u64, hard: &mut Gateway, easy: &mut Gateway) -> usize {
    let (hard, easy) = (hard.events(), easy.events());
    let mut count = 0;
    for asset in drive::ASSETS {
        let (have, want) = (changes(&hard, asset), changes(&easy, asset));
        let lines = |events: &[Event]| events.iter().map(line).collect::<Vec<_>>();
        let names = |events: &[Event]| events.iter().map(name).collect::<Vec<_>>();
        if names(&have) != names(&want) {
            let first = have.iter().zip(&want).position(|(a, b)| name(a) != name(b));
            let from = first.unwrap_or(have.len().min(want.len())).saturating_sub(2);
            let cut = |events: &[Event]| lines(&events[from.min(events.len())..]);
            panic!(
                "INV-4: seed {seed}: {asset} from {from}: have {:#?}\nwant {:#?}",
                cut(&have).into_iter().take(6).collect::<Vec<_>>(),
                cut(&want).into_iter().take(6).collect::<Vec<_>>()
            );
        }
        for (have, want) in have.iter().zip(&want) {
            graded(seed, have, want);
        }
        count += have.len();
    }
    count
}

fn graded(seed: u64, have: &Event, want: &Event) {
    let body = &have.body;
    let said = || format!("INV-4: seed {seed}:\nhave {}\nwant {}", line(have), line(want));
    if body.at == want.body.at {
        return;
    }
    let graded = body.certainty.is_some_and(|c| c != Certainty::Observed);
    assert!(graded, "{}", said());
    let Some(moment) = want.body.at else { return };
    let to = body.not_after.or(body.confirmed_at).unwrap();
    assert!(body.not_before.unwrap() <= moment && moment <= to, "{}", said());
}

/// INV-1 to INV-4 over random drives.
#[test]
fn inv_1_to_4_whatever_is_killed_whenever() {
    let (mut events, mut runs) = (0, 0);
    for seed in seeds(12, 3000) {
        let mut chance = Chance::new(seed);
        let noise = drive::Noise::any(&mut chance);
        let drive = Drive::random(&mut chance, 1500);
        let reports = drive.reports(&mut chance, noise);
        let (mut hard, told) = hard_life(seed, &reports, &mut chance);
        let mut easy = easy_life(&told);
        events += compare(seed, &mut hard, &mut easy);
        runs += 1;
    }
    println!("INV-4: {runs} drives, {events} membership changes");
    assert!(events > 0);
}

/// BRK-3: without noise the true crossing lies in the bracket, whatever is killed.
#[test]
fn brk_3_the_truth_is_in_the_bracket() {
    let (mut events, mut graded) = (0, 0);
    for seed in seeds(12, 3000) {
        let mut chance = Chance::new(seed ^ 0xb3);
        let drive = Drive::random(&mut chance, 1500);
        let reports = drive.reports(&mut chance, drive::Noise::none());
        let mut gateway = Gateway::new(&drive::layers(0), &Decide::default());
        let rate = [0.0, 0.01, 0.05][chance.below(3) as usize];
        for report in &reports {
            let arrives = report.t + 0.2;
            if chance.unit() < rate && arrives > gateway.now() {
                let t = gateway.now().max(arrives - 1.5);
                match chance.below(3) {
                    0 => gateway.crash(t),
                    1 => gateway.power_cut(t, t + 600.0 * chance.unit().powi(4)),
                    _ => gateway.stop(t),
                }
            }
            if arrives > gateway.now() {
                gateway.hear(arrives, report.record());
            }
        }
        let end = gateway.now() + 5.0;
        gateway.pass(end);
        gateway.commit();
        for event in gateway.events() {
            let crossing = [Kind::FenceEntry, Kind::FenceExit, Kind::FenceTransitionUncertain];
            if crossing.contains(&event.kind) {
                bracketed(seed, &drive, &event);
                events += 1;
                graded += usize::from(event.body.certainty != Some(Certainty::Observed));
            }
        }
    }
    println!("BRK-3: {events} crossings, {graded} of them graded");
    assert!(events > 0);
}

fn bracketed(seed: u64, drive: &Drive, event: &Event) {
    let body = &event.body;
    let zone = body.zone.as_ref().unwrap().as_str();
    let truth = drive.crossings(body.asset.as_ref().unwrap().as_str(), zone, body.inside.unwrap());
    let from = second_exact(body.not_before.unwrap());
    let to = second_exact(body.not_after.or(body.confirmed_at).unwrap());
    // The route is followed to a hundredth of a second.
    let held = truth.iter().any(|t| from - 0.02 <= *t && *t <= to + 0.02);
    let near: Vec<_> = truth.iter().filter(|t| (from - 300.0..to + 300.0).contains(t)).collect();
    assert!(held, "BRK-3: seed {seed}: {}\ntruth {near:?}", line(event));
    if let Some(moment) = body.at {
        let moment = second_exact(moment);
        assert!(from <= moment && moment <= to, "BRK: seed {seed}: {}", line(event));
    }
}

fn second_exact(time: EventTime) -> f64 {
    (time - at(0.0)).secs_f64()
}

/// One stamped input of INV-7.
enum Stamped {
    Bytes(BootTime, Vec<u8>),
    Record(BootTime, Report),
}

/// INV-7: the same inputs with the same stamps give the same events, however often the loop wakes
/// and however the bytes are cut.
#[test]
fn inv_7_wake_ups_and_chunks_change_nothing() {
    for seed in seeds(10, 3000) {
        let mut chance = Chance::new(seed ^ 0x17);
        let noise = drive::Noise::any(&mut chance);
        let drive = Drive::random(&mut chance, 400);
        let mut inputs = Vec::new();
        let mut last = 0.0;
        for report in drive.reports(&mut chance, noise) {
            // Never before one that came earlier, as one loop stamps them.
            let t = (report.t + 0.6 * chance.unit()).max(last);
            last = t;
            let stamp = BootTime::from_nanos(((t + 100.0) * 1e9) as i64);
            inputs.push(if report.asset == harness::VAN {
                Stamped::Bytes(stamp, report.nmea().into_bytes())
            } else {
                Stamped::Record(stamp, report)
            });
        }
        let want = run(&inputs, None);
        for _ in 0..3 {
            let have = run(&inputs, Some(&mut chance));
            let same = have.iter().zip(&want).take_while(|(a, b)| a == b).count();
            assert!(have == want, "INV-7: seed {seed}: event {same} differs");
        }
    }
}

/// All events of an engine without a store, woken and fed as chance has it.
fn run(inputs: &[Stamped], mut chance: Option<&mut Chance>) -> Vec<Event> {
    let restored = Restored::nothing(StreamId::new("x").unwrap());
    let boot = BootTime::from_nanos(0);
    let (boot_id, wall) = ("x".to_owned(), WallTime::from_nanos(0));
    let birth = Birth { boot, boot_id, wall, reload: false };
    let mut engine = Engine::start(setup(&Decide::default()), &drive::layers(0), restored, &birth);
    let mut events = Vec::new();
    for (i, input) in inputs.iter().enumerate() {
        let stamp = match input {
            Stamped::Bytes(stamp, bytes) => {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let most = rest.len() as u64;
                    let cut = chance.as_mut().map_or(most, |c| 1 + c.below(most)) as usize;
                    let (bytes, after) = rest.split_at(cut);
                    let input = Input::Bytes { source: SERIAL, at: *stamp, bytes };
                    events.extend(engine.step(input).events);
                    rest = after;
                }
                *stamp
            }
            Stamped::Record(stamp, report) => {
                let record = report.record();
                let input = Input::Record { source: NETWORK, at: *stamp, record };
                events.extend(engine.step(input).events);
                *stamp
            }
        };
        let Some(chance) = chance.as_mut() else { continue };
        let next = inputs.get(i + 1).map_or(stamp, |next| match next {
            Stamped::Bytes(stamp, _) | Stamped::Record(stamp, _) => *stamp,
        });
        // A wake-up may be read up to 50 ms before an input that was stamped earlier.
        let room = (next - stamp).nanos() + 50_000_000;
        let mut wakes: Vec<i64> =
            (0..chance.below(4)).map(|_| (chance.unit() * room as f64) as i64).collect();
        wakes.sort_unstable();
        for wake in wakes {
            let now = BootTime::from_nanos(stamp.nanos() + wake);
            events.extend(engine.step(Input::Wake { now }).events);
        }
    }
    let now = BootTime::from_nanos(i64::MAX / 2);
    events.extend(engine.step(Input::Wake { now }).events);
    events
}
