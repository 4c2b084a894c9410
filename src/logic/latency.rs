//! How long fixes take: a histogram of named buckets, and one for each stage.
//!
//! Always holds: counting allocates nothing; every span counts once; a quantile is never above
//! the longest span seen. Does not know: clocks.

use serde::{Deserialize, Serialize};

use crate::units::Span;

/// Upper ends of the buckets in milliseconds; whatever is longer goes into one more. Fine where
/// `window` (500 ms) and a commit a second put most spans.
const ENDS_MS: [i64; 26] = [
    1, 2, 5, 10, 20, 50, 100, 200, 300, 400, 500, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000,
    2500, 5000, 10_000, 30_000, 60_000, 600_000, 3_600_000,
];

/// Counts of spans by length.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    counts: [u64; ENDS_MS.len() + 1],
    count: u64,
    longest: Span,
}

impl Histogram {
    /// Counts one span. Below nothing is nothing: stamps of two threads may cross.
    pub fn note(&mut self, span: Span) {
        let bucket = ENDS_MS.partition_point(|end| Span::from_millis(*end) < span);
        self.counts[bucket] += 1;
        self.count += 1;
        self.longest = self.longest.max(span);
    }

    /// The span that a share of all does not exceed, read between the ends of its bucket.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let rank = (self.count as f64 * share).ceil().max(1.0) as u64;
        let mut below = 0;
        for (bucket, &count) in self.counts.iter().enumerate() {
            if count > 0 && below + count >= rank {
                let from = bucket.checked_sub(1).map_or(0, |before| ENDS_MS[before]);
                let Some(end) = ENDS_MS.get(bucket) else { return Some(self.longest) };
                let part = (rank - below) as f64 / count as f64;
                let millis = from as f64 + (end - from) as f64 * part;
                return Some(Span::from_secs_f64(millis / 1e3).min(self.longest));
            }
            below += count;
        }
        None
    }

    /// What `status` shows.
    pub fn status(&self) -> HistogramStatus {
        let seconds = |share| self.quantile(share).map(Span::secs_f64);
        let ends = ENDS_MS.iter().map(|end| Some(*end as f64 / 1e3)).chain([None]);
        let all = ends.zip(&self.counts).filter(|(_, count)| **count > 0);
        HistogramStatus {
            count: self.count,
            p50_s: seconds(0.5),
            p99_s: seconds(0.99),
            max_s: (self.count > 0).then(|| self.longest.secs_f64()),
            buckets: all.map(|(to_s, count)| BucketStatus { to_s, count: *count }).collect(),
        }
    }
}

/// A histogram as `status` shows it; buckets that hold nothing are left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HistogramStatus {
    /// How many spans.
    pub count: u64,
    /// Half of them are no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_s: Option<f64>,
    /// 99 % of them are no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_s: Option<f64>,
    /// The longest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_s: Option<f64>,
    /// From short to long.
    pub buckets: Vec<BucketStatus>,
}

/// One bucket.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct BucketStatus {
    /// No span in it is longer; none where there is no bound.
    pub to_s: Option<f64>,
    /// How many spans.
    pub count: u64,
}

/// The stages of a fix, each from its arrival on the boot clock. Fixes of trusted feeds count
/// in none: they do not arrive when they were measured.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyStatus {
    /// Each fix, until the order let it go.
    pub released: HistogramStatus,
    /// Each fix, until it was decided on.
    pub decided: HistogramStatus,
    /// Each fix that made an event, until that was on disk.
    pub durable: HistogramStatus,
    /// The same, until the server had it.
    pub acknowledged: HistogramStatus,
    /// What `durable` may be for 99 % (`reorder_window` + 1.1 s).
    pub durable_p99_max_s: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(millis: &[i64], share: f64, expected_ms: Option<i64>) {
        let mut histogram = Histogram::default();
        for ms in millis {
            histogram.note(Span::from_millis(*ms));
        }
        let quantile = histogram.quantile(share);
        assert_eq!(quantile, expected_ms.map(Span::from_millis), "{millis:?} at {share}");
    }

    #[test]
    fn a_quantile_lies_in_its_bucket() {
        check(&[], 0.99, None);
        check(&[550], 0.99, Some(550));
        check(&[-3], 0.5, Some(0));
        check(&[510, 520, 530, 540], 0.5, Some(540));
        check(&[501, 501, 501, 600], 0.25, Some(525));
        check(&[1; 99], 0.99, Some(1));
        check(&[7_200_000, 1, 1], 0.99, Some(7_200_000));
        let mut many = vec![500; 990];
        many.extend([1500; 10]);
        check(&many, 0.99, Some(500));
        many.push(1500);
        check(&many, 0.999, Some(1500));
    }

    #[test]
    fn the_status_reads_back() {
        let mut histogram = Histogram::default();
        histogram.note(Span::from_millis(1300));
        histogram.note(Span::from_secs(7200));
        let status = histogram.status();
        let text = serde_json::to_string(&status).unwrap();
        assert_eq!(serde_json::from_str::<HistogramStatus>(&text).unwrap(), status);
        assert_eq!(status.buckets.iter().map(|b| b.to_s).collect::<Vec<_>>(), [Some(1.4), None]);
    }
}
