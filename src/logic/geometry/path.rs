//! A chain of vertices and its index: which side, how far, where crossed. Rings and the middle
//! lines of corridors are paths.
//!
//! Always holds: vertices are whole 1e-7° (1.1 cm of latitude), so a shape and its fingerprint
//! never differ; longitudes count from the path's own origin, so no path knows a seam at ±180°;
//! queries lie on a grid of 2⁻¹⁰ of that (0.01 mm), so two paths that share an edge compute
//! its side from the same numbers and never both claim a place. Nothing here allocates.
//! Does not know: what the path bounds.
//!
//! The index keeps the order of the ring ("natural" order): a box for every sixteen edges, one
//! for every sixteen boxes, 1.1 bytes an edge. Below [`INDEXED_EDGES`] the plain loop is faster.

use super::bounds::Bounds;
use super::ground::Frame;
use super::pack::{FAN, Pack, Rect};
use crate::units::Position;

/// Whole numbers to a degree.
pub(crate) const PER_DEG: f64 = 1e7;
/// A full turn on the grid.
pub(crate) const TURN: i64 = 3_600_000_000;
/// Half a turn on the grid.
const HALF_TURN: f64 = 1.8e9;
/// Steps of the query grid in one step of the vertex grid.
const QUERY_STEPS: f64 = 1024.0;
/// Below so many edges a path has no index.
const INDEXED_EDGES: usize = 48;
/// The last place before a pole, 0.01 mm off it: at the pole itself longitude means nothing.
const LAST_LAT: f64 = 9e8 - 1.0 / QUERY_STEPS;

/// A vertex: longitude from the path's origin, latitude; in 1e-7°.
pub(crate) type Vertex = [i32; 2];

/// A place asked about: on the query grid, in 1e-7°, with the frame that touches the ground there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    x: f64,
    y: f64,
    /// Metres in one step of x.
    kx: f64,
    /// Metres in one step of y.
    ky: f64,
}

impl Spot {
    /// The place on the query grid.
    pub(crate) fn of(p: Position) -> Self {
        let frame = Frame::at(p.lat_deg());
        let on_grid = |deg: f64| (deg * PER_DEG * QUERY_STEPS).round() / QUERY_STEPS;
        Self {
            x: on_grid(p.lon_deg()),
            y: on_grid(p.lat_deg()).clamp(-LAST_LAT, LAST_LAT),
            kx: frame.east_m / PER_DEG,
            ky: frame.north_m / PER_DEG,
        }
    }

    /// The same place, its longitude counted from `origin`.
    fn seen_from(self, origin: i32) -> Self {
        Self { x: wrap_grid(self.x - f64::from(origin)), ..self }
    }

    /// Square of a distance in metres that no point of the box undercuts.
    fn box_sq(&self, r: &Rect) -> f64 {
        let gap = |lo: i32, hi: i32, at: f64| (f64::from(lo) - at).max(at - f64::from(hi)).max(0.0);
        let dx = gap(r.min[0], r.max[0], self.x) * self.kx;
        let dy = gap(r.min[1], r.max[1], self.y) * self.ky;
        dx * dx + dy * dy
    }

    /// Square of the distance in metres to an edge.
    fn edge_sq(&self, a: Vertex, b: Vertex) -> f64 {
        let ax = (f64::from(a[0]) - self.x) * self.kx;
        let ay = (f64::from(a[1]) - self.y) * self.ky;
        let dx = (f64::from(b[0]) - f64::from(a[0])) * self.kx;
        let dy = (f64::from(b[1]) - f64::from(a[1])) * self.ky;
        let len_sq = dx * dx + dy * dy;
        let t = -(ax * dx + ay * dy);
        let t = if len_sq > 0.0 { (t / len_sq).clamp(0.0, 1.0) } else { 0.0 };
        let (ex, ey) = (ax + t * dx, ay + t * dy);
        ex * ex + ey * ey
    }
}

/// A difference of grid longitudes the short way round: in [−180°, 180°).
fn wrap_grid(x: f64) -> f64 {
    if x >= HALF_TURN {
        x - TURN as f64
    } else if x < -HALF_TURN {
        x + TURN as f64
    } else {
        x
    }
}

/// Whether a path's edge lies to the east of the place: the half-open crossing rule. Both ends
/// are put in order first, so the edge's direction makes no difference.
fn east_of(q: &Spot, a: Vertex, b: Vertex) -> bool {
    let (lo, hi) = if a[1] <= b[1] { (a, b) } else { (b, a) };
    let (lo_y, hi_y) = (f64::from(lo[1]), f64::from(hi[1]));
    if !(lo_y <= q.y && q.y < hi_y) {
        return false;
    }
    let lo_x = f64::from(lo[0]);
    (f64::from(hi[0]) - lo_x) * (q.y - lo_y) > (hi_y - lo_y) * (q.x - lo_x)
}

