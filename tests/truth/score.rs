//! What was reported, held against the truth.
//!
//! Always holds: reports and true crossings are paired in order, so that the times between them
//! sum up to the least. Does not know: how either came about.

use std::fmt;

use geofenced::logic::simulate::truth::Crossing;
use geofenced::units::EventTime;

use crate::run::Reported;

/// A report farther than this from a crossing is of another one, in seconds.
const APART_S: f64 = 180.0;

/// One cell of a table.
#[derive(Clone, Default, Debug)]
pub(crate) struct Score {
    /// True crossings.
    pub(crate) truths: usize,
    /// Reports of no true crossing.
    pub(crate) spurious: Vec<Reported>,
    /// The greatest distance to the boundary, in metres, that the vehicle kept around one of them.
    pub(crate) aloof_m: f64,
    /// True crossings without a report.
    pub(crate) missed: Vec<EventTime>,
    /// From the crossing to the fix that decided, in seconds.
    delays_s: Vec<f64>,
    /// Crossings outside of the bracket reported for them.
    pub(crate) outside: Vec<Miss>,
    /// Crossings after the fix that decided, where no `not_after` was known: a vehicle that creeps
    /// on the line was taken for inside before it was.
    pub(crate) early: usize,
}

/// A crossing outside of its bracket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    /// When it truly was.
    pub(crate) time: EventTime,
    /// What was reported.
    pub(crate) reported: Reported,
}

impl Score {
    /// Adds what was reported for one zone.
    pub(crate) fn add(&mut self, truths: &[Crossing], reports: &[Reported]) {
        let mut moments: Vec<(EventTime, bool)> = truths.iter().map(|t| (t.time, true)).collect();
        moments.extend(reports.iter().map(|r| (r.confirmed_at, false)));
        moments.sort_unstable();
        let (mut t, mut r) = (0, 0);
        // What lies far apart is not of one another: each cluster by itself.
        for cluster in moments.chunk_by(|a, b| (b.0 - a.0).secs_f64() < APART_S) {
            let here = cluster.iter().filter(|(_, truth)| *truth).count();
            let (t_end, r_end) = (t + here, r + cluster.len() - here);
            self.cluster(&truths[t..t_end], &reports[r..r_end]);
            (t, r) = (t_end, r_end);
        }
    }

    fn cluster(&mut self, truths: &[Crossing], reports: &[Reported]) {
        self.truths += truths.len();
        let pairs = pairs(truths, reports);
        let alone = (0..truths.len()).filter(|t| pairs.iter().all(|(own, _)| own != t));
        self.missed.extend(alone.map(|t| truths[t].time));
        let alone = (0..reports.len()).filter(|r| pairs.iter().all(|(_, own)| own != r));
        self.spurious.extend(alone.map(|r| reports[r]));
        for (t, r) in pairs {
            let (time, reported) = (truths[t].time, reports[r]);
            self.delays_s.push((reported.confirmed_at - time).secs_f64());
            if time < reported.not_before || reported.not_after.is_some_and(|until| until < time) {
                self.outside.push(Miss { time, reported });
            } else if reported.not_after.is_none() && reported.confirmed_at < time {
                self.early += 1;
            }
        }
    }

    /// Crossings that have a report.
    pub(crate) fn paired(&self) -> usize {
        self.delays_s.len()
    }

    /// Share of them within the bracket, which without a `not_after` has no end.
    pub(crate) fn share(&self) -> f64 {
        1.0 - self.outside.len() as f64 / self.paired().max(1) as f64
    }

    /// Share of them within the bracket, which without a `not_after` ends at the fix that decided.
    pub(crate) fn closed_share(&self) -> f64 {
        1.0 - (self.outside.len() + self.early) as f64 / self.paired().max(1) as f64
    }

