//! One timeline per rule.

use super::*;

/// TIME-6: serial waits for two in a row that agree; a network's first time is believed.
#[test]
fn time_6_serial_takes_two_in_a_row_network_one() {
    let given = "0 2026-12-01 12:00:00";
    let serial = check("one", SERIAL, given, "");
    assert_eq!(serial.trust.degraded(), Some(Degraded::Held));
    check("one", NETWORK, given, "2026-12-01T12:00:00Z gnss 0");
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 12:00:01.5";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:01.5Z gnss 0";
    let two = check("two", SERIAL, given, want);
    assert_eq!((two.trust.degraded(), two.trust.counters().held), (None, 2));
}

/// TIME-6: a kept fix whose own time does not fit is stamped boot time + offset.
#[test]
fn time_6_a_held_fix_that_does_not_fit_is_restamped() {
    let given = "0 2026-12-01 12:00:03
                 1 2026-12-01 12:00:01
                 2 - -
                 3 2026-12-01 12:00:03
                 4 2026-12-01 12:00:04
                 5 - -";
    let want = "2026-12-01T12:00:00Z corrected 0
                2026-12-01T12:00:01Z gnss 0
                2026-12-01T12:00:02Z corrected 0
                2026-12-01T12:00:03Z gnss 0
                2026-12-01T12:00:04Z gnss 0
                2026-12-01T12:00:05Z corrected 0";
    let outcome = check("three seconds back", SERIAL, given, want);
    assert_eq!(outcome.trust.counters().restamped, 3);
}

/// TIME-6: five of any kind will do where no two in a row agree; none is ahead of the largest.
#[test]
fn time_6_five_of_any_kind() {
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 12:00:10
                 2 2026-12-01 12:00:05
                 3 2026-12-01 12:00:30
                 4 2026-12-01 12:00:20";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:10Z gnss 0
                2026-12-01T12:00:05Z gnss 0
                2026-12-01T12:00:30Z gnss 0
                2026-12-01T12:00:20Z gnss 0";
    let outcome = check("a restless receiver", SERIAL, given, want);
    let offset = t("2026-12-01T12:00:27Z") - t("1970-01-01T00:00:00Z");
    assert_eq!(outcome.trust.offset(), Some(offset));
}

/// TIME-6: the kept are bounded; the oldest go and are counted.
#[test]
fn time_6_overflow_drops_the_oldest_and_counts_it() {
    let undated = |n: i64| Stamp {
        at: boot(0.01 * n as f64),
        time: ReceiverTime::Nmea { of_day: Some(Span::from_millis(10).times(n)), date: None },
        valid_position: true,
        payload: n as usize,
    };
    let mut given: Vec<_> = (0..1030).map(undated).collect();
    given.extend(stamps("10.3 2026-12-01 00:00:10.3"));
    given[1030].payload = 1030;
    let outcome = play(SERIAL, &given);
    let got: Vec<_> = outcome.timed.iter().map(|g| g.payload).collect();
    assert_eq!(got, (7..=1030).collect::<Vec<_>>());
    assert_eq!(outcome.trust.counters().no_time, 7);
    assert_eq!(outcome.timed[0].time, t("2026-12-01T00:00:00.07Z"));
}

/// TIME-3: ahead is clamped and moves nothing; behind keeps its own time.
#[test]
fn time_3_ahead_is_clamped_behind_is_kept() {
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 12:00:01
                 2 2026-12-01 12:00:04.5
                 3 2026-12-01 11:00:00
                 4 2026-12-01 12:00:05.9
                 5 2026-12-01 12:00:05";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:01Z gnss 0
                2026-12-01T12:00:02Z clamped 0
                2026-12-01T11:00:00Z gnss 0
                2026-12-01T12:00:05.9Z gnss 0
                2026-12-01T12:00:05Z gnss 0";
    for world in [SERIAL, NETWORK] {
        let outcome = check("skew", world, given, want);
        // The fix 1.9 s ahead was within the tolerance, so it is the largest now.
        let largest = t("2026-12-01T12:00:01.9Z") - t("1970-01-01T00:00:00Z");
        assert_eq!(outcome.trust.offset(), Some(largest));
        assert_eq!(outcome.trust.counters().clamped, 1);
    }
}

/// TIME-3: the estimate is the largest of a window; what all came behind it pulls it back.
#[test]
fn time_3_the_estimate_forgets_after_a_window() {
    for (name, every_ms, count, back_at) in [("1 Hz", 1000, 90, 62), ("slow", 20_000, 9, 6)] {
        let first = steady(every_ms, 2, 0.0, "2026-12-01T12:00:01.5Z");
        let from_s = every_ms as f64 / 500.0;
        let time = t("2026-12-01T12:00:00Z") + Span::from_millis(every_ms * 2);
        let rest = steady(every_ms, count, from_s, &time.to_string());
        let given = numbered(first.chain(rest));
        for end in 2..given.len() {
            let outcome = play(NETWORK, &given[..end]);
            let back = t("2026-12-01T12:00:01.5Z") - t("1970-01-01T00:00:00Z");
            let back = outcome.trust.offset() < Some(back);
            assert_eq!(back, end > back_at, "{name}, after {end}");
        }
        check_unchanged(name, &given, &play(NETWORK, &given));
    }
}