/// A chain of vertices. A ring repeats its first vertex at the end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Path {
    origin: i32,
    vertices: Box<[Vertex]>,
    rect: Rect,
    pack: Pack,
}

impl Path {
    /// A path from unwrapped grid coordinates `(lon, lat)`, at least two, spanning at most a turn.
    pub(crate) fn new(points: &[[i64; 2]]) -> Self {
        let west = points.iter().map(|p| p[0]).min().unwrap_or(0);
        let east = points.iter().map(|p| p[0]).max().unwrap_or(0);
        assert!(points.len() >= 2 && east - west <= TURN, "checked by the caller");
        let middle = west + (east - west) / 2;
        let origin = (middle + TURN / 2).rem_euclid(TURN) - TURN / 2;
        let vertices: Box<[Vertex]> =
            points.iter().map(|p| [(p[0] - middle) as i32, p[1] as i32]).collect();
        let pack = if vertices.len() > INDEXED_EDGES {
            let runs = (0..vertices.len() - 1).step_by(FAN);
            Pack::new(
                runs.map(|i| Rect::of(&vertices[i..=(i + FAN).min(vertices.len() - 1)])).collect(),
            )
        } else {
            Pack::default()
        };
        Self { origin: origin as i32, rect: Rect::of(&vertices), vertices, pack }
    }

    /// The vertices in the path's own frame.
    pub(crate) fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// Where the path's longitudes count from, 1e-7°.
    pub(crate) fn origin(&self) -> i32 {
        self.origin
    }

    /// The box around it.
    pub(crate) fn bounds(&self) -> Bounds {
        let lon = |x: i32| (i64::from(self.origin) + i64::from(x)) as f64 / PER_DEG;
        let lat = |y: i32| f64::from(y) / PER_DEG;
        let (west, east) = (lon(self.rect.min[0]), lon(self.rect.max[0]));
        let turn = if west < -180.0 { 360.0 } else { 0.0 };
        Bounds {
            south: lat(self.rect.min[1]),
            north: lat(self.rect.max[1]),
            west: west + turn,
            east: east + turn,
        }
    }

    /// Whether the boxes of two paths share a place.
    pub(crate) fn box_touches(&self, other: &Self) -> bool {
        let [a, b] = [&self.rect, &other.rect];
        let off = wrap_grid(f64::from(other.origin) - f64::from(self.origin)) as i64;
        let lon = |x: i32, off: i64| i64::from(x) + off;
        let meet = |off: i64| {
            lon(a.min[0], 0) <= lon(b.max[0], off) && lon(b.min[0], off) <= lon(a.max[0], 0)
        };
        a.min[1] <= b.max[1]
            && b.min[1] <= a.max[1]
            && [off - TURN, off, off + TURN].into_iter().any(meet)
    }

    /// Whether the place is in the ring: half-open, so a place on a western or southern edge is
    /// in it and one on an eastern or northern edge is not.
    pub(crate) fn encloses(&self, q: &Spot) -> bool {
        let q = q.seen_from(self.origin);
        if !may_cross(&q, &self.rect) {
            return false;
        }
        match self.pack.height().checked_sub(1) {
            None => self.odd_edges(&q, 0..self.vertices.len() - 1),
            Some(top) => self.odd_runs(&q, top, 0..self.pack.level(top).len()),
        }
    }

    fn odd_edges(&self, q: &Spot, edges: std::ops::Range<usize>) -> bool {
        let run = &self.vertices[edges.start..=edges.end];
        run.windows(2).fold(false, |odd, e| odd ^ east_of(q, e[0], e[1]))
    }

    fn odd_runs(&self, q: &Spot, level: usize, runs: std::ops::Range<usize>) -> bool {
        let mut odd = false;
        for i in runs {
            let rect = &self.pack.level(level)[i];
            if !may_cross(q, rect) {
                continue;
            }
            let edges = self.edges_under(level, i);
            if q.x < f64::from(rect.min[0]) {
                // All of the run lies east: only on which sides it begins and ends matters.
                let above = |v: Vertex| f64::from(v[1]) > q.y;
                odd ^= above(self.vertices[edges.start]) != above(self.vertices[edges.end]);
            } else if level == 0 {
                odd ^= self.odd_edges(q, edges);
            } else {
                odd ^= self.odd_runs(q, level - 1, self.pack.under(level, i));
            }
        }
        odd
    }

    /// The edges under a box, by number; edge `i` runs from vertex `i` to `i + 1`.
    fn edges_under(&self, level: usize, i: usize) -> std::ops::Range<usize> {
        let size = FAN.pow(level as u32 + 1);
        i * size..((i + 1) * size).min(self.vertices.len() - 1)
    }

