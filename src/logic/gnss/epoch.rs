//! From sentences to one epoch: all sentences of one measurement become one [`Epoch`], whatever
//! their order, talker and number (FIELD D1, D14).
//!
//! Always holds: a time of day gives one epoch, a repeat of the epoch just closed gives none; the
//! most cautious sentence decides validity; the position with the most decimals is taken, of
//! equal ones GGA's, then GNS's, RMC's, PUBX's, GLL's; of equals the first.
//! Does not know: the day (TIME-5 is `trust`'s), which fixes may vote, any clock.
//!
//! **What ends an epoch.** A sentence with a place and another time of day; the last sentence of
//! the cycle, once this receiver's cycle is known ([`rhythm`]); or quiet: [`QUIET`], less where it
//! never pauses for so long. ZDA, GST and GBS name their epoch by its time and wait for it if need
//! be. GSA and VTG have no time: behind a quiet spell they belong to what follows, before one to
//! what came, and between two sentences of one time to that. Where no spell tells (a log read at
//! once, a receiver that never pauses) they go where this receiver's last spell, or the start of
//! its stream, put them. An epoch without a time of day ends by quiet, or by its turn.
//!
//! **How accurate.** GST's deviations of latitude and longitude; else the `hAcc` of PUBX,00; else
//! HDOP × range error; else 15 m. u-blox documents the errors in GBS as standard deviations too,
//! of the satellites that passed its integrity check; by the standard they are the error due to a
//! bias alone, and others send that. So a GBS may say that a position is worse than HDOP
//! suggests, never that it is better.
//!
//! This module is the one home of the `nmea` crate.

mod merge;
mod read;
mod rhythm;

use crate::logic::gnss::line::Sentence;
use crate::logic::gnss::{CivilDate, FixQuality, Reject};
use crate::units::{BootTime, Position, Span};
use merge::Open;
use read::{Located, Motion, Reading, read};
use rhythm::{Part, Rhythm, Roster};

/// Quiet that ends a burst of a receiver not yet known. A full line of 82 characters takes 171 ms
/// at 4,800 baud, the slowest rate in use, and a sentence is only seen at its end; faster
/// receivers pause for longer or end their epochs by the next time of day.
pub const QUIET: Span = Span::from_millis(200);

/// Times of day nearer than this are one: some receivers round in one sentence (.08) and not in
/// the next (.076), and none measures a hundred times a second.
const SAME_TIME: Span = Span::from_millis(10);

/// GSA and VTG wait at most this long for their epoch: one interval of the slowest usual rate.
const LOOSE_FOR: Span = Span::from_secs(2);

/// The same time of day after this much boot time is another day's.
const REPEAT_FOR: Span = Span::from_secs(12 * 3600);

/// The 68 % radius of a receiver that says nothing of its accuracy, in metres (FIX-2).
pub const UNKNOWN_ACCURACY_M: f64 = 15.0;

/// One measurement: every sentence a receiver sent of it, merged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Epoch {
    /// When the first sentence with its time arrived: the nearest to the measurement, since how
    /// long the burst then takes depends on the satellites in view.
    pub stamp: BootTime,
    /// Time of day in UTC; 23:59:60 makes it 24 h and more, by less than a second.
    pub time: Option<Span>,
    /// From ZDA, else RMC. Often absent, sometimes decades off.
    pub date: Option<CivilDate>,
    /// Where, or why not.
    pub fix: Result<Place, Reject>,
    /// 68 % radius in metres, positive and finite: GST, else HDOP × range error, else 15 m.
    pub accuracy_m: f64,
    /// Speed over ground.
    pub speed_mps: Option<f32>,
    /// Course over ground in degrees from north, below 360.
    pub heading_deg: Option<f32>,
    /// Height above mean sea level.
    pub altitude_m: Option<f32>,
}

/// A valid position and how it came about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    /// Where.
    pub position: Position,
    /// Measured or estimated.
    pub quality: FixQuality,
}

/// Merges sentences into epochs.
#[derive(Clone, Debug)]
pub struct Assembler {
    range_error_m: f64,
    open: Option<Open>,
    loose: Loose,
    /// The epoch closed last: what comes of it now comes too late.
    closed: Option<Closed>,
    /// Whether this receiver sends its GSA before the sentence that begins the epoch.
    hdop_leads: bool,
    /// The same of VTG.
    motion_leads: bool,
    /// What is known of its cycle; of a recording nothing is learned.
    rhythm: Option<Rhythm>,
}

