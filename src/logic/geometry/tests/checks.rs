//! What is refused, what is repaired, and where it says so.

use super::*;

type Points<'a> = &'a [(f64, f64)];

fn draw(parts: &[&[Points<'_>]]) -> Result<Drawn, Vec<ShapeFault>> {
    let place = |&(lon, lat): &(f64, f64)| at(lon, lat);
    let rings = |part: &&[Points<'_>]| {
        part.iter().map(|r| r.iter().map(place).collect()).collect::<Vec<Vec<Position>>>()
    };
    Shape::polygons(&parts.iter().map(rings).collect::<Vec<_>>())
}

const SQUARE: Points<'_> = &[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0), (0.0, 0.0)];
const HOLE: Points<'_> = &[(1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (2.0, 1.0), (1.0, 1.0)];

fn refused(parts: &[&[Points<'_>]], right: &[&str]) {
    let faults = draw(parts).expect_err(right[0]);
    let found: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert_eq!(found.len(), right.len(), "{found:#?}");
    for (found, right) in found.iter().zip(right) {
        assert!(found.contains(right), "{found} lacks {right}");
    }
}

/// F5 and its kind: a boundary that passes through itself, at an edge or at a vertex.
#[test]
fn f5_a_boundary_that_crosses_itself_is_refused() {
    let bow_tie: Points<'_> = &[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0), (0.0, 0.0)];
    refused(
        &[&[bow_tie]],
        &["part 0, ring 0, vertex 0 at 1, 1: the edge from this vertex crosses"],
    );
    let skewed: Points<'_> = &[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (0.0, 2.0), (-1.0, 1.5)];
    refused(
        &[&[skewed]],
        &[
            "part 0, ring 0, vertex 0 at 1, 1: the edge from this vertex crosses the edge from vertex 2",
        ],
    );
    let by_vertex: Points<'_> = &[(0.0, 0.0), (2.0, 2.0), (2.0, 0.0), (1.0, 1.0), (-1.0, 3.0)];
    refused(&[&[by_vertex]], &["at 1, 1: the edge from this vertex crosses"]);
    let both: Points<'_> =
        &[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (2.0, 0.0), (1.0, 1.0), (-1.0, 3.0)];
    refused(&[&[both]], &["at 1, 1: the edge from this vertex crosses"]);
}

#[test]
fn bad_rings_are_refused() {
    refused(&[], &["no ring"]);
    refused(&[&[]], &["no ring"]);
    refused(&[&[&[]]], &["0 different points"]);
    refused(&[&[&[(1.0, 1.0), (2.0, 2.0), (1.0, 1.0)]]], &["different points"]);
    refused(&[&[&[(1.0, 1.0), (1.0, 1.0), (1.0, 1.0), (1.0, 1.0)]]], &["1 different points"]);
    refused(&[&[&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]]], &["no area"]);
    let band: Points<'_> = &[(-180.0, 0.0), (-60.0, 0.0), (60.0, 0.0), (180.0, 1.0)];
    refused(&[&[band]], &["goes round a pole"]);
}

#[test]
fn holes_and_parts_lie_where_they_may() {
    let off: Points<'_> = &[(5.0, 1.0), (5.0, 2.0), (6.0, 2.0)];
    let across: Points<'_> = &[(3.0, 1.0), (3.0, 2.0), (5.0, 2.0)];
    let within_hole: Points<'_> = &[(1.2, 1.2), (1.2, 1.8), (1.8, 1.8)];
    refused(&[&[SQUARE, off]], &["part 0, ring 1: is a hole that lies outside"]);
    refused(&[&[SQUARE, across]], &["crosses the edge", "crosses the edge"]);
    refused(&[&[SQUARE, HOLE, within_hole]], &["lies in hole part 0, ring 1"]);
    refused(&[&[SQUARE], &[HOLE]], &["part 1, ring 0: lies within part 0"]);
    refused(&[&[SQUARE], &[SQUARE]], &["runs along"; 4]);
    let island = draw(&[&[SQUARE, HOLE], &[within_hole]]).unwrap().shape;
    for (lon, lat, inside) in [(0.5, 0.5, true), (1.1, 1.5, false), (1.4, 1.6, true)] {
        assert_eq!(island.locate(at(lon, lat)).inside, inside, "{lon} {lat}");
    }
}

fn repaired(parts: &[&[Points<'_>]], right: &[SlipKind]) -> Shape {
    let drawn = draw(parts).unwrap();
    let found: Vec<SlipKind> = drawn.slips.iter().map(|s| s.kind).collect();
    assert_eq!(found, right);
    drawn.shape
}

#[test]
fn slips_are_repaired_and_reported() {
    use SlipKind::{Repeated, SharedEdge, Spike, Touch, Unclosed, Winding};
    let plain = repaired(&[&[SQUARE]], &[]);
    assert_eq!(plain, repaired(&[&[&SQUARE[..4]]], &[Unclosed]));
    let repeats: Points<'_> =
        &[(0.0, 0.0), (0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0), (0.0, 0.0), (0.0, 0.0)];
    assert_eq!(plain, repaired(&[&[repeats]], &[Repeated]));
    let spike: Points<'_> =
        &[(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (4.0, 6.0), (4.0, 4.0), (0.0, 4.0), (0.0, 0.0)];
    assert_eq!(plain, repaired(&[&[spike]], &[Repeated, Spike]));
    let spike_at_start: Points<'_> =
        &[(0.0, -2.0), (0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0), (0.0, -2.0)];
    repaired(&[&[spike_at_start]], &[Spike]);
    let turned: Vec<(f64, f64)> = SQUARE.iter().rev().copied().collect();
    repaired(&[&[&turned]], &[Winding]);
    let touching: Points<'_> = &[(0.0, 2.0), (2.0, 3.0), (2.0, 1.0), (0.0, 2.0)];
    repaired(&[&[SQUARE, touching]], &[Touch]);
    let beside: Points<'_> = &[(4.0, 0.0), (8.0, 0.0), (8.0, 4.0), (4.0, 4.0), (4.0, 0.0)];
    let both = repaired(&[&[SQUARE], &[beside]], &[Touch, SharedEdge]);
    assert!(both.locate(at(4.0, 2.0)).inside);
}

/// The sweep finds exactly the pairs that a look at every pair finds.
#[test]
fn inv_6_sweep_finds_a_crossing_where_one_is() {
    use geo::Validation;
    let mut chance = Chance(3);
    let (mut valid, mut crossed) = (0, 0);
    for round in 0..400 {
        let n = 4 + round % 60;
        let mut points = star(&mut chance, 7.0, 45.0, 0.5, n);
        if round % 2 == 0 {
            let (i, k) = (chance.next() as usize % n, chance.next() as usize % n);
            points.swap(i, k);
        }
        let on_grid = |v: f64| (v * 1e7).round() / 1e7;
        let line: Vec<(f64, f64)> = points.iter().map(|p| (on_grid(p.0), on_grid(p.1))).collect();
        let oracle = geo::Polygon::new(geo::LineString::from(line.clone()), vec![]).is_valid();
        let found = draw(&[&[&line]]);
        assert_eq!(found.is_ok(), oracle, "round {round}, seed 3: {found:?}");
        *(if oracle { &mut valid } else { &mut crossed }) += 1;
    }
    assert!(valid > 100 && crossed > 100, "{valid} {crossed}");
}
