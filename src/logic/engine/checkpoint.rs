//! What a restart on the same boot goes on with (STO-3): what rows do not hold because it means
//! something on this boot only (clocks, votes between sources, fixes that wait), and the rows
//! that changed since the last commit.
//!
//! Always holds: a checkpoint is taken whole or not at all, and only for the very boot, stream and
//! commit it was made after, by the same software over the same inputs; whatever else is in the
//! file gives a reason, never a panic. It is a start all the same: one restart is noted for every
//! asset, and each is reconciled.
//! Does not know: where it is kept, and when.
//!
//! What a source has half read is not in it: those bytes come to an end with the process.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::alarms::Due;
use super::asset::{Asset, Line};
use super::intake::{Carried, Ordered};
use super::{Birth, Engine, Setup};
use crate::logic::gnss::Fix;
use crate::logic::gnss::trust::{AssetClock, Trust};
use crate::logic::gnss::voting::Voting;
use crate::logic::group::{AssetRow, CommitNumber, Ended, Group, PairKey, PairRow, Restored, Rows};
use crate::logic::hash;
use crate::logic::order::{Entry, Heap, Watermark};
use crate::units::{AssetId, BootTime, Span, StreamId};

/// The longest checkpoint: 10,000 assets at some 1.5 kB. Beyond it none is made.
pub const CHECKPOINT_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// A run that lived no longer than this may have been ended by what it had taken up.
const LOOP_SPAN: Span = Span::from_secs(60);
/// So many in a row are a loop.
const LOOP_RUNS: usize = 2;

/// What it opens with: whose it is, and the format.
const MAGIC: &str = "geofenced checkpoint 1 ";

/// For whom a checkpoint is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Pedigree {
    boot_id: String,
    stream: String,
    commit: CommitNumber,
    software: Option<String>,
    /// Stands for the sources and the rules of time: what is kept of clocks is by their place.
    inputs: u64,
}

impl Pedigree {
    fn new(boot_id: &str, stream: &StreamId, commit: CommitNumber, setup: &Setup) -> Self {
        let inputs = format!("{:?} {:?}", setup.sources, setup.time);
        Self {
            boot_id: boot_id.to_owned(),
            stream: stream.to_string(),
            commit,
            software: setup.software.clone(),
            inputs: hash::short(inputs.as_bytes()),
        }
    }
}

/// Why a checkpoint is not gone on with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ignored {
    /// Not ours, torn, or not as it was written.
    #[error("it is not whole")]
    Broken,
    /// Of another boot of this machine.
    #[error("it is of another boot")]
    OtherBoot,
    /// Of another store.
    #[error("it is of another store")]
    OtherStream,
    /// The store is not where it was.
    #[error("it goes on from another commit than the store's last")]
    OtherCommit,
    /// By another release, or with other sources.
    #[error("it is of another release or configuration")]
    OtherSetup,
    /// Other layers are in force than when it was made.
    #[error("the layers have changed since")]
    OtherLayers,
    /// Two runs died soon after their start: it may be what it holds.
    #[error("the last runs died soon after their start")]
    CrashLoop,
}

/// Whether a start may go on with a checkpoint at all: not after two runs in a row that died
/// within 60 s on this boot. `ended` are the runs before, newest first.
pub fn checkpoint_allowed(ended: &[Ended], birth: &Birth) -> bool {
    let mut next = birth.boot;
    let died_young = ended.iter().take_while(|run| {
        // What was durable last says little: a run may live for long and commit nothing.
        let young = next - run.started <= LOOP_SPAN;
        next = run.started;
        !run.clean && run.boot_id == birth.boot_id && young
    });
    died_young.count() < LOOP_RUNS
}

/// A checkpoint that is this start's.
#[derive(Debug)]
pub struct Checkpoint {
    /// When it was made.
    pub taken: BootTime,
    assets: Vec<Part<'static>>,
}

/// All of it but whose it is.
#[derive(Serialize, Deserialize)]
struct Body<'a> {
    taken: BootTime,
    assets: Vec<Part<'a>>,
}

/// One asset.
#[derive(Debug, Serialize, Deserialize)]
struct Part<'a> {
    id: Cow<'a, AssetId>,
    clock: AssetClock,
    lines: Vec<(usize, Cow<'a, Trust<Carried>>)>,
    voting: Option<Cow<'a, Voting>>,
    watermark: Option<Watermark>,
    waiting: Vec<Entry<Ordered>>,
    heard: BootTime,
    last: Option<(Fix, BootTime)>,
    watched: bool,
    stale: bool,
    /// When its silence is asked about.
    silence: Option<BootTime>,
    /// What the store does not have of it yet.
    row: Option<AssetRow>,
    pairs: Vec<PairRow>,
    gone: Vec<PairKey>,
}

