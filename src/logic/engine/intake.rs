//! From a source's bytes or records to fixes that wait in order.
//!
//! Always holds: whatever cannot be used is counted by reason; a source knows nothing of another.
//! Does not know: zones.

use serde::{Deserialize, Serialize};

use super::alarms::Due;
use super::asset::Line;
use super::memory::{Known, Parked};
use super::tally::Tally;
use super::{Engine, Setup};
use crate::logic::event::{Body, Kind, Place, TimeQuality};
use crate::logic::gnss::epoch::{Assembler, Epoch, UNKNOWN_ACCURACY_M};
use crate::logic::gnss::gpsd;
use crate::logic::gnss::line::{Checksum, Framer};
use crate::logic::gnss::record::{RECORD_BYTES_MAX, Record};
use crate::logic::gnss::trust::{Around, Mode, ReceiverTime, Stamp, Timed, Trust};
use crate::logic::gnss::voting::OFFSET_APART_MAX;
use crate::logic::gnss::{Fix, FixQuality, Reject};
use crate::logic::lines;
use crate::logic::order::{Entry, OrderedFix, Pushed};
use crate::units::{AssetId, BootTime, EventTime, Position, SourceId, Span};

/// Where a source's time comes from and how its bytes travel (TIME-3, TIME-4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trusting {
    /// A serial line: cannot delay.
    Serial,
    /// Anything that can delay.
    Network,
    /// A recorded or accelerated feed: event time is arrival time.
    Fixes,
}

/// What a source's bytes are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feed {
    /// NMEA 0183, cut anywhere.
    Nmea,
    /// Whole lines of JSON, one record each; `received` is let pass: the stamp is ours.
    Records,
    /// Whole lines of gpsd's JSON.
    Gpsd {
        /// Only what this device of it reports.
        device: Option<String>,
    },
}

/// One input as the engine needs to know it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SourceSetup {
    /// Its name.
    pub id: SourceId,
    /// What its bytes are.
    pub feed: Feed,
    /// Whose fixes these are, where a record does not say.
    pub asset: AssetId,
    /// Whether a checksum is required.
    pub checksum: Checksum,
    /// The declared reporting interval (FIX-4).
    pub interval: Span,
    /// How long a fix waits for earlier ones (ORD-1).
    pub window: Span,
    /// How its time is trusted.
    pub trusting: Trusting,
    /// Its place among the sources of one asset, 1 being best (ORD-4); [`UNRANKED`] for one that
    /// shares the vote.
    pub rank: u8,
}

/// The rank of a source that votes beside any other: a replay's two ways in are one recording.
pub const UNRANKED: u8 = 0;

/// What is later by more is a backlog: no window worth having would have waited for it.
const LATE_MAX: Span = Span::from_secs(60);

/// Whom a record is about.
#[derive(Debug)]
pub(super) enum Whose {
    /// One that is in memory, by its number.
    Known(usize),
    /// One that may not have been.
    Named(AssetId),
}

/// A fix that waits for its time.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Carried {
    pub(super) source: u16,
    position: Position,
    pub(super) accuracy_m: f64,
    pub(super) quality: FixQuality,
    speed_mps: Option<f32>,
    heading_deg: Option<f32>,
    altitude_m: Option<f32>,
}

impl Carried {
    /// The fix, now that it has a time.
    pub(super) fn at_time(&self, time: EventTime, time_quality: TimeQuality) -> Fix {
        Fix {
            time,
            time_quality,
            position: self.position,
            accuracy_m: self.accuracy_m,
            quality: self.quality,
            speed_mps: self.speed_mps,
            heading_deg: self.heading_deg,
            altitude_m: self.altitude_m,
        }
    }
}

/// A fix that waits for its turn, less what the order keeps of it: in 32 bytes, because every
/// active asset has a few.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Ordered {
    position: Position,
    /// Speed, heading and altitude; [`UNKNOWN`] where there is none.
    more: [u32; 3],
    time_quality: TimeQuality,
    quality: FixQuality,
}

/// No float that a receiver sends has these bits.
const UNKNOWN: u32 = u32::MAX;

impl Ordered {
    fn new(carried: &Carried, time_quality: TimeQuality) -> Self {
        let bits = |value: Option<f32>| value.map_or(UNKNOWN, f32::to_bits);
        let Carried { position, quality, speed_mps, heading_deg, altitude_m, .. } = *carried;
        Self {
            position,
            more: [speed_mps, heading_deg, altitude_m].map(bits),
            time_quality,
            quality,
        }
    }

