//! The words the driver and the machine speak: rules, inputs, actions, and what status shows.
//!
//! Always holds: plain values. Does not know: how the machine decides.

use super::{BatchSummary, Failure, Outcome};
use crate::logic::event::Lane;
use crate::units::{BootTime, Span};

/// What delivery goes by; all but the constants of the field come from `[uplink]`.
#[derive(Clone, PartialEq, Debug)]
pub struct UplinkRules {
    /// The most events in one request.
    pub batch_max: u32,
    /// The most bytes in one request, as the store counts them.
    pub batch_bytes: u64,
    /// How long events other than membership changes wait for company.
    pub linger: Span,
    /// The first wait after a failure.
    pub backoff_min: Span,
    /// The longest of the doubling waits.
    pub backoff_max: Span,
    /// The wait after 401 or 403: a person must act, and hammering may lock the account.
    pub refused_pause: Span,
    /// A server may ask for at most this much patience.
    pub retry_after_max: Span,
}

impl Default for UplinkRules {
    fn default() -> Self {
        Self {
            batch_max: 100,
            batch_bytes: 64 * 1024,
            linger: Span::from_secs(2),
            backoff_min: Span::from_secs(1),
            backoff_max: Span::from_secs(600),
            refused_pause: Span::from_secs(600),
            retry_after_max: Span::from_secs(3600),
        }
    }
}

/// What the machine is told.
#[derive(Clone, PartialEq, Debug)]
pub enum UplinkInput {
    /// The store is open and holds this many unacknowledged events.
    Start {
        /// Events waiting.
        waiting: u64,
    },
    /// A group was committed.
    Committed {
        /// To which lane.
        lane: Lane,
        /// Whether one of its events changes a membership: those do not linger.
        membership_changes: bool,
        /// Unacknowledged in that lane now.
        waiting: u64,
    },
    /// The time asked for has come, or not quite.
    Wake,
    /// The answer to `ReadBatch`: the oldest of the lane, or nothing there.
    BatchRead(Option<BatchSummary>),
    /// The answer to `Send`.
    Answer {
        /// How it ended.
        outcome: Outcome,
        /// A fraction in 0..1 by chance, which spreads the next try.
        jitter: f64,
    },
    /// `Acknowledge` or `DeadLetter` is durable.
    Settled,
    /// The store could not read, acknowledge or dead-letter: nothing of it is taken as done.
    StoreFailed {
        /// What it said.
        text: String,
        /// As in `Answer`.
        jitter: f64,
    },
    /// The network came up.
    LinkUp,
    /// Somebody wants a try now, or the settings that failed have changed.
    Kick,
    /// The daemon stops: one last try of events, over at the deadline.
    Stop {
        /// Nothing is begun or awaited after this.
        deadline: BootTime,
    },
}

/// What the driver is to do.
#[derive(Clone, PartialEq, Debug)]
#[must_use]
pub enum UplinkAction {
    /// Read the oldest unacknowledged of this lane, at most so many. A batch that is tried again
    /// is read again: the same limits give the same events.
    ReadBatch {
        /// From where.
        lane: Lane,
        /// How many at most.
        max_events: u32,
        /// How long at most; the first event is read whatever its length.
        max_bytes: u64,
    },
    /// Send what was just read.
    Send(BatchSummary),
    /// Delete up to and including this number.
    Acknowledge {
        /// Whose number.
        lane: Lane,
        /// The last one the server has.
        up_to: u64,
    },
    /// Take this one event out of the lane and say so (`events_lost`, `dead_letter`).
    DeadLetter {
        /// Whose number.
        lane: Lane,
        /// Which.
        seq: u64,
        /// What the server said.
        why: String,
    },
    /// Nothing until then, or the next input.
    SleepUntil(BootTime),
    /// Nothing until the next input.
    Idle,
    /// Stopped: nothing will be asked any more.
    Done,
}

/// Why the last try failed, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Of which sort.
    pub cause: Cause,
    /// In words.
    pub text: String,
}

/// The sorts of trouble, which call for different people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// No answer.
    Unreachable(Failure),
    /// 401 or 403: the token.
    NotAllowed,
    /// The server asked for patience.
    AskedToWait,
    /// Any other status that is not a success.
    Status(u16),
    /// The server refuses every event, one by one.
    RefusesAll,
    /// Not the server but our own store.
    Store,
    /// A success that acknowledges nothing.
    NothingAcknowledged,
}

/// What status and metrics show.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct UplinkState {
    /// Events not yet acknowledged.
    pub waiting_events: u64,
    /// Telemetry not yet acknowledged.
    pub waiting_telemetry: u64,
    /// Since when there has always been an event waiting.
    pub waiting_since: Option<BootTime>,
    /// The last success.
    pub last_ok: Option<BootTime>,
    /// The first failure since.
    pub failing_since: Option<BootTime>,
    /// When the next try is due, while waiting for it.
    pub next_try: Option<BootTime>,
    /// Failures since the last success.
    pub failures: u32,
    /// Why the last try failed; nothing after a success.
    pub trouble: Option<Trouble>,
    /// Events and telemetry acknowledged since the start.
    pub acknowledged: u64,
    /// Given up since the start.
    pub dead_lettered: u64,
    /// The highest event number the server says it has (STO-7).
    pub server_highest: Option<u64>,
}
