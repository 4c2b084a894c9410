//! One good story, and for each check bad ones that it must refuse.

use serde_json::{Value, json};

use super::super::drive::BOUNDARIES;
use super::*;

const ZERO: &str = "2026-11-30T12:00:00Z";

/// The time of so many seconds.
fn at(secs: i64) -> String {
    (ZERO.parse::<crate::units::EventTime>().unwrap() + Span::from_secs(secs)).to_string()
}

/// A crossing of `zone`: its number, its truth, how it was reported.
fn crossing(seq: u64, kind: &str, zone: &str, secs: i64, certainty: &str) -> Value {
    let (layer, zone) = zone.split_once('/').unwrap();
    let mut event = json!({
        "seq": seq, "id": format!("k7-{seq}"), "kind": kind, "gateway": "g",
        "layer": layer, "zone": zone, "inside": kind == "fence_entry", "at": at(secs),
        "not_before": at(secs - 1), "not_after": at(secs + 1), "confirmed_at": at(secs + 2),
        "certainty": certainty, "visit": "k7-2",
    });
    if certainty == "inferred" {
        event["gap"] = json!({"cause": "restart", "from": at(secs - 1), "to": at(secs + 1)});
    }
    event
}

fn good() -> Vec<Value> {
    vec![
        json!({"seq": 1, "id": "k7-1", "kind": "fence_initialised", "gateway": "g",
            "layer": "roads", "zone": "town", "inside": true}),
        crossing(2, "fence_entry", "depots/nord", 10, "observed"),
        json!({"seq": 3, "id": "k7-3", "kind": "fence_dwell", "gateway": "g",
            "layer": "depots", "zone": "nord", "visit": "k7-2"}),
        crossing(4, "fence_exit", "depots/nord", 20, "observed"),
        crossing(5, "fence_entry", "roads/ring-road", 30, "observed"),
        crossing(6, "fence_exit", "roads/ring-road", 40, "observed"),
        crossing(7, "fence_entry", "customers/0815", 50, "observed"),
        crossing(8, "fence_exit", "customers/0815", 60, "inferred"),
    ]
}

fn story(events: &[Value]) -> Story {
    let received: Vec<Received> = events
        .iter()
        .map(|data| Received { event: json!({"data": data}), duplicate: false })
        .collect();
    let passed = BOUNDARIES.iter().zip(1..).map(|(&boundary, tens)| {
        let at = at(10 * tens).parse().unwrap();
        Passage { boundary, at }
    });
    let inside = BTreeSet::from(["roads/town".to_owned()]);
    Story::new(&received, (8, 0), inside, passed.collect()).unwrap()
}

#[test]
fn a_good_story_passes() {
    assert_eq!(story(&good()).checks().iter().filter(|check| check.is_err()).count(), 0);
    assert!(
        Story::new(
            &[Received { event: json!({"data": 1}), duplicate: false }],
            (1, 0),
            BTreeSet::new(),
            Vec::new()
        )
        .is_err()
    );
}

/// Which checks refuse the good story after `spoil`.
fn check(what: &str, spoil: impl Fn(&mut Vec<Value>), refused: &[usize]) {
    let mut events = good();
    spoil(&mut events);
    let checks = story(&events).checks();
    let found: Vec<usize> = (0..checks.len()).filter(|ix| checks[*ix].is_err()).collect();
    assert_eq!(found, refused, "{what}: {checks:?}");
}

#[test]
fn a_bad_story_is_refused_by_the_check_that_is_for_it() {
    let (numbers, fold, depot, moments, unseen) = (0, 1, 2, 3, 4);
    check("a hole", |e| drop(e.remove(2)), &[numbers, depot]);
    check("the last is missing", |e| drop(e.pop()), &[numbers, fold, moments]);
    check("not in order", |e| e.swap(4, 5), &[numbers, fold]);
    check("another stream", |e| e[3]["id"] = "other-4".into(), &[numbers]);
    check(
        "a second entry",
        |e| e[2] = crossing(3, "fence_entry", "depots/nord", 12, "observed"),
        &[fold, depot],
    );
    check("another visit", |e| e[3]["visit"] = "k7-1".into(), &[depot]);
    check("outside of its bracket", |e| e[4]["not_after"] = at(29).into(), &[moments]);
    check("a wrong moment", |e| e[4]["at"] = at(31).into(), &[moments]);
    check("unseen and called observed", |e| e[7]["certainty"] = "observed".into(), &[unseen]);
    check("no gap", |e| e[7]["gap"] = Value::Null, &[unseen]);
    check("seen and called inferred", |e| e[5]["certainty"] = "inferred".into(), &[unseen]);
}

#[test]
fn what_the_daemon_believes_and_what_it_keeps_counts() {
    let mut believes = story(&good());
    believes.inside.insert("customers/0815".to_owned());
    assert!(believes.fold().unwrap_err().contains("but the daemon says customers/0815"));
    let mut keeps = story(&good());
    keeps.waiting = 1;
    assert!(keeps.numbers().unwrap_err().contains("1 events still wait"));
    keeps.waiting = 0;
    keeps.decided = 9;
    assert!(keeps.numbers().is_err());
}
