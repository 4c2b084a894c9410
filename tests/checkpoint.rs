//! STO-3: a gateway that is killed and goes on from its checkpoint says what one says that was
//! never killed and did not hear what the checkpoint does not hold; any other checkpoint than the
//! right one is ignored whole.
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

use std::collections::HashSet;

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{Checkpoint, Ignored, Setup, SourceSetup, Telemetry, Trusting};
use geofenced::logic::event::{Certainty, Event, GapCause, Kind};
use geofenced::logic::gnss::record::Record;
use geofenced::units::{SourceId, Span};

use chance::Chance;
use drive::{Drive, Noise};
use harness::{Gateway, NETWORK, Place, VAN, feature, layer, record};

/// Who drives; each is heard through a source of its own kind of clock.
const FLEET: [&str; 6] = [VAN, "a1", "a2", "b3", "b4", "c5"];

/// Serial, network, and a feed that is trusted.
const SOURCES: usize = 3;

fn setup(ranked: bool) -> Setup {
    let mut setup = harness::setup(&Decide::default());
    let fed = SourceSetup {
        id: SourceId::new("fed").unwrap(),
        trusting: Trusting::Fixes,
        ..setup.sources[NETWORK].clone()
    };
    setup.sources.push(fed);
    if ranked {
        for (rank, source) in (1..).zip(&mut setup.sources) {
            source.rank = rank;
        }
    }
    setup.telemetry = Telemetry { late_fix: true, stale_markers: true };
    setup
}

/// One record on its way.
struct Sent {
    t: f64,
    source: usize,
    record: Record,
}

/// A random drive with clocks that step, fall behind and wake in another year.
fn sent(chance: &mut Chance, mixed: bool) -> Vec<Sent> {
    let drive = Drive::random_of(&FLEET, chance, 1500);
    let noise = Noise::any(chance);
    let (mut now, mut all) = (0.0_f64, Vec::new());
    let mut wrong = [0.0; FLEET.len()];
    for report in drive.reports(chance, noise) {
        now = now.max(report.t + 0.2 * chance.unit());
        let own = FLEET.iter().position(|id| *id == report.asset).unwrap();
        let source = if mixed { chance.below(2) as usize } else { own % SOURCES };
        if chance.unit() < 0.01 {
            wrong[own] = [0.0, 0.0, 3.0, -15.0, 40.0, -900_000_000.0][chance.below(6) as usize];
        }
        let mut record = report.record();
        let late = if chance.unit() < 0.03 { 20.0 * chance.unit() } else { 0.0 };
        let off = if mixed || source == 2 { 0.0 } else { wrong[own] };
        record.time = record.time + Span::from_secs_f64(off - late);
        if chance.unit() < 0.02 {
            all.push(Sent { t: now, source, record: record.clone() });
        }
        all.push(Sent { t: now, source, record });
    }
    all
}

/// What a life came to.
struct Life {
    gateway: Gateway,
    /// What no checkpoint held when the kill came.
    dropped: HashSet<usize>,
    kills: usize,
    /// Fixes that waited for their time or their turn when it was made, or votes that ran.
    open: usize,
}

/// Drives a gateway, and kills it now and then when its checkpoint is as good as the store.
fn killed(sent: &[Sent], setup: Setup, chance: &mut Chance) -> Life {
    let gateway = Gateway::of(&drive::layers(0), setup);
    let mut life = Life { gateway, dropped: HashSet::new(), kills: 0, open: 0 };
    let (mut kept_at, mut kept_commit, mut open) = (0, u64::MAX, 0);
    let mut killed_at = f64::MIN;
    for (ix, one) in sent.iter().enumerate() {
        let gateway = &mut life.gateway;
        gateway.hear_from(one.source, one.t, one.record.clone());
        if chance.unit() < 0.5 && gateway.keep() {
            (kept_at, kept_commit) = (ix, gateway.commits());
            let status =
                gateway.life().engine.asset_status(geofenced::units::BootTime::from_nanos(0));
            open = status.iter().filter(|own| !own.votes.is_empty()).count();
        }
        let due = chance.unit() < 0.05 && one.t > killed_at + 61.0;
        if due && gateway.kept.is_some() && gateway.commits() == kept_commit {
            // What comes next comes at its own time: `now` is told to the hundredth.
            let next = sent.get(ix + 1).map_or(0.0, |next| next.t - gateway.now() - 0.01);
            let next = next.max(0.0);
            gateway.kill(0.9 * next * chance.unit());
            life.dropped.extend(kept_at + 1..=ix);
            (life.kills, life.open, kept_commit) = (life.kills + 1, life.open + open, u64::MAX);
            killed_at = one.t;
        }
    }
    life.end();
    life
}

impl Life {
    fn end(&mut self) {
        let end = self.gateway.now() + 2000.0;
        self.gateway.pass(end);
        self.gateway.commit();
    }
}

