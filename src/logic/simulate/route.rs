//! Routes: drives that have to do with zones.
//!
//! Always holds: the same zones and chance give the same route. Does not know: receivers, rules.

use super::chance::Chance;
use super::drive::{Drive, beside, between};
use super::truth::crossings;
use crate::logic::geometry::ground::{Frame, wrap_deg};
use crate::logic::geometry::{Bounds, Shape, distance_m};
use crate::units::{EventTime, Position, Span};

/// So far from a boundary no margin and no accuracy reaches.
pub const CLEAR_M: f64 = 120.0;
/// A drive begins standing, long enough to be known outside of what it goes to.
const BEGINS_WITH: Span = Span::from_secs(30);
/// A zone wider than this is entered and left on the same side.
const WIDE_M: f64 = 2_000.0;

/// How a vehicle moves along its route.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// At one speed.
    Steady {
        /// Which.
        speed_mps: f64,
    },
    /// It moves a little and waits, over and over.
    StopAndGo {
        /// While it moves.
        speed_mps: f64,
    },
    /// It crosses boundaries slower than its noise moves.
    Creeping {
        /// Near a boundary.
        speed_mps: f64,
    },
}

/// Near a boundary, for one that creeps.
const CREEP_M: f64 = 25.0;
/// Away from one.
const CREEP_FREE_MPS: f64 = 8.0;

/// Which tour, and how long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tour {
    /// How the vehicle moves.
    pub pace: Pace,
    /// How far beside the middle of a zone it aims at most: 0 is through the middle, 1 along the
    /// edge, more is past it.
    pub aside: f64,
    /// How far away from a zone it turns, in metres.
    pub clear_m: f64,
    /// How long it takes.
    pub length: Span,
}

/// A drive through and past the zones: each about as often as any other, the near ones first.
pub fn tour(shapes: &[&Shape], tour: Tour, chance: &mut Chance) -> Drive {
    let length = tour.length;
    let Some(first) = shapes.get(chance.below(shapes.len())) else {
        return Drive::from(Position::new(48.15, 11.56).expect("a place on the globe"));
    };
    let mut drive = Drive::from(line(first, (0.0, tour.clear_m), chance).0);
    drive.wait(BEGINS_WITH);
    let mut last = None;
    let mut visits = vec![0_u32; shapes.len()];
    while drive.length() < length {
        let here = drive.end();
        let away = |ix: &usize| distance_m(here, middle(&shapes[*ix].bounds()));
        let others = (0..shapes.len()).filter(|ix| shapes.len() == 1 || last != Some(*ix));
        let next =
            others.min_by(|a, b| visits[*a].cmp(&visits[*b]).then(away(a).total_cmp(&away(b))));
        let Some(next) = next else { break };
        visits[next] += 1;
        last = Some(next);
        visit(&mut drive, shapes[next], tour, chance);
        // A way of no length takes no time: this ends all the same.
        drive.wait(Span::from_secs(1));
    }
    drive.end_at(length);
    drive
}

/// A drive up to the boundary of a shape, where it stands.
pub fn park_on_boundary(shape: &Shape, speed_mps: f64, length: Span, chance: &mut Chance) -> Drive {
    let (from, to) = line(shape, (0.0, CLEAR_M), chance);
    let mut past = Drive::from(from);
    past.go_to(to, speed_mps);
    let met = crossings(&past, EventTime::from_nanos(0), shape);
    let gate = met.first().map_or(between(from, to, 0.5), |crossing| crossing.place);
    let mut drive = Drive::from(along(gate, from, to, -CLEAR_M));
    drive.wait(BEGINS_WITH);
    drive.go_to(gate, speed_mps);
    drive.end_at(length);
    drive
}

/// One zone, through or past.
fn visit(drive: &mut Drive, shape: &Shape, tour: Tour, chance: &mut Chance) {
    let Tour { pace, aside, clear_m, .. } = tour;
    let offset = aside * chance.between(-1.0, 1.0);
    let (from, to) = line(shape, (offset, clear_m), chance);
    let way_m = distance_m(from, to);
    match shape.crossing(from, to) {
        Some((first, last)) => {
            let (entry, exit) = (between(from, to, first), between(from, to, last));
            let through_m = (last - first) * way_m;
            go(drive, along(entry, from, to, -clear_m), pace, false, chance);
            if through_m > WIDE_M {
                cross(drive, (entry, from, to), CREEP_M, pace, chance);
                go(drive, along(entry, from, to, clear_m), pace, false, chance);
                cross(drive, (entry, to, from), CREEP_M, pace, chance);
                go(drive, along(entry, from, to, -clear_m), pace, false, chance);
            } else {
                // In the middle of a small zone both its boundaries are near.
                let near_m = CREEP_M.min(0.5 * through_m);
                cross(drive, (entry, from, to), near_m, pace, chance);
                cross(drive, (exit, from, to), near_m, pace, chance);
                go(drive, along(exit, from, to, clear_m), pace, false, chance);
            }
        }
        None if way_m <= WIDE_M => {
            go(drive, from, pace, false, chance);
            go(drive, to, pace, false, chance);
        }
        None => {}
    }
}

