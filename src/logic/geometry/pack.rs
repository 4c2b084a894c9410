//! Boxes over runs of sixteen, level upon level: the index of a path's edges.
//!
//! Always holds: box `i` of level `k + 1` encloses boxes `16 i .. 16 i + 16` of level `k`; the
//! top level has at most sixteen. Costs 16/15 boxes for each bottom box and no pointers.
//! Does not know: what the bottom boxes are of.

/// Boxes under one box of the level above.
pub(crate) const FAN: usize = 16;

/// A box of grid coordinates (1e-7°), boundary included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Rect {
    pub(crate) min: [i32; 2],
    pub(crate) max: [i32; 2],
}

impl Rect {
    /// The box that encloses nothing.
    pub(crate) const EMPTY: Self = Self { min: [i32::MAX; 2], max: [i32::MIN; 2] };

    /// The smallest box around some points.
    pub(crate) fn of(points: &[[i32; 2]]) -> Self {
        points.iter().fold(Self::EMPTY, |r, &p| r.join(Self { min: p, max: p }))
    }

    /// The smallest box around both.
    pub(crate) fn join(self, other: Self) -> Self {
        let [x, y] = [0, 1];
        Self {
            min: [self.min[x].min(other.min[x]), self.min[y].min(other.min[y])],
            max: [self.max[x].max(other.max[x]), self.max[y].max(other.max[y])],
        }
    }

    /// Whether they share a point.
    pub(crate) fn touches(&self, other: &Self) -> bool {
        let [x, y] = [0, 1];
        self.min[x] <= other.max[x]
            && other.min[x] <= self.max[x]
            && self.min[y] <= other.max[y]
            && other.min[y] <= self.max[y]
    }
}

/// The levels, bottom first. Empty when there is nothing to index.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Pack {
    levels: Box<[Box<[Rect]>]>,
}

impl Pack {
    /// Builds the levels over bottom boxes in the order given.
    pub(crate) fn new(bottom: Vec<Rect>) -> Self {
        let mut levels = Vec::new();
        let mut level = bottom;
        while !level.is_empty() {
            let above: Vec<Rect> = level
                .chunks(FAN)
                .map(|run| run.iter().fold(Rect::EMPTY, |a, b| a.join(*b)))
                .collect();
            let top = level.len() <= FAN;
            levels.push(level.into_boxed_slice());
            level = if top { Vec::new() } else { above };
        }
        Self { levels: levels.into_boxed_slice() }
    }

    /// Whether there are no boxes.
    pub(crate) fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    /// How many levels.
    pub(crate) fn height(&self) -> usize {
        self.levels.len()
    }

    /// The boxes of one level.
    pub(crate) fn level(&self, level: usize) -> &[Rect] {
        &self.levels[level]
    }

    /// The boxes under box `i` of `level`, as indices into the level below.
    pub(crate) fn under(&self, level: usize, i: usize) -> std::ops::Range<usize> {
        i * FAN..((i + 1) * FAN).min(self.levels[level - 1].len())
    }

    /// Calls `found` with every bottom box for which `enter` holds, as it does for all above it.
    pub(crate) fn visit(&self, enter: &impl Fn(&Rect) -> bool, found: &mut impl FnMut(usize)) {
        if let Some(top) = self.levels.len().checked_sub(1) {
            self.visit_run(top, 0..self.levels[top].len(), enter, found);
        }
    }

    fn visit_run(
        &self,
        level: usize,
        run: std::ops::Range<usize>,
        enter: &impl Fn(&Rect) -> bool,
        found: &mut impl FnMut(usize),
    ) {
        for i in run {
            if !enter(&self.levels[level][i]) {
                continue;
            }
            if level == 0 {
                found(i);
            } else {
                self.visit_run(level - 1, self.under(level, i), enter, found);
            }
        }
    }
}
