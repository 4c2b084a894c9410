//! What `status` shows of the pipeline.
//!
//! Always holds: reading changes nothing; a vote that has run out is not shown (PAIR-4).
//! Does not know: sources' ports, delivery, the store.

use super::Engine;
use super::asset::Asset;
use super::tally;
use crate::logic::crossing::observe::Side;
use crate::logic::crossing::table::PairTable;
use crate::logic::event::Place;
use crate::logic::gnss::gate::GateRules;
use crate::logic::health::{
    AssetStatus, Gauges, InsideStatus, LayerStatus, SourceState, SourceStatus, VoteStatus,
};
use crate::logic::latency::Histogram;
use crate::units::{BootTime, EventTime, Span};

/// At most this many assets are shown: a status is one screen, and `--json` one answer.
const ASSETS_SHOWN_MAX: usize = 100;

impl Engine {
    /// Every layer in force.
    pub fn layer_status(&self) -> Vec<LayerStatus> {
        let count = |ix| self.ground.zones().iter().filter(|zone| zone.layer == ix).count();
        let layers = self.ground.layers().iter().enumerate();
        layers
            .map(|(ix, layer)| LayerStatus {
                layer: layer.id.to_string(),
                version: layer.version,
                zones: count(ix) as u32,
            })
            .collect()
    }

    /// What one source gave, and what it is to its assets.
    pub fn source_status(&self, source: usize) -> SourceStatus {
        let own = &self.sources[source].tally;
        let mut counters = own.counters.clone();
        let (mut votes, mut waits) = (false, false);
        for asset in self.assets.iter() {
            let Some(line) = asset.lines.iter().find(|line| line.source == source) else {
                continue;
            };
            for (reason, n) in tally::of_trust(line.trust.counters()) {
                counters.reject_many(reason, n);
            }
            if let Some(voting) = &asset.voting {
                let voter = usize::from(voting.voter()) == source;
                (votes, waits) = (votes || voter, waits || !voter);
            }
        }
        for voter in self.assets.resting_votes(source) {
            (votes, waits) = (votes || voter, waits || !voter);
        }
        let state = match (own.garbled, votes, waits) {
            (true, ..) => SourceState::Garbled,
            (_, true, _) => SourceState::Voting,
            (_, _, true) => SourceState::Standby,
            _ => SourceState::Up,
        };
        SourceStatus {
            state,
            rank: self.setup.sources[source].rank,
            sentences: counters.sentences,
            epochs: counters.epochs,
            fixes: counters.fixes,
            rate_hz: own.rate_hz,
            rejects: counters.rejects,
            ..SourceStatus::default()
        }
    }

    /// What waits at this moment.
    pub fn gauges(&self, now: BootTime) -> Gauges {
        let lines = self.assets.iter().flat_map(|asset| &asset.lines);
        let lags = self.assets.iter().filter_map(|asset| {
            let newest = asset.heap.waiting().last()?;
            let mark = asset.heap.watermark().filter(|mark| mark.step == newest.step)?;
            Some((newest.time - mark.time).secs_f64())
        });
        let stale = self.assets.iter().filter(|own| self.is_stale(own, now));
        Gauges {
            held: lines.map(|line| line.trust.waiting() as u64).sum(),
            waiting: self.waiting,
            waiting_max: self.waiting_max,
            watermark_lag_s: lags.fold(0.0, f64::max),
            live_pairs: self.pair_tables().map(|table| table.len() as u64).sum(),
            pending_pairs: self.pair_tables().map(|table| u64::from(table.running())).sum(),
            pending_age: self.pending_age(now).status(),
            stale_assets: (stale.count() + self.assets.stale_away(now)) as u64,
            assets_in_memory: self.assets.here() as u64,
            assets_in_store: self.assets.away() as u64,
        }
    }

    fn pair_tables(&self) -> impl Iterator<Item = &PairTable> {
        self.assets.iter().map(|asset| &asset.crossing.pairs.table)
    }

    /// How long each running vote has been running.
    fn pending_age(&self, now: BootTime) -> Histogram {
        let mut ages = Histogram::default();
        for ballot in self.wheel.iter() {
            let asset = self.assets.get(ballot.asset as usize);
            if asset.is_some_and(|own| own.crossing.pairs.table.is_running(ballot.begun)) {
                ages.note(now - ballot.since);
            }
        }
        ages
    }

    /// Whether the asset has been silent for longer than its limit as of now.
    fn is_stale(&self, asset: &Asset, now: BootTime) -> bool {
        let limit = self.limit_of(asset);
        asset.last.is_none_or(|(_, at)| now - at > limit)
    }

    /// The asset's silence limit as of now.
    pub(super) fn limit_of(&self, asset: &Asset) -> Span {
        let decide = &self.setup.decide;
        let source = asset.lines.first().map_or(0, |line| line.source);
        let interval = self.setup.sources.get(source).map_or(decide.stale_after, |s| s.interval);
        let rules = GateRules {
            max_accuracy_m: decide.max_accuracy_m,
            max_speed_mps: decide.max_speed_mps,
            stale_after: decide.stale_after,
            interval,
        };
        asset.gate.silence_limit(&rules)
    }

    /// How long fixes took until they were released, and until they were decided on.
    pub fn latency(&self) -> [&Histogram; 2] {
        [&self.released, &self.decided]
    }

    /// The assets, in the order they were first heard.
    pub fn asset_status(&self, now: BootTime) -> Vec<AssetStatus> {
        self.assets.iter().take(ASSETS_SHOWN_MAX).map(|asset| self.one(asset, now)).collect()
    }

    fn one(&self, asset: &Asset, now: BootTime) -> AssetStatus {
        let remembered = &asset.crossing.remembered;
        let silent = asset.last.map(|(_, at)| now - at);
        let fix = asset.last.map(|(fix, _)| fix);
        AssetStatus {
            asset: asset.id.to_string(),
            position: remembered.last.map(|l| Place::new(l.position, Some(l.accuracy_m))),
            speed_mps: fix.and_then(|fix| fix.speed_mps).map(f64::from),
            time: remembered.last_seen,
            time_quality: fix.map(|fix| fix.time_quality),
            heard_s_ago: silent.map(Span::secs_f64),
            stale: self.is_stale(asset, now),
            live_pairs: asset.crossing.pairs.table.len() as u32,
            inside: self.inside(asset),
            votes: self.votes(asset),
            evaluating: remembered.first.is_some(),
        }
    }

    fn inside(&self, asset: &Asset) -> Vec<InsideStatus> {
        let shown = asset.crossing.pairs.visits.iter().map(|(ix, visit)| InsideStatus {
            zone: self.ground.zone(*ix).key.to_string(),
            visit: visit.id.clone(),
            since: visit.dwell_from,
            dwell_sent: visit.dwell_sent,
        });
        shown.collect()
    }

    fn votes(&self, asset: &Asset) -> Vec<VoteStatus> {
        let now = asset.crossing.remembered.last_seen.unwrap_or(EventTime::from_nanos(0));
        let running = asset.crossing.pairs.table.votes();
        let mut running: Vec<_> = running.filter(|(_, votes)| now <= votes.deadline).collect();
        running.sort_by_key(|(zone, _)| *zone);
        let shown = running.into_iter().map(|(ix, votes)| {
            let zone = self.ground.zone(ix);
            VoteStatus {
                zone: zone.key.to_string(),
                entering: votes.side == Side::Inside,
                votes: votes.count,
                needed: zone.confirm,
                first: votes.first,
                lapses: votes.deadline,
            }
        });
        shown.collect()
    }
}
