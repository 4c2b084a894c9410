//! A replay shared out by asset over threads, each with an engine of its own over the same zones.
//!
//! Always holds: what comes out is what one engine gives, number by number and in its order. The
//! inputs are counted; each thing that comes of one bears its place: what the input's clock
//! released first, by deadline and by asset in the order in which they were first heard of, then
//! what the input itself decided. An asset is heard by one thread only, and that thread is told
//! when the others hear something as soon as any fix waits for a clock. What waits is bounded.
//! Does not know: formats, printing.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::logic::engine::{Engine, FixReport, Input, Setup, Step, Trusting, WAKE_LAG};
use crate::logic::event::Event;
use crate::logic::gnss::Reject;
use crate::logic::gnss::record::Record;
use crate::logic::health::Counters;
use crate::units::{AssetId, BootTime, StreamId};

/// Inputs that are handed out together: enough that a hand-over costs nothing beside them.
const BATCH_INPUTS_MAX: u32 = 2048;
/// The same for bytes.
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// Batches that wait for a thread or for their turn to be printed, in all at most some MB.
const BATCHES_MAX: usize = 4;

/// What one thread is told.
enum Item {
    Record {
        source: usize,
        at: BootTime,
        record: Record,
    },
    Bytes {
        source: usize,
        at: BootTime,
        bytes: Vec<u8>,
    },
    End {
        source: usize,
        at: BootTime,
    },
    /// Another thread was told something at this time.
    Tick {
        at: BootTime,
    },
}

/// Inputs by their place in the batch.
type Batch = Vec<(u32, Item)>;

/// Where in one engine's output something stands, but for its asset: the input's place, then what
/// its clock released, by deadline, then what it decided itself.
type Place = (u32, BootTime);

/// Behind every deadline.
const OWN: BootTime = BootTime::from_nanos(i64::MAX);

/// What came of one batch on one thread.
#[derive(Default)]
struct Outcome {
    events: Vec<(Place, Event)>,
    fixes: Vec<(Place, FixReport)>,
    assets: usize,
}

struct Shard {
    to: SyncSender<Batch>,
    from: Receiver<Outcome>,
    thread: JoinHandle<Counters>,
    /// What goes with the next batch.
    next: Batch,
    /// Assets its engine has heard of by the last outcome.
    assets: usize,
}

/// Engines on threads that together are one.
pub(super) struct Fleet {
    setup: Setup,
    shards: Vec<Shard>,
    /// Assets by their place in the order in which they were first heard of. The place says the
    /// thread: so each gets as many as another.
    assets: HashMap<AssetId, u32>,
    /// What is counted here and in no engine.
    counters: Counters,
    /// What the next batch holds.
    inputs: u32,
    bytes: usize,
    in_flight: usize,
    /// Whether a fix may wait for a clock, so that every thread must be told the time.
    ticking: bool,
    /// A source's bytes go to this thread, and whether there is an asset in them is not known.
    unheard: Option<(usize, AssetId)>,
    merger: Merger,
}

impl Fleet {
    /// So many threads that decide as `engine` would, which has heard nothing yet.
    pub(super) fn new(setup: Setup, engine: &Engine, jobs: usize) -> Self {
        assert!(jobs > 0, "someone must decide");
        Self {
            setup,
            shards: (0..jobs).map(|_| Shard::begin(engine.sibling())).collect(),
            assets: HashMap::new(),
            counters: Counters::default(),
            inputs: 0,
            bytes: 0,
            in_flight: 0,
            ticking: false,
            unheard: None,
            merger: Merger::new(),
        }
    }

