//! The rules of the gate, as timelines of one asset.

use proptest::prelude::*;

use super::*;
use crate::logic::event::TimeQuality;

const RULES: GateRules = GateRules {
    max_accuracy_m: 50.0,
    max_speed_mps: 100.0,
    stale_after: Span::from_secs(300),
    interval: Span::from_secs(1),
};

/// FIELD's places.
const IN: (f64, f64) = (11.0010, 48.0005);
/// 149 m east of its square, 223 m from `IN`.
const OUT_E: (f64, f64) = (11.0040, 48.0005);

/// A measured fix at (lon, lat), in seconds.
fn fix(secs: f64, (lon, lat): (f64, f64), accuracy_m: f64) -> Fix {
    Fix {
        time: EventTime::from_nanos(0) + Span::from_secs_f64(secs),
        time_quality: TimeQuality::Gnss,
        position: Position::new(lat, lon).unwrap(),
        accuracy_m,
        quality: FixQuality::Measured,
        speed_mps: None,
        heading_deg: None,
        altitude_m: None,
    }
}

fn estimated(secs: f64, place: (f64, f64)) -> Fix {
    Fix { quality: FixQuality::Estimated, ..fix(secs, place, 5.0) }
}

const JUMP: Verdict = Verdict::Rejected(Reject::Jump);
const ACCURACY: Verdict = Verdict::Rejected(Reject::Accuracy);
const NO_POSITION: Verdict = Verdict::Rejected(Reject::NoPosition);
use Verdict::{Overrules, Sustains, Usable};

/// Judges a timeline of (fix, source, step, expected).
#[track_caller]
fn check(lines: &[(Fix, u16, u32, Verdict)]) -> Gate {
    let mut gate = Gate::default();
    for (number, (fix, source, step, expected)) in lines.iter().enumerate() {
        assert_eq!(gate.judge(&RULES, fix, *source, *step), *expected, "line {number}: {fix:?}");
    }
    gate
}

/// As [`check`], of one source and step.
#[track_caller]
fn check_one(lines: &[(Fix, Verdict)]) -> Gate {
    let lines: Vec<_> = lines.iter().map(|(fix, expected)| (*fix, 0, 0, *expected)).collect();
    check(&lines)
}

#[test]
fn fix_1_a_bad_accuracy_is_unusable() {
    let gate = check_one(&[
        (fix(0.0, IN, 50.0), Usable),
        (fix(1.0, IN, 50.1), ACCURACY),
        (fix(2.0, IN, f64::NAN), ACCURACY),
        (fix(3.0, IN, f64::INFINITY), ACCURACY),
        (Fix { accuracy_m: 60.0, ..estimated(4.0, IN) }, ACCURACY),
    ]);
    assert_eq!(gate.last_usable(), Some(fix(0.0, IN, 1.0).time));
}

/// B1: an over-confident outlier 12 s after and before good ones. 201 m in 12 s is no jump by
/// itself; at 1 Hz it is, and changes nothing.
#[test]
fn fix_1_b1_one_outlier_changes_nothing() {
    let (a, far, b) = ((11.0010, 48.00057), (11.0037, 48.0005), (11.0010, 48.00059));
    check_one(&[
        (fix(0.0, a, 5.0), Usable),
        (fix(12.0, far, 1.9), Usable),
        (fix(24.0, b, 5.0), Usable),
    ]);
    let gate = check_one(&[
        (fix(0.0, a, 5.0), Usable),
        (fix(1.0, far, 1.9), JUMP),
        (fix(2.0, b, 5.0), Usable),
        (fix(3.0, far, 1.9), JUMP),
        (fix(4.0, b, 5.0), Usable),
    ]);
    assert_eq!(gate.last_position(), Position::new(b.1, b.0));
}

