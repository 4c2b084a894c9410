//! From an ordered fix to numbered events.
//!
//! Always holds: a fix is decided once, in order; whatever it changes is in the rows that the next
//! commit takes together with its events (STO-1). Does not know: bytes, clocks of receivers.

use super::alarms::Due;
use super::emit::{self, Scene};
use super::heartbeat::MOVED_M;
use super::intake::Ordered;
use super::memory::Patience;
use super::{Ballot, Engine, FixReport};
use crate::logic::crossing::asset::{Happening, Heard, Limits, What};
use crate::logic::event::{Body, Event, Kind, TimeQuality};
use crate::logic::geometry;
use crate::logic::gnss::gate::{GateRules, Verdict};
use crate::logic::gnss::{Fix, Reject};
use crate::logic::order::OrderedFix;
use crate::units::{AssetId, BootTime, EventTime, Span};

impl Engine {
    /// Fires one deadline at its own time.
    pub(super) fn fire(&mut self, due: Due, deadline: BootTime) {
        match due {
            Due::Source(source) => self.source_quiet(source, deadline),
            Due::Asset(asset) => {
                // Nothing of one that is not in memory waits: the deadline was an older one's.
                if let Some(own) = self.assets.get_mut(asset) {
                    own.alarm = None;
                    self.release(asset, deadline);
                }
            }
            Due::Silence(asset) => self.listen(asset, deadline),
        }
    }

    /// Decides every fix of an asset that is due at `now`, and asks for its next deadline.
    pub(super) fn release(&mut self, asset: usize, now: BootTime) {
        while let Some(released) = self.assets[asset].heap.release(now, &mut self.spares) {
            self.decide(asset, &released);
        }
        let own = &mut self.assets[asset];
        if let Some(deadline) = own.heap.next_deadline()
            && own.alarm.is_none_or(|alarm| deadline < alarm)
        {
            own.alarm = Some(deadline);
            self.alarms.set(deadline, Due::Asset(asset));
        }
    }

    pub(super) fn decide(&mut self, asset: usize, released: &OrderedFix<Ordered>) {
        let fix = Ordered::fix(released);
        let source = released.source();
        let rules = self.gate_rules(usize::from(source));
        let own = &mut self.assets[asset];
        own.dirty = true;
        self.heartbeat.fix();
        let powered_from =
            (!released.trusted()).then(|| fix.time - Span::from_nanos(released.at().nanos()));
        let verdict = own.gate.judge(&rules, &fix, source, released.step());
        let reason = match verdict {
            Verdict::Usable | Verdict::Overrules => None,
            Verdict::Sustains => {
                own.crossing.heard(fix.time, powered_from);
                None
            }
            Verdict::Rejected(reason) => Some(reason),
        };
        self.waiting -= 1;
        let live = !released.trusted();
        if live {
            self.released.note(self.now - released.at());
            self.fresh.push(released.at());
        }
        self.deciding = live.then(|| released.at());
        self.report(asset, usize::from(source), &fix, reason);
        if matches!(verdict, Verdict::Usable | Verdict::Overrules) {
            self.renew_vote(asset, source, fix.time, released.at());
            let joined = verdict == Verdict::Usable;
            self.usable(asset, &fix, (released.at(), powered_from), joined, &rules);
        }
        self.deciding = None;
    }

    pub(super) fn gate_rules(&self, source: usize) -> GateRules {
        let decide = &self.setup.decide;
        GateRules {
            max_accuracy_m: decide.max_accuracy_m,
            max_speed_mps: decide.max_speed_mps,
            stale_after: decide.stale_after,
            interval: self.setup.sources[source].interval,
        }
    }

    /// Counts a fix, and reports it where the setup asks.
    pub(super) fn report(
        &mut self,
        asset: usize,
        source: usize,
        fix: &Fix,
        reason: Option<Reject>,
    ) {
        match reason {
            None => self.sources[source].tally.counters.fixes += 1,
            Some(reason) => self.reject(source, reason),
        }
        if self.setup.report_fixes {
            let asset = self.assets[asset].id.clone();
            self.step.fixes.push(FixReport { asset, fix: *fix, reason });
        }
    }

    /// One usable measured fix of the voting source; `joined` unless it overruled the last.
    fn usable(
        &mut self,
        asset: usize,
        fix: &Fix,
        (at, powered_from): (BootTime, Option<EventTime>),
        joined: bool,
        rules: &GateRules,
    ) {
        let own = &mut self.assets[asset];
        if let Some(reconcile) = &mut own.reconcile {
            reconcile.fix(fix.time, own.crossing.remembered.last_seen);
        }
        own.crossing.heard(fix.time, powered_from);
        let before = own.last.replace((*fix, at));
        if fix.time_quality == TimeQuality::Gnss {
            own.last_gnss = Some(fix.time);
        }
        let moved = |from| {
            geometry::distance_at_most_m(from, fix.position) >= MOVED_M
                && geometry::distance_m(from, fix.position) >= MOVED_M
        };
        self.heartbeat.moved = self.heartbeat.moved || own.saved.is_none_or(moved);
        let limits =
            Limits { interval: own.gate.interval(rules), silence: own.gate.silence_limit(rules) };
        if !joined {
            own.crossing.displaced();
        }
        let heard = Heard { time: fix.time, position: fix.position, accuracy_m: fix.accuracy_m };
        let mut happenings = std::mem::take(&mut self.happenings);
        let (decide, scratch) = (&self.setup.decide, &mut self.scratch);
        own.crossing.fix(&self.ground, decide, limits, heard, scratch, &mut happenings);
        // In a trusted feed the fix was not measured when it arrived, but it is looked at now.
        self.note_votes(asset, if powered_from.is_some() { at } else { self.now }, fix.time);
        let own = &mut self.assets[asset];
        self.counters.reversals += u64::from(std::mem::take(&mut own.crossing.reversals));
        for happening in happenings.drain(..) {
            self.happened(asset, fix, limits.silence, &happening);
        }
        self.happenings = happenings;
        self.reconcile(asset, fix.time);
        // Arrival means something only where it is not made up by the feed (TIME-3).
        if self.setup.telemetry.stale_markers && powered_from.is_some() {
            self.watch(asset, at, before.map(|(_, at)| at), limits.silence);
        }
    }

