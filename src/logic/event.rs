//! The wire contract: one durable record for the server, and its flat JSON (DESIGN §7).
//!
//! Always holds: an event changes membership iff it has `inside` (INV-1); what does not apply is
//! left out; an event is never amended once numbered.
//! Does not know: how events are decided, stored or sent.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::units::{AssetId, EventTime, GatewayId, LayerId, Position, StreamId, WallTime, ZoneId};

/// What happened. The `fence_*` names are the field's own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The asset came into the zone.
    FenceEntry,
    /// The asset left the zone.
    FenceExit,
    /// The side changed somewhere in a silence too long to name a moment (BRK-1).
    FenceTransitionUncertain,
    /// The first evaluation found the asset inside: never an entry (PAIR-6).
    FenceInitialised,
    /// The visit has lasted the zone's `dwell`.
    FenceDwell,
    /// The path crossed the zone with too few fixes inside for an entry.
    FencePassed,
    /// The zone was removed, or redrawn so that the asset is no longer inside.
    FenceRetired,
    /// The zone's shape changed with the asset inside both: the visit goes on.
    FenceRedrawn,
    /// The daemon started: why, down for how long, on which boot.
    GatewayStarted,
    /// Once per asset per start: what was believed and what the first fixes made of it.
    AssetReconciled,
    /// The full set of zones an asset is in; replaces what the server believed.
    MembershipSnapshot,
    /// Exact ranges that will never be delivered, and why (DEL-1).
    EventsLost,
    /// A layer version took effect.
    LayerActivated,
    /// A layer failed its checks; the one before it stays (INV-8).
    LayerRefused,
    /// A config failed its checks; the last good one runs (STO-6).
    ConfigRefused,
    /// Telemetry: the asset has been silent longer than its limit.
    AssetStale,
    /// Telemetry: the asset is heard again.
    AssetRecovered,
    /// Telemetry: a fix at or before the watermark (ORD-2).
    LateFix,
    /// Telemetry: the day's counters.
    GatewayHealth,
}

/// The two numbered sequences of a store (DEL-1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Lane {
    /// What changes memberships, and what explains it.
    Events,
    /// Low priority: waits, and goes first when space runs out.
    Telemetry,
}

impl Kind {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FenceEntry => "fence_entry",
            Self::FenceExit => "fence_exit",
            Self::FenceTransitionUncertain => "fence_transition_uncertain",
            Self::FenceInitialised => "fence_initialised",
            Self::FenceDwell => "fence_dwell",
            Self::FencePassed => "fence_passed",
            Self::FenceRetired => "fence_retired",
            Self::FenceRedrawn => "fence_redrawn",
            Self::GatewayStarted => "gateway_started",
            Self::AssetReconciled => "asset_reconciled",
            Self::MembershipSnapshot => "membership_snapshot",
            Self::EventsLost => "events_lost",
            Self::LayerActivated => "layer_activated",
            Self::LayerRefused => "layer_refused",
            Self::ConfigRefused => "config_refused",
            Self::AssetStale => "asset_stale",
            Self::AssetRecovered => "asset_recovered",
            Self::LateFix => "late_fix",
            Self::GatewayHealth => "gateway_health",
        }
    }

    /// Which stream numbers it.
    pub const fn lane(self) -> Lane {
        match self {
            Self::AssetStale | Self::AssetRecovered | Self::LateFix | Self::GatewayHealth => {
                Lane::Telemetry
            }
            _ => Lane::Events,
        }
    }
}

/// How well the moment of a crossing is known (BRK-1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Seen without a silence or a restart in the bracket.
    Observed,
    /// A restart or a silence lies in the bracket, none longer than `infer_limit`.
    Inferred,
    /// The silence is too long to name a moment.
    Uncertain,
}

/// Where an event's time comes from (TIME-7), best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeQuality {
    /// As the receiver sent it, with its own date.
    Gnss,
    /// Era added, stamped from boot time, or dated by the system clock.
    Corrected,
    /// Ahead of the estimate, pulled back to it.
    Clamped,
}

/// Why nothing was heard for a while (BRK-2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GapCause {
    /// The daemon stopped and started on one boot.
    Restart,
    /// The kernel booted in between.
    Power,
    /// The gateway was suspended.
    Suspend,
    /// The receiver said nothing usable.
    Silence,
}

