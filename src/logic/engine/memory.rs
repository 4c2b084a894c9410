//! Which assets are in memory, and how one that is not comes back (PAIR-5, §8).
//!
//! Always holds: an asset keeps its number for the life of the engine, wherever its state is, so
//! that nothing that happens depends on who was in memory; what left comes back as it was: what a
//! row holds from the row, what only this run may know (boot times, clocks, the fix used last)
//! from a rest that stays here. It is no start: no step, no gap, no reconciliation comes of it.
//! Does not know: how rows are stored; who calls sees to it that they are.

use std::collections::HashMap;
use std::ops::{Index, IndexMut};

use super::asset::{Asset, Line};
use super::durable::StoredAsset;
use super::intake::Whose;
use super::reconcile::Reconcile;
use super::{Engine, start};
use crate::logic::crossing::table::Begun;
use crate::logic::event::{Body, Kind, SnapshotZone};
use crate::logic::gnss::Fix;
use crate::logic::gnss::record::Record;
use crate::logic::gnss::trust::{AssetClock, Resting, Trust};
use crate::logic::gnss::voting::Voting;
use crate::logic::group::Rows;
use crate::units::{AssetId, BootTime, EventTime, Span};

/// Assets in memory: 3 kB each, so 30 MB, and more than a site's gateway hears in an hour. Those
/// that were heard since the last commit stay beyond it; the others cost 0.6 kB.
pub const ASSETS_IN_MEMORY: usize = 10_000;

/// Of the bound one part in so many is freed at a time, so that not every commit looks for whom
/// to forget.
const SLACK_DIVISOR: usize = 8;

/// Every asset of this engine, by its number.
#[derive(Debug, Default)]
pub(super) struct Assets {
    /// None where it is only in the store.
    places: Vec<Option<Box<Asset>>>,
    /// What the store does not have of those; none of those not heard in this run.
    resting: HashMap<usize, Box<Rest>>,
    here: usize,
}

impl Assets {
    /// How many there are, in memory or not.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }
    /// How many are in memory.
    pub(super) fn here(&self) -> usize {
        self.here
    }
    /// How many are not.
    pub(super) fn away(&self) -> usize {
        self.places.len() - self.here
    }
    /// One more; gives its number.
    pub(super) fn push(&mut self, asset: Asset) -> usize {
        self.here += 1;
        self.places.push(Some(Box::new(asset)));
        self.places.len() - 1
    }
    fn push_stored(&mut self) {
        self.places.push(None);
    }
    fn put(&mut self, number: usize, asset: Asset) {
        let before = self.places[number].replace(Box::new(asset));
        assert!(before.is_none(), "nobody wants what is here");
        self.here += 1;
    }
    fn take(&mut self, number: usize) -> Option<Box<Asset>> {
        let asset = self.places[number].take();
        self.here -= usize::from(asset.is_some());
        asset
    }
    /// Whether it is in memory.
    pub(super) fn has(&self, number: usize) -> bool {
        self.places[number].is_some()
    }
    /// One, if it is in memory.
    #[inline]
    pub(super) fn get(&self, number: usize) -> Option<&Asset> {
        self.places[number].as_deref()
    }
    /// The same, to change it.
    #[inline]
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Asset> {
        self.places[number].as_deref_mut()
    }
    /// All that are in memory, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Asset> {
        self.places.iter().filter_map(Option::as_deref)
    }
    /// The same, to change them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Asset> {
        self.places.iter_mut().filter_map(Option::as_deref_mut)
    }
    /// Which sources vote, or wait to, for those that are not in memory (ORD-4).
    pub(super) fn resting_votes(&self, source: usize) -> impl Iterator<Item = bool> {
        self.resting.values().filter_map(move |rest| {
            let voting = rest.voting.as_ref()?;
            let own = rest.lines.iter().any(|(line, _)| *line == source);
            own.then(|| usize::from(voting.voter()) == source)
        })
    }
    /// How many that are not in memory have been silent for longer than their limit at `now`.
    pub(super) fn stale_away(&self, now: BootTime) -> usize {
        let alive = |rest: &Rest| rest.last.is_some_and(|(_, at)| now - at <= rest.limit);
        self.away() - self.resting.values().filter(|rest| alive(rest)).count()
    }
}

impl Index<usize> for Assets {
    type Output = Asset;
    #[inline]
    fn index(&self, number: usize) -> &Asset {
        self.get(number).expect("only an asset in memory is decided on")
    }
}

impl IndexMut<usize> for Assets {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut Asset {
        self.get_mut(number).expect("only an asset in memory is decided on")
    }
}

