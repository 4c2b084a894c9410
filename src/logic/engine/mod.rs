//! The pipeline as one machine: `step(Input) → Step`, `next_deadline()`.
//!
//! Always holds: same inputs with the same stamps in the same order give the same events,
//! whenever the loop wakes (INV-7): before an input stamped s every deadline earlier than s fires
//! at its own time. Events are numbered here; the store checks the numbers.
//! Does not know: clocks, sockets, files, the store.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::logic::config::{Decide, PositionDetail, TimeRules};
use crate::logic::crossing::asset::{Happening, Scratch};
use crate::logic::crossing::ground::Ground;
use crate::logic::crossing::table::Begun;
use crate::logic::crossing::wheel::Wheel;
use crate::logic::event::{Body, Event, Kind, Lane, Lost, Start};
use crate::logic::gnss::record::Record;
use crate::logic::gnss::trust::{Degraded, Timed};
use crate::logic::gnss::{Fix, Reject};
use crate::logic::group::{Group, Loss, LossReport, Restored, Runs};
use crate::logic::health::Counters;
use crate::logic::latency::Histogram;
use crate::logic::order::Spares;
use crate::logic::recorder::Header;
use crate::logic::zones::Layer;
use crate::units::{AssetId, BootTime, GatewayId, LayerId, SourceId, Span, StreamId, WallTime};

mod alarms;
mod asset;
mod checkpoint;
mod decide;
mod durable;
mod emit;
mod heartbeat;
mod intake;
mod memory;
mod reconcile;
mod start;
mod tally;
mod view;
mod vote;

use alarms::Alarms;
use asset::Asset;
pub use checkpoint::{CHECKPOINT_BYTES_MAX, Checkpoint, Ignored, checkpoint_allowed};
use heartbeat::Heartbeat;
pub use heartbeat::HeartbeatRules;
use intake::{Carried, Ordered, Source, Whose};
pub use intake::{Feed, SourceSetup, Trusting, UNRANKED};
pub use memory::ASSETS_IN_MEMORY;
use memory::{Assets, Known, Parked};

/// A wake-up fires only deadlines this old, so that an input that arrived before a deadline but
/// was read after it still goes first (ORD-1).
pub const WAKE_LAG: Span = Span::from_millis(50);

/// The most assets that one gateway follows, in memory or only in its store: trackers that name
/// themselves must fill neither.
pub const ASSETS_MAX: usize = 100_000;

/// What an engine is told once.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The gateway's id.
    pub gateway: GatewayId,
    /// Name and version of the software, where events carry it.
    pub software: Option<String>,
    /// `[decide]`.
    pub decide: Decide,
    /// `[time]`.
    pub time: TimeRules,
    /// How much of a position events carry.
    pub detail: PositionDetail,
    /// Inputs, known by their place here.
    pub sources: Vec<SourceSetup>,
    /// Whether starts, layers and reconciliations are events: a replay has none of them.
    pub announce: bool,
    /// Whether every fix is reported in [`Step::fixes`].
    pub report_fixes: bool,
    /// When state is made durable although nothing crossed.
    pub heartbeat: HeartbeatRules,
    /// Which records of low priority are wanted.
    pub telemetry: Telemetry,
}

impl Setup {
    /// With this many assets another of this id is one too many. Trackers that name themselves
    /// must not lock out those that the configuration names.
    pub fn assets_max(&self, id: &AssetId) -> usize {
        let configured = self.sources.iter().any(|source| source.asset == *id);
        ASSETS_MAX + if configured { self.sources.len() } else { 0 }
    }
}

/// Which records of low priority are wanted: `[events]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Telemetry {
    /// `late_fix`.
    pub late_fix: bool,
    /// `asset_stale` and `asset_recovered`.
    pub stale_markers: bool,
}

/// What a start knows of the world.
#[derive(Clone, Debug)]
pub struct Birth {
    /// Now.
    pub boot: BootTime,
    /// The kernel's boot id.
    pub boot_id: String,
    /// The system clock: a hint.
    pub wall: WallTime,
    /// Whether the same process goes on under a new config.
    pub reload: bool,
}

