//! The machine as timelines: `(seconds, metres from the boundary)`, negative inside.
//!
//! Accuracy is 3 m unless said, so u is 6 m and an outside vote needs 16 m.

use proptest::prelude::*;

use super::*;
use crate::logic::crossing::observe::Margins;
use crate::logic::crossing::pair::{Before, Measured};
use crate::logic::crossing::silences::Silences;
use crate::logic::crossing::table::PairTable;
use crate::logic::geometry::Located;

const MARGINS: Margins = Margins { enter_m: 0.0, exit_m: 10.0, accuracy_cap_m: 30.0 };
const ACCURACY_M: f64 = 3.0;

fn context(silences: &Silences) -> Context<'_> {
    let limit = Span::from_secs(300);
    Context { silence_limit: limit, infer_limit: limit, restarted_after: None, silences }
}

fn at(s: f64) -> EventTime {
    EventTime::from_nanos(1_700_000_000 * 1_000_000_000) + Span::from_secs_f64(s)
}

fn seconds(time: EventTime) -> f64 {
    ((time - at(0.0)).secs_f64() * 100.0).round() / 100.0
}

/// One fix; the zone's boundary is a meridian at longitude 11, outside to the east.
fn seen(t: f64, d: f64, last: Option<(f64, f64)>) -> (Measured, Seen) {
    let located = Located { inside: d <= 0.0, distance_m: d, hole_depth_m: None };
    let position = |d: f64| Position::new(48.0, 11.0 + d / 74_000.0).unwrap();
    let fix = Measured {
        time: at(t),
        position: position(d),
        clear_m: 2.0 * ACCURACY_M,
        before: last.map(|(t, d)| Before { time: at(t), position: position(d) }),
    };
    let seen = Seen {
        observation: MARGINS.observe(&located, ACCURACY_M),
        distance_m: d,
        inside: located.inside,
        before_m: last.map(|(_, d)| d),
    };
    (fix, seen)
}

struct Line {
    rules: VoteRules,
    restarted_after: Option<EventTime>,
    silences: Silences,
    pair: Pair,
    last: Option<(f64, f64)>,
}

impl Line {
    fn new(pair: Pair) -> Self {
        let rules = VoteRules::new(3, Span::from_secs(2), None, Span::from_secs(1));
        Self { rules, restarted_after: None, silences: Silences::default(), pair, last: None }
    }
    fn outside() -> Self {
        let mut line = Self::new(Pair::unevaluated(at(-10.0)));
        for t in [-10.0, -9.0, -8.0] {
            assert_eq!(line.fix(t, 100.0).map(|c| c.first), (t == -8.0).then_some(true));
        }
        line
    }
    fn inside() -> Self {
        let mut line = Self::outside();
        let entry = [-5.0, -4.0, -3.0].map(|t| line.fix(t, -40.0));
        assert!(entry[2].is_some());
        line
    }
    fn fix(&mut self, t: f64, d: f64) -> Option<Commit> {
        let (fix, seen) = seen(t, d, self.last);
        if let Some((before, _)) = self.last.replace((t, d)) {
            let silence = Silence { from: at(before), span: at(t) - at(before) };
            self.silences.note(silence, Span::ZERO);
        }
        let context = Context { restarted_after: self.restarted_after, ..context(&self.silences) };
        let (pair, commit) = step(&self.rules, &context, self.pair, &fix, &seen);
        self.pair = pair;
        commit
    }
    /// Plays fixes; gives `(second, inside)` of every commit.
    fn play(&mut self, fixes: &[(f64, f64)]) -> Vec<(f64, bool)> {
        let commits = fixes
            .iter()
            .filter_map(|&(t, d)| self.fix(t, d).map(|commit| (t, commit.side.is_inside())));
        commits.collect()
    }
}

fn check(mut line: Line, fixes: &[(f64, f64)], want: &[(f64, bool)]) {
    assert_eq!(line.play(fixes), want, "{fixes:?}");
}

#[test]
fn confirm_votes_spanning_confirm_for_commit() {
    check(Line::outside(), &[(0.0, -1.0), (1.0, -5.0), (2.0, -9.0)], &[(2.0, true)]);
    // 10 Hz: thirty votes, and the 21st spans two seconds.
    let fast: Vec<_> = (0..30).map(|i| (f64::from(i) / 10.0, -5.0)).collect();
    check(Line::outside(), &fast, &[(2.0, true)]);
    check(Line::inside(), &[(0.0, 16.0), (1.0, 30.0), (2.0, 44.0)], &[(2.0, false)]);
}

