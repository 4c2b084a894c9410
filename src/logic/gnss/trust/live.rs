//! A live source, serial or network: from a stamp to a settled time (TIME-1…6).
//!
//! Always holds: until a running offset exists every fix waits; once it exists none does.
//! Does not know: recordings.

use serde::{Deserialize, Serialize};

use super::date::{Dates, nearest};
use super::floor::{Standing, is_cold_start, undo_rollover};
use super::held::Held;
use super::offset::{self, Disagreement, Offset, Run, Running, Skew, tolerance};
use super::{Around, AssetClock, Mode, Settled, Stamp};
use crate::logic::event::TimeQuality;
use crate::units::{BootTime, EventTime, Span};

/// Offsets of fixes that together accuse the floor lie within this (TIME-2).
const ACCUSERS_AGREE: Span = Span::from_secs(10);
/// Valid fixes in a row that lower the floor (TIME-2).
const ACCUSERS: u32 = 5;
/// Plausible times that give a serial source an offset even if no two in a row agree (TIME-6).
const HELD_OF_ANY_KIND: usize = 5;
/// Boot time they must span: a queue read at once says only how long it was (C20).
const HELD_SPAN: Span = Span::from_secs(2);
/// A serial queue holds a fix back no longer than this; further behind is a receiver that was
/// wrong before it was right. Twice what C20 asks for.
const QUEUED_MAX: Span = Span::from_secs(60);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Live<T> {
    mode: Mode,
    running: Option<Running>,
    held: Held<T>,
    dates: Dates,
    accusers: Option<Run>,
}

/// A [`Live`] that holds no fix, in less room.
#[derive(Clone, Debug)]
pub(super) struct Resting {
    mode: Mode,
    running: Option<offset::Resting>,
    dates: Dates,
    accusers: Option<Box<Run>>,
}

/// A stamp's own time, as far as it has one.
#[derive(Clone, Copy, Debug)]
struct Reading {
    time: EventTime,
    quality: TimeQuality,
    standing: Standing,
    era_added: bool,
}

impl<T: Copy> Live<T> {
    pub(super) fn new(mode: Mode) -> Self {
        Self { mode, running: None, held: Held::new(), dates: Dates::default(), accusers: None }
    }

    /// The same in less room; what is held is not in it.
    pub(super) fn rest(self) -> Resting {
        let Self { mode, running, dates, accusers, held: _ } = self;
        let (running, accusers) = (running.map(Running::rest), accusers.map(Box::new));
        Resting { mode, running, dates, accusers }
    }

    /// Goes on where it rested.
    pub(super) fn wake(resting: Resting) -> Self {
        let Resting { mode, running, dates, accusers } = resting;
        let (running, accusers) = (running.map(Running::wake), accusers.map(|run| *run));
        Self { mode, running, held: Held::new(), dates, accusers }
    }

    pub(super) fn waiting(&self) -> usize {
        self.held.len()
    }

    pub(super) fn date_missing(&self) -> bool {
        self.running.is_none() && self.dates.missing()
    }

    pub(super) fn offset(&self) -> Option<Span> {
        self.running.as_ref().map(|running| running.offset().span())
    }

    pub(super) fn finish(&mut self, settled: &mut Settled<'_, T>) {
        settled.counters.no_time += self.held.take().len() as u64;
    }

    pub(super) fn handle(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        settled: &mut Settled<'_, T>,
    ) {
        let plausible = asset.plausible(around.rules);
        let system = around.system.map(EventTime::from_wall);
        let system = system.filter(|time| plausible.has(*time));
        self.dates.heard(stamp.at, system);
        let mut read = self.read(asset, around, &stamp);
        if stamp.valid_position {
            self.accuse(asset, stamp.at, read, settled);
            read = self.read(asset, around, &stamp);
        }
        if let (Some(read), Some(_)) = (read, stamp.time.dated())
            && read.standing == Standing::Plausible
        {
            self.dates.learn(stamp.at, read.time);
        }
        if self.running.is_some() {
            if stamp.valid_position {
                self.judge(asset, around, stamp, read, settled);
            }
            return;
        }
        if stamp.valid_position {
            self.held.keep(stamp, settled.counters);
        }
        self.establish(asset, around, settled);
    }

    /// The stamp's own time: with its own date, an era added where TIME-2 says so, or with the
    /// nearest date (TIME-5).
    fn read(&self, asset: &AssetClock, around: Around<'_>, stamp: &Stamp<T>) -> Option<Reading> {
        let rules = around.rules;
        let plausible = asset.plausible(rules);
        if let Some(time) = stamp.time.dated() {
            let base = rules.floor.unwrap_or(rules.release_date);
            let moved = stamp.valid_position.then(|| undo_rollover(time, base)).flatten();
            let time = moved.unwrap_or(time);
            let quality = match moved {
                Some(_) => TimeQuality::Corrected,
                None => TimeQuality::Gnss,
            };
            let standing = plausible.standing(time);
            return Some(Reading { time, quality, standing, era_added: moved.is_some() });
        }
        let of_day = stamp.time.of_day()?;
        let estimate = self.running.as_ref().map(|running| running.offset().at(stamp.at));
        let time = nearest(estimate.or_else(|| self.dates.reference(stamp.at))?, of_day);
        let standing = plausible.standing(time);
        Some(Reading { time, quality: TimeQuality::Corrected, standing, era_added: false })
    }