    /// One input. What comes back is of earlier ones: as much as is in order by now.
    pub(super) fn step(&mut self, input: Input<'_>) -> Step {
        let mut step = Step::default();
        let ends = matches!(input, Input::End { .. });
        match input {
            Input::Record { source, at, record } => self.record(source, at, record),
            Input::Bytes { source, at, bytes } => {
                let shard = self.shard_of_bytes(source);
                self.bytes += bytes.len();
                self.give(shard, Item::Bytes { source, at, bytes: bytes.to_vec() });
            }
            Input::BadRecord { .. } => {
                self.counters.reject(Reject::BadRecord);
                return step;
            }
            Input::End { source, at } => {
                (0..self.shards.len()).for_each(|to| self.give(to, Item::End { source, at }));
                // Every deadline has passed.
                self.ticking = false;
            }
            Input::Wake { .. } | Input::Snapshot | Input::Health | Input::System { .. } => {
                unreachable!("only a daemon has these, and what it recorded")
            }
        }
        self.inputs += 1;
        if ends && self.unheard.is_some() {
            step = self.rest();
            self.settle();
        } else if self.inputs >= BATCH_INPUTS_MAX || self.bytes >= BATCH_BYTES_MAX {
            self.hand_out(&mut step);
        }
        step
    }

    /// All that is still to come of the inputs so far.
    pub(super) fn rest(&mut self) -> Step {
        let mut step = Step::default();
        if self.inputs > 0 {
            self.hand_out(&mut step);
        }
        while self.in_flight > 0 {
            self.collect(&mut step);
        }
        step
    }

    /// What has been counted, after [`Fleet::rest`].
    pub(super) fn counters(self) -> Counters {
        let mut counters = self.counters;
        for shard in self.shards {
            drop(shard.to);
            counters.add(&shard.thread.join().expect("a panic ends the process"));
        }
        counters
    }

    fn give(&mut self, shard: usize, item: Item) {
        self.shards[shard].next.push((self.inputs, item));
    }

    fn record(&mut self, source: usize, at: BootTime, record: Record) {
        let shard = self.shard_of(source, &record);
        if self.ticking {
            let others = (0..self.shards.len()).filter(|other| Some(*other) != shard);
            others.collect::<Vec<_>>().into_iter().for_each(|to| self.give(to, Item::Tick { at }));
        }
        self.ticking |= self.setup.sources[source].trusting != Trusting::Fixes;
        if let Some(shard) = shard {
            self.give(shard, Item::Record { source, at, record });
        } else {
            self.counters.epochs += 1;
            self.counters.reject(Reject::TooManyAssets);
        }
    }

    /// Whose a record is; `None` where there are too many assets.
    fn shard_of(&mut self, source: usize, record: &Record) -> Option<usize> {
        if record.position.is_err() {
            return Some(0);
        }
        let id = record.asset.as_ref().unwrap_or(&self.setup.sources[source].asset);
        if let Some(place) = self.assets.get(id) {
            return Some(*place as usize % self.shards.len());
        }
        if self.assets.len() >= self.setup.assets_max(id) {
            return None;
        }
        let place = self.assets.len();
        self.assets.insert(id.clone(), place as u32);
        Some(place % self.shards.len())
    }

    fn shard_of_bytes(&mut self, source: usize) -> usize {
        let id = &self.setup.sources[source].asset;
        if let Some(place) = self.assets.get(id) {
            return *place as usize % self.shards.len();
        }
        let shard = self.assets.len() % self.shards.len();
        self.unheard = Some((shard, id.clone()));
        shard
    }

    /// Bytes have ended, and all that came of them is here: an asset is heard of once there was
    /// an epoch.
    fn settle(&mut self) {
        let Some((shard, id)) = self.unheard.take() else { return };
        let jobs = self.shards.len();
        let known = (self.assets.len() + jobs - 1 - shard) / jobs;
        if self.shards[shard].assets > known {
            self.assets.insert(id, self.assets.len() as u32);
        }
    }

    fn hand_out(&mut self, step: &mut Step) {
        if self.in_flight == BATCHES_MAX {
            self.collect(step);
        }
        for shard in &mut self.shards {
            let batch = std::mem::take(&mut shard.next);
            shard.to.send(batch).expect("a thread ends with its channel");
        }
        (self.inputs, self.bytes) = (0, 0);
        self.in_flight += 1;
    }

