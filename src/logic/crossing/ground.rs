//! The zones in force with their effective rules, and the index that finds them.
//!
//! Always holds: zones are ordered by (layer, zone) and known by their place in that order.
//! Does not know: assets.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::observe::Margins;
use crate::logic::config::Decide;
use crate::logic::geometry::{Index, Located};
use crate::logic::zones::{Layer, Zone};
use crate::units::{LayerId, Position, Span, ZoneId, ZoneKey};

/// What a zone asks for: votes, and the time that they span.
pub type Asked = (u8, Span);

/// One zone in force.
#[derive(Debug)]
pub struct ActiveZone {
    /// (layer, zone).
    pub key: ZoneKey,
    /// Place of its layer in [`Ground::layers`].
    pub layer: usize,
    content: Arc<Layer>,
    at: usize,
    /// OBS-1 distances.
    pub margins: Margins,
    /// Agreeing fixes needed.
    pub confirm: u8,
    /// Which must span this long.
    pub confirm_for: Span,
    /// The layer generation that brought this shape (PAIR-6).
    pub since: u64,
    /// Hash of the rules in effect.
    pub rules: String,
}

impl ActiveZone {
    /// The zone as read.
    pub fn zone(&self) -> &Zone {
        &self.content.zones[self.at]
    }
    /// What it asks for.
    pub fn asked(&self) -> Asked {
        (self.confirm, self.confirm_for)
    }
    /// Its shape's fingerprint as rows and events carry it.
    pub fn shape(&self) -> String {
        self.zone().fingerprint.to_string()
    }
}

/// One layer in force.
#[derive(Debug, Clone)]
pub struct ActiveLayer {
    /// Its id.
    pub id: LayerId,
    /// Its version.
    pub version: u64,
    /// Counts activations of this layer in this store; unlike a version it never repeats.
    pub generation: u64,
}

/// A layer to put in force: its content, its generation and the generation of each shape.
#[derive(Debug, Clone)]
pub struct Activation {
    /// The checked content.
    pub layer: Arc<Layer>,
    /// Counts activations.
    pub generation: u64,
    /// Per zone of the layer, in its order: the generation that brought its shape.
    pub since: Vec<u64>,
}

/// All zones in force.
#[derive(Debug)]
pub struct Ground {
    zones: Vec<ActiveZone>,
    layers: Vec<ActiveLayer>,
    index: Index,
    exit_max_m: f64,
    accuracy_cap_m: f64,
    detects_passes: bool,
    asked: Vec<Asked>,
    alike: Vec<Alike>,
}

/// Zones of one layer that came together and ask for the same.
#[derive(Clone, Copy, Debug)]
pub struct Alike {
    /// Place of the layer in [`Ground::layers`].
    pub layer: usize,
    /// The layer generation that brought their shapes (PAIR-6).
    pub since: u64,
    /// What they ask for.
    pub asked: Asked,
    /// How many.
    pub zones: u32,
}

impl Ground {
    /// Puts layers in force under the rules of `[decide]`.
    pub fn new(decide: &Decide, activations: &[Activation]) -> Self {
        let mut layers = Vec::new();
        let mut zones = Vec::new();
        let mut sorted: Vec<&Activation> = activations.iter().collect();
        sorted.sort_by(|a, b| a.layer.id.cmp(&b.layer.id));
        for (place, activation) in sorted.into_iter().enumerate() {
            let layer = &activation.layer;
            layers.push(ActiveLayer {
                id: layer.id.clone(),
                version: layer.version,
                generation: activation.generation,
            });
            for (at, since) in activation.since.iter().enumerate() {
                zones.push(activate(decide, layer, place, at, *since));
            }
        }
        zones.sort_by(|a: &ActiveZone, b| a.key.cmp(&b.key));
        let exit_max_m =
            zones.iter().map(|z| z.margins.exit_m).fold(decide.exit_margin_m, f64::max);
        let mut alike = BTreeMap::new();
        for zone in &zones {
            *alike.entry((zone.asked(), zone.layer, zone.since)).or_default() += 1;
        }
        let alike = alike.into_iter();
        let alike: Vec<Alike> = alike
            .map(|((asked, layer, since), zones)| Alike { layer, since, asked, zones })
            .collect();
        let mut asked: Vec<Asked> = alike.iter().map(|alike| alike.asked).collect();
        asked.dedup();
        let index = Index::build(zones.iter().map(|z| z.zone().shape.bounds()));
        Self {
            detects_passes: zones.iter().any(|z| z.zone().rules.detect_pass),
            asked,
            alike,
            accuracy_cap_m: decide.accuracy_cap_m,
            zones,
            layers,
            index,
            exit_max_m,
        }
    }

