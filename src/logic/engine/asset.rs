//! One asset in the pipeline: its clock, its fixes waiting in order, its gate, its crossings.
//!
//! Always holds: step number and watermark never go back (INV-3). Does not know: sources.

use super::Setup;
use super::durable::{self, StoredAsset};
use super::intake::{Carried, Ordered};
use super::reconcile::Reconcile;
use crate::logic::crossing::asset::AssetCrossing;
use crate::logic::crossing::ground::Ground;
use crate::logic::event::{Body, SnapshotZone};
use crate::logic::gnss::Fix;
use crate::logic::gnss::gate::Gate;
use crate::logic::gnss::trust::{AssetClock, Trust};
use crate::logic::gnss::voting::Voting;
use crate::logic::group::{AssetRow, Group};
use crate::logic::order::{Heap, Watermark};
use crate::units::{AssetId, BootTime, EventTime, Position};

/// What one source says of one asset.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) source: usize,
    pub(super) trust: Trust<Carried>,
}

/// One asset.
#[derive(Debug)]
pub(super) struct Asset {
    pub(super) id: AssetId,
    pub(super) clock: AssetClock,
    pub(super) lines: Vec<Line>,
    /// Which of `lines` votes, where there are several (ORD-4). Not stored: a restart begins a
    /// step, and whoever comes first votes until a better one has been back for 10 s.
    pub(super) voting: Option<Box<Voting>>,
    pub(super) heap: Heap<Ordered>,
    pub(super) gate: Gate,
    pub(super) crossing: AssetCrossing,
    pub(super) reconcile: Option<Reconcile>,
    /// The last usable measured fix and when it arrived.
    pub(super) last: Option<(Fix, BootTime)>,
    pub(super) last_gnss: Option<EventTime>,
    /// Where it was when it was last made durable.
    pub(super) saved: Option<Position>,
    pub(super) dirty: bool,
    /// The deadline that the engine has been asked to keep.
    pub(super) alarm: Option<BootTime>,
    /// When something was heard of it last, usable or not.
    pub(super) heard: BootTime,
    /// Whether its silence is being watched, and whether it was said to be stale.
    pub(super) watched: bool,
    pub(super) stale: bool,
}

impl Asset {
    /// An asset that was never heard before.
    pub(super) fn new(id: AssetId, setup: &Setup, ground: &Ground, heard: BootTime) -> Self {
        let crossing = AssetCrossing::default();
        Self {
            id,
            clock: AssetClock::default(),
            lines: Vec::new(),
            voting: None,
            heap: Heap::new(None),
            gate: Gate::default(),
            reconcile: setup.announce.then(|| Reconcile::new(ground, &crossing)),
            crossing,
            last: None,
            last_gnss: None,
            saved: None,
            dirty: false,
            alarm: None,
            heard,
            watched: false,
            stale: false,
        }
    }

    /// An asset as the store gave it back: it begins the next step, because no checkpoint says
    /// that the last one goes on (ORD-1).
    pub(super) fn restored(
        ground: &Ground,
        row: AssetRow,
        crossing: AssetCrossing,
        stored: (Gate, Option<EventTime>),
        heard: BootTime,
    ) -> Self {
        let (gate, last_gnss) = stored;
        let watermark = row.watermark.map(|time| Watermark { step: row.step, time });
        Self {
            id: row.asset,
            clock: AssetClock::restored(row.step + 1, last_gnss),
            lines: Vec::new(),
            voting: None,
            heap: Heap::new(watermark),
            gate,
            reconcile: Some(Reconcile::new(ground, &crossing)),
            saved: crossing.remembered.last.map(|last| last.position),
            crossing,
            last: None,
            last_gnss,
            dirty: false,
            alarm: None,
            heard,
            watched: false,
            stale: false,
        }
    }

    /// The full set of its zones, as of its last fix.
    pub(super) fn snapshot(&self, ground: &Ground) -> Body {
        let zones = self.crossing.pairs.visits.iter().map(|(ix, visit)| {
            let key = &ground.zone(*ix).key;
            SnapshotZone {
                layer: key.layer.clone(),
                zone: key.zone.clone(),
                visit: visit.id.clone(),
            }
        });
        Body {
            asset: Some(self.id.clone()),
            confirmed_at: self.crossing.remembered.last_seen,
            zones: Some(zones.collect()),
            ..Body::default()
        }
    }

    /// Adds the rows that changed; this is the store's run of that number.
    pub(super) fn rows(&mut self, ground: &Ground, run: u64, group: &mut Group) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        durable::pair_rows(ground, &self.id, &mut self.crossing, group);
        group.assets.push(self.row(run));
        self.saved = self.crossing.remembered.last.map(|last| last.position);
    }

    /// The rows that changed, left as they are; none where none did.
    pub(super) fn rows_seen(&self, ground: &Ground, run: u64) -> Group {
        let mut group = Group::default();
        if self.dirty {
            durable::pair_rows_seen(ground, &self.id, &self.crossing, &mut group);
            group.assets.push(self.row(run));
        }
        group
    }

    fn row(&self, run: u64) -> AssetRow {
        let stored = StoredAsset {
            crossing: self.crossing.remembered.clone(),
            gate: self.gate.clone(),
            last_gnss: self.last_gnss,
            run: Some(run),
        };
        // A restart must begin a step that was never used, so the row carries the one in use; a
        // watermark of an older step says nothing about this one.
        let step = self.clock.step();
        let watermark = self.heap.watermark().filter(|mark| mark.step == step);
        let watermark = watermark.map(|mark| mark.time);
        durable::asset_row(&self.id, step, watermark, &stored)
    }
}
