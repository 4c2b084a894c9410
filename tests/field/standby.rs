//! ORD-4 through the whole engine: two sources of one asset, one of which votes.

use geofenced::logic::config::Decide;
use geofenced::logic::engine::{SourceSetup, Trusting};
use geofenced::logic::gnss::Reject;
use geofenced::units::Span;

use crate::harness::{Gateway, Place, VAN, layer, record, second, setup};
use crate::timeline::*;

/// Fixes of one source: from when, until when, how far apart, and how far ahead its times are.
#[derive(Clone, Copy)]
struct Run(usize, f64, f64, f64, f64);

/// The better source, whose fixes claim 3 m.
const A: usize = 0;
/// The standby, whose fixes claim 4 m.
const B: usize = 1;

/// Two trackers on the network, ranks 1 and 2.
fn gateway() -> Gateway {
    let mut two = setup(&Decide::default());
    let source = |from: &SourceSetup, rank| SourceSetup {
        trusting: Trusting::Network,
        rank,
        ..from.clone()
    };
    two.sources = vec![source(&two.sources[A], 1), source(&two.sources[B], 2)];
    Gateway::of(&layer(1, &[square("")]), two)
}

/// East of the square until 25 s, then 20 m/s westward, inside from 33 s on.
fn place(t: f64) -> Place {
    let share = ((t - 25.0) / 11.0).clamp(0.0, 1.0);
    (OUT_E.0, OUT_E.1 + (IN.1 - OUT_E.1) * share)
}

/// Plays all runs; killed at `crashes`.
fn drive(runs: &[Run], crashes: &[f64]) -> Gateway {
    let mut fixes: Vec<(f64, usize, f64)> = Vec::new();
    for Run(source, from, to, every, ahead) in runs {
        let count = ((to - from) / every).ceil() as u32;
        fixes.extend((0..count).map(|n| (from + f64::from(n) * every, *source, *ahead)));
    }
    fixes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut gateway = gateway();
    let mut crashes = crashes.iter().peekable();
    for (t, source, ahead) in &fixes {
        if let Some(crash) = crashes.next_if(|crash| *crash < t) {
            gateway.commit();
            gateway.crash(*crash);
        }
        let accuracy_m = 3.0 + *source as f64;
        let fix = record(VAN, t + ahead, place(*t), Some(accuracy_m));
        // One after the other, as two sockets are read.
        gateway.hear_from(*source, t + 0.2 + *source as f64 * 0.01, fix);
    }
    let end = gateway.now();
    gateway.pass(end + 5.0);
    gateway.commit();
    gateway
}

/// Who was used when: runs of (source, first, last) in the order they were decided in.
fn used(gateway: &Gateway) -> Vec<(usize, f64, f64)> {
    let mut runs: Vec<(usize, f64, f64)> = Vec::new();
    for report in gateway.received.iter().filter(|report| report.reason.is_none()) {
        let (source, t) = ((report.fix.accuracy_m - 3.0) as usize, second(report.fix.time));
        match runs.last_mut().filter(|run| run.0 == source) {
            Some(run) => run.2 = t,
            None => runs.push((source, t, t)),
        }
    }
    runs
}

#[track_caller]
fn check_used(what: &str, gateway: &mut Gateway, runs: &[(usize, f64, f64)], late: u64) {
    assert_eq!(used(gateway), runs, "{what}");
    let counters = gateway.life().engine.counters();
    assert_eq!(counters.rejected(Reject::Late), late, "{what}: {counters:?}");
    compare(what, gateway, &["entry S observed"]);
}

/// The voter dies: the standby takes over after three intervals and the voter's window.
/// It returns: it votes again after 10 s.
#[test]
fn ord_4_the_standby_takes_over_and_gives_back() {
    let runs =
        [Run(A, 0.0, 20.0, 1.0, 0.0), Run(A, 40.0, 60.0, 1.0, 0.0), Run(B, 0.0, 60.0, 1.0, 0.0)];
    let mut gateway = drive(&runs, &[]);
    check_used("returns", &mut gateway, &[(A, 0.0, 19.0), (B, 23.0, 49.0), (A, 50.0, 59.0)], 0);
    let counters = gateway.life().engine.counters();
    assert_eq!((counters.takeovers, counters.rejected(Reject::Standby)), (2, 23 + 10 + 10));
}

/// Times 15 s apart cannot be put in one order: each take-over begins a step, nothing is late.
#[test]
fn ord_4_a_standby_fifteen_seconds_off_is_a_new_step() {
    for ahead in [15.0, -15.0] {
        let runs = [
            Run(A, 0.0, 20.0, 1.0, 0.0),
            Run(A, 40.0, 60.0, 1.0, 0.0),
            Run(B, 0.0, 60.0, 1.0, ahead),
        ];
        let expected = [(A, 0.0, 19.0), (B, 23.0 + ahead, 49.0 + ahead), (A, 50.0, 59.0)];
        let mut gateway = drive(&runs, &[]);
        assert_eq!(used(&gateway), expected, "{ahead}");
        assert_eq!(gateway.life().engine.counters().rejected(Reject::Late), 0, "{ahead}");
    }
}

