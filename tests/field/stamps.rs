//! What must not change what is decided: when the loop wakes (INV-7), and what any other source
//! does (DESIGN §6: a source knows nothing of another).

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{
    Birth, Engine, Feed, FixReport, Input, Setup, SourceSetup, Step, Trusting,
};
use geofenced::logic::event::{Event, Lane};
use geofenced::logic::gnss::record::Record;
use geofenced::logic::group::Restored;
use geofenced::logic::health::Counters;
use geofenced::units::{AssetId, BootTime, SourceId, Span, StreamId, WallTime};

use crate::chance::Chance;
use crate::harness::{Place, VAN, layer, record, setup};
use crate::receiver::{gga, rmc};
use crate::timeline::*;

/// The van's receiver.
const RECEIVER: usize = 0;
/// Another of the van's, or of the trailer.
const OTHER: usize = 1;

/// One input and its stamp.
#[derive(Clone)]
struct Said {
    at: BootTime,
    source: usize,
    what: What,
}

#[derive(Clone)]
enum What {
    Bytes(Vec<u8>),
    Record(Box<Record>),
    Bad,
    End,
}

fn boot(t: f64) -> BootTime {
    BootTime::from_nanos(0) + Span::from_secs_f64(60.0 + t)
}

/// A serial receiver of rank 1, and a second source of rank 2.
fn two(other: &str) -> Setup {
    let mut setup = setup(&Decide::default());
    setup.telemetry.late_fix = true;
    setup.telemetry.stale_markers = true;
    let receiver = SourceSetup { rank: 1, ..setup.sources[0].clone() };
    let second = SourceSetup {
        id: SourceId::new("other").unwrap(),
        asset: AssetId::new(other).unwrap(),
        rank: 2,
        feed: Feed::Nmea,
        trusting: Trusting::Network,
        ..receiver.clone()
    };
    setup.sources = vec![receiver, second];
    setup
}

/// In and out of the square and back, 60 s a round.
fn place(t: f64) -> Place {
    let share = ((t % 60.0 - 30.0).abs() / 10.0 - 1.0).clamp(0.0, 1.0);
    (IN.0, IN.1 + (OUT_E.1 - IN.1) * share)
}

/// The receiver's sentences, each epoch in two pieces.
fn receiver(chance: &mut Chance, from: u32, to: u32) -> Vec<Said> {
    let mut said = Vec::new();
    for n in from..to {
        let t = f64::from(n);
        let text = rmc(t, place(t)) + &gga(t, place(t), "0.8");
        let (a, b) = text.split_at(chance.below(text.len() as u64) as usize);
        let first = boot(t + 0.05 + 0.1 * chance.unit());
        for (at, part) in [(first, a), (first + Span::from_millis(30), b)] {
            said.push(Said { at, source: RECEIVER, what: What::Bytes(part.as_bytes().to_vec()) });
        }
    }
    said
}

/// Everything that was decided.
#[derive(PartialEq, Debug, Default)]
struct Answer {
    events: Vec<Event>,
    fixes: Vec<FixReport>,
    counters: Counters,
}

/// Plays inputs in order; `wakes` gives how often, and when, the loop wakes before the next.
fn play(
    setup: &Setup,
    said: &[Said],
    mut wakes: impl FnMut(BootTime, BootTime) -> Vec<BootTime>,
) -> Answer {
    let birth = Birth {
        boot: boot(-5.0),
        boot_id: "one".to_owned(),
        wall: WallTime::from_nanos(0),
        reload: false,
    };
    let restored = Restored::nothing(StreamId::new("s").unwrap());
    let mut engine = Engine::start(setup.clone(), &layer(1, &[square("")]), restored, &birth);
    let mut answer = Answer::default();
    let mut take = |step: Step| {
        answer.events.extend(step.events);
        answer.fixes.extend(step.fixes);
    };
    let mut before = boot(-5.0);
    for input in said {
        for now in wakes(before, input.at) {
            take(engine.step(Input::Wake { now }));
        }
        let (source, at) = (input.source, input.at);
        take(match &input.what {
            What::Bytes(bytes) => engine.step(Input::Bytes { source, at, bytes }),
            What::Record(record) => {
                engine.step(Input::Record { source, at, record: record.as_ref().clone() })
            }
            What::Bad => engine.step(Input::BadRecord { source }),
            What::End => engine.step(Input::End { source, at }),
        });
        before = at;
    }
    take(engine.step(Input::Wake { now: before + Span::from_secs(1000) }));
    answer.counters = engine.counters();
    answer
}

