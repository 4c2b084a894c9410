//! Any bytes as a life of one asset with a serial, a network and a recorded source: stamps, wakes,
//! ends. For random tests and for a fuzz target, which needs no more than [`live`].
//!
//! Always holds, or it panics: what is released is in key order; every fix comes out once, or is
//! counted; watermark and step number never go back; nothing grows beyond its bound.

use std::collections::BTreeSet;

use geofenced::logic::config::TimeRules;
use geofenced::logic::gnss::trust::{
    Around, AssetClock, HELD_MAX, Mode, ReceiverTime, Stamp, Timed, Trust,
};
use geofenced::logic::order::{Entry, HEAP_FIXES_MAX, Heap, Pushed, Spares, Watermark};
use geofenced::units::{BootTime, EventTime, Span, WallTime};

/// 2026-12-01T12:00:00Z, less the gateway's hour.
const START: EventTime = EventTime::from_nanos(1_796_122_800_000_000_000);
const MODES: [Mode; 3] = [Mode::Serial, Mode::Network, Mode::Fixes];

/// One asset, and what has become of its fixes.
struct Life {
    clock: AssetClock,
    rules: TimeRules,
    trusts: [Trust<u32>; 3],
    settled: Vec<Timed<u32>>,
    heap: Heap<u32>,
    spares: Spares<u32>,
    now: BootTime,
    sent: u32,
    released: BTreeSet<u32>,
    answered: usize,
    mark: Option<Watermark>,
}

/// Lives through `bytes`, four to an input.
pub(crate) fn live(bytes: &[u8]) {
    let mut life = Life {
        clock: AssetClock::NEW,
        rules: TimeRules::default(),
        trusts: MODES.map(Trust::new),
        settled: Vec::new(),
        heap: Heap::new(None),
        spares: Spares::new(),
        now: BootTime::from_nanos(3600 * 1_000_000_000),
        sent: 0,
        released: BTreeSet::new(),
        answered: 0,
        mark: None,
    };
    for input in bytes.chunks_exact(4) {
        life.input([input[0], input[1], input[2], input[3]]);
    }
    life.end();
}

impl Life {
    fn input(&mut self, [what, wait, source, by]: [u8; 4]) {
        // Mostly fractions of a second, sometimes hours.
        let unit = if wait > 250 { Span::from_secs(600) } else { Span::from_millis(20) };
        self.now = self.now + unit.times(i64::from(wait));
        match what % 16 {
            15 => {
                self.heap.finish();
                self.release();
            }
            14 => self.release(),
            what => self.stamp(what, source, by),
        }
        assert!(self.heap.len() <= HEAP_FIXES_MAX);
    }

    fn stamp(&mut self, what: u8, source: u8, by: u8) {
        self.fire();
        let own = usize::from(source % 3);
        // How far the receiver's clock is off, in units that make every rule meet its edges.
        let unit = [0, 10, 100, 1000, 7_200_000, 86_400_000][usize::from(what % 6)];
        let off = Span::from_millis(unit * (i64::from(by) - 128));
        let eras = if what == 12 { Span::from_secs(1024 * 7 * 86_400) } else { Span::ZERO };
        let time = START + Span::from_nanos(self.now.nanos()) + off - eras;
        let of_day = (source / 3 % 8 != 7).then(|| time - time.midnight());
        let time = match source / 24 % 4 {
            0 => ReceiverTime::Nmea { of_day, date: None },
            1 => ReceiverTime::Nmea { of_day, date: Some((2026, 12, (by % 33).cast_signed())) },
            _ => ReceiverTime::Utc(time),
        };
        let valid_position = source < 240;
        let stamp = Stamp { at: self.now, time, valid_position, payload: self.sent };
        self.sent += u32::from(valid_position);
        let mark = self.heap.watermark().map(|mark| (mark.step, mark.time));
        let system = source.is_multiple_of(2).then(|| WallTime::from_nanos(START.nanos()));
        let step = self.clock.step();
        let trust = &mut self.trusts[own];
        let voting = !source.is_multiple_of(5);
        let around = Around { rules: &self.rules, watermark: mark, voting, system };
        trust.handle(&mut self.clock, around, stamp, &mut self.settled);
        assert!(self.clock.step() >= step && trust.waiting() <= HELD_MAX);
        self.drain(own);
    }

    fn drain(&mut self, own: usize) {
        for timed in std::mem::take(&mut self.settled) {
            self.push(own, timed);
        }
        if MODES[own] == Mode::Fixes {
            self.release();
        }
    }

    fn push(&mut self, own: usize, timed: Timed<u32>) {
        let entry = Entry {
            step: timed.step,
            time: timed.time,
            at: timed.at,
            window: Span::from_millis([500, 200, 1000][own]),
            trusted: MODES[own] == Mode::Fixes,
            source: own as u16,
            accuracy_m: 1.0 + f64::from(timed.payload % 3),
            payload: timed.payload,
        };
        match self.heap.push(entry, &mut self.spares) {
            Pushed::Accepted { early: Some(fix) } => {
                self.take(fix.step(), fix.time(), *fix.payload());
            }
            Pushed::Accepted { early: None } => {}
            Pushed::Late { .. } => {
                assert!(self.mark >= Some(Watermark { step: timed.step, time: timed.time }));
                self.answered += 1;
            }
            Pushed::Repeat | Pushed::SameInstant => self.answered += 1,
        }
    }

    /// Deadlines before now, each at its own time (ORD-1).
    fn fire(&mut self) {
        while let Some(deadline) = self.heap.next_deadline().filter(|due| *due < self.now) {
            let before = self.heap.len();
            while let Some(fix) = self.heap.release(deadline, &mut self.spares) {
                self.take(fix.step(), fix.time(), *fix.payload());
            }
            assert!(self.heap.len() < before, "a deadline releases something");
        }
    }

    fn release(&mut self) {
        while let Some(fix) = self.heap.release(self.now, &mut self.spares) {
            self.take(fix.step(), fix.time(), *fix.payload());
        }
    }

    fn take(&mut self, step: u32, time: EventTime, payload: u32) {
        let key = Some(Watermark { step, time });
        assert!(self.mark <= key, "releases go back");
        self.mark = key;
        assert_eq!(self.heap.watermark(), key);
        assert!(self.released.insert(payload), "{payload} came out twice");
    }

    fn end(&mut self) {
        for own in 0..MODES.len() {
            self.trusts[own].finish(&self.clock, &self.rules, &mut self.settled);
            self.drain(own);
        }
        self.heap.finish();
        self.release();
        assert!(self.heap.is_empty() && self.heap.next_deadline().is_none());
        let lost: u64 = self.trusts.iter().map(|trust| trust.counters().no_time).sum();
        let known = self.released.len() + self.answered + lost as usize;
        assert_eq!(known, self.sent as usize, "a fix was lost without being counted");
    }
}
