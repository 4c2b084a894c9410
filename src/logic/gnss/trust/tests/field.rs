//! The cases of the road: C6 to C21.

use super::*;

/// C6: 23:59:59.9 read just after midnight is yesterday's, dated by the estimate.
#[test]
fn c6_midnight() {
    let given = "0 2026-11-30 23:59:58.7
                 1 2026-11-30 23:59:59.7
                 2 - 23:59:59.9
                 3 - 00:00:01.7
                 4 2026-12-01 00:00:02.7";
    let want = "2026-11-30T23:59:58.7Z gnss 0
                2026-11-30T23:59:59.7Z gnss 0
                2026-11-30T23:59:59.9Z corrected 0
                2026-12-01T00:00:01.7Z corrected 0
                2026-12-01T00:00:02.7Z gnss 0";
    for world in [SERIAL, NETWORK, FIXES] {
        check("midnight", world, given, want);
    }
    let given = "0 - 23:59:58.9
                 1 - 23:59:59.9";
    let want = "2026-11-30T23:59:58.9Z corrected 0
                2026-11-30T23:59:59.9Z corrected 0";
    let given = format!("{given}\n!1.1 2026-12-01 00:00:00.7");
    check("the date comes after midnight", SERIAL, &given, want);
}

/// C8, C12: what the system clock says changes nothing where the receiver has a date.
#[test]
fn c8_c12_the_receiver_trumps_the_system_clock() {
    let given = numbered(steady(1000, 200, 0.0, "2026-11-30T12:00:00Z"));
    for system in [
        None,
        Some("1970-01-01T00:00:00Z"),
        Some("2026-11-16T12:00:00Z"),
        Some("2026-12-14T12:00:00Z"),
        Some("2036-01-01T00:00:00Z"),
    ] {
        for world in [SERIAL, NETWORK, FIXES] {
            let outcome = play(World { system, ..world }, &given);
            check_unchanged("system clock", &given, &outcome);
            assert_eq!(outcome.trust.degraded(), None);
        }
    }
}

/// C9: one era or two back, corrected and flagged, whatever the system clock says.
#[test]
fn c9_week_rollover() {
    for back in ["2007-04-16", "1987-08-31"] {
        for system in [None, Some("1970-01-01T00:00:00Z")] {
            let given = format!(
                "0 {back} 12:00:00
                 1 {back} 12:00:01
                 2 - 12:00:02"
            );
            let want = "2026-11-30T12:00:00Z corrected 0
                        2026-11-30T12:00:01Z corrected 0
                        2026-11-30T12:00:02Z corrected 0";
            for world in [SERIAL, NETWORK] {
                let outcome = check(back, World { system, ..world }, &given, want);
                assert_eq!(outcome.trust.counters().rollover, 2);
            }
            let rules = TimeRules { floor: Some(t("2026-11-30T00:00:00Z")), ..FIXES.rules };
            check(back, World { rules, ..FIXES }, &given, want);
        }
        // Without a position nothing is corrected, and nothing dated by it.
        check("void", SERIAL, &format!("!0 {back} 12:00:00\n1 - 12:00:01"), "");
    }
    // A recording keeps its years.
    let given = "0 2007-04-16 12:00:00";
    check("recording", FIXES, given, "2007-04-16T12:00:00Z gnss 0");
}