/// TIME-3: a long silence widens the tolerance by 100 ppm.
#[test]
fn time_3_tolerance_grows_with_silence() {
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 12:00:01
                 86401 2026-12-02 12:00:11";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:01Z gnss 0
                2026-12-02T12:00:11Z gnss 0";
    check("ten seconds after a day", SERIAL, given, want);
}

/// TIME-4: a source that does not vote moves only its own estimate.
#[test]
fn time_4_a_standby_does_not_grow_the_step() {
    let given = numbered(steady(1000, 5, 0.0, "2026-12-01T12:00:00Z").chain(steady(
        1000,
        10,
        5.0,
        "2026-12-01T13:00:00Z",
    )));
    for (voting, step) in [(true, 1), (false, 0)] {
        let outcome = play(World { voting, ..SERIAL }, &given);
        assert_eq!((outcome.clock.step(), outcome.trust.counters().stepped), (step, 1));
        assert_eq!(outcome.trust.counters().clamped, 4);
        assert_eq!(outcome.timed[9].time, t("2026-12-01T13:00:04Z"));
    }
}

/// TIME-4: no step without 2 s of boot time, without agreement, or with one of the old kind in
/// between.
#[test]
fn time_4_what_is_not_a_step() {
    let base = || steady(1000, 5, 0.0, "2026-12-01T12:00:00Z");
    let fast = steady(100, 10, 5.0, "2026-12-01T13:00:00Z");
    let apart = (0..10).map(|n| {
        let time = t("2026-12-01T13:00:00Z") + Span::from_millis(1300 * n);
        utc(boot(5.0 + n as f64), time)
    });
    let mixed = (0..20).map(|n| {
        let hour = if n % 5 == 4 { "2026-12-01T12:00:05Z" } else { "2026-12-01T13:00:05Z" };
        utc(boot(5.0 + f64::from(n)), t(hour) + Span::from_secs(i64::from(n)))
    });
    let cases: [(&str, Vec<Stamp<usize>>); 3] = [
        ("too fast", base().chain(fast).collect()),
        ("no agreement", base().chain(apart).collect()),
        ("interrupted", base().chain(mixed).collect()),
    ];
    for (name, given) in cases {
        let outcome = play(SERIAL, &numbered(given));
        assert_eq!(outcome.trust.counters().stepped, 0, "{name}");
    }
}

/// TIME-4: a network's step back takes 60 s in which every fix was late, or an offset that
/// rests on a single fix.
#[test]
fn time_4_network_steps_back_slowly() {
    let cases = [("rests on ten", 10, 70), ("rests on one", 1, 5)];
    for (name, before, stepped_at) in cases {
        let before_s = before as f64;
        let given = numbered(steady(1000, before, 0.0, "2026-12-01T14:00:00Z").chain(steady(
            1000,
            100,
            before_s,
            "2026-12-01T12:00:00Z",
        )));
        let outcome = play(NETWORK, &given);
        let first = outcome.timed.iter().position(|g| g.step == 1);
        assert_eq!(first, Some(stepped_at), "{name}");
        assert_eq!(outcome.clock.step(), 1, "{name}");
        check_unchanged(name, &given, &outcome);
    }
}

/// TIME-5: a source that never sends a date takes the system's after 60 s, if there is one.
#[test]
fn time_5_no_date_takes_the_systems_or_stays_held() {
    let given = "0 - 12:00:00
                 30 - 12:00:30
                 59 - 12:00:59
                 60 - 12:01:00";
    let want = "2026-12-01T12:00:00Z corrected 0
                2026-12-01T12:00:30Z corrected 0
                2026-12-01T12:00:59Z corrected 0
                2026-12-01T12:01:00Z corrected 0";
    // An hour and a half of error in the system's clock does not matter.
    check("system", World { system: Some("2026-12-01T13:30:00Z"), ..SERIAL }, given, want);
    for system in [None, Some("1970-01-01T00:00:10Z"), Some("2099-01-01T00:00:00Z")] {
        let outcome = check("no system", World { system, ..SERIAL }, given, "");
        assert_eq!(outcome.trust.degraded(), Some(Degraded::NoDate));
        assert_eq!(outcome.trust.waiting(), 4);
    }
}

/// TIME-5: an epoch without a position may still name the date.
#[test]
fn time_5_a_date_without_a_position_helps() {
    let given = "0 - 23:59:59
                 !1 2026-12-02 00:00:00
                 2 - 00:00:01";
    let want = "2026-12-01T23:59:59Z corrected 0
                2026-12-02T00:00:01Z corrected 0";
    check("void date", SERIAL, given, want);
    let given = "!0 1980-01-06 00:00:00
                 1 - 12:00:00
                 2 - 12:00:01";
    check("cold void date", SERIAL, given, "");
}