    /// Lowers the floor after five valid fixes in a row below it that agree (TIME-2). A date that
    /// receivers make up when cold accuses nobody: it would date what follows in 1980.
    fn accuse(
        &mut self,
        asset: &mut AssetClock,
        at: BootTime,
        read: Option<Reading>,
        settled: &mut Settled<'_, T>,
    ) {
        let Some(read) =
            read.filter(|read| read.standing == Standing::Below && !is_cold_start(read.time))
        else {
            self.accusers = None;
            return;
        };
        let offset = Offset::of(read.time, at);
        let run = Run::extend_within(&mut self.accusers, at, offset, ACCUSERS_AGREE);
        if run.fixes() >= ACCUSERS {
            self.accusers = None;
            // The earliest of them may have come first: its time is what the floor must admit.
            asset.lower_floor(run.earliest().min(read.time));
            settled.counters.floor_conflict += 1;
        }
    }

    /// A fix of a source that has a running offset (TIME-3, TIME-4).
    fn judge(
        &mut self,
        asset: &mut AssetClock,
        around: Around<'_>,
        stamp: Stamp<T>,
        read: Option<Reading>,
        settled: &mut Settled<'_, T>,
    ) {
        let running = self.running.as_mut().expect("the caller saw one");
        let Some(read) = read else {
            settled.restamp(asset, stamp, running.offset());
            return;
        };
        let offset = Offset::of(read.time, stamp.at);
        let skew = running.skew(stamp.at, offset, around.rules.skew_tolerance);
        let steps = match (skew, read.standing) {
            (Skew::Within, _) => {
                running.confirm(stamp.at, offset);
                None
            }
            (_, Standing::Plausible) => {
                let late = around.is_late(asset.step(), read.time);
                let fix = Disagreement { at: stamp.at, offset, skew, late };
                running.disagree(fix, self.mode, around.rules)
            }
            (_, Standing::Below) => {
                running.accused(stamp.at, offset);
                None
            }
            (_, Standing::Beyond) => {
                running.interrupt();
                None
            }
        };
        if let Some(adopted) = steps {
            *running = adopted;
            settled.counters.stepped += 1;
            if around.voting {
                asset.begin_step();
            }
        } else if skew == Skew::Ahead {
            settled.counters.clamped += 1;
            let time = running.offset().at(stamp.at);
            settled.push(asset, stamp, (time, TimeQuality::Clamped));
            return;
        }
        settled.keep(asset, stamp, read);
    }

    /// Looks for a running offset in what is held, and settles it all once there is one (TIME-6).
    fn establish(&mut self, asset: &AssetClock, around: Around<'_>, settled: &mut Settled<'_, T>) {
        let offsets: Vec<Option<(BootTime, Offset)>> = self
            .held
            .iter()
            .map(|stamp| {
                self.read(asset, around, stamp)
                    .filter(|read| read.standing == Standing::Plausible)
                    .map(|read| (stamp.at, Offset::of(read.time, stamp.at)))
            })
            .collect();
        let skew = around.rules.skew_tolerance;
        let first = match self.mode {
            Mode::Serial => serial_offset(&offsets, skew),
            Mode::Network | Mode::Fixes => offsets.iter().rev().flatten().next().copied(),
        };
        let Some((at, offset)) = first else { return };
        let running = Running::among(at, offset, offsets.iter().flatten(), skew);
        let found = running.offset();
        self.running = Some(running);
        for stamp in self.held.take() {
            match self.read(asset, around, &stamp) {
                Some(read) if self.fits(around, &stamp, read) => settled.keep(asset, stamp, read),
                _ => settled.restamp(asset, stamp, found),
            }
        }
    }

    /// Whether a held fix's own time can be true beside the offset that was found.
    fn fits(&self, around: Around<'_>, stamp: &Stamp<T>, read: Reading) -> bool {
        let Some(running) = &self.running else { return false };
        let offset = Offset::of(read.time, stamp.at);
        let behind = running.offset().ahead_of(offset);
        read.standing == Standing::Plausible
            && match running.skew(stamp.at, offset, around.rules.skew_tolerance) {
                Skew::Ahead => false,
                Skew::Within => true,
                Skew::Behind => self.mode != Mode::Serial || behind <= QUEUED_MAX,
            }
    }
}

/// Two plausible times in a row within the tolerance, or the largest of five of any kind.
fn serial_offset(offsets: &[Option<(BootTime, Offset)>], skew: Span) -> Option<(BootTime, Offset)> {
    let pair = offsets.windows(2).rev().find_map(|pair| {
        let (Some((then, a)), Some((now, b))) = (pair[0], pair[1]) else { return None };
        let apart = if a > b { a.ahead_of(b) } else { b.ahead_of(a) };
        (apart <= tolerance(skew, now - then)).then(|| if a > b { (then, a) } else { (now, b) })
    });
    pair.or_else(|| {
        let plausible = || offsets.iter().flatten();
        let spanned = plausible().next_back()?.0 - plausible().next()?.0;
        let enough = plausible().count() >= HELD_OF_ANY_KIND && spanned >= HELD_SPAN;
        enough.then(|| plausible().max_by_key(|(_, offset)| *offset).copied()).flatten()
    })
}

impl<T> Settled<'_, T> {
    fn keep(&mut self, asset: &AssetClock, stamp: Stamp<T>, read: Reading) {
        self.counters.rollover += u64::from(read.era_added);
        self.push(asset, stamp, (read.time, read.quality));
    }

    fn restamp(&mut self, asset: &AssetClock, stamp: Stamp<T>, offset: Offset) {
        self.counters.restamped += 1;
        let time = offset.at(stamp.at);
        self.push(asset, stamp, (time, TimeQuality::Corrected));
    }
}
