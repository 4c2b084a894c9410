//! Shapes and changes of layers: FIELD F and G, LAY-1, PAIR-6.

use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::event::Kind;
use geofenced::logic::zones::Layer;

use crate::harness::{feature, layer, named_layer};
use crate::timeline::*;

fn v(version: u64, features: &[String]) -> Vec<Arc<Layer>> {
    layer(version, features)
}

/// F4 (OBS-1): in and out of a hole is an exit and an entry, with hysteresis there too.
#[test]
fn f4_holes() {
    let holes = r#"{"type":"Polygon","coordinates":[
        [[11.0,48.0],[11.002,48.0],[11.002,48.001],[11.0,48.001],[11.0,48.0]],
        [[11.0008,48.0004],[11.0012,48.0004],[11.0012,48.0006],[11.0008,48.0006],[11.0008,48.0004]],
        [[11.0014,48.0006],[11.0018,48.0006],[11.0018,48.0009],[11.0014,48.0009],[11.0014,48.0006]]
    ]}"#;
    let layers = v(1, &[feature("H", holes, "")]);
    let (ground, hole) = ((48.0002, 11.0010), (48.0005, 11.0010));
    let (first, second) = ("initialised H", "entry H inside=true");
    let exit = "exit H inside=false observed";
    for hole in [hole, (48.00075, 11.0016)] {
        let timeline = [
            Stay(0.0, 5, 1.0, ground),
            Move(6.0, 9, 1.0, ground, hole),
            Stay(20.0, 5, 1.0, hole),
            Move(30.0, 9, 1.0, hole, ground),
            Stay(40.0, 5, 1.0, ground),
        ];
        check("F4", &layers, &timeline, &[first, exit, second]);
    }
    // A metre into the hole and back, for a while: nothing.
    let rim = |i: i32| (if i % 2 == 0 { 48.00041 } else { 48.00039 }, 11.0010);
    let mut timeline = vec![Stay(0.0, 5, 1.0, ground)];
    timeline.extend((0..60).map(|i| Fix(10.0 + f64::from(i), rim(i))));
    timeline.extend((0..60).map(|i| Fix(80.0 + f64::from(i), rim(0))));
    check("F4 rim", &layers, &timeline, &[first]);
}