    /// The fix, now that it is its turn.
    pub(super) fn fix(released: &OrderedFix<Self>) -> Fix {
        let own = released.payload();
        let known = |bits: u32| (bits != UNKNOWN).then(|| f32::from_bits(bits));
        let [speed_mps, heading_deg, altitude_m] = own.more.map(known);
        Fix {
            time: released.time(),
            time_quality: own.time_quality,
            position: own.position,
            accuracy_m: released.accuracy_m(),
            quality: own.quality,
            speed_mps,
            heading_deg,
            altitude_m,
        }
    }
}

/// One source's half-read input.
#[derive(Debug)]
pub(super) struct Source {
    framer: Framer,
    assembler: Assembler,
    alarm: Option<BootTime>,
    pub(super) tally: Tally,
}

impl Source {
    pub(super) fn new(source: &SourceSetup, setup: &Setup) -> Self {
        let assembler = Assembler::new(setup.decide.range_error_m);
        let recorded = source.trusting == Trusting::Fixes;
        Self {
            framer: Framer::new(source.checksum),
            assembler: if recorded { assembler.patient() } else { assembler },
            alarm: None,
            tally: Tally::default(),
        }
    }
}

impl Engine {
    /// Bytes of whatever the source sends.
    pub(super) fn bytes(&mut self, source: usize, at: BootTime, bytes: &[u8]) {
        self.sources[source].tally.heard(at);
        match self.setup.sources[source].feed {
            Feed::Nmea => self.nmea(source, at, bytes),
            Feed::Records | Feed::Gpsd { .. } => {
                self.lines(source, at, bytes);
            }
        }
    }

    fn lines(&mut self, source: usize, at: BootTime, bytes: &[u8]) {
        let mut lines = lines::parts(bytes);
        while let Some(line) = lines.next().map(<[u8]>::trim_ascii) {
            if !line.is_empty() {
                self.line(source, at, line);
            }
            if let Some(parked) = &mut self.parked {
                parked.rest = lines.collect::<Vec<_>>().join(&b'\n');
                return;
            }
        }
    }

    /// A whole line of JSON.
    fn line(&mut self, source: usize, at: BootTime, line: &[u8]) {
        let read = match &self.setup.sources[source].feed {
            _ if line.len() > RECORD_BYTES_MAX => Err(Reject::Overlong),
            Feed::Gpsd { device } => gpsd::record(line, device.as_deref())
                .map(|record| record.map(|record| record.known_as(Whose::Named))),
            _ => Record::read_json(line, |name| self.whose(name))
                .map(Some)
                .map_err(|error| error.reject()),
        };
        match read {
            Ok(record) => {
                self.sources[source].tally.counters.sentences += 1;
                if let Some(record) = record {
                    self.record(source, at, record);
                }
            }
            Err(reason) => self.reject(source, reason),
        }
    }

    /// The asset of a name, if that is one.
    fn whose(&self, name: &str) -> Option<Whose> {
        let known = self.by_id.get(name).filter(|asset| self.assets.has(**asset));
        let known = known.map(|asset| Whose::Known(*asset));
        known.or_else(|| AssetId::new(name).ok().map(Whose::Named))
    }

    fn nmea(&mut self, source: usize, at: BootTime, mut bytes: &[u8]) {
        // A trusted feed may stall anywhere: only its own times end an epoch there, so that the
        // same recording gives the same fixes however fast it comes.
        let trusted = self.setup.sources[source].trusting == Trusting::Fixes;
        let stamp = if trusted { BootTime::from_nanos(0) } else { at };
        loop {
            let own = &mut self.sources[source];
            let pushed = match own.framer.feed(&mut bytes) {
                None => break,
                Some(Ok(sentence)) => {
                    own.tally.counters.sentences += 1;
                    own.assembler.push(&sentence, stamp)
                }
                Some(Err(reason)) => Err(reason),
            };
            match pushed {
                Ok(Some(epoch)) => self.epoch(source, at, &epoch),
                Ok(None) => {}
                Err(reason) => self.reject(source, reason),
            }
        }
        if trusted {
            return;
        }
        let own = &mut self.sources[source];
        if let Some(deadline) = own.assembler.deadline()
            && own.alarm.is_none()
        {
            own.alarm = Some(deadline);
            self.alarms.set(deadline, Due::Source(source));
        }
    }

    /// A source has been asked whether its epoch has ended by quiet.
    pub(super) fn source_quiet(&mut self, source: usize, now: BootTime) {
        let own = &mut self.sources[source];
        own.alarm = None;
        if let Some(epoch) = own.assembler.flush(now) {
            self.epoch(source, now, &epoch);
        }
        let own = &mut self.sources[source];
        if let Some(deadline) = own.assembler.deadline() {
            own.alarm = Some(deadline);
            self.alarms.set(deadline, Due::Source(source));
        }
    }