/// A standby 3 s ahead makes no fix of the voter late; only what a take-over passed over is.
#[test]
fn ord_4_a_standby_ahead_makes_the_voter_late_only_once() {
    let both = [Run(A, 0.0, 60.0, 1.0, 0.0), Run(B, 0.0, 60.0, 1.0, 3.0)];
    check_used("beside", &mut drive(&both, &[]), &[(A, 0.0, 59.0)], 0);
    let runs =
        [Run(A, 0.0, 10.0, 1.0, 0.0), Run(A, 40.0, 70.0, 1.0, 0.0), Run(B, 0.0, 70.0, 1.0, 3.0)];
    let expected = [(A, 0.0, 9.0), (B, 16.0, 52.0), (A, 53.0, 69.0)];
    check_used("taken over", &mut drive(&runs, &[]), &expected, 3);
    // Eight seconds are late, too, but keep the vote: no flapping.
    let runs =
        [Run(A, 0.0, 10.0, 1.0, 0.0), Run(A, 40.0, 90.0, 1.0, 0.0), Run(B, 0.0, 90.0, 1.0, 8.0)];
    let mut gateway = drive(&runs, &[]);
    assert_eq!(used(&gateway), [(A, 0.0, 9.0), (B, 21.0, 57.0), (A, 58.0, 89.0)]);
    assert_eq!(gateway.life().engine.counters().takeovers, 2);
}

/// 0.4 s without a fix are four intervals of a 10 Hz receiver, and no reason to flip.
#[test]
fn ord_4_a_hiccup_at_ten_hertz_flips_nothing() {
    let runs =
        [Run(A, 0.0, 20.0, 0.1, 0.0), Run(A, 20.4, 40.0, 0.1, 0.0), Run(B, 0.05, 40.0, 0.1, 0.0)];
    let mut gateway = drive(&runs, &[]);
    check_used("hiccup", &mut gateway, &[(A, 0.0, 39.9)], 0);
    assert_eq!(gateway.life().engine.counters().takeovers, 0);
}

/// A voter that comes for 5 s and goes for 7 s is taken over from once.
#[test]
fn ord_4_flapping_changes_the_voter_once() {
    let mut runs: Vec<Run> =
        (0..10).map(|n| Run(A, f64::from(n) * 12.0, f64::from(n) * 12.0 + 5.0, 1.0, 0.0)).collect();
    runs.push(Run(B, 0.0, 120.0, 1.0, 0.0));
    let mut gateway = drive(&runs, &[]);
    check_used("flapping", &mut gateway, &[(A, 0.0, 4.0), (B, 8.0, 119.0)], 0);
}

/// Both die; whoever comes first ends the silence, and is graded by it.
#[test]
fn ord_4_both_die() {
    let runs = [
        Run(A, 0.0, 10.0, 1.0, 0.0),
        Run(B, 0.0, 10.0, 1.0, 0.0),
        Run(B, 400.0, 420.0, 1.0, 0.0),
        Run(A, 402.0, 420.0, 1.0, 0.0),
    ];
    let mut gateway = drive(&runs, &[]);
    assert_eq!(used(&gateway), [(A, 0.0, 9.0), (B, 400.0, 411.0), (A, 412.0, 419.0)]);
    compare("both die", &mut gateway, &["uncertain S"]);
}

/// Killed at any second, whoever votes: INV-1 to INV-3 hold (the ledger says so), nothing is
/// late for good, and the entry is there.
#[test]
fn ord_4_killed_in_between() {
    for ahead in [0.0, 15.0] {
        for crash in 18..30 {
            let runs = [
                Run(A, 0.0, 20.0, 1.0, 0.0),
                Run(A, 40.0, 70.0, 1.0, 0.0),
                Run(B, 0.0, 70.0, 1.0, ahead),
            ];
            let mut gateway = drive(&runs, &[f64::from(crash) + 0.5]);
            let what = format!("{ahead} ahead, killed at {crash}.5");
            let last = used(&gateway).pop();
            assert!(last.is_some_and(|run| run.0 == A && run.2 == 69.0), "{what}: {last:?}");
            compare(&what, &mut gateway, &["entry S"]);
        }
    }
}

/// A voter that only jumps holds no vote: its stamps come, its fixes come to nothing.
#[test]
fn ord_4_a_voter_that_only_jumps_is_taken_over_from() {
    let mut gateway = gateway();
    for n in 0..22_u32 {
        let t = f64::from(n);
        // From 10 s on each is a kilometre from the one before.
        let far = if n < 10 { 0.0 } else { 0.01 * f64::from(n % 3 + 1) };
        gateway.hear_from(A, t + 0.2, record(VAN, t, (OUT_E.0 + far, OUT_E.1), Some(3.0)));
        gateway.hear_from(B, t + 0.21, record(VAN, t, OUT_E, Some(4.0)));
    }
    gateway.commit();
    let runs = used(&gateway);
    assert_eq!(runs[..1], [(A, 0.0, 9.0)]);
    assert_eq!((runs[1].0, runs[1].1), (B, 13.0), "{runs:?}");
}

/// E9: a fix said again after its release is one fix: counted as a repeat, no record of a late
/// one, and the asset goes stale all the same.
#[test]
fn e9_a_fix_said_again_is_no_evidence() {
    let mut one = setup(&Decide::default());
    one.telemetry.late_fix = true;
    let mut gateway = Gateway::of(&layer(1, &[square("")]), one);
    for n in 0..5 {
        gateway.hear(f64::from(n) + 0.2, record(VAN, f64::from(n), IN, Some(3.0)));
    }
    for n in 5..65 {
        gateway.hear(f64::from(n) + 0.2, record(VAN, 4.0, IN, Some(3.0)));
    }
    gateway.pass(310.0);
    gateway.commit();
    let engine = &gateway.life().engine;
    let counters = engine.counters();
    assert_eq!((counters.rejected(Reject::Repeat), counters.rejected(Reject::Late)), (60, 0));
    let boot = geofenced::units::BootTime::from_nanos(0) + Span::from_secs(60 + 310);
    assert!(engine.asset_status(boot)[0].stale, "E9");
}
