//! Where the edges of a zone's rings cross or run along each other.
//!
//! Always holds: exact (whole numbers only); all pairs of edges that share a point are looked at.
//! A ring may touch itself or another in a point, from one side: an area stays an area. It may
//! not pass through itself, whether or not a vertex marks the spot.
//!
//! The zone is cut into rows of latitude, each edge into the pieces it has in them; within a row
//! pieces are compared only while they overlap in longitude. Real boundaries cost about n log n:
//! 100,000 vertices take well under a second.

use std::collections::{BTreeMap, BTreeSet};

use super::check::{Draft, Point, note, place, turn};
use super::fault::{FaultKind, RingName, ShapeFault, Slip, SlipKind};
use super::path::TURN;

/// Crossings reported for one zone: enough to mend it, few enough to read.
const CROSSINGS_MAX: usize = 20;
/// Pieces an edge is cut into on average: more rows mean fewer pairs and more memory.
const PIECES_PER_EDGE: i64 = 3;

/// An edge in the frame that all rings of the zone share.
#[derive(Clone, Copy)]
struct Edge {
    a: Point,
    b: Point,
    draft: u32,
    at: u32,
}

/// What two edges have in common.
enum Meeting {
    Nothing,
    Crossing([f64; 2]),
    Along(Point),
    Touch(Point),
}

/// Adds every crossing and overlap to `faults`, every touch to `slips`.
pub(super) fn crossings(drafts: &[Draft], slips: &mut Vec<Slip>, faults: &mut Vec<ShapeFault>) {
    let edges = edges(drafts);
    let mut found = Found::new(drafts);
    for row in rows(&edges) {
        compare(&edges, row, &mut found);
        if found.faults.len() >= CROSSINGS_MAX {
            break;
        }
    }
    found.faults.sort_by_key(|f| (f.ring, f.vertex));
    faults.append(&mut found.faults);
    let touched = found.touched.iter().map(|t| (t.0, SlipKind::Touch));
    let shared = found.shared.iter().map(|t| (t.0, SlipKind::SharedEdge));
    let mut times: BTreeMap<(u32, SlipKind), usize> = BTreeMap::new();
    touched.chain(shared).for_each(|slip| *times.entry(slip).or_default() += 1);
    for ((draft, kind), times) in times {
        note(slips, drafts[draft as usize].name, kind, times);
    }
}

/// All edges, every ring moved by whole turns to lie by the first one.
fn edges(drafts: &[Draft]) -> Vec<Edge> {
    let middle = |d: &Draft| {
        let lons = || d.points.iter().map(|p| p[0]);
        i64::midpoint(lons().min().unwrap_or(0), lons().max().unwrap_or(0))
    };
    let home = drafts.first().map_or(0, middle);
    let mut out = Vec::with_capacity(drafts.iter().map(|d| d.points.len()).sum());
    for (draft, d) in (0..).zip(drafts) {
        let off = middle(d) - home;
        let shift = (off + TURN / 2).rem_euclid(TURN) - TURN / 2 - off;
        let moved = |i: usize| [d.points[i][0] + shift, d.points[i][1]];
        let ring = (0..d.points.len()).map(|i| Edge {
            a: moved(i),
            b: moved(d.next(i)),
            draft,
            at: i as u32,
        });
        out.extend(ring);
    }
    out
}

/// A piece of an edge in a row: its westernmost and easternmost longitude there.
#[derive(Clone, Copy)]
struct Piece {
    west: i64,
    east: i64,
    edge: u32,
}

/// The pieces of each row, those of one row together.
fn rows(edges: &[Edge]) -> impl Iterator<Item = Vec<Piece>> + '_ {
    let lo = |e: &Edge| e.a[1].min(e.b[1]);
    let hi = |e: &Edge| e.a[1].max(e.b[1]);
    let south = edges.iter().map(lo).min().unwrap_or(0);
    let north = edges.iter().map(hi).max().unwrap_or(0);
    let count = i64::from(edges.len().max(1) as u32);
    let climb: i64 = edges.iter().map(|e| hi(e) - lo(e)).sum();
    let height = (climb / (PIECES_PER_EDGE * count)).max((north - south) / (2 * count)) + 1;
    let row_of = move |lat: i64| ((lat - south) / height) as usize;
    let row_count = if edges.is_empty() { 0 } else { row_of(north) + 1 };
    // Counting sort: where each row's edges start, then the edges row by row.
    let mut starts = vec![0_usize; row_count + 1];
    for e in edges {
        (row_of(lo(e))..=row_of(hi(e))).for_each(|row| starts[row + 1] += 1);
    }
    (0..row_count).for_each(|row| starts[row + 1] += starts[row]);
    let mut free = starts.clone();
    let mut by_row = vec![0_u32; starts[row_count]];
    for (i, e) in (0..).zip(edges) {
        for row in row_of(lo(e))..=row_of(hi(e)) {
            by_row[free[row]] = i;
            free[row] += 1;
        }
    }
    (0..row_count).map(move |row| {
        let from = south + i64::from(row as u32) * height;
        let piece = |&edge: &u32| cut(&edges[edge as usize], edge, from, from + height);
        by_row[starts[row]..starts[row + 1]].iter().map(piece).collect()
    })
}

