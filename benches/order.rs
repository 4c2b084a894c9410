//! The order stage alone on one core: push and release over many assets at 1 to 5 Hz, beside a
//! plain heap per asset that knows no watermark, no steps and no instants, in the same run.
//!
//! Prints millions of fixes a second, the best of five. `cargo bench --bench order`.

#[path = "../tests/field/chance.rs"]
mod chance;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use chance::Chance;
use geofenced::logic::order::{Entry, Heap, Spares};
use geofenced::units::{BootTime, EventTime, Span};

const WINDOW: Span = Span::from_millis(500);
const FIXES: usize = 2_000_000;
const RUNS: u32 = 5;

/// As large as what the engine carries.
type Payload = [u64; 4];

#[derive(Clone, Copy)]
struct Arrival {
    asset: u32,
    time: i64,
    at: i64,
}

/// Arrivals of `assets` at `rates` fixes a second, each delayed by about 60 ms where `delayed`.
fn arrivals(assets: u64, rates: std::ops::RangeInclusive<u64>, delayed: bool) -> Vec<Arrival> {
    let mut chance = Chance::new(1);
    let mut all = Vec::with_capacity(FIXES + FIXES / 4);
    let mean = (rates.start() + rates.end()) as usize * assets as usize / 2;
    let seconds = FIXES / mean + 1;
    for asset in 0..assets as u32 {
        let rate = rates.start() + chance.below(rates.end() - rates.start() + 1);
        let (every, phase) = (1e9 / rate as f64, chance.unit());
        for n in 0..rate * seconds as u64 {
            let time = ((n as f64 + phase) * every) as i64;
            let delay = 0.06e9 * (0.8 * chance.normal()).exp() * f64::from(u8::from(delayed));
            all.push(Arrival { asset, time, at: time + delay as i64 });
        }
    }
    all.sort_by_key(|arrival| arrival.at);
    all.truncate(FIXES);
    all
}

fn ours(assets: usize, arrivals: &[Arrival]) -> u64 {
    let mut heaps: Vec<Heap<Payload>> = (0..assets).map(|_| Heap::new(None)).collect();
    let (mut spares, mut released) = (Spares::new(), 0);
    for arrival in arrivals {
        let (heap, at) = (&mut heaps[arrival.asset as usize], BootTime::from_nanos(arrival.at));
        while let Some(deadline) = heap.next_deadline().filter(|deadline| *deadline < at) {
            while let Some(fix) = heap.release(deadline, &mut spares) {
                released += 1;
                black_box(fix);
            }
        }
        let entry = Entry {
            step: 0,
            time: EventTime::from_nanos(arrival.time),
            at,
            window: WINDOW,
            trusted: false,
            source: 0,
            accuracy_m: 5.0,
            payload: [arrival.time as u64; 4],
        };
        let _ = black_box(heap.push(entry, &mut spares));
    }
    released
}

fn plain(assets: usize, arrivals: &[Arrival]) -> u64 {
    let mut heaps: Vec<BinaryHeap<Reverse<(i64, i64, Payload)>>> = vec![BinaryHeap::new(); assets];
    let mut released = 0;
    for arrival in arrivals {
        let heap = &mut heaps[arrival.asset as usize];
        let due = arrival.at - WINDOW.nanos();
        while let Some(fix) = heap.peek().filter(|Reverse((_, at, _))| *at < due).copied() {
            heap.pop();
            released += 1;
            black_box(fix);
        }
        heap.push(Reverse((arrival.time, arrival.at, [arrival.time as u64; 4])));
    }
    released
}

/// Millions of fixes a second, the best run.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn rate(stage: fn(usize, &[Arrival]) -> u64, assets: usize, arrivals: &[Arrival]) -> f64 {
    let one = |_| {
        let begin = Instant::now();
        assert!(stage(assets, black_box(arrivals)) > arrivals.len() as u64 / 2);
        begin.elapsed().as_secs_f64()
    };
    arrivals.len() as f64 / (0..RUNS).map(one).fold(f64::MAX, f64::min) / 1e6
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<36} {:>8} {:>8}", "million fixes a second", "ours", "plain")?;
    for (name, assets, rates, delayed) in [
        ("4,000 at 1-5 Hz, delayed", 4_000, 1..=5, true),
        ("4,000 at 1 Hz, in order", 4_000, 1..=1, false),
        ("4,000 at 5 Hz, in order", 4_000, 5..=5, false),
        ("100,000 at 1-5 Hz, delayed", 100_000, 1..=5, true),
        ("one at 10 Hz, delayed", 1, 10..=10, true),
    ] {
        let arrivals = arrivals(assets, rates, delayed);
        let [ours, plain] = [ours, plain].map(|stage| rate(stage, assets as usize, &arrivals));
        writeln!(out, "{name:<36} {ours:>8.1} {plain:>8.1}")?;
    }
    Ok(())
}
