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

/// As [`check`], with each source's offset in seconds.
#[track_caller]
fn check_offsets(offsets: &[Option<i64>], lines: &[(i64, u16, Vote)]) {
    let mut voting = Voting::default();
    for (number, (secs, source, expected)) in lines.iter().enumerate() {
        let fix = Usable {
            source: *source,
            rank: *source as u8,
            at: BootTime::from_nanos(0) + Span::from_secs(*secs),
            interval: Span::from_secs(1),
            offset: offsets[usize::from(*source)].map(Span::from_secs),
        };
        assert_eq!(voting.admit(fix), *expected, "line {number}: {fix:?}");
        if *expected != Standby {
            assert_eq!(voting.voter(), Some(*source));
        }
    }
}

#[test]
fn ord_4_a_single_source_always_votes() {
    check(&[(0, 1, Votes), (1, 1, Votes), (900, 1, Votes), (899, 1, Votes)]);
    let mut voting = Voting::default();
    let fix = |at| Usable {
        source: 7,
        rank: 0,
        at: BootTime::from_nanos(at),
        interval: Span::ZERO,
        offset: None,
    };
    for at in 0..100 {
        assert_eq!(voting.admit(fix(at)), Votes);
    }
    assert_eq!(voting.others.capacity(), 0);
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
    for secs in 5..40 {
        lines.push((secs, 2, Votes));
        if secs % 4 == 0 {
            lines.push((secs, 1, Standby));
        }
    }
    lines.push((40, 1, Standby));
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
    /// ORD-4: whatever comes, only a takeover changes who votes; nobody waits for ever; a source
    /// that has no rival better or equal alive within three intervals is never kept waiting.
    #[test]
    fn ord_4_one_voter_at_a_time(fixes in prop::collection::vec((0..4_i64, 1..4_u16), 1..200)) {
        let (mut voting, mut now) = (Voting::default(), 0);
        let mut last = [i64::MIN / 2; 4];
        for (gap, source) in fixes {
            now += gap;
            let before = voting.voter();
            let vote = voting.admit(Usable {
                source,
                rank: source as u8,
                at: BootTime::from_nanos(0) + Span::from_secs(now),
                interval: Span::from_secs(1),
                offset: None,
            });
            last[usize::from(source)] = now;
            let alive = |other: u16| now - last[usize::from(other)] <= 3;
            match vote {
                Votes => prop_assert!(before.is_none_or(|voter| voter == source)),
                Standby => {
                    prop_assert!(before == voting.voter() && before != Some(source));
                    prop_assert!((1..4).any(|other| other != source && alive(other)));
                }
                Vote::TakesOver { .. } => {
                    prop_assert!(before.is_some_and(|voter| voter > source || !alive(voter)));
                    prop_assert!((1..source).all(|better| !alive(better)));
                }
            }
            prop_assert_eq!(voting.voter() == Some(source), vote != Standby);
        }
    }
}