    /// So much of the delays is at most this, in seconds.
    pub(crate) fn delay_s(&self, share: f64) -> f64 {
        let mut delays_s = self.delays_s.clone();
        delays_s.sort_by(f64::total_cmp);
        let last = delays_s.len().saturating_sub(1);
        delays_s.get((share * last as f64).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not in {}", self.time, self.reported)
    }
}

/// Which report is of which crossing: in order, the same way, the least time apart in all.
fn pairs(truths: &[Crossing], reports: &[Reported]) -> Vec<(usize, usize)> {
    let cost = |t: usize, r: usize| {
        let apart_s = (reports[r].confirmed_at - truths[t].time).abs().secs_f64();
        (truths[t].inside == reports[r].inside && apart_s < APART_S).then_some(apart_s)
    };
    let width = reports.len() + 1;
    // The least cost of all from here on; leaving one out costs half of being too far apart.
    let mut least = vec![0.0; (truths.len() + 1) * width];
    let at = |t: usize, r: usize| t * width + r;
    let alone_s = APART_S / 2.0;
    for t in (0..=truths.len()).rev() {
        for r in (0..=reports.len()).rev() {
            let mut best = if t == truths.len() && r == reports.len() { 0.0 } else { f64::MAX };
            if t < truths.len() {
                best = f64::min(best, alone_s + least[at(t + 1, r)]);
            }
            if r < reports.len() {
                best = f64::min(best, alone_s + least[at(t, r + 1)]);
            }
            let both = t < truths.len() && r < reports.len();
            if let Some(cost) = both.then(|| cost(t, r)).flatten() {
                best = f64::min(best, cost + least[at(t + 1, r + 1)]);
            }
            least[at(t, r)] = best;
        }
    }
    let (mut t, mut r, mut found) = (0, 0, Vec::new());
    while t < truths.len() && r < reports.len() {
        let best = least[at(t, r)];
        if cost(t, r).is_some_and(|cost| cost + least[at(t + 1, r + 1)] == best) {
            found.push((t, r));
            (t, r) = (t + 1, r + 1);
        } else if alone_s + least[at(t + 1, r)] == best {
            t += 1;
        } else {
            r += 1;
        }
    }
    found
}

/// The score can tell right from wrong: seconds of true crossings and of reports, inwards first.
#[test]
fn a_score_counts_what_is_wrong() {
    let at = |secs: i64| EventTime::from_nanos(secs * 1_000_000_000);
    let check = |truths: &[i64], reports: &[i64], expected: (usize, usize, usize, usize)| {
        let side = |ix: usize| ix.is_multiple_of(2);
        let place = geofenced::units::Position::new(1.0, 1.0).unwrap();
        let truths = truths.iter().enumerate();
        let truths: Vec<Crossing> =
            truths.map(|(ix, t)| Crossing { time: at(*t), inside: side(ix), place }).collect();
        let reports = reports.iter().enumerate().map(|(ix, t)| Reported {
            inside: side(ix),
            not_before: at(*t - 10),
            not_after: (*t % 2 == 0).then_some(at(*t - 1)),
            confirmed_at: at(*t),
        });
        let mut score = Score::default();
        score.add(&truths, &reports.collect::<Vec<_>>());
        let Score { spurious, missed, outside, early, .. } = score;
        assert_eq!((spurious.len(), missed.len(), outside.len(), early), expected, "{truths:?}");
    };
    check(&[100, 200], &[104, 204], (0, 0, 0, 0));
    check(&[100, 200], &[], (0, 2, 0, 0));
    check(&[], &[100, 200], (2, 0, 0, 0));
    check(&[100, 200], &[90, 95, 104, 204], (2, 0, 0, 0));
    check(&[100, 120, 140, 200], &[104, 204], (0, 2, 0, 0));
    check(&[100, 200], &[112, 204], (0, 0, 1, 0));
    check(&[100, 200], &[100, 200], (0, 0, 2, 0));
    check(&[100, 200], &[99, 204], (0, 0, 0, 1));
    check(&[100, 200], &[1_104, 1_204], (2, 2, 0, 0));
}
