//! INV-6: the index answers as its naive twin, and never misses a zone that is near.

use super::*;

fn some_bounds(chance: &mut Chance, n: usize) -> Vec<Bounds> {
    let one = |_| {
        let (lon, lat) = (chance.between(-180.0, 180.0), chance.between(-89.0, 89.0));
        // Mostly small, a few as large as a continent.
        let size = 10_f64.powf(chance.between(-4.0, 1.6));
        let north = (lat + chance.between(0.0, size)).min(90.0);
        Bounds { south: lat, north, west: lon, east: lon + chance.between(0.0, size) }
    };
    (0..n).map(one).collect()
}

#[test]
fn inv_6_index_answers_as_its_twin() {
    for (seed, n) in [(1, 0), (2, 1), (3, 16), (4, 17), (5, 300), (6, 5_000)] {
        let mut chance = Chance(seed);
        let all = some_bounds(&mut chance, n);
        let index = Index::build(all.iter().copied());
        let twin = NaiveIndex::build(all.iter().copied());
        let (mut found, mut right) = (vec![9], Vec::new());
        for _ in 0..300 {
            let p = at(chance.between(-180.0, 180.0), chance.between(-90.0, 90.0));
            let reach_m = 10_f64.powf(chance.between(0.0, 6.0));
            index.near(p, reach_m, &mut found);
            twin.near(p, reach_m, &mut right);
            assert_eq!(found, right, "seed {seed}, {p:?}, {reach_m}");
            let lon = ground::wrap_deg(p.lon_deg() + chance.between(-3.0, 3.0));
            let q = at(lon, (p.lat_deg() + chance.between(-1.0, 1.0)).clamp(-90.0, 90.0));
            index.along(p, q, &mut found);
            twin.along(p, q, &mut right);
            assert_eq!(found, right, "seed {seed}, {p:?} {q:?}");
        }
    }
}

/// Whatever lies within reach is found: circles all over the globe, poles and ±180 included.
#[test]
fn near_finds_all_within_reach() {
    let mut chance = Chance(21);
    let circle = |_| {
        let lon = [chance.between(-180.0, 180.0), 179.99, -179.99][chance.next() as usize % 3];
        let lat = [chance.between(-90.0, 90.0), 89.99, 48.0][chance.next() as usize % 3];
        Shape::circle(at(lon, lat), 10_f64.powf(chance.between(0.0, 5.0))).unwrap()
    };
    let shapes: Vec<Shape> = (0..400).map(circle).collect();
    let index = Index::build(shapes.iter().map(Shape::bounds));
    let mut found = Vec::new();
    for _ in 0..400 {
        let lon = [chance.between(-180.0, 180.0), 180.0, -180.0][chance.next() as usize % 3];
        let lat = [chance.between(-90.0, 90.0), 89.98, 48.01][chance.next() as usize % 3];
        let reach_m = 10_f64.powf(chance.between(1.0, 5.0));
        index.near(at(lon, lat), reach_m, &mut found);
        for (id, shape) in (0..).zip(&shapes) {
            let near = shape.locate(at(lon, lat)).distance_m < reach_m;
            assert!(!near || found.contains(&id), "{lon} {lat} {reach_m} {id}");
        }
    }
}
