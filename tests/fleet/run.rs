//! One way of putting a workload in order, through the real engine; and what came of it.
//!
//! Always holds: every run, the true one too, is the same engine; a row is known by the number
//! that its heading carries, which decides nothing. Does not know: which answer is right.

use std::collections::BTreeMap;
use std::sync::Arc;

use geofenced::logic::config::{Decide, PositionDetail, TimeRules};
use geofenced::logic::engine::{
    Engine, Feed, HeartbeatRules, Input, Setup, SourceSetup, Step, Telemetry, Trusting, UNRANKED,
    WAKE_LAG,
};
use geofenced::logic::gnss::line::Checksum;
use geofenced::logic::gnss::record::Record;
use geofenced::logic::gnss::trust::{Around, AssetClock, Mode, ReceiverTime, Stamp, Trust};
use geofenced::logic::gnss::{FixQuality, Reject};
use geofenced::logic::order::{Entry, Heap, Spares};
use geofenced::logic::zones::{Layer, parse_layer};
use geofenced::units::{AssetId, BootTime, EventTime, GatewayId, Position, SourceId, Span};

use crate::workload::{Row, T0_NANOS, Workload};

/// How fixes are put in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// As they were measured.
    Truth,
    /// As they arrived, which is what their time is taken to be.
    Arrival,
    /// As TIME and ORD say, with this window in milliseconds.
    Window(i64),
}

/// A membership that changed: into which, by which row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) inside: bool,
    /// When the deciding fix was measured.
    pub(crate) truth: i64,
}

/// What came of a run.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) changes: BTreeMap<(u32, u32), Vec<Change>>,
    pub(crate) fixes: u64,
    /// Fixes decided after one that was measured later.
    pub(crate) reversals: u64,
    /// Rows that were late.
    pub(crate) late: Vec<u32>,
    pub(crate) other_rejects: u64,
    pub(crate) clamped: u64,
    pub(crate) stepped: u64,
    /// From arrival to decision.
    pub(crate) latency: Vec<i64>,
}

/// The layer of a workload.
pub(crate) fn layers(workload: &Workload) -> Vec<Arc<Layer>> {
    let checked = parse_layer(workload.zones.as_bytes(), &Decide::default());
    vec![Arc::new(checked.unwrap_or_else(|faults| panic!("{faults:?}")).layer)]
}

fn boot(nanos: i64) -> BootTime {
    // The gateway has run for an hour when the workload begins.
    BootTime::from_nanos(nanos - T0_NANOS) + Span::from_secs(3600)
}

fn time_rules() -> TimeRules {
    let floor = EventTime::from_nanos(T0_NANOS) - Span::from_secs(3600);
    TimeRules { floor: Some(floor), ..TimeRules::default() }
}

fn setup(order: Order, confirm: u8) -> Setup {
    let (trusting, window) = match order {
        Order::Window(ms) => (Trusting::Network, ms),
        Order::Truth | Order::Arrival => (Trusting::Fixes, 0),
    };
    let decide = match confirm {
        1 => Decide { confirm, confirm_for: Span::ZERO, ..Decide::default() },
        _ => Decide { confirm, ..Decide::default() },
    };
    // A second of travel in a millisecond of arrival is what arrival order is about: it must not
    // be saved by the gate.
    let decide = Decide { max_speed_mps: 1e9, ..decide };
    Setup {
        gateway: GatewayId::new("gw").unwrap(),
        software: None,
        decide,
        time: time_rules(),
        detail: PositionDetail::CrossingFix,
        sources: vec![SourceSetup {
            id: SourceId::new("net").unwrap(),
            feed: Feed::Nmea,
            asset: AssetId::new("fleet").unwrap(),
            checksum: Checksum::Required,
            interval: Span::from_secs(1),
            window: Span::from_millis(window),
            trusting,
            rank: UNRANKED,
        }],
        announce: false,
        report_fixes: true,
        telemetry: Telemetry::default(),
        heartbeat: HeartbeatRules { commit_every: Span::from_secs(1), heartbeat: Span::MAX },
    }
}

/// One run.
pub(crate) struct Run<'a> {
    engine: Engine,
    rows: &'a [Row],
    /// Per asset, when the fix decided last was measured.
    last: Vec<i64>,
    outcome: Outcome,
}

