//! `fence_passed`: the path crossed a zone with too few fixes inside for an entry.
//!
//! Always holds: from committed OUTSIDE only; both the path and the straight line between its two
//! clearly outside ends cross the zone, so that one outlier into a zone beside us is no pass; the
//! next fix must confirm the far side; never across a gap; never both a pass and an entry.
//! Does not know: event numbers, other zones.

use serde::{Deserialize, Serialize};

use super::asset::What;
use super::bracket::Context;
use super::observe::Side;
use super::pair::{Measured, Pair, Seen, span_nanos};
use crate::logic::geometry::Shape;
use crate::units::{EventTime, Position, Span};

/// A fix, as far as a path needs it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Point {
    time: EventTime,
    position: Position,
}

/// A straight line that crossed the zone and waits for the next fix.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Crossed {
    from: Point,
    to: Point,
    /// Shares of the line at which the zone began and ended.
    shares: (f64, f64),
}

/// The path past one zone since the last fix clearly outside it.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct PassTrack {
    from: Option<Point>,
    path_crossed: bool,
    #[serde(with = "span_nanos")]
    silence: Span,
    crossed: Option<Crossed>,
}

impl PassTrack {
    /// Whether the next fix may complete a pass.
    pub const fn is_open(&self) -> bool {
        self.crossed.is_some()
    }

    /// One ordered fix; `before` and `after` are the pair around it, `silence` is the longest
    /// since the fix before.
    pub fn step(
        &mut self,
        shape: &Shape,
        (before, after): (&Pair, &Pair),
        context: &Context<'_>,
        (fix, silence): (&Measured, Span),
        seen: &Seen,
    ) -> Option<What> {
        let outside = Some(Side::Outside);
        if before.committed != outside || after.committed != outside {
            *self = Self::default();
            return None;
        }
        let here = Point { time: fix.time, position: fix.position };
        let last = fix.before.map(|last| Point { time: last.time, position: last.position });
        self.silence = self.silence.max(silence);
        if before.away >= 1 && self.from.is_none() {
            *self = Self { from: last, silence, ..Self::default() };
        }
        if let Some(last) = last {
            let segment = shape.crossing(last.position, here.position);
            self.path_crossed |= segment.is_some();
        }
        let clear = seen.observation == outside && seen.is_clear(fix.clear_m);
        if !clear {
            // Not there yet, or the end of the line was an outlier: the path goes on.
            self.crossed = None;
            return None;
        }
        self.arrive(shape, context, here)
    }

    /// A fix clearly outside: it confirms a crossed line, or ends one.
    fn arrive(&mut self, shape: &Shape, context: &Context<'_>, here: Point) -> Option<What> {
        if let Some(crossed) = self.crossed.take() {
            let stays = shape.crossing(crossed.to.position, here.position).is_none();
            if stays && self.heard(context) {
                *self = Self::default();
                return Some(crossed.passed());
            }
        }
        let from = self.from?;
        let line = shape.crossing(from.position, here.position);
        match line.filter(|_| self.path_crossed && self.heard(context)) {
            Some(shares) => self.crossed = Some(Crossed { from, to: here, shares }),
            None => *self = Self::default(),
        }
        None
    }

    /// Whether the path so far holds no gap: neither a silence nor a restart.
    fn heard(&self, context: &Context<'_>) -> bool {
        let restarted = self.from.is_some_and(|from| context.restarted_after >= Some(from.time));
        self.silence <= context.silence_limit && !restarted
    }
}

impl Crossed {
    fn passed(&self) -> What {
        let length_s = (self.to.time - self.from.time).secs_f64();
        let at = |share: f64| self.from.time + Span::from_secs_f64(length_s * share);
        What::Passed {
            entered: at(self.shares.0),
            left: at(self.shares.1),
            not_before: self.from.time,
            not_after: self.to.time,
        }
    }
}
