//! Timelines of the clock-trust machine. A stamp is a line `BOOT_S DATE TIME`, where `-` is what
//! the receiver left out and a leading `!` says that it had no valid position; a wish is a line
//! `DATETIME QUALITY STEP`.

#![expect(clippy::cast_possible_wrap, reason = "the timelines count hundreds, not billions")]

use super::*;

mod edges;
mod field;
mod props;
mod rules;

/// How long the stand-in for ordering keeps a fix (ORD-1).
const ORDER_WINDOW: Span = Span::from_millis(500);

pub(super) fn t(text: &str) -> EventTime {
    text.parse().unwrap()
}

pub(super) fn boot(secs: f64) -> BootTime {
    BootTime::from_nanos(0) + Span::from_millis((secs * 1000.0).round() as i64)
}

/// What is around a timeline; a voting source of a new asset unless said otherwise.
#[derive(Clone, Copy)]
pub(super) struct World {
    pub(super) mode: Mode,
    pub(super) rules: TimeRules,
    pub(super) clock: AssetClock,
    pub(super) voting: bool,
    pub(super) system: Option<&'static str>,
}

pub(super) const fn world(mode: Mode) -> World {
    let rules = TimeRules {
        skew_tolerance: Span::from_secs(2),
        steps_to_adopt: 5,
        floor: None,
        release_date: crate::logic::config::RELEASE_DATE,
    };
    World { mode, rules, clock: AssetClock::NEW, voting: true, system: None }
}

pub(super) const SERIAL: World = world(Mode::Serial);
pub(super) const NETWORK: World = world(Mode::Network);
pub(super) const FIXES: World = world(Mode::Fixes);

/// What came of a timeline.
pub(super) struct Outcome {
    pub(super) timed: Vec<Timed<usize>>,
    pub(super) trust: Trust<usize>,
    pub(super) clock: AssetClock,
    /// Payloads that ordering refused as late (ORD-2).
    pub(super) late: Vec<usize>,
}

impl Outcome {
    pub(super) fn lines(&self) -> Vec<String> {
        self.timed.iter().map(line).collect()
    }
}

fn line(timed: &Timed<usize>) -> String {
    let quality = match timed.quality {
        TimeQuality::Gnss => "gnss",
        TimeQuality::Corrected => "corrected",
        TimeQuality::Clamped => "clamped",
    };
    format!("{} {quality} {}", timed.time, timed.step)
}

/// A small stand-in for `order`: enough to give a watermark.
#[derive(Default)]
struct Order {
    waiting: Vec<Timed<usize>>,
    mark: Option<(u32, EventTime)>,
    late: Vec<usize>,
}

impl Order {
    fn take(&mut self, timed: Timed<usize>) {
        if self.mark.is_some_and(|mark| (timed.step, timed.time) <= mark) {
            self.late.push(timed.payload);
        } else {
            self.waiting.push(timed);
        }
    }
    fn release(&mut self, mode: Mode, now: BootTime) {
        let highest = self.waiting.iter().map(|w| (w.step, w.time)).max();
        let due = |w: &Timed<usize>| match (mode, highest) {
            (Mode::Fixes, Some((step, time))) => (w.step, w.time) <= (step, time - ORDER_WINDOW),
            _ => w.at + ORDER_WINDOW < now,
        };
        let released = self.waiting.iter().filter(|w| due(w)).map(|w| (w.step, w.time)).max();
        self.mark = self.mark.max(released);
        let mark = self.mark;
        self.waiting.retain(|w| mark.is_none_or(|mark| (w.step, w.time) > mark));
    }
}

pub(super) fn play(world: World, stamps: &[Stamp<usize>]) -> Outcome {
    let World { mode, rules, mut clock, voting, system } = world;
    let system = system.map(|text| text.parse::<WallTime>().unwrap());
    let (mut trust, mut order, mut timed) = (Trust::new(mode), Order::default(), Vec::new());
    for stamp in stamps {
        order.release(mode, stamp.at);
        let (around, known) =
            (Around { rules: &rules, watermark: order.mark, voting, system }, timed.len());
        trust.handle(&mut clock, around, *stamp, &mut timed);
        timed[known..].iter().for_each(|next| order.take(*next));
    }
    Outcome { timed, trust, clock, late: order.late }
}

fn stamp(number: usize, text: &str) -> Stamp<usize> {
    let (valid_position, text) = match text.strip_prefix('!') {
        Some(rest) => (false, rest.trim()),
        None => (true, text),
    };
    let mut words = text.split_whitespace();
    let at = boot(words.next().unwrap().parse().unwrap());
    let date = words.next().filter(|word| *word != "-").map(|word| {
        let parts: Vec<i16> = word.split('-').map(|p| p.parse().unwrap()).collect();
        (parts[0], parts[1] as i8, parts[2] as i8)
    });
    let of_day = words.next().filter(|word| *word != "-").map(|word| {
        let parts: Vec<f64> = word.split(':').map(|p| p.parse().unwrap()).collect();
        Span::from_millis(((parts[0] * 60.0 + parts[1]) * 60_000.0 + parts[2] * 1000.0) as i64)
    });
    let time = ReceiverTime::Nmea { of_day, date };
    Stamp { at, time, valid_position, payload: number }
}

pub(super) fn stamps(text: &str) -> Vec<Stamp<usize>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(number, line)| stamp(number, line)).collect()
}

/// Stamps `count` fixes, one every `every_ms` by both clocks, from a boot time and a UTC time.
pub(super) fn steady(
    every_ms: i64,
    count: i64,
    from_s: f64,
    time: &str,
) -> impl Iterator<Item = Stamp<usize>> + use<> {
    let time = t(time);
    (0..count).map(move |n| {
        let since = Span::from_millis(every_ms).times(n);
        utc(boot(from_s) + since, time + since)
    })
}

pub(super) fn utc(at: BootTime, time: EventTime) -> Stamp<usize> {
    Stamp { at, time: ReceiverTime::Utc(time), valid_position: true, payload: 0 }
}

pub(super) fn numbered(stamps: impl IntoIterator<Item = Stamp<usize>>) -> Vec<Stamp<usize>> {
    stamps.into_iter().enumerate().map(|(payload, s)| Stamp { payload, ..s }).collect()
}

/// The one check of the small timelines.
pub(super) fn check(name: &str, world: World, given: &str, want: &str) -> Outcome {
    let outcome = play(world, &stamps(given));
    let want: Vec<&str> = want.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(outcome.lines(), want, "{name}");
    outcome
}

/// Checks that every stamp came out with the time it was sent with, in its order.
pub(super) fn check_unchanged(name: &str, given: &[Stamp<usize>], outcome: &Outcome) {
    let sent: Vec<_> = given.iter().map(|s| (s.payload, s.time)).collect();
    let got: Vec<_> =
        outcome.timed.iter().map(|g| (g.payload, ReceiverTime::Utc(g.time))).collect();
    assert_eq!(got, sent, "{name}");
    assert!(outcome.timed.iter().all(|g| g.quality == TimeQuality::Gnss), "{name}");
}
