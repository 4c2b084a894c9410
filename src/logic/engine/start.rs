//! From what a store gives back and the layers at hand to an engine that may hear its first fix
//! (STO-4, LAY-1).
//!
//! Always holds: memberships survive for every zone whose shape is the same; a zone that is gone
//! or moved away ends its visit in the same transaction that puts the layer in force.
//! Does not know: where layers were read.

use std::collections::HashMap;
use std::sync::Arc;

use super::durable::{StoredAsset, StoredPair};
use super::{Asset, Ballot, Birth, Engine, emit};
use crate::logic::crossing::asset::{AssetCrossing, Heard, Kept, Visit};
use crate::logic::crossing::ground::{Activation, ActiveZone, Ground};
use crate::logic::crossing::observe::Side;
use crate::logic::crossing::pair::Pair;
use crate::logic::crossing::table::Begun;
use crate::logic::event::{Body, GapCause, Kind, Start};
use crate::logic::group::{LastRun, LayerRow, PairRow, Restored, Rows};
use crate::logic::zones::Layer;
use crate::units::{AssetId, LayerId, Span, ZoneId};

/// What a store remembers of the layers, held against the layers at hand.
#[derive(Default)]
pub(super) struct Plan {
    /// To put in force.
    pub(super) activations: Vec<Activation>,
    /// Rows that changed: these layers are activated.
    pub(super) changed: Vec<LayerRow>,
    /// No longer at hand.
    pub(super) gone: Vec<LayerId>,
    /// Changed although the version did not grow: the layer, the version before, the one now.
    pub(super) not_grown: Vec<(LayerId, u64, u64)>,
}

/// LAY-1: a version touches exactly the zones whose shape changed.
pub(super) fn plan(layers: &[Arc<Layer>], rows: &[LayerRow]) -> Plan {
    let mut plan = Plan::default();
    for layer in layers {
        let row = rows.iter().find(|row| row.layer == layer.id);
        let new = layer_row(layer, row);
        plan.activations.push(Activation {
            layer: Arc::clone(layer),
            generation: new.generation,
            since: new.zones.iter().map(|(_, _, since)| *since).collect(),
        });
        // Not by comparing rows: a store gives a layer's zones back in an order of its own.
        if row.is_none_or(|row| row.generation != new.generation) {
            if let Some(row) = row.filter(|row| row.version >= new.version) {
                plan.not_grown.push((layer.id.clone(), row.version, new.version));
            }
            plan.changed.push(new);
        }
    }
    let at_hand = |id: &LayerId| layers.iter().any(|layer| layer.id == *id);
    plan.gone = rows.iter().map(|r| r.layer.clone()).filter(|id| !at_hand(id)).collect();
    plan
}

/// The row of a layer; its generation grows iff its version or any shape differs from `before`.
fn layer_row(layer: &Layer, before: Option<&LayerRow>) -> LayerRow {
    let known: HashMap<&ZoneId, (&str, u64)> = before
        .iter()
        .flat_map(|row| row.zones.iter())
        .map(|(id, shape, since)| (id, (shape.as_str(), *since)))
        .collect();
    let shapes: Vec<String> = layer.zones.iter().map(|z| z.fingerprint.to_string()).collect();
    let same = layer.zones.len() == known.len()
        && layer
            .zones
            .iter()
            .zip(&shapes)
            .all(|(zone, shape)| known.get(&zone.id).is_some_and(|(old, _)| old == shape));
    let generation = match before {
        Some(row) if same && row.version == layer.version => row.generation,
        Some(row) => row.generation + 1,
        None => 1,
    };
    let since = |zone: &ZoneId, shape: &str| match known.get(zone) {
        Some((old, since)) if *old == shape => *since,
        _ => generation,
    };
    let zones = layer.zones.iter().zip(shapes).map(|(zone, shape)| {
        let since = since(&zone.id, &shape);
        (zone.id.clone(), shape, since)
    });
    LayerRow { layer: layer.id.clone(), version: layer.version, generation, zones: zones.collect() }
}

/// A stored state that cannot be read is our own broken invariant.
pub(super) fn read<T: serde::de::DeserializeOwned>(what: &str, state: &str) -> T {
    serde_json::from_str(state).unwrap_or_else(|error| panic!("stored {what}: {error}: {state}"))
}

impl Engine {
    /// Takes up what the store gave back. Each asset gets its number by its id, whether it is in
    /// memory or was left.
    pub(super) fn take_up(&mut self, restored: Restored, layers_changed: bool) {
        let mut pairs: HashMap<AssetId, Vec<PairRow>> = HashMap::new();
        for row in restored.pairs {
            pairs.entry(row.key.asset.clone()).or_default().push(row);
        }
        // What becomes of those that were left is said in its turn: all pass one by one.
        self.must_pass = layers_changed && !restored.left.is_empty();
        let mut left = restored.left.into_iter().peekable();
        for row in restored.assets {
            let id = &row.asset;
            self.leave_in_store(std::iter::from_fn(|| left.next_if(|other| other < id)));
            let own = pairs.remove(id).unwrap_or_default();
            if self.must_pass {
                self.leave_in_store(std::iter::once(row.asset));
                continue;
            }
            let asset = self.brought_up(Rows { asset: row, pairs: own }, layers_changed);
            self.set_wheel(self.assets.len(), &asset);
            self.add_asset(asset);
        }
        self.leave_in_store(left);
        self.wants_configured = self.lacks_configured().is_some();
        assert!(pairs.is_empty(), "a pair's asset is stored with it (STO-1)");
    }