impl Birth {
    fn of_replay() -> Self {
        let (boot, wall) = (BootTime::from_nanos(0), WallTime::from_nanos(0));
        Self { boot, boot_id: String::new(), wall, reload: false }
    }
}

/// One thing that the engine is told.
#[derive(Clone, Debug)]
pub enum Input<'a> {
    /// Bytes of a source, as its [`Feed`] says.
    Bytes {
        /// Which source.
        source: usize,
        /// When they arrived.
        at: BootTime,
        /// What arrived.
        bytes: &'a [u8],
    },
    /// A parsed CSV or JSON line.
    Record {
        /// Which source.
        source: usize,
        /// When it arrived.
        at: BootTime,
        /// What it says.
        record: Record,
    },
    /// A line of a record source that could not be read.
    BadRecord {
        /// Which source.
        source: usize,
    },
    /// The source ends, or was unplugged: what is half read is finished.
    End {
        /// Which source.
        source: usize,
        /// When.
        at: BootTime,
    },
    /// Time has passed.
    Wake {
        /// Now.
        now: BootTime,
    },
    /// The full set of the zones of every asset is due, where all are in memory.
    Snapshot,
    /// The day's counters are due.
    Health,
    /// The system clock, while the kernel says that it is synchronised (TIME-5).
    System {
        /// What it says.
        wall: Option<WallTime>,
    },
}

/// What became of one fix, for `--print fixes`.
#[derive(Clone, PartialEq, Debug)]
pub struct FixReport {
    /// Whose.
    pub asset: AssetId,
    /// What.
    pub fix: Fix,
    /// Why it was not used.
    pub reason: Option<Reject>,
}

/// What came of one input.
#[must_use]
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Step {
    /// Decided and numbered, not yet durable.
    pub events: Vec<Event>,
    /// Every fix, where the setup asks for them.
    pub fixes: Vec<FixReport>,
    /// When the fixes arrived that made events for the server.
    pub arrived: Vec<Arrived>,
}

/// When the fix arrived that made an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrived {
    /// The event's number.
    pub seq: u64,
    /// The fix's stamp.
    pub at: BootTime,
}

/// A vote that has begun to run, for the wheel.
#[derive(Clone, Copy, Debug)]
struct Ballot {
    asset: u32,
    /// When the fix that cast the first vote arrived.
    since: BootTime,
    begun: Begun,
}

/// Numbers events of both lanes.
#[derive(Debug)]
struct Numbers {
    stream: StreamId,
    next_event: u64,
    next_telemetry: u64,
}

/// The pipeline.
#[derive(Debug)]
pub struct Engine {
    setup: Setup,
    ground: Arc<Ground>,
    sources: Vec<Source>,
    assets: Assets,
    /// Asked for every record: no foreign id can slow it down for long, there are so few.
    by_id: HashMap<AssetId, usize, RandomState>,
    spares: Spares<Ordered>,
    alarms: Alarms,
    wheel: Wheel<Ballot>,
    scratch: Scratch,
    /// What a clock has just settled.
    settled: Vec<Timed<Carried>>,
    numbers: Numbers,
    step: Step,
    group: Group,
    happenings: Vec<Happening>,
    counters: Counters,
    heartbeat: Heartbeat,
    system: Option<WallTime>,
    /// When this input came, or the loop woke.
    now: BootTime,
    /// The stamp of the fix that is being decided on, unless a trusted feed's.
    deciding: Option<BootTime>,
    /// Stamps of what this step has decided on.
    fresh: Vec<BootTime>,
    released: Histogram,
    decided: Histogram,
    /// Fixes that wait in order, and the most that ever did.
    waiting: u64,
    waiting_max: u64,
    start: Start,
    not_grown: Vec<(LayerId, u64, u64)>,
    /// When this engine was made.
    born: BootTime,
    runs: Runs,
    /// A record that waits for its asset to be recalled.
    parked: Option<Box<Parked>>,
    /// Whether a start may have left a configured asset in the store.
    wants_configured: bool,
    must_pass: bool,
}