    /// All zones, ordered by (layer, zone).
    pub fn zones(&self) -> &[ActiveZone] {
        &self.zones
    }
    /// One zone.
    pub fn zone(&self, ix: u32) -> &ActiveZone {
        &self.zones[ix as usize]
    }
    /// All layers, ordered by id.
    pub fn layers(&self) -> &[ActiveLayer] {
        &self.layers
    }
    /// The place of a zone.
    pub fn find(&self, layer: &LayerId, zone: &ZoneId) -> Option<u32> {
        let wanted = (layer, zone);
        let found = self.zones.binary_search_by(|z| (&z.key.layer, &z.key.zone).cmp(&wanted));
        found.ok().map(|ix| ix as u32)
    }
    /// Farther outside than this every zone sees an outside vote by at least u.
    pub fn reach_m(&self, accuracy_m: f64) -> f64 {
        let vote = self.exit_max_m + 2.0 * accuracy_m.min(self.accuracy_cap_m);
        vote.max(2.0 * accuracy_m)
    }
    /// Candidates whose bounds come within `reach_m`, in ascending order.
    pub fn near(&self, position: Position, reach_m: f64, out: &mut Vec<u32>) {
        self.index.near(position, reach_m, out);
    }
    /// Candidates whose bounds the straight line touches, in ascending order.
    pub fn along(&self, from: Position, to: Position, out: &mut Vec<u32>) {
        self.index.along(from, to, out);
    }
    /// Where a position lies with regard to one zone.
    pub fn locate(&self, ix: u32, position: Position) -> Located {
        self.zone(ix).zone().shape.locate(position)
    }
    /// Every combination of `confirm` and `confirm_for` that a zone in force asks for.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }
    /// All zones, counted by what a first evaluation tells apart.
    pub fn alike(&self) -> &[Alike] {
        &self.alike
    }
    /// Whether any zone in force asks for passes.
    pub fn detects_passes(&self) -> bool {
        self.detects_passes
    }
}

fn activate(
    decide: &Decide,
    layer: &Arc<Layer>,
    place: usize,
    at: usize,
    since: u64,
) -> ActiveZone {
    let zone = &layer.zones[at];
    let own = &zone.rules;
    let margins = Margins {
        enter_m: own.enter_margin_m.unwrap_or(decide.enter_margin_m),
        exit_m: own.exit_margin_m.unwrap_or(decide.exit_margin_m),
        accuracy_cap_m: decide.accuracy_cap_m,
    };
    let confirm = own.confirm.unwrap_or(decide.confirm);
    let confirm_for = own.confirm_for.unwrap_or(decide.confirm_for);
    ActiveZone {
        key: ZoneKey { layer: layer.id.clone(), zone: zone.id.clone() },
        layer: place,
        margins,
        confirm,
        confirm_for,
        since,
        rules: rules_hash(&(margins, confirm, confirm_for, own.dwell, own.detect_pass), decide),
        content: Arc::clone(layer),
        at,
    }
}

/// A short name for the rules in effect: equal rules, equal name, on every machine.
fn rules_hash(own: &impl std::fmt::Debug, decide: &Decide) -> String {
    let text = format!(
        "{own:?} {:?}",
        (
            decide.max_accuracy_m,
            decide.range_error_m,
            decide.max_speed_mps,
            decide.vote_timeout,
            decide.stale_after,
            decide.infer_limit
        )
    );
    format!("{:016x}", crate::logic::hash::short(text.as_bytes()))
}