/// Two sources, a silence of both, a tracker beside them, a backlog, an unplugging.
fn mixed(chance: &mut Chance) -> Vec<Said> {
    let mut said = receiver(chance, 0, 45);
    said.extend(receiver(chance, 420, 445));
    for n in (0..60).chain(425..450) {
        let t = f64::from(n);
        let late = if chance.below(8) == 0 { 2.0 * chance.unit() } else { 0.0 };
        for (asset, source) in [(VAN, OTHER), ("cart", OTHER)] {
            let record = Box::new(record(asset, t, place(t), Some(4.0)));
            let at = boot(t + 0.1 + 0.4 * chance.unit() + late);
            said.push(Said { at, source, what: What::Record(record) });
        }
    }
    said.push(Said { at: boot(45.3), source: RECEIVER, what: What::End });
    said.push(Said { at: boot(50.3), source: OTHER, what: What::Bad });
    said.sort_by_key(|said| said.at);
    said
}

/// INV-7: a thousand ways for the loop to wake, one answer. `GEOFENCED_LONG=1`: of each of ten
/// inputs.
#[test]
fn inv_7_a_thousand_ways_to_wake_one_answer() {
    let inputs = if std::env::var_os("GEOFENCED_LONG").is_some() { 10 } else { 1 };
    for seed in 1..=inputs {
        let mut chance = Chance::new(seed);
        let (setup, said) = (two(VAN), mixed(&mut chance));
        let never = play(&setup, &said, |_, _| Vec::new());
        assert!(never.events.len() > 8 && never.counters.takeovers > 0, "{:?}", never.counters);
        for schedule in 0..1000 {
            let often = [0.05, 0.5, 3.0][schedule % 3];
            // Inputs are read at most 50 ms after their stamp; a wake-up may come that late.
            let wakes = |from: BootTime, to: BootTime| {
                let (mut now, end) = (from, to + Span::from_millis(50));
                let mut wakes = Vec::new();
                while wakes.len() < 20 {
                    now = now + Span::from_secs_f64(chance.unit() * often);
                    if now > end {
                        break;
                    }
                    wakes.push(now);
                }
                wakes
            };
            let answer = play(&setup, &said, wakes);
            assert_eq!(answer, never, "seed {seed}, schedule {schedule}");
        }
    }
}

/// What the server is told of the van, whatever the numbers.
fn of_the_van(answer: &Answer) -> Vec<String> {
    let own = answer.events.iter().filter(|event| {
        event.kind.lane() == Lane::Events
            && event.body.asset.as_ref().is_some_and(|asset| asset.as_str() == VAN)
    });
    own.map(|event| {
        let body = &event.body;
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            event.kind,
            body.zone,
            body.inside,
            body.at,
            body.not_before,
            body.not_after,
            body.confirmed_at,
            body.certainty
        )
    })
    .collect()
}

/// Whatever a second source sends, of the same asset or of another, at whatever time: the events
/// of the first are the same.
#[test]
fn one_bad_source_disturbs_no_other() {
    let mut chance = Chance::new(5);
    let good = receiver(&mut chance, 0, 130);
    let quiet = play(&two(VAN), &good, |_, _| Vec::new());
    let wanted = of_the_van(&quiet);
    assert!(wanted.len() >= 4, "{wanted:?}");
    let bytes = |chance: &mut Chance, t: f64| {
        let garbage = (0..200).map(|_| chance.next() as u8).collect();
        (t, What::Bytes(garbage))
    };
    let fix = |asset: &str, t: f64, ahead: f64, place: Place, accuracy_m| {
        (t, What::Record(Box::new(record(asset, t + ahead, place, Some(accuracy_m)))))
    };
    // The receiver spoke first: a standby that is heard before it votes until it is.
    let century = 36_525.0 * 86_400.0;
    for asset in [VAN, "trailer"] {
        let mut cases: Vec<(&str, Vec<(f64, What)>)> = vec![
            ("garbage", (0..130).map(|n| bytes(&mut chance, f64::from(n) + 0.3)).collect()),
            ("broken lines", (0..1300).map(|n| (f64::from(n) / 10.0, What::Bad)).collect()),
            ("unplugged each second", (0..130).map(|n| (f64::from(n), What::End)).collect()),
        ];
        for (name, ahead) in [
            ("flood", 0.0),
            ("20 s ahead", 20.0),
            ("100 years ahead", century),
            ("100 years behind", -century),
        ] {
            let each = (100..2600)
                .map(|n| fix(asset, f64::from(n) / 20.0, ahead, (OUT_E.0, OUT_E.1 + 0.1), 3.0));
            cases.push((name, each.collect()));
        }
        for (name, other) in cases {
            let mut said = good.clone();
            said.extend(other.into_iter().map(|(t, what)| Said {
                at: boot(t),
                source: OTHER,
                what,
            }));
            said.sort_by_key(|said| said.at);
            let answer = play(&two(asset), &said, |_, _| Vec::new());
            assert_eq!(of_the_van(&answer), wanted, "{name} of {asset}");
            assert_eq!(answer.counters.takeovers, 0, "{name} of {asset}");
        }
    }
}