/// The piece of an edge between two latitudes, a little too long rather than too short.
fn cut(e: &Edge, edge: u32, south: i64, north: i64) -> Piece {
    let (lo, hi) = if e.a[1] <= e.b[1] { (e.a, e.b) } else { (e.b, e.a) };
    let (west, east) = (lo[0].min(hi[0]), lo[0].max(hi[0]));
    if lo[1] >= south && hi[1] <= north {
        return Piece { west, east, edge };
    }
    let slope = (hi[0] - lo[0]) as f64 / (hi[1] - lo[1]) as f64;
    let lon_at = |lat: i64| lo[0] as f64 + slope * (lat.clamp(lo[1], hi[1]) - lo[1]) as f64;
    let (p, q) = (lon_at(south), lon_at(north));
    let (p, q) = (p.min(q).floor() as i64 - 1, p.max(q).ceil() as i64 + 1);
    Piece { west: p.max(west), east: q.min(east), edge }
}

/// Compares the pieces of one row.
fn compare(edges: &[Edge], mut row: Vec<Piece>, found: &mut Found<'_>) {
    row.sort_unstable_by_key(|p| p.west);
    for (i, p) in row.iter().enumerate() {
        for q in row[i + 1..].iter().take_while(|q| q.west <= p.east) {
            let (i, k) = (p.edge.min(q.edge), p.edge.max(q.edge));
            found.look(&edges[i as usize], &edges[k as usize], (i, k));
            if found.faults.len() >= CROSSINGS_MAX {
                return;
            }
        }
    }
}

/// What was found so far.
struct Found<'a> {
    drafts: &'a [Draft],
    /// Pairs of edges already reported: a pair may meet in several rows.
    pairs: BTreeSet<(u32, u32)>,
    /// Places already reported: up to four pairs meet in one vertex.
    spots: BTreeSet<Point>,
    touched: BTreeSet<(u32, Point)>,
    shared: BTreeSet<(u32, u32)>,
    faults: Vec<ShapeFault>,
}

impl<'a> Found<'a> {
    fn new(drafts: &'a [Draft]) -> Self {
        let (pairs, spots, touched) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        Self { drafts, pairs, spots, touched, shared: BTreeSet::new(), faults: Vec::new() }
    }

    fn look(&mut self, e: &Edge, f: &Edge, pair: (u32, u32)) {
        if self.neighbours(e, f) {
            return;
        }
        match meeting(e, f) {
            Meeting::Nothing => {}
            Meeting::Crossing(at) => {
                if self.pairs.insert(pair) {
                    self.report(e, f, at, true);
                }
            }
            Meeting::Along(at) => {
                let parts = [e, f].map(|e| self.drafts[e.draft as usize].name.part);
                let opposed =
                    (0..2).any(|i| (e.b[i] - e.a[i]).signum() * (f.b[i] - f.a[i]).signum() < 0);
                if parts[0] != parts[1] && opposed {
                    self.shared.insert((e.draft, e.at));
                } else if self.pairs.insert(pair) {
                    self.report(e, f, at.map(|v| v as f64), false);
                }
            }
            Meeting::Touch(at) => {
                if !self.passes_through(e, f, at) {
                    self.touched.insert((e.draft, at));
                } else if self.spots.insert(at) {
                    self.report(e, f, at.map(|v| v as f64), true);
                }
            }
        }
    }

    /// Whether one edge follows the other in their ring.
    fn neighbours(&self, e: &Edge, f: &Edge) -> bool {
        let draft = &self.drafts[e.draft as usize];
        let (i, k) = (e.at as usize, f.at as usize);
        e.draft == f.draft && (draft.next(i) == k || draft.next(k) == i)
    }