/// F7: across a large circle at each latitude: in after 990, out after 1010 metres.
#[test]
fn f7_circles() {
    for lat in [0.0, 48.0, 70.0, 85.0_f64] {
        let geometry = format!(r#"{{"type":"Point","coordinates":[11.0,{lat:.1}]}}"#);
        let layers = v(1, &[feature("C", &geometry, r#""radius_m":1000"#)]);
        // Degrees to the metre on WGS84, good to a metre here.
        let e2 = 0.006_694_38;
        let sine = lat.to_radians().sin();
        let normal = 6_378_137.0 / (1.0 - e2 * sine * sine).sqrt();
        let meridian = normal * (1.0 - e2) / (1.0 - e2 * sine * sine);
        let east = |m: f64| (lat, 11.0 + (m / (normal * lat.to_radians().cos())).to_degrees());
        let north = |m: f64| (lat + (m / meridian).to_degrees(), 11.0);
        for name in ["east", "north"] {
            let way = |m: f64| if name == "east" { east(m) } else { north(m) };
            // 10 m/s inwards and out again: 1000 m from the centre at 20.5 s and at 59.5 s.
            let mut inward: Vec<Do> =
                (-6..40).map(|i| Fix(f64::from(i), way(1205.0 - 10.0 * f64::from(i)))).collect();
            inward
                .extend((40..80).map(|i| Fix(f64::from(i), way(805.0 + 10.0 * f64::from(i - 40)))));
            let mut gateway = play(&layers, &Decide::default(), &inward);
            let events = fences(&mut gateway);
            assert_eq!(events.len(), 2, "F7 {lat} {name}: in and out");
            for (event, want) in events.iter().zip([20.5, 59.5]) {
                let at = crate::harness::second(event.body.at.unwrap());
                assert!((at - want).abs() < 0.5, "F7 {lat} {name}: {at} is not {want}");
            }
        }
    }
}

/// F8: across both legs of a corridor, its half width 25 m.
#[test]
fn f8_corridor() {
    let line = r#"{"type":"LineString","coordinates":[[11.0,48.0],[11.01,48.0],[11.01,48.0],
        [11.01,48.01]]}"#;
    let layers = v(1, &[feature("K", line, r#""width_m":50"#)]);
    // 1e-4 degrees are 11.12 m to the north and 7.45 m to the east here.
    let first = [
        Stay(-6.0, 6, 1.0, (47.999, 11.005)),
        Move(0.0, 41, 1.0, (47.999, 11.005), (48.001, 11.005)),
    ];
    let want = ["entry K observed at=15.5", "exit K observed at=24.5"];
    check("F8 first leg", &layers, &first, &want);
    let second = [
        Stay(-6.0, 6, 1.0, (48.005, 11.0085)),
        Move(0.0, 41, 1.0, (48.005, 11.0085), (48.005, 11.0115)),
    ];
    let want = ["entry K observed at=15.53", "exit K observed at=24.47"];
    check("F8 second leg", &layers, &second, &want);
    // Past the cap, and outside the bend.
    let cap = [Stay(-6.0, 6, 1.0, (48.0, 10.998)), Stay(0.0, 20, 1.0, (48.0, 10.9995))];
    check("F8 cap", &layers, &cap, &[]);
    let bend = [Stay(-6.0, 6, 1.0, (47.999, 11.012)), Stay(0.0, 20, 1.0, (47.9998, 11.0103))];
    check("F8 bend", &layers, &bend, &[]);
}

/// G1 (PAIR-6): a zone drawn round a parked vehicle.
#[test]
fn g1_drawn_round_a_parked_vehicle() {
    let far = feature("F", &ring(12.0, 48.0), "");
    for before in [v(1, std::slice::from_ref(&far)), v(1, &[]), vec![]] {
        let timeline = [
            Stay(0.0, 5, 1.0, IN),
            Layers(10.0, v(2, &[far.clone(), square("")])),
            Stay(20.0, 5, 1.0, IN),
        ];
        let want = ["initialised S inside=true layer by=22"];
        let mut gateway = check("G1", &before, &timeline, &want);
        let activated = of_kind(&mut gateway, Kind::LayerActivated);
        let last = activated.last().map(|event| event.body.layer_version);
        assert_eq!(last, Some(Some(2)), "G1");
    }
}

/// G2: removed while inside.
#[test]
fn g2_removed_while_inside() {
    let timeline = [
        Stay(0.0, 5, 1.0, IN),
        Layers(10.0, v(2, &[circle()])),
        Stay(20.0, 5, 1.0, IN),
        Layers(30.0, vec![]),
        Stay(40.0, 5, 1.0, IN),
        Layers(50.0, v(1, &[square("")])),
        Stay(60.0, 5, 1.0, IN),
    ];
    let want = [
        "initialised S inside=true visit=3",
        "retired S inside=false zone_removed visit=3",
        "initialised C inside=true layer",
        "retired C inside=false zone_removed",
        // A layer that comes back under its old name is drawn anew.
        "initialised S inside=true layer",
    ];
    check("G2", &v(1, &[square("")]), &timeline, &want);
}

/// G4: moved under the same id: the visit is retired, the new shape begins from scratch.
#[test]
fn g4_moved_under_the_same_id() {
    let moved = feature("S", &ring(11.02, 48.0), "");
    let timeline = [
        Stay(0.0, 5, 1.0, IN),
        Layers(10.0, v(2, &[moved])),
        Stay(20.0, 5, 1.0, IN),
        Fix(60.0, (48.0005, 11.0210)),
        Stay(61.0, 5, 1.0, (48.0005, 11.0210)),
    ];
    let want = [
        "initialised S inside=true visit=3",
        "retired S inside=false zone_redrawn visit=3",
        "entry S inside=true observed by=62",
    ];
    check("G4", &v(1, &[square("")]), &timeline, &want);
}

/// LAY-1: redrawn with the vehicle inside both: the visit goes on.
#[test]
fn lay_1_redrawn_round_the_vehicle() {
    let wider = r#"{"type":"Polygon","coordinates":[[[11.0,48.0],[11.0025,48.0],[11.0025,48.001],
        [11.0,48.001],[11.0,48.0]]]}"#;
    let timeline = [
        Stay(0.0, 5, 1.0, IN),
        Layers(10.0, v(2, &[feature("S", wider, "")])),
        Stay(20.0, 5, 1.0, IN),
        Stay(24.0, 9, 1.0, (48.0005, 11.0022)),
        Stay(36.0, 5, 1.0, OUT_E),
    ];
    let want = [
        "initialised S inside=true visit=3",
        "redrawn S visit=3",
        "exit S inside=false observed visit=3 by=38",
    ];
    check("redrawn", &v(1, &[square("")]), &timeline, &want);
}

/// LAY-1: edits of margins, confirm and dwell keep membership and visit and drop votes; a new
/// name does nothing at all.
#[test]
fn lay_1_edits() {
    let edits = [
        r#""exit_margin_m":12"#,
        r#""enter_margin_m":1"#,
        r#""confirm_for":"2100ms""#,
        r#""dwell":"1h""#,
        r#""confirm":4"#,
    ];
    for edit in edits {
        let timeline = [
            Stay(0.0, 5, 1.0, IN),
            Stay(7.0, 2, 1.0, OUT_E),
            Layers(9.0, v(2, &[square(edit)])),
            Fix(11.0, OUT_E),
            Fix(15.0, IN),
        ];
        check(edit, &v(1, &[square("")]), &timeline, &["initialised S visit=3"]);
    }
    let timeline = [
        Stay(0.0, 5, 1.0, IN),
        Stay(7.0, 2, 1.0, OUT_E),
        Layers(9.0, v(2, &[square(r#""name":"New", "tags":{"a":1}"#)])),
        Fix(11.0, OUT_E),
        Fix(15.0, IN),
    ];
    let want = ["initialised S visit=3", "exit S inferred visit=3 by=11 fixes=3"];
    check("name", &v(1, &[square("")]), &timeline, &want);
}

/// LAY-1: an edit of the rules drops the votes of a first evaluation too, and its minute of
/// Unsure fixes begins there.
#[test]
fn lay_1_edit_during_a_first_evaluation() {
    let timeline = [
        Stay(0.0, 40, 1.0, EDGE_OUT),
        Stay(55.0, 2, 1.0, EDGE_IN),
        Layers(58.0, v(2, &[square(r#""dwell":"1h""#)])),
        Stay(61.0, 5, 1.0, EDGE_OUT),
        Stay(70.0, 3, 1.0, EDGE_IN),
    ];
    check("edit", &v(1, &[square("")]), &timeline, &["initialised S by=72"]);
}

/// PAIR-6: a zone that has answered before the others has answered.
#[test]
fn pair_6_an_answer_counts_at_once() {
    let quick = || square(r#""confirm":1,"confirm_for":"0s""#);
    let near = (48.0005, 11.0024);
    for crash in [false, true] {
        let mut timeline = vec![Fix(0.0, EDGE_OUT), Fix(0.3, near), Fix(0.6, near), Fix(0.9, near)];
        if crash {
            timeline.push(Stop(1.3));
        }
        timeline.push(Fix(if crash { 3.0 } else { 1.2 }, (48.0005, 11.00195)));
        let layers = vec![named_layer("l", 1, &[quick(), circle()])];
        check("PAIR-6", &layers, &timeline, &["entry S inside=true"]);
    }
}