/// B5: accuracy 0 claims nothing; unknown is 15 m by FIX-2, and then 223 m in 1 s is a jump.
#[test]
fn fix_1_b5_accuracy_zero_is_not_perfect() {
    check_one(&[
        (fix(0.0, IN, 5.0), Usable),
        (fix(1.0, OUT_E, 0.0), ACCURACY),
        (fix(2.0, OUT_E, -1.0), ACCURACY),
        (fix(3.0, IN, 5.0), Usable),
        (fix(4.0, OUT_E, 15.0), JUMP),
        (fix(5.0, IN, 5.0), Usable),
    ]);
}

#[test]
fn fix_1_three_consistent_fixes_overrule() {
    let far = (11.5, 48.0005);
    let gate = check_one(&[
        (fix(0.0, IN, 5.0), Usable),
        (fix(1.0, far, 5.0), JUMP),
        (fix(2.0, far, 5.0), JUMP),
        (fix(3.0, far, 5.0), Overrules),
        (fix(4.0, far, 5.0), Usable),
        (fix(5.0, IN, 5.0), JUMP),
    ]);
    assert_eq!(gate.last_position(), Position::new(far.1, far.0));
    // Three that do not agree with one another are three outliers.
    check_one(&[
        (fix(0.0, IN, 5.0), Usable),
        (fix(1.0, (11.5, 48.0), 5.0), JUMP),
        (fix(2.0, (11.6, 48.0), 5.0), JUMP),
        (fix(3.0, (11.7, 48.0), 5.0), JUMP),
        (fix(4.0, (11.7, 48.0), 5.0), JUMP),
        (fix(5.0, (11.7, 48.0), 5.0), Overrules),
    ]);
    // A fix at the old place in between starts the count again; one that is unusable does not.
    check_one(&[
        (fix(0.0, IN, 5.0), Usable),
        (fix(1.0, far, 5.0), JUMP),
        (fix(2.0, far, 5.0), JUMP),
        (fix(3.0, IN, 5.0), Usable),
        (fix(4.0, far, 5.0), JUMP),
        (fix(5.0, far, 5.0), JUMP),
        (fix(6.0, far, 90.0), ACCURACY),
        (fix(7.0, far, 5.0), Overrules),
    ]);
}

/// The speed counts only what both accuracies cannot explain: 223 m less 2 × 50 in 1 s is 123.
#[test]
fn fix_1_accuracies_explain_distance() {
    for (accuracy_m, secs, expected) in [
        (50.0, 1.0, JUMP),
        (50.0, 1.24, Usable),
        (5.0, 2.1, JUMP),
        (5.0, 2.2, Usable),
        (50.0, 0.0, JUMP),
        (50.0, -1.0, JUMP),
        (50.0, -2.0, Usable),
    ] {
        check_one(&[(fix(0.0, IN, accuracy_m), Usable), (fix(secs, OUT_E, accuracy_m), expected)]);
    }
    // No time apart and no distance beyond the accuracies: no speed.
    check_one(&[(fix(0.0, IN, 5.0), Usable), (fix(0.0, IN, 4.0), Usable)]);
}

#[test]
fn fix_1_nothing_is_implied_between_sources_or_steps() {
    check(&[
        (fix(0.0, IN, 5.0), 0, 0, Usable),
        (fix(1.0, OUT_E, 5.0), 1, 0, Usable),
        (fix(2.0, IN, 5.0), 1, 0, JUMP),
        (fix(2.5, IN, 5.0), 1, 1, Usable),
    ]);
    // A challenger of another step is none.
    check(&[
        (fix(0.0, IN, 5.0), 0, 0, Usable),
        (fix(1.0, OUT_E, 5.0), 0, 0, JUMP),
        (fix(2.0, OUT_E, 5.0), 0, 0, JUMP),
        (fix(2.0, IN, 5.0), 0, 1, Usable),
        (fix(3.0, OUT_E, 5.0), 0, 1, JUMP),
        (fix(4.0, OUT_E, 5.0), 0, 1, JUMP),
        (fix(5.0, OUT_E, 5.0), 0, 1, Usable),
    ]);
}

