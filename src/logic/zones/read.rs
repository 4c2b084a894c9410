//! GeoJSON text to a checked [`Layer`]: the collection and its `geofenced` member.
//!
//! Always holds: one feature is taken apart at a time, so reading costs little more than the
//! text and the layer; every list and depth has a bound.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::fault::{Fault, Repair, too_many};
use super::feature::{self, Findings};
use super::{Layer, Zone};
use crate::logic::config::Decide;
use crate::units::{EventTime, LayerId, ZoneId};

/// The largest layer in bytes: a country's municipalities at full detail, and what a gateway
/// with 256 MB can read beside its work. Nesting is bounded by the JSON reader, at 128.
pub const LAYER_BYTES_MAX: usize = 32 << 20;
/// The most zones in a layer: the index and the pairs of one vehicle stay small.
pub const ZONES_MAX: usize = 100_000;
/// The most vertices in a layer: 16 MB of them in memory.
pub const LAYER_VERTICES_MAX: usize = 2_000_000;
/// Faults listed before reading stops: more than anybody mends at once.
pub const FAULTS_MAX: usize = 1_000;
/// The greatest version: beyond it JSON readers lose digits (2^53 − 1).
pub const VERSION_MAX: u64 = (1 << 53) - 1;

/// A layer that passed, and what was put right.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The layer.
    pub layer: Layer,
    /// Slips that were repaired and things worth knowing.
    pub repairs: Vec<Repair>,
}

#[derive(Deserialize)]
struct Collection<'a> {
    #[serde(rename = "type", default)]
    kind: Value,
    #[serde(borrow, default)]
    features: Option<Vec<&'a RawValue>>,
    #[serde(default)]
    geofenced: Value,
}

/// Reads and checks a layer; `defaults` are the rules that hold where a zone has none.
pub fn parse_layer(bytes: &[u8], defaults: &Decide) -> Result<Checked, Vec<Fault>> {
    let collection = collection(bytes).map_err(|reason| vec![Fault::of_layer(reason)])?;
    let mut findings = Findings { defaults, faults: Vec::new(), repairs: Vec::new() };
    let header = header(&collection, &mut findings);
    let features = collection.features.unwrap_or_default();
    let zones = if features.len() > ZONES_MAX {
        let reason = too_many(features.len(), "zones", ZONES_MAX);
        findings.faults.push(Fault::of_layer(format!("the layer {reason}")));
        Vec::new()
    } else {
        zones(&features, &mut findings)
    };
    match header {
        Some((id, version, created)) if findings.faults.is_empty() => {
            let layer = Layer { id, version, created, zones };
            Ok(Checked { layer, repairs: findings.repairs })
        }
        _ => Err(findings.faults),
    }
}

fn collection(bytes: &[u8]) -> Result<Collection<'_>, String> {
    if bytes.len() > LAYER_BYTES_MAX {
        return Err(format!(
            "the layer has {} bytes; the limit is {LAYER_BYTES_MAX}: simplify it or cut it in layers",
            bytes.len()
        ));
    }
    // Windows tools put a byte order mark before UTF-8; JSON has none.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let found: Collection<'_> =
        serde_json::from_slice(bytes).map_err(|e| format!("not valid GeoJSON: {e}"))?;
    let object = bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
    if object && found.kind.as_str() == Some("FeatureCollection") {
        return Ok(found);
    }
    let kind: String = found.kind.to_string().chars().take(40).collect();
    Err(format!(
        "a layer is a GeoJSON object of type \"FeatureCollection\"; this one's type is {kind}"
    ))
}

type Header = (LayerId, u64, Option<EventTime>);

/// The `geofenced` member: which layer this is.
fn header(collection: &Collection<'_>, findings: &mut Findings<'_>) -> Option<Header> {
    let mut refuse = |reason: String| findings.faults.push(Fault::of_layer(reason));
    if collection.features.is_none() {
        refuse("the collection has no `features`".to_owned());
    }
    let Value::Object(member) = &collection.geofenced else {
        refuse(
            "the collection has no `geofenced` member; add \"geofenced\": {\"layer\": \"depots\", \"version\": 1}"
                .to_owned(),
        );
        return None;
    };
    let layer = match member.get("layer") {
        Some(Value::String(text)) => {
            LayerId::new(text).map_err(|e| format!("`geofenced.layer`: {e}"))
        }
        _ => Err("`geofenced.layer` must be the layer's name, such as \"depots\"".to_owned()),
    };
    let version =
        member.get("version").and_then(Value::as_u64).filter(|v| *v <= VERSION_MAX).ok_or(
            "`geofenced.version` must be a whole number that grows with each version".to_owned(),
        );
    let created = match member.get("created") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            text.parse().map(Some).map_err(|e| format!("`geofenced.created`: {e}"))
        }
        Some(_) => {
            Err("`geofenced.created` must be a time such as \"2026-11-30T12:00:00Z\"".to_owned())
        }
    };
    for key in member.keys().filter(|k| !["layer", "version", "created"].contains(&k.as_str())) {
        let key: String = key.chars().take(40).collect();
        let what = format!(
            "`geofenced.{key}` is not known and was ignored; known are layer, version, created"
        );
        findings.repairs.push(Repair { place: super::Place::default(), what });
    }
    let layer = layer.map_err(&mut refuse).ok();
    let version = version.map_err(&mut refuse).ok();
    let created = created.map_err(&mut refuse).ok();
    Some((layer?, version?, created?))
}

fn zones(features: &[&RawValue], findings: &mut Findings<'_>) -> Vec<Zone> {
    let mut zones: Vec<Zone> = Vec::with_capacity(features.len());
    let mut first: HashMap<ZoneId, usize> = HashMap::new();
    let mut vertices = 0;
    for (i, raw) in features.iter().enumerate() {
        if findings.faults.len() >= FAULTS_MAX {
            findings.faults.truncate(FAULTS_MAX);
            let reason =
                format!("listing stops at {FAULTS_MAX} faults; features from {i} on unread");
            findings.faults.push(Fault::of_layer(reason));
            break;
        }
        let Some(zone) = feature::zone(raw, i, findings) else { continue };
        if let Some(before) = first.insert(zone.id.clone(), i) {
            let place = super::Place {
                feature: Some(i),
                zone: Some(zone.id.to_string()),
                ..Default::default()
            };
            let reason = format!("feature {before} has the same id; give each zone one of its own");
            findings.faults.push(Fault { place, reason });
        }
        vertices += zone.shape.vertices();
        if vertices > LAYER_VERTICES_MAX {
            let reason = too_many(vertices, "vertices or more", LAYER_VERTICES_MAX);
            findings.faults.push(Fault::of_layer(format!("the layer {reason}")));
            break;
        }
        zones.push(zone);
    }
    zones
}
