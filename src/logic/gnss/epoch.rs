//! From sentences to one epoch: all sentences of one measurement become one [`Epoch`], whatever
//! their order, talker and number (FIELD D1, D14).
//!
//! Always holds: a time of day gives one epoch, a repeat of the epoch just closed gives none; the
//! most cautious sentence decides validity; the position with the most decimals is taken, of
//! equal ones GGA's or GNS's, then RMC's, then GLL's; of equals the first.
//! Does not know: the day (TIME-5 is `trust`'s), which fixes may vote, any clock.
//!
//! **What ends an epoch.** RMC, GGA, GNS and GLL with another time of day, or quiet for [`QUIET`].
//! ZDA and GST name their epoch by its time and wait for it if need be. GSA and VTG have no time:
//! behind a quiet spell they belong to what follows, before one to what came, and between two
//! sentences of one time to that. Where no spell tells (a log read at once, a receiver that never
//! pauses) they go where this receiver's last spell, or the start of its stream, put them.
//!
//! This module is the one home of the `nmea` crate.

mod read;

use crate::logic::gnss::line::Sentence;
use crate::logic::gnss::{CivilDate, FixQuality, Reject};
use crate::units::{BootTime, Position, Span};
use read::{Given, Kind, Located, Motion, Reading, Verdict, read};

/// Quiet that ends a burst. A full line of 82 characters takes 171 ms at 4,800 baud, the slowest
/// rate in use, and a sentence is only seen at its end; faster receivers pause for longer or end
/// their epochs by the next time of day.
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
}

/// The epoch being merged.
#[derive(Clone, Copy, Debug)]
struct Open {
    time: Option<Span>,
    first: BootTime,
    last: BootTime,
    /// Who sent the first of each kind: without times, its next one is the next epoch's.
    talkers: [Option<[u8; 2]>; Kind::COUNT],
    verdict: Option<Verdict>,
    given: Option<Given>,
    rmc_date: Option<CivilDate>,
    zda_date: Option<CivilDate>,
    /// Of GGA and GNS.
    hdop: Option<f64>,
    /// Of GSA.
    gsa_hdop: Option<f64>,
    gst_m: Option<f64>,
    /// Of RMC.
    motion: Motion,
    /// Of VTG.
    vtg_motion: Motion,
    altitude_m: Option<f32>,
}

