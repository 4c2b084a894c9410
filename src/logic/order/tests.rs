//! The rules of order, as timelines; random schedules against a naive twin.

use proptest::prelude::*;

use super::*;

const WINDOW: Span = Span::from_millis(500);

/// Event times here are milliseconds after boot, so that a line reads as one timeline.
fn event(ms: i64) -> EventTime {
    EventTime::from_nanos(ms * 1_000_000)
}

fn boot(ms: i64) -> BootTime {
    BootTime::from_nanos(ms * 1_000_000)
}

fn entry(step: u32, time_ms: i64, at_ms: i64, payload: u32) -> Entry<u32> {
    let (time, at) = (event(time_ms), boot(at_ms));
    Entry { step, time, at, window: WINDOW, trusted: false, source: 0, accuracy_m: 5.0, payload }
}

fn push(heap: &mut Heap<u32>, entry: Entry<u32>) -> Pushed<u32> {
    heap.push(entry, &mut Spares::new())
}

fn release(heap: &mut Heap<u32>, now: BootTime) -> Option<OrderedFix<u32>> {
    heap.release(now, &mut Spares::new())
}

fn released(heap: &mut Heap<u32>, now_ms: i64) -> Vec<u32> {
    std::iter::from_fn(|| release(heap, boot(now_ms))).map(|fix| *fix.payload()).collect()
}

/// One line of a timeline.
#[derive(Clone, Copy, Debug)]
enum Line {
    /// At this boot time comes a fix of this step and event time; its payload is its number.
    Push(i64, u32, i64),
    /// The same, from a trusted feed.
    Fed(i64, u32, i64),
    /// At this boot time the loop wakes.
    Wake(i64),
    /// The feed ends.
    Finish,
}
use Line::{Fed, Finish, Push, Wake};

/// Runs a timeline; gives the event times released, in order, after each line, in ms.
#[track_caller]
fn check(lines: &[(Line, &[i64])]) {
    let mut heap = Heap::new(None);
    for (number, (line, expected)) in lines.iter().enumerate() {
        let now_ms = match *line {
            Push(at, step, time) => {
                let pushed = push(&mut heap, entry(step, time, at, number as u32));
                assert!(matches!(pushed, Pushed::Accepted { early: None }), "{line:?} {pushed:?}");
                at
            }
            Fed(at, step, time) => {
                let pushed = push(
                    &mut heap,
                    Entry { trusted: true, ..entry(step, time, at, number as u32) },
                );
                assert!(matches!(pushed, Pushed::Accepted { early: None }), "{line:?} {pushed:?}");
                at
            }
            Wake(at) => at,
            Finish => {
                heap.finish();
                0
            }
        };
        let mut got = Vec::new();
        while let Some(fix) = release(&mut heap, boot(now_ms)) {
            got.push(fix.time().nanos() / 1_000_000);
        }
        assert_eq!(got, *expected, "line {number}: {line:?}");
    }
}

#[test]
fn ord_1_a_fix_waits_its_window_and_takes_the_earlier_ones_along() {
    check(&[
        (Push(1000, 0, 900), &[]),
        (Push(1100, 0, 800), &[]),
        (Push(1200, 0, 950), &[]),
        (Wake(1499), &[]),
        (Wake(1500), &[800, 900]),
        (Wake(1699), &[]),
        (Wake(1700), &[950]),
    ]);
    check(&[
        // The later key came first: its deadline takes the one that still had time to wait.
        (Push(1000, 0, 2000), &[]),
        (Push(1400, 0, 1000), &[]),
        (Wake(1500), &[1000, 2000]),
        (Wake(1900), &[]),
    ]);
}

#[test]
fn ord_1_the_next_deadline_is_the_earliest_of_those_that_wait() {
    let mut heap = Heap::new(None);
    assert_eq!(heap.next_deadline(), None);
    for (time, at, deadline) in [(900, 1000, 1500), (800, 1100, 1500), (950, 700, 1200)] {
        let _ = push(&mut heap, entry(0, time, at, time as u32));
        assert_eq!(heap.next_deadline(), Some(boot(deadline)));
    }
    assert_eq!(released(&mut heap, 1200), [800, 900, 950]);
    assert_eq!(heap.next_deadline(), None);
}

#[test]
fn ord_1_a_step_outranks_any_time() {
    check(&[
        (Push(1000, 0, 5000), &[]),
        (Push(1100, 1, 10), &[]),
        (Push(1200, 1, 5), &[]),
        (Wake(1500), &[5000]),
        (Wake(1600), &[5, 10]),
    ]);
}

