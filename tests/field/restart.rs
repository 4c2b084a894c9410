//! Restart and state: FIELD A, C1, C5, C6, C17, C20.

use std::path::Path;
use std::sync::Arc;

use geofenced::logic::event::{Kind, Reconciled};
use geofenced::logic::zones::Layer;
use geofenced::units::BootTime;

use crate::harness::{Gateway, VAN, layer, record};
use crate::timeline::*;

fn s() -> Vec<Arc<Layer>> {
    layer(1, &[square("")])
}

/// What `asset_reconciled` said at each start.
fn reconciled(gateway: &mut Gateway) -> Vec<Reconciled> {
    let said = of_kind(gateway, Kind::AssetReconciled).into_iter();
    said.map(|event| event.body.reconciled.unwrap()).collect()
}

/// A1 (INV-4): killed inside, started inside: nothing is said twice.
#[test]
fn a1_no_entry_again_after_a_kill() {
    let timeline = [Stay(0.0, 5, 1.0, IN), Wait(10.0), Crash(10.0), Stay(12.0, 5, 1.0, IN)];
    // Two zones, the later name first in the file: the store gives them back in another order.
    let layers = layer(1, &[square(""), circle()]);
    let want = ["initialised C inside=true", "initialised S inside=true"];
    let mut gateway = check("A1", &layers, &timeline, &want);
    assert_eq!(of_kind(&mut gateway, Kind::GatewayStarted).len(), 2, "one a start");
    assert_eq!(of_kind(&mut gateway, Kind::LayerActivated).len(), 1, "the layer is the same");
    let said = reconciled(&mut gateway);
    assert_eq!(said.len(), 2, "one a start");
    assert_eq!(said[1].believed_inside, ["l/C", "l/S"]);
    assert_eq!((said[1].inferred, said[1].uncertain), (0, 0));
    assert_eq!((said[1].initialised_inside, said[1].initialised_outside), (0, 0));
}

/// A3 (BRK-1): driven away while off; the way back is an ordinary entry, whether its fixes come
/// at 1 Hz or 3 s apart (where the first vote's deadline was fixed at 1 Hz: PAIR-1), after others
/// that came as seldom or not.
#[test]
fn a3_left_while_off_is_uncertain() {
    let away = || vec![Stay(-4.0, 5, 1.0, IN), PowerCut(20.0, 7190.0), Stay(7200.0, 5, 1.0, OUT_E)];
    let gone = "transition_uncertain S inside=false uncertain at=none from=-2 to=7200 by=7202 \
                gap=power gap_from=-2 gap_to=7200 powered=7189.8 visit=3";
    let first = "initialised S inside=true";
    for (back, by) in [(Stay(7207.0, 3, 1.0, IN), 7209.0), (Stay(7207.0, 5, 3.0, IN), 7219.0)] {
        let entry = format!("entry S inside=true observed from=7204 to=7207 by={by} fixes=3");
        let mut timeline = away();
        timeline.push(back);
        check("A3", &s(), &timeline, &[first, gone, &entry]);
    }
    let timeline = [
        Stay(-4.0, 5, 1.0, IN),
        PowerCut(20.0, 7190.0),
        Stay(7200.0, 5, 3.0, OUT_E),
        Stay(7215.0, 3, 3.0, IN),
    ];
    let gone = "transition_uncertain S inside=false uncertain at=none from=-2 to=7200 gap=power";
    let entry = "entry S inside=true observed from=7212 to=7215 by=7221 fixes=3";
    check("A3, 3 s apart", &s(), &timeline, &[first, gone, entry]);
}

