//! What an order did to the crossings, against the same machine fed in true order.
//!
//! A change of membership is *right* where it has its partner in the truth: of the same asset and
//! zone, in the same direction, decided by fixes measured within [`APART_MAX`] of one another; the
//! two sequences are aligned so that as many as can be are right. What is left over here is
//! *spurious*, and what is left over in the truth is *missed*.

use std::fmt;

use crate::run::{Change, Outcome};
use crate::workload::Workload;

/// As long as the longest burst is late. A crossing that was seen only after it is still that one.
const APART_MAX: i64 = 30_000_000_000;
/// A clock that steps by no more is within the tolerance (TIME-3), whose edge jitter blurs.
const STEP_MIN: i64 = 2_000_000_000;
/// What a step may miss or exceed [`STEP_MIN`] by because delays are not known.
const STEP_BLUR: i64 = 500_000_000;

/// Sums over the workloads of one row of the table.
#[derive(Clone, Default)]
pub(crate) struct Score {
    pub(crate) fixes: u64,
    pub(crate) truth: u64,
    pub(crate) spurious: u64,
    pub(crate) missed: u64,
    pub(crate) reversals: u64,
    pub(crate) late: u64,
    /// Of those, the ones whose transport took longer than the window …
    pub(crate) late_delayed: u64,
    /// … and the ones in time, but after their clock stepped back.
    pub(crate) late_stepped: u64,
    pub(crate) other_rejects: u64,
    pub(crate) clamped: u64,
    /// Steps beyond the tolerance that were adopted, and forward ones that were not: one back by
    /// a few seconds is adopted only by an estimate that rests on a single fix (TIME-4).
    pub(crate) steps_right: u64,
    pub(crate) steps_unseen: u64,
    /// Steps of clocks that did not step so far, or that had stepped already.
    pub(crate) steps_wrong: u64,
    latency: Vec<i64>,
}

impl Score {
    /// Adds one run.
    pub(crate) fn add(&mut self, workload: &Workload, truth: &Outcome, run: &Outcome) {
        let none = Vec::new();
        for (pair, want) in &truth.changes {
            let have = run.changes.get(pair).unwrap_or(&none);
            let right = aligned(want, have);
            self.truth += want.len() as u64;
            self.missed += (want.len() - right) as u64;
            self.spurious += (have.len() - right) as u64;
        }
        let unknown = run.changes.iter().filter(|(pair, _)| !truth.changes.contains_key(pair));
        self.spurious += unknown.map(|(_, have)| have.len() as u64).sum::<u64>();
        self.fixes += workload.rows.len() as u64;
        self.reversals += run.reversals;
        self.other_rejects += run.other_rejects;
        self.clamped += run.clamped;
        self.latency.extend(&run.latency);
    }

    /// Adds why fixes were late.
    pub(crate) fn add_late(&mut self, workload: &Workload, run: &Outcome, window_ms: i64) {
        let first = first_skews(workload);
        for n in &run.late {
            let row = &workload.rows[*n as usize];
            let stepped = row.event - row.truth < first[row.asset as usize] - 1_000_000;
            self.late += 1;
            if row.at - row.truth > window_ms * 1_000_000 {
                self.late_delayed += 1;
            } else if stepped {
                self.late_stepped += 1;
            }
        }
    }

    /// Adds how the steps were judged.
    pub(crate) fn add_steps(&mut self, workload: &Workload, steps: &[u64]) {
        let first = first_skews(workload);
        let mut step = vec![0_i64; steps.len()];
        for row in &workload.rows {
            let by = row.event - row.truth - first[row.asset as usize];
            if by.abs() > step[row.asset as usize].abs() {
                step[row.asset as usize] = by;
            }
        }
        for (by, adopted) in step.iter().zip(steps) {
            let real = by.abs() > STEP_MIN - STEP_BLUR;
            self.steps_right += u64::from(real && *adopted > 0);
            self.steps_unseen += u64::from(*by > STEP_MIN + STEP_BLUR && *adopted == 0);
            self.steps_wrong += adopted - u64::from(real && *adopted > 0);
        }
    }

    /// A share of the true changes, in per cent.
    pub(crate) fn share(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.truth.max(1) as f64
    }

    /// A share of the fixes, in per cent.
    pub(crate) fn of_fixes(&self, count: u64) -> f64 {
        100.0 * count as f64 / self.fixes.max(1) as f64
    }

    fn latency_ms(&self, share: f64) -> f64 {
        let mut sorted = self.latency.clone();
        sorted.sort_unstable();
        let place = ((sorted.len() as f64 - 1.0) * share).max(0.0) as usize;
        sorted.get(place).map_or(0.0, |nanos| *nanos as f64 / 1e6)
    }
}

/// The heading of the table.
pub(crate) const HEADING: &str = "order     changes  spurious  missed  reversals    late (delayed, stepped, other)  \
     clamped  steps right unseen wrong  latency ms p50    p99";

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other = self.late - self.late_delayed - self.late_stepped;
        write!(
            f,
            "{:>7} {:>8.3}% {:>6.3}% {:>9.3}% {:>6.3}% ({:>5}, {:>5}, {:>5}) {:>12} {:>12} {:>6} {:>5} {:>14.0} {:>6.0}",
            self.truth,
            self.share(self.spurious),
            self.share(self.missed),
            self.of_fixes(self.reversals),
            self.of_fixes(self.late),
            self.late_delayed,
            self.late_stepped,
            other,
            self.clamped,
            self.steps_right,
            self.steps_unseen,
            self.steps_wrong,
            self.latency_ms(0.5),
            self.latency_ms(0.99),
        )
    }
}

/// Each asset's skew at first.
fn first_skews(workload: &Workload) -> Vec<i64> {
    let mut first: Vec<Option<(i64, i64)>> = Vec::new();
    for row in &workload.rows {
        let asset = row.asset as usize;
        first.resize(first.len().max(asset + 1), None);
        if first[asset].is_none_or(|(truth, _)| row.truth < truth) {
            first[asset] = Some((row.truth, row.event - row.truth));
        }
    }
    first.into_iter().map(|found| found.map_or(0, |(_, skew)| skew)).collect()
}

/// How many of two sequences can be aligned.
fn aligned(want: &[Change], have: &[Change]) -> usize {
    let mut best = vec![0; have.len() + 1];
    for wanted in want {
        let mut diagonal = 0;
        for (n, had) in have.iter().enumerate() {
            let same = wanted.inside == had.inside && (wanted.truth - had.truth).abs() <= APART_MAX;
            let matched = diagonal + usize::from(same);
            diagonal = best[n + 1];
            best[n + 1] = diagonal.max(best[n]).max(matched);
        }
    }
    best[have.len()]
}