#[test]
fn ord_1_in_a_trusted_feed_event_time_is_the_clock() {
    check(&[
        (Fed(0, 0, 1000), &[]),
        (Fed(0, 0, 900), &[]),
        (Fed(0, 0, 1499), &[900]),
        (Wake(1_000_000), &[]),
        (Fed(0, 0, 1500), &[1000]),
        (Fed(0, 0, 1600), &[]),
        (Finish, &[1499, 1500, 1600]),
        (Fed(0, 0, 1700), &[]),
        (Finish, &[1700]),
    ]);
    check(&[
        // A recording that steps back: nothing more is to come of the old step.
        (Fed(0, 0, 9000), &[]),
        (Fed(0, 1, 100), &[9000]),
        (Fed(0, 1, 50), &[]),
        (Fed(0, 1, 600), &[50, 100]),
        (Finish, &[600]),
    ]);
}

/// A recording fed beside a live source: either clock releases, with everything before.
#[test]
fn ord_1_one_asset_may_have_a_trusted_and_a_live_feed() {
    check(&[
        (Push(1000, 0, 900), &[]),
        (Fed(1000, 0, 950), &[]),
        (Push(1100, 0, 2000), &[]),
        (Fed(1200, 0, 1450), &[900, 950]),
        (Wake(1600), &[1450, 2000]),
    ]);
}

#[test]
fn ord_1_a_full_heap_releases_its_oldest_early() {
    let mut heap = Heap::new(None);
    let newest = i64::try_from(HEAP_FIXES_MAX).unwrap();
    for n in 0..newest {
        assert_eq!(push(&mut heap, entry(0, n, 0, n as u32)), Pushed::Accepted { early: None });
    }
    let Pushed::Accepted { early: Some(oldest) } =
        push(&mut heap, entry(0, newest, 1, newest as u32))
    else {
        panic!("a full heap gives its oldest")
    };
    assert_eq!((*oldest.payload(), heap.len()), (0, HEAP_FIXES_MAX));
    assert_eq!(heap.watermark(), Some(Watermark { step: 0, time: event(0) }));
    assert_eq!(heap.next_deadline(), Some(boot(500)));
    assert_eq!(released(&mut heap, 500).len(), HEAP_FIXES_MAX - 1);
    assert_eq!(heap.next_deadline(), Some(boot(501)));
}

#[test]
fn ord_1_idle_heaps_are_freed() {
    let mut heap = Heap::new(None);
    let _ = push(&mut heap, entry(0, 1, 1, 1));
    assert!(heap.entries.capacity() > 0);
    assert_eq!(released(&mut heap, 501), [1]);
    assert!(heap.entries.capacity() == 0 && heap.is_empty());
    assert!(size_of::<Heap<[u8; 200]>>() <= 72, "{}", size_of::<Heap<[u8; 200]>>());
}

/// What one asset gives up the next takes, and it carries nothing over; what a backlog took is
/// given back.
#[test]
fn ord_1_a_spare_is_as_new() {
    let mut spares = Spares::new();
    let mut first = Heap::new(None);
    for time in [900, 700] {
        let _ = first.push(entry(0, time, 1000, 1), &mut spares);
    }
    first.finish();
    while first.release(boot(0), &mut spares).is_some() {}
    assert_eq!(spares.kept.len(), 1);
    let mut second = Heap::new(None);
    let _ = second.push(entry(0, 100, 5000, 2), &mut spares);
    assert_eq!((spares.kept.len(), second.next_deadline()), (0, Some(boot(5500))));
    assert_eq!(second.release(boot(5499), &mut spares), None);
    for time in 101..200 {
        let _ = second.push(entry(0, time, 5000, 2), &mut spares);
    }
    while second.release(boot(5500), &mut spares).is_some() {}
    assert!(spares.kept.is_empty() && second.is_empty());
}

/// Restored from a checkpoint, the same heap; with a watermark, no time comes back.
#[test]
fn ord_1_the_watermark_and_what_waits_are_restored() {
    let mut heap = Heap::new(Some(Watermark { step: 3, time: event(1000) }));
    for (step, time, expected) in [
        (3, 1000, Pushed::Late { by: Span::ZERO }),
        (3, 400, Pushed::Late { by: Span::from_millis(600) }),
        (2, 9000, Pushed::Late { by: Span::ZERO }),
        (3, 1001, Pushed::Accepted { early: None }),
        (4, 5, Pushed::Accepted { early: None }),
    ] {
        assert_eq!(push(&mut heap, entry(step, time, 0, 7)), expected, "{step} {time}");
    }
    let mut copy = Heap::new(heap.watermark());
    for entry in heap.waiting() {
        let _ = push(&mut copy, *entry);
    }
    assert_eq!(copy.next_deadline(), heap.next_deadline());
    assert_eq!(released(&mut copy, 500), released(&mut heap, 500));
}