/// C10: a cold receiver steps by its leap seconds: adopted after five, no stall, none repeated.
#[test]
fn c10_leap_second_step() {
    for step_s in (-18..=18).filter(|s| *s != 0) {
        for (every_ms, hz) in [(1000, 1), (100, 10)] {
            let after = t("2026-12-01T12:00:10Z") + Span::from_secs(step_s);
            let given =
                numbered(steady(every_ms, 10 * hz, 0.0, "2026-12-01T12:00:00Z").chain(steady(
                    every_ms,
                    100 * hz,
                    10.0,
                    &after.to_string(),
                )));
            let name = format!("{step_s} s at {hz} Hz");
            let outcome = play(SERIAL, &given);
            assert_eq!(outcome.timed.len(), given.len(), "{name}");
            let steps = u32::from(step_s.abs() > 2);
            assert_eq!(outcome.clock.step(), steps, "{name}");
            // Wrong are at most the fixes before the fifth, or within 2 s at 10 Hz …
            let changed = |g: &&Timed<usize>| given[g.payload].time != ReceiverTime::Utc(g.time);
            let changed = outcome.timed.iter().filter(changed).count() as i64;
            let most = if step_s > 2 { 4.max(2 * hz) } else { 0 };
            assert_eq!(changed, most, "{name}");
            // … and late at most as long.
            let late = outcome.late.len() as i64;
            assert!(late <= 4.max(2 * hz), "{name}: {late} late");
            let mut keys: Vec<_> = outcome.timed.iter().map(|g| (g.step, g.time)).collect();
            keys.sort_unstable();
            keys.dedup();
            assert!(keys.len() as i64 >= 110 * hz - 4.max(2 * hz), "{name}");
        }
    }
}

/// C10: a network backlog at real-time rate is no step, and the live fixes after it are not
/// clamped.
#[test]
fn c10_network_backlog_is_not_a_step() {
    let given = numbered(
        steady(1000, 20, 0.0, "2026-12-01T12:00:00Z")
            .chain(steady(1000, 180, 200.0, "2026-12-01T12:00:20Z"))
            .chain(steady(1000, 60, 380.0, "2026-12-01T12:06:20Z")),
    );
    let outcome = play(NETWORK, &given);
    check_unchanged("backlog", &given, &outcome);
    assert_eq!((outcome.clock.step(), outcome.late.len()), (0, 0));
}

/// C17: one fix two hours ahead does not move the watermark, nor make the rest late.
#[test]
fn c17_one_fix_two_hours_ahead() {
    for world in [SERIAL, NETWORK] {
        for at in [2, 5, 50] {
            let mut given = numbered(steady(1000, 100, 0.0, "2026-12-01T12:00:00Z"));
            given[at].time = ReceiverTime::Utc(t("2026-12-01T14:00:00Z"));
            let outcome = play(world, &given);
            assert_eq!(outcome.late, [0_usize; 0]);
            assert_eq!(outcome.trust.counters().clamped, 1);
            assert_eq!(outcome.timed[at].quality, TimeQuality::Clamped);
            let own = t("2026-12-01T12:00:00Z") + Span::from_secs(at as i64);
            assert_eq!(outcome.timed[at].time, own);
        }
    }
    // While still held, too.
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 14:00:00
                 2 2026-12-01 12:00:02
                 3 2026-12-01 12:00:03";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:01Z corrected 0
                2026-12-01T12:00:02Z gnss 0
                2026-12-01T12:00:03Z gnss 0";
    check("held", SERIAL, given, want);
}

/// C18, C21: a release date a day ahead, a stored time a day or ten years ahead: the right
/// receiver keeps its times, the floor is lowered, status degraded, nothing is lost.
#[test]
fn c18_c21_a_right_receiver_accused() {
    let release = t("2026-12-01T12:00:00Z");
    let stored = |text| AssetClock::restored(0, Some(t(text)));
    let given = numbered(steady(1000, 20, 0.0, "2026-11-30T12:00:00Z"));
    let rules = |release_date, floor| TimeRules { floor, release_date, ..SERIAL.rules };
    let early = t("2026-06-01T00:00:00Z");
    let cases = [
        ("release", rules(release, None), AssetClock::NEW),
        ("stored a day", rules(early, None), stored("2026-12-01T12:00:00Z")),
        ("stored ten years", rules(early, None), stored("2036-11-30T12:00:00Z")),
        ("[time] floor", rules(early, Some(release)), AssetClock::NEW),
    ];
    for (name, rules, clock) in cases {
        for world in [SERIAL, NETWORK] {
            let outcome = play(World { rules, clock, ..world }, &given);
            check_unchanged(name, &given, &outcome);
            assert_eq!(outcome.trust.counters().floor_conflict, 1, "{name}");
            assert_eq!(outcome.trust.degraded(), Some(Degraded::FloorConflict), "{name}");
            let lowered = Some(t("2026-11-30T11:00:00Z"));
            assert_eq!(outcome.clock.lowered(), lowered, "{name}");
            let four = play(World { rules, clock, ..world }, &given[..4]);
            assert_eq!((four.timed.len(), four.trust.degraded()), (0, Some(Degraded::Held)));
        }
    }
}