/// PAIR-2: a vote that has run out is gone; a late report never completes it (PAIR-4).
#[test]
fn pair_2_a_vote_past_its_deadline_is_no_vote() {
    check(Line::outside(), &[(0.0, -5.0), (1.0, -5.0), (4.5, -5.0)], &[(4.5, true)]);
    check(Line::outside(), &[(0.0, -5.0), (1.0, -5.0), (4.6, -5.0), (5.6, -5.0)], &[]);
    check(Line::outside(), &[(0.0, -5.0), (4.6, -5.0), (5.6, -5.0), (6.6, -5.0)], &[(6.6, true)]);
}

/// FIX-4, PAIR-1: the deadline grows with the interval, so a slow tracker can still confirm.
#[test]
fn pair_1_deadline_follows_the_interval() {
    let window = |interval_s: i64, confirm| {
        VoteRules::new(confirm, Span::from_secs(2), None, Span::from_secs(interval_s)).window
    };
    assert_eq!(window(1, 3), Span::from_millis(4500));
    assert_eq!(window(600, 3), Span::from_secs(2700));
    assert_eq!(window(1, 31), Span::from_millis(46_500));
    assert_eq!(window(10, 1), Span::from_secs(15));
    let fixed = VoteRules::new(3, Span::ZERO, Some(Span::from_secs(9)), Span::from_secs(600));
    assert_eq!(fixed.window, Span::from_secs(9));
}

/// PAIR-1: whatever is asked, at a steady interval a vote stands until the fix that wins it.
#[test]
fn pair_1_a_vote_stands_until_enough_have_come() {
    for interval in [Span::from_millis(40), Span::from_secs(1), Span::from_secs(86_400)] {
        for confirm in 1..=31 {
            for tenths in 0..100 {
                let asked = Span::from_nanos(interval.nanos() / 10 * tenths + 1);
                let rules = VoteRules::new(confirm, asked, None, interval);
                let fixes = (0..).map(|n| (n + 1, interval.times(n)));
                let enough =
                    |(count, span): &(i64, Span)| *count >= i64::from(confirm) && *span >= asked;
                let (_, won) = fixes.into_iter().find(enough).unwrap();
                assert!(won <= rules.window, "{rules:?} at {interval:?}: won at {won:?}");
            }
        }
    }
}

/// The table's second row: agreeing drops all votes, Unsure leaves them.
#[test]
fn agreement_drops_all_votes_and_unsure_none() {
    check(Line::outside(), &[(0.0, -1.0), (1.0, 20.0), (2.0, -1.0), (3.0, -1.0)], &[]);
    check(Line::outside(), &[(0.0, -1.0), (1.0, 3.0), (2.0, -1.0), (3.0, -1.0)], &[(3.0, true)]);
    // B4: on the line for ten minutes.
    let flap = (0..600).map(|i| (f64::from(i), if i % 2 == 0 { -0.7 } else { 0.7 }));
    let flap: Vec<_> = flap.collect();
    assert!(Line::outside().play(&flap).len() <= 1);
    assert_eq!(Line::inside().play(&flap), []);
}

/// PAIR-6: voted both ways; a minute of Unsure is outside; never an entry.
#[test]
fn pair_6_first_evaluation() {
    let fresh = || Line::new(Pair::unevaluated(at(0.0)));
    check(fresh(), &[(0.0, -9.0), (1.0, -9.0), (2.0, -9.0)], &[(2.0, true)]);
    check(fresh(), &[(0.0, 50.0), (1.0, 50.0), (2.0, 50.0)], &[(2.0, false)]);
    check(fresh(), &[(0.0, -9.0), (1.0, 50.0), (2.0, -9.0), (3.0, -9.0)], &[]);
    let unsure: Vec<_> = (0..62).map(|i| (f64::from(i), 5.0)).collect();
    check(fresh(), &unsure, &[(60.0, false)]);
    // A vote that ran out at 4.5 s restarts the minute there, whenever that is noticed.
    let mut late = vec![(0.0, -1.0)];
    late.extend((1..70).map(|i| (f64::from(i), 5.0)));
    check(fresh(), &late, &[(65.0, false)]);
    let mut line = fresh();
    let commit = [0.0, 1.0, 2.0].map(|t| line.fix(t, -9.0))[2].unwrap();
    assert!(commit.first);
}

