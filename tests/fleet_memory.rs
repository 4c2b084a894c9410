//! What the order stage owns: bytes per active asset, nothing per idle one, no allocation per fix.

#![expect(clippy::cast_possible_wrap, reason = "bytes and assets of a test, not of a machine")]

use std::alloc::System;

use geofenced::logic::order::{Entry, Heap, Spares};
use geofenced::units::{BootTime, EventTime, Span};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static COUNTED: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Place, accuracy, and 8 bytes to know it by.
type Payload = [u64; 4];

const MILLISECOND: i64 = 1_000_000;

struct Fleet {
    heaps: Vec<Heap<Payload>>,
    spares: Spares<Payload>,
}

impl Fleet {
    fn new(assets: usize) -> Self {
        Self { heaps: (0..assets).map(|_| Heap::new(None)).collect(), spares: Spares::new() }
    }

    /// One fix, 100 ms old; deadlines before it fire first.
    fn fix(&mut self, asset: usize, at_ms: i64) {
        self.wake(asset, at_ms);
        let entry = Entry {
            step: 0,
            time: EventTime::from_nanos((at_ms - 100) * MILLISECOND),
            at: BootTime::from_nanos(at_ms * MILLISECOND),
            window: Span::from_millis(500),
            trusted: false,
            source: 0,
            accuracy_m: 5.0,
            payload: [at_ms as u64; 4],
        };
        let _ = self.heaps[asset].push(entry, &mut self.spares);
    }

    fn wake(&mut self, asset: usize, at_ms: i64) {
        let now = BootTime::from_nanos(at_ms * MILLISECOND);
        while self.heaps[asset].release(now, &mut self.spares).is_some() {}
    }
}

/// Bytes in use that were not before.
fn grown(region: &Region<'_, System>) -> i64 {
    let change = region.change();
    change.bytes_allocated as i64 - change.bytes_deallocated as i64
}

/// One test, because what is counted is the whole process.
#[test]
fn ord_1_memory_is_for_those_that_wait() {
    // Active at 1 to 5 Hz, each with a phase of its own; the most at any time.
    for (rate, most) in [(1, 130), (2, 220), (3, 220), (4, 290), (5, 290)] {
        let assets = 500;
        let region = Region::new(COUNTED);
        let mut fleet = Fleet::new(assets);
        let mut peak = 0;
        let (mut fixes, mut warm) = (0, region.change().allocations);
        for ms in 0..4_000_i64 {
            if ms == 2_000 {
                (fixes, warm) = (0, region.change().allocations);
            }
            for asset in 0..assets {
                fleet.wake(asset, ms);
                if (ms + asset as i64 * 7) % (1000 / rate) == 0 {
                    fleet.fix(asset, ms);
                    fixes += 1;
                }
            }
            peak = peak.max(grown(&region));
        }
        let each = peak / assets as i64;
        assert!(each <= most, "{rate} Hz: {each} bytes an asset");
        let allocations = region.change().allocations - warm;
        assert!(allocations * 100 <= fixes, "{rate} Hz: {allocations} allocations, {fixes} fixes");
    }
    // A million that go idle, each after a backlog of three.
    let assets = 1_000_000;
    let mut fleet = Fleet::new(assets);
    let region = Region::new(COUNTED);
    for asset in 0..assets {
        for n in 0..3 {
            fleet.fix(asset, 1000 + n);
        }
    }
    let active = grown(&region) / assets as i64;
    for asset in 0..assets {
        fleet.wake(asset, 10_000);
    }
    let idle = grown(&region);
    assert!((200..=300).contains(&active), "{active} bytes an asset");
    assert!(idle <= 100_000, "{idle} bytes for a million idle assets");
    assert_eq!(size_of::<Heap<Payload>>(), 72);
}
