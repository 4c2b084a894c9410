//! A gateway in process: the real engine and the real store in a directory of their own, on a
//! clock that jumps to the next deadline, with the daemon's commit policy.
//!
//! Always holds: what is asserted on was read back from the store; a crash loses what was decided
//! and not committed, as a kill does. Does not know: what is right.

use std::path::Path;
use std::sync::Arc;

use geofenced::logic::config::{Decide, PositionDetail, TimeRules};
use geofenced::logic::engine::{
    Birth, Checkpoint, Engine, Feed, FixReport, HeartbeatRules, Ignored, Input, Setup, SourceSetup,
    Step, Telemetry, Trusting, UNRANKED,
};
use geofenced::logic::event::{Event, Lane};
use geofenced::logic::gnss::FixQuality;
use geofenced::logic::gnss::line::Checksum;
use geofenced::logic::gnss::record::Record;
use geofenced::logic::group::{Group, Restored};
use geofenced::logic::zones::{Layer, parse_layer};
use geofenced::store::{EventQuery, OpenOptions, Store};
use geofenced::units::{
    AssetId, BootTime, EventTime, GatewayId, Position, SourceId, Span, WallTime,
};

use crate::ledger::Ledger;

/// The store, in the gateway's directory.
const STORE: &str = "geofenced.db";

/// Latitude and longitude.
pub(crate) type Place = (f64, f64);

/// Where NMEA comes in, and where records do.
pub(crate) const SERIAL: usize = 0;
/// Records of trackers: a feed that can delay.
pub(crate) const NETWORK: usize = 1;

/// The asset of both sources where nothing else is said.
pub(crate) const VAN: &str = "van";

/// 2026-11-30T12:00:00Z, second 0 of every timeline.
const T0_SECS: i64 = 1_796_040_000;

/// Second `t` of the timeline.
pub(crate) fn at(t: f64) -> EventTime {
    let nanos = (t * 1e9).round() as i64;
    EventTime::from_nanos(T0_SECS * 1_000_000_000 + nanos)
}

/// The second of the timeline, to the hundredth.
pub(crate) fn second(time: EventTime) -> f64 {
    ((time - at(0.0)).secs_f64() * 100.0).round() / 100.0
}

/// One fix of a tracker.
pub(crate) fn record(asset: &str, t: f64, place: Place, accuracy_m: Option<f64>) -> Record {
    Record {
        asset: Some(AssetId::new(asset).unwrap()),
        time: at(t),
        position: Ok(Position::new(place.0, place.1).unwrap()),
        accuracy_m,
        received: None,
        speed_mps: None,
        heading_deg: None,
        quality: FixQuality::Measured,
        altitude_m: None,
    }
}

/// A checked layer named `l`; `features` are GeoJSON features.
pub(crate) fn layer(version: u64, features: &[String]) -> Vec<Arc<Layer>> {
    vec![named_layer("l", version, features)]
}

/// A checked layer.
pub(crate) fn named_layer(name: &str, version: u64, features: &[String]) -> Arc<Layer> {
    let text = format!(
        r#"{{"type":"FeatureCollection","geofenced":{{"layer":"{name}","version":{version}}},
        "features":[{}]}}"#,
        features.join(",")
    );
    let checked = parse_layer(text.as_bytes(), &Decide::default());
    Arc::new(checked.unwrap_or_else(|faults| panic!("{faults:?}: {text}")).layer)
}

/// A GeoJSON feature; `properties` as in `"dwell": "60s"`, or nothing.
pub(crate) fn feature(id: &str, geometry: &str, properties: &str) -> String {
    format!(
        r#"{{"type":"Feature","id":"{id}","geometry":{geometry},"properties":{{{properties}}}}}"#
    )
}

