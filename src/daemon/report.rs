//! The Status snapshot: gathers what engine, store, sources and delivery say of themselves.

use std::path::Path;

use tracing::{info, warn};

use super::problems;
use super::waits::Waits;
use crate::edge::clock;
use crate::edge::source::Happened;
use crate::logic::config::{Config, UplinkKind};
use crate::logic::engine::Engine;
use crate::logic::event::Event;
use crate::logic::health::{
    EventsStatus, Problem, RecordStatus, SourceState, SourceStatus, Status, StoreStatus,
    UplinkStatus,
};
use crate::logic::latency::LatencyStatus;
use crate::logic::uplink::UplinkState;
use crate::store::Store;
use crate::units::{BootTime, GatewayId, Span, WallTime};

/// One source as this thread knows it.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) status: SourceStatus,
    pub(super) heard: Option<BootTime>,
    pub(super) silence_after: Span,
    /// What is wrong although it is open.
    pub(super) trouble: Option<Problem>,
}

impl Known {
    /// It is open, or it is not and why. How it was open is remembered, so that a replug at the
    /// same rate is no news.
    fn settle(&mut self, up: bool, why: Option<String>) {
        (self.status.up, self.status.why, self.trouble) = (up, why, None);
    }
}

/// From arrival to disk, beyond the window: a commit a second, and a tenth for the work. The
/// stated ceiling of 99 % of all fixes that make an event.
const DURABLE_MAX: Span = Span::from_millis(1100);

/// The engine knows what a source sends; whether it sends is known here.
fn of_engine(own: &Known, now: BootTime, told: SourceStatus) -> SourceStatus {
    let silent = own.heard.is_none_or(|at| now - at > own.silence_after);
    let state = match (own.status.up, silent) {
        (false, _) => SourceState::Closed,
        (_, true) => SourceState::Silent,
        _ => told.state,
    };
    SourceStatus { state, ..told }
}

/// What is kept for the next status.
#[derive(Debug)]
pub(super) struct Report {
    gateway: String,
    started: BootTime,
    pub(super) sources: Vec<Known>,
    store_path: String,
    uplink_kind: &'static str,
    uplink_target: String,
    /// How delivery does.
    pub(super) uplink: UplinkState,
    /// When something was last committed.
    pub(super) committed: BootTime,
    /// Why commits fail, while they do.
    pub(super) store_error: Option<String>,
    /// Why the config on disk is not the one in force.
    pub(super) reload_refused: Option<String>,
    /// How long events take.
    pub(super) waits: Waits,
    /// What `latency.durable` may be for 99 %.
    durable_max: Span,
    /// The newest committed event of this run.
    pub(super) last_event: Option<Event>,
}

impl Report {
    pub(super) fn new(
        config: &Config,
        gateway: &GatewayId,
        started: BootTime,
        store: &Path,
    ) -> Self {
        let sources = config.sources.iter().map(|source| Known {
            status: SourceStatus {
                name: source.name.to_string(),
                kind: source.input.kind_name().to_owned(),
                path: source.input.target(),
                ..SourceStatus::default()
            },
            heard: None,
            silence_after: source.silence_after,
            trouble: None,
        });
        Self {
            gateway: gateway.to_string(),
            started,
            sources: sources.collect(),
            store_path: store.display().to_string(),
            uplink_kind: config.uplink.kind.name(),
            uplink_target: match config.uplink.kind {
                UplinkKind::None => String::new(),
                _ => config.uplink.url.clone().unwrap_or_default(),
            },
            uplink: UplinkState::default(),
            committed: started,
            store_error: None,
            reload_refused: None,
            waits: Waits::default(),
            durable_max: config.sources.iter().map(|s| s.reorder_window).max().unwrap_or_default()
                + DURABLE_MAX,
            last_event: None,
        }
    }

    /// The same, where a later config was refused.
    pub(super) fn with_refused(self, reload_refused: Option<String>) -> Self {
        Self { reload_refused, ..self }
    }

    /// Notes what happened at a source; a change of state is one log line.
    pub(super) fn source(&mut self, source: usize, at: BootTime, what: &Happened) {
        let own = &mut self.sources[source];
        let name = &own.status.name;
        match what {
            Happened::Bytes(_) => own.heard = Some(at),
            Happened::Up => {
                info!("source {name}: open");
                own.settle(true, None);
            }
            Happened::Detail(detail) => {
                if own.status.detail.as_ref() != Some(detail) {
                    info!("source {name}: {detail}");
                }
                own.status.detail = Some(detail.clone());
            }
            Happened::Trouble(trouble) => {
                match (trouble, &own.trouble) {
                    (Some(Problem { what, .. }), _) => warn!("source {name}: {what}"),
                    (None, Some(_)) => info!("source {name}: whole again"),
                    (None, None) => {}
                }
                own.trouble.clone_from(trouble);
            }
            Happened::Down { why } => {
                warn!("source {name}: {why}");
                own.settle(false, Some(why.clone()));
            }
            Happened::Note { what } => warn!("source {name}: {what}"),
            Happened::End => {
                info!("source {name}: ended");
                own.settle(false, Some("its input has ended".into()));
            }
        }
    }

