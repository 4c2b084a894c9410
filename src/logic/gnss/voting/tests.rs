//! ORD-4 as timelines.

use proptest::prelude::*;

use super::Vote::{Standby, Votes};
use super::*;

const TAKES_OVER: Vote = Vote::TakesOver { step: false };
const TAKES_OVER_STEP: Vote = Vote::TakesOver { step: true };

/// (boot time in seconds, source, expected). Source 1 has rank 1 and so on; 1 s intervals.
#[track_caller]
fn check(lines: &[(i64, u16, Vote)]) {
    check_offsets(&[Some(0); 4], lines);
}

/// S, where nothing else is said.
const LIMIT: Span = Span::from_secs(300);

/// A fix of a source that reports each second and whose rank is its number.
fn usable(secs: f64, source: u16) -> Usable {
    Usable {
        source,
        rank: source as u8,
        at: BootTime::from_nanos(0) + Span::from_secs_f64(secs),
        declared: Span::from_secs(1),
        window: Span::ZERO,
        offset: None,
    }
}

/// What a fix may do, where the gate finds every voting one usable.
fn vote(voting: &mut Voting, fix: Usable) -> Vote {
    let vote = voting.admit(fix, LIMIT);
    if vote != Standby {
        assert_eq!(voting.voter(), fix.source);
        voting.judged_usable(fix, LIMIT);
    }
    vote
}

/// As [`check`], with each source's offset in seconds.
#[track_caller]
fn check_offsets(offsets: &[Option<i64>], lines: &[(i64, u16, Vote)]) {
    let fix = |(secs, source, _): (i64, u16, Vote)| Usable {
        offset: offsets[usize::from(source)].map(Span::from_secs),
        ..usable(secs as f64, source)
    };
    let mut voting = Voting::of_one(fix(lines[0]), true, Gaps::default());
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(vote(&mut voting, fix(*line)), line.2, "line {number}: {line:?}");
    }
}

#[test]
fn ord_4_a_single_source_always_votes() {
    check(&[(0, 1, Votes), (1, 1, Votes), (900, 1, Votes), (899, 1, Votes)]);
}

/// A better source heard for the first time does not return: at a start it votes at once.
#[test]
fn ord_4_at_a_start_the_better_one_votes_at_once() {
    check(&[(0, 2, Votes), (0, 1, TAKES_OVER), (1, 2, Standby), (1, 1, Votes)]);
}

/// The source that was alone but never usable keeps nobody waiting.
#[test]
fn ord_4_a_source_never_usable_is_no_voter() {
    let mut voting = Voting::of_one(usable(0.0, 1), false, Gaps::default());
    assert_eq!(vote(&mut voting, usable(0.0, 2)), TAKES_OVER);
    assert_eq!(vote(&mut voting, usable(2.0, 1)), Standby);
}

/// A voter lives by its judged fixes, not by its stamps: one that only jumps lapses.
#[test]
fn ord_4_a_voter_that_only_jumps_lapses() {
    let mut voting = Voting::of_one(usable(0.0, 1), true, Gaps::default());
    for secs in 1..=3 {
        assert_eq!(voting.admit(usable(f64::from(secs), 1), LIMIT), Votes);
        assert_eq!(vote(&mut voting, usable(f64::from(secs), 2)), Standby);
    }
    assert_eq!(vote(&mut voting, usable(4.0, 2)), TAKES_OVER);
}

/// Three intervals of a fast receiver are no time at all; the window is waited for, too.
#[test]
fn ord_4_a_hiccup_flips_nothing() {
    let fast = |secs, source| Usable {
        declared: Span::from_millis(100),
        window: Span::from_millis(500),
        ..usable(secs, source)
    };
    let mut voting = Voting::of_one(fast(0.0, 1), true, Gaps::default());
    for (secs, expected) in [(0.5, Standby), (3.5, Standby), (3.6, TAKES_OVER)] {
        assert_eq!(vote(&mut voting, fast(secs, 2)), expected, "{secs}");
    }
}

/// The interval is the one a source shows (FIX-4); but nobody waits longer than S.
#[test]
fn ord_4_a_slow_voter_has_its_own_interval() {
    let mut voting = Voting::of_one(usable(0.0, 1), true, Gaps::default());
    for secs in [60.0, 120.0, 180.0] {
        assert_eq!(vote(&mut voting, usable(secs, 1)), Votes);
    }
    for (secs, expected) in [(200.0, Standby), (360.0, Standby), (361.0, TAKES_OVER)] {
        assert_eq!(vote(&mut voting, usable(secs, 2)), expected, "{secs}");
    }
    let declared = Span::from_secs(600);
    let first = Usable { declared, ..usable(0.0, 1) };
    let mut voting = Voting::of_one(first, true, Gaps::default());
    for (secs, expected) in [(300.0, Standby), (301.0, TAKES_OVER)] {
        assert_eq!(vote(&mut voting, usable(secs, 2)), expected, "{secs}");
    }
}