impl Engine {
    /// An engine without a store: stream `replay`, seq from 1.
    pub fn replay(setup: Setup, layers: &[Arc<Layer>]) -> Self {
        let stream = StreamId::new("replay").expect("a valid id");
        let restored = Restored::nothing(stream);
        Self::start(setup, layers, restored, &Birth::of_replay())
    }

    /// Another engine without a store, over the very zones of this one: for the fixes of assets
    /// that this one never hears of.
    #[must_use]
    pub fn sibling(&self) -> Self {
        let stream = StreamId::new("replay").expect("a valid id");
        let restored = Restored::nothing(stream);
        let birth = Birth::of_replay();
        let story = start::story(None, &birth, &self.ground);
        Self::fresh(self.setup.clone(), Arc::clone(&self.ground), &restored, &birth, story)
    }

    /// An engine that goes on where its store left off (STO-4).
    pub fn start(setup: Setup, layers: &[Arc<Layer>], restored: Restored, birth: &Birth) -> Self {
        Self::start_from(setup, layers, restored, birth, None).0
    }

    /// The same, going on from a checkpoint that was opened for this very start (STO-3); with
    /// why not, where the layers at hand are not those it was made under.
    pub fn start_from(
        setup: Setup,
        layers: &[Arc<Layer>],
        restored: Restored,
        birth: &Birth,
        checkpoint: Option<Checkpoint>,
    ) -> (Self, Option<Ignored>) {
        let plan = start::plan(layers, &restored.layers);
        let ground = Arc::new(Ground::new(&setup.decide, &plan.activations));
        let story = start::story(restored.last_run.as_ref(), birth, &ground);
        let mut engine = Self::fresh(setup, ground, &restored, birth, story);
        engine.not_grown.clone_from(&plan.not_grown);
        engine.announce_start(&restored, &plan);
        let layers_changed = !plan.changed.is_empty() || !plan.gone.is_empty();
        match checkpoint {
            Some(checkpoint) if !layers_changed => engine.resume_from(restored, checkpoint),
            Some(_) => {
                engine.take_up(restored, layers_changed);
                return (engine, Some(Ignored::OtherLayers));
            }
            None => engine.take_up(restored, layers_changed),
        }
        (engine, None)
    }

    /// Over its zones, before it has taken anything up.
    fn fresh(
        setup: Setup,
        ground: Arc<Ground>,
        restored: &Restored,
        birth: &Birth,
        start: Start,
    ) -> Self {
        let sources = setup.sources.iter().map(|source| Source::new(source, &setup)).collect();
        Self {
            numbers: Numbers {
                stream: restored.stream.clone(),
                next_event: restored.next_seq,
                next_telemetry: restored.next_telemetry_seq,
            },
            heartbeat: Heartbeat::new(birth.boot, setup.heartbeat),
            sources,
            ground,
            setup,
            assets: Assets::default(),
            by_id: HashMap::default(),
            spares: Spares::default(),
            alarms: Alarms::default(),
            wheel: Wheel::default(),
            scratch: Scratch::default(),
            settled: Vec::new(),
            step: Step::default(),
            group: Group::default(),
            happenings: Vec::new(),
            counters: Counters::default(),
            system: None,
            now: birth.boot,
            deciding: None,
            fresh: Vec::new(),
            released: Histogram::default(),
            decided: Histogram::default(),
            waiting: 0,
            waiting_max: 0,
            start,
            not_grown: Vec::new(),
            born: birth.boot,
            runs: restored.runs,
            parked: None,
            wants_configured: false,
            must_pass: false,
        }
    }