impl Checkpoint {
    /// The checkpoint in `bytes`, if this start may go on with it.
    pub fn open(
        bytes: &[u8],
        setup: &Setup,
        restored: &Restored,
        birth: &Birth,
    ) -> Result<Self, Ignored> {
        let text = std::str::from_utf8(bytes).map_err(|_| Ignored::Broken)?;
        let text = text.strip_prefix(MAGIC).ok_or(Ignored::Broken)?;
        let (sum, rest) = text.split_once('\n').ok_or(Ignored::Broken)?;
        if sum != checksum(rest) {
            return Err(Ignored::Broken);
        }
        let (whose, body) = rest.split_once('\n').ok_or(Ignored::Broken)?;
        let whose: Pedigree = serde_json::from_str(whose).map_err(|_| Ignored::Broken)?;
        // A store that is new has none to go on from.
        let commit = restored.last_commit.ok_or(Ignored::OtherCommit)?;
        let own = Pedigree::new(&birth.boot_id, &restored.stream, commit, setup);
        if whose.boot_id != own.boot_id {
            return Err(Ignored::OtherBoot);
        }
        if whose.stream != own.stream {
            return Err(Ignored::OtherStream);
        }
        if whose.commit != own.commit || !restored.left.is_empty() {
            return Err(Ignored::OtherCommit);
        }
        if whose != own {
            return Err(Ignored::OtherSetup);
        }
        if !checkpoint_allowed(&restored.ended, birth) {
            return Err(Ignored::CrashLoop);
        }
        let Body { taken, assets } = serde_json::from_str(body).map_err(|_| Ignored::Broken)?;
        let known = |part: &Part<'_>| part.lines.iter().all(|(ix, _)| *ix < setup.sources.len());
        if !assets.iter().all(known) {
            return Err(Ignored::Broken);
        }
        Ok(Self { taken, assets })
    }

    /// How many assets it is about.
    pub fn assets(&self) -> usize {
        self.assets.len()
    }
}

fn checksum(text: &str) -> String {
    format!("{:016x}", hash::short(text.as_bytes()))
}

impl Asset {
    fn part(&self, run: u64, engine: &Engine, silence: Option<BootTime>) -> Part<'_> {
        let mut rows = self.rows_seen(&engine.ground, run);
        Part {
            id: Cow::Borrowed(&self.id),
            clock: self.clock,
            lines: self.lines.iter().map(|l| (l.source, Cow::Borrowed(&l.trust))).collect(),
            voting: self.voting.as_deref().map(Cow::Borrowed),
            watermark: self.heap.watermark(),
            waiting: self.heap.waiting().copied().collect(),
            heard: self.heard,
            last: self.last,
            watched: self.watched,
            stale: self.stale,
            silence,
            row: rows.assets.pop(),
            pairs: rows.pairs,
            gone: rows.pairs_gone,
        }
    }
}

impl Engine {
    /// The checkpoint as of now, which goes on from `commit`; none where something was decided
    /// that is not in the store, or where assets were left to it alone: with so many the store is
    /// written every second, and a start goes on from that.
    pub fn checkpoint(
        &self,
        boot_id: &str,
        commit: CommitNumber,
        now: BootTime,
    ) -> Option<Vec<u8>> {
        let settled = self.parked.is_none() && self.step.events.is_empty();
        if !settled || !self.group.is_empty() || self.assets.away() > 0 || self.must_pass {
            return None;
        }
        let silences = self.alarms.iter().filter_map(|(deadline, due)| match due {
            Due::Silence(asset) => Some((asset, deadline)),
            Due::Source(_) | Due::Asset(_) => None,
        });
        let silences: HashMap<usize, BootTime> = silences.collect();
        let assets = (0..self.assets.len()).filter_map(|number| {
            let asset = self.assets.get(number)?;
            Some(asset.part(self.runs.this, self, silences.get(&number).copied()))
        });
        let body = Body { taken: now, assets: assets.collect() };
        let whose = Pedigree::new(boot_id, &self.numbers.stream, commit, &self.setup);
        let mut text = serde_json::to_string(&whose).ok()?;
        text.push('\n');
        text.push_str(&serde_json::to_string(&body).ok()?);
        let text = format!("{MAGIC}{}\n{text}", checksum(&text));
        (text.len() as u64 <= CHECKPOINT_BYTES_MAX).then(|| text.into_bytes())
    }

