//! The store against real files. `World` plays the engine: it numbers events, keeps what is
//! believed in step with them, and remembers both.

mod commits;
mod damage;
mod opening;
mod random;
mod spooling;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::*;
use crate::logic::event::{Body, Event, Kind};
use crate::logic::group::{AssetRow, LayerRow, PairKey, PairRow};
use crate::units::{AssetId, GatewayId, LayerId, ZoneId, ZoneKey};

pub(super) fn boot(secs: i64) -> BootTime {
    BootTime::from_nanos(secs * 1_000_000_000)
}
pub(super) fn wall(secs: i64) -> WallTime {
    WallTime::from_nanos(secs * 1_000_000_000)
}
pub(super) fn utc(secs: i64) -> crate::units::EventTime {
    crate::units::EventTime::from_nanos(secs * 1_000_000_000)
}

pub(super) fn options() -> OpenOptions {
    OpenOptions {
        gateway: GatewayId::new("gw-1").unwrap(),
        software: "geofenced 0.1.0".into(),
        boot_id: "boot-1".into(),
        now_boot: boot(10),
        now_wall: wall(1_000),
        stream_seed: [1, 2, 3, 4, 5, 6, 7, 8],
        max_bytes: 64 * 1024 * 1024,
        max_age: Span::from_secs(90 * 86_400),
        assets_in_memory: usize::MAX,
        clock: || boot(0),
    }
}

/// A store and what should be in it.
pub(super) struct World {
    pub(super) store: Store,
    pub(super) next: [u64; 2],
    pub(super) inside: BTreeMap<PairKey, bool>,
}

pub(super) fn key(zone: u32) -> PairKey {
    let layer = LayerId::new("depots").unwrap();
    let zone = ZoneId::new(&format!("z{zone}")).unwrap();
    PairKey { asset: AssetId::new("van").unwrap(), zone: ZoneKey { layer, zone } }
}

impl World {
    pub(super) fn start(path: &Path) -> Self {
        Self::with(path, &options()).0
    }

    pub(super) fn with(path: &Path, options: &OpenOptions) -> (Self, Restored) {
        let (store, restored) = Store::start(path, options).unwrap();
        let inside = memberships(&restored.pairs);
        let next = [restored.next_seq, restored.next_telemetry_seq];
        (Self { store, next, inside }, restored)
    }

    pub(super) fn event(&mut self, kind: Kind, body: Body) -> Event {
        let seq = &mut self.next[lane::index(kind.lane())];
        let id = Event::id_of(self.store.stream(), kind.lane(), *seq);
        let event = Event { seq: *seq, id, kind, gateway: GatewayId::new("gw-1").unwrap(), body };
        *seq += 1;
        event
    }

    /// The vehicle crosses the boundary of `zone` at `secs`.
    pub(super) fn cross(&mut self, zone: u32, secs: i64) -> Group {
        let key = key(zone);
        let inside = !self.inside.get(&key).copied().unwrap_or(false);
        let kind = if inside { Kind::FenceEntry } else { Kind::FenceExit };
        let body = Body {
            asset: Some(key.asset.clone()),
            layer: Some(key.zone.layer.clone()),
            zone: Some(key.zone.zone.clone()),
            zone_name: Some("Depot Nord, Tor 3 — \u{1F69A}".into()),
            inside: Some(inside),
            confirmed_at: Some(utc(secs)),
            recorded_at: Some(wall(secs)),
            ..Body::default()
        };
        let event = self.event(kind, body);
        self.inside.insert(key.clone(), inside);
        let visit = inside.then(|| event.id.clone());
        let (shape, state) = ("00ff".into(), r#"{"votes":0}"#.into());
        Group {
            events: vec![event],
            assets: vec![asset(secs)],
            pairs: vec![PairRow { key, shape, inside: Some(inside), visit, state }],
            ..Group::default()
        }
    }

    pub(super) fn late(&mut self, secs: i64) -> Group {
        let body = Body { confirmed_at: Some(utc(secs)), ..Body::default() };
        Group { events: vec![self.event(Kind::LateFix, body)], ..Group::default() }
    }

    pub(super) fn commit(&mut self, group: &Group) -> Committed {
        self.store.commit(group, boot(20), wall(2_000)).unwrap()
    }

    /// Commits one crossing a group for each second of `secs`.
    pub(super) fn drive(&mut self, secs: std::ops::Range<i64>) {
        for at in secs {
            let group = self.cross((at % 3) as u32, at);
            self.commit(&group);
        }
    }

    pub(super) fn waiting(&mut self, lane: Lane) -> Vec<u64> {
        let batch = self.store.batch(lane, None, usize::MAX, u64::MAX).unwrap();
        batch.events.iter().map(|stored| stored.event.seq).collect()
    }
}

pub(super) fn asset(secs: i64) -> AssetRow {
    let asset = AssetId::new("van").unwrap();
    AssetRow { asset, step: 1, watermark: Some(utc(secs)), state: r#"{"gaps":[1,1]}"#.into() }
}

pub(super) fn layer(generation: u64, zones: &[&str]) -> LayerRow {
    let zones = zones
        .iter()
        .map(|zone| (ZoneId::new(zone).unwrap(), format!("shape-{zone}"), generation))
        .collect();
    LayerRow { layer: LayerId::new("depots").unwrap(), version: 7, generation, zones }
}

pub(super) fn memberships(pairs: &[PairRow]) -> BTreeMap<PairKey, bool> {
    pairs.iter().filter_map(|row| Some((row.key.clone(), row.inside?))).collect()
}

/// What a server that has every event believes (INV-1), and that numbers have no hole (INV-3).
pub(super) fn fold(store: &Store) -> BTreeMap<PairKey, bool> {
    let query = EventQuery { max: usize::MAX, ..EventQuery::default() };
    let found = store.events(Lane::Events, &query).unwrap();
    assert_eq!(found.unreadable, 0);
    let mut inside = BTreeMap::new();
    for (index, event) in found.events.iter().enumerate() {
        assert_eq!(event.seq, index as u64 + 1, "seq has a hole");
        if let Some(now) = event.body.inside {
            let zone = ZoneKey {
                layer: event.body.layer.clone().unwrap(),
                zone: event.body.zone.clone().unwrap(),
            };
            let key = PairKey { asset: event.body.asset.clone().unwrap(), zone };
            let before = inside.insert(key, now).unwrap_or(false);
            assert_ne!(before, now, "events alternate");
        }
    }
    inside
}

/// What a kill at this moment leaves behind: the files as they are, in a directory of their own.
pub(super) fn killed(path: &Path, name: &str) -> PathBuf {
    let dir = path.parent().unwrap().join(name);
    std::fs::create_dir_all(&dir).unwrap();
    let copy = dir.join("geofenced.db");
    for suffix in ["", "-wal"] {
        let from = aside::beside(path, suffix);
        if from.exists() {
            std::fs::copy(from, aside::beside(&copy, suffix)).unwrap();
        }
    }
    copy
}

/// A place for a store: in memory where there is one, for some tests make thousands of commits.
pub(super) fn dir() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = dir.path().join("geofenced.db");
    (dir, path)
}