    /// Lowers `best_sq` to the square of the distance in metres to the nearest edge, if nearer.
    pub(crate) fn nearest_sq(&self, q: &Spot, best_sq: &mut f64) {
        let q = q.seen_from(self.origin);
        if q.box_sq(&self.rect) >= *best_sq {
            return;
        }
        match self.pack.height().checked_sub(1) {
            None => self.nearest_edge_sq(&q, 0..self.vertices.len() - 1, best_sq),
            Some(top) => self.nearest_run_sq(&q, top, 0..self.pack.level(top).len(), best_sq),
        }
    }

    fn nearest_edge_sq(&self, q: &Spot, edges: std::ops::Range<usize>, best_sq: &mut f64) {
        for e in self.vertices[edges.start..=edges.end].windows(2) {
            *best_sq = best_sq.min(q.edge_sq(e[0], e[1]));
        }
    }

    /// The most promising box first, so that most of the others need no look inside.
    fn nearest_run_sq(
        &self,
        q: &Spot,
        level: usize,
        runs: std::ops::Range<usize>,
        best_sq: &mut f64,
    ) {
        let mut floor_sq = [f64::INFINITY; FAN];
        let mut first = 0;
        for (k, rect) in self.pack.level(level)[runs.clone()].iter().enumerate() {
            floor_sq[k] = q.box_sq(rect);
            if floor_sq[k] < floor_sq[first] {
                first = k;
            }
        }
        let others = (0..runs.len()).filter(|&k| k != first);
        for k in std::iter::once(first).chain(others) {
            if floor_sq[k] >= *best_sq {
                continue;
            }
            let i = runs.start + k;
            if level == 0 {
                self.nearest_edge_sq(q, self.edges_under(0, i), best_sq);
            } else {
                self.nearest_run_sq(q, level - 1, self.pack.under(level, i), best_sq);
            }
        }
    }

    /// Calls `found` with each fraction of the way from `a` to `b` at which an edge is crossed.
    pub(crate) fn crossed(&self, a: Position, b: Position, found: &mut impl FnMut(f64)) {
        let (from, to) = self.segment(a, b);
        self.edges_near(from, to, [0.0; 2], &mut |p, q| {
            if let Some(t) = crossing_fraction(from, to, p, q) {
                found(t);
            }
        });
    }

    /// The way from `a` to `b` in the path's own frame.
    pub(crate) fn segment(&self, a: Position, b: Position) -> ([f64; 2], [f64; 2]) {
        let (qa, qb) = (Spot::of(a), Spot::of(b));
        let from = qa.seen_from(self.origin);
        ([from.x, from.y], [from.x + wrap_grid(qb.x - qa.x), qb.y])
    }

    /// Calls `found` with the ends of every edge whose box meets that of the way `from` `to`
    /// grown by `margin`; all in steps of the grid, in the path's own frame.
    pub(crate) fn edges_near(
        &self,
        from: [f64; 2],
        to: [f64; 2],
        margin: [f64; 2],
        found: &mut impl FnMut(Vertex, Vertex),
    ) {
        let lo = [0, 1].map(|i| (from[i].min(to[i]) - margin[i]).floor() as i32);
        let hi = [0, 1].map(|i| (from[i].max(to[i]) + margin[i]).ceil() as i32);
        let way = Rect { min: lo, max: hi };
        let mut run = |edges: std::ops::Range<usize>| {
            for e in self.vertices[edges.start..=edges.end].windows(2) {
                if Rect::of(e).touches(&way) {
                    found(e[0], e[1]);
                }
            }
        };
        if self.pack.is_empty() {
            run(0..self.vertices.len() - 1);
        } else {
            self.pack.visit(&|r| r.touches(&way), &mut |i| run(self.edges_under(0, i)));
        }
    }
}

/// Whether a box can hold an edge to the east of the place, at its latitude.
fn may_cross(q: &Spot, r: &Rect) -> bool {
    f64::from(r.min[1]) <= q.y && q.y < f64::from(r.max[1]) && q.x < f64::from(r.max[0])
}

/// How far along `from → to` the edge is crossed, if it is.
fn crossing_fraction(from: [f64; 2], to: [f64; 2], a: Vertex, b: Vertex) -> Option<f64> {
    let side = |v: Vertex| {
        (to[0] - from[0]) * (f64::from(v[1]) - from[1])
            - (to[1] - from[1]) * (f64::from(v[0]) - from[0])
    };
    let (sa, sb) = (side(a), side(b));
    if (sa > 0.0) == (sb > 0.0) {
        return None;
    }
    let [dx, dy] = [0, 1].map(|i| f64::from(b[i]) - f64::from(a[i]));
    let whole = dx * (to[1] - from[1]) - dy * (to[0] - from[0]);
    let part = dx * (f64::from(a[1]) - from[1]) - dy * (f64::from(a[0]) - from[0]);
    let t = part / whole;
    (0.0..=1.0).contains(&t).then_some(t)
}