/// What came and cannot be placed yet.
#[derive(Clone, Copy, Default, Debug)]
struct Loose {
    hdop: Option<(BootTime, Option<f64>)>,
    motion: Option<(BootTime, Motion)>,
    date: Option<(Span, Option<CivilDate>)>,
    gst_m: Option<(Span, Option<f64>)>,
    gbs_m: Option<(Span, Option<f64>)>,
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    time: Span,
    date: Option<CivilDate>,
    last: BootTime,
    roster: Roster,
    /// More of it came, and that has been learned from.
    early: bool,
}

impl Assembler {
    /// `range_error_m` turns HDOP into metres (`[decide] range_error_m`).
    pub fn new(range_error_m: f64) -> Self {
        Self {
            range_error_m,
            open: None,
            loose: Loose::default(),
            closed: None,
            hdop_leads: false,
            motion_leads: false,
            rhythm: Some(Rhythm::new()),
        }
    }

    /// The same for a recording: nobody waits, so that only times of day and quiet end an epoch.
    #[must_use]
    pub fn patient(self) -> Self {
        Self { rhythm: None, ..self }
    }

    /// Takes one sentence, stamped with the arrival of its bytes. Gives the epoch that it ended.
    /// A sentence that is refused changes nothing of any epoch.
    pub fn push(
        &mut self,
        sentence: &Sentence<'_>,
        now: BootTime,
    ) -> Result<Option<Epoch>, Reject> {
        let reading = read(sentence)?;
        if let Reading::Located(located) = reading {
            let ended = self.locate(&located, now)?;
            return Ok(ended.or_else(|| self.complete()));
        }
        let ended = self.flush(now);
        match reading {
            Reading::Hdop(hdop) if !self.is_tail(Part::Gsa, self.hdop_leads, now) => {
                self.hdop_leads |= self.open.is_none() && hdop.is_some();
                let known = self.loose.hdop.and_then(|(_, known)| known);
                self.loose.hdop = Some((now, hdop.or(known)));
            }
            Reading::Motion(motion) if !self.is_tail(Part::Vtg, self.motion_leads, now) => {
                let known = motion != Motion::default();
                self.motion_leads |= self.open.is_none() && known;
                if known || self.loose.motion.is_none() {
                    self.loose.motion = Some((now, motion));
                }
            }
            Reading::Date(time, date) => self.take_date(time, date, now),
            Reading::Gst(time, radius_m) => match self.holder(time, now) {
                Some(open) => open.take_gst(radius_m),
                None => self.loose.gst_m = time.map(|time| (time, radius_m)),
            },
            Reading::Gbs(time, radius_m) => match self.holder(time, now) {
                Some(open) => open.take_gbs(radius_m),
                None => self.loose.gbs_m = time.map(|time| (time, radius_m)),
            },
            Reading::Other => return Ok(ended),
            Reading::Hdop(_) | Reading::Motion(_) | Reading::Burst | Reading::Located(_) => {}
        }
        if let Some(open) = &mut self.open {
            open.hear(now);
        }
        Ok(ended.or_else(|| self.complete()))
    }

    /// When [`flush`](Self::flush) will have something, if nothing comes before.
    pub fn deadline(&self) -> Option<BootTime> {
        let quiet = self.rhythm.as_ref().map_or(QUIET, Rhythm::quiet);
        self.open.as_ref().map(|open| open.last + quiet)
    }

    /// Gives the open epoch if its deadline has come. Early calls are harmless.
    pub fn flush(&mut self, now: BootTime) -> Option<Epoch> {
        if self.deadline().is_some_and(|deadline| deadline <= now) { self.finish() } else { None }
    }

    /// Gives the open epoch: the input has ended, or paused.
    pub fn finish(&mut self) -> Option<Epoch> {
        self.open.as_ref()?;
        // Whatever has no time came before the pause, so it was this epoch's.
        self.hdop_leads &= self.loose.hdop.is_none();
        self.motion_leads &= self.loose.motion.is_none();
        self.close()
    }

    /// A sentence that has its own time, or at least its own place in the cycle.
    fn locate(&mut self, said: &Located, now: BootTime) -> Result<Option<Epoch>, Reject> {
        let mut ended = None;
        if !self.open.as_ref().is_some_and(|open| open.holds(said)) {
            if self.closed.is_some_and(|closed| closed.holds(said, now)) {
                self.came_after(now);
                return Err(Reject::Repeat);
            }
            ended = self.end_by_content(now);
        }
        let open = self.open.get_or_insert_with(|| Open::new(said, now));
        open.place(&mut self.loose, now);
        open.merge(said, now);
        open.claim(&mut self.loose);
        Ok(ended)
    }

