//! The running offset of one source, event time minus boot time, and when it steps
//! (TIME-3, TIME-4).
//!
//! Always holds: the estimate moves only by fixes within its tolerance, by a run that all came
//! behind it, or by a step; a single fix, however wrong, moves nothing.
//! Does not know: floors, dates, what becomes of a fix.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::Mode;
use crate::logic::config::TimeRules;
use crate::units::{BootTime, EventTime, Span};

/// How far back the offsets reach that the estimate is the largest of (TIME-3) …
const WINDOW: Span = Span::from_secs(60);
/// … or this many fixes, whichever reaches further back.
const WINDOW_FIXES: u32 = 8;
/// Offsets kept at most, each smaller than the one before. Chance needs about six, a clock that
/// falls behind without jitter more: its window is then shorter.
const FALLING_MAX: usize = 64;
/// Fixes that must all come behind the estimate, over [`WINDOW`], to pull it back (TIME-3).
const BEHIND_FIXES: u32 = 5;
/// How fast boot time may drift from UTC: the tolerance grows by one part in 10,000 (TIME-3).
const DRIFT_DIVISOR: i64 = 10_000;
/// Offsets this close to each other agree on a step where bytes arrive as they are sent (TIME-4).
const STEP_AGREES: Span = Span::from_millis(200);
/// Boot time that agreeing fixes must span (TIME-4).
const STEP_SPANS: Span = Span::from_secs(2);
/// Boot time that late fixes must span where the source can delay (TIME-4).
const LATE_SPANS: Span = Span::from_secs(60);

/// Event time minus boot time: the only place where the two clocks meet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) struct Offset(Span);

impl Offset {
    /// The offset of a fix of this time that arrived then.
    pub(super) fn of(time: EventTime, at: BootTime) -> Self {
        Self(Span::from_nanos(time.nanos().saturating_sub(at.nanos())))
    }
    /// The event time at a boot time.
    pub(super) fn at(self, at: BootTime) -> EventTime {
        EventTime::from_nanos(at.nanos().saturating_add(self.0.nanos()))
    }
    /// How far this offset is ahead of another.
    pub(super) fn ahead_of(self, other: Self) -> Span {
        self.0 - other.0
    }
    /// As a plain span.
    pub(super) fn span(self) -> Span {
        self.0
    }
}

/// Consecutive fixes with something in common.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    first_at: BootTime,
    last_at: BootTime,
    fixes: u32,
    least: Offset,
    most: Offset,
}

impl Run {
    fn begin(at: BootTime, offset: Offset) -> Self {
        Self { first_at: at, last_at: at, fixes: 1, least: offset, most: offset }
    }
    fn with(self, at: BootTime, offset: Offset) -> Self {
        Self {
            last_at: at,
            fixes: self.fixes.saturating_add(1),
            least: self.least.min(offset),
            most: self.most.max(offset),
            ..self
        }
    }
    /// Adds a fix to a run, or begins one.
    fn extend(run: &mut Option<Self>, at: BootTime, offset: Offset) -> Self {
        let next = run.map_or_else(|| Self::begin(at, offset), |r| r.with(at, offset));
        *run = Some(next);
        next
    }
    /// As [`Run::extend`], but a fix that lies more than `within` from another begins anew.
    pub(super) fn extend_within(
        run: &mut Option<Self>,
        at: BootTime,
        offset: Offset,
        within: Span,
    ) -> Self {
        let next = Self::extend(run, at, offset);
        if next.most.ahead_of(next.least) <= within {
            return next;
        }
        *run = None;
        Self::extend(run, at, offset)
    }
    pub(super) fn fixes(&self) -> u32 {
        self.fixes
    }
    /// No time in it is earlier than this.
    pub(super) fn earliest(&self) -> EventTime {
        self.least.at(self.first_at.min(self.last_at))
    }
    fn spans(&self, length: Span) -> bool {
        self.last_at - self.first_at >= length
    }
}

/// Where a fix lies against the estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Skew {
    Ahead,
    Within,
    Behind,
}

/// The largest offset of a window that moves on: of its fixes only those that may yet be the
/// largest are kept, so that a minute at 10 Hz costs six fixes, not six hundred.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Recent {
    /// Number, arrival and offset; offsets fall from front to back.
    falling: VecDeque<(u32, BootTime, Offset)>,
    seen: u32,
}

