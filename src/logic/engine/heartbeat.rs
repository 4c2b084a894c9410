//! When state is made durable (STO-2).
//!
//! Always holds: at most one commit in `commit_every`; crossing nothing writes nothing but a
//! heartbeat. Does not know: the store.

use crate::units::{BootTime, Span};

/// `[flash]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeartbeatRules {
    /// Events of this long go into one transaction.
    pub commit_every: Span,
    /// Fixes that change nothing are made durable this often.
    pub heartbeat: Span,
}

/// While the asset moves a heartbeat is this frequent, so that a power cut leaves a short bracket.
const MOVING: Span = Span::from_secs(60);

/// It moves once it is this far from where it was at the last commit.
pub(super) const MOVED_M: f64 = 100.0;

/// What waits to be made durable.
#[derive(Debug)]
pub(super) struct Heartbeat {
    rules: HeartbeatRules,
    last: BootTime,
    event: bool,
    fix: bool,
    pub(super) moved: bool,
}

impl Heartbeat {
    /// Nothing waits; an event may be committed at once.
    pub(super) fn new(now: BootTime, rules: HeartbeatRules) -> Self {
        let last = now - rules.commit_every;
        Self { rules, last, event: false, fix: false, moved: false }
    }
    /// An event waits.
    pub(super) fn event(&mut self) {
        self.event = true;
    }
    /// A fix waits.
    pub(super) fn fix(&mut self) {
        self.fix = true;
    }
    /// Everything was taken to be made durable.
    pub(super) fn taken(&mut self, now: BootTime) {
        *self = Self { last: now, event: false, fix: false, moved: false, rules: self.rules };
    }
    /// When it is due.
    pub(super) fn deadline(&self) -> Option<BootTime> {
        let wait = match (self.event, self.fix, self.moved) {
            (true, _, _) => self.rules.commit_every,
            (false, true, true) => MOVING.min(self.rules.heartbeat),
            (false, true, false) => self.rules.heartbeat,
            (false, false, _) => return None,
        };
        Some(self.last + wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sto_2_events_within_a_second_and_heartbeats_when_nothing_crosses() {
        let rules =
            HeartbeatRules { commit_every: Span::from_secs(1), heartbeat: Span::from_secs(900) };
        let at = |s| BootTime::from_nanos(0) + Span::from_secs(s);
        let mut beat = Heartbeat::new(at(100), rules);
        assert_eq!(beat.deadline(), None, "parked and unheard: nothing is written");
        beat.event();
        assert_eq!(beat.deadline(), Some(at(100)), "the first event goes at once");
        beat.taken(at(100));
        beat.fix();
        assert_eq!(beat.deadline(), Some(at(1000)));
        beat.moved = true;
        assert_eq!(beat.deadline(), Some(at(160)));
        beat.event();
        assert_eq!(beat.deadline(), Some(at(101)));
    }
}