impl<'a> Run<'a> {
    /// Runs a workload.
    pub(crate) fn of(
        workload: &'a Workload,
        layers: &[Arc<Layer>],
        order: Order,
        confirm: u8,
    ) -> Outcome {
        let assets = workload.rows.iter().map(|row| row.asset + 1).max().unwrap_or(0);
        assert!(workload.rows.len() < 1 << f32::MANTISSA_DIGITS, "a heading can number every row");
        let mut run = Run {
            engine: Engine::replay(setup(order, confirm), layers),
            rows: &workload.rows,
            last: vec![i64::MIN; assets as usize],
            outcome: Outcome::default(),
        };
        let mut turns: Vec<u32> = (0..workload.rows.len() as u32).collect();
        if order == Order::Truth {
            turns.sort_by_key(|n| (run.rows[*n as usize].truth, run.rows[*n as usize].asset));
        }
        for n in turns {
            run.hear(n, order);
        }
        run.wake_until(BootTime::from_nanos(i64::MAX / 2));
        let counters = run.engine.counters();
        (run.outcome.clamped, run.outcome.stepped) = (counters.clamped, counters.stepped);
        run.outcome
    }

    fn hear(&mut self, n: u32, order: Order) {
        let row = self.rows[n as usize];
        let (at, time) = match order {
            Order::Truth => (row.truth, row.truth),
            Order::Arrival => (row.at, row.at),
            Order::Window(_) => (row.at, row.event),
        };
        self.wake_until(boot(at));
        let record = Record {
            asset: Some(AssetId::new(&row.asset.to_string()).unwrap()),
            time: EventTime::from_nanos(time),
            position: Ok(Position::new(row.lat, row.lon).unwrap()),
            // Zero would be unknown, whose wide margin hides half of what disorder does.
            accuracy_m: Some(f64::from(row.accuracy_m).max(0.01)),
            received: None,
            speed_mps: None,
            heading_deg: Some(n as f32),
            quality: FixQuality::Measured,
            altitude_m: None,
        };
        let step = self.engine.step(Input::Record { source: 0, at: boot(at), record });
        self.take(&step, boot(at));
    }

    /// Fires every deadline before `at` by itself, so that the moment of each decision is known.
    fn wake_until(&mut self, at: BootTime) {
        while let Some(now) = self.engine.next_deadline().filter(|now| *now - WAKE_LAG < at) {
            let step = self.engine.step(Input::Wake { now });
            self.take(&step, now - WAKE_LAG);
        }
    }

    fn take(&mut self, step: &Step, now: BootTime) {
        let out = &mut self.outcome;
        for report in &step.fixes {
            let n = report.fix.heading_deg.unwrap() as u32;
            let row = &self.rows[n as usize];
            match report.reason {
                Some(Reject::Late) => out.late.push(n),
                Some(_) => out.other_rejects += 1,
                None => {
                    let last = &mut self.last[row.asset as usize];
                    out.fixes += 1;
                    out.reversals += u64::from(row.truth < *last);
                    *last = (*last).max(row.truth);
                    out.latency.push((now - boot(row.at)).nanos());
                }
            }
        }
        for event in &step.events {
            let body = &event.body;
            let Some(inside) = body.inside else { continue };
            let row = &self.rows[body.heading_deg.unwrap() as usize];
            let zone = body.zone.as_ref().unwrap().as_str().parse().unwrap();
            let change = Change { inside, truth: row.truth };
            out.changes.entry((row.asset, zone)).or_default().push(change);
        }
    }
}

/// How often each asset's clock was taken to have stepped: its trust and its heap alone.
pub(crate) fn steps(workload: &Workload, window_ms: i64) -> Vec<u64> {
    let mut steps = Vec::new();
    let mut rows = workload.rows.clone();
    rows.sort_by_key(|row| row.asset);
    for own in rows.chunk_by(|a, b| a.asset == b.asset) {
        let (mut clock, mut trust) = (AssetClock::NEW, Trust::new(Mode::Network));
        let (mut heap, mut spares, mut settled) = (Heap::new(None), Spares::new(), Vec::new());
        for row in own {
            let at = boot(row.at);
            while let Some(deadline) = heap.next_deadline().filter(|deadline| *deadline < at) {
                while heap.release(deadline, &mut spares).is_some() {}
            }
            let time = ReceiverTime::Utc(EventTime::from_nanos(row.event));
            let stamp = Stamp { at, time, valid_position: true, payload: row.truth };
            let mark = heap.watermark().map(|mark| (mark.step, mark.time));
            let rules = time_rules();
            let around = Around { rules: &rules, watermark: mark, voting: true, system: None };
            trust.handle(&mut clock, around, stamp, &mut settled);
            for timed in settled.drain(..) {
                let entry = Entry {
                    step: timed.step,
                    time: timed.time,
                    at,
                    window: Span::from_millis(window_ms),
                    trusted: false,
                    source: 0,
                    accuracy_m: 5.0,
                    payload: timed.payload,
                };
                let _ = heap.push(entry, &mut spares);
            }
        }
        steps.push(trust.counters().stepped);
    }
    steps
}