/// Every crossing is a bracket: both ends, the interpolated moment, the votes behind it.
#[test]
fn bracket_of_a_plain_entry() {
    let mut line = Line::outside();
    let fixes = [(0.0, 30.0), (1.0, 20.0), (2.0, 5.0), (3.0, -5.0), (4.0, -15.0), (5.0, -25.0)];
    let commit = fixes.iter().find_map(|&(t, d)| line.fix(t, d)).unwrap();
    assert_eq!(seconds(commit.not_before), 1.0, "the last of two clearly outside");
    assert_eq!(commit.not_after.map(seconds), Some(4.0), "the first of two clearly inside");
    assert_eq!(commit.change.map(|c| seconds(c.at)), Some(2.5));
    assert_eq!((commit.votes, commit.certainty), (3, Certainty::Observed));
    // The next exit falls back on what has been seen clearly inside since.
    assert_eq!(seconds(line.pair.not_before), 5.0);
}

/// Without two clear fixes since the last commit, its own bracket is the fallback.
#[test]
fn bracket_falls_back_on_the_event_before() {
    let mut line = Line::outside();
    let entry = [(0.0, 30.0), (1.0, 30.0), (2.0, -1.0), (3.0, -1.0), (4.0, -1.0)];
    let entry = entry.iter().find_map(|&(t, d)| line.fix(t, d)).unwrap();
    assert_eq!(entry.not_after, None, "never clearly inside");
    let exit = [(5.0, 17.0), (6.0, 17.0), (7.0, 17.0)];
    let exit = exit.iter().find_map(|&(t, d)| line.fix(t, d)).unwrap();
    assert_eq!(exit.not_before, entry.not_before);
    assert_eq!(exit.not_after.map(seconds), Some(5.0));
}

/// BRK-1: silence and restarts in the bracket name the event.
#[test]
fn brk_1_certainty() {
    let cross = |gap: f64, restarted: bool| {
        let mut line = Line::outside();
        line.fix(0.0, 50.0);
        if restarted {
            line.restarted_after = Some(at(0.0));
        }
        let fixes = [(gap, -50.0), (gap + 1.0, -50.0), (gap + 2.0, -50.0)];
        fixes.iter().find_map(|&(t, d)| line.fix(t, d)).unwrap().certainty
    };
    assert_eq!(cross(300.0, false), Certainty::Observed);
    assert_eq!(cross(301.0, false), Certainty::Uncertain);
    assert_eq!(cross(90.0, true), Certainty::Inferred);
    assert_eq!(cross(7200.0, true), Certainty::Uncertain);
    let silences = Silences::default();
    let mut wide = context(&silences);
    wide.infer_limit = Span::from_secs(3600);
    let silence = Silence { from: at(0.0), span: Span::from_secs(1000) };
    assert_eq!(bracket::certainty(&wide, at(0.0), silence), Certainty::Inferred);
    // A restart before the bracket says nothing about it.
    wide.restarted_after = Some(at(-1.0));
    assert_eq!(bracket::certainty(&wide, at(0.0), Silence::none_at(at(0.0))), Certainty::Observed);
}

/// TIME-4: a clock that steps back takes the bracket and the vote's deadline along.
#[test]
fn time_4_a_step_back_leaves_nothing_in_the_future() {
    let mut line = Line::outside();
    line.play(&[(7200.0, 50.0), (7201.0, 50.0), (7202.0, -5.0), (7203.0, -5.0)]);
    assert_eq!(line.play(&[(10.0, -5.0), (11.0, -20.0)]), [], "the votes' span begins anew");
    let commit = line.fix(12.0, -20.0).unwrap();
    // The old clock's last fix may lie a minute before the new one's first.
    assert_eq!((seconds(commit.not_before), commit.not_after.map(seconds)), (-52.0, Some(11.0)));
    let mut line = Line::outside();
    line.play(&[(7200.0, 50.0), (7201.0, 50.0), (7202.0, -5.0), (7203.0, -5.0)]);
    assert_eq!(line.play(&[(10.0, 2.0), (60.0, -5.0)]), [], "the old deadline is not hours away");
}