    /// One input. Deadlines before it fire first.
    pub fn step(&mut self, input: Input<'_>) -> Step {
        assert!(self.parked.is_none(), "what is wanted is recalled before the next input");
        self.fresh.clear();
        if let Input::Bytes { at: now, .. }
        | Input::Record { at: now, .. }
        | Input::End { at: now, .. }
        | Input::Wake { now } = input
        {
            self.now = now;
        }
        // Only what is shown depends on when this is done (PAIR-4).
        self.wheel.turn(self.now, |vote| {
            if let Some(asset) = self.assets.get_mut(vote.asset as usize) {
                asset.crossing.pairs.table.sweep(vote.begun);
            }
        });
        match input {
            Input::Bytes { source, at, bytes } => {
                self.fire_before(at);
                self.bytes(source, at, bytes);
            }
            Input::Record { source, at, record } => {
                self.fire_before(at);
                self.record(source, at, record.known_as(Whose::Named));
            }
            Input::BadRecord { source } => self.reject(source, Reject::BadRecord),
            Input::End { source, at } => {
                self.fire_before(at);
                self.end(source, at);
            }
            Input::Wake { now } => self.fire_before(now - WAKE_LAG + Span::from_nanos(1)),
            Input::Snapshot => return self.snapshot(None, None, &[]),
            Input::Health => self.health(),
            Input::System { wall } => self.system = wall,
        }
        std::mem::take(&mut self.step)
    }

    /// The step just taken was over at `now`: what it decided on took until then.
    pub fn decided(&mut self, now: BootTime) {
        for at in self.fresh.drain(..) {
            self.decided.note(now - at);
        }
    }

    /// When [`Input::Wake`] is due next, for release deadlines and ends of epochs.
    pub fn next_deadline(&self) -> Option<BootTime> {
        let due = self.alarms.next().map(|deadline| deadline + WAKE_LAG);
        [due, self.wheel.next()].into_iter().flatten().min()
    }

    /// When the rows are due to be made durable; now, where that is in the past.
    pub fn commit_deadline(&self) -> Option<BootTime> {
        self.heartbeat.deadline()
    }

    /// Adds every row that changed since the last time to `group`, whose events were taken from
    /// the steps since then. The store commits it as one transaction (STO-1).
    pub fn take_rows(&mut self, group: &mut Group, now: BootTime) {
        for asset in self.assets.iter_mut() {
            asset.rows(&self.ground, self.runs.this, &mut self.group);
        }
        group.merge(std::mem::take(&mut self.group));
        self.heartbeat.taken(now);
    }