/// A better source that reports each 30 s, undeclared, comes back all the same.
#[test]
fn ord_4_a_slow_source_returns() {
    let mut voting = Voting::of_one(usable(0.0, 2), true, Gaps::default());
    let mut at = Vec::new();
    for secs in 1..=200 {
        let _ = vote(&mut voting, usable(f64::from(secs), 2));
        if secs % 30 == 0 && vote(&mut voting, usable(f64::from(secs), 1)) == TAKES_OVER {
            at.push(secs);
        }
    }
    assert_eq!(at, [30, 120]);
}

#[test]
fn ord_4_the_standby_takes_over_after_three_intervals() {
    check(&[(0, 1, Votes), (0, 2, Standby), (3, 2, Standby), (4, 2, TAKES_OVER), (5, 2, Votes)]);
}

#[test]
fn ord_4_the_better_one_returns_after_ten_seconds() {
    let mut lines = vec![(0, 1, Votes), (4, 2, TAKES_OVER), (7, 2, Votes)];
    for secs in 10..20 {
        lines.extend([(secs, 1, Standby), (secs, 2, Votes)]);
    }
    lines.extend([(20, 1, TAKES_OVER), (20, 2, Standby), (21, 1, Votes)]);
    check(&lines);
}

#[test]
fn ord_4_a_return_that_lapses_starts_again() {
    let mut lines = vec![(0, 1, Votes), (4, 2, TAKES_OVER)];
    for secs in 5..29 {
        lines.push((secs, 2, Votes));
        if !(9..19).contains(&secs) {
            lines.push((secs, 1, Standby));
        }
    }
    lines.push((29, 1, TAKES_OVER));
    check(&lines);
}

#[test]
fn ord_4_the_best_of_those_that_live_takes_over() {
    check(&[
        (0, 1, Votes),
        (1, 2, Standby),
        (3, 2, Standby),
        (4, 3, Standby),
        (4, 2, TAKES_OVER),
        (5, 3, Standby),
        (8, 3, TAKES_OVER),
        (8, 2, Standby),
    ]);
    // The voter has lapsed but comes first: it still votes.
    check(&[(0, 1, Votes), (60, 1, Votes), (60, 2, Standby)]);
}

#[test]
fn ord_4_a_far_offset_grows_the_step() {
    for (voter, other, expected) in [
        (Some(100), Some(110), TAKES_OVER),
        (Some(100), Some(111), TAKES_OVER_STEP),
        (Some(100), Some(89), TAKES_OVER_STEP),
        (None, Some(89), TAKES_OVER),
        (Some(100), None, TAKES_OVER),
    ] {
        check_offsets(&[None, voter, other], &[(0, 1, Votes), (4, 2, expected), (5, 2, Votes)]);
    }
}

/// Ordered by event time, stamps of two sources interleave; none makes a source older.
#[test]
fn ord_4_stamps_back_to_front_lapse_nobody() {
    check(&[(10, 1, Votes), (9, 2, Standby), (8, 1, Votes), (13, 2, Standby), (14, 2, TAKES_OVER)]);
}

proptest! {
    /// ORD-4: whatever comes, only a takeover changes who votes; nobody waits longer than S; no
    /// better one that lives is passed over.
    #[test]
    fn ord_4_one_voter_at_a_time(fixes in prop::collection::vec((0..3_i64, 1..4_u16), 1..200)) {
        let (mut now, first) = (0, usable(0.0, fixes[0].1));
        let mut voting = Voting::of_one(first, false, Gaps::default());
        let mut last = [i64::MIN / 2; 4];
        for (gap, source) in fixes.iter().copied() {
            now += gap;
            let before = voting.voter();
            let vote = vote(&mut voting, usable(now as f64, source));
            last[usize::from(source)] = now;
            let within = |other: u16, secs| now - last[usize::from(other)] <= secs;
            let alive = |other: u16| within(other, 3);
            match vote {
                Votes => prop_assert_eq!(before, source),
                Standby => {
                    prop_assert!(before == voting.voter() && before != source);
                    prop_assert!((1..4).any(|other| other != source && within(other, 300)));
                }
                Vote::TakesOver { .. } => {
                    prop_assert!(before > source || !alive(before));
                    prop_assert!((1..source).all(|better| !alive(better)));
                }
            }
            prop_assert_eq!(voting.voter() == source, vote != Standby);
        }
    }
}