/// C1: newest first, then the backlog. Beyond the window it is late and moves nothing back.
#[test]
fn ord_2_c1_a_backlog_beyond_the_window_is_late() {
    let mut heap = Heap::new(None);
    let mut seen = Vec::new();
    for (n, time_s) in (0..).zip([100, 40, 39, 38, 10]) {
        let at_ms = 1000 * n;
        seen.extend(released(&mut heap, at_ms));
        let pushed = push(&mut heap, entry(0, time_s * 1000, at_ms, time_s as u32));
        if n > 0 {
            assert_eq!(pushed, Pushed::Late { by: Span::from_secs(100 - time_s) });
        }
    }
    assert_eq!(seen, [100]);
}

/// C4: 10 Hz, one fix 3.5 s late, window 3 s. The deadline decides when to release, never
/// whether to accept: late is what the watermark says.
#[test]
fn ord_2_c4_late_is_what_the_watermark_says() {
    for (behind_ms, late) in [(2_900, false), (3_500, true)] {
        let mut heap = Heap::new(None);
        let mut order = Vec::new();
        let long =
            |time, at| Entry { window: Span::from_secs(3), ..entry(0, time, at, time as u32) };
        let mut lates = 0;
        for now in (0..10_000).step_by(100) {
            order.extend(released(&mut heap, now));
            let _ = push(&mut heap, long(now, now));
            if now == 5_000 {
                let pushed = push(&mut heap, long(now - behind_ms + 50, now));
                lates += i32::from(matches!(pushed, Pushed::Late { .. }));
            }
        }
        order.extend(released(&mut heap, 20_000));
        assert_eq!(lates, i32::from(late), "{behind_ms}");
        assert!(order.is_sorted());
        assert_eq!(order.len(), if late { 100 } else { 101 });
    }
    // An old fix into an empty heap is accepted however old, and released on its own deadline.
    check(&[
        (Push(10_000, 0, 10_000), &[]),
        (Wake(10_500), &[10_000]),
        (Push(99_000, 0, 10_001), &[]),
        (Wake(99_500), &[10_001]),
    ]);
}

/// C5: six fixes at one instant, half of them elsewhere.
#[test]
fn ord_3_c5_one_instant_gives_the_most_accurate() {
    let at_once = [(5.0, 1), (7.0, 2), (3.0, 3), (3.0, 4), (4.0, 5), (3.0, 3)];
    for _ in 0..2 {
        let mut heap = Heap::new(None);
        let mut same = 0;
        let mut repeats = 0;
        for (accuracy_m, payload) in at_once {
            let fix = Entry { accuracy_m, ..entry(0, 1000, 1000, payload) };
            match push(&mut heap, fix) {
                Pushed::SameInstant => same += 1,
                Pushed::Repeat => repeats += 1,
                _ => {}
            }
        }
        assert_eq!((released(&mut heap, 1500), same, repeats), (vec![3], 4, 1));
    }
}

/// A standby's more accurate fix of the same second must not displace the voter's.
#[test]
fn ord_3_sources_do_not_compete_for_an_instant() {
    let mut heap = Heap::new(None);
    for (source, accuracy_m, payload) in [(0, 9.0, 1), (1, 2.0, 2), (0, 9.0, 1), (1, 1.0, 3)] {
        let _ = push(&mut heap, Entry { source, accuracy_m, ..entry(0, 1000, 1000, payload) });
    }
    assert_eq!(released(&mut heap, 1500), [1, 3]);
}

/// ORD-1 without cleverness: every entry in one list, searched whole.
#[derive(Default)]
struct Naive {
    entries: Vec<Entry<u32>>,
    mark: Option<(u32, EventTime)>,
}

impl Naive {
    fn push(&mut self, new: Entry<u32>) -> bool {
        let key = (new.step, new.time);
        if self.mark.is_some_and(|mark| key <= mark) {
            return false;
        }
        for held in &mut self.entries {
            if (held.step, held.time, held.source) == (new.step, new.time, new.source) {
                if held.payload != new.payload && new.accuracy_m < held.accuracy_m {
                    *held = Entry { at: held.at, ..new };
                }
                return false;
            }
        }
        self.entries.push(new);
        true
    }
    fn release(&mut self, now: BootTime) -> Vec<u32> {
        let expired = self.entries.iter().filter(|e| e.at + e.window <= now);
        let Some(last) = expired.map(|e| (e.step, e.time)).max() else { return Vec::new() };
        self.entries.sort_by_key(|e| (e.step, e.time));
        // Of one instant only those that came up to the last expired one go with it.
        let count =
            self.entries.iter().rposition(|e| (e.step, e.time) == last && e.at + e.window <= now);
        let gone: Vec<_> = self.entries.drain(..=count.unwrap()).collect();
        self.mark = Some(last);
        gone.iter().map(|e| e.payload).collect()
    }
}

