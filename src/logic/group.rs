//! What one transaction makes durable, and what a start gets back.
//!
//! Always holds: plain data; of one key a group holds at most one row, the latest; a pair is
//! either kept or gone, never both; events are in the order they were decided in.
//! Does not know: how it is stored. `state` texts belong to the machine that wrote them.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::logic::event::{Event, Lane};
use crate::units::{AssetId, BootTime, EventTime, LayerId, StreamId, WallTime, ZoneId, ZoneKey};

/// The key of all crossing state (PAIR-3).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PairKey {
    /// Whom it is about.
    pub asset: AssetId,
    /// Which zone.
    pub zone: ZoneKey,
}

/// All that a live pair holds (STO-1).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PairRow {
    /// Its key.
    pub key: PairKey,
    /// Fingerprint of the shape the membership was decided against, in hex (LAY-1).
    pub shape: String,
    /// The committed membership; `None` while the first evaluation is pending (PAIR-6).
    pub inside: Option<bool>,
    /// The visit it is in: the id of the event that opened it.
    pub visit: Option<String>,
    /// JSON that the crossing machine wrote: votes, bracket ends. Opaque here.
    pub state: String,
}

/// All that an asset holds beside its pairs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AssetRow {
    /// Its key.
    pub asset: AssetId,
    /// How often its clock has stepped (TIME-4). Never goes back (INV-3).
    pub step: u32,
    /// Time of its last released fix (ORD-1).
    pub watermark: Option<EventTime>,
    /// JSON that the engine wrote: the last five gaps, pending zones. Opaque here.
    pub state: String,
}

/// One asset as the store has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rows {
    /// Its row.
    pub asset: AssetRow,
    /// The rows of its pairs, by zone.
    pub pairs: Vec<PairRow>,
}

/// A layer in force, and what is needed to tell which of its zones are new (LAY-1, PAIR-6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LayerRow {
    /// Its key.
    pub layer: LayerId,
    /// The version that its author gave it.
    pub version: u64,
    /// How many activations this store has seen; grows even when a version is rolled back.
    pub generation: u64,
    /// Each zone, its shape's fingerprint in hex, and the generation that brought this shape.
    pub zones: Vec<(ZoneId, String, u64)>,
}

/// Says that an `events_lost` of the same group covers a recorded loss.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LossReport {
    /// The loss, as [`Loss::id`] names it.
    pub loss: u64,
    /// Seq of the `events_lost`.
    pub by: u64,
}

/// A range that will never be delivered and that no `events_lost` covers yet (DEL-1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loss {
    /// Its number in the store.
    pub id: u64,
    /// Whose seqs they are.
    pub lane: Lane,
    /// First lost seq.
    pub first: u64,
    /// Last lost seq.
    pub last: u64,
    /// `quota`, `age`, `disk`, `dead_letter` or `state_lost`.
    pub reason: String,
}

/// What one transaction makes durable.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Group {
    /// Numbered by the engine, both lanes.
    pub events: Vec<Event>,
    /// Assets whose row changed.
    pub assets: Vec<AssetRow>,
    /// Pairs whose row changed.
    pub pairs: Vec<PairRow>,
    /// Pairs that are no longer stored.
    pub pairs_gone: Vec<PairKey>,
    /// Layers that were activated.
    pub layers: Vec<LayerRow>,
    /// Layers that are no longer in force.
    pub layers_gone: Vec<LayerId>,
    /// Losses that this group's `events_lost` covers.
    pub losses_reported: Vec<LossReport>,
}