impl Recent {
    fn see(&mut self, at: BootTime, offset: Offset) {
        while self.falling.back().is_some_and(|(_, _, smaller)| *smaller <= offset) {
            self.falling.pop_back();
        }
        self.falling.push_back((self.seen, at, offset));
        self.seen = self.seen.wrapping_add(1);
        let seen = self.seen;
        let left = |number: u32, then: BootTime| {
            seen.wrapping_sub(number) > WINDOW_FIXES && at - then > WINDOW
        };
        while self.falling.front().is_some_and(|(number, then, _)| left(*number, *then))
            || self.falling.len() > FALLING_MAX
        {
            self.falling.pop_front();
        }
    }

    /// Forgets what came before.
    fn since(&mut self, begin: BootTime) {
        self.falling.retain(|(_, then, _)| *then >= begin);
    }

    fn largest(&self) -> Option<Offset> {
        self.falling.front().map(|(_, _, offset)| *offset)
    }
}

/// The running offset and what speaks for and against it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Running {
    offset: Offset,
    confirmed_at: BootTime,
    /// Fixes within the tolerance since it was adopted.
    rests_on: u32,
    recent: Recent,
    behind: Option<Run>,
    agreeing: Option<Run>,
    late: Option<Run>,
}

impl Running {
    /// An estimate that rests on one fix.
    pub(super) fn new(at: BootTime, offset: Offset) -> Self {
        let mut recent = Recent::default();
        recent.see(at, offset);
        Self {
            offset,
            confirmed_at: at,
            rests_on: 1,
            recent,
            behind: None,
            agreeing: None,
            late: None,
        }
    }

    /// An estimate that rests on all of `seen`, oldest first, that fit the one chosen.
    pub(super) fn among<'a>(
        at: BootTime,
        chosen: Offset,
        seen: impl Iterator<Item = &'a (BootTime, Offset)>,
        skew: Span,
    ) -> Self {
        let mut running = Self::new(at, chosen);
        let fitting: Vec<_> =
            seen.filter(|(then, o)| running.skew(*then, *o, skew) == Skew::Within).collect();
        running.rests_on = fitting.len() as u32;
        running.recent = Recent::default();
        for (then, offset) in fitting {
            running.recent.see(*then, *offset);
        }
        running.offset = running.recent.largest().unwrap_or(chosen);
        running
    }

    pub(super) fn offset(&self) -> Offset {
        self.offset
    }

    /// The same in less room.
    pub(super) fn rest(self) -> Resting {
        Resting {
            offset: self.offset,
            confirmed_at: self.confirmed_at,
            rests_on: self.rests_on,
            seen: self.recent.seen,
            falling: self.recent.falling.into_iter().collect(),
            runs: [self.behind, self.agreeing, self.late].map(|run| run.map(Box::new)),
        }
    }

    /// Goes on where it rested.
    pub(super) fn wake(resting: Resting) -> Self {
        let [behind, agreeing, late] = resting.runs.map(|run| run.map(|run| *run));
        let falling = resting.falling.into_vec().into();
        Self {
            offset: resting.offset,
            confirmed_at: resting.confirmed_at,
            rests_on: resting.rests_on,
            recent: Recent { falling, seen: resting.seen },
            behind,
            agreeing,
            late,
        }
    }

    /// Compares a fix with the estimate: `skew` plus 100 ppm since it was last confirmed.
    pub(super) fn skew(&self, at: BootTime, offset: Offset, skew: Span) -> Skew {
        let ahead = offset.ahead_of(self.offset);
        let tolerance = tolerance(skew, at - self.confirmed_at);
        if ahead > tolerance {
            Skew::Ahead
        } else if ahead < Span::ZERO - tolerance {
            Skew::Behind
        } else {
            Skew::Within
        }
    }

    /// A valid fix within the tolerance.
    pub(super) fn confirm(&mut self, at: BootTime, offset: Offset) {
        self.agreeing = None;
        self.late = None;
        self.rests_on = self.rests_on.saturating_add(1);
        self.confirmed_at = self.confirmed_at.max(at);
        self.recent.see(at, offset);
        self.note_behind(at, offset);
        self.offset = self.recent.largest().unwrap_or(offset);
    }

    /// Follows a run in which everything came behind the estimate (TIME-3).
    fn note_behind(&mut self, at: BootTime, offset: Offset) {
        if offset >= self.offset {
            self.behind = None;
            return;
        }
        let run = Run::extend(&mut self.behind, at, offset);
        if run.fixes >= BEHIND_FIXES && run.spans(WINDOW) {
            self.recent.since(run.first_at);
            if self.recent.largest().is_none() {
                self.recent.see(at, run.most);
            }
            self.offset = run.most;
            self.confirmed_at = at;
            self.behind = None;
        }
    }

    /// A valid fix ahead of or behind the tolerance. Gives the new offset when it is a step.
    pub(super) fn disagree(
        &mut self,
        fix: Disagreement,
        mode: Mode,
        rules: &TimeRules,
    ) -> Option<Self> {
        let Disagreement { at, offset, skew, late } = fix;
        let may_delay = mode != Mode::Serial;
        let fixes_min = u32::from(rules.steps_to_adopt);
        // A network spreads the arrivals of one clock's fixes as far as the tolerance allows.
        let within = if may_delay { rules.skew_tolerance } else { STEP_AGREES };
        let agreeing = Run::extend_within(&mut self.agreeing, at, offset, within);
        let back_by_delay = skew == Skew::Behind && may_delay;
        if agreeing.fixes >= fixes_min
            && agreeing.spans(STEP_SPANS)
            && (!back_by_delay || self.rests_on == 1)
        {
            return Some(Self::resting_on(agreeing));
        }
        if back_by_delay && late {
            let run = Run::extend(&mut self.late, at, offset);
            if run.fixes >= fixes_min && run.spans(LATE_SPANS) {
                return Some(Self::resting_on(run));
            }
        } else {
            self.late = None;
        }
        if skew == Skew::Ahead {
            self.behind = None;
        }
        // On a source that can delay, far behind is a backlog: following it would clamp the
        // live fixes that come after it.
        if skew == Skew::Behind && !may_delay {
            self.note_behind(at, offset);
        }
        None
    }

    /// A valid fix whose time is below the floor: it counts towards a step, for by its fifth
    /// like it the floor will have been lowered (TIME-2), but makes none.
    pub(super) fn accused(&mut self, at: BootTime, offset: Offset) {
        Run::extend_within(&mut self.agreeing, at, offset, STEP_AGREES);
        self.late = None;
    }

    /// A valid fix that has no place in any run: its time cannot be true.
    pub(super) fn interrupt(&mut self) {
        self.agreeing = None;
        self.late = None;
    }

    fn resting_on(run: Run) -> Self {
        Self { rests_on: run.fixes, ..Self::new(run.last_at, run.most) }
    }
}