    /// Takes what came of the oldest batch that is out.
    fn collect(&mut self, step: &mut Step) {
        self.in_flight -= 1;
        let (mut events, mut fixes) = (Vec::new(), Vec::new());
        let place_of = |asset: &AssetId| self.assets.get(asset).copied().unwrap_or(u32::MAX);
        for (number, shard) in self.shards.iter_mut().enumerate() {
            let outcome = shard.from.recv().expect("a thread answers every batch");
            shard.assets = outcome.assets;
            for (place, event) in outcome.events {
                let asset = event.body.asset.as_ref().map_or(u32::MAX, place_of);
                events.push(((place, asset), number, event));
            }
            for (place, fix) in outcome.fixes {
                fixes.push(((place, place_of(&fix.asset)), fix));
            }
        }
        events.sort_by_key(|(place, ..)| *place);
        fixes.sort_by_key(|(place, _)| *place);
        step.fixes.extend(fixes.into_iter().map(|(_, fix)| fix));
        for (_, shard, event) in events {
            step.events.push(self.merger.number(shard, event));
        }
    }
}

impl Shard {
    fn begin(engine: Engine) -> Self {
        let (to, batches) = sync_channel(BATCHES_MAX);
        let (outcomes, from) = sync_channel(BATCHES_MAX);
        let thread = thread::spawn(move || decide(engine, &batches, &outcomes));
        Self { to, from, thread, next: Batch::new(), assets: 0 }
    }
}

/// One thread: what comes of each batch, until there are no more.
fn decide(
    mut engine: Engine,
    batches: &Receiver<Batch>,
    outcomes: &SyncSender<Outcome>,
) -> Counters {
    for batch in batches {
        let mut outcome = Outcome::default();
        for (input, item) in batch {
            let at = match item {
                Item::Record { at, .. }
                | Item::Bytes { at, .. }
                | Item::End { at, .. }
                | Item::Tick { at } => at,
            };
            fire_before(&mut engine, input, at, &mut outcome);
            let step = match item {
                Item::Record { source, at, record } => {
                    engine.step(Input::Record { source, at, record })
                }
                Item::Bytes { source, at, bytes } => {
                    engine.step(Input::Bytes { source, at, bytes: &bytes })
                }
                Item::End { source, at } => engine.step(Input::End { source, at }),
                Item::Tick { .. } => continue,
            };
            outcome.add((input, OWN), step);
        }
        outcome.assets = engine.assets();
        if outcomes.send(outcome).is_err() {
            break;
        }
    }
    engine.counters()
}

/// What an input's clock releases comes before what it decides itself.
fn fire_before(engine: &mut Engine, input: u32, at: BootTime, outcome: &mut Outcome) {
    while let Some(wake) = engine.next_deadline() {
        let deadline = wake - WAKE_LAG;
        if deadline >= at {
            return;
        }
        // Deadlines up to this one: those of one moment stand in the order of their assets.
        let step = engine.step(Input::Wake { now: wake });
        outcome.add((input, deadline), step);
        if engine.next_deadline() == Some(wake) {
            // At the end of time a wake-up cannot come after its deadline; the input will.
            return;
        }
    }
}

impl Outcome {
    fn add(&mut self, place: Place, step: Step) {
        self.events.extend(step.events.into_iter().map(|event| (place, event)));
        self.fixes.extend(step.fixes.into_iter().map(|fix| (place, fix)));
    }
}

/// Numbers events as one engine would.
struct Merger {
    stream: StreamId,
    next: u64,
    /// Names of open visits: by thread, as its engine calls it, and as it is called outside.
    visits: HashMap<(usize, String), String>,
}

impl Merger {
    fn new() -> Self {
        let stream = StreamId::new("replay").expect("a valid id");
        Self { stream, next: 1, visits: HashMap::new() }
    }

    /// A visit bears the id of the event that opened it.
    fn number(&mut self, shard: usize, mut event: Event) -> Event {
        (event.seq, self.next) = (self.next, self.next + 1);
        event.id = Event::id_of(&self.stream, event.kind.lane(), event.seq);
        if let Some(own) = event.body.visit.take() {
            let key = (shard, own);
            let name = match event.body.inside {
                Some(true) => {
                    self.visits.insert(key, event.id.clone());
                    event.id.clone()
                }
                Some(false) => self.visits.remove(&key).expect("a visit ends once, and began"),
                None => self.visits.get(&key).expect("a visit is open").clone(),
            };
            event.body.visit = Some(name);
        }
        event
    }
}

#[cfg(test)]
mod tests;