#[test]
fn fix_3_estimated_fixes_sustain_for_a_minute_after_the_last_measured() {
    let gate = check_one(&[
        (estimated(0.0, IN), NO_POSITION),
        (fix(1.0, IN, 5.0), Usable),
        (fix(2.0, IN, 5.0), Usable),
        (estimated(3.0, IN), Sustains),
        (estimated(62.0, IN), Sustains),
        (estimated(62.1, IN), NO_POSITION),
        (estimated(1.0, IN), NO_POSITION),
        (fix(100.0, IN, 90.0), ACCURACY),
        (estimated(101.0, IN), NO_POSITION),
        (fix(102.0, IN, 5.0), Usable),
        (estimated(103.0, OUT_E), JUMP),
        (estimated(104.0, IN), Sustains),
    ]);
    assert_eq!(gate.gaps.gaps_nanos[..2], [100_000_000_000, 1_000_000_000]);
    assert_eq!(gate.gaps.gaps_seen, 2);
}

/// Estimated fixes never help a new place to overrule the old one.
#[test]
fn fix_3_estimated_fixes_never_overrule() {
    check_one(&[
        (fix(0.0, IN, 5.0), Usable),
        (fix(0.5, OUT_E, 5.0), JUMP),
        (estimated(0.6, OUT_E), JUMP),
        (estimated(0.7, OUT_E), JUMP),
        (fix(0.8, OUT_E, 5.0), JUMP),
        (fix(0.9, OUT_E, 5.0), Overrules),
    ]);
}

/// Usable fixes apart by these seconds; the interval in seconds after each.
#[track_caller]
fn check_interval(gaps_and_intervals: &[(i64, i64)]) -> Gate {
    let (mut gate, mut now) = (Gate::default(), 1_000_000);
    assert_eq!(gate.judge(&RULES, &fix(now as f64, IN, 5.0), 0, 0), Usable);
    assert_eq!(gate.interval(&RULES), RULES.interval);
    for (number, (gap, interval)) in gaps_and_intervals.iter().enumerate() {
        now += gap;
        assert_eq!(gate.judge(&RULES, &fix(now as f64, IN, 5.0), 0, 0), Usable);
        assert_eq!(gate.interval(&RULES), Span::from_secs(*interval), "gap {number}");
    }
    gate
}

/// A13: one fix each 600 s is known after the second gap; the silence limit follows.
#[test]
fn fix_4_a13_a_slow_tracker() {
    let gate = check_interval(&[(600, 1), (600, 600), (600, 600), (600, 600), (600, 600)]);
    assert_eq!(gate.silence_limit(&RULES), Span::from_secs(1800));
}

#[test]
fn fix_4_a13_fast_turning_slow() {
    let gate = check_interval(&[
        (1, 1),
        (1, 1),
        (1, 1),
        (1, 1),
        (1, 1),
        (1, 1),
        (120, 1),
        (120, 120),
        (120, 120),
    ]);
    assert_eq!(gate.silence_limit(&RULES), Span::from_secs(360));
}

#[test]
fn fix_4_a13_one_long_gap_changes_nothing() {
    check_interval(&[(1, 1), (1, 1), (7200, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)]);
    check_interval(&[(7200, 1), (1, 1), (1, 1), (1, 1), (1, 1), (1, 1)]);
    let ten = [(600, 1), (600, 600), (600, 600), (600, 600), (600, 600)];
    check_interval(&[&ten[..], &[(7200, 600)], &[(600, 600); 6]].concat());
    // Two silences among five fixes are an interval, by the rule.
    check_interval(&[(1, 1), (7200, 1), (1, 1), (7200, 7200)]);
}

#[test]
fn fix_4_an_alternating_tracker_has_its_longer_interval() {
    let alternate = |a: i64, b: i64| [[(a, b), (b, b)]; 5].concat();
    check_interval(&[vec![(600, 1), (60, 60), (600, 600)], alternate(60, 600)].concat());
    check_interval(&[vec![(60, 1), (600, 60), (60, 60), (600, 600)], alternate(60, 600)].concat());
    check_interval(&[vec![(7, 1), (2, 2), (7, 7)], alternate(2, 7)].concat());
}