    /// The end of a source, for now: what is half read is finished, trusted fixes are released.
    pub(super) fn end(&mut self, source: usize, at: BootTime) {
        let trusted = self.setup.sources[source].trusting == Trusting::Fixes;
        let stamp = if trusted { BootTime::from_nanos(0) } else { at };
        let own = &mut self.sources[source];
        match own.framer.finish() {
            Some(Ok(sentence)) => {
                own.tally.counters.sentences += 1;
                if let Ok(Some(epoch)) = own.assembler.push(&sentence, stamp) {
                    self.epoch(source, at, &epoch);
                }
            }
            Some(Err(reason)) => self.reject(source, reason),
            None => {}
        }
        if let Some(epoch) = self.sources[source].assembler.finish() {
            self.epoch(source, at, &epoch);
        }
        for asset in 0..self.assets.len() {
            // Nothing of one that is not in memory waits.
            if self.assets.has(asset) {
                self.end_of_line(source, asset);
            }
        }
    }

    fn end_of_line(&mut self, source: usize, asset: usize) {
        let trusted = self.setup.sources[source].trusting == Trusting::Fixes;
        let own = &mut self.assets[asset];
        let Some(place) = own.lines.iter().position(|line| line.source == source) else { return };
        if trusted {
            let trust = &mut own.lines[place].trust;
            trust.finish(&own.clock, &self.setup.time, &mut self.settled);
            self.drain(source, asset);
            self.assets[asset].heap.finish();
            self.release(asset, BootTime::from_nanos(0));
        }
    }

    fn epoch(&mut self, source: usize, at: BootTime, epoch: &Epoch) {
        self.sources[source].tally.counters.epochs += 1;
        let setup = &self.setup.sources[source];
        let trusted = setup.trusting == Trusting::Fixes;
        let place = epoch.fix.ok();
        if let Err(reason) = epoch.fix {
            self.reject(source, reason);
        }
        let asset = match self.asset_of(&self.setup.sources[source].asset.clone()) {
            Known::Here(asset) => asset,
            Known::Away => unreachable!("a configured asset stays in memory"),
            Known::TooMany => return self.reject(source, Reject::TooManyAssets),
        };
        let carried = Carried {
            source: source as u16,
            // Without a position the epoch only tells the date.
            position: place.map_or_else(nowhere, |place| place.position),
            accuracy_m: epoch.accuracy_m,
            quality: place.map_or(FixQuality::Measured, |place| place.quality),
            speed_mps: epoch.speed_mps,
            heading_deg: epoch.heading_deg,
            altitude_m: epoch.altitude_m,
        };
        let stamp = Stamp {
            at: if trusted { at } else { epoch.stamp },
            time: ReceiverTime::Nmea {
                of_day: epoch.time,
                date: epoch.date.map(|date| (date.year(), date.month(), date.day())),
            },
            valid_position: place.is_some(),
            payload: carried,
        };
        self.stamp(source, asset, stamp);
    }

    /// One parsed line.
    pub(super) fn record(&mut self, source: usize, at: BootTime, record: Record<Whose>) {
        self.sources[source].tally.heard(at);
        self.sources[source].tally.counters.epochs += 1;
        self.record_of(source, at, record);
    }

    /// Goes on with what waited for an asset that is in memory again.
    pub(super) fn resume(&mut self, parked: Parked) {
        let record = Record { asset: Some(Whose::Named(parked.id)), ..parked.record };
        self.record_of(parked.source, parked.at, record);
        self.lines(parked.source, parked.at, &parked.rest);
    }

    fn record_of(&mut self, source: usize, at: BootTime, mut record: Record<Whose>) {
        let position = match record.position {
            Ok(position) => position,
            Err(reason) => return self.reject(source, reason),
        };
        let id = match record.asset.take() {
            Some(Whose::Known(asset)) => {
                self.assets[asset].heard = self.now;
                return self.fix_of(source, at, asset, &record, position);
            }
            Some(Whose::Named(id)) => id,
            None => self.setup.sources[source].asset.clone(),
        };
        match self.asset_of(&id) {
            Known::Here(asset) => self.fix_of(source, at, asset, &record, position),
            Known::Away => {
                let parked = Parked { source, at, id, record, rest: Vec::new() };
                self.parked = Some(Box::new(parked));
            }
            Known::TooMany => self.reject(source, Reject::TooManyAssets),
        }
    }

    fn fix_of(
        &mut self,
        source: usize,
        at: BootTime,
        asset: usize,
        record: &Record<Whose>,
        position: Position,
    ) {
        let carried = Carried {
            source: source as u16,
            position,
            accuracy_m: record.accuracy_m.unwrap_or(UNKNOWN_ACCURACY_M),
            quality: record.quality,
            speed_mps: record.speed_mps,
            heading_deg: record.heading_deg,
            altitude_m: record.altitude_m,
        };
        let stamp = Stamp {
            at,
            time: ReceiverTime::Utc(record.time),
            valid_position: true,
            payload: carried,
        };
        self.stamp(source, asset, stamp);
    }