/// A4 (BRK-1): came while off, for two hours and for ninety seconds.
#[test]
fn a4_came_while_off() {
    let timeline = [
        Stay(-9.0, 10, 1.0, OUT_E),
        Wait(20.0),
        Stop(20.0),
        PowerCut(22.0, 7190.0),
        Stay(7200.0, 5, 1.0, IN),
    ];
    let want = ["transition_uncertain S inside=true uncertain at=none from=0 to=7200 by=7202 \
                 gap=power gap_from=0 gap_to=7200"];
    let mut gateway = check("A4", &s(), &timeline, &want);
    assert_eq!(reconciled(&mut gateway).last().unwrap().uncertain, 1);
    let timeline = [
        Stay(-9.0, 10, 1.0, OUT_E),
        Wait(20.0),
        Stop(20.0),
        PowerCut(22.0, 80.0),
        Stay(90.0, 5, 1.0, IN),
    ];
    let want = ["entry S inside=true inferred from=0 to=90 by=92 gap=power gap_from=0 gap_to=90"];
    let mut gateway = check("A4 after 90 s", &s(), &timeline, &want);
    assert_eq!(reconciled(&mut gateway).last().unwrap().inferred, 1);
    // The same with the daemon alone gone: the cause says so.
    let timeline =
        [Stay(-9.0, 10, 1.0, OUT_E), Wait(20.0), Stop(20.0), Crash(30.0), Stay(90.0, 5, 1.0, IN)];
    let want = ["entry S inside=true inferred from=0 to=90 gap=restart gap_from=0 gap_to=90"];
    check("A4, restarts only", &s(), &timeline, &want);
}

/// A6 (PAIR-6): installed while inside.
#[test]
fn a6_first_install_inside_is_no_entry() {
    let want = ["initialised S inside=true by=2 fixes=3"];
    let mut gateway = check("A6", &s(), &[Stay(0.0, 5, 1.0, IN)], &want);
    let said = &reconciled(&mut gateway)[0];
    assert_eq!((said.initialised_inside, said.initialised_outside), (1, 0));
    assert_eq!(said.silence_s, None);
}

/// A7 (PAIR-6): never crossed is outside, not unknown, and counted.
#[test]
fn a7_first_install_outside_is_counted() {
    let layers = layer(1, &[square(""), circle()]);
    let mut gateway = check("A7", &layers, &[Stay(0.0, 5, 1.0, OUT_E)], &[]);
    assert_eq!(reconciled(&mut gateway)[0].initialised_outside, 2);
    // That it is outside is known: who comes then enters.
    let timeline = [Stay(0.0, 5, 1.0, OUT_E), Stay(8.0, 5, 1.0, IN)];
    check("A7, then in", &layers, &timeline, &["entry C observed by=10", "entry S observed by=10"]);
    let known = gateway.life().engine.asset_status(BootTime::from_nanos(0));
    assert!(!known[0].evaluating && known[0].inside.is_empty(), "A7: outside, not unknown");
    // Near enough to have a pair of its own, and all the same outside.
    let near = (48.0005, 11.0024);
    let mut gateway = check("A7 near", &layers, &[Stay(0.0, 5, 1.0, near)], &[]);
    assert_eq!(reconciled(&mut gateway)[0].initialised_outside, 2);
    // On the line: a minute of Unsure fixes.
    let mut gateway = check("A7 line", &layers, &[Stay(0.0, 80, 1.0, EDGE_OUT)], &[]);
    assert_eq!(reconciled(&mut gateway)[0].initialised_outside, 2);
}

/// A10: stop and start.
#[test]
fn a10_stop_and_start_say_nothing() {
    let timeline = [Stay(0.0, 5, 1.0, IN), Stop(10.0), Stay(12.0, 9, 1.0, IN), Stop(30.0)];
    let mut gateway = check("A10", &s(), &timeline, &["initialised S inside=true"]);
    let starts = of_kind(&mut gateway, Kind::GatewayStarted);
    let causes: Vec<String> =
        starts.iter().map(|e| e.body.start.as_ref().unwrap().cause.clone()).collect();
    assert_eq!(causes, ["first", "clean", "clean"]);
}

