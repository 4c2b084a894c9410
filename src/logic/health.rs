//! Counters and the one Status snapshot, which feeds `status`, its `--json` and the control API.
//!
//! Always holds: every drop has a counter here; every problem ends with what to do.
//! Does not know: how it is shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::logic::event::{Event, Place, TimeQuality};
use crate::logic::gnss::Reject;
use crate::logic::gnss::trust::TrustCounters;
use crate::logic::latency::HistogramStatus;
use crate::logic::latency::LatencyStatus;
use crate::units::EventTime;

/// What the pipeline has counted since it started.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    /// Checked sentences.
    pub sentences: u64,
    /// Measurements merged from them, or records read.
    pub epochs: u64,
    /// Fixes that were usable.
    pub fixes: u64,
    /// Everything that was not used, by reason.
    pub rejects: BTreeMap<Reject, u64>,
    /// Fixes stamped with the estimate because they were ahead of it (TIME-3).
    pub clamped: u64,
    /// Fixes dated by boot time (TIME-6).
    pub restamped: u64,
    /// Steps of a receiver's clock that were adopted (TIME-4).
    pub stepped: u64,
    /// Times that an era was added to (TIME-2).
    pub rollover: u64,
    /// Floors that a right receiver proved wrong (TIME-2).
    pub floor_conflict: u64,
    /// Fixes that were kept until there was a time for them (TIME-6).
    pub held: u64,
    /// Memberships that changed.
    pub transitions: u64,
    /// Votes that were cast and dropped again: by a fix that disagreed, or by time.
    pub reversals: u64,
    /// Times that another source took over an asset's vote (ORD-4).
    pub takeovers: u64,
    /// Bytes chunks that a source lost because the loop was behind.
    pub chunks_lost: u64,
    /// Checkpoints that a start found and did not go on with (STO-3).
    pub checkpoints_ignored: u64,
}

impl Counters {
    /// Counts one reject.
    pub fn reject(&mut self, reason: Reject) {
        self.reject_many(reason, 1);
    }
    /// Counts some of one reason.
    pub fn reject_many(&mut self, reason: Reject, n: u64) {
        if n > 0 {
            *self.rejects.entry(reason).or_default() += n;
        }
    }
    /// Adds what is counted by source.
    pub fn add(&mut self, source: &Self) {
        self.sentences += source.sentences;
        self.epochs += source.epochs;
        self.fixes += source.fixes;
        source.rejects.iter().for_each(|(reason, n)| self.reject_many(*reason, *n));
    }
    /// Adds what a source's clock counted, but for its rejects.
    pub fn add_trust(&mut self, own: &TrustCounters) {
        self.clamped += own.clamped;
        self.restamped += own.restamped;
        self.stepped += own.stepped;
        self.rollover += own.rollover;
        self.floor_conflict += own.floor_conflict;
        self.held += own.held;
    }
    /// Lines that were none: where most are, something garbles them.
    pub fn broken(&self) -> u64 {
        let framing = [Reject::Noise, Reject::Overlong, Reject::Checksum, Reject::NoChecksum];
        framing.into_iter().map(|reason| self.rejected(reason)).sum()
    }
    /// How often `reason` was counted.
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.rejects.get(&reason).copied().unwrap_or(0)
    }
}

/// How the gateway does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Everything works.
    #[default]
    Ready,
    /// It works, and something needs attention.
    Degraded,
}

/// Something that needs attention, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to try.
    pub attempt: String,
}

/// What waits at this moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Gauges {
    /// Fixes kept until there is a time for them (TIME-6).
    pub held: u64,
    /// Fixes that wait in order, over all assets.
    pub waiting: u64,
    /// The most that ever did.
    pub waiting_max: u64,
    /// The newest waiting fix's event time less the watermark's, of the asset where it is most.
    pub watermark_lag_s: f64,
    /// Pairs of an asset and a zone that are in memory.
    pub live_pairs: u64,
    /// Those of them at which a vote is running: entering or exiting.
    pub pending_pairs: u64,
    /// How long those votes have been running; none longer than a vote stands (PAIR-1).
    pub pending_age: HistogramStatus,
    /// Assets that have been silent for longer than their limit (PAIR-5).
    pub stale_assets: u64,
    /// Assets that are in memory.
    pub assets_in_memory: u64,
    /// Assets that are only in the store: they come back when they are heard.
    pub assets_in_store: u64,
}

/// How a source does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Not open; see `why`.
    #[default]
    Closed,
    /// Open, but nothing has come for `silence_after`.
    Silent,
    /// More lines are broken than whole.
    Garbled,
    /// The only one of its assets.
    Up,
    /// The one of several that votes (ORD-4).
    Voting,
    /// One of several that does not.
    Standby,
}

impl SourceState {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::Garbled => "garbled",
            Self::Up => "up",
            Self::Voting => "voting",
            Self::Standby => "standby",
        }
    }
}

