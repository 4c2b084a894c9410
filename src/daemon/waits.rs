//! How long fixes take to the disk and to the server, on the boot clock.
//!
//! Always holds: memory is bounded: beyond [`UNACKNOWLEDGED_MAX`] events the newest are not
//! timed, though still sent. Does not know: what an event says.

use std::collections::VecDeque;

use crate::logic::engine::Arrived;
use crate::logic::latency::Histogram;
use crate::units::BootTime;

/// Events whose acknowledgement is timed at once: a day without network in a town.
const UNACKNOWLEDGED_MAX: usize = 4096;

/// What is being timed.
#[derive(Debug, Default)]
pub(super) struct Waits {
    undurable: Vec<Arrived>,
    unacknowledged: VecDeque<Arrived>,
    pub(super) durable: Histogram,
    pub(super) acknowledged: Histogram,
}

impl Waits {
    /// Events were decided.
    pub(super) fn decided(&mut self, arrived: Vec<Arrived>) {
        self.undurable.extend(arrived);
    }

    /// All of them are on disk.
    pub(super) fn committed(&mut self, now: BootTime) {
        for event in self.undurable.drain(..) {
            self.durable.note(now - event.at);
            if self.unacknowledged.len() < UNACKNOWLEDGED_MAX {
                self.unacknowledged.push_back(event);
            }
        }
    }

    /// The server has every event up to this one.
    pub(super) fn acknowledged(&mut self, up_to: u64, now: BootTime) {
        while let Some(event) = self.unacknowledged.pop_front_if(|event| event.seq <= up_to) {
            self.acknowledged.note(now - event.at);
        }
    }
}