    /// Gives a stamp its time, and puts what has one into its asset's order.
    fn stamp(&mut self, source: usize, asset: usize, stamp: Stamp<Carried>) {
        let own = &mut self.assets[asset];
        let known = own.lines.iter().position(|line| line.source == source);
        let place = known.unwrap_or_else(|| {
            let mode = match self.setup.sources[source].trusting {
                Trusting::Serial => Mode::Serial,
                Trusting::Network => Mode::Network,
                Trusting::Fixes => Mode::Fixes,
            };
            own.lines.push(Line { source, trust: Trust::new(mode) });
            own.lines.len() - 1
        });
        if known.is_none() && place > 0 {
            self.begin_vote(asset, stamp.at);
        }
        let own = &mut self.assets[asset];
        let voting = own.voting.as_deref().is_none_or(|v| usize::from(v.voter()) == source);
        let watermark = own.heap.watermark().map(|mark| (mark.step, mark.time));
        let trust = &mut own.lines[place].trust;
        let around = Around { rules: &self.setup.time, watermark, voting, system: self.system };
        trust.handle(&mut own.clock, around, stamp, &mut self.settled);
        self.drain(source, asset);
    }

    /// Counts what came to nothing, by source.
    pub(super) fn reject(&mut self, source: usize, reason: Reject) {
        self.sources[source].tally.counters.reject(reason);
    }

    /// ORD-2: late is never dropped in silence. But the fix used last, said again after its
    /// release, is one fix (ORD-3): it is no evidence of anything.
    fn late(&mut self, asset: usize, timed: &Timed<Carried>, fix: &Fix, by: Span) -> Reject {
        let again = self.assets[asset].last.is_some_and(|(last, _)| last == *fix);
        if by == Span::ZERO && again {
            return Reject::Repeat;
        }
        if by <= OFFSET_APART_MAX {
            self.renew_vote(asset, timed.payload.source, timed.time, timed.at);
        }
        if self.setup.telemetry.late_fix {
            let body = Body {
                asset: Some(self.assets[asset].id.clone()),
                at: Some(fix.time),
                position: Some(Place::new(fix.position, Some(fix.accuracy_m))),
                time_quality: Some(fix.time_quality),
                late_s: Some(by.secs_f64()),
                ..Body::default()
            };
            self.emit(Kind::LateFix, body);
        }
        if by > LATE_MAX { Reject::LateBacklog } else { Reject::Late }
    }

    /// Puts what a source's clock has settled into its asset's order.
    fn drain(&mut self, source: usize, asset: usize) {
        let setup = &self.setup.sources[source];
        let (window, trusted) = (setup.window, setup.trusting == Trusting::Fixes);
        let mut settled = std::mem::take(&mut self.settled);
        let last = settled.last().map(|timed| timed.at);
        for timed in settled.drain(..) {
            self.order(asset, window, trusted, &timed);
        }
        self.settled = settled;
        // A trusted feed's clock is its own highest time: arrival releases.
        if let (true, Some(at)) = (trusted, last) {
            self.release(asset, at);
        } else if last.is_some() {
            self.release(asset, BootTime::from_nanos(i64::MIN));
        }
    }

    fn order(&mut self, asset: usize, window: Span, trusted: bool, timed: &Timed<Carried>) {
        let carried = &timed.payload;
        let fix = || carried.at_time(timed.time, timed.quality);
        let source = usize::from(carried.source);
        let step = match self.admit(asset, timed) {
            Ok(step) => step,
            Err(reason) => return self.report(asset, source, &fix(), Some(reason)),
        };
        let entry = Entry {
            step,
            time: timed.time,
            at: timed.at,
            window,
            trusted,
            source: carried.source,
            accuracy_m: carried.accuracy_m,
            payload: Ordered::new(carried, timed.quality),
        };
        let reason = match self.assets[asset].heap.push(entry, &mut self.spares) {
            Pushed::Accepted { early } => {
                self.waiting += 1;
                self.waiting_max = self.waiting_max.max(self.waiting);
                if let Some(early) = early {
                    self.decide(asset, &early);
                }
                return;
            }
            Pushed::Late { by } => self.late(asset, timed, &fix(), by),
            Pushed::Repeat => Reject::Repeat,
            Pushed::SameInstant => Reject::SameInstant,
        };
        self.report(asset, source, &fix(), Some(reason));
    }
}

/// A place for an epoch that has none; it is never used.
fn nowhere() -> Position {
    Position::new(0.0, 0.0).expect("on the globe")
}
