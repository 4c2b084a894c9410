//! What of the engine's state a store keeps, as rows, and back (STO-1).
//!
//! Always holds: rows taken together with the events of the same moment fold to the same
//! memberships (INV-2); a pair that is clearly outside has no row (PAIR-5).
//! Does not know: how rows are stored.

use serde::{Deserialize, Serialize};

use crate::logic::crossing::asset::{AssetCrossing, Pairs, Remembered, Visit};
use crate::logic::crossing::ground::{ActiveZone, Ground};
use crate::logic::crossing::observe::Side;
use crate::logic::crossing::pair::Pair;
use crate::logic::crossing::pass::PassTrack;
use crate::logic::gnss::gate::Gate;
use crate::logic::group::{AssetRow, Group, PairKey, PairRow};
use crate::units::{AssetId, EventTime, ZoneKey};

/// The `state` of a pair's row. Fields are only ever added (STO-6).
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPair {
    pub(super) pair: Pair,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) visit: Option<Visit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pass: Option<PassTrack>,
    /// The rules under which its votes were cast: others drop them (LAY-1).
    #[serde(default)]
    pub(super) rules: String,
}

/// The `state` of an asset's row. Fields are only ever added (STO-6).
#[derive(Serialize, Deserialize)]
pub(super) struct StoredAsset {
    pub(super) crossing: Remembered,
    pub(super) gate: Gate,
    /// The last event time of quality `gnss`, which sets the floor (TIME-1).
    #[serde(default)]
    pub(super) last_gnss: Option<EventTime>,
    /// The run that wrote it: of later starts it knows nothing.
    #[serde(default)]
    pub(super) run: Option<u64>,
}

/// Appends the rows of all pairs of one asset that changed.
pub(super) fn pair_rows(
    ground: &Ground,
    asset: &AssetId,
    crossing: &mut AssetCrossing,
    group: &mut Group,
) {
    let key = |zone: &ZoneKey| PairKey { asset: asset.clone(), zone: zone.clone() };
    for zone in crossing.take_gone() {
        // Where it is back since, its old row is replaced, or goes, below.
        if !crossing.pairs.table.mark_stored(zone) {
            group.pairs_gone.push(key(&ground.zone(zone).key));
        }
    }
    let evaluating = crossing.remembered.first.is_some();
    let Pairs { table, visits, passes } = &mut crossing.pairs;
    table.take_dirty(|ix, pair, stored| {
        let zone = ground.zone(ix);
        let pass = passes.get(&ix);
        let keep = keeps(evaluating, &pair, pass);
        if keep {
            group.pairs.push(pair_row(key(&zone.key), zone, pair, visits.get(&ix), pass));
        } else if stored {
            group.pairs_gone.push(key(&zone.key));
        }
        keep
    });
}

/// The same without taking the marks: what a checkpoint keeps of pairs that the store does not
/// have yet (STO-3).
pub(super) fn pair_rows_seen(
    ground: &Ground,
    asset: &AssetId,
    crossing: &AssetCrossing,
    group: &mut Group,
) {
    let key = |zone: &ZoneKey| PairKey { asset: asset.clone(), zone: zone.clone() };
    let gone = crossing.gone();
    let Pairs { table, visits, passes } = &crossing.pairs;
    let away = gone.iter().filter(|zone| table.find(**zone).is_none());
    group.pairs_gone.extend(away.map(|zone| key(&ground.zone(*zone).key)));
    let evaluating = crossing.remembered.first.is_some();
    for (ix, pair, stored) in table.dirty() {
        let zone = ground.zone(ix);
        let pass = passes.get(&ix);
        if keeps(evaluating, &pair, pass) {
            group.pairs.push(pair_row(key(&zone.key), zone, pair, visits.get(&ix), pass));
        } else if stored || gone.contains(&ix) {
            group.pairs_gone.push(key(&zone.key));
        }
    }
}

/// Whether a pair has a row of its own. Until the asset's row says so, only a pair's own row says
/// that its zone has been evaluated.
fn keeps(evaluating: bool, pair: &Pair, pass: Option<&PassTrack>) -> bool {
    evaluating || !pair.is_away() || pass.is_some_and(PassTrack::is_open)
}

fn pair_row(
    key: PairKey,
    zone: &ActiveZone,
    pair: Pair,
    visit: Option<&Visit>,
    pass: Option<&PassTrack>,
) -> PairRow {
    let (visit, pass, rules) = (visit.cloned(), pass.copied(), zone.rules.clone());
    let stored = StoredPair { pair, visit, pass, rules };
    PairRow {
        key,
        shape: zone.shape(),
        inside: pair.committed.map(Side::is_inside),
        visit: stored.visit.as_ref().map(|visit| visit.id.clone()),
        state: serde_json::to_string(&stored).expect("a pair is plain data"),
    }
}

/// One asset's row.
pub(super) fn asset_row(
    asset: &AssetId,
    step: u32,
    watermark: Option<EventTime>,
    stored: &StoredAsset,
) -> AssetRow {
    AssetRow {
        asset: asset.clone(),
        step,
        watermark,
        state: serde_json::to_string(stored).expect("an asset's state is plain data"),
    }
}
