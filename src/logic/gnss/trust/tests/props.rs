//! Random timelines: nothing panics, everything is bounded, an honest receiver is left alone.

use proptest::prelude::*;

use super::*;

fn any_nanos() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        Just(i64::MIN),
        Just(i64::MAX),
        // About now, where the interesting comparisons are.
        1_790_000_000_000_000_000_i64..1_800_000_000_000_000_000,
    ]
}

fn any_time() -> impl Strategy<Value = ReceiverTime> {
    let date = (any::<i16>(), any::<i8>(), any::<i8>());
    let sane = (1970_i16..2100, 1_i8..13, 1_i8..29);
    let of_day = prop_oneof![any::<i64>(), 0_i64..86_401_000_000_000].prop_map(Span::from_nanos);
    let date = prop_oneof![date.boxed(), sane.boxed()];
    prop_oneof![
        any_nanos().prop_map(|n| ReceiverTime::Utc(EventTime::from_nanos(n))),
        (proptest::option::of(of_day), proptest::option::of(date))
            .prop_map(|(of_day, date)| ReceiverTime::Nmea { of_day, date }),
    ]
}

fn any_stamp() -> impl Strategy<Value = Stamp<usize>> {
    let at = prop_oneof![any_nanos(), 0_i64..1_000_000_000_000];
    (at, any_time(), any::<bool>()).prop_map(|(at, time, valid_position)| Stamp {
        at: BootTime::from_nanos(at),
        time,
        valid_position,
        payload: 0,
    })
}

fn any_mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Serial), Just(Mode::Network), Just(Mode::Fixes)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..<_>::default() })]

    /// Every valid fix comes out once, waits, or is counted; order of arrival is kept.
    #[test]
    fn anything_goes_in_and_is_accounted_for(
        mode in any_mode(),
        given in prop::collection::vec(any_stamp(), 0..60),
        mark in proptest::option::of((0_u32..3, any_nanos())),
        floor in proptest::option::of(any_nanos()),
        stored in proptest::option::of(any_nanos()),
        system in proptest::option::of(any_nanos()),
        voting in any::<bool>(),
    ) {
        let given = numbered(given);
        let rules = TimeRules { floor: floor.map(EventTime::from_nanos), ..SERIAL.rules };
        let mut clock = AssetClock::restored(0, stored.map(EventTime::from_nanos));
        let mark = mark.map(|(step, nanos)| (step, EventTime::from_nanos(nanos)));
        let system = system.map(WallTime::from_nanos);
        let around = Around { rules: &rules, watermark: mark, voting, system };
        let (mut trust, mut out, mut step) = (Trust::new(mode), Vec::new(), clock.step());
        for stamp in &given {
            trust.handle(&mut clock, around, *stamp, &mut out);
            prop_assert!(clock.step() >= step && clock.step() - step <= 1);
            prop_assert!(trust.waiting() <= HELD_MAX);
            step = clock.step();
        }
        trust.finish(&clock, &rules, &mut out);
        let out: Vec<_> = out.into_iter().map(|timed| timed.payload).collect();
        prop_assert_eq!(trust.waiting(), 0);
        prop_assert!(out.windows(2).all(|pair| pair[0] < pair[1]));
        let valid = given.iter().filter(|s| s.valid_position).count() as u64;
        prop_assert_eq!(out.len() as u64 + trust.counters().no_time, valid);
    }

    /// TIME-3: arrival up to 1.5 s late changes no fix of an honest receiver.
    #[test]
    fn an_honest_receiver_is_left_alone(
        serial in any::<bool>(),
        every_ms in any_interval_ms(),
        late_ms in prop::collection::vec(0_i64..=1500, 2..200),
    ) {
        let given = jittered(every_ms, &late_ms);
        let outcome = play(if serial { SERIAL } else { NETWORK }, &given);
        check_unchanged("honest", &given, &outcome);
        prop_assert_eq!(outcome.clock.step(), 0);
    }

    /// C17: one wrong fix, not the first, however wrong, changes no other.
    #[test]
    fn one_wrong_fix_changes_no_other(
        serial in any::<bool>(),
        every_ms in any_interval_ms(),
        late_ms in prop::collection::vec(0_i64..=1500, 4..100),
        at in 1_usize..100,
        wrong_ms in prop_oneof![5_000_i64..1_000_000_000_000, -1_000_000_000_000_i64..-5_000],
    ) {
        let mut given = jittered(every_ms, &late_ms);
        let at = at.min(given.len() - 3);
        let ReceiverTime::Utc(own) = given[at].time else { unreachable!() };
        given[at].time = ReceiverTime::Utc(own + Span::from_millis(wrong_ms));
        let outcome = play(if serial { SERIAL } else { NETWORK }, &given);
        prop_assert_eq!(outcome.timed.len(), given.len());
        for (sent, got) in given.iter().zip(&outcome.timed).filter(|(s, _)| s.payload != at) {
            prop_assert_eq!(sent.time, ReceiverTime::Utc(got.time));
            prop_assert_eq!((got.quality, got.step), (TimeQuality::Gnss, 0));
        }
    }
}

fn any_interval_ms() -> impl Strategy<Value = i64> {
    prop_oneof![Just(100_i64), Just(200), Just(1000), Just(5000), Just(30_000)]
}

/// An honest receiver whose fixes arrive in order, each up to this late.
fn jittered(every_ms: i64, late_ms: &[i64]) -> Vec<Stamp<usize>> {
    let mut last = BootTime::from_nanos(0);
    let stamps = steady(every_ms, late_ms.len() as i64, 10.0, "2026-12-01T23:59:00Z");
    numbered(stamps.zip(late_ms).map(|(stamp, late)| {
        last = last.max(stamp.at + Span::from_millis(*late));
        Stamp { at: last, ..stamp }
    }))
}