/// The longest silence in a bracket, or the restart that lies there (BRK-2).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// Why.
    pub cause: GapCause,
    /// The last time the asset was heard before it.
    pub from: EventTime,
    /// The first time it was heard after it.
    pub to: EventTime,
    /// Kernel boot in event time, where that is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub powered_from: Option<EventTime>,
}

/// When the visit that an exit ends began.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entered {
    /// The moment of entry, where it is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at: Option<EventTime>,
    /// Entry cannot have been before this; unknown for a visit found by a first evaluation.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_before: Option<EventTime>,
    /// Entry cannot have been after this.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_after: Option<EventTime>,
}

/// The fix that committed an event.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Degrees north.
    pub lat: f64,
    /// Degrees east.
    pub lon: f64,
    /// 68 % radius.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accuracy_m: Option<f64>,
}

impl Place {
    /// A position rounded to the 1e-7° (11 mm) that layers and receivers resolve.
    pub fn new(position: Position, accuracy_m: Option<f64>) -> Self {
        let e7 = |deg: f64| (deg * 1e7).round() / 1e7;
        Self {
            lat: e7(position.lat_deg()),
            lon: e7(position.lon_deg()),
            accuracy_m: accuracy_m.map(|m| (m * 100.0).round() / 100.0),
        }
    }
}

/// Why the daemon started, on a `gateway_started`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Start {
    /// `first`, `clean`, `crash`, `watchdog`, `power`, …
    pub cause: String,
    /// How long nothing ran, where the clocks can tell.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub down_s: Option<f64>,
    /// Whether the kernel has been up since the last run.
    pub same_boot: bool,
    /// The layers in force, as `layer: version`.
    pub layers: Map<String, Value>,
}

/// What the first fixes after a start made of what was believed, on an `asset_reconciled`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reconciled {
    /// Silence before the first fix of this start; absent for an asset never heard before.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub silence_s: Option<f64>,
    /// `layer/zone` of every zone that was believed inside at the start.
    pub believed_inside: Vec<String>,
    /// Crossings named with certainty `inferred`.
    pub inferred: u32,
    /// Crossings named `fence_transition_uncertain`.
    pub uncertain: u32,
    /// First evaluations that found the asset inside.
    pub initialised_inside: u32,
    /// First evaluations that found it outside: counted, not sent.
    pub initialised_outside: u32,
}

/// One membership in a `membership_snapshot`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SnapshotZone {
    /// The layer.
    pub layer: LayerId,
    /// The zone.
    pub zone: ZoneId,
    /// The visit, which is the id of the event that opened it.
    pub visit: String,
}

/// A range that will never be delivered, on an `events_lost`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Lost {
    /// `telemetry` where it is not the events' own stream.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub stream: Option<String>,
    /// First and last seq of each lost range.
    pub ranges: Vec<(u64, u64)>,
    /// `quota`, `age`, `disk`, `dead_letter` or `state_lost`.
    pub reason: String,
}

/// One event: the flat record that `replay --format jsonl` and `events --json` print.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Event {
    /// Its number in its stream: no holes, never reused (INV-3).
    pub seq: u64,
    /// `<stream>-<seq>`, or `<stream>-telemetry-<seq>`.
    pub id: String,
    /// What happened.
    pub kind: Kind,
    /// The gateway that decided it.
    pub gateway: GatewayId,
    /// Everything else, which depends on the kind.
    #[serde(flatten)]
    pub body: Body,
}