/// What its rows do not say of an asset: what the store must not keep, because it means something
/// in this run only.
#[derive(Debug)]
pub(super) struct Rest {
    id: AssetId,
    clock: AssetClock,
    lines: Box<[(usize, Resting)]>,
    voting: Option<Box<Voting>>,
    reconcile: Option<Box<Reconcile>>,
    initialised_outside: u32,
    heard: BootTime,
    last: Option<(Fix, BootTime)>,
    last_seen: Option<EventTime>,
    /// The silence limit.
    limit: Span,
    watched: bool,
    stale: bool,
}

/// What came of a silence that nobody ended (PAIR-5).
pub(super) enum Patience {
    /// It lasts until then.
    Until(BootTime),
    /// It has ended.
    Over { id: AssetId, last_seen: Option<EventTime>, silence: Span },
}

/// A record whose asset is not in memory, and what came with it.
#[derive(Debug)]
pub(super) struct Parked {
    pub(super) source: usize,
    pub(super) at: BootTime,
    pub(super) id: AssetId,
    pub(super) record: Record<Whose>,
    /// Lines behind it.
    pub(super) rest: Vec<u8>,
}

/// What an id stands for.
pub(super) enum Known {
    /// An asset in memory.
    Here(usize),
    /// One that is only in the store.
    Away,
    /// One too many.
    TooMany,
}

impl Asset {
    /// Whether all of it is in rows or may rest; that those are stored, whoever asks sees to.
    fn is_clean(&self) -> bool {
        let believed = self.crossing.remembered.last;
        let same = |(fix, _): (Fix, BootTime)| {
            believed.is_some_and(|heard| heard.time == fix.time && heard.position == fix.position)
        };
        !self.dirty
            && self.heap.is_empty()
            && self.alarm.is_none()
            && self.crossing.pairs.table.running() == 0
            && self.lines.iter().all(|line| line.trust.is_settled())
            && self.last.is_none_or(same)
    }

    fn rest(self, limit: Span) -> Rest {
        let lines = self.lines.into_iter().map(|line| (line.source, line.trust.rest()));
        Rest {
            id: self.id,
            clock: self.clock,
            lines: lines.collect(),
            voting: self.voting,
            reconcile: self.reconcile.map(Box::new),
            initialised_outside: self.crossing.initialised_outside,
            heard: self.heard,
            last: self.last,
            last_seen: self.crossing.remembered.last_seen,
            limit,
            watched: self.watched,
            stale: self.stale,
        }
    }

    /// As it was before it rested; `self` is what its rows say.
    fn wake(self, rest: Rest) -> Self {
        let lines = rest.lines.into_iter();
        let lines = lines.map(|(source, clock)| Line { source, trust: Trust::wake(clock) });
        let mut crossing = self.crossing;
        crossing.initialised_outside = rest.initialised_outside;
        // It rested only when the last of its votes had been swept (PAIR-4): they stay so.
        let votes: Vec<_> = crossing.pairs.table.votes().collect();
        for (zone, votes) in votes {
            crossing.pairs.table.sweep(Begun { zone, deadline: votes.deadline });
        }
        Self {
            clock: rest.clock,
            lines: lines.collect(),
            voting: rest.voting,
            reconcile: rest.reconcile.map(|reconcile| *reconcile),
            heard: rest.heard,
            last: rest.last,
            watched: rest.watched,
            stale: rest.stale,
            crossing,
            ..self
        }
    }
}

impl Engine {
    /// How many assets are in memory, and how many only in the store.
    pub fn in_memory(&self) -> (usize, usize) {
        (self.assets.here(), self.assets.away())
    }

    /// Whether an asset is known and not in memory.
    pub fn lacks(&self, id: &AssetId) -> bool {
        self.by_id.get(id).is_some_and(|number| !self.assets.has(*number))
    }

    /// The asset that the engine cannot go on without: [`Engine::recall`] it before anything else
    /// is said. Ask after the first commit of a start, and after every input.
    pub fn wants(&self) -> Option<&AssetId> {
        let parked = self.parked.as_deref().map(|parked| &parked.id);
        let lacking = || self.wants_configured.then(|| self.lacks_configured()).flatten();
        parked.or_else(lacking)
    }

    /// Epochs come for the configured assets at any time, and they are few: they stay in memory.
    pub(super) fn lacks_configured(&self) -> Option<&AssetId> {
        self.setup.sources.iter().map(|source| &source.asset).find(|id| self.lacks(id))
    }

    /// Takes back what [`Engine::wants`], and goes on with the input that spoke of it.
    pub fn recall(&mut self, rows: Rows) -> super::Step {
        let number = self.by_id.get(&rows.asset.asset).copied();
        let number = number.expect("whom the engine wants it knows");
        let stored = self.brought_up(rows, false);
        let asset = if let Some(rest) = self.assets.resting.remove(&number) {
            stored.wake(*rest)
        } else {
            self.set_wheel(number, &stored);
            stored
        };
        self.assets.put(number, asset);
        self.wants_configured = self.wants_configured && self.lacks_configured().is_some();
        let own = self.parked.take_if(|parked| self.by_id.get(&parked.id) == Some(&number));
        if let Some(parked) = own {
            self.resume(*parked);
        }
        std::mem::take(&mut self.step)
    }