/// What an engine of these tests is told.
pub(crate) fn setup(decide: &Decide) -> Setup {
    let source = |id: &str, trusting| SourceSetup {
        id: SourceId::new(id).unwrap(),
        feed: Feed::Nmea,
        asset: AssetId::new(VAN).unwrap(),
        checksum: Checksum::Required,
        interval: Span::from_secs(1),
        window: Span::from_millis(500),
        trusting,
        rank: UNRANKED,
    };
    Setup {
        gateway: GatewayId::new("gw").unwrap(),
        software: None,
        decide: decide.clone(),
        time: TimeRules::default(),
        detail: PositionDetail::CrossingFix,
        sources: vec![source("gnss", Trusting::Serial), source("net", Trusting::Network)],
        announce: true,
        report_fixes: true,
        telemetry: Telemetry::default(),
        heartbeat: HeartbeatRules {
            commit_every: Span::from_secs(1),
            heartbeat: Span::from_secs(900),
        },
    }
}

/// One process.
pub(crate) struct Life {
    pub(crate) engine: Engine,
    store: Store,
    group: Group,
    committed: BootTime,
    /// Fixes decided and not yet covered by a commit.
    pending: Vec<FixReport>,
}

/// The box: its disk, its clock, and the process that runs on it, if one does.
pub(crate) struct Gateway {
    dir: tempfile::TempDir,
    pub(crate) setup: Setup,
    layers: Vec<Arc<Layer>>,
    /// When the kernel started, in event time.
    powered_on: EventTime,
    boots: u32,
    now: EventTime,
    life: Option<Life>,
    ledger: Ledger,
    /// Assets in memory.
    most: usize,
    /// The checkpoint of the process that ran last.
    pub(crate) kept: Option<Vec<u8>>,
    /// What each start that found one made of it.
    pub(crate) found: Vec<Result<(), Ignored>>,
    /// How often one came back from the store.
    pub(crate) recalls: u32,
    /// Fixes that a commit has covered: received (INV-4), in the order they were decided in.
    pub(crate) received: Vec<FixReport>,
}

impl Gateway {
    /// A gateway powered on a minute before second 0 and started five seconds before it.
    pub(crate) fn new(layers: &[Arc<Layer>], decide: &Decide) -> Self {
        Self::of(layers, setup(decide))
    }

    /// The same with other sources.
    pub(crate) fn of(layers: &[Arc<Layer>], setup: Setup) -> Self {
        Self::bounded(layers, setup, usize::MAX)
    }

    /// The same with so many assets in memory.
    pub(crate) fn bounded(layers: &[Arc<Layer>], setup: Setup, most: usize) -> Self {
        let mut gateway = Self {
            dir: tempfile::tempdir_in(memory_dir()).unwrap(),
            setup,
            layers: layers.to_vec(),
            powered_on: at(-60.0),
            boots: 1,
            now: at(-5.0),
            life: None,
            ledger: Ledger::default(),
            most,
            kept: None,
            found: Vec::new(),
            recalls: 0,
            received: Vec::new(),
        };
        gateway.start();
        gateway
    }

    fn boot(&self, time: EventTime) -> BootTime {
        BootTime::from_nanos((time - self.powered_on).nanos())
    }

    fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.now.nanos())
    }

    /// Opens the store as a start would.
    fn open(&self) -> (Store, Restored) {
        let options = OpenOptions {
            gateway: self.setup.gateway.clone(),
            software: "test".to_owned(),
            boot_id: format!("boot-{}", self.boots),
            now_boot: self.boot(self.now),
            now_wall: self.wall(),
            stream_seed: [7; 8],
            max_bytes: 256 << 20,
            max_age: Span::from_secs(365 * 86_400),
            assets_in_memory: self.most,
            clock: || BootTime::from_nanos(0),
        };
        Store::start(&self.dir.path().join(STORE), &options).unwrap()
    }

    fn birth(&self) -> Birth {
        Birth {
            boot: self.boot(self.now),
            boot_id: format!("boot-{}", self.boots),
            wall: self.wall(),
            reload: false,
        }
    }

    fn start(&mut self) {
        let (store, restored) = self.open();
        self.ledger.started(&restored);
        let boot = self.boot(self.now);
        let birth = self.birth();
        let kept = self.kept.take();
        let open = |bytes: Vec<u8>| Checkpoint::open(&bytes, &self.setup, &restored, &birth);
        let found = kept.map(open);
        self.found
            .extend(found.iter().map(|found| found.as_ref().map(|_| ()).map_err(Clone::clone)));
        let (setup, found) = (self.setup.clone(), found.and_then(Result::ok));
        let (engine, _) = Engine::start_from(setup, &self.layers, restored, &birth, found);
        let (group, pending) = (Group::default(), Vec::new());
        self.life = Some(Life { engine, store, group, committed: boot, pending });
        self.pass_layers();
        let life = self.life();
        let step = life.engine.step(Input::System { wall: None });
        life.take(step);
        self.commit();
        self.recall();
    }

    /// As the daemon does, but in other pages.
    fn pass_layers(&mut self) {
        let life = self.life();
        let mut after = None;
        while life.engine.must_pass() {
            let page = life.store.assets(after.as_ref(), 2).unwrap();
            after = page.last().map(|rows| rows.asset.asset.clone());
            if page.len() < 2 {
                life.engine.passed();
            }
            for rows in page {
                life.engine.pass(rows);
            }
        }
    }

    fn recall(&mut self) {
        let mut recalls = 0;
        let life = self.life();
        while let Some(id) = life.engine.wants() {
            let rows = life.store.asset(id).unwrap();
            let step = life.engine.recall(rows);
            life.take(step);
            recalls += 1;
        }
        self.recalls += recalls;
    }

    /// The daemon's snapshot, page by page.
    pub(crate) fn snapshot(&mut self) {
        let life = self.life();
        let mut after = None;
        loop {
            let page = life.store.assets(after.as_ref(), 3).unwrap();
            let up_to = page.last().filter(|_| page.len() == 3).map(|r| r.asset.asset.clone());
            let step = life.engine.snapshot(after.as_ref(), up_to.as_ref(), &page);
            life.take(step);
            if up_to.is_none() {
                return;
            }
            after = up_to;
        }
    }

    /// The process, which runs.
    pub(crate) fn life(&mut self) -> &mut Life {
        self.life.as_mut().expect("the timeline started it")
    }

    fn step(&mut self, input: Input<'_>) {
        let life = self.life();
        let step = life.engine.step(input);
        life.take(step);
        self.recall();
    }

    /// The daemon's policy.
    fn commit_due(&mut self) -> Option<BootTime> {
        let life = self.life();
        match (life.engine.commit_deadline(), life.group.is_empty()) {
            (None, true) => None,
            (due, _) => due.or(Some(life.committed + Span::from_secs(1))),
        }
    }

    /// One transaction, now.
    pub(crate) fn commit(&mut self) {
        let (now, wall) = (self.boot(self.now), self.wall());
        let life = self.life.as_mut().expect("the timeline started it");
        life.engine.take_rows(&mut life.group, now);
        life.store.commit(&life.group, now, wall).unwrap();
        life.committed = now;
        let group = std::mem::take(&mut life.group);
        let fixes = std::mem::take(&mut life.pending);
        life.engine.forget(self.most);
        let events = life.read(self.ledger.last_seq());
        self.ledger.committed(&group, &events);
        self.received.extend(fixes);
    }

    /// Lets time pass: every deadline up to `t` at its time.
    pub(crate) fn pass(&mut self, t: f64) {
        let end = self.boot(at(t));
        loop {
            let wake = self.life().engine.next_deadline();
            let due = [wake, self.commit_due()].into_iter().flatten().min();
            let Some(due) = due.filter(|due| *due <= end) else { break };
            let now = due.max(self.boot(self.now));
            self.now = self.powered_on + Span::from_nanos(now.nanos());
            self.wake();
        }
        self.now = self.now.max(at(t));
    }

    /// The daemon's loop, once.
    pub(crate) fn wake(&mut self) {
        let now = self.boot(self.now);
        self.step(Input::Wake { now });
        if self.commit_due().is_some_and(|due| due <= now) {
            self.commit();
        }
    }

    /// A record that arrives at `t`.
    pub(crate) fn hear(&mut self, t: f64, record: Record) {
        self.hear_from(NETWORK, t, record);
    }

    /// The same from any source.
    pub(crate) fn hear_from(&mut self, source: usize, t: f64, record: Record) {
        self.pass(t);
        let at = self.boot(self.now);
        self.step(Input::Record { source, at, record });
    }

    /// Bytes that arrive at `t`.
    pub(crate) fn nmea(&mut self, t: f64, bytes: &[u8]) {
        self.bytes_from(SERIAL, t, bytes);
    }

    /// The same from any source.
    pub(crate) fn bytes_from(&mut self, source: usize, t: f64, bytes: &[u8]) {
        self.pass(t);
        let at = self.boot(self.now);
        self.step(Input::Bytes { source, at, bytes });
    }

    /// Killed at `t`, started again a second later.
    pub(crate) fn crash(&mut self, t: f64) {
        self.pass(t);
        self.life = None;
        self.now = self.now + Span::from_secs(1);
        self.start();
    }

    /// Writes the checkpoint, if nothing waits for a commit.
    pub(crate) fn keep(&mut self) -> bool {
        let (now, boot_id) = (self.boot(self.now), format!("boot-{}", self.boots));
        let life = self.life();
        if !life.group.is_empty() {
            return false;
        }
        let commit = life.store.last_commit();
        self.kept = life.engine.checkpoint(&boot_id, commit, now);
        self.kept.is_some()
    }

    /// Killed now; what a start finds in the store, and knows.
    pub(crate) fn found_by_a_start(&mut self) -> (Restored, Birth) {
        self.life = None;
        (self.open().1, self.birth())
    }

    /// How many commits the process has made.
    pub(crate) fn commits(&mut self) -> u64 {
        self.life().store.last_commit().commit
    }

    /// Killed now, started again after `down` seconds.
    pub(crate) fn kill(&mut self, down: f64) {
        self.life = None;
        self.now = self.now + Span::from_secs_f64(down);
        self.start();
    }

    /// No power from `off`; the kernel starts at `on`, the process five seconds later.
    pub(crate) fn power_cut(&mut self, off: f64, on: f64) {
        self.pass(off);
        self.life = None;
        self.boots += 1;
        self.powered_on = at(on);
        self.now = at(on + 5.0);
        self.start();
    }

    /// Stopped as it should be at `t`, started again a second later.
    pub(crate) fn stop(&mut self, t: f64) {
        self.stop_and(t, |_| {});
    }

    /// The same; in between something happens to the store.
    pub(crate) fn stop_and(&mut self, t: f64, happens: impl FnOnce(&Path)) {
        self.pass(t);
        self.commit();
        let (boot, wall) = (self.boot(self.now), self.wall());
        let life = self.life.take().expect("it runs");
        life.store.close_clean(boot, wall).unwrap();
        happens(&self.dir.path().join(STORE));
        self.now = self.now + Span::from_secs(1);
        self.start();
    }

    /// What a start at `t` finds instead of its layers; a clean stop before it.
    pub(crate) fn change_layers(&mut self, t: f64, layers: &[Arc<Layer>]) {
        self.layers = layers.to_vec();
        self.stop(t);
    }

    /// Now, as a second of the timeline.
    pub(crate) fn now(&self) -> f64 {
        second(self.now)
    }

    /// Every event in the store.
    pub(crate) fn events(&mut self) -> Vec<Event> {
        self.life().read(0)
    }

    /// Every telemetry record in the store.
    pub(crate) fn telemetry(&mut self) -> Vec<Event> {
        let query = EventQuery { max: usize::MAX, ..EventQuery::default() };
        self.life().store.events(Lane::Telemetry, &query).unwrap().events
    }
}

impl Life {
    fn take(&mut self, step: Step) {
        let Step { events, fixes, arrived: _ } = step;
        self.group.events.extend(events);
        self.pending.extend(fixes);
    }

    fn read(&self, after: u64) -> Vec<Event> {
        let query = EventQuery { max: usize::MAX, after: Some(after), ..EventQuery::default() };
        let found = self.store.events(Lane::Events, &query).unwrap();
        assert_eq!(found.unreadable, 0);
        found.events
    }
}

/// A store in memory where the machine has such a place: fifty times faster than a disk's flush.
fn memory_dir() -> std::path::PathBuf {
    let shm = std::path::PathBuf::from("/dev/shm");
    if shm.is_dir() { shm } else { std::env::temp_dir() }
}