/// A [`Running`] in less room: most runs are not there at most times.
#[derive(Clone, Debug)]
pub(super) struct Resting {
    offset: Offset,
    confirmed_at: BootTime,
    rests_on: u32,
    seen: u32,
    falling: Box<[(u32, BootTime, Offset)]>,
    runs: [Option<Box<Run>>; 3],
}

/// A fix outside the tolerance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disagreement {
    pub(super) at: BootTime,
    pub(super) offset: Offset,
    pub(super) skew: Skew,
    pub(super) late: bool,
}

/// What an offset may differ after this much boot time.
pub(super) fn tolerance(skew: Span, since: Span) -> Span {
    skew + Span::from_nanos(since.abs().nanos() / DRIFT_DIVISOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TIME-3: the largest among the last 60 s or eight fixes, whichever reaches further back, as
    /// a list of all of them says.
    #[test]
    fn time_3_the_largest_of_the_window() {
        for (every_ms, spread) in [(100, 40), (1000, 7), (1000, 1), (60_000, 5), (7_500, 1000)] {
            let (mut recent, mut all, mut chance) = (Recent::default(), Vec::new(), 1_u64);
            for n in 0..2000_i64 {
                chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let at = BootTime::from_nanos(0) + Span::from_millis(every_ms).times(n);
                let offset = Offset(Span::from_millis((chance >> 33).cast_signed() % spread));
                recent.see(at, offset);
                all.push((at, offset));
                let window = all.iter().rev().enumerate();
                let within = window.take_while(|(n, (then, _))| *n < 8 || at - *then <= WINDOW);
                let largest = within.map(|(_, (_, offset))| *offset).max();
                assert_eq!(recent.largest(), largest, "fix {n} every {every_ms} ms, {spread}");
            }
            assert!(recent.falling.len() <= 16, "{}", recent.falling.len());
        }
    }

    /// A clock that falls behind with every fix does not grow it.
    #[test]
    fn the_window_is_bounded() {
        let mut recent = Recent::default();
        for n in 0..5000 {
            let at = BootTime::from_nanos(n * 100_000_000);
            recent.see(at, Offset(Span::from_nanos(-n)));
            assert!(recent.falling.len() <= FALLING_MAX);
        }
    }
}