/// What came and cannot be placed yet.
#[derive(Clone, Copy, Default, Debug)]
struct Loose {
    hdop: Option<(BootTime, f64)>,
    motion: Option<(BootTime, Motion)>,
    date: Option<(Span, CivilDate)>,
    gst_m: Option<(Span, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    time: Span,
    date: Option<CivilDate>,
    last: BootTime,
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
        }
    }

    /// Takes one sentence, stamped with the arrival of its bytes. Gives the epoch that it ended.
    /// A sentence that is refused changes nothing.
    pub fn push(
        &mut self,
        sentence: &Sentence<'_>,
        now: BootTime,
    ) -> Result<Option<Epoch>, Reject> {
        let reading = read(sentence)?;
        if let Reading::Located(located) = reading {
            return self.locate(&located, now);
        }
        let ended = self.flush(now);
        match reading {
            Reading::Hdop(Some(hdop)) => {
                self.hdop_leads |= self.open.is_none();
                self.loose.hdop = Some((now, hdop));
            }
            Reading::Motion(motion) if motion != Motion::default() => {
                self.motion_leads |= self.open.is_none();
                self.loose.motion = Some((now, motion));
            }
            Reading::Date(time, date) => self.take_date(time, date),
            Reading::Noise(time, gst_m) => self.take_gst(time, gst_m),
            Reading::Other => return Ok(ended),
            Reading::Hdop(_) | Reading::Motion(_) | Reading::Burst | Reading::Located(_) => {}
        }
        if let Some(open) = &mut self.open {
            open.last = now;
        }
        Ok(ended)
    }

    /// When [`flush`](Self::flush) will have something, if nothing comes before.
    pub fn deadline(&self) -> Option<BootTime> {
        self.open.as_ref().map(|open| open.last + QUIET)
    }

    /// Gives the open epoch if its deadline has come. Early calls are harmless.
    pub fn flush(&mut self, now: BootTime) -> Option<Epoch> {
        if self.deadline().is_some_and(|deadline| deadline <= now) { self.finish() } else { None }
    }

    /// Gives the open epoch: the input has ended, or paused.
    pub fn finish(&mut self) -> Option<Epoch> {
        let open = self.open.as_mut()?;
        // Whatever has no time came before the pause, so it was this epoch's.
        if let Some((_, hdop)) = self.loose.hdop.take() {
            self.hdop_leads = false;
            open.gsa_hdop.get_or_insert(hdop);
        }
        if let Some((_, motion)) = self.loose.motion.take() {
            self.motion_leads = false;
            open.vtg_motion = motion;
        }
        self.close()
    }

    /// A sentence that has its own time, or at least its own place in the cycle.
    fn locate(&mut self, said: &Located, now: BootTime) -> Result<Option<Epoch>, Reject> {
        if let Some(open) = &mut self.open
            && open.holds(said)
        {
            open.place(&mut self.loose, now);
            open.merge(said, now);
            open.claim(&mut self.loose);
            return Ok(None);
        }
        if self.closed.is_some_and(|closed| closed.holds(said, now)) {
            return Err(Reject::Repeat);
        }
        let ended = self.end_by_content(now);
        let mut open = Open::new(said, now);
        open.place(&mut self.loose, now);
        open.merge(said, now);
        open.claim(&mut self.loose);
        self.open = Some(open);
        Ok(ended)
    }

    /// Closes the open epoch because another's sentence came.
    fn end_by_content(&mut self, now: BootTime) -> Option<Epoch> {
        if self.deadline()? <= now {
            return self.finish();
        }
        let open = self.open.as_mut()?;
        // An epoch that has its own between two of its sentences: this one is of what follows.
        self.hdop_leads |= self.loose.hdop.is_some() && open.gsa_hdop.is_some();
        self.motion_leads |= self.loose.motion.is_some() && open.vtg_motion != Motion::default();
        if !self.hdop_leads
            && let Some((_, hdop)) = self.loose.hdop.take()
        {
            open.gsa_hdop.get_or_insert(hdop);
        }
        if !self.motion_leads
            && let Some((_, motion)) = self.loose.motion.take()
        {
            open.vtg_motion = motion;
        }
        self.close()
    }

    fn close(&mut self) -> Option<Epoch> {
        let open = self.open.take()?;
        if let Some(time) = open.time {
            self.closed = Some(Closed { time, date: open.rmc_date, last: open.last });
        }
        Some(open.epoch(self.range_error_m))
    }

    fn take_date(&mut self, time: Option<Span>, date: Option<CivilDate>) {
        match &mut self.open {
            // Before the first fix some receivers give their time in the ZDA alone.
            Some(open) if open.time.is_none() => {
                open.time = time;
                open.zda_date = date;
            }
            Some(open) if time.is_none() || same(time, open.time) => open.zda_date = date,
            _ => self.loose.date = time.zip(date),
        }
    }

    fn take_gst(&mut self, time: Option<Span>, gst_m: Option<f64>) {
        match &mut self.open {
            Some(open) if time.is_none() || same(time, open.time) => open.gst_m = gst_m,
            _ => self.loose.gst_m = time.zip(gst_m),
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
}

impl Open {
    fn new(said: &Located, now: BootTime) -> Self {
        Self {
            time: said.time,
            first: now,
            last: now,
            talkers: [None; Kind::COUNT],
            verdict: None,
            given: None,
            rmc_date: None,
            zda_date: None,
            hdop: None,
            gsa_hdop: None,
            gst_m: None,
            motion: Motion::default(),
            vtg_motion: Motion::default(),
            altitude_m: None,
        }
    }

    /// Whether the sentence is of this epoch.
    fn holds(&self, said: &Located) -> bool {
        let other_day = self.rmc_date.zip(said.date).is_some_and(|(a, b)| a != b);
        match (self.time, said.time) {
            (Some(_), Some(_)) => same(self.time, said.time) && !other_day,
            _ => self.talkers[said.kind as usize] != Some(said.talker),
        }
    }

    /// Takes in what has no time and waited for this epoch.
    fn place(&mut self, loose: &mut Loose, now: BootTime) {
        let fresh = |at: BootTime| now - at <= LOOSE_FOR;
        if let Some((at, hdop)) = loose.hdop.take()
            && fresh(at)
        {
            self.gsa_hdop.get_or_insert(hdop);
        }
        if let Some((at, motion)) = loose.motion.take()
            && fresh(at)
        {
            self.vtg_motion = motion;
        }
    }

    /// Takes in what waited for this epoch's time.
    fn claim(&mut self, loose: &mut Loose) {
        if let Some((time, date)) = loose.date
            && same(self.time, Some(time))
        {
            (self.zda_date, loose.date) = (Some(date), None);
        }
        if let Some((time, gst_m)) = loose.gst_m
            && same(self.time, Some(time))
        {
            (self.gst_m, loose.gst_m) = (Some(gst_m), None);
        }
    }

    fn merge(&mut self, said: &Located, now: BootTime) {
        self.last = now;
        self.time = self.time.or(said.time);
        self.talkers[said.kind as usize].get_or_insert(said.talker);
        self.verdict = self.verdict.max(said.verdict);
        if let Some(given) = said.given
            && self.given.is_none_or(|own| own.rank < given.rank)
        {
            self.given = Some(given);
        }
        self.rmc_date = self.rmc_date.or(said.date);
        self.hdop = self.hdop.or(said.hdop.filter(|hdop| *hdop > 0.0));
        self.motion.speed_mps = self.motion.speed_mps.or(said.motion.speed_mps);
        self.motion.heading_deg = self.motion.heading_deg.or(said.motion.heading_deg);
        self.altitude_m = self.altitude_m.or(said.altitude_m);
    }

    fn epoch(&self, range_error_m: f64) -> Epoch {
        Epoch {
            stamp: self.first,
            time: self.time,
            date: self.zda_date.or(self.rmc_date),
            fix: self.fix(),
            accuracy_m: self.accuracy_m(range_error_m),
            speed_mps: self.motion.speed_mps.or(self.vtg_motion.speed_mps),
            heading_deg: self.motion.heading_deg.or(self.vtg_motion.heading_deg),
            altitude_m: self.altitude_m,
        }
    }

    fn fix(&self) -> Result<Place, Reject> {
        let quality = match self.verdict.unwrap_or(Verdict::NoPosition) {
            Verdict::Measured => FixQuality::Measured,
            Verdict::Estimated => FixQuality::Estimated,
            Verdict::Simulated => return Err(Reject::Simulated),
            Verdict::NoPosition => return Err(Reject::NoPosition),
        };
        let position = self.given.ok_or(Reject::NoPosition)?.position?;
        if position.lat_deg() == 0.0 && position.lon_deg() == 0.0 {
            return Err(Reject::NullIsland);
        }
        Ok(Place { position, quality })
    }

    /// FIX-2. Zero, empty, negative and not finite mean unknown (FIELD B5).
    fn accuracy_m(&self, range_error_m: f64) -> f64 {
        let known = |v: &f64| v.is_finite() && *v > 0.0;
        let hdop = self.hdop.filter(known).or(self.gsa_hdop.filter(known));
        self.gst_m
            .filter(known)
            .or(hdop.map(|hdop| hdop * range_error_m).filter(known))
            .unwrap_or(UNKNOWN_ACCURACY_M)
    }
}

#[cfg(test)]
mod tests;
