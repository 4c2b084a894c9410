//! FIELD F1, F3, F4, F7, F8 and the rules DESIGN §3 gives for edges.

use geographiclib_rs::{DirectGeodesic, Geodesic, InverseGeodesic};

use super::*;

const S: [(f64, f64); 4] =
    [(11.0000, 48.0000), (11.0020, 48.0000), (11.0020, 48.0010), (11.0000, 48.0010)];
const N: [(f64, f64); 4] =
    [(11.0008, 48.0004), (11.0012, 48.0004), (11.0012, 48.0006), (11.0008, 48.0006)];
const N2: [(f64, f64); 4] =
    [(11.0014, 48.0006), (11.0018, 48.0006), (11.0018, 48.0009), (11.0014, 48.0009)];

fn close(found: f64, right: f64, within: f64) {
    assert!((found - right).abs() <= within, "{found} is not {right} ± {within}");
}

fn geodesic_m(a: Position, b: Position) -> f64 {
    Geodesic::wgs84().inverse(a.lat_deg(), a.lon_deg(), b.lat_deg(), b.lon_deg())
}

fn moved(from: Position, azimuth_deg: f64, m: f64) -> Position {
    let (lat, lon): (f64, f64) =
        Geodesic::wgs84().direct(from.lat_deg(), from.lon_deg(), azimuth_deg, m);
    at(lon, lat)
}

#[test]
fn ground_distance_is_the_geodesic_one() {
    let mut chance = Chance(7);
    for _ in 0..2_000 {
        let a = at(chance.between(-180.0, 180.0), chance.between(-90.0, 90.0));
        let reach_m = 10_f64.powf(chance.between(-1.0, 7.2));
        let b = moved(a, chance.between(-180.0, 180.0), reach_m);
        let right_m = geodesic_m(a, b);
        close(distance_m(a, b), right_m, if right_m < 1e5 { 0.02 } else { right_m * 0.006 });
        assert!(distance_at_most_m(a, b) >= distance_m(a, b), "{a:?} {b:?}");
    }
}

#[test]
fn frame_is_right_near_its_place() {
    for lat in [-85.0, -48.0, 0.0, 48.0, 70.0] {
        for azimuth in [0.0, 45.0, 90.0, 200.0] {
            let a = at(179.999, lat);
            let b = moved(a, azimuth, 500.0);
            let (east_m, north_m) = ground::Frame::at(lat).offset_m(a, b);
            close(east_m.hypot(north_m), 500.0, if lat.abs() > 80.0 { 0.3 } else { 0.06 });
        }
    }
}

/// F1: over the antimeridian as at longitude 0.
#[test]
fn f1_antimeridian() {
    let ring = [(179.9, -16.9), (-179.9, -16.9), (-179.9, -16.7), (179.9, -16.7)];
    let home = [(-0.1, -16.9), (0.1, -16.9), (0.1, -16.7), (-0.1, -16.7)];
    let (there, here) = (polygon(&[&ring]), polygon(&[&home]));
    for lon in [179.95, -179.95, 180.0, -180.0] {
        assert!(there.locate(at(lon, -16.8)).inside, "{lon}");
        assert!(there.bounds().contains(at(lon, -16.8)), "{lon}");
    }
    for lon in [0.0, 179.8, -179.8, 179.0] {
        assert!(!there.locate(at(lon, -16.8)).inside, "{lon}");
    }
    assert!(!there.bounds().contains(at(0.0, -16.8)));
    for (lon, lat) in [(0.05, -16.8), (-0.05, -16.71), (0.1, -16.8), (0.2, -16.8), (-0.1, -16.6)] {
        let (h, t) =
            (here.locate(at(lon, lat)), there.locate(at(ground::wrap_deg(lon + 180.0), lat)));
        assert_eq!(h.inside, t.inside, "{lon} {lat}");
        close(t.distance_m, h.distance_m, 1e-4);
    }
    let way = there.crossing(at(179.8, -16.8), at(-179.8, -16.8)).unwrap();
    close(way.0, 0.25, 1e-9);
    close(way.1, 0.75, 1e-9);
}