    /// Whether the ring of `f` goes from one side of the ring of `e` to the other where they meet.
    fn passes_through(&self, e: &Edge, f: &Edge, at: Point) -> bool {
        let ([before, after], [from, to]) = (self.pass(e, at), self.pass(f, at));
        let on_way = |c: Point| [before, after].iter().any(|&w| same_way(at, w, c));
        let left = |c: Point| left_of(before, at, after, c);
        !on_way(from) && !on_way(to) && left(from) != left(to)
    }

    /// Where the ring of an edge comes from and goes to at a place on it.
    fn pass(&self, e: &Edge, at: Point) -> [Point; 2] {
        let draft = &self.drafts[e.draft as usize];
        let i = e.at as usize;
        let shift = e.a[0] - draft.points[i][0];
        let vertex = |i: usize| [draft.points[i][0] + shift, draft.points[i][1]];
        if at == e.a {
            [vertex(draft.previous(i)), e.b]
        } else if at == e.b {
            [e.a, vertex(draft.next(draft.next(i)))]
        } else {
            [e.a, e.b]
        }
    }

    fn report(&mut self, e: &Edge, f: &Edge, at: [f64; 2], crosses: bool) {
        // By the vertex that comes first in the input, whichever way the sweep met them.
        let (one, other) = (self.named(e), self.named(f));
        let (one, (ring, vertex)) = (one.min(other), one.max(other));
        let kind = if crosses {
            FaultKind::Crosses { ring, vertex }
        } else {
            FaultKind::Overlaps { ring, vertex }
        };
        let (ring, vertex) = one;
        self.faults.push(ShapeFault {
            ring: Some(ring),
            vertex: Some(vertex),
            at: place(at),
            kind,
        });
    }

    /// An edge by its ring and first vertex as drawn.
    fn named(&self, e: &Edge) -> (RingName, usize) {
        let draft = &self.drafts[e.draft as usize];
        (draft.name, draft.edge_number(e.at as usize))
    }
}

/// What two edges have in common.
fn meeting(e: &Edge, f: &Edge) -> Meeting {
    let apart = |i: usize| {
        e.a[i].max(e.b[i]) < f.a[i].min(f.b[i]) || f.a[i].max(f.b[i]) < e.a[i].min(e.b[i])
    };
    if apart(0) || apart(1) {
        return Meeting::Nothing;
    }
    let (fa, fb) = (turn(e.a, e.b, f.a), turn(e.a, e.b, f.b));
    if fa == 0 && fb == 0 {
        return on_one_line(e, f);
    }
    let (ea, eb) = (turn(f.a, f.b, e.a), turn(f.a, f.b, e.b));
    if fa.signum() * fb.signum() > 0 || ea.signum() * eb.signum() > 0 {
        return Meeting::Nothing;
    }
    let touch = [(fa, f.a), (fb, f.b), (ea, e.a), (eb, e.b)].into_iter().find(|t| t.0 == 0);
    if let Some((_, at)) = touch {
        return Meeting::Touch(at);
    }
    let t = ea as f64 / (ea as f64 - eb as f64);
    Meeting::Crossing([0, 1].map(|i| e.a[i] as f64 + t * (e.b[i] - e.a[i]) as f64))
}

/// As [`meeting`], for edges on one line whose boxes touch.
fn on_one_line(e: &Edge, f: &Edge) -> Meeting {
    let axis = usize::from((e.b[0] - e.a[0]).abs() < (e.b[1] - e.a[1]).abs());
    let sorted = |e: &Edge| if e.a[axis] <= e.b[axis] { (e.a, e.b) } else { (e.b, e.a) };
    let ((e_lo, e_hi), (f_lo, f_hi)) = (sorted(e), sorted(f));
    let start = if e_lo[axis] >= f_lo[axis] { e_lo } else { f_lo };
    let end = if e_hi[axis] <= f_hi[axis] { e_hi } else { f_hi };
    match start[axis].cmp(&end[axis]) {
        std::cmp::Ordering::Less => Meeting::Along(start),
        std::cmp::Ordering::Equal => Meeting::Touch(start),
        std::cmp::Ordering::Greater => Meeting::Nothing,
    }
}

/// Whether `c` lies from `at` in exactly the direction of `w`.
fn same_way(at: Point, w: Point, c: Point) -> bool {
    let dot = |i: usize| i128::from(w[i] - at[i]) * i128::from(c[i] - at[i]);
    turn(at, w, c) == 0 && dot(0) + dot(1) > 0
}

/// Whether `c` lies left of the way `before → at → after`.
fn left_of(before: Point, at: Point, after: Point, c: Point) -> bool {
    let (first, second) = (turn(before, at, c) > 0, turn(at, after, c) > 0);
    if turn(before, at, after) > 0 { first && second } else { first || second }
}
