//! The numbers of the rules, each from both sides.

use super::*;

/// An honest second each, `after` ten of them, by this much ahead of their time from then on.
fn moved(before: i64, every_ms: i64, count: i64, by_ms: i64) -> Vec<Stamp<usize>> {
    let first = steady(1000, before, 0.0, "2026-12-01T12:00:00Z");
    let from = t("2026-12-01T12:00:00Z") + Span::from_millis(1000 * before + by_ms);
    numbered(first.chain(steady(every_ms, count, before as f64, &from.to_string())))
}

fn qualities(outcome: &Outcome) -> (usize, usize, usize) {
    let count = |quality| outcome.timed.iter().filter(|timed| timed.quality == quality).count();
    (count(TimeQuality::Gnss), count(TimeQuality::Corrected), count(TimeQuality::Clamped))
}

/// TIME-3: ±2 s and 100 ppm of the second since the estimate was confirmed are within it, and a
/// millisecond more is not.
#[test]
fn time_3_the_tolerance_is_two_seconds_and_100_ppm() {
    let before = t("2026-12-01T12:00:00Z") - t("1970-01-01T00:00:00Z");
    for world in [SERIAL, NETWORK] {
        for (by_ms, clamped, moves) in
            [(2000, 0, true), (2001, 1, false), (-2000, 0, false), (-2001, 0, false)]
        {
            let outcome = play(world, &moved(10, 1000, 1, by_ms));
            assert_eq!(qualities(&outcome), (11 - clamped, 0, clamped), "{by_ms}");
            assert_eq!(outcome.trust.offset() > Some(before), moves, "{by_ms}");
        }
    }
}

/// TIME-4: five in a row that span 2 s, and neither four nor five within less.
#[test]
fn time_4_five_fixes_and_two_seconds() {
    for world in [SERIAL, NETWORK] {
        for (every_ms, count, steps) in [
            (1000, 4, 0),
            (1000, 5, 1),
            (500, 4, 0),
            (500, 5, 1),
            (499, 5, 0),
            (499, 6, 1),
            (100, 20, 0),
            (100, 21, 1),
        ] {
            let outcome = play(world, &moved(10, every_ms, count, 3000));
            let stepped = outcome.trust.counters().stepped;
            assert_eq!(stepped, steps, "{count} every {every_ms} ms");
            let clamped = count as usize - steps as usize;
            assert_eq!(qualities(&outcome).2, clamped, "{count} every {every_ms} ms");
        }
    }
}

/// TIME-4: on serial they agree within 200 ms; a network may spread them over the tolerance.
#[test]
fn time_4_how_closely_a_step_agrees() {
    for (world, spread_ms, steps) in
        [(SERIAL, 200, 1), (SERIAL, 201, 0), (NETWORK, 2000, 1), (NETWORK, 2001, 0)]
    {
        let mut given = moved(10, 1000, 5, 10_000);
        for stamp in given[10..].iter_mut().step_by(2) {
            stamp.at = stamp.at + Span::from_millis(spread_ms);
        }
        let outcome = play(world, &given);
        assert_eq!(outcome.trust.counters().stepped, steps, "{spread_ms}");
    }
}

/// TIME-4: jitter of up to 1.5 s keeps no real step of a network's clock from being adopted.
#[test]
fn time_4_a_jittering_network_steps_soon() {
    let mut given = moved(10, 1000, 400, 5000);
    let mut last = BootTime::from_nanos(0);
    for (n, stamp) in given.iter_mut().enumerate() {
        // 0 to 1.5 s, in no order.
        let late = Span::from_millis((n as i64 * 7919) % 1500);
        last = last.max(stamp.at + late);
        stamp.at = last;
    }
    let outcome = play(NETWORK, &given);
    assert!(outcome.trust.counters().clamped <= 10, "{:?}", outcome.trust.counters());
    assert!(outcome.trust.counters().stepped <= 1);
}

