//! All pairs of one asset: which zones a fix touches, what it does to each, what came of it.
//!
//! Always holds: a zone without a pair here is either evaluated and clearly outside at the last
//! fix (PAIR-5), or still part of the common first evaluation (PAIR-6); only a pair has a visit
//! or a pass. Does not know: event numbers, stores, other assets.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bracket::{Context, RESTARTS_MAX, Restart};
use super::first::{self, FirstEvaluation};
use super::ground::{ActiveZone, Asked, Ground};
use super::machine::Commit;
use super::observe::Side;
use super::pair::{Before, Measured, Pair, Seen};
use super::pass::PassTrack;
use super::silences::{Silence, Silences};
use super::slot::Slot;
use super::table::{Begun, PairTable};
use super::turn::{Outcome, Turn};
use crate::logic::config::Decide;
use crate::logic::event::{Entered, GapCause};
use crate::units::{EventTime, LayerId, Position, Span};

/// A usable measured fix as the machine takes it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Heard {
    /// When.
    pub time: EventTime,
    /// Where.
    pub position: Position,
    /// 68 % radius.
    pub accuracy_m: f64,
}

/// From the event that made a membership inside to the one that ends it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Visit {
    /// The id of the opening event.
    pub id: String,
    /// When it began.
    pub entered: Entered,
    /// The entry's `at`, else its `confirmed_at`: dwell counts from here.
    pub dwell_from: EventTime,
    /// Whether `fence_dwell` has been sent: once a visit.
    pub dwell_sent: bool,
}

/// The pairs of one asset, and what some of them have besides.
#[derive(Debug, Default)]
pub struct Pairs {
    /// What the machine remembers of each.
    pub table: PairTable,
    /// The visits of those that are inside.
    pub visits: BTreeMap<u32, Visit>,
    /// The paths past zones that ask for passes.
    pub passes: BTreeMap<u32, PassTrack>,
}

impl Pairs {
    /// Forgets one. Gives whether the store has a row of it.
    fn forget(&mut self, zone: u32) -> bool {
        self.visits.remove(&zone);
        self.passes.remove(&zone);
        self.table.remove(zone).unwrap_or(false)
    }
    /// Whether the next fix may complete a pass of this zone.
    pub fn may_pass(&self, zone: u32) -> bool {
        self.passes.get(&zone).is_some_and(PassTrack::is_open)
    }
}

/// A pair as a start finds it.
#[derive(Debug)]
pub struct Kept {
    /// Place in [`Ground::zones`].
    pub zone: u32,
    /// What the machine remembers.
    pub pair: Pair,
    /// The visit, while inside.
    pub visit: Option<Visit>,
    /// The path past the zone, where it asks for passes.
    pub pass: Option<PassTrack>,
    /// Not as its row says.
    pub changed: bool,
}

/// What one fix needs and the next does not: whoever runs many assets has one for all.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Votes that began to run, for the wheel.
    pub begun: Vec<Begun>,
    /// Zones that the fix's reach touches.
    candidates: Vec<u32>,
    /// Zones that the line to it touches, or that have a pair.
    zones: Vec<u32>,
}

/// What came of one fix for one zone.
#[derive(Clone, PartialEq, Debug)]
pub struct Happening {
    /// The zone.
    pub zone: u32,
    /// What.
    pub what: What,
}

/// The kinds of happening.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// A membership was decided; with the visit that it ends.
    Crossed(Commit, Option<Visit>),
    /// A visit has lasted the zone's dwell.
    Dwelt {
        /// The deadline, which is the event's time.
        at: EventTime,
        /// The visit.
        visit: Visit,
    },
    /// The path crossed the zone with too few fixes inside.
    Passed {
        /// First inside.
        entered: EventTime,
        /// Last inside.
        left: EventTime,
        /// The last fix clearly outside before.
        not_before: EventTime,
        /// The first fix clearly outside after.
        not_after: EventTime,
    },
}

/// What is made durable of an asset beside its pairs.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// The last usable measured fix.
    pub last: Option<Heard>,
    /// The last time the asset was heard, dead reckoning included.
    pub last_seen: Option<EventTime>,
    /// The longest silence since the last measured fix.
    pub unheard: Option<Silence>,
    /// The first evaluation of all zones that have no pair of their own, while it runs.
    pub first: Option<FirstEvaluation>,
    /// Per layer the generation whose zones have been evaluated (PAIR-6).
    pub evaluated: Vec<(LayerId, u64)>,
    /// The same as it was after the asset's very first evaluation; none before it.
    pub born: Option<Vec<(LayerId, u64)>>,
    /// Starts of the daemon in this asset's life, the newest last.
    pub restarts: Vec<Restart>,
    /// Its long silences, for every bracket that is open.
    #[serde(skip_serializing_if = "Silences::is_empty")]
    pub silences: Silences,
}