/// What an event says beside its number. Every field is left out where it does not apply.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Body {
    /// Whom it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<AssetId>,
    /// The zone's layer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<LayerId>,
    /// The zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneId>,
    /// The zone's name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone_name: Option<String>,
    /// The layer version in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer_version: Option<u64>,
    /// Fingerprint of the zone's shape (LAY-1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
    /// The membership from here on. Present iff the event changes it (INV-1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<bool>,
    /// The moment itself, where it can be named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<EventTime>,
    /// The crossing cannot have been before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<EventTime>,
    /// The crossing cannot have been after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<EventTime>,
    /// The fix that decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirmed_at: Option<EventTime>,
    /// How well the moment is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certainty: Option<Certainty>,
    /// Why, where the kind alone does not say: `first_install`, `layer`, `state_lost`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The silence or restart in the bracket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// The visit it opens, belongs to or ends: the id of the opening event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub visit: Option<String>,
    /// When the visit began, on what ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entered: Option<Entered>,
    /// Length of the visit, where both moments are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// The visit cannot have been shorter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s_min: Option<f64>,
    /// The visit cannot have been longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_s_max: Option<f64>,
    /// The fix that decided it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<Place>,
    /// Where the boundary was crossed, where `at` is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crossing: Option<Place>,
    /// Speed of the deciding fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
    /// Course over ground of the deciding fix, degrees from north.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heading_deg: Option<f64>,
    /// How many fixes voted for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixes: Option<u32>,
    /// Where its times come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_quality: Option<TimeQuality>,
    /// The system clock when it was committed. A hint: it may be wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<WallTime>,
    /// Hash of the rules in effect for the zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<String>,
    /// Name and version of what decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub software: Option<String>,
    /// The zone's own tags, untouched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Map<String, Value>>,
    /// On `gateway_started`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Start>,
    /// On `asset_reconciled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconciled: Option<Reconciled>,
    /// On `membership_snapshot`: the full set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<SnapshotZone>>,
    /// On `events_lost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Lost>,
    /// On `late_fix`: how far behind the last released fix it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_s: Option<f64>,
    /// On `asset_stale` and `asset_recovered`: how long the asset was silent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence_s: Option<f64>,
    /// On `gateway_health`: what was counted since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<Map<String, Value>>,
}

impl Event {
    /// The id of number `seq` of a lane of `stream`. The lanes number alike: without a word of
    /// its own telemetry would bear the ids of events, which a server that has seen them drops.
    pub fn id_of(stream: &StreamId, lane: Lane, seq: u64) -> String {
        match lane {
            Lane::Events => format!("{stream}-{seq}"),
            Lane::Telemetry => format!("{stream}-telemetry-{seq}"),
        }
    }

    /// The flat record as one line of JSON, without a line end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an event holds only what JSON can carry")
    }

    /// The time an event is filed under: `at`, else `confirmed_at`.
    pub fn time(&self) -> Option<EventTime> {
        self.body.at.or(self.body.confirmed_at)
    }

    /// The CloudEvents 1.0 envelope around the flat record (DESIGN §7).
    pub fn to_cloudevent(&self) -> Value {
        let mut envelope = Map::new();
        let mut put = |key: &str, value: Value| {
            envelope.insert(key.to_owned(), value);
        };
        put("specversion", "1.0".into());
        put("id", self.id.as_str().into());
        put("source", self.source_uri().into());
        put("type", format!("geofenced.{}.v1", self.kind.name()).into());
        if let (Some(layer), Some(zone)) = (&self.body.layer, &self.body.zone) {
            put("subject", format!("{layer}/{zone}").into());
        }
        if let Some(time) = self.time() {
            put("time", time.to_string().into());
        }
        put("datacontenttype", "application/json".into());
        put("dataschema", DATA_SCHEMA.into());
        put("sequence", format!("{:020}", self.seq).into());
        if let Some(asset) = &self.body.asset {
            put("partitionkey", asset.as_str().into());
        }
        put("data", serde_json::to_value(self).expect("an event is an object"));
        Value::Object(envelope)
    }

    fn source_uri(&self) -> String {
        let gateway = uri_segment(self.gateway.as_str());
        match &self.body.asset {
            Some(asset) => format!("/gateways/{gateway}/assets/{}", uri_segment(asset.as_str())),
            None => format!("/gateways/{gateway}"),
        }
    }
}

/// What stands in a URI as it is (RFC 3986, unreserved).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as one segment of a URI path.
fn uri_segment(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, ESCAPED)
}

/// The shape of `data`; the schema is shipped and tested.
pub const DATA_SCHEMA: &str = "urn:geofenced:event:v1";

/// The JSON Schema of the flat record, as shipped.
pub const SCHEMA: &str = include_str!("event.v1.schema.json");

#[cfg(test)]
mod tests;