/// Inputs in stamp order: time since the one before, event time around the stamp, and so on.
fn inputs() -> impl Strategy<Value = Vec<Entry<u32>>> {
    let one = (0..400_i64, -900..900_i64, 0..3_u32, 0..2_u16, 0..3_u8, 0..5_u32);
    prop::collection::vec(one, 1..80).prop_map(|raw| {
        let (mut at, mut step) = (0, 0);
        let make = |(gap, off, grow, source, accuracy, payload): (_, i64, u32, _, u8, _)| {
            at += gap;
            // Rarely a step, coarse times so that instants meet.
            step += u32::from(grow == 0 && off > 800);
            let time = (at + off).div_euclid(50) * 50;
            let window = Span::from_millis(if source == 0 { 500 } else { 200 });
            let accuracy_m = f64::from(accuracy) + 1.0;
            Entry { window, source, accuracy_m, ..entry(step, time, at, payload) }
        };
        raw.into_iter().map(make).collect()
    })
}

/// Every deadline earlier than `stamp` fires at its own time (ORD-1).
fn fire_before(heap: &mut Heap<u32>, stamp: BootTime, out: &mut Vec<OrderedFix<u32>>) {
    while let Some(deadline) = heap.next_deadline().filter(|d| *d < stamp) {
        out.extend(std::iter::from_fn(|| release(heap, deadline)));
    }
}

proptest! {
    /// ORD-1: same inputs with the same stamps, same output, whenever the loop wakes between;
    /// in key order; nothing lost; as the naive twin says.
    #[test]
    fn ord_1_any_wake_up_schedule_gives_one_output(
        inputs in inputs(), wakes in prop::collection::vec(0..20_000_i64, 0..60)
    ) {
        let mut wakes = wakes;
        wakes.sort_unstable();
        let mut runs = Vec::new();
        for wakes in [&[][..], &wakes[..]] {
            let (mut heap, mut out, mut answered) = (Heap::new(None), Vec::new(), 0);
            let mut wakes = wakes.iter().copied().peekable();
            for input in &inputs {
                while let Some(wake) = wakes.next_if(|wake| boot(*wake) < input.at) {
                    fire_before(&mut heap, boot(wake), &mut out);
                    out.extend(std::iter::from_fn(|| release(&mut heap, boot(wake))));
                }
                fire_before(&mut heap, input.at, &mut out);
                let pushed = push(&mut heap, *input);
                answered += usize::from(!matches!(pushed, Pushed::Accepted { .. }));
            }
            fire_before(&mut heap, boot(i64::MAX / 1_000_000), &mut out);
            prop_assert!(heap.is_empty());
            prop_assert_eq!(out.len() + answered, inputs.len());
            prop_assert!(out.is_sorted_by_key(|fix| (fix.step(), fix.time())));
            runs.push(out);
        }
        prop_assert_eq!(&runs[0], &runs[1]);

        let (mut naive, mut slow) = (Naive::default(), Vec::new());
        for input in &inputs {
            let deadlines = |naive: &Naive| naive.entries.iter().map(|e| e.at + e.window).min();
            while let Some(deadline) = deadlines(&naive).filter(|d| *d < input.at) {
                slow.extend(naive.release(deadline));
            }
            naive.push(*input);
        }
        while let Some(deadline) = naive.entries.iter().map(|e| e.at + e.window).min() {
            slow.extend(naive.release(deadline));
        }
        prop_assert_eq!(slow, runs[0].iter().map(|fix| *fix.payload()).collect::<Vec<_>>());
    }

    /// A trusted feed depends on nothing but its fixes: no stamp and no wake-up moves it.
    #[test]
    fn ord_1_a_trusted_feed_knows_no_boot_time(inputs in inputs(), drift in 0..5_i64) {
        let mut runs = Vec::new();
        for scale in [1, drift] {
            let (mut heap, mut out, mut answered) = (Heap::new(None), Vec::new(), 0);
            for input in &inputs {
                let at = BootTime::from_nanos(input.at.nanos() * scale);
                let pushed = push(&mut heap, Entry { at, trusted: true, ..*input });
                answered += usize::from(!matches!(pushed, Pushed::Accepted { .. }));
                prop_assert_eq!(heap.next_deadline(), None);
                out.extend(std::iter::from_fn(|| release(&mut heap, at)));
            }
            heap.finish();
            out.extend(std::iter::from_fn(|| release(&mut heap, boot(0))));
            prop_assert!(heap.is_empty());
            prop_assert_eq!(out.len() + answered, inputs.len());
            prop_assert!(out.is_sorted_by_key(|fix| (fix.step(), fix.time())));
            runs.push(out.iter().map(|fix| *fix.payload()).collect::<Vec<_>>());
        }
        prop_assert_eq!(&runs[0], &runs[1]);
    }
}
