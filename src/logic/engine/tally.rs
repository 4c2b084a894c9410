//! What each source gave: counted by source, so that a bad one can be named.
//!
//! Always holds: totals are the sums over sources. Does not know: what was counted.

use crate::logic::gnss::Reject;
use crate::logic::gnss::trust::TrustCounters;
use crate::logic::health::Counters;
use crate::units::{BootTime, Span};

/// How long one look at a source's rate and noise lasts.
const LOOK: Span = Span::from_secs(10);

/// One source's counts.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Only what is counted by source; the rest stays zero.
    pub(super) counters: Counters,
    look: Look,
    /// Epochs a second in the last whole look.
    pub(super) rate_hz: Option<f64>,
    /// Whether more lines were broken than whole in the last look.
    pub(super) garbled: bool,
}

/// What has come since a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    since: Option<BootTime>,
    epochs: u64,
    sentences: u64,
    broken: u64,
}

impl Tally {
    /// Something came.
    pub(super) fn heard(&mut self, now: BootTime) {
        let own = &self.counters;
        let (epochs, sentences, broken) = (own.epochs, own.sentences, own.broken());
        let fresh = Look { since: Some(now), epochs, sentences, broken };
        let Some(since) = self.look.since else {
            self.look = fresh;
            return;
        };
        if now - since >= LOOK {
            let seen = (epochs - self.look.epochs) as f64;
            self.rate_hz = Some(seen / (now - since).secs_f64());
            self.garbled = broken - self.look.broken > sentences - self.look.sentences;
            self.look = fresh;
        }
    }
}

/// What a clock-trust machine lost.
pub(super) fn of_trust(own: TrustCounters) -> [(Reject, u64); 2] {
    [(Reject::NoTime, own.no_time), (Reject::BadDate, own.bad_date)]
}