/// Over a boundary at `gate`, in the direction from `from` to `to`; from `near_m` before it the
/// boundary is near.
fn cross(
    drive: &mut Drive,
    (gate, from, to): (Position, Position, Position),
    near_m: f64,
    pace: Pace,
    chance: &mut Chance,
) {
    go(drive, along(gate, from, to, -near_m), pace, false, chance);
    go(drive, along(gate, from, to, near_m), pace, true, chance);
}

/// On to a place, at the pace; near a boundary where `near` says so.
fn go(drive: &mut Drive, to: Position, pace: Pace, near: bool, chance: &mut Chance) {
    match pace {
        Pace::Steady { speed_mps } => drive.go_to(to, speed_mps),
        Pace::Creeping { speed_mps } => {
            drive.go_to(to, if near { speed_mps } else { CREEP_FREE_MPS });
        }
        Pace::StopAndGo { speed_mps } => {
            let from = drive.end();
            let way_m = distance_m(from, to);
            let mut gone_m = 0.0;
            while gone_m < way_m {
                gone_m += chance.between(10.0, 60.0);
                let share = (gone_m / way_m).min(1.0);
                drive.go_to(between(from, to, share), speed_mps);
                drive.wait(Span::from_secs_f64(chance.between(1.0, 20.0)));
            }
        }
    }
}

fn middle(bounds: &Bounds) -> Position {
    let lat = 0.5 * (bounds.south + bounds.north);
    let lon = wrap_deg(0.5 * (bounds.west + bounds.east));
    Position::new(lat.clamp(-90.0, 90.0), lon).expect("the middle of a box on the globe")
}

/// A line in any direction across the box of a shape, from `clear_m` before it to as much behind;
/// its distance from the middle is `offset` times half the box's width across it.
fn line(shape: &Shape, (offset, clear_m): (f64, f64), chance: &mut Chance) -> (Position, Position) {
    let bounds = shape.bounds();
    let centre = middle(&bounds);
    let frame = Frame::at(centre.lat_deg());
    let half_east_m = 0.5 * (bounds.east - bounds.west) * frame.east_m;
    let half_north_m = 0.5 * (bounds.north - bounds.south) * frame.north_m;
    let (east, north) = chance.direction();
    let across_m = offset * ((north * half_east_m).abs() + (east * half_north_m).abs());
    let reach_m = (half_east_m * half_east_m + half_north_m * half_north_m).sqrt() + clear_m;
    let at = |along_m: f64| {
        beside(centre, along_m * east - across_m * north, along_m * north + across_m * east)
    };
    (at(-reach_m), at(reach_m))
}

/// So many metres on from `place` in the direction from `from` to `to`.
fn along(place: Position, from: Position, to: Position, by_m: f64) -> Position {
    let (east_m, north_m) = Frame::at(place.lat_deg()).offset_m(from, to);
    let way_m = (east_m * east_m + north_m * north_m).sqrt().max(f64::MIN_POSITIVE);
    beside(place, by_m * east_m / way_m, by_m * north_m / way_m)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shapes() -> Vec<Shape> {
        let place = |lat, lon| Position::new(lat, lon).unwrap();
        let ring = vec![place(48.0, 11.0), place(48.0, 11.002), place(48.002, 11.001)];
        vec![
            Shape::circle(place(48.0, 11.01), 60.0).unwrap(),
            Shape::polygons(&[vec![ring]]).unwrap().shape,
            Shape::circle(place(48.1, 11.0), 5_000.0).unwrap(),
        ]
    }

    /// Each pace visits every zone, again and again, and takes as long as was asked.
    #[test]
    fn tours_cross_every_zone() {
        let shapes = shapes();
        let each: Vec<&Shape> = shapes.iter().collect();
        for pace in [
            Pace::Steady { speed_mps: 15.0 },
            Pace::StopAndGo { speed_mps: 8.0 },
            Pace::Creeping { speed_mps: 0.5 },
        ] {
            let length = Span::from_secs(24 * 3600);
            let drive = tour(
                &each,
                Tour { pace, aside: 1.1, clear_m: CLEAR_M, length },
                &mut Chance::new(1),
            );
            assert_eq!(drive.length(), length);
            for shape in &shapes {
                let found = crossings(&drive, EventTime::from_nanos(0), shape);
                assert!(found.len() >= 4, "{pace:?}: {} {}", shape.kind_name(), found.len());
                assert!(found.windows(2).all(|w| w[0].inside != w[1].inside), "they alternate");
                assert!(found.windows(2).all(|w| w[0].time < w[1].time));
            }
        }
    }

    #[test]
    fn one_parks_on_the_boundary() {
        for (seed, shape) in shapes().iter().enumerate() {
            let length = Span::from_secs(600);
            let drive = park_on_boundary(shape, 8.0, length, &mut Chance::new(seed as u64));
            let located = shape.locate(drive.end());
            assert!(located.distance_m.abs() < 0.01, "{located:?}");
            assert_eq!(drive.length(), length);
        }
    }
}