    /// Takes up what the store gave back and goes on from the checkpoint. The layers are as they
    /// were, and no asset was left in the store.
    pub(super) fn resume_from(&mut self, restored: Restored, checkpoint: Checkpoint) {
        let mut stored: BTreeMap<AssetId, Rows> = BTreeMap::new();
        for asset in restored.assets {
            stored.insert(asset.asset.clone(), Rows { asset, pairs: Vec::new() });
        }
        for row in restored.pairs {
            let own = stored.get_mut(&row.key.asset);
            own.expect("a pair's asset is stored with it (STO-1)").pairs.push(row);
        }
        for part in checkpoint.assets {
            let rows = stored.remove(part.id.as_ref());
            let asset = self.resumed(part, rows);
            self.set_wheel(self.assets.len(), &asset.0);
            self.add_resumed(asset);
        }
        // Of assets that nobody spoke of since the last start.
        for rows in stored.into_values() {
            let asset = self.brought_up(rows, false);
            self.set_wheel(self.assets.len(), &asset);
            self.add_asset(asset);
        }
    }

    fn add_resumed(&mut self, (asset, silence): (Asset, Option<BootTime>)) {
        let alarm = asset.alarm;
        self.waiting += asset.heap.len() as u64;
        let number = self.add_asset(asset);
        if let Some(alarm) = alarm {
            self.alarms.set(alarm, Due::Asset(number));
        }
        if let Some(silence) = silence {
            self.alarms.set(silence, Due::Silence(number));
        }
    }

    /// One asset as it was, and when its silence is asked about.
    fn resumed(&mut self, part: Part<'_>, stored: Option<Rows>) -> (Asset, Option<BootTime>) {
        let id = part.id.into_owned();
        let dirty = part.row.is_some();
        let assets: Vec<AssetRow> = part.row.into_iter().collect();
        let first = || assets.first().cloned().map(|asset| Rows { asset, pairs: Vec::new() });
        let rows = stored.or_else(first);
        let later = Group { pairs: part.pairs, pairs_gone: part.gone, assets, ..Group::default() };
        let mut asset = match rows {
            Some(mut rows) => {
                later.overlay(&mut rows);
                self.brought_up(rows, false)
            }
            // Heard, and nothing decided yet.
            None => Asset::new(id, &self.setup, &self.ground, part.heard),
        };
        asset.dirty |= dirty;
        let place = |key: &PairKey| self.ground.find(&key.zone.layer, &key.zone.zone);
        for zone in later.pairs.iter().filter_map(|row| place(&row.key)) {
            asset.crossing.pairs.table.mark_stored(zone);
        }
        for zone in later.pairs_gone.iter().filter_map(place) {
            asset.crossing.note_gone(zone);
        }
        let lines = part.lines.into_iter();
        let lines = lines.map(|(source, trust)| Line { source, trust: trust.into_owned() });
        let mut heap = Heap::new(part.watermark);
        for entry in part.waiting {
            // In the order they had: each is taken as it was.
            let _ = heap.push(entry, &mut self.spares);
        }
        let resumed = Asset {
            clock: part.clock,
            lines: lines.collect(),
            voting: part.voting.map(|voting| Box::new(voting.into_owned())),
            alarm: heap.next_deadline(),
            heap,
            heard: part.heard,
            last: part.last,
            watched: part.watched,
            stale: part.stale,
            ..asset
        };
        (resumed, part.silence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// STO-3: `(clean, same boot, started)` of the runs before, newest first; now is 1,000 s.
    #[test]
    fn sto_3_two_that_died_young_are_a_loop() {
        let at = |s| BootTime::from_nanos(0) + Span::from_secs(s);
        let birth = Birth {
            boot: at(1000),
            boot_id: "now".to_owned(),
            wall: crate::units::WallTime::from_nanos(0),
            reload: false,
        };
        let check = |runs: &[(bool, bool, i64)], allowed: bool| {
            let ended = runs.iter().map(|(clean, same, started)| Ended {
                boot_id: if *same { "now" } else { "before" }.to_owned(),
                started: at(*started),
                clean: *clean,
            });
            let ended: Vec<Ended> = ended.collect();
            assert_eq!(checkpoint_allowed(&ended, &birth), allowed, "{runs:?}");
        };
        check(&[], true);
        check(&[(false, true, 990)], true);
        check(&[(false, true, 990), (false, true, 980)], false);
        check(&[(false, true, 940), (false, true, 880)], false);
        check(&[(false, true, 990), (false, true, 900)], true);
        check(&[(false, true, 900), (false, true, 890)], true);
        check(&[(true, true, 990), (false, true, 980)], true);
        check(&[(false, true, 990), (true, true, 980)], true);
        check(&[(false, true, 990), (false, false, 980)], true);
    }
}
