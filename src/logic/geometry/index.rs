//! Which zones can be near a place: a packed tree of boxes in the order of a space-filling curve.
//!
//! Always holds: answers as the naive twin does (INV-6), in ascending order, each id once; a zone
//! of any size costs one box, one over ±180° two; box `i` of a level encloses run `i` of the level
//! below, and the top level is one run. A path has `pack` instead: the boxes of most would not fill
//! one run. Does not know: shapes.

use super::bounds::Bounds;
use super::pack::{FAN, Rect};
use super::path::PER_DEG;
use crate::units::Position;

/// Sixteen boxes side by side by coordinate, so that a compiler compares many at once; the last
/// run of a level is filled up with boxes that enclose nothing.
#[derive(Clone, PartialEq, Debug)]
struct Run {
    min: [[i32; FAN]; 2],
    max: [[i32; FAN]; 2],
}

impl Run {
    fn of(boxes: &[Rect]) -> Self {
        let own = |at: usize| boxes.get(at).copied().unwrap_or(Rect::EMPTY);
        let by = |coordinate: &dyn Fn(Rect) -> i32| std::array::from_fn(|at| coordinate(own(at)));
        Self {
            min: [by(&|r| r.min[0]), by(&|r| r.min[1])],
            max: [by(&|r| r.max[0]), by(&|r| r.max[1])],
        }
    }

    /// Which boxes share a point with `r`: byte i is box i's, all ones or none. Written in whole
    /// lanes up to the end: 64 instructions of the oldest x86-64, three times as many otherwise.
    #[expect(clippy::needless_bitwise_bool, reason = "a branch would compare one at a time")]
    fn touching(&self, r: &Rect) -> u128 {
        let (Rect { min: [west, south], max: [east, north] }, mut apart) = (*r, [0; FAN]);
        for (at, apart) in apart.iter_mut().enumerate() {
            let lon = (self.min[0][at] > east) | (west > self.max[0][at]);
            let lat = (self.min[1][at] > north) | (south > self.max[1][at]);
            *apart = -i32::from(lon | lat);
        }
        !u128::from_le_bytes(apart.map(|lane| lane as u8))
    }
}

/// An index of boxes, numbered in the order they were given.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Index {
    /// Ids in the order of the bottom boxes.
    ids: Box<[u32]>,
    /// Bottom first; none when there is nothing to index.
    levels: Box<[Box<[Run]>]>,
}

impl Index {
    /// Builds the index.
    pub fn build(boxes: impl Iterator<Item = Bounds>) -> Self {
        let mut entries: Vec<(u64, u32, Rect)> = Vec::new();
        for (id, bounds) in (0..).zip(boxes) {
            entries.extend(rects(&bounds).map(|r| (curve_place(&r), id, r)));
        }
        entries.sort_unstable_by_key(|e| (e.0, e.1));
        let ids = entries.iter().map(|e| e.1).collect();
        let mut levels = Vec::new();
        let mut level: Vec<Rect> = entries.into_iter().map(|e| e.2).collect();
        while !level.is_empty() {
            levels.push(level.chunks(FAN).map(Run::of).collect());
            let above =
                level.chunks(FAN).map(|run| run.iter().copied().fold(Rect::EMPTY, Rect::join));
            level = if level.len() <= FAN { Vec::new() } else { above.collect() };
        }
        Self { ids, levels: levels.into() }
    }

    /// Puts into `out` the ids of all boxes within `reach_m` of `p`, and perhaps a few more.
    pub fn near(&self, p: Position, reach_m: f64, out: &mut Vec<u32>) {
        self.touching(&Bounds::around(p, reach_m), out);
    }

    /// Puts into `out` the ids of all boxes that the box around the way from `a` to `b` touches.
    pub fn along(&self, a: Position, b: Position, out: &mut Vec<u32>) {
        self.touching(&Bounds::spanning(a, b), out);
    }

    fn touching(&self, bounds: &Bounds, out: &mut Vec<u32>) {
        out.clear();
        let Some(top) = self.levels.len().checked_sub(1) else { return };
        for rect in rects(bounds) {
            self.visit(top, 0, &rect, out);
        }
        out.sort_unstable();
        out.dedup();
    }

    fn visit(&self, level: usize, run: usize, rect: &Rect, out: &mut Vec<u32>) {
        let mut left = self.levels[level][run].touching(rect);
        while left != 0 {
            let at = left.trailing_zeros() / u8::BITS;
            left &= !(u128::from(u8::MAX) << (at * u8::BITS));
            let under = run * FAN + at as usize;
            match level.checked_sub(1) {
                None => out.push(self.ids[under]),
                Some(below) => self.visit(below, under, rect, out),
            }
        }
    }
}

/// The box on the grid, rounded outwards; two where it reaches over ±180°, each closed there on
/// both sides, so that -180 and 180 are one place.
fn rects(b: &Bounds) -> impl Iterator<Item = Rect> + use<> {
    let down = |deg: f64| (deg * PER_DEG).floor() as i32;
    let up = |deg: f64| (deg * PER_DEG).ceil() as i32;
    let (south, north) = (down(b.south), up(b.north));
    let lon = |west: f64, east: f64| {
        let (west, east) = (west.max(-180.0), east.min(180.0));
        (west <= east).then(|| Rect { min: [down(west), south], max: [up(east), north] })
    };
    let alone = b.west > -180.0 && b.east < 180.0;
    let turn = |turn: f64| if alone { None } else { lon(b.west + turn, b.east + turn) };
    [lon(b.west, b.east), turn(360.0), turn(-360.0)].into_iter().flatten()
}

/// Where the middle of a box lies on the Z-order curve: neighbours on it are mostly neighbours.
fn curve_place(r: &Rect) -> u64 {
    let middle = |i: usize| (i64::midpoint(i64::from(r.min[i]), i64::from(r.max[i]))) as i32;
    let spread = |v: i32| {
        let mut x = u64::from(v.cast_unsigned() ^ 0x8000_0000);
        for (shift, mask) in [
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555),
        ] {
            x = (x | (x << shift)) & mask;
        }
        x
    };
    spread(middle(0)) | (spread(middle(1)) << 1)
}

/// What [`Index`] must answer, by asking every box in turn (INV-6).
#[cfg(test)]
#[derive(Clone, Debug, Default)]
pub struct NaiveIndex(Vec<Bounds>);

#[cfg(test)]
impl NaiveIndex {
    /// Keeps the boxes.
    pub fn build(boxes: impl Iterator<Item = Bounds>) -> Self {
        Self(boxes.collect())
    }

    /// As [`Index::near`].
    pub fn near(&self, p: Position, reach_m: f64, out: &mut Vec<u32>) {
        self.touching(&Bounds::around(p, reach_m), out);
    }

    /// As [`Index::along`].
    pub fn along(&self, a: Position, b: Position, out: &mut Vec<u32>) {
        self.touching(&Bounds::spanning(a, b), out);
    }

    fn touching(&self, bounds: &Bounds, out: &mut Vec<u32>) {
        out.clear();
        let hits = (0..).zip(&self.0).filter(|(_, b)| on_grid(b).touches(&on_grid(bounds)));
        out.extend(hits.map(|(id, _)| id));
    }
}

/// The box as the index keeps it: rounded outwards to the grid.
#[cfg(test)]
fn on_grid(b: &Bounds) -> Bounds {
    let down = |deg: f64| (deg * PER_DEG).floor() / PER_DEG;
    let up = |deg: f64| (deg * PER_DEG).ceil() / PER_DEG;
    Bounds { south: down(b.south), north: up(b.north), west: down(b.west), east: up(b.east) }
}
