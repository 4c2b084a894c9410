//! Rings and lines as drawn → paths, or every fault.
//!
//! Always holds: what comes out is on the grid, unwrapped, has no repeated vertex and no spike,
//! bounds an area, and its rings neither cross nor enclose each other but as holes do. All
//! arithmetic is in whole numbers.
//! Does not know: file formats.

use super::fault::{FaultKind, RingName, ShapeFault, Slip, SlipKind};
use super::path::{PER_DEG, Path, TURN};
use super::{nesting, sweep};
use crate::units::Position;

/// The most vertices in one ring or line: the most detailed real boundary met (the coast of
/// Norway or Chile at 1:10 million) has about 100,000.
pub const RING_VERTICES_MAX: usize = 250_000;
/// The most rings in one zone: comparing them all with each other stays under a second.
pub const RINGS_MAX: usize = 20_000;

/// A vertex in unwrapped grid coordinates: longitude, latitude.
pub(super) type Point = [i64; 2];

/// A ring on its way to become a path: not closed, each vertex with its number in the input.
pub(super) struct Draft {
    pub(super) name: RingName,
    pub(super) points: Vec<Point>,
    pub(super) numbers: Vec<u32>,
    /// Whether it now runs against the input's order.
    pub(super) reversed: bool,
}

impl Draft {
    /// The next vertex of the ring.
    pub(super) fn next(&self, i: usize) -> usize {
        if i + 1 == self.points.len() { 0 } else { i + 1 }
    }

    /// The vertex before.
    pub(super) fn previous(&self, i: usize) -> usize {
        if i == 0 { self.points.len() - 1 } else { i - 1 }
    }

    fn path(&self) -> Path {
        let mut closed = self.points.clone();
        closed.push(closed[0]);
        Path::new(&closed)
    }

    /// The number in the input of the vertex that edge `i` starts from, as drawn.
    pub(super) fn edge_number(&self, i: usize) -> usize {
        self.numbers[if self.reversed { self.next(i) } else { i }] as usize
    }

    fn reverse(&mut self) {
        self.points.reverse();
        self.numbers.reverse();
        self.reversed = !self.reversed;
    }
}

/// Which way `c` lies from the line `a → b`: positive to its left.
pub(super) fn turn(a: Point, b: Point, c: Point) -> i128 {
    let d = |i: usize, p: Point| i128::from(p[i] - a[i]);
    d(0, b) * d(1, c) - d(1, b) * d(0, c)
}

/// The place of a grid point.
pub(super) fn place(p: [f64; 2]) -> Option<Position> {
    Position::new(p[1] / PER_DEG, super::ground::wrap_deg(p[0] / PER_DEG))
}

/// Checked rings of a zone, `(path, is a hole)`, and the slips put right.
pub(super) type Rings = (Vec<(Path, bool)>, Vec<Slip>);