    /// Forgets those silent for longest, if there are more than `most` in memory and their rows
    /// are all there is to know. To be called only when everything that [`Engine::take_rows`]
    /// ever gave is stored.
    pub fn forget(&mut self, most: usize) {
        if self.assets.here() <= most {
            return;
        }
        let surplus = self.assets.here() - (most - most / SLACK_DIVISOR);
        let sources = &self.setup.sources;
        let configured = |asset: &Asset| sources.iter().any(|source| source.asset == asset.id);
        let silent = (0..self.assets.len()).filter_map(|number| {
            let asset = self.assets.get(number)?;
            (asset.is_clean() && !configured(asset)).then_some((asset.heard, number))
        });
        let mut silent: Vec<_> = silent.collect();
        silent.sort_unstable();
        for (_, number) in silent.into_iter().take(surplus) {
            self.put_away(number);
        }
    }

    fn put_away(&mut self, number: usize) {
        let limit = self.limit_of(&self.assets[number]);
        let Some(asset) = self.assets.take(number) else { return };
        if asset.lines.is_empty() {
            return;
        }
        for line in &asset.lines {
            let counters = line.trust.counters();
            self.counters.add_trust(&counters);
            let own = &mut self.sources[line.source].tally.counters;
            for (reason, n) in super::tally::of_trust(counters) {
                own.reject_many(reason, n);
            }
        }
        self.assets.resting.insert(number, Box::new(asset.rest(limit)));
    }

    /// Whether the layers have changed since assets were left in the store: each must pass.
    pub fn must_pass(&self) -> bool {
        self.must_pass
    }

    /// Puts one more asset that was left in the store under the layers in force, in the order of
    /// their ids; what changes of it goes with the next rows.
    pub fn pass(&mut self, rows: Rows) {
        let mut asset = self.brought_up(rows, true);
        asset.rows(&self.ground, self.runs.this, &mut self.group);
    }

    /// All have passed.
    pub fn passed(&mut self) {
        self.must_pass = false;
    }

    /// Assets that a start leaves in the store.
    pub(super) fn leave_in_store(&mut self, ids: impl Iterator<Item = AssetId>) {
        for id in ids {
            self.by_id.insert(id, self.assets.len());
            self.assets.push_stored();
        }
    }

    /// Whether an asset that is not in memory is still waited for.
    pub(super) fn patience(&mut self, number: usize, now: BootTime) -> Option<Patience> {
        let rest = self.assets.resting.get_mut(&number)?;
        let (_, at) = rest.last?;
        if now - at < rest.limit {
            return Some(Patience::Until(at + rest.limit));
        }
        (rest.watched, rest.stale) = (false, true);
        let (id, last_seen) = (rest.id.clone(), rest.last_seen);
        Some(Patience::Over { id, last_seen, silence: now - at })
    }

    /// `membership_snapshot` of every asset with an id behind `after` and not behind `up_to`, each
    /// as of its own number. `stored` are the rows of those that the engine lacks.
    pub fn snapshot(
        &mut self,
        after: Option<&AssetId>,
        up_to: Option<&AssetId>,
        stored: &[Rows],
    ) -> super::Step {
        let wanted = |id: &AssetId| {
            after.is_none_or(|after| id > after) && up_to.is_none_or(|up_to| id <= up_to)
        };
        let here = self.assets.iter().filter(|asset| wanted(&asset.id));
        let mut bodies: Vec<_> =
            here.map(|asset| (asset.id.clone(), asset.snapshot(&self.ground))).collect();
        let away = stored.iter().filter(|rows| self.lacks(&rows.asset.asset));
        bodies.extend(away.map(|rows| (rows.asset.asset.clone(), snapshot_of(rows))));
        bodies.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (_, body) in bodies {
            self.emit(Kind::MembershipSnapshot, body);
        }
        std::mem::take(&mut self.step)
    }
}

/// The full set of zones of an asset that is not in memory.
fn snapshot_of(rows: &Rows) -> Body {
    let stored: StoredAsset = start::read("asset", &rows.asset.state);
    let zones = rows.pairs.iter().filter_map(|row| {
        let key = &row.key.zone;
        let visit = row.visit.clone()?;
        Some(SnapshotZone { layer: key.layer.clone(), zone: key.zone.clone(), visit })
    });
    Body {
        asset: Some(rows.asset.asset.clone()),
        confirmed_at: stored.crossing.last_seen,
        zones: Some(zones.collect()),
        ..Body::default()
    }
}