/// The one that is never killed.
fn whole(sent: &[Sent], setup: Setup, dropped: &HashSet<usize>) -> Gateway {
    let gateway = Gateway::of(&drive::layers(0), setup);
    let mut life = Life { gateway, dropped: HashSet::new(), kills: 0, open: 0 };
    for (_, one) in sent.iter().enumerate().filter(|(ix, _)| !dropped.contains(ix)) {
        life.gateway.hear_from(one.source, one.t, one.record.clone());
    }
    life.end();
    life.gateway
}

/// What is told of one asset, less what tells of starts.
fn told(events: Vec<Event>, asset: &str) -> Vec<Event> {
    let own = |event: &Event| {
        event.body.asset.as_ref().is_some_and(|own| own.as_str() == asset)
            && event.kind != Kind::AssetReconciled
            // A pass is never told across a restart.
            && event.kind != Kind::FencePassed
    };
    events.into_iter().filter(own).collect()
}

/// Equal but for what a restart tells: an event whose bracket holds one is graded for it, and the
/// pair's next may then begin with that one's first vote and be called by that (`tainted`).
/// Gives whether it was graded so.
fn compare(seed: u64, have: &Event, want: &Event, tainted: &mut HashSet<String>) -> bool {
    let said = || format!("seed {seed}:\nhave {}\nwant {}", have.to_json(), want.to_json());
    let (a, b) = (&have.body, &want.body);
    assert_eq!((&a.zone, a.inside, a.fixes), (&b.zone, b.inside, b.fixes), "{}", said());
    assert_eq!((a.confirmed_at, &a.position), (b.confirmed_at, &b.position), "{}", said());
    assert_eq!((a.silence_s, a.late_s), (b.silence_s, b.late_s), "{}", said());
    assert_eq!(a.time_quality, b.time_quality, "{}", said());
    let zone = a.zone.as_ref().map(ToString::to_string).unwrap_or_default();
    let restart = a.gap.as_ref().is_some_and(|gap| gap.cause == GapCause::Restart);
    let named = a.certainty == b.certainty && a.gap == b.gap && a.not_before == b.not_before;
    if !tainted.contains(&zone) {
        assert_eq!((have.kind, a.at, a.not_after), (want.kind, b.at, b.not_after), "{}", said());
        assert!(named || restart, "{}", said());
        assert!(named || a.certainty != Some(Certainty::Observed), "{}", said());
    }
    if a.inside.is_some() && named && a.at == b.at {
        tainted.remove(&zone);
    } else if a.inside.is_some() {
        tainted.insert(zone);
    }
    restart
}

fn seeds(short: u64, long: u64) -> std::ops::RangeInclusive<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    if let Some(seed) = number("GEOFENCED_SEED") {
        return seed..=seed;
    }
    1..=if std::env::var_os("GEOFENCED_LONG").is_some() { long } else { short }
}

/// INV-4, STO-3: killed at any moment, the rest is as if it had not been.
#[test]
fn sto_3_a_restart_goes_on_where_the_checkpoint_was() {
    let (mut kills, mut open, mut dropped, mut events, mut graded) = (0, 0, 0, 0, 0);
    for seed in seeds(10, 1000) {
        let mut chance = Chance::new(seed ^ 0xc4e);
        let mixed = seed % 4 == 0;
        let sent = sent(&mut chance, mixed);
        let mut life = killed(&sent, setup(mixed), &mut chance);
        assert!(life.gateway.found.iter().all(Result::is_ok), "{:?}", life.gateway.found);
        assert_eq!(life.gateway.found.len(), life.kills);
        let mut whole = whole(&sent, setup(mixed), &life.dropped);
        (kills, open, dropped) =
            (kills + life.kills, open + life.open, dropped + life.dropped.len());
        let both = [
            (life.gateway.events(), whole.events()),
            (life.gateway.telemetry(), whole.telemetry()),
        ];
        for (have, want) in both {
            for asset in FLEET {
                let (have, want) = (told(have.clone(), asset), told(want.clone(), asset));
                let mut unsure = HashSet::new();
                for (have, want) in have.iter().zip(&want) {
                    events += 1;
                    graded += usize::from(compare(seed, have, want, &mut unsure));
                }
                assert_eq!(have.len(), want.len(), "seed {seed}: {asset}");
            }
        }
    }
    println!(
        "STO-3: {kills} kills, {open} pairs of them in a vote, {dropped} fixes not received, \
         {events} events equal, {graded} of them graded for the restart"
    );
    let all = std::env::var_os("GEOFENCED_SEED").is_some();
    assert!(all || (kills > 50 && open > 5 && dropped > 10 && events > 500 && graded > 0));
}

const IN: Place = (48.0005, 11.0015);
const OUT: Place = (48.0005, 11.0026);

/// A gateway that has cast one of three votes, with that in a checkpoint and not in the store.
fn mid_vote() -> Gateway {
    let square = r#"{"type":"Polygon","coordinates":[[[11,48],[11.002,48],[11.002,48.001],
        [11,48.001],[11,48]]]}"#;
    let mut gateway = Gateway::of(&layer(1, &[feature("S", square, "")]), setup(false));
    for t in 0..6 {
        hear(&mut gateway, f64::from(t), OUT);
    }
    gateway.pass(8.0);
    gateway.commit();
    hear(&mut gateway, 8.0, IN);
    gateway.pass(8.8);
    assert!(gateway.keep());
    gateway
}

