//! The invariants that hold at every commit, checked on what the store gives back.
//!
//! Always holds: nothing is taken from the engine's memory. Does not know: what was driven.

use std::collections::BTreeMap;

use geofenced::logic::event::Event;
use geofenced::logic::group::{Group, PairKey, Restored};
use geofenced::units::{AssetId, EventTime, ZoneKey};

/// What a server would know by now, and what the store believes.
#[derive(Default)]
pub(crate) struct Ledger {
    next_seq: u64,
    /// The fold of all events: only what is inside.
    inside: BTreeMap<PairKey, bool>,
    /// The store's rows.
    rows: BTreeMap<PairKey, Option<bool>>,
    marks: BTreeMap<AssetId, (u32, Option<EventTime>)>,
}

impl Ledger {
    /// How many events there are.
    pub(crate) fn last_seq(&self) -> u64 {
        self.next_seq.saturating_sub(1)
    }

    /// One commit: its rows, and its events as they were read back.
    pub(crate) fn committed(&mut self, group: &Group, events: &[Event]) {
        for event in events {
            self.event(event);
        }
        for key in &group.pairs_gone {
            self.rows.remove(key);
        }
        for row in &group.pairs {
            self.rows.insert(row.key.clone(), row.inside);
        }
        for row in &group.assets {
            let mark = (row.step, row.watermark);
            let before = self.marks.insert(row.asset.clone(), mark);
            assert!(before <= Some(mark), "INV-3: {before:?} went back to {mark:?}");
        }
        self.check_fold();
    }

    fn event(&mut self, event: &Event) {
        self.next_seq = self.next_seq.max(1);
        assert_eq!(event.seq, self.next_seq, "INV-3: no hole");
        self.next_seq += 1;
        let body = &event.body;
        let Some(inside) = body.inside else { return };
        let said = "a membership is of an asset and a zone";
        let zone = ZoneKey {
            layer: body.layer.clone().expect(said),
            zone: body.zone.clone().expect(said),
        };
        let key = PairKey { asset: body.asset.clone().expect(said), zone };
        let before = self.inside.remove(&key).unwrap_or(false);
        assert_ne!(before, inside, "INV-1: {key:?} does not alternate: {}", event.to_json());
        if inside {
            self.inside.insert(key, true);
        }
    }

    /// INV-2.
    fn check_fold(&self) {
        let rows = self.rows.iter().filter(|(_, inside)| **inside == Some(true));
        let rows: Vec<&PairKey> = rows.map(|(key, _)| key).collect();
        let fold: Vec<&PairKey> = self.inside.keys().collect();
        assert_eq!(fold, rows, "INV-2: the fold of all events is what is believed");
    }

    /// A start: the store gives back what was committed, but for what it leaves there.
    pub(crate) fn started(&self, restored: &Restored) {
        let here = |asset: &AssetId| !restored.left.contains(asset);
        let found = restored.pairs.iter().map(|row| (row.key.clone(), row.inside));
        let mut rows = self.rows.clone();
        rows.retain(|key, _| here(&key.asset));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), rows, "INV-2: rows survive");
        let found =
            restored.assets.iter().map(|row| (row.asset.clone(), (row.step, row.watermark)));
        let mut marks = self.marks.clone();
        marks.retain(|asset, _| here(asset));
        assert_eq!(found.collect::<BTreeMap<_, _>>(), marks, "INV-3: marks survive");
        let known = restored.assets.len() + restored.left.len();
        assert_eq!(known, self.marks.len(), "nobody is forgotten");
        assert_eq!(restored.next_seq, self.last_seq() + 1, "INV-3: no number is given twice");
    }
}