    /// One line for a human, as `systemctl status` shows it.
    pub(super) fn line(&self, now: BootTime, engine: &Engine) -> String {
        let assets = engine.asset_status(now);
        let inside: usize = assets.iter().map(|asset| asset.inside.len()).sum();
        let heard = assets.iter().filter_map(|asset| asset.heard_s_ago).reduce(f64::min);
        let fix = heard.map_or("no fix yet".to_owned(), |s| format!("last fix {s:.0} s ago"));
        let zones = if inside == 1 { "zone" } else { "zones" };
        let delivery = match (self.uplink_target.as_str(), self.uplink.waiting_events) {
            ("", _) => "uplink none".to_owned(),
            (_, 1) => "1 event waiting".to_owned(),
            (_, waiting) => format!("{waiting} events waiting"),
        };
        format!("inside {inside} {zones}, {fix}, {delivery}")
    }

    /// Everything.
    pub(super) fn status(
        &self,
        now: BootTime,
        engine: &Engine,
        store: &Store,
        lost_chunks: u64,
        record: Option<RecordStatus>,
    ) -> Status {
        let started = engine.started();
        let mut counters = engine.counters();
        counters.chunks_lost = lost_chunks;
        let mut status = Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            gateway: self.gateway.clone(),
            up_s: (now - self.started).secs_f64(),
            boot_s: Span::from_nanos(now.nanos()).secs_f64(),
            start_cause: started.cause.clone(),
            down_s: started.down_s,
            sources: self.source_status(now, engine),
            assets: engine.asset_status(now),
            layers: engine.layer_status(),
            counters,
            gauges: engine.gauges(now),
            latency: self.latency(engine),
            uplink: self.uplink_status(now),
            memory_bytes: clock::memory_bytes(),
            record,
            ..Status::default()
        };
        self.add_store(&mut status, store);
        status.problems = problems::all(self, &status, engine, now);
        status.settle();
        status
    }

    fn source_status(&self, now: BootTime, engine: &Engine) -> Vec<SourceStatus> {
        let each = self.sources.iter().enumerate().map(|(ix, own)| SourceStatus {
            name: own.status.name.clone(),
            kind: own.status.kind.clone(),
            path: own.status.path.clone(),
            up: own.status.up,
            why: own.status.why.clone(),
            detail: own.status.detail.clone(),
            heard_s_ago: own.heard.map(|at| (now - at).secs_f64()),
            ..of_engine(own, now, engine.source_status(ix))
        });
        each.collect()
    }

    fn latency(&self, engine: &Engine) -> LatencyStatus {
        let [released, decided] = engine.latency();
        LatencyStatus {
            released: released.status(),
            decided: decided.status(),
            durable: self.waits.durable.status(),
            acknowledged: self.waits.acknowledged.status(),
            durable_p99_max_s: self.durable_max.secs_f64(),
        }
    }

    fn uplink_status(&self, now: BootTime) -> UplinkStatus {
        UplinkStatus {
            kind: self.uplink_kind.to_owned(),
            target: self.uplink_target.clone(),
            ok_s_ago: self.uplink.last_ok.map(|at| (now - at).secs_f64()),
            next_try_s: self.uplink.next_try.map(|at| (at - now).secs_f64().max(0.0)),
            error: self.uplink.trouble.as_ref().map(|trouble| trouble.text.clone()),
        }
    }

    fn add_store(&self, status: &mut Status, store: &Store) {
        let counts = match store.counts() {
            Ok(counts) => counts,
            Err(error) => {
                status.store.error = Some(error.to_string());
                return;
            }
        };
        let since = |wall: WallTime| (clock::wall_now() - wall).secs_f64().max(0.0);
        let last = self.last_event.clone();
        status.events = EventsStatus {
            decided: counts.events.last_seq,
            waiting: counts.events.waiting,
            oldest_s: counts.events.oldest_recorded.map(since),
            lost: counts.events.lost,
            dead_lettered: counts.events.dead_lettered,
            last_acknowledged: last.as_ref().is_some_and(|e| e.seq <= counts.events.acked_seq),
            last: last.map(Box::new),
        };
        status.store = StoreStatus {
            path: self.store_path.clone(),
            stream: store.stream().to_string(),
            spool_bytes: counts.events.waiting_bytes + counts.telemetry.waiting_bytes,
            spool_max_bytes: counts.max_bytes,
            commits: counts.meters.commits,
            written_bytes: counts.meters.bytes_written,
            fsyncs: counts.meters.fsyncs,
            slowest_commit_s: counts.meters.slowest_commit.secs_f64(),
            error: self.store_error.clone(),
        };
    }
}
