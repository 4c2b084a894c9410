//! The open epoch: what its sentences said so far, merged.
//!
//! Always holds: the order of sentences of different kinds does not matter; it is as large as at
//! its start.
//! Does not know: when it ends.

use super::read::{Given, Kind, Located, Motion, Verdict};
use super::rhythm::{Part, Roster};
use super::{Epoch, LOOSE_FOR, Loose, Place, UNKNOWN_ACCURACY_M, same};
use crate::logic::gnss::{CivilDate, FixQuality, Reject};
use crate::units::{BootTime, Span};

/// A value, and how much the kind of sentence that gave it is believed.
type Ranked<T> = Option<(u8, T)>;

/// The epoch being merged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) time: Option<Span>,
    first: BootTime,
    pub(super) last: BootTime,
    /// The longest pause between two of its sentences.
    pub(super) gap: Span,
    pub(super) roster: Roster,
    /// Who sent the first of each kind: without times, its next one is the next epoch's.
    talkers: [Option<[u8; 2]>; Kind::COUNT],
    verdict: Option<Verdict>,
    given: Option<Given>,
    pub(super) rmc_date: Option<CivilDate>,
    zda_date: Option<CivilDate>,
    hdop: Ranked<f64>,
    gsa_hdop: Option<f64>,
    gst_m: Option<f64>,
    pubx_m: Option<f64>,
    gbs_m: Option<f64>,
    speed_mps: Ranked<f32>,
    heading_deg: Ranked<f32>,
    vtg_motion: Motion,
    altitude_m: Ranked<f32>,
}

impl Open {
    pub(super) fn new(said: &Located, now: BootTime) -> Self {
        Self {
            time: said.time,
            first: now,
            last: now,
            gap: Span::ZERO,
            roster: Roster::default(),
            talkers: [None; Kind::COUNT],
            verdict: None,
            given: None,
            rmc_date: None,
            zda_date: None,
            hdop: None,
            gsa_hdop: None,
            gst_m: None,
            pubx_m: None,
            gbs_m: None,
            speed_mps: None,
            heading_deg: None,
            vtg_motion: Motion::default(),
            altitude_m: None,
        }
    }

    /// Whether the sentence is of this epoch.
    pub(super) fn holds(&self, said: &Located) -> bool {
        let other_day = self.rmc_date.zip(said.date).is_some_and(|(a, b)| a != b);
        match (self.time, said.time) {
            (Some(_), Some(_)) => same(self.time, said.time) && !other_day,
            _ => self.talkers[said.kind as usize] != Some(said.talker),
        }
    }

    /// Something of its burst has arrived.
    pub(super) fn hear(&mut self, now: BootTime) {
        self.gap = self.gap.max(now - self.last);
        self.last = now;
    }

    /// Takes in what has no time and waited for this epoch.
    pub(super) fn place(&mut self, loose: &mut Loose, now: BootTime) {
        let fresh = |at: BootTime| now - at <= LOOSE_FOR;
        if let Some((at, hdop)) = loose.hdop.take()
            && fresh(at)
        {
            self.take_hdop(hdop);
        }
        if let Some((at, motion)) = loose.motion.take()
            && fresh(at)
        {
            self.take_motion(motion);
        }
    }

    /// Takes in what waited for this epoch's time.
    pub(super) fn claim(&mut self, loose: &mut Loose) {
        if let Some((_, date)) = loose.date.take_if(|(time, _)| same(self.time, Some(*time))) {
            self.take_date(date);
        }
        if let Some((_, gst_m)) = loose.gst_m.take_if(|(time, _)| same(self.time, Some(*time))) {
            self.take_gst(gst_m);
        }
        if let Some((_, gbs_m)) = loose.gbs_m.take_if(|(time, _)| same(self.time, Some(*time))) {
            self.take_gbs(gbs_m);
        }
    }

    pub(super) fn take_hdop(&mut self, hdop: Option<f64>) {
        self.roster = self.roster.and(Part::Gsa);
        self.gsa_hdop = self.gsa_hdop.or(hdop);
    }

    pub(super) fn take_motion(&mut self, motion: Motion) {
        self.roster = self.roster.and(Part::Vtg);
        if motion != Motion::default() {
            self.vtg_motion = motion;
        }
    }

    pub(super) fn take_date(&mut self, date: Option<CivilDate>) {
        self.roster = self.roster.and(Part::Zda);
        self.zda_date = date.or(self.zda_date);
    }

    pub(super) fn take_gst(&mut self, radius_m: Option<f64>) {
        self.roster = self.roster.and(Part::Gst);
        self.gst_m = radius_m.or(self.gst_m);
    }

    pub(super) fn take_gbs(&mut self, radius_m: Option<f64>) {
        self.roster = self.roster.and(Part::Gbs);
        self.gbs_m = radius_m.or(self.gbs_m);
    }

    pub(super) fn merge(&mut self, said: &Located, now: BootTime) {
        self.hear(now);
        self.roster = self.roster.and(said.kind.part());
        self.time = self.time.or(said.time);
        self.talkers[said.kind as usize].get_or_insert(said.talker);
        self.verdict = self.verdict.max(said.verdict);
        if let Some(given) = said.given
            && self.given.is_none_or(|own| own.rank < given.rank)
        {
            self.given = Some(given);
        }
        self.rmc_date = self.rmc_date.or(said.date);
        self.pubx_m = self.pubx_m.or(said.radius_m);
        let rank = said.kind.rank();
        better(&mut self.hdop, rank, said.hdop.filter(|hdop| *hdop > 0.0));
        better(&mut self.speed_mps, rank, said.motion.speed_mps);
        better(&mut self.heading_deg, rank, said.motion.heading_deg);
        better(&mut self.altitude_m, rank, said.altitude_m);
    }

    pub(super) fn epoch(&self, range_error_m: f64) -> Epoch {
        let vtg = self.vtg_motion;
        // PUBX is the maker's own; the standard's sentences go before it.
        let own = |value: Ranked<f32>, vtg: Option<f32>| match value {
            Some((rank, value)) if rank > Kind::Pubx.rank() => Some(value),
            value => vtg.or(value.map(|(_, value)| value)),
        };
        Epoch {
            stamp: self.first,
            time: self.time,
            date: self.zda_date.or(self.rmc_date),
            fix: self.fix(),
            accuracy_m: self.accuracy_m(range_error_m),
            speed_mps: own(self.speed_mps, vtg.speed_mps),
            heading_deg: own(self.heading_deg, vtg.heading_deg),
            altitude_m: self.altitude_m.map(|(_, altitude_m)| altitude_m),
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
        if let Some(told) = self.gst_m.filter(known).or(self.pubx_m.filter(known)) {
            return told;
        }
        let hdop = self.hdop.map(|(_, hdop)| hdop).filter(known);
        let hdop = hdop.or(self.gsa_hdop.filter(known));
        let guessed = hdop.map(|hdop| hdop * range_error_m).filter(known);
        guessed.unwrap_or(UNKNOWN_ACCURACY_M).max(self.gbs_m.filter(known).unwrap_or(0.0))
    }
}

/// Keeps the value of the kind that is believed most, of equals the first.
fn better<T>(slot: &mut Ranked<T>, rank: u8, value: Option<T>) {
    if let Some(value) = value
        && slot.as_ref().is_none_or(|(own, _)| *own < rank)
    {
        *slot = Some((rank, value));
    }
}