/// A13 (FIX-4, PAIR-1): a slow tracker; one that slows down at the gate; one long gap.
#[test]
fn a13_slow_trackers_confirm() {
    let timeline = [Stay(0.0, 7, 600.0, OUT_E), Stay(4200.0, 6, 600.0, IN)];
    check("A13 slow", &s(), &timeline, &["entry S observed by=5400"]);

    let timeline = [Stay(0.0, 20, 1.0, OUT_E), Stay(23.0, 6, 120.0, IN)];
    check("A13 at the gate", &s(), &timeline, &["entry S observed by=503"]);

    // A gap of two hours, then 1 Hz: the deadline of a vote is still 4.5 s.
    let timeline = [
        Stay(0.0, 20, 1.0, OUT_E),
        Stay(7200.0, 5, 1.0, OUT_E),
        Fix(7207.0, IN),
        Fix(7208.0, IN),
        Fix(7212.0, IN),
        Fix(7213.0, IN),
        Fix(7214.0, IN),
    ];
    check("A13 one gap", &s(), &timeline, &["entry S observed by=7214"]);
}

/// A14 (BRK-2): power off in the depot overnight, first fix outside the gate.
#[test]
fn a14_cold_start_outside_the_gate() {
    let (off, on) = (600.0, 43_200.0);
    let mut timeline = vec![Stay(0.0, 60, 1.0, IN), Stop(off), PowerCut(off + 2.0, on)];
    let drive = || Stay(on + 40.0, 5, 1.0, OUT_E);
    let want = |cause: &str, at: f64| {
        format!(
            "transition_uncertain S inside=false at=none from=59 to={} gap={cause} gap_from=59 \
             gap_to={} powered={at}",
            on + 40.0,
            on + 40.0
        )
    };
    let first = "initialised S";
    timeline.push(drive());
    check("A14", &s(), &timeline, &[first, &want("power", on - 0.2)]);
    // The daemon may stumble before the first fix: the power was off all the same.
    timeline.pop();
    timeline.extend((0..12).map(|i| Crash(on + 7.0 + f64::from(i) * 2.0)));
    timeline.push(drive());
    check("A14 and crashes", &s(), &timeline, &[first, &want("power", on - 0.2)]);
}

/// A15 (STO-6): a store that the next release wrote, then this one again: it goes on, the visit
/// with it, and repeats nothing.
#[test]
fn a15_rolled_back_to_this_release_repeats_nothing() {
    let mut gateway = check("A15", &s(), &[Stay(0.0, 5, 1.0, IN)], &["initialised S inside=true"]);
    let before = gateway.events();
    gateway.stop_and(20.0, later_release);
    let stay = (0..5).map(|i| (30.0 + f64::from(i), IN));
    let leave = (0..5).map(|i| (40.0 + f64::from(i), OUT_E));
    for (t, place) in stay.chain(leave) {
        gateway.hear(t + 0.2, record(VAN, t, place, Some(3.0)));
    }
    gateway.pass(60.0);
    gateway.commit();
    let events = gateway.events();
    assert_eq!(events[..before.len()], before, "what was said stands");
    let after: Vec<_> = events[before.len()..].iter().filter(|e| e.body.inside.is_some()).collect();
    assert_eq!(after.len(), 1, "{after:#?}");
    let visit = before.iter().find_map(|event| event.body.visit.clone());
    assert!(visit.is_some());
    assert_eq!((after[0].body.inside, &after[0].body.visit), (Some(false), &visit));
}

/// What a later step of this major does to a store: it only adds (STO-6).
fn later_release(store: &Path) {
    let conn = rusqlite::Connection::open(store).unwrap();
    let adds = "ALTER TABLE pair ADD COLUMN later TEXT;
        ALTER TABLE asset ADD COLUMN later INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE event ADD COLUMN later TEXT;
        CREATE TABLE later (one INTEGER PRIMARY KEY) STRICT;
        UPDATE pair SET later = 'x', state = json_set(state, '$.later', 1, '$.pair.later', 1);
        UPDATE asset SET later = 1, state = json_set(state, '$.later', 1, '$.crossing.later', 1);
        UPDATE event SET body = json_set(body, '$.later', 1);
        PRAGMA user_version = 1999;";
    conn.execute_batch(adds).unwrap();
}
