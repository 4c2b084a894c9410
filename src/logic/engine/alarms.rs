//! The deadlines of all sources and assets in one queue.
//!
//! Always holds: nothing is asked about until its deadline is near, so that an idle asset costs
//! nothing. Does not know: what a deadline is for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::units::BootTime;

/// Whose deadline it is, by its place in the engine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Due {
    /// The end of a source's epoch.
    Source(usize),
    /// The release of an asset's fixes.
    Asset(usize),
    /// The end of an asset's patience.
    Silence(usize),
}

/// A queue of deadlines. One may be stale: whoever is asked too early says when to ask again.
#[derive(Debug, Default)]
pub(super) struct Alarms {
    queue: BinaryHeap<Reverse<(BootTime, Due)>>,
}

impl Alarms {
    /// Asks `due` at `deadline`.
    pub(super) fn set(&mut self, deadline: BootTime, due: Due) {
        self.queue.push(Reverse((deadline, due)));
    }

    /// The next deadline.
    pub(super) fn next(&self) -> Option<BootTime> {
        self.queue.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Every deadline, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (BootTime, Due)> {
        self.queue.iter().map(|Reverse(entry)| *entry)
    }

    /// The next deadline, if it is earlier than `before`.
    pub(super) fn pop_before(&mut self, before: BootTime) -> Option<(BootTime, Due)> {
        let Reverse((deadline, _)) = self.queue.peek()?;
        if *deadline >= before {
            return None;
        }
        self.queue.pop().map(|Reverse(entry)| entry)
    }
}