    /// An asset as its rows say, under the layers in force and after every start since.
    pub(super) fn brought_up(&mut self, rows: Rows, layers_changed: bool) -> Asset {
        let mut stored: StoredAsset = read("asset", &rows.asset.state);
        let mut changed = false;
        if layers_changed {
            let before = stored.crossing.clone();
            stored.crossing.layers_changed(&self.ground);
            changed = stored.crossing != before;
        }
        let last = stored.crossing.last;
        let mut kept = Vec::new();
        for pair in rows.pairs {
            kept.extend(self.take_up_pair(pair, last.as_ref()));
        }
        changed |= kept.iter().any(|pair| pair.changed);
        let mut crossing = AssetCrossing::restored(stored.crossing, kept);
        let run = stored.run.unwrap_or(self.runs.unmarked);
        if run < self.runs.this {
            let power = self.runs.powered > run;
            crossing.restarted(if power { GapCause::Power } else { GapCause::Restart });
        }
        let state = (stored.gate, stored.last_gnss);
        let mut asset = Asset::restored(&self.ground, rows.asset, crossing, state, self.now);
        asset.dirty = changed;
        asset
    }

    /// When the first was cast is not known on this boot: from this start on a vote runs at most
    /// its whole time, to whoever looks.
    pub(super) fn set_wheel(&mut self, number: usize, asset: &Asset) {
        for (zone, votes) in asset.crossing.pairs.table.votes() {
            let deadline = self.born + (votes.deadline - votes.first);
            let begun = Begun { zone, deadline: votes.deadline };
            self.wheel.set(deadline, Ballot { asset: number as u32, since: self.born, begun });
        }
    }

    /// LAY-1 for one pair: kept, redrawn, or retired.
    fn take_up_pair(&mut self, row: PairRow, last: Option<&Heard>) -> Option<Kept> {
        let stored: StoredPair = read("pair", &row.state);
        let found = self.ground.find(&row.key.zone.layer, &row.key.zone.zone);
        let kept = |zone, pair, pass, changed| Kept {
            zone,
            pair,
            visit: stored.visit.clone(),
            pass,
            changed,
        };
        let Some(ix) = found else {
            if let Some(visit) = &stored.visit {
                let body = Body {
                    asset: Some(row.key.asset.clone()),
                    layer: Some(row.key.zone.layer.clone()),
                    zone: Some(row.key.zone.zone.clone()),
                    shape: Some(row.shape.clone()),
                    ..Body::default()
                };
                self.retire(body, "zone_removed", last, visit);
            }
            self.group.pairs_gone.push(row.key);
            return None;
        };
        let zone = self.ground.zone(ix);
        if zone.shape() == row.shape {
            let mut pair = stored.pair;
            let changed = zone.rules != stored.rules;
            if changed {
                pair.drop_votes(last.map(|last| last.time));
            }
            return Some(kept(ix, pair, stored.pass.filter(|_| !changed), changed));
        }
        if let Some(visit) = &stored.visit {
            let body = emit::zone_body(&self.ground, &row.key.asset, zone);
            if let Some(pair) = last.and_then(|last| redrawn_inside(zone, last)) {
                self.redraw(body, last, visit);
                return Some(kept(ix, pair, stored.pass, true));
            }
            self.retire(body, "zone_redrawn", last, visit);
        }
        self.group.pairs_gone.push(row.key);
        None
    }

    fn retire(&mut self, mut body: Body, cause: &str, last: Option<&Heard>, visit: &Visit) {
        emit::retired(&mut body, cause, last, visit);
        self.emit(Kind::FenceRetired, body);
    }

    fn redraw(&mut self, mut body: Body, last: Option<&Heard>, visit: &Visit) {
        body.visit = Some(visit.id.clone());
        body.entered = Some(visit.entered.clone());
        body.confirmed_at = last.map(|last| last.time);
        self.emit(Kind::FenceRedrawn, body);
    }
}

/// The pair of a zone that was redrawn round an asset: inside as of its last fix, if that lies in
/// the new shape as an inside vote would.
fn redrawn_inside(zone: &ActiveZone, last: &Heard) -> Option<Pair> {
    let located = zone.zone().shape.locate(last.position);
    let inside = zone.margins.observe(&located, last.accuracy_m) == Some(Side::Inside);
    inside.then(|| {
        let mut pair = Pair::unevaluated(last.time);
        pair.committed = Some(Side::Inside);
        pair.was_inside = Some(located.inside);
        pair
    })
}

/// The last run and this start, as `gateway_started` and `status` tell it.
pub(super) fn story(last: Option<&LastRun>, birth: &Birth, ground: &Ground) -> Start {
    let versions = ground.layers().iter().map(|l| (l.id.to_string(), l.version.into()));
    let layers = versions.collect();
    let Some(last) = last else {
        return Start { cause: "first".to_owned(), down_s: None, same_boot: false, layers };
    };
    let same_boot = last.boot_id == birth.boot_id;
    let down = if same_boot {
        birth.boot - last.last_commit_boot
    } else {
        // Only a hint: either reading may be wrong.
        birth.wall - last.last_commit_wall
    };
    let cause = match (last.clean, same_boot) {
        (true, true) if birth.reload => "reload",
        (true, _) => "clean",
        (false, true) => "crash",
        (false, false) => "power",
    };
    let down_s = (down >= Span::ZERO).then(|| (down.secs_f64() * 10.0).round() / 10.0);
    Start { cause: cause.to_owned(), down_s, same_boot, layers }
}