impl Group {
    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
            && self.assets.is_empty()
            && self.pairs.is_empty()
            && self.pairs_gone.is_empty()
            && self.layers.is_empty()
            && self.layers_gone.is_empty()
            && self.losses_reported.is_empty()
    }

    /// What the rows of an asset will say once this group is stored.
    pub fn overlay(&self, rows: &mut Rows) {
        let id = &rows.asset.asset;
        let gone = |row: &PairRow| self.pairs_gone.contains(&row.key);
        rows.pairs.retain(|row| !gone(row));
        let own: Vec<_> = self.pairs.iter().filter(|row| row.key.asset == *id).cloned().collect();
        replace(&mut rows.pairs, own, |row| row.key.clone());
        rows.pairs.sort_by(|a, b| a.key.cmp(&b.key));
        if let Some(row) = self.assets.iter().find(|row| row.asset == *id) {
            rows.asset = row.clone();
        }
    }

    /// Adds what was decided after this group: of one key the later word stands.
    pub fn merge(&mut self, later: Self) {
        self.events.extend(later.events);
        replace(&mut self.assets, later.assets, |row| row.asset.clone());
        let gone: HashSet<_> = later.pairs_gone.iter().cloned().collect();
        self.pairs.retain(|row| !gone.contains(&row.key));
        let kept: HashSet<_> = later.pairs.iter().map(|row| row.key.clone()).collect();
        self.pairs_gone.retain(|key| !kept.contains(key) && !gone.contains(key));
        replace(&mut self.pairs, later.pairs, |row| row.key.clone());
        self.pairs_gone.extend(later.pairs_gone);
        self.layers.retain(|row| !later.layers_gone.contains(&row.layer));
        self.layers_gone.retain(|layer| {
            !later.layers.iter().any(|row| row.layer == *layer)
                && !later.layers_gone.contains(layer)
        });
        replace(&mut self.layers, later.layers, |row| row.layer.clone());
        self.layers_gone.extend(later.layers_gone);
        self.losses_reported.extend(later.losses_reported);
    }
}

/// Puts later rows in the place of earlier rows of the same key.
fn replace<T, K: Eq + std::hash::Hash>(rows: &mut Vec<T>, later: Vec<T>, key: impl Fn(&T) -> K) {
    let keys: HashSet<K> = later.iter().map(&key).collect();
    rows.retain(|row| !keys.contains(&key(row)));
    rows.extend(later);
}

/// How the run before this one ended, as far as its last commit tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LastRun {
    /// The kernel's boot id; [`BootTime`]s below mean something only if it is still the same.
    pub boot_id: String,
    /// When it started.
    pub started_boot: BootTime,
    /// When it last committed.
    pub last_commit_boot: BootTime,
    /// The system clock then: a hint.
    pub last_commit_wall: WallTime,
    /// Whether it said goodbye.
    pub clean: bool,
    /// Name and version of what ran.
    pub software: String,
}

/// One commit of a store, by which a checkpoint is known to go on from it (STO-3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CommitNumber {
    /// The run that made it. A release that does not count commits still begins a run.
    pub run: u64,
    /// Which of that run's, from 1; 0 where it made none.
    pub commit: u64,
}

/// A run that is over, as far as a crash loop shows in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The kernel's boot id.
    pub boot_id: String,
    /// When it started.
    pub started: BootTime,
    /// Whether it said goodbye.
    pub clean: bool,
}

/// The starts of this store, by number. An asset's row bears the number of the run that wrote it;
/// it may be many starts old, where the asset is silent and was left in the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runs {
    /// This run.
    pub this: u64,
    /// The last run, this one included, that began with the machine.
    pub powered: u64,
    /// Whose rows bear no number: the release that wrote them, wrote all at each of its starts.
    pub unmarked: u64,
}

/// What was believed when the store was last written: nothing is evaluated before it (STO-4).
#[derive(Clone, PartialEq, Debug)]
pub struct Restored {
    /// The stream that new events belong to.
    pub stream: StreamId,
    /// Number of the next event.
    pub next_seq: u64,
    /// Number of the next telemetry record.
    pub next_telemetry_seq: u64,
    /// Assets by id: every one ever heard, but for those that were left.
    pub assets: Vec<AssetRow>,
    /// Every stored pair of those.
    pub pairs: Vec<PairRow>,
    /// Assets by id that were left in the store, because there are too many for memory.
    pub left: Vec<AssetId>,
    /// What tells of a row which starts it has not seen.
    pub runs: Runs,
    /// Every layer in force.
    pub layers: Vec<LayerRow>,
    /// The run before this one; `None` at the first start.
    pub last_run: Option<LastRun>,
    /// That run's last commit.
    pub last_commit: Option<CommitNumber>,
    /// The last two runs, newest first.
    pub ended: Vec<Ended>,
    /// Whether the store was made by this start: nothing was believed.
    pub fresh: bool,
    /// Why an older store had to be left behind, where that is why it is fresh.
    pub set_aside: Option<SetAside>,
}