/// C18: a cold-start date is no rollover; the truth that follows is plausible.
#[test]
fn c18_cold_start_dates_are_not_a_rollover() {
    for cold in ["1970-01-01T00:00:00Z", "1980-01-06T00:00:00Z", "2019-04-07T00:00:00Z"] {
        for cold_fixes in [3, 30] {
            let given = numbered(steady(1000, cold_fixes, 0.0, cold).chain(steady(
                1000,
                30,
                cold_fixes as f64,
                "2026-12-01T12:00:00Z",
            )));
            let outcome = play(SERIAL, &given);
            let last = outcome.timed.last().unwrap();
            assert_eq!(last.time, t("2026-12-01T12:00:29Z"), "{cold} {cold_fixes}");
            assert_eq!(last.quality, TimeQuality::Gnss);
            assert!(outcome.timed.iter().all(|g| g.time < t("2027-01-01T00:00:00Z")), "{cold}");
            assert_eq!(outcome.timed.len(), given.len());
            // Held however long it lasts, then stamped from the truth; the floor is not accused.
            let first = t("2026-12-01T12:00:00Z") - Span::from_secs(cold_fixes);
            assert_eq!(outcome.timed[0].time, first, "{cold} {cold_fixes}");
            assert_eq!(outcome.trust.counters().restamped, cold_fixes as u64);
            assert_eq!(outcome.trust.counters().floor_conflict, 0);
        }
    }
}

/// C19: 23:59:60 is the instant of the midnight that follows, in RMC and in GGA.
#[test]
fn c19_leap_second() {
    let want = |q| {
        format!(
            "2026-12-31T23:59:58Z gnss 0
             2026-12-31T23:59:59Z gnss 0
             2027-01-01T00:00:00Z {q} 0
             2027-01-01T00:00:00Z gnss 0
             2027-01-01T00:00:01Z gnss 0"
        )
    };
    for (date, quality) in [("2026-12-31", "gnss"), ("-", "corrected")] {
        let given = format!(
            "0 2026-12-31 23:59:58
             1 2026-12-31 23:59:59
             2 {date} 23:59:60
             3 2027-01-01 00:00:00
             4 2027-01-01 00:00:01"
        );
        for world in [SERIAL, NETWORK, FIXES] {
            check("leap", world, &given, &want(quality));
        }
    }
}

/// C20: 30 s of serial bytes read at once are no step and none is restamped.
#[test]
fn c20_blocked_reader() {
    for (every_ms, hz) in [(1000, 1), (100, 10), (5000, 0)] {
        for before in [0, 5, 50] {
            let mut given: Vec<_> = steady(every_ms, before, 0.0, "2026-12-01T12:00:00Z").collect();
            let from_s = before as f64 * every_ms as f64 / 1000.0;
            let from = t("2026-12-01T12:00:00Z") + Span::from_millis(every_ms).times(before);
            let count = 30_000 / every_ms;
            let blocked = steady(every_ms, count, from_s, &from.to_string());
            // Chunks of the reader, a few milliseconds apart.
            given.extend(blocked.enumerate().map(|(n, s)| Stamp {
                at: boot(from_s + 30.0) + Span::from_millis(n as i64 / 4),
                ..s
            }));
            let on = from + Span::from_secs(30);
            given.extend(steady(every_ms, 60, from_s + 30.0, &on.to_string()));
            let given = numbered(given);
            let outcome = play(SERIAL, &given);
            check_unchanged(&format!("{hz} Hz after {before}"), &given, &outcome);
            assert_eq!(outcome.clock.step(), 0);
        }
    }
}