/// TIME-4: a network's step back takes five late fixes that span 60 s, every one late.
#[test]
fn time_4_a_network_steps_back_after_a_minute_of_late_fixes() {
    for (every_ms, count, interrupted, steps) in [
        (1000, 60, false, 0),
        (1000, 61, false, 1),
        (1000, 90, true, 0),
        (20_000, 4, false, 0),
        (15_000, 5, false, 1),
    ] {
        let mut given = moved(10, every_ms, count, -7_200_000);
        if interrupted {
            // One at its time, half-way.
            given[50].time = ReceiverTime::Utc(t("2026-12-01T12:00:50Z"));
        }
        let outcome = play(NETWORK, &given);
        let name = format!("{count} every {every_ms} ms, {interrupted}");
        assert_eq!(outcome.trust.counters().stepped, steps, "{name}");
        check_unchanged(&name, &given, &outcome);
    }
}

/// TIME-4: a network source that says one live fix and then, at its own pace, what it kept: at
/// worst a step back and one forward again. Nothing is lost, and at most four are clamped.
#[test]
fn time_4_one_live_fix_and_then_a_backlog() {
    let live = steady(1000, 1, 0.0, "2026-12-01T12:00:00Z");
    let backlog = steady(1000, 20, 1.0, "2026-12-01T11:30:00Z");
    let on = steady(1000, 30, 21.0, "2026-12-01T12:00:21Z");
    let given = numbered(live.chain(backlog).chain(on));
    let outcome = play(NETWORK, &given);
    assert_eq!(outcome.timed.len(), given.len());
    let counters = outcome.trust.counters();
    assert!(counters.stepped <= 2 && counters.clamped <= 4, "{counters:?}");
    assert_eq!(outcome.timed[50].time, t("2026-12-01T12:00:50Z"));
    // Faster than it was lived, as trackers do, no two fixes agree and nothing steps.
    let fast = (0..20).map(|n| {
        utc(boot(1.0 + 0.1 * n as f64), t("2026-12-01T11:30:00Z") + Span::from_secs(10 * n))
    });
    let live = steady(1000, 1, 0.0, "2026-12-01T12:00:00Z");
    let on = steady(1000, 30, 3.0, "2026-12-01T12:00:03Z");
    let given = numbered(live.chain(fast).chain(on));
    let outcome = play(NETWORK, &given);
    check_unchanged("fast", &given, &outcome);
    assert_eq!(outcome.clock.step(), 0);
}

/// TIME-2: a receiver that rolled is put on the day before the release as well as after it.
#[test]
fn time_2_the_day_before_the_release() {
    for (sent, want) in
        [("2007-04-16", "2026-11-30"), ("2007-04-15", "2026-11-29"), ("1987-08-30", "2026-11-29")]
    {
        let given: Vec<_> = (0..8).map(|n| format!("{n} {sent} 12:00:0{n}")).collect();
        let outcome = play(SERIAL, &stamps(&given.join("\n")));
        let last = outcome.timed.last().map(line);
        assert_eq!(last.as_deref(), Some(&*format!("{want}T12:00:07Z corrected 0")), "{sent}");
    }
}

/// TIME-7: which quality says what.
#[test]
fn time_7_the_names() {
    let given = "0 2026-12-01 12:00:00
                 1 2026-12-01 12:00:01
                 2 - 12:00:02
                 3 - -
                 4 2026-12-01 12:00:09
                 5 2007-04-17 12:00:05
                 6 2026-12-01 12:00:06";
    let want = "2026-12-01T12:00:00Z gnss 0
                2026-12-01T12:00:01Z gnss 0
                2026-12-01T12:00:02Z corrected 0
                2026-12-01T12:00:03Z corrected 0
                2026-12-01T12:00:04Z clamped 0
                2026-12-01T12:00:05Z corrected 0
                2026-12-01T12:00:06Z gnss 0";
    let counters = check("names", SERIAL, given, want).trust.counters();
    assert_eq!((counters.restamped, counters.clamped, counters.rollover), (1, 1, 1));
}

/// What is kept for an (asset, source) with a payload as large as the engine's.
#[test]
fn a_sources_clock_costs_bytes() {
    let size = size_of::<Trust<[u64; 7]>>();
    assert!(size <= 520, "{size} bytes");
}