/// Checks the rings of a zone; finds every fault that can be found independently of the others.
pub(super) fn rings(parts: &[Vec<Vec<Position>>]) -> Result<Rings, Vec<ShapeFault>> {
    let (mut drafts, mut slips, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let count: usize = parts.iter().map(Vec::len).sum();
    if count > RINGS_MAX {
        let kind = FaultKind::TooMany { found: count, what: "rings", limit: RINGS_MAX };
        return Err(vec![kind.nowhere()]);
    }
    if parts.is_empty() {
        faults.push(FaultKind::NoRing.nowhere());
    }
    for (part, rings) in parts.iter().enumerate() {
        if rings.is_empty() {
            faults.push(FaultKind::NoRing.of_ring(RingName { part, ring: 0 }));
        }
        for (ring, points) in rings.iter().enumerate() {
            match draft(RingName { part, ring }, points, &mut slips) {
                Ok(draft) => drafts.push(draft),
                Err(kind) => faults.push(kind.of_ring(RingName { part, ring })),
            }
        }
    }
    sweep::crossings(&drafts, &mut slips, &mut faults);
    if faults.is_empty() {
        let flat = drafts.iter().filter(|d| twice_area(&d.points) == 0);
        faults.extend(flat.map(|d| FaultKind::NoArea.of_ring(d.name)));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let paths: Vec<Path> = drafts.iter().map(Draft::path).collect();
    nesting::check(&drafts, &paths, &mut faults);
    if !faults.is_empty() {
        return Err(faults);
    }
    let holes = drafts.iter().map(|d| d.name.ring > 0);
    Ok((paths.into_iter().zip(holes).collect(), slips))
}

/// Checks the middle line of a corridor.
pub(super) fn line(points: &[Position]) -> Result<(Path, Vec<Slip>), ShapeFault> {
    let name = RingName { part: 0, ring: 0 };
    let unwrapped = unwrap(points).map_err(|kind| kind.of_ring(name))?;
    if unwrapped.over_a_turn {
        return Err(FaultKind::OverATurn.of_ring(name));
    }
    let mut line = unwrapped.points.clone();
    line.dedup();
    let repeats = unwrapped.points.len() - line.len();
    if line.len() < 2 {
        let kind = FaultKind::TooFewPoints { found: line.len(), needed: 2 };
        return Err(kind.of_ring(name));
    }
    let mut slips = Vec::new();
    note(&mut slips, name, SlipKind::Repeated, repeats);
    Ok((Path::new(&line), slips))
}

/// Adds a slip unless it never happened.
pub(super) fn note(slips: &mut Vec<Slip>, ring: RingName, kind: SlipKind, times: usize) {
    if times > 0 {
        slips.push(Slip { ring, kind, times });
    }
}

/// Points on the grid, one after the other the short way round, and how far the last is from
/// the first when closed the short way round.
struct Unwrapped {
    points: Vec<Point>,
    closing_turn: i64,
    over_a_turn: bool,
}

/// An edge spans at most 180° of longitude: a longer one goes the other way round, over ±180°.
/// Only an edge along a pole is as written, for there it has no length.
fn unwrap(points: &[Position]) -> Result<Unwrapped, FaultKind> {
    if points.len() > RING_VERTICES_MAX {
        let (found, limit) = (points.len(), RING_VERTICES_MAX);
        return Err(FaultKind::TooMany { found, what: "vertices", limit });
    }
    let grid = |p: &Position| [p.lon_deg(), p.lat_deg()].map(|deg| (deg * PER_DEG).round() as i64);
    let step = |a: Point, b: Point| {
        let d = b[0] - a[0];
        let along_pole = a[1] == b[1] && a[1].abs() == TURN / 4;
        if d.abs() <= TURN / 2 || along_pole { d } else { d - TURN * d.signum() }
    };
    let raw: Vec<Point> = points.iter().map(grid).collect();
    let mut out: Vec<Point> = Vec::with_capacity(raw.len());
    for (i, &p) in raw.iter().enumerate() {
        let lon = if i == 0 { p[0] } else { out[i - 1][0] + step(raw[i - 1], p) };
        out.push([lon, p[1]]);
    }
    let east = out.iter().map(|p| p[0]).max().unwrap_or(0);
    let west = out.iter().map(|p| p[0]).min().unwrap_or(0);
    let closing_turn = match (raw.first(), raw.last(), out.first(), out.last()) {
        (Some(&first), Some(&last), Some(start), Some(end)) => {
            end[0] + step(last, first) - start[0]
        }
        _ => 0,
    };
    Ok(Unwrapped { points: out, closing_turn, over_a_turn: east - west > TURN })
}

fn draft(name: RingName, points: &[Position], slips: &mut Vec<Slip>) -> Result<Draft, FaultKind> {
    let Unwrapped { mut points, closing_turn, over_a_turn } = unwrap(points)?;
    if closing_turn != 0 {
        return Err(FaultKind::RoundPole);
    }
    if over_a_turn {
        return Err(FaultKind::OverATurn);
    }
    let closed = points.len() > 1 && points.first() == points.last();
    if closed {
        points.pop();
    }
    let numbers = (0..points.len() as u32).collect();
    let mut draft = Draft { name, points, numbers, reversed: false };
    let (repeats, spikes) = tidy(&mut draft);
    let found = draft.points.len();
    if found < 3 {
        let kind = FaultKind::TooFewPoints { found, needed: 3 };
        return Err(if spikes > 0 { FaultKind::NoArea } else { kind });
    }
    let [base, second] = [draft.points[0], draft.points[1]];
    if draft.points.iter().all(|&p| turn(base, second, p) == 0) {
        return Err(FaultKind::NoArea);
    }
    // A bow-tie may have no area either: the sweep names where it crosses itself.
    let area = twice_area(&draft.points);
    let backwards = if name.ring > 0 { area > 0 } else { area < 0 };
    if backwards {
        draft.reverse();
    }
    note(slips, name, SlipKind::Unclosed, usize::from(!closed));
    note(slips, name, SlipKind::Repeated, repeats);
    note(slips, name, SlipKind::Spike, spikes);
    note(slips, name, SlipKind::Winding, usize::from(backwards));
    Ok(draft)
}

/// Twice the signed area, positive when wound counter-clockwise.
fn twice_area(points: &[Point]) -> i128 {
    let base = points[0];
    points.windows(2).map(|e| turn(base, e[0], e[1])).sum()
}

/// Takes out repeated vertices and spikes, round the closing edge too; says how many of each.
fn tidy(draft: &mut Draft) -> (usize, usize) {
    let (mut repeats, mut spikes) = (0, 0);
    let mut kept: std::collections::VecDeque<(Point, u32)> = std::collections::VecDeque::new();
    for (&point, &number) in draft.points.iter().zip(&draft.numbers) {
        kept.push_back((point, number));
        while let Some(slip) = slip_at_end(&kept) {
            count(slip, &mut repeats, &mut spikes);
            // The vertex before the last is the repeat or the tip.
            kept.remove(kept.len() - 2);
        }
    }
    // The same over the closing edge: bring the first vertex to the end until nothing changes.
    for _ in 0..2 {
        let Some(first) = kept.pop_front() else { break };
        kept.push_back(first);
        while let Some(slip) = slip_at_end(&kept) {
            count(slip, &mut repeats, &mut spikes);
            kept.remove(kept.len() - 2);
            if let Some(before) = kept.pop_front() {
                // A new neighbour over the closing edge needs the same look.
                kept.push_back(before);
            }
        }
    }
    let start = (0..kept.len()).min_by_key(|&i| kept[i].1).unwrap_or(0);
    kept.rotate_left(start);
    (draft.points, draft.numbers) = kept.into_iter().unzip();
    (repeats, spikes)
}

fn count(slip: SlipKind, repeats: &mut usize, spikes: &mut usize) {
    *(if slip == SlipKind::Repeated { repeats } else { spikes }) += 1;
}

/// Whether the vertex before the last repeats the last, or is the tip of a spike.
fn slip_at_end(kept: &std::collections::VecDeque<(Point, u32)>) -> Option<SlipKind> {
    let from_end = |i: usize| kept.len().checked_sub(i).map(|at| kept[at].0);
    let (last, tip) = (from_end(1)?, from_end(2)?);
    if last == tip {
        return Some(SlipKind::Repeated);
    }
    let base = from_end(3)?;
    let back = |i: usize| i128::from(tip[i] - base[i]) * i128::from(last[i] - tip[i]);
    (turn(base, tip, last) == 0 && back(0) + back(1) < 0).then_some(SlipKind::Spike)
}