/// One receiver as `status` shows it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceStatus {
    /// Its name.
    pub name: String,
    /// serial, file, …
    pub kind: String,
    /// Where it reads.
    pub path: String,
    /// Whether it is open.
    pub up: bool,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How it is open: the rate that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Seconds since its last bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard_s_ago: Option<f64>,
    /// How it does.
    pub state: SourceState,
    /// Its place among the sources of its asset; 1 is best (ORD-4).
    pub rank: u8,
    /// Checked sentences.
    pub sentences: u64,
    /// Measurements merged from them, or records read.
    pub epochs: u64,
    /// Fixes that were usable.
    pub fixes: u64,
    /// Measurements a second, over its last ten seconds or last two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_hz: Option<f64>,
    /// Everything of it that was not used, by reason.
    pub rejects: BTreeMap<Reject, u64>,
}

/// A zone that an asset is in.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct InsideStatus {
    /// `layer/zone`.
    pub zone: String,
    /// The visit.
    pub visit: String,
    /// When it began: the moment, or the fix that confirmed it.
    pub since: EventTime,
    /// Whether `fence_dwell` was sent.
    pub dwell_sent: bool,
}

/// A vote that is running.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VoteStatus {
    /// `layer/zone`.
    pub zone: String,
    /// Whether the votes are for inside.
    pub entering: bool,
    /// How many.
    pub votes: u8,
    /// How many are needed.
    pub needed: u8,
    /// When the first was cast.
    pub first: EventTime,
    /// When they lapse.
    pub lapses: EventTime,
}

/// One asset as `status` shows it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AssetStatus {
    /// Its id.
    pub asset: String,
    /// The last usable measured fix.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub position: Option<Place>,
    /// Speed over ground then.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub speed_mps: Option<f64>,
    /// Its event time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time: Option<EventTime>,
    /// Where that time comes from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_quality: Option<TimeQuality>,
    /// Seconds since it arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub heard_s_ago: Option<f64>,
    /// Silent for longer than its limit (PAIR-5).
    pub stale: bool,
    /// Pairs that are kept.
    pub live_pairs: u32,
    /// Zones it is in.
    pub inside: Vec<InsideStatus>,
    /// Votes that are running.
    pub votes: Vec<VoteStatus>,
    /// Whether its first evaluation is pending.
    pub evaluating: bool,
}

/// One layer in force.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LayerStatus {
    /// Its id.
    pub layer: String,
    /// Its version.
    pub version: u64,
    /// How many zones it has.
    pub zones: u32,
}

/// How events do.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct EventsStatus {
    /// Numbered so far, in the life of the stream.
    pub decided: u64,
    /// Committed and not yet acknowledged.
    pub waiting: u64,
    /// Seconds the oldest of them has waited, by the system clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_s: Option<f64>,
    /// Never to be delivered.
    pub lost: u64,
    /// Refused by the server one by one.
    pub dead_lettered: u64,
    /// The newest committed event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Box<Event>>,
    /// Whether that one has been acknowledged.
    pub last_acknowledged: bool,
}

/// How delivery does.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct UplinkStatus {
    /// https, none.
    pub kind: String,
    /// Where to.
    pub target: String,
    /// Seconds since the last acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ok_s_ago: Option<f64>,
    /// Seconds to the next try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_try_s: Option<f64>,
    /// The last failure, while it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How the store and its disk do.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StoreStatus {
    /// Where it is.
    pub path: String,
    /// Its stream.
    pub stream: String,
    /// Bytes of the spool.
    pub spool_bytes: u64,
    /// Its bound.
    pub spool_max_bytes: u64,
    /// Transactions since the start.
    pub commits: u64,
    /// Bytes written since the start, as far as SQLite tells.
    pub written_bytes: u64,
    /// fsyncs since the start.
    pub fsyncs: u64,
    /// The slowest transaction.
    pub slowest_commit_s: f64,
    /// The last failure, while it lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How the record on the disk does.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordStatus {
    /// Where its segments are.
    pub dir: String,
    /// How many, those of earlier runs included.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their bound.
    pub max_bytes: u64,
    /// Entries since the start that queue or disk did not take.
    pub dropped: u64,
    /// Seconds since the queue was full last: the disk did not keep up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind_s_ago: Option<f64>,
    /// What the disk refuses, while it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Problem>,
}

/// Everything `status` shows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Of the software.
    pub version: String,
    /// The gateway's id.
    pub gateway: String,
    /// Worst first.
    pub state: State,
    /// Seconds since the daemon started.
    pub up_s: f64,
    /// Seconds since the kernel started.
    pub boot_s: f64,
    /// Why the daemon started last.
    pub start_cause: String,
    /// How long nothing ran before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down_s: Option<f64>,
    /// What needs attention.
    pub problems: Vec<Problem>,
    /// Receivers.
    pub sources: Vec<SourceStatus>,
    /// Assets.
    pub assets: Vec<AssetStatus>,
    /// Layers in force.
    pub layers: Vec<LayerStatus>,
    /// What the pipeline counted.
    pub counters: Counters,
    /// What waits in it.
    pub gauges: Gauges,
    /// How long fixes take.
    pub latency: LatencyStatus,
    /// Events.
    pub events: EventsStatus,
    /// Delivery.
    pub uplink: UplinkStatus,
    /// Store and flash.
    pub store: StoreStatus,
    /// The record on the disk, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<RecordStatus>,
    /// Resident memory of the daemon.
    pub memory_bytes: u64,
}

impl Status {
    /// Derives the state from the problems.
    pub fn settle(&mut self) {
        self.state = if self.problems.is_empty() { State::Ready } else { State::Degraded };
    }
}