fn hear(gateway: &mut Gateway, t: f64, place: Place) {
    gateway.hear(t + 0.2, record(VAN, t, place, Some(3.0)));
}

/// The votes behind the entry, when two more fixes inside follow.
fn entry_after(gateway: &mut Gateway) -> Option<u32> {
    for t in [9.0, 10.0] {
        hear(gateway, t, IN);
    }
    gateway.pass(12.0);
    gateway.commit();
    let entry = gateway.events().into_iter().find(|e| e.kind == Kind::FenceEntry);
    entry.map(|entry| entry.body.fixes.unwrap())
}

/// The vote of before counts; without the checkpoint it was never cast.
#[test]
fn sto_3_a_vote_goes_on() {
    let mut gateway = mid_vote();
    gateway.kill(0.1);
    assert_eq!(gateway.found, [Ok(())]);
    assert_eq!(entry_after(&mut gateway), Some(3));
    let mut gateway = mid_vote();
    gateway.kept = None;
    gateway.kill(0.1);
    assert_eq!(entry_after(&mut gateway), None);
}

/// Each is ignored whole, and for its own reason.
#[test]
fn sto_3_what_is_not_this_starts_is_ignored() {
    let check = |name: &str, happens: &dyn Fn(&mut Gateway), why: Ignored| {
        let mut gateway = mid_vote();
        happens(&mut gateway);
        assert_eq!(gateway.found.last(), Some(&Err(why)), "{name}");
        assert_ne!(entry_after(&mut gateway), Some(3), "{name}");
    };
    let store_went_on = |gateway: &mut Gateway| {
        let kept = gateway.kept.clone();
        gateway.commit();
        // What came of the vote is in the store: it is voted away there.
        hear(gateway, 8.9, OUT);
        gateway.pass(9.8);
        gateway.commit();
        gateway.kept = kept;
        gateway.kill(0.0);
    };
    check("one commit further", &store_went_on, Ignored::OtherCommit);
    let clean = |gateway: &mut Gateway| {
        let kept = gateway.kept.take();
        hear(gateway, 8.9, OUT);
        gateway.stop_and(9.8, |_| {});
        gateway.kept = kept;
        gateway.kill(0.0);
    };
    check("two starts later", &clean, Ignored::OtherCommit);
    let boot = |gateway: &mut Gateway| gateway.power_cut(8.9, 9.0);
    check("another boot", &boot, Ignored::OtherBoot);
    let release = |gateway: &mut Gateway| {
        gateway.setup.software = Some("another".to_owned());
        gateway.kill(0.0);
    };
    check("another release", &release, Ignored::OtherSetup);
    let sources = |gateway: &mut Gateway| {
        gateway.setup.sources.swap(0, 1);
        gateway.kill(0.0);
    };
    check("other sources", &sources, Ignored::OtherSetup);
    let other_store = |gateway: &mut Gateway| {
        let kept = gateway.kept.clone().unwrap();
        let text = String::from_utf8(kept).unwrap();
        gateway.kept = Some(text.replacen("checkpoint 1", "checkpoint 2", 1).into_bytes());
        gateway.kill(0.0);
    };
    check("another format", &other_store, Ignored::Broken);
}

/// Two that died young, and the third starts without; after a minute it is gone on with again.
#[test]
fn sto_3_a_crash_loop_goes_on_without() {
    let mut gateway = mid_vote();
    gateway.kill(0.0);
    assert_eq!(gateway.found.last(), Some(&Ok(())));
    assert!(gateway.keep());
    gateway.kill(0.0);
    assert_eq!(gateway.found.last(), Some(&Err(Ignored::CrashLoop)));
    gateway.pass(100.0);
    assert!(gateway.keep());
    gateway.kill(0.0);
    assert_eq!(gateway.found.last(), Some(&Ok(())));
}

/// Every byte in turn, and every length: broken, and never gone on with.
#[test]
fn sto_3_no_flipped_byte_and_no_torn_file_is_gone_on_with() {
    let mut gateway = mid_vote();
    let kept = gateway.kept.clone().unwrap();
    println!("STO-3: a checkpoint of one asset has {} bytes", kept.len());
    assert!(kept.len() < 4096, "{}", kept.len());
    let mut chance = Chance::new(3);
    let mut broken: Vec<Vec<u8>> = (0..kept.len())
        .map(|at| {
            let mut bytes = kept.clone();
            bytes[at] ^= 1 << chance.below(8);
            bytes
        })
        .collect();
    broken.extend((0..kept.len()).map(|len| kept[..len].to_vec()));
    let (restored, birth) = gateway.found_by_a_start();
    let opened = |bytes: &[u8]| Checkpoint::open(bytes, &gateway.setup, &restored, &birth);
    for bytes in broken {
        assert_eq!(opened(&bytes).err(), Some(Ignored::Broken), "{bytes:?}");
    }
    assert!(opened(&kept).is_ok());
}