    /// Closes the open epoch because another's sentence came.
    fn end_by_content(&mut self, now: BootTime) -> Option<Epoch> {
        if self.deadline()? <= now {
            return self.finish();
        }
        let open = self.open.as_ref()?;
        // An epoch that has its own between two of its sentences: this one is of what follows.
        self.hdop_leads |= self.loose.hdop.is_some() && open.roster.count(Part::Gsa) > 0;
        self.motion_leads |= self.loose.motion.is_some() && open.roster.count(Part::Vtg) > 0;
        self.close()
    }

    /// Closes the open epoch if its cycle is known and all here.
    fn complete(&mut self) -> Option<Epoch> {
        let open = self.open.as_ref()?;
        open.time?;
        let mut seen = open.roster;
        if !self.hdop_leads && self.loose.hdop.is_some() {
            seen = seen.and(Part::Gsa);
        }
        if !self.motion_leads && self.loose.motion.is_some() {
            seen = seen.and(Part::Vtg);
        }
        if self.rhythm.as_ref()?.is_complete(seen) { self.close() } else { None }
    }

    /// What has no time is this epoch's, unless this receiver sends it ahead.
    fn close(&mut self) -> Option<Epoch> {
        let mut open = self.open.take()?;
        if !self.hdop_leads
            && let Some((_, hdop)) = self.loose.hdop.take()
        {
            open.take_hdop(hdop);
        }
        if !self.motion_leads
            && let Some((_, motion)) = self.loose.motion.take()
        {
            open.take_motion(motion);
        }
        if let Some(time) = open.time {
            let (date, last, roster) = (open.rmc_date, open.last, open.roster);
            self.closed = Some(Closed { time, date, last, roster, early: false });
            if let Some(rhythm) = &mut self.rhythm {
                rhythm.ended(roster, open.gap);
            }
        }
        Some(open.epoch(self.range_error_m))
    }

    /// Whether what has no time comes behind the end of its epoch. Then it is of none.
    fn is_tail(&mut self, part: Part, leads: bool, now: BootTime) -> bool {
        if self.open.is_some() || leads || self.rhythm.is_none() {
            return false;
        }
        let Some(closed) = self.closed.filter(|closed| closed.is_near(now)) else { return false };
        if closed.roster.count(part) == 0 {
            self.came_after(now);
        }
        true
    }

    /// The open epoch if a sentence with such a time is of it; else it comes early, or late.
    fn holder(&mut self, time: Option<Span>, now: BootTime) -> Option<&mut Open> {
        if self.closed.is_some_and(|closed| same(time, Some(closed.time))) {
            self.came_after(now);
        }
        self.open.as_mut().filter(|open| time.is_none() || same(time, open.time))
    }

    /// Something came of the epoch closed last: if at once, it was closed too early.
    fn came_after(&mut self, now: BootTime) {
        if let (Some(closed), Some(rhythm)) = (&mut self.closed, &mut self.rhythm)
            && closed.is_near(now)
        {
            closed.last = now;
            if !std::mem::replace(&mut closed.early, true) {
                rhythm.was_wrong();
            }
        }
    }

    fn take_date(&mut self, time: Option<Span>, date: Option<CivilDate>, now: BootTime) {
        if let Some(open) = &mut self.open
            && open.time.is_none()
        {
            // Before the first fix some receivers give their time in the ZDA alone.
            open.time = time;
        }
        match self.holder(time, now) {
            Some(open) => open.take_date(date),
            None => self.loose.date = time.map(|time| (time, date)),
        }
    }
}

/// Whether two times of day are of one measurement.
fn same(a: Option<Span>, b: Option<Span>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (a - b).abs() < SAME_TIME)
}

impl Closed {
    /// Whether this is more of an epoch already given out.
    fn holds(&self, said: &Located, now: BootTime) -> bool {
        let other_day = self.date.zip(said.date).is_some_and(|(a, b)| a != b);
        same(said.time, Some(self.time)) && !other_day && (now - self.last).abs() < REPEAT_FOR
    }

    /// Whether its burst may still go on.
    fn is_near(&self, now: BootTime) -> bool {
        now - self.last < QUIET
    }
}

#[cfg(test)]
mod tests;