    /// What has been counted.
    pub fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        for source in &self.sources {
            counters.add(&source.tally.counters);
        }
        for line in self.assets.iter().flat_map(|asset| &asset.lines) {
            let own = line.trust.counters();
            counters.add_trust(&own);
            for (reason, n) in tally::of_trust(own) {
                counters.reject_many(reason, n);
            }
        }
        counters
    }
    /// Adds to a record's header what a replay must know of the inputs.
    #[must_use]
    pub fn describe(&self, header: Header) -> Header {
        let (floor, sources) = (self.setup.time.floor, self.setup.sources.clone());
        Header { floor, sources, ..header }
    }
    /// Why and how this engine started.
    pub fn started(&self) -> &Start {
        &self.start
    }
    /// Layers that this start found changed although their version did not grow: the version
    /// before, and the one in force.
    pub fn layers_not_grown(&self) -> &[(LayerId, u64, u64)] {
        &self.not_grown
    }
    /// Every (asset, source) whose clock needs attention.
    pub fn clock_troubles(&self) -> Vec<(&AssetId, &SourceId, Degraded)> {
        let lines = self.assets.iter().flat_map(|a| a.lines.iter().map(move |line| (a, line)));
        let troubled = lines.filter_map(|(asset, line)| {
            let source = &self.setup.sources[line.source].id;
            line.trust.degraded().map(|why| (&asset.id, source, why))
        });
        troubled.collect()
    }
    /// How many assets it has heard of, in memory or not.
    pub fn assets(&self) -> usize {
        self.assets.len()
    }
    /// The zones in force.
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Numbers an event and puts it into the step. Gives its id.
    fn emit(&mut self, kind: Kind, mut body: Body) -> String {
        let lane = kind.lane();
        let next = match lane {
            Lane::Events => &mut self.numbers.next_event,
            Lane::Telemetry => &mut self.numbers.next_telemetry,
        };
        let seq = *next;
        *next += 1;
        let id = Event::id_of(&self.numbers.stream, lane, seq);
        body.software.clone_from(&self.setup.software);
        let gateway = self.setup.gateway.clone();
        if let (Lane::Events, Some(at)) = (lane, self.deciding) {
            self.step.arrived.push(Arrived { seq, at });
        }
        self.step.events.push(Event { seq, id: id.clone(), kind, gateway, body });
        self.heartbeat.event();
        id
    }

    /// DEL-1: what will never be delivered is said, with exact ranges and why. Every membership
    /// must follow, because the server may have missed one: [`Engine::snapshot`].
    pub fn lost(&mut self, losses: &[Loss]) -> (Step, Vec<LossReport>) {
        let mut reported = Vec::new();
        let mut reasons: Vec<(Lane, &str)> = losses.iter().map(|l| (l.lane, &*l.reason)).collect();
        reasons.sort_by_key(|(lane, reason)| (*lane == Lane::Telemetry, *reason));
        reasons.dedup();
        for (lane, reason) in reasons {
            let by = self.numbers.next_event;
            let own = losses.iter().filter(|l| l.lane == lane && l.reason == reason);
            reported.extend(own.clone().map(|loss| LossReport { loss: loss.id, by }));
            let lost = Lost {
                stream: (lane == Lane::Telemetry).then(|| "telemetry".to_owned()),
                ranges: own.map(|loss| (loss.first, loss.last)).collect(),
                reason: reason.to_owned(),
            };
            self.emit(Kind::EventsLost, Body { lost: Some(lost), ..Body::default() });
        }
        (std::mem::take(&mut self.step), reported)
    }

    /// `gateway_health`: the counters, for those who never look at a status.
    fn health(&mut self) {
        let counters = serde_json::to_value(self.counters()).expect("counters are plain data");
        let serde_json::Value::Object(counters) = counters else { return };
        let body = Body { counters: Some(counters), ..Body::default() };
        self.emit(Kind::GatewayHealth, body);
    }

    fn announce_start(&mut self, restored: &Restored, plan: &start::Plan) {
        self.group.layers.extend(plan.changed.iter().cloned());
        self.group.layers_gone.extend(plan.gone.iter().cloned());
        if !self.setup.announce {
            return;
        }
        let cause = restored.set_aside.as_ref().map(|_| "state_lost".to_owned());
        let body = Body { start: Some(self.start.clone()), cause, ..Body::default() };
        self.emit(Kind::GatewayStarted, body);
        for row in &plan.changed {
            let body = Body {
                layer: Some(row.layer.clone()),
                layer_version: Some(row.version),
                ..Body::default()
            };
            self.emit(Kind::LayerActivated, body);
        }
    }

    /// The asset of this id, of which something has just been heard.
    fn asset_of(&mut self, id: &AssetId) -> Known {
        if let Some(&ix) = self.by_id.get(id) {
            let Some(asset) = self.assets.get_mut(ix) else { return Known::Away };
            asset.heard = self.now;
            return Known::Here(ix);
        }
        if self.assets.len() >= self.setup.assets_max(id) {
            return Known::TooMany;
        }
        let asset = Asset::new(id.clone(), &self.setup, &self.ground, self.now);
        Known::Here(self.add_asset(asset))
    }

    fn add_asset(&mut self, asset: Asset) -> usize {
        self.by_id.insert(asset.id.clone(), self.assets.len());
        self.assets.push(asset)
    }

    /// Fires every deadline earlier than `before`, each at its own time.
    fn fire_before(&mut self, before: BootTime) {
        while let Some((deadline, due)) = self.alarms.pop_before(before) {
            self.fire(due, deadline);
        }
    }
}
