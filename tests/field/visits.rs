//! Visits and votes: dwell, rules of a zone's own, and where DESIGN departs from the guides.

use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::zones::Layer;

use crate::harness::layer;
use crate::timeline::*;

fn dwelling() -> Vec<Arc<Layer>> {
    layer(1, &[square(r#""dwell":"60s""#)])
}

fn arrive() -> Vec<Do> {
    vec![Stay(-6.0, 6, 1.0, OUT_E), Stay(3.0, 5, 1.0, IN)]
}

const ENTRY: &str = "entry S observed by=5";

fn check_dwell(name: &str, then: Vec<Do>, want: &[&str]) {
    let mut timeline = arrive();
    timeline.extend(then);
    check(name, &dwelling(), &timeline, &[&[ENTRY], want].concat());
}

/// `fence_dwell`: once a visit, across restarts, its time is the deadline.
#[test]
fn dwell_is_once_a_visit() {
    // d of the last fix outside is 149 m, of the first inside 55.6 m: 4 s apart.
    let dwell = "dwell S at=61.91 visit=4";
    let stay = || Stay(10.0, 120, 1.0, IN);
    check_dwell("dwell", vec![stay()], &[dwell]);
    check_dwell("dwell, slow", vec![Stay(10.0, 9, 17.0, IN)], &["dwell S at=61.91 by=78"]);
    let restarts = vec![
        Stay(10.0, 40, 1.0, IN),
        Stop(51.0),
        Stay(53.0, 20, 1.0, IN),
        Stop(80.0),
        Stay(90.0, 60, 1.0, IN),
    ];
    check_dwell("dwell, restarts", restarts, &[dwell]);
    let twice = vec![stay(), Stay(140.0, 5, 1.0, OUT_E), Stay(150.0, 100, 1.0, IN)];
    check_dwell("dwell, two visits", twice, &[dwell, "exit S", "entry S", "dwell S"]);
}

/// `fence_dwell`: never by silence, never while EXITING.
#[test]
fn dwell_needs_an_agreeing_fix() {
    check_dwell("silence", vec![Wait(400.0)], &[]);
    check_dwell("silence ends", vec![Wait(400.0), Fix(400.0, IN)], &["dwell S at=61.91 by=400"]);
    let leaving = vec![Stay(10.0, 50, 1.0, IN), Stay(61.0, 9, 1.0, OUT_E)];
    check_dwell("leaving", leaving, &["exit S"]);
    let unsure = vec![Stay(10.0, 50, 1.0, IN), Stay(61.0, 9, 1.0, EDGE_OUT)];
    check_dwell("unsure", unsure, &[]);
}

/// A zone's own confirm, confirm_for and margins.
#[test]
fn rules_of_a_zone_hold_for_it() {
    let rules = [
        (r#""confirm":6"#, "entry S by=8 fixes=6"),
        (r#""confirm":1,"confirm_for":"0s""#, "entry S by=3 fixes=1"),
        (r#""confirm_for":"7s""#, "entry S by=10 fixes=8"),
        (r#""enter_margin_m":50"#, "entry S by=5 fixes=3"),
    ];
    // Outside long enough for a first evaluation by the zone's own rules (PAIR-6).
    let timeline = || [Stay(-9.0, 9, 1.0, OUT_E), Stay(3.0, 9, 1.0, IN)];
    for (rules, want) in rules {
        check(rules, &layer(1, &[square(rules)]), &timeline(), &[want]);
    }
    // 30 m east: outside by the default margins, not by its own.
    let out = (48.0005, 11.0024);
    let away = || [Stay(-6.0, 6, 1.0, IN), Stay(3.0, 9, 1.0, out)];
    check("exit margin", &layer(1, &[square("")]), &away(), &["initialised S", "exit S"]);
    let wide = layer(1, &[square(r#""exit_margin_m":40"#)]);
    check("exit margin 40", &wide, &away(), &["initialised S"]);
    let shallow = (48.0005, 11.0019);
    let timeline = [Stay(-6.0, 6, 1.0, OUT_E), Stay(3.0, 9, 1.0, shallow)];
    check("enter margin", &layer(1, &[square(r#""enter_margin_m":20"#)]), &timeline, &[]);
}

/// PAIR-6: the first evaluation asks for what the zone asks for, however far it is: what was
/// outside for 5 s of 7 has not been outside yet.
#[test]
fn pair_6_first_evaluation_is_by_the_zones_own_rules() {
    let rules = [
        (r#""confirm_for":"7s""#, "initialised S by=10 fixes=8"),
        (r#""confirm":6"#, "entry S by=8 fixes=6"),
        (r#""confirm":7"#, "initialised S by=9 fixes=7"),
    ];
    let timeline = || [Stay(-6.0, 6, 1.0, OUT_E), Stay(3.0, 9, 1.0, IN)];
    for (rules, want) in rules {
        check(rules, &layer(1, &[square(rules)]), &timeline(), &[want]);
    }
    let quick = layer(1, &[square(r#""confirm":1,"confirm_for":"0s""#)]);
    let timeline = [Fix(-1.0, OUT_E), Stay(3.0, 3, 1.0, IN)];
    check("quick", &quick, &timeline, &["entry S by=3 fixes=1"]);
}

/// PAIR-2, PAIR-4: a vote completed long after its timeout never commits (the guide's fault).
#[test]
fn pair_4_a_late_report_never_completes_a_vote() {
    for late in [5.0, 60.0, 299.0, 3600.0] {
        let timeline = [Stay(-6.0, 6, 1.0, OUT_E), Fix(3.0, IN), Fix(4.0, IN), Fix(4.0 + late, IN)];
        check("late", &layer(1, &[square("")]), &timeline, &[]);
        let timeline = [
            Stay(-6.0, 6, 1.0, OUT_E),
            Fix(3.0, IN),
            Fix(4.0, IN),
            Stop(6.0),
            Fix(4.0 + late.max(8.0), IN),
        ];
        check("late, stopped", &layer(1, &[square("")]), &timeline, &[]);
    }
}

/// INV-1: what the guide swallows after silence is told, so no entry can follow an entry.
#[test]
fn inv_1_reacquisition_reports_the_change() {
    let timeline = [
        Stay(-6.0, 6, 1.0, OUT_E),
        Stay(3.0, 5, 1.0, IN),
        Stay(1000.0, 5, 1.0, OUT_E),
        Stay(1010.0, 5, 1.0, IN),
    ];
    let want = [
        "entry S observed",
        "transition_uncertain S inside=false uncertain at=none from=7 to=1000 gap=silence \
         gap_from=7 gap_to=1000",
        "entry S observed",
    ];
    check("guide", &layer(1, &[square("")]), &timeline, &want);
    // A gap that changes nothing says nothing.
    let timeline = [Stay(0.0, 5, 1.0, IN), Stay(1000.0, 5, 1.0, IN)];
    check("gap", &layer(1, &[square("")]), &timeline, &["initialised S"]);
}

/// INV-3, TIME-4: a clock that is stored far ahead and put right: the store takes the step back,
/// brackets do not end before they begin, and no vote outlives its deadline.
#[test]
fn time_4_a_clock_that_was_ahead() {
    // Less than the hour that the floor of TIME-1 leaves.
    let ahead = 1800.0;
    let timeline = [
        Stay(ahead, 6, 1.0, OUT_E),
        Stay(ahead + 9.0, 2, 1.0, IN),
        Stop(ahead + 12.0),
        PowerCut(ahead + 14.0, 0.0),
        Fix(10.0, IN),
        Stay(60.0, 3, 1.0, IN),
    ];
    let mut gateway = play(&layer(1, &[square("")]), &Decide::default(), &timeline);
    for event in fences(&mut gateway) {
        let body = &event.body;
        assert!(body.not_before <= body.confirmed_at, "{}", event.to_json());
        assert!(body.not_after.is_none_or(|to| body.not_before <= Some(to)), "{body:?}");
    }
    compare("TIME-4", &mut gateway, &["entry S by=62 fixes=3"]);
}