impl Remembered {
    /// Other layers are in force than at the last fix. What is remembered of one that is gone
    /// must not speak for another that bears its name later; and fixes from before a zone was
    /// drawn are no votes on it.
    pub fn layers_changed(&mut self, ground: &Ground) {
        let in_force = |id: &LayerId| ground.layers().iter().any(|layer| layer.id == *id);
        self.evaluated.retain(|(id, _)| in_force(id));
        if let Some(born) = &mut self.born {
            born.retain(|(id, _)| in_force(id));
        }
        self.first = None;
    }
}

/// One asset's crossing state.
#[derive(Debug, Default)]
pub struct AssetCrossing {
    /// What is durable beside the pairs.
    pub remembered: Remembered,
    /// Its pairs.
    pub pairs: Pairs,
    gone: Vec<u32>,
    displaced: bool,
    /// How many zones a first evaluation found outside since this was last asked.
    pub initialised_outside: u32,
    /// How many votes were cast and dropped again since this was last asked.
    pub reversals: u32,
}

/// The limits that follow from the asset's interval and the rules, for one fix.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// FIX-4.
    pub interval: Span,
    /// S.
    pub silence: Span,
}

impl AssetCrossing {
    /// An asset as a start finds it; every pair has a row.
    pub fn restored(remembered: Remembered, kept: Vec<Kept>) -> Self {
        let mut pairs = Pairs::default();
        for Kept { zone, pair, visit, pass, changed } in kept {
            pairs.table.put(zone, &pair, true);
            if changed {
                pairs.table.mark_stored(zone);
            }
            pairs.visits.extend(visit.map(|visit| (zone, visit)));
            pairs.passes.extend(pass.map(|pass| (zone, pass)));
        }
        Self { remembered, pairs, ..Self::default() }
    }

    /// The visit of a pair that has just become inside.
    pub fn open_visit(&mut self, zone: u32, visit: Visit) {
        self.pairs.visits.insert(zone, visit);
    }

    /// Notes that the daemon has started again since this asset was last heard.
    pub fn restarted(&mut self, cause: GapCause) {
        let Some(after) = self.remembered.last_seen else { return };
        let restarts = &mut self.remembered.restarts;
        if let Some(unheard) = restarts.last_mut().filter(|restart| restart.until.is_none()) {
            // Nothing was heard since the last start: one gap, and that the power was off in it
            // says more than that the daemon was.
            if cause == GapCause::Power {
                unheard.cause = cause;
            }
            return;
        }
        if restarts.len() == RESTARTS_MAX {
            restarts.remove(0);
        }
        restarts.push(Restart { after, until: None, cause, powered_from: None });
    }

    /// The asset was heard: by a usable fix, or by dead reckoning that may end silence.
    pub fn heard(&mut self, time: EventTime, powered_from: Option<EventTime>) {
        let remembered = &mut self.remembered;
        for restart in &mut remembered.restarts {
            // Only a clock that stepped back gets before a restart that it has lived through.
            restart.after = restart.after.min(time);
        }
        if let Some(last_seen) = remembered.last_seen {
            let span = time - last_seen;
            if span > Span::ZERO {
                let silence = Silence { from: last_seen, span };
                remembered.unheard =
                    Some(remembered.unheard.map_or(silence, |before| before.longer(silence)));
            }
        }
        remembered.last_seen = Some(time);
        if let Some(restart) = remembered.restarts.last_mut().filter(|r| r.until.is_none()) {
            restart.until = Some(time);
            if restart.cause == GapCause::Power {
                restart.powered_from = powered_from;
            }
        }
    }

    /// The next fix stands where none was expected (FIX-1): the straight line to it from the last
    /// is no path, so nothing was passed on it.
    pub fn displaced(&mut self) {
        self.displaced = true;
    }