#[test]
fn fix_4_the_interval_is_at_most_a_day() {
    let week = 7 * 86_400;
    let gate = check_interval(&[(week, 1), (week, 86_400), (week, 86_400)]);
    assert_eq!(gate.silence_limit(&RULES), Span::from_secs(3 * 86_400));
    let slow = GateRules { interval: Span::from_secs(week), ..RULES };
    assert_eq!(Gate::default().interval(&slow), INTERVAL_MAX);
}

#[test]
fn fix_4_a_time_going_back_is_no_gap() {
    let gate = check(&[
        (fix(1000.0, IN, 5.0), 0, 0, Usable),
        (fix(1010.0, IN, 5.0), 0, 0, Usable),
        (fix(500.0, IN, 5.0), 0, 1, Usable),
        (fix(500.0, IN, 5.0), 1, 1, Usable),
        (fix(510.0, IN, 5.0), 0, 1, Usable),
    ]);
    assert_eq!(gate.gaps.gaps_seen, 2);
    assert_eq!(gate.interval(&RULES), Span::from_secs(10));
}

/// A restart resumes mid-challenge with the same interval (STO-1).
#[test]
fn fix_4_the_gate_is_kept_across_a_restart() {
    let gate = check_one(&[
        (fix(0.0, IN, 5.0), Usable),
        (fix(0.1, IN, 5.0), Usable),
        (fix(0.25, OUT_E, 5.0), JUMP),
    ]);
    let text = serde_json::to_string(&gate).unwrap();
    assert_eq!(serde_json::from_str::<Gate>(&text).unwrap(), gate);
}

proptest! {
    /// FIX-1: one outlier after the first fix, however accurate, changes nobody else's verdict,
    /// nor the interval, nor the place.
    #[test]
    fn fix_1_an_outlier_anywhere_changes_nothing_else(
        count in 2..20_i32, after in 0..18_i32, far in 0.05..3.0_f64, accuracy_m in 0.1..50.0_f64
    ) {
        let after = after.min(count - 2);
        let (mut plain, mut disturbed) = (Gate::default(), Gate::default());
        for n in 0..count {
            let good = fix(f64::from(n), (11.0 + f64::from(n) * 1e-4, 48.0), 5.0);
            prop_assert_eq!(plain.judge(&RULES, &good, 0, 0), Usable);
            prop_assert_eq!(disturbed.judge(&RULES, &good, 0, 0), Usable);
            if n == after {
                let outlier = fix(f64::from(n) + 0.5, (11.0, 48.0 + far), accuracy_m);
                prop_assert_eq!(disturbed.judge(&RULES, &outlier, 0, 0), JUMP);
            }
        }
        prop_assert_eq!(plain, disturbed);
    }

    /// FIX-4: one long gap, wherever it falls, never changes the interval of a regular asset.
    #[test]
    fn fix_4_one_long_gap_anywhere_never_changes_the_interval(
        declared in 1..700_i64, regular in 1..700_i64,
        before in 0..12_usize, long in 700..90_000_i64
    ) {
        let rules = GateRules { interval: Span::from_secs(declared), ..RULES };
        let interval_after = |gaps: &[i64]| {
            let (mut gate, mut now) = (Gate::default(), 0);
            for gap in [&[0], gaps].concat() {
                now += gap;
                let _ = gate.judge(&rules, &fix(now as f64, IN, 5.0), 0, 0);
            }
            gate.interval(&rules).nanos() / 1_000_000_000
        };
        let mut gaps = vec![regular; before];
        let without = interval_after(&gaps);
        gaps.push(long);
        let bounds = [declared.min(regular), declared.max(regular)];
        prop_assert!((bounds[0]..=bounds[1]).contains(&interval_after(&gaps)));
        if before >= GAPS {
            prop_assert_eq!(interval_after(&gaps), without);
        }
        for _ in 0..GAPS {
            gaps.push(regular);
            prop_assert!((bounds[0]..=bounds[1]).contains(&interval_after(&gaps)));
        }
        prop_assert_eq!(interval_after(&gaps), regular);
    }
}
