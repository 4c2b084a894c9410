//! Random shapes against plain loops and `geo` (INV-6). Seeds are in the messages.

use geo::{Contains, Distance, Euclidean};
use proptest::prelude::*;

use super::*;

/// The signed distance by the plainest code: every edge, every time.
fn naive(rings: &[Vec<(f64, f64)>], p: Position) -> (bool, f64) {
    let frame = ground::Frame::at(p.lat_deg());
    let (mut odd, mut best_m) = (false, f64::INFINITY);
    for ring in rings {
        for (i, &a) in ring.iter().enumerate() {
            let b = ring[(i + 1) % ring.len()];
            let metres = |v: (f64, f64)| frame.offset_m(p, at(v.0, v.1));
            let ((ax, ay), (bx, by)) = (metres(a), metres(b));
            if (ay > 0.0) != (by > 0.0) && ax - ay * (bx - ax) / (by - ay) > 0.0 {
                odd = !odd;
            }
            let line = geo::Line::new((ax, ay), (bx, by));
            best_m = best_m.min(Euclidean.distance(&line, &geo::Point::new(0.0, 0.0)));
        }
    }
    (odd, if odd { -best_m } else { best_m })
}

fn snapped(ring: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let snap = |v: f64| (v * 1e7).round() / 1e7;
    ring.into_iter().map(|(lon, lat)| (snap(lon), snap(lat))).collect()
}

fn compare(seed: u64, vertices: usize, lon: f64, lat: f64) {
    let mut chance = Chance(seed);
    let outer = snapped(star(&mut chance, lon, lat, 0.05, vertices));
    let hole = snapped(star(&mut chance, lon + 0.002, lat, 0.012, (vertices / 2).max(3)));
    let shape = polygon(&[&outer, &hole]);
    let as_geo = |ring: &[(f64, f64)]| geo::LineString::from(ring.to_vec());
    let oracle = geo::Polygon::new(as_geo(&outer), vec![as_geo(&hole)]);
    let rings = [outer, hole];
    for _ in 0..60 {
        let p = at(lon + chance.between(-0.06, 0.06), lat + chance.between(-0.06, 0.06));
        let found = shape.locate(p);
        let (inside, distance_m) = naive(&rings, p);
        let near = distance_m.abs() < 1e-3;
        assert!(near || found.inside == inside, "seed {seed}, {vertices} vertices, {p:?}");
        assert!(near || oracle.contains(&geo::Point::new(p.lon_deg(), p.lat_deg())) == inside);
        let off_m = (found.distance_m - distance_m).abs();
        assert!(off_m < 1e-3, "seed {seed}, {vertices} vertices, {p:?}: off by {off_m} m");
        assert_eq!(found.hole_depth_m.is_some(), !inside && found_in_hole(&rings[1], p));
    }
    crossings(seed, &mut chance, &shape, lon, lat);
}

fn found_in_hole(hole: &[(f64, f64)], p: Position) -> bool {
    naive(&[hole.to_vec()], p).0
}

/// The way is outside before the first fraction and after the last, inside just between.
fn crossings(seed: u64, chance: &mut Chance, shape: &Shape, lon: f64, lat: f64) {
    for _ in 0..20 {
        let mut any = || (lon + chance.between(-0.06, 0.06), lat + chance.between(-0.06, 0.06));
        let (a, b) = (any(), any());
        let on_way = |t: f64| at(a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1));
        let steps = (0..=500).map(|k| f64::from(k) / 500.0);
        let inside: Vec<f64> = steps.filter(|&t| shape.locate(on_way(t)).inside).collect();
        let found = shape.crossing(at(a.0, a.1), at(b.0, b.1));
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { continue };
        let (t0, t1) = found.unwrap_or_else(|| panic!("seed {seed}: {a:?} {b:?}"));
        assert!(t0 <= *first + 1e-9 && *last - 1e-9 <= t1, "seed {seed}: {t0} {first} {last} {t1}");
        for (t, inner) in [(t0, t0 + 1e-7), (t1, t1 - 1e-7)] {
            let edge = t > 0.0 && t < 1.0;
            assert!(!edge || shape.locate(on_way(t)).distance_m.abs() < 0.05, "seed {seed} {t}");
            assert!(!edge || shape.locate(on_way(inner)).distance_m < 0.05, "seed {seed} {t}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn inv_6_shapes_answer_as_plain_loops(
        seed in any::<u64>(), vertices in 3_usize..900, lon in -179.0..179.0, lat in -80.0..80.0,
    ) {
        compare(seed, vertices, lon, lat);
    }

    #[test]
    fn nothing_drawn_panics(
        points in prop::collection::vec((-180.0..=180.0, -90.0..=90.0), 0..12),
        p in (-180.0..=180.0, -90.0..=90.0),
    ) {
        let points: Vec<Position> = points.iter().map(|&(lon, lat)| at(lon, lat)).collect();
        if let Ok(drawn) = Shape::polygons(&[vec![points.clone()]]) {
            let found = drawn.shape.locate(at(p.0, p.1));
            prop_assert!(found.distance_m.is_finite());
            prop_assert!(!found.inside || drawn.shape.bounds().contains(at(p.0, p.1)));
        }
        if let Ok(drawn) = Shape::corridor(&points, 100.0) {
            prop_assert!(drawn.shape.locate(at(p.0, p.1)).distance_m.is_finite());
        }
    }
}