    /// One ordered, usable, measured fix; [`Self::heard`] comes first. Happenings are appended
    /// with exits before entries (B14).
    pub fn fix(
        &mut self,
        ground: &Ground,
        decide: &Decide,
        limits: Limits,
        fix: Heard,
        scratch: &mut Scratch,
        out: &mut Vec<Happening>,
    ) {
        let begin = out.len();
        let displaced = std::mem::take(&mut self.displaced);
        let mut silences = std::mem::take(&mut self.remembered.silences);
        let silence = self.note_silence(&mut silences, decide, fix.time);
        let before = self.remembered.last;
        let turn = Turn {
            decide,
            limits,
            fix: Measured {
                time: fix.time,
                position: fix.position,
                clear_m: 2.0 * fix.accuracy_m,
                before: before.map(|last| Before { time: last.time, position: last.position }),
            },
            accuracy_m: fix.accuracy_m,
            silence,
            context: Context {
                silence_limit: limits.silence,
                infer_limit: decide.infer_limit.unwrap_or(limits.silence),
                restarted_after: self.remembered.restarts.last().map(|restart| restart.after),
                silences: &silences,
            },
            displaced,
        };
        self.begin_first_evaluation(ground, fix.time);
        ground.near(fix.position, ground.reach_m(fix.accuracy_m), &mut scratch.candidates);
        self.bring_candidates_to_life(ground, &turn, &scratch.candidates);
        if !displaced {
            self.bring_crossed_to_life(ground, &turn, &mut scratch.zones);
        }
        let Scratch { begun, zones, candidates } = scratch;
        let mut outcome = Outcome { happenings: out, begun, initialised_outside: 0, reversals: 0 };
        self.pairs.table.zones(zones);
        for &zone in &*zones {
            let place = self.pairs.table.find(zone).expect("no pair comes or goes in a turn");
            turn.step(&mut self.pairs, place, (zone, ground.zone(zone)), &mut outcome);
        }
        self.initialised_outside += outcome.initialised_outside;
        self.reversals += outcome.reversals;
        self.step_first(ground, &turn);
        self.remembered.silences = silences;
        if self.remembered.first.is_none() {
            // Until then only a pair says that its zone has been evaluated.
            self.forget_what_is_away(candidates, zones);
            self.remembered.born.get_or_insert_with(|| self.remembered.evaluated.clone());
        }
        self.remembered.last = Some(fix);
        self.remembered.unheard = None;
        out[begin..].sort_by_key(|happening| (happening.is_entry(), happening.zone));
    }

    /// The longest silence since the last measured fix; kept, where a name may follow from it.
    fn note_silence(&self, silences: &mut Silences, decide: &Decide, now: EventTime) -> Span {
        if self.remembered.last.is_some_and(|last| now < last.time) {
            silences.stepped_back(now);
        }
        let Some(unheard) = self.remembered.unheard else { return Span::ZERO };
        let matters = decide.infer_limit.unwrap_or(decide.stale_after).min(decide.stale_after);
        silences.note(unheard, matters);
        unheard.span
    }

    /// PAIR-5: what is clearly outside and out of reach needs no memory.
    fn forget_what_is_away(&mut self, candidates: &[u32], away: &mut Vec<u32>) {
        away.clear();
        let table = &self.pairs.table;
        away.extend(table.taken().filter(|slot| slot.is_away()).map(Slot::zone));
        for &zone in &*away {
            if self.pairs.may_pass(zone) || candidates.binary_search(&zone).is_ok() {
                continue;
            }
            if self.pairs.forget(zone) {
                self.gone.push(zone);
            }
        }
    }