/// F3: right or refused with a reason.
#[test]
fn f3_pole() {
    let ring =
        ring(&[(-179.99999, 45.0), (-179.99999, 90.0), (179.99999, 90.0), (179.99999, 45.0)]);
    let faults = Shape::polygons(&[vec![ring]]).unwrap_err();
    assert!(faults[0].to_string().contains("goes round a pole"), "{}", faults[0]);
    // Drawn with corners at the pole and at ±180 it is right.
    let cap = polygon(&[&[
        (-180.0, -70.0),
        (-180.0, -90.0),
        (180.0, -90.0),
        (180.0, -70.0),
        (0.0, -60.0),
    ]]);
    for lon in [-180.0, -179.999, -90.0, 0.0, 90.0, 179.999, 180.0] {
        assert!(cap.locate(at(lon, -80.0)).inside, "{lon}");
        assert!(cap.locate(at(lon, -90.0)).inside, "{lon}");
        let up = cap.locate(at(lon, 90.0));
        assert!(!up.inside && up.distance_m.is_finite(), "{lon}");
    }
    let circle = Shape::circle(at(30.0, 89.999), 1_000.0).unwrap();
    assert!(circle.locate(at(-150.0, 89.9999)).inside);
    assert!(circle.bounds().contains(at(-150.0, 89.9999)));
}

/// F4: both centres outside, with their hole's depth; between them inside.
#[test]
fn f4_two_holes() {
    let shape = polygon(&[&S, &N, &N2]);
    for (lon, lat, half_m) in [(11.0010, 48.0005, 11.12), (11.0016, 48.00075, 14.92)] {
        let hole = shape.locate(at(lon, lat));
        assert!(!hole.inside);
        close(hole.hole_depth_m.unwrap(), half_m, 0.2);
        close(hole.distance_m, half_m, 0.05);
    }
    assert!(shape.locate(at(11.0013, 48.0005)).inside);
    assert_eq!(shape.locate(at(11.0040, 48.0005)).hole_depth_m, None);
    close(shape.locate(at(11.0040, 48.0005)).distance_m, 149.2, 0.1);
    let way = shape.crossing(at(10.9990, 48.0005), at(11.0030, 48.0005)).unwrap();
    close(way.0, 0.25, 1e-9);
    close(way.1, 0.75, 1e-9);
}

/// F7: circles at four latitudes, 990 and 1010 m off in every direction.
#[test]
fn f7_circles() {
    for lat in [0.0, 48.0, 70.0, 85.0] {
        let centre = at(11.0, lat);
        let circle = Shape::circle(centre, 1_000.0).unwrap();
        for azimuth in [0.0, 33.0, 90.0, 180.0, 270.0] {
            for (m, inside) in [(990.0, true), (1010.0, false), (0.0, true), (50_000.0, false)] {
                let located = circle.locate(moved(centre, azimuth, m));
                assert_eq!(located.inside, inside, "{lat} {azimuth} {m}");
                close(located.distance_m, m - 1_000.0, 0.005 * m + 1e-6);
            }
        }
        let (west, east) = (moved(centre, 270.0, 2_000.0), moved(centre, 90.0, 2_000.0));
        let way = circle.crossing(west, east).unwrap();
        close(way.0, 0.25, 1e-3);
        close(way.1, 0.75, 1e-3);
        assert_eq!(circle.crossing(east, moved(east, 90.0, 100.0)), None);
    }
}

/// F8: a corridor's legs, caps and bend; a repeated vertex.
#[test]
fn f8_corridor() {
    let line = [at(11.00, 48.00), at(11.01, 48.00), at(11.01, 48.00), at(11.01, 48.01)];
    let drawn = Shape::corridor(&line, 25.0).unwrap();
    assert_eq!(drawn.slips.len(), 1);
    let places = [
        (at(11.005, 48.0), 0.0),
        (at(11.005, 48.0), 180.0),
        (at(11.01, 48.005), 90.0),
        (at(11.01, 48.005), 270.0),
        (at(11.00, 48.0), 270.0),
        (at(11.01, 48.01), 0.0),
        (at(11.01, 48.0), 135.0),
    ];
    for (place, azimuth) in places {
        for (m, inside) in [(24.0, true), (26.0, false)] {
            let located = drawn.shape.locate(moved(place, azimuth, m));
            assert_eq!(located.inside, inside, "{place:?} {azimuth} {m}");
            close(located.distance_m, m - 25.0, 0.01);
            assert!(drawn.shape.bounds().contains(moved(place, azimuth, 25.0)));
        }
    }
    assert!(drawn.shape.locate(line[1]).distance_m.is_finite());
    let (south, north) =
        (moved(at(11.005, 48.0), 180.0, 100.0), moved(at(11.005, 48.0), 0.0, 100.0));
    let way = drawn.shape.crossing(south, north).unwrap();
    close(way.0, 0.375, 1e-4);
    close(way.1, 0.625, 1e-4);
    assert!(Shape::corridor(&[line[0], line[0]], 25.0).is_err());
}