    /// Sets the wheel for every vote that this fix began; it came at `at` on the boot clock.
    /// Nobody looks at what a replay has pending.
    fn note_votes(&mut self, asset: usize, at: BootTime, now: EventTime) {
        for begun in self.scratch.begun.drain(..) {
            if self.setup.announce {
                let ballot = Ballot { asset: asset as u32, since: at, begun };
                self.wheel.set(at + (begun.deadline - now), ballot);
            }
        }
    }

    /// Watches an asset's silence from now on; says where one has ended (PAIR-5).
    fn watch(&mut self, asset: usize, at: BootTime, before: Option<BootTime>, limit: Span) {
        let own = &mut self.assets[asset];
        if !std::mem::replace(&mut own.watched, true) {
            self.alarms.set(at + limit, Due::Silence(asset));
        }
        if std::mem::take(&mut own.stale) {
            let silence = before.map(|before| at - before);
            self.marker(asset, Kind::AssetRecovered, silence);
        }
    }

    /// An asset's patience may have ended.
    fn listen(&mut self, asset: usize, now: BootTime) {
        let Some(own) = self.assets.get(asset) else { return self.listen_away(asset, now) };
        let Some((_, at)) = own.last else { return };
        let rules = self.gate_rules(self.assets[asset].lines.first().map_or(0, |l| l.source));
        let own = &mut self.assets[asset];
        let limit = own.gate.silence_limit(&rules);
        if now - at < limit {
            self.alarms.set(at + limit, Due::Silence(asset));
            return;
        }
        (own.watched, own.stale) = (false, true);
        self.marker(asset, Kind::AssetStale, Some(now - at));
    }

    /// The same of one that is not in memory.
    fn listen_away(&mut self, asset: usize, now: BootTime) {
        match self.patience(asset, now) {
            Some(Patience::Until(deadline)) => self.alarms.set(deadline, Due::Silence(asset)),
            Some(Patience::Over { id, last_seen, silence }) => {
                self.mark(id, last_seen, Kind::AssetStale, Some(silence));
            }
            None => {}
        }
    }

    fn marker(&mut self, asset: usize, kind: Kind, silence: Option<Span>) {
        let own = &self.assets[asset];
        self.mark(own.id.clone(), own.crossing.remembered.last_seen, kind, silence);
    }

    fn mark(&mut self, id: AssetId, seen: Option<EventTime>, kind: Kind, silence: Option<Span>) {
        let body = Body {
            asset: Some(id),
            confirmed_at: seen,
            silence_s: silence.map(Span::secs_f64),
            ..Body::default()
        };
        self.emit(kind, body);
    }

    /// One event.
    fn happened(&mut self, asset: usize, fix: &Fix, silence_limit: Span, happening: &Happening) {
        let own = &mut self.assets[asset];
        let scene = Scene {
            ground: &self.ground,
            asset: &own.id,
            fix,
            silence_limit,
            restarts: &own.crossing.remembered.restarts,
            detail: self.setup.detail,
        };
        let (kind, mut body) = emit::describe(&scene, happening);
        if let What::Crossed(commit, _) = &happening.what {
            self.counters.transitions += u64::from(!commit.first);
            if let Some(reconcile) = &mut own.reconcile {
                reconcile.crossed(commit.first, commit.certainty);
            }
        }
        if kind == Kind::FenceInitialised {
            let zone = self.ground.zone(happening.zone);
            let later = own.crossing.came_later(&self.ground, zone);
            body.cause = Some(if later { "layer" } else { "first_seen" }.to_owned());
        }
        if body.inside != Some(true) {
            self.emit(kind, body);
            return;
        }
        // A visit is named by the event that opens it, which says so itself.
        let id = Event::id_of(&self.numbers.stream, kind.lane(), self.numbers.next_event);
        let visit = emit::open_visit(&id, &body);
        body.visit = Some(id);
        self.emit(kind, body);
        self.assets[asset].crossing.open_visit(happening.zone, visit);
    }

    /// Sends `asset_reconciled` once nothing is in doubt.
    fn reconcile(&mut self, asset: usize, now: EventTime) {
        let own = &mut self.assets[asset];
        let Some(reconcile) = &own.reconcile else { return };
        let decide = &self.setup.decide;
        let done = reconcile.done(&own.crossing, decide.confirm, decide.confirm_for, now);
        if let Some(reconciled) = done {
            own.reconcile = None;
            let body = Body {
                asset: Some(own.id.clone()),
                confirmed_at: Some(now),
                reconciled: Some(reconciled),
                ..Body::default()
            };
            self.emit(Kind::AssetReconciled, body);
        }
    }
}