    /// Zones whose stored pairs were forgotten since this was last asked.
    pub fn take_gone(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.gone)
    }

    /// The same, without taking them.
    pub fn gone(&self) -> &[u32] {
        &self.gone
    }

    /// The store still has a row of a zone whose pair had been forgotten before a restart.
    pub fn note_gone(&mut self, zone: u32) {
        self.gone.push(zone);
    }

    /// The generation of `layer` up to which zones without a pair have been evaluated.
    fn evaluated(&self, layer: &LayerId) -> u64 {
        let found = self.remembered.evaluated.iter().find(|(id, _)| id == layer);
        found.map_or(0, |(_, generation)| *generation)
    }

    /// Whether a zone without a pair is still to be evaluated.
    fn is_new(&self, ground: &Ground, zone: &ActiveZone) -> bool {
        let first = self.remembered.first.as_ref();
        zone.since > self.evaluated(&ground.layers()[zone.layer].id)
            && first.and_then(|first| first.pair(zone)).is_none_or(|pair| pair.committed.is_none())
    }

    /// Begins the common first evaluation where a layer in force has not been answered.
    fn begin_first_evaluation(&mut self, ground: &Ground, now: EventTime) {
        let behind = |l: &super::ground::ActiveLayer| self.evaluated(&l.id) < l.generation;
        let running = self.remembered.first.as_ref().is_some_and(|first| first.is_of(ground));
        if !running {
            let due = ground.layers().iter().any(behind);
            self.remembered.first = due.then(|| FirstEvaluation::new(ground, now));
        }
    }

    /// Gives a pair to every candidate that this fix does not leave clearly outside.
    fn bring_candidates_to_life(&mut self, ground: &Ground, turn: &Turn<'_>, candidates: &[u32]) {
        for &ix in candidates {
            if self.pairs.table.find(ix).is_some() {
                continue;
            }
            let zone = ground.zone(ix);
            let reach_m = zone.margins.outside_m(turn.accuracy_m).max(turn.fix.clear_m);
            let Some(located) = zone.zone().shape.locate_within(turn.fix.position, reach_m) else {
                continue;
            };
            let seen = turn.seen(zone, &located);
            if seen.observation == Some(Side::Outside) && seen.is_clear(turn.fix.clear_m) {
                continue;
            }
            if let Some(pair) = self.pair_of_absent(ground, zone, ix) {
                self.pairs.table.put(ix, &pair, false);
            }
        }
    }

    /// Gives a pair to every zone that asks for passes and was jumped over.
    fn bring_crossed_to_life(&mut self, ground: &Ground, turn: &Turn<'_>, along: &mut Vec<u32>) {
        let Some(from) = turn.fix.before.filter(|_| ground.detects_passes()) else { return };
        ground.along(from.position, turn.fix.position, along);
        for &ix in &*along {
            let zone = ground.zone(ix);
            let asks = zone.zone().rules.detect_pass && self.pairs.table.find(ix).is_none();
            if !asks || self.is_new(ground, zone) {
                continue;
            }
            if let Some(pair) = self.pair_of_absent(ground, zone, ix) {
                self.pairs.table.put(ix, &pair, false);
            }
        }
    }

    /// What a zone without a pair stands for, before this fix.
    fn pair_of_absent(&self, ground: &Ground, zone: &ActiveZone, ix: u32) -> Option<Pair> {
        let last = self.remembered.last;
        let was_inside = last.map(|last| ground.locate(ix, last.position).inside);
        if self.is_new(ground, zone) {
            let pair = self.remembered.first.as_ref()?.pair(zone)?;
            return Some(Pair { was_inside, ..pair });
        }
        let last = last.expect("a zone is evaluated by fixes, so there was a last one");
        Some(Pair::away(last.time, was_inside.is_some_and(|inside| inside)))
    }

    /// One more clear outside vote for every zone that has no pair of its own.
    fn step_first(&mut self, ground: &Ground, turn: &Turn<'_>) {
        let Some(mut first) = self.remembered.first.take() else { return };
        let seen = Seen {
            observation: Some(Side::Outside),
            distance_m: f64::MAX,
            inside: false,
            before_m: None,
        };
        let answered = first.step(|asked| turn.rules(asked), &turn.context, &turn.fix, &seen);
        if !answered.is_empty() {
            self.initialised_outside += self.answered(ground, &answered);
        }
        if !first.is_done() {
            self.remembered.first = Some(first);
            return;
        }
        self.remembered.evaluated = first::generations(ground);
    }

    /// How many zones without a pair of their own a first evaluation of `answered` is about.
    fn answered(&self, ground: &Ground, answered: &[Asked]) -> u32 {
        let is_new = |layer: usize, since: u64, asked: Asked| {
            answered.contains(&asked) && since > self.evaluated(&ground.layers()[layer].id)
        };
        let all = ground.alike().iter().filter(|a| is_new(a.layer, a.since, a.asked));
        let own = self.pairs.table.taken().map(|slot| ground.zone(slot.zone()));
        let own = own.filter(|zone| is_new(zone.layer, zone.since, zone.asked()));
        all.map(|alike| alike.zones).sum::<u32>() - own.count() as u32
    }

    /// Whether a zone came with a later layer than the asset's first evaluation saw.
    pub fn came_later(&self, ground: &Ground, zone: &ActiveZone) -> bool {
        let layer = &ground.layers()[zone.layer].id;
        self.remembered.born.as_ref().is_some_and(|born| {
            let seen = born.iter().find(|(id, _)| id == layer);
            zone.since > seen.map_or(0, |(_, generation)| *generation)
        })
    }

    /// Whether nothing is in doubt: no first evaluation and no vote is pending at `now`.
    pub fn is_settled(&self, now: EventTime) -> bool {
        self.remembered.first.is_none()
            && self
                .pairs
                .table
                .iter()
                .all(|(_, pair)| pair.committed.is_some() && pair.votes_at(now).is_none())
    }
}

impl Happening {
    fn is_entry(&self) -> bool {
        !matches!(&self.what, What::Crossed(commit, _) if !commit.side.is_inside())
    }
}

#[cfg(test)]
mod tests;