/// TIME-2: a time beyond the plausible is held, or clamped where there is an estimate.
#[test]
fn time_2_beyond_the_plausible_is_held_or_clamped() {
    let given = "0 2080-01-06 00:00:00
                 1 2080-01-06 00:00:01
                 2 2080-01-06 00:00:02
                 3 2080-01-06 00:00:03
                 4 2080-01-06 00:00:04
                 5 2080-01-06 00:00:05";
    check("held", SERIAL, given, "");
    check("held", NETWORK, given, "");
    let given = numbered(steady(1000, 5, 0.0, "2026-12-01T12:00:00Z").chain(steady(
        1000,
        100,
        5.0,
        "2080-01-06T00:00:00Z",
    )));
    let outcome = play(SERIAL, &given);
    assert_eq!(outcome.trust.counters().clamped, 100);
    assert_eq!(outcome.timed[104].time, t("2026-12-01T12:01:44Z"));
}

/// TIME-3, trusted feeds: epochs carry the date on, over midnight, and backwards from the first.
#[test]
fn time_3_a_recording_is_dated_by_its_dates() {
    let given = "!0 1980-01-06 00:00:00
                 0 - 23:59:58
                 0 2010-04-04 00:00:01
                 0 - 00:00:02
                 0 - 23:59:59.5
                 0 - 00:00:00.5
                 0 - -";
    let want = "2010-04-03T23:59:58Z corrected 0
                2010-04-04T00:00:01Z gnss 0
                2010-04-04T00:00:02Z corrected 0
                2010-04-03T23:59:59.5Z corrected 0
                2010-04-04T00:00:00.5Z corrected 0";
    let outcome = check("dates", FIXES, given, want);
    assert_eq!(outcome.trust.counters().no_time, 1);
    // Wild arrival stamps and times change nothing.
    let given = "900 2010-04-04 00:00:01
                 5 2036-04-04 00:00:02";
    let want = "2010-04-04T00:00:01Z gnss 0
                2036-04-04T00:00:02Z gnss 0";
    check("no clamp", FIXES, given, want);
}

/// A recording without any date is counted, unless a floor names its first day.
#[test]
fn time_5_a_recording_without_dates_needs_a_base() {
    let given = "0 - 23:59:59
                 1 - 00:00:00
                 2 - 12:30:00";
    let floor = Some(t("2010-04-03T00:00:00Z"));
    let rules = TimeRules { floor, ..FIXES.rules };
    for (rules, want) in [
        (FIXES.rules, vec![]),
        (
            rules,
            vec![
                "2010-04-03T23:59:59Z corrected 0",
                "2010-04-04T00:00:00Z corrected 0",
                "2010-04-03T12:30:00Z corrected 0",
            ],
        ),
    ] {
        let mut outcome = play(World { rules, ..FIXES }, &stamps(given));
        let known = outcome.timed.len();
        outcome.trust.finish(&outcome.clock, &rules, &mut outcome.timed);
        let got: Vec<_> = outcome.timed[known..].iter().map(line).collect();
        assert_eq!(got, want);
        assert_eq!(outcome.trust.counters().no_time, 3 - want.len() as u64);
        assert_eq!(outcome.trust.waiting(), 0);
    }
}

/// TIME-3: five late fixes in a row, each after the one before, over 2 s, are a step back.
#[test]
fn time_3_a_recording_steps_back() {
    let given = "0 2010-04-04 12:00:00
                 0 2010-04-04 12:00:01
                 0 2010-04-04 12:00:02
                 0 2010-04-04 11:00:00
                 0 2010-04-04 11:00:01
                 0 2010-04-04 11:00:02
                 0 2010-04-04 11:00:03
                 0 2010-04-04 11:00:04";
    let outcome = play(FIXES, &stamps(given));
    let steps: Vec<_> = outcome.timed.iter().map(|g| g.step).collect();
    assert_eq!(steps, [0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(outcome.late, [3, 4, 5, 6]);
    let given = "0 2010-04-04 12:00:00
                 0 2010-04-04 12:00:02
                 0 2010-04-04 11:00:05
                 0 2010-04-04 11:00:04
                 0 2010-04-04 11:00:03
                 0 2010-04-04 11:00:02
                 0 2010-04-04 11:00:01";
    assert_eq!(play(FIXES, &stamps(given)).clock.step(), 0, "newest first");
}

/// TIME-5: a day that does not exist is counted, and the epoch dated like one without.
#[test]
fn time_5_no_such_day() {
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 12:00:01
                 2 2026-02-30 12:00:02";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:01Z gnss 0
                2026-12-01T12:00:02Z corrected 0";
    for world in [SERIAL, NETWORK, FIXES] {
        let outcome = check("no such day", world, given, want);
        assert_eq!(outcome.trust.counters().bad_date, 1);
    }
}