/// Two squares that share longitude 11.002 and a triangle above share every place between them
/// exactly once, whichever way they are wound and wherever their own origin lies.
#[test]
fn edges_belong_to_exactly_one_neighbour() {
    let west = polygon(&[&S]);
    let east = polygon(&[&[(11.002, 48.001), (11.3, 48.001), (11.3, 48.0), (11.002, 48.0)]]);
    let north = polygon(&[&[(11.0, 48.001), (11.3, 48.001), (11.002, 48.2)]]);
    let parts = [&west, &east, &north];
    let owners = |p: Position| parts.iter().filter(|s| s.locate(p).inside).count();
    // A step across the shared edge at 0, 0.4, 0.5, 0.6 of 0.00001°.
    for (step, owner) in [(0.0, 0), (0.4, 0), (0.5, 1), (0.6, 1)] {
        let p = at(11.001_995 + step * 1e-5, 48.0005);
        assert!(parts[owner].locate(p).inside, "{step}");
        assert_eq!(owners(p), 1, "{step}");
    }
    let on_edge = at(11.002, 48.0005);
    assert_eq!((west.locate(on_edge).inside, east.locate(on_edge).inside), (false, true));
    assert_eq!(west.locate(on_edge).distance_m.abs(), 0.0);
    assert_eq!(east.locate(on_edge).distance_m.abs(), 0.0);
    for k in 0..=200 {
        let p = at(11.0 + 0.299_9 * f64::from(k) / 200.0, 48.001);
        assert_eq!(owners(p), 1, "{k}");
    }
}

/// A slanted edge between two zones, also where their origins differ much.
#[test]
fn slanted_edges_belong_to_exactly_one_neighbour() {
    let mut chance = Chance(11);
    for _ in 0..300 {
        let mut vertex = |lon: f64| (lon + chance.between(-0.3, 0.3), chance.between(-0.4, 0.4));
        let (a, b) = ((vertex(10.0).0, -0.5), (vertex(10.0).0, 0.5));
        let knee = vertex(10.0);
        let west = polygon(&[&[(5.0, -0.5), a, knee, b, (5.0, 0.5)]]);
        let east = polygon(&[&[(170.0, 0.5), b, knee, a, (170.0, -0.5)]]);
        for (from, to) in [(a, knee), (knee, b)] {
            for _ in 0..20 {
                let t = chance.between(0.0, 1.0);
                let p = at(from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
                let (w, e) = (west.locate(p), east.locate(p));
                assert!(w.inside != e.inside, "{p:?}");
                close(w.distance_m, 0.0, 0.02);
            }
        }
        for vertex in [a, knee] {
            let p = at(vertex.0, vertex.1);
            assert!(west.locate(p).inside != east.locate(p).inside, "{vertex:?}");
        }
    }
}

#[test]
fn depth_is_that_of_the_deepest_place() {
    close(polygon(&[&S]).greatest_depth_m(), 55.6, 0.6);
    close(Shape::circle(at(11.0, 48.0), 40.0).unwrap().greatest_depth_m(), 40.0, 0.0);
    let cut = polygon(&[
        &S,
        &[(11.0001, 48.0001), (11.0019, 48.0001), (11.0019, 48.0009), (11.0001, 48.0009)],
    ]);
    assert!((5.6..=5.75).contains(&cut.greatest_depth_m()), "{}", cut.greatest_depth_m());
}

#[test]
fn far_places_are_skipped_and_near_ones_are_not() {
    let shapes = [
        polygon(&[&S]),
        Shape::circle(at(11.001, 48.0005), 50.0).unwrap(),
        Shape::corridor(&[at(11.0, 48.0), at(11.002, 48.001)], 10.0).unwrap().shape,
    ];
    for shape in &shapes {
        for reach_m in [1.0, 50.0, 148.0, 200.0, 1_000.0] {
            for k in -40..40 {
                let p = at(11.001 + f64::from(k) * 1e-4, 48.0005);
                let (exact, some) = (shape.locate(p), shape.locate_within(p, reach_m));
                assert_eq!(some.is_none(), exact.distance_m >= reach_m, "{k} {reach_m}");
                assert!(some.is_none_or(|some| some == exact));
            }
        }
    }
}