proptest! {
    /// INV-1 and BRK-3's shape, for any walk: commits alternate, the near end is never after the
    /// moment or the commit, and the far end never before the near one.
    #[test]
    fn inv_1_commits_alternate(
        walk in prop::collection::vec((1u32..3000, -60.0f64..60.0), 1..400),
    ) {
        let mut line = Line::new(Pair::unevaluated(at(0.0)));
        let (mut t, mut side) = (0.0, None);
        for (tenths, d) in walk {
            t += f64::from(tenths) / 10.0;
            if let Some(commit) = line.fix(t, d) {
                prop_assert_ne!(side, Some(commit.side));
                prop_assert_eq!(commit.first, side.is_none());
                prop_assert!(commit.not_before <= at(t));
                if let (Some(after), false) = (commit.not_after, commit.first) {
                    prop_assert!(commit.not_before <= after && after <= at(t));
                }
                side = Some(commit.side);
            }
        }
    }

    /// PAIR-5: as it lies in memory a pair takes the same steps, sixty of them in one table.
    #[test]
    fn pair_5_packed_is_the_same_machine(
        walk in prop::collection::vec((0u32..60, 1u32..3000, -60.0f64..60.0), 1..1500),
    ) {
        let (mut table, mut lines) = (PairTable::default(), Vec::new());
        let fresh = || Line::new(Pair::unevaluated(at(0.0)));
        lines.resize_with(60, fresh);
        let mut clocks = [0.0; 60];
        for (zone, tenths, d) in walk {
            let line = &mut lines[zone as usize];
            let t = &mut clocks[zone as usize];
            *t += f64::from(tenths) / 10.0;
            let last = line.last;
            let commit = line.fix(*t, d);
            if table.find(zone).is_none() {
                table.put(zone, &Pair::unevaluated(at(0.0)), false);
            }
            let place = table.find(zone).unwrap();
            let context = context(&line.silences);
            let (fix, seen) = seen(*t, d, last);
            let stepped = table.step(|| line.rules, &context, place, &fix, &seen);
            prop_assert_eq!(stepped.commit, commit);
            let running = lines.iter().filter(|line| line.pair.votes.is_some()).count();
            prop_assert_eq!(table.running() as usize, running);
            if lines[zone as usize].pair.is_away() && tenths % 3 == 0 {
                table.remove(zone);
                lines[zone as usize] = fresh();
            }
            let have = table.iter().count();
            prop_assert_eq!(have, table.len());
        }
    }

    /// PAIR-4: sweeping votes at any time, any number of times, changes nothing.
    #[test]
    fn pair_4_lazy_equals_eager(
        walk in prop::collection::vec((1u32..80, -30.0f64..30.0, any::<bool>()), 1..200),
    ) {
        let (mut lazy, mut eager) = (Line::outside(), Line::outside());
        let mut t = 0.0;
        for (tenths, d, sweep) in walk {
            t += f64::from(tenths) / 10.0;
            if sweep {
                expire(&mut eager.pair, at(t - 0.05));
            }
            prop_assert_eq!(lazy.fix(t, d), eager.fix(t, d));
        }
    }
}

/// Outside after a minute of Unsure fixes, the last of them past the boundary: the entry that
/// follows has its `at` there.
#[test]
fn pair_6_a_boundary_passed_before_an_idle_end_is_the_entrys() {
    let mut line = Line::new(Pair::unevaluated(at(0.0)));
    let mut fix = |t: f64, d: f64, says: Option<Side>| {
        let (fix, seen) = seen(t, d, line.last);
        let seen = Seen { observation: says, ..seen };
        line.last = Some((t, d));
        let (pair, commit) = step(&line.rules, &context(&line.silences), line.pair, &fix, &seen);
        line.pair = pair;
        commit
    };
    assert!(fix(0.0, 2.0, None).is_none());
    assert!(fix(50.0, -2.0, None).is_none());
    assert!(fix(60.0, -2.0, None).is_some_and(|commit| !commit.side.is_inside()));
    let inside = Some(Side::Inside);
    assert!(fix(61.0, -4.0, inside).is_none() && fix(62.0, -4.0, inside).is_none());
    let entry = fix(63.0, -4.0, inside).expect("three votes spanning two seconds");
    assert_eq!(entry.change.map(|change| seconds(change.at)), Some(25.0));
}
