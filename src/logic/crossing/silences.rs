//! The long silences of one asset, for every bracket of every pair.
//!
//! Always holds: entries are in time order and never grow: a later longer silence takes the place
//! of the shorter ones before it, so the longest since any moment is the first entry after it.
//! Does not know: pairs, brackets, what a silence is called.

use serde::{Deserialize, Serialize};

use super::pair::span_nanos;
use crate::units::{EventTime, Span};

/// The longest time nothing was heard, within some window.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Silence {
    /// The last time the asset was heard before it.
    pub from: EventTime,
    /// How long it lasted.
    #[serde(with = "span_nanos")]
    pub span: Span,
}

impl Silence {
    /// No silence, at `time`.
    pub const fn none_at(time: EventTime) -> Self {
        Self { from: time, span: Span::ZERO }
    }
    /// The longer of two; the earlier where they are equal.
    #[must_use]
    pub fn longer(self, other: Self) -> Self {
        if other.span > self.span { other } else { self }
    }
    /// When the asset was heard again.
    pub fn to(self) -> EventTime {
        self.from + self.span
    }
}

/// How many silences are kept: a bracket that spans this many, each no longer than the one before,
/// loses the one whose length the next one tells best.
pub const SILENCES_MAX: usize = 32;

/// Silences that may matter to a bracket, each at most as long as the one before it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Silences(Vec<Silence>);

impl Silences {
    /// One more, later than every other; shorter than `matters` are not kept, because no name
    /// follows from them (BRK-1).
    #[inline]
    pub fn note(&mut self, silence: Silence, matters: Span) {
        if silence.span > matters {
            self.keep(silence);
        }
    }

    fn keep(&mut self, silence: Silence) {
        while self.0.last().is_some_and(|last| last.span < silence.span) {
            self.0.pop();
        }
        if self.0.len() == SILENCES_MAX {
            let alike = self.0.windows(2).map(|two| two[0].span - two[1].span);
            let (place, _) = alike.enumerate().min_by_key(|(_, less)| *less).unwrap_or_default();
            self.0.remove(place);
        }
        self.0.push(silence);
    }

    /// The longest that began at `moment` or later; none is none at that moment.
    pub fn longest_since(&self, moment: EventTime) -> Silence {
        let after = self.0.partition_point(|silence| silence.from < moment);
        self.0.get(after).copied().unwrap_or(Silence::none_at(moment))
    }

    /// The receiver's clock has stepped back to `now`: what was before it lies before it.
    pub fn stepped_back(&mut self, now: EventTime) {
        for silence in &mut self.0 {
            silence.from = silence.from.min(now);
        }
    }

    /// Whether there are none, for what is stored.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: i64) -> EventTime {
        EventTime::from_nanos(0) + Span::from_secs(s)
    }

    /// `(from, length)` of silences as they come; the longest since each moment by looking at all.
    #[test]
    fn brk_1_the_longest_since_any_moment_is_what_looking_at_all_finds() {
        let check = |silences: &[(i64, i64)]| {
            let mut kept = Silences::default();
            for &(from, s) in silences {
                kept.note(Silence { from: at(from), span: Span::from_secs(s) }, Span::from_secs(9));
            }
            for moment in 0..100 {
                let all = silences.iter().filter(|(from, s)| *from >= moment && *s > 9);
                let mut want = Silence::none_at(at(moment));
                for &(from, s) in all {
                    want = want.longer(Silence { from: at(from), span: Span::from_secs(s) });
                }
                assert_eq!(kept.longest_since(at(moment)), want, "{silences:?} since {moment}");
            }
        };
        check(&[]);
        check(&[(3, 9)]);
        check(&[(0, 10), (10, 20), (30, 15), (50, 15), (70, 12)]);
        check(&[(0, 30), (30, 20), (50, 40)]);
    }

    /// More than are kept: the longest stays, and since any moment the answer is a true silence.
    #[test]
    fn brk_1_a_full_log_loses_what_the_next_tells_best() {
        let mut kept = Silences::default();
        let day = |ix: i64| Silence { from: at(ix * 90_000), span: Span::from_secs(86_400 - ix) };
        for ix in 0..1000 {
            kept.note(day(ix), Span::from_secs(300));
        }
        assert_eq!(kept.0.len(), SILENCES_MAX);
        assert_eq!(kept.longest_since(at(0)).span.secs_f64().round(), 86_400.0 - 968.0);
        assert_eq!(kept.longest_since(day(999).from), day(999));
    }
}