impl Restored {
    /// Nothing was believed and nothing was numbered.
    pub const fn nothing(stream: StreamId) -> Self {
        Self {
            stream,
            next_seq: 1,
            next_telemetry_seq: 1,
            assets: Vec::new(),
            pairs: Vec::new(),
            left: Vec::new(),
            runs: Runs { this: 1, powered: 1, unmarked: 0 },
            layers: Vec::new(),
            last_run: None,
            last_commit: None,
            ended: Vec::new(),
            fresh: true,
            set_aside: None,
        }
    }
}

/// A store that could not be gone on with: kept beside, never deleted in silence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetAside {
    /// Where it is now.
    pub path: std::path::PathBuf,
    /// Why.
    pub why: SetAsideWhy,
    /// The same in words, for the log.
    pub detail: String,
    /// Its waiting events that could still be counted; `None` where not even that worked.
    pub waiting: Option<u64>,
    /// The oldest store set aside before, where it was deleted to make room.
    pub removed: Option<std::path::PathBuf>,
}

/// Why a store was left behind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetAsideWhy {
    /// It cannot be read: memberships are lost (STO-5), `cause: state_lost`.
    Damaged,
    /// It belongs to another gateway id: a new stream begins (STO-7).
    OtherGateway,
}

/// One durable event, read back from the store.
#[derive(Clone, PartialEq, Debug)]
pub struct StoredEvent {
    /// The event.
    pub event: Event,
    /// Its flat record as it was stored: a resend carries the same text again.
    pub body: String,
}

/// What is waiting to be acknowledged, in seq order. Only a store makes one.
#[derive(Clone, PartialEq, Debug)]
pub struct Batch {
    /// Which stream.
    pub lane: Lane,
    /// Committed and unacknowledged, in seq order; seqs may be missing that a [`Loss`] names.
    pub events: Vec<StoredEvent>,
    /// Whether there is more behind it.
    pub more: bool,
}

impl Batch {
    /// Seq of its last event: what an acknowledgement of the whole batch covers.
    pub fn last_seq(&self) -> Option<u64> {
        self.events.last().map(|stored| stored.event.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(zone: &str) -> PairKey {
        let zone = ZoneKey { layer: LayerId::new("l").unwrap(), zone: ZoneId::new(zone).unwrap() };
        PairKey { asset: AssetId::new("van").unwrap(), zone }
    }
    fn kept(zone: &str, state: &str) -> Group {
        let row = PairRow {
            key: key(zone),
            shape: "00".into(),
            inside: Some(true),
            visit: None,
            state: state.into(),
        };
        Group { pairs: vec![row], ..Group::default() }
    }
    fn gone(zone: &str) -> Group {
        Group { pairs_gone: vec![key(zone)], ..Group::default() }
    }

    /// STO-1: of one key the later word stands, and there is only one.
    #[test]
    fn sto_1_merged_groups_hold_the_later_word() {
        let check = |steps: Vec<Group>, pairs: &[(&str, &str)], lost: &[&str]| {
            let mut all = Group::default();
            assert!(all.is_empty());
            for step in steps {
                all.merge(step);
            }
            assert!(!all.is_empty());
            let have: Vec<_> = all
                .pairs
                .iter()
                .map(|row| (row.key.zone.zone.as_str(), row.state.as_str()))
                .collect();
            assert_eq!(have, pairs);
            let have: Vec<_> = all.pairs_gone.iter().map(|key| key.zone.zone.as_str()).collect();
            assert_eq!(have, lost);
        };
        check(vec![kept("a", "1"), kept("b", "1"), kept("a", "2")], &[("b", "1"), ("a", "2")], &[]);
        check(vec![kept("a", "1"), gone("a")], &[], &["a"]);
        check(vec![gone("a"), kept("a", "1")], &[("a", "1")], &[]);
        check(vec![kept("a", "1"), gone("a"), kept("a", "2")], &[("a", "2")], &[]);
        check(vec![gone("a"), gone("a"), kept("b", "1")], &[("b", "1")], &["a"]);
    }
}
