//! Fixes that wait for a time, in order of arrival (TIME-6).
//!
//! Always holds: at most [`HELD_MAX`]; when full the oldest goes and is counted `no_time`.
//! Does not know: when the time comes.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{HELD_MAX, Stamp, TrustCounters};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Held<T>(VecDeque<Stamp<T>>);

impl<T: Copy> Held<T> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= HELD_MAX
    }
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Stamp<T>> {
        self.0.iter()
    }
    pub(super) fn keep(&mut self, stamp: Stamp<T>, counters: &mut TrustCounters) {
        counters.held += 1;
        if self.is_full() {
            self.0.pop_front();
            counters.no_time += 1;
        }
        self.0.push_back(stamp);
    }
    /// Everything kept; nothing is kept any more.
    pub(super) fn take(&mut self) -> VecDeque<Stamp<T>> {
        std::mem::take(&mut self.0)
    }
}
