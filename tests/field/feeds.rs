//! Feeds of JSON: gpsd's reports and trackers' lines, through the engine alone.

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{Engine, Feed, Input};
use geofenced::logic::event::Event;
use geofenced::logic::gnss::Reject;
use geofenced::units::{AssetId, BootTime, WallTime};

use crate::harness::{NETWORK, at, feature, layer, setup};

/// An engine with a gate of 100 m round (48, 11), whose network source is such a feed.
struct Fed {
    engine: Engine,
    events: Vec<Event>,
}

impl Fed {
    fn new(feed: Feed) -> Self {
        let mut setup = setup(&Decide::default());
        setup.sources[NETWORK].feed = feed;
        let point = r#"{"type":"Point","coordinates":[11.0,48.0]}"#;
        let layers = layer(1, &[feature("gate", point, r#""radius_m": 100"#)]);
        Self { engine: Engine::replay(setup, &layers), events: Vec::new() }
    }

    /// These bytes at second `t`, and all that is due before the next second.
    fn hear(&mut self, t: u32, bytes: &str) {
        let boot = |seconds: f64| BootTime::from_nanos(((100.0 + seconds) * 1e9) as i64);
        let bytes = bytes.as_bytes();
        let input = Input::Bytes { source: NETWORK, at: boot(f64::from(t)), bytes };
        for input in [input, Input::Wake { now: boot(f64::from(t) + 0.9) }] {
            self.events.extend(self.engine.step(input).events);
        }
    }

    fn changes(&self) -> Vec<bool> {
        self.events.iter().filter_map(|event| event.body.inside).collect()
    }

    fn rejected(&self, reason: Reject) -> u64 {
        self.engine.counters().rejected(reason)
    }
}

/// A report of second `t`, so far north of the gate.
fn tpv(t: u32, metres: f64) -> String {
    let (time, lat) = (at(f64::from(t)), 48.0 + metres / 111_200.0);
    format!(
        "{{\"class\":\"TPV\",\"device\":\"/dev/a\",\"mode\":3,\"time\":\"{time}\",\"lat\":{lat:.7},\
         \"lon\":11.0,\"eph\":4.0,\"speed\":5.0}}\r\n"
    )
}

/// E9: the same time for a minute is no new evidence, and ends no silence.
#[test]
fn e9_gpsd_repeats_itself_for_a_minute() {
    let mut fed = Fed::new(Feed::Gpsd { device: None });
    for t in 0..70 {
        fed.hear(t, &tpv(t, 160.0));
    }
    let before = fed.engine.counters().fixes;
    // One fix inside, sixty times.
    for t in 70..130 {
        fed.hear(t, &tpv(70, 80.0));
    }
    assert_eq!(fed.changes(), [false; 0]);
    assert_eq!(fed.engine.counters().fixes, before + 1);
    assert_eq!(fed.rejected(Reject::Repeat) + fed.rejected(Reject::Late), 59);
    // The control: as many that are new.
    for t in 130..190 {
        fed.hear(t, &tpv(t, 80.0));
    }
    assert_eq!(fed.changes(), [true]);
}

/// Each report is used, let pass, or counted by its reason; none stops the next.
#[test]
fn what_gpsd_says_is_accounted_for() {
    let mut fed = Fed::new(Feed::Gpsd { device: Some("/dev/a".to_owned()) });
    let sky = r#"{"class":"SKY","device":"/dev/a"}"#;
    let good = tpv(0, 0.0);
    let odd = [
        sky,
        &good.replace("/dev/a", "/dev/b"),
        &good.replace("\"mode\":3", "\"mode\":1"),
        &good.replace("\"mode\":3", "\"mode\":3,\"status\":8"),
        "HTTP/1.1 400 Bad Request",
        "{\"class\":",
        "",
        &"x".repeat(20_000),
    ]
    .join("\n");
    fed.hear(0, &format!("{odd}\n{good}"));
    let counters = fed.engine.counters();
    assert_eq!((counters.sentences, counters.epochs), (3, 1));
    for (reason, n) in [
        (Reject::NoPosition, 1),
        (Reject::Simulated, 1),
        (Reject::Malformed, 2),
        (Reject::Overlong, 1),
    ] {
        assert_eq!(fed.rejected(reason), n, "{reason:?}");
    }
}

/// FIX-3: what gpsd calls dead reckoning never votes.
#[test]
fn fix_3_estimated_reports_do_not_vote() {
    let mut fed = Fed::new(Feed::Gpsd { device: None });
    (0..70).for_each(|t| fed.hear(t, &tpv(t, 160.0)));
    let estimated = |t| tpv(t, 80.0).replace("\"mode\":3", "\"mode\":3,\"status\":5");
    (70..110).for_each(|t| fed.hear(t, &estimated(t)));
    assert_eq!(fed.changes(), [false; 0]);
    (110..130).for_each(|t| fed.hear(t, &tpv(t, 80.0)));
    assert_eq!(fed.changes(), [true]);
}

/// Trackers name their asset; `received` is theirs to say and ours to ignore; a bad line costs
/// itself alone.
#[test]
fn trackers_of_one_source_are_assets_of_their_own() {
    let mut fed = Fed::new(Feed::Records);
    for t in 0..90 {
        let lat = if t < 70 { 48.0045 } else { 48.0 };
        let line = |asset: &str, lat: f64| {
            let time = at(f64::from(t));
            format!(
                "{{\"asset\":\"{asset}\",\"time\":\"{time}\",\"lat\":{lat},\"lon\":11,\
                 \"accuracy_m\":4,\"received\":\"2031-01-01T00:00:00Z\"}}\n"
            )
        };
        fed.hear(t, &[&line("one", lat), "{\"asset\":\"a/b\"}\n", &line("two", 48.0045)].concat());
    }
    assert_eq!(fed.rejected(Reject::BadRecord), 90);
    assert_eq!(fed.engine.counters().sentences, 180);
    let entered: Vec<_> = fed.events.iter().filter(|e| e.body.inside.is_some()).collect();
    assert_eq!(entered.len(), 1);
    assert_eq!(entered[0].body.asset, Some(AssetId::new("one").unwrap()));
}

/// B5 (FIX-2): a tracker that claims an accuracy of 0 once, far outside, claims nothing.
#[test]
fn b5_a_tracker_that_claims_to_be_perfect_once() {
    for accuracy in ["0", "0.0", "-1", "null"] {
        let mut fed = Fed::new(Feed::Records);
        for t in 0..90 {
            // 149 m outside, and back after three seconds: sooner would be a jump.
            let (lat, claims) = if t == 80 { (48.002_24, accuracy) } else { (48.0, "4") };
            if (78..80).contains(&t) || (81..83).contains(&t) {
                continue;
            }
            let time = at(f64::from(t));
            fed.hear(
                t,
                &format!(
                    "{{\"asset\":\"one\",\"time\":\"{time}\",\"lat\":{lat},\"lon\":11,\
                     \"accuracy_m\":{claims}}}\n"
                ),
            );
        }
        assert_eq!(fed.changes(), [true], "accuracy {accuracy}: only that it is inside");
        assert_eq!(fed.rejected(Reject::Jump) + fed.rejected(Reject::BadRecord), 0, "{accuracy}");
    }
}

/// C12 (TIME-5): whatever the system clock jumps to in mid-run, every event is the same.
#[test]
fn c12_a_jump_of_the_system_clock_moves_nothing() {
    let run = |jumps: &[(u32, Option<f64>)]| {
        let mut fed = Fed::new(Feed::Gpsd { device: None });
        for t in 0..240 {
            for (_, days) in jumps.iter().filter(|(when, _)| *when == t) {
                let right = at(f64::from(t)).nanos();
                let wall = days.map(|days| right + (days * 86_400e9) as i64);
                let wall = wall.map(WallTime::from_nanos);
                fed.events.extend(fed.engine.step(Input::System { wall }).events);
            }
            let inside = (72..150).contains(&t);
            fed.hear(t, &tpv(t, if inside { 60.0 } else { 200.0 }));
        }
        fed
    };
    let quiet = run(&[]);
    assert_eq!(quiet.changes(), [true, false]);
    // Before, while it is voted on, inside, and while the exit is voted on.
    for when in [10, 73, 74, 100, 151] {
        for days in [-14.0, 14.0, 3_650.0, -20_000.0] {
            let jumped = run(&[(5, Some(0.0)), (when, Some(days)), (when + 40, None)]);
            assert_eq!(jumped.events, quiet.events, "{days} days at {when}");
        }
    }
}

/// E2 (PAIR-2): a minute unplugged with a vote pending. Its votes do not outlive the silence: what
/// comes after is decided by itself, and it goes on.
#[test]
fn e2_a_minute_unplugged_ends_a_pending_vote() {
    let run = |votes: u32, after_m: f64, fixes: u32| {
        let mut fed = Fed::new(Feed::Gpsd { device: None });
        (0..70).for_each(|t| fed.hear(t, &tpv(t, 200.0)));
        (70..70 + votes).for_each(|t| fed.hear(t, &tpv(t, 60.0)));
        let boot = |t: u32| BootTime::from_nanos((100 + i64::from(t)) * 1_000_000_000);
        let gone = 70 + votes;
        let end = Input::End { source: NETWORK, at: boot(gone) };
        fed.events.extend(fed.engine.step(end).events);
        for t in gone..gone + 60 {
            fed.events.extend(fed.engine.step(Input::Wake { now: boot(t) }).events);
        }
        assert_eq!(fed.changes(), [false; 0], "silence decides nothing");
        (gone + 60..gone + 60 + fixes).for_each(|t| fed.hear(t, &tpv(t, after_m)));
        fed
    };
    // Back outside: it was never in.
    assert_eq!(run(2, 200.0, 30).changes(), [false; 0]);
    // One fix inside adds to no vote of before.
    assert_eq!(run(2, 60.0, 1).changes(), [false; 0]);
    // It resumes: an entry.
    assert_eq!(run(2, 60.0, 30).changes(), [true]);
}
