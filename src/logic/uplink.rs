//! Delivery as a machine: when to read, send, acknowledge, split, wait and stop (DEL-1, DEL-2).
//!
//! Always holds: nothing is acknowledged that was not sent, and nothing sent that was not read
//! from the store; a batch leaves the store only by [`UplinkAction::Acknowledge`] or, alone and
//! refused by name, by [`UplinkAction::DeadLetter`]; telemetry is read only when the events lane
//! was found empty; at most one batch is under way.
//! Does not know: the store, HTTP, or what an event means. Time and chance are arguments.
//!
//! The driver performs each action and gives its result back: `ReadBatch` → `BatchRead`,
//! `Send` → `Answer`, `Acknowledge` and `DeadLetter` → `Settled`; where the store fails, each of
//! its own → `StoreFailed`. Other inputs may come at any time. Each action replaces the timer:
//! `SleepUntil` arms it, any other disarms it. Waking early is harmless.

mod contract;
mod message;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

pub use contract::{Cause, Trouble, UplinkAction, UplinkInput, UplinkRules, UplinkState};
pub use message::{AckBody, BatchSummary, Failure, Outcome, WireFormat};

use crate::logic::event::Lane;
use crate::units::{BootTime, Span};

/// Single refusals in a row, with no success between, after which the server rather than the
/// event is suspected: from then on each costs a pause before the event is given up.
const DEAD_LETTERS_IN_A_ROW_MAX: u32 = 3;

/// Successes in a row with a lowered limit before it is doubled: a server that refuses big
/// batches (413) then wastes one request in sixteen.
const SUCCESSES_TO_GROW: u32 = 16;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    /// Not started, or nothing waits.
    Resting,
    /// Something waits for company.
    Lingering { until: BootTime },
    /// The store reads.
    Reading { lane: Lane },
    /// A batch is on its way.
    Sending(BatchSummary),
    /// The store forgets.
    Settling,
    /// A failure; `firm` waits are not cut short by a link that comes up.
    BackingOff { until: BootTime, firm: bool },
    /// Over.
    Stopped,
}

/// What was committed since the events lane was last read.
#[derive(Clone, Copy, PartialEq, Debug)]
enum News {
    Nothing,
    Patient { since: BootTime },
    Urgent,
}

/// What makes a lane's batches smaller than the rules allow.
#[derive(Clone, Copy, Debug)]
struct Limit {
    events: u32,
    successes: u32,
}

/// The machine. One for each server.
#[derive(Debug)]
pub struct Uplink {
    rules: UplinkRules,
    phase: Phase,
    news: News,
    events_limit: Limit,
    telemetry_limit: Limit,
    /// What got no answer goes again as it was, whatever has been committed since (H1).
    repeat: Option<BatchSummary>,
    /// There is more behind the last batch, which need not linger.
    more: bool,
    dead_letters_in_a_row: u32,
    /// The one event that is refused has had its pause.
    pause_served: bool,
    stop: Option<BootTime>,
    state: UplinkState,
}

impl Uplink {
    /// A machine that waits for [`UplinkInput::Start`].
    pub fn new(rules: UplinkRules) -> Self {
        let limit = Limit { events: rules.batch_max.max(1), successes: 0 };
        Self {
            rules,
            phase: Phase::Resting,
            news: News::Nothing,
            events_limit: limit,
            telemetry_limit: limit,
            repeat: None,
            more: false,
            dead_letters_in_a_row: 0,
            pause_served: false,
            stop: None,
            state: UplinkState::default(),
        }
    }

    /// What status shows.
    pub fn state(&self) -> &UplinkState {
        &self.state
    }

    /// Takes one input at boot time `now`; an input that does not fit the phase changes nothing.
    pub fn handle(&mut self, now: BootTime, input: UplinkInput) -> UplinkAction {
        if self.phase == Phase::Stopped || self.stop.is_some_and(|deadline| now >= deadline) {
            return self.done();
        }
        let action = match input {
            UplinkInput::Start { waiting } => {
                self.count_waiting(now, Lane::Events, waiting);
                self.go_on_if_waiting(true)
            }
            UplinkInput::Committed { lane, membership_changes, waiting } => {
                self.count_waiting(now, lane, waiting);
                self.on_committed(now, membership_changes, waiting)
            }
            UplinkInput::Wake => self.on_wake(now),
            UplinkInput::BatchRead(batch) => self.on_batch_read(now, batch),
            UplinkInput::Answer { outcome, jitter } => self.on_answer(now, &outcome, jitter),
            UplinkInput::Settled => self.on_settled(now),
            UplinkInput::StoreFailed { text, jitter } => self.on_store_failed(now, text, jitter),
            UplinkInput::LinkUp => {
                self.state.failures = 0;
                let held = matches!(self.phase, Phase::BackingOff { firm: true, .. });
                self.go_on_if_waiting(!held)
            }
            UplinkInput::Kick => {
                self.state.failures = 0;
                self.go_on_if_waiting(true)
            }
            UplinkInput::Stop { deadline } => self.on_stop(now, deadline),
        };
        self.state.next_try = match self.phase {
            Phase::BackingOff { until, .. } => Some(until),
            _ => None,
        };
        action
    }

    fn on_committed(&mut self, now: BootTime, urgent: bool, waiting: u64) -> UplinkAction {
        let full = waiting >= u64::from(self.rules.batch_max);
        self.news = match self.news {
            _ if urgent || full => News::Urgent,
            News::Nothing => News::Patient { since: now },
            earlier => earlier,
        };
        match self.phase {
            Phase::Resting | Phase::Lingering { .. } => self.rest(now),
            _ => self.keep_waiting(),
        }
    }

    fn on_wake(&mut self, now: BootTime) -> UplinkAction {
        match self.phase {
            Phase::Lingering { until } | Phase::BackingOff { until, .. } if now >= until => {
                self.read(Lane::Events)
            }
            _ => self.keep_waiting(),
        }
    }

    fn on_batch_read(&mut self, now: BootTime, batch: Option<BatchSummary>) -> UplinkAction {
        let Phase::Reading { lane } = self.phase else { return self.keep_waiting() };
        match (batch, lane) {
            // What was read before the stop was known.
            (_, Lane::Telemetry) if self.stop.is_some() => self.read(Lane::Events),
            (Some(batch), _) => {
                self.more = batch.more;
                self.phase = Phase::Sending(batch);
                UplinkAction::Send(batch)
            }
            (None, Lane::Events) if self.stop.is_some() => self.done(),
            (None, Lane::Events) if self.news == News::Nothing => {
                self.count_waiting(now, Lane::Events, 0);
                self.read(Lane::Telemetry)
            }
            (None, _) => self.rest(now),
        }
    }

    fn on_settled(&mut self, now: BootTime) -> UplinkAction {
        if self.phase != Phase::Settling {
            return self.keep_waiting();
        }
        if self.stop.is_none() && !self.more && self.news != News::Nothing {
            return self.rest(now);
        }
        self.read(Lane::Events)
    }

    fn on_store_failed(&mut self, now: BootTime, text: String, jitter: f64) -> UplinkAction {
        let (Phase::Reading { .. } | Phase::Settling) = self.phase else {
            return self.keep_waiting();
        };
        self.fail(now, Cause::Store, text);
        let pause = self.doubled(jitter);
        self.back_off(now + pause, true)
    }

    fn on_stop(&mut self, now: BootTime, deadline: BootTime) -> UplinkAction {
        self.stop = Some(deadline);
        if now >= deadline {
            return self.done();
        }
        match self.phase {
            Phase::Sending(_) | Phase::Settling | Phase::Reading { .. } => self.keep_waiting(),
            _ => self.read(Lane::Events),
        }
    }

    fn on_answer(&mut self, now: BootTime, outcome: &Outcome, jitter: f64) -> UplinkAction {
        let Phase::Sending(batch) = self.phase else { return self.keep_waiting() };
        self.repeat = None;
        match judge(&batch, outcome) {
            Verdict::Stored { up_to, highest } => self.succeed(now, &batch, up_to, highest),
            Verdict::Refused { status } => self.split(now, &batch, status, outcome, jitter),
            Verdict::Again { cause, retry_after } => {
                self.repeat = Some(batch);
                self.fail(now, cause, describe(cause, outcome));
                let (pause, firm) = match (cause, retry_after) {
                    (Cause::NotAllowed, _) => (spread(self.rules.refused_pause, jitter), true),
                    (_, Some(asked)) => (self.as_asked(asked, jitter), true),
                    (_, None) => (self.doubled(jitter), false),
                };
                self.back_off(now + pause, firm)
            }
        }
    }

    fn succeed(
        &mut self,
        now: BootTime,
        batch: &BatchSummary,
        up_to: u64,
        highest: Option<u64>,
    ) -> UplinkAction {
        let count = u64::from(batch.count).min(up_to - batch.first_seq + 1);
        let left = self.waiting(batch.lane).saturating_sub(count);
        self.count_waiting(now, batch.lane, left);
        self.state.acknowledged += count;
        self.state.last_ok = Some(now);
        self.state.failing_since = None;
        self.state.failures = 0;
        self.state.trouble = None;
        if batch.lane == Lane::Events {
            self.state.server_highest = highest.or(self.state.server_highest);
        }
        self.dead_letters_in_a_row = 0;
        self.pause_served = false;
        self.more |= up_to < batch.last_seq;
        let most = self.rules.batch_max.max(1);
        let limit = self.limit(batch.lane);
        limit.successes += 1;
        if limit.successes >= SUCCESSES_TO_GROW {
            *limit = Limit { events: limit.events.saturating_mul(2).min(most), successes: 0 };
        }
        self.phase = Phase::Settling;
        UplinkAction::Acknowledge { lane: batch.lane, up_to }
    }

    /// 400 and 413: halve down to the one event that is refused, give it up and go on (H13).
    fn split(
        &mut self,
        now: BootTime,
        batch: &BatchSummary,
        status: u16,
        outcome: &Outcome,
        jitter: f64,
    ) -> UplinkAction {
        if batch.count > 1 {
            *self.limit(batch.lane) = Limit { events: batch.count / 2, successes: 0 };
            return match self.stop {
                Some(_) if batch.lane == Lane::Telemetry => self.done(),
                _ => self.read(batch.lane),
            };
        }
        let suspicious = self.dead_letters_in_a_row >= DEAD_LETTERS_IN_A_ROW_MAX;
        if suspicious && !self.pause_served {
            self.pause_served = true;
            self.repeat = Some(*batch);
            self.fail(now, Cause::RefusesAll, describe(Cause::RefusesAll, outcome));
            return self.back_off(now + spread(self.rules.refused_pause, jitter), true);
        }
        self.pause_served = false;
        self.dead_letters_in_a_row += 1;
        if !suspicious {
            let events = self.rules.batch_max.max(1);
            *self.limit(batch.lane) = Limit { events, successes: 0 };
        }
        self.state.dead_lettered += 1;
        let left = self.waiting(batch.lane).saturating_sub(1);
        self.count_waiting(now, batch.lane, left);
        self.more = true;
        self.phase = Phase::Settling;
        let why = describe(Cause::Status(status), outcome);
        UplinkAction::DeadLetter { lane: batch.lane, seq: batch.first_seq, why }
    }

    fn fail(&mut self, now: BootTime, cause: Cause, text: String) {
        self.state.failures = self.state.failures.saturating_add(1);
        self.state.failing_since.get_or_insert(now);
        self.state.trouble = Some(Trouble { cause, text });
    }

    fn back_off(&mut self, until: BootTime, firm: bool) -> UplinkAction {
        if self.stop.is_some() {
            return self.done();
        }
        self.phase = Phase::BackingOff { until, firm };
        UplinkAction::SleepUntil(until)
    }

    /// Doubles from `backoff_min` with each failure in a row; chance takes up to half away.
    fn doubled(&self, jitter: f64) -> Span {
        let doublings = self.state.failures.saturating_sub(1).min(30);
        let whole = self.rules.backoff_min.times(1 << doublings).min(self.rules.backoff_max);
        Span::from_secs_f64(whole.secs_f64() * (0.5 + 0.5 * jitter.clamp(0.0, 1.0)))
    }

    /// Never sooner than asked, never longer than `retry_after_max`; zero is our own minimum.
    fn as_asked(&self, asked: Span, jitter: f64) -> Span {
        spread(asked.clamp(self.rules.backoff_min, self.rules.retry_after_max), jitter)
    }

    /// Nothing is under way: read at once, linger, or rest, as the news asks.
    fn rest(&mut self, now: BootTime) -> UplinkAction {
        self.phase = match self.news {
            News::Urgent => return self.read(Lane::Events),
            News::Patient { since } if now >= since + self.rules.linger => {
                return self.read(Lane::Events);
            }
            News::Patient { since } => Phase::Lingering { until: since + self.rules.linger },
            News::Nothing => Phase::Resting,
        };
        self.keep_waiting()
    }

    fn go_on_if_waiting(&mut self, may: bool) -> UplinkAction {
        match self.phase {
            Phase::Resting | Phase::Lingering { .. } | Phase::BackingOff { .. } if may => {
                self.read(Lane::Events)
            }
            _ => self.keep_waiting(),
        }
    }

    fn read(&mut self, lane: Lane) -> UplinkAction {
        if lane == Lane::Events {
            self.news = News::Nothing;
        }
        let repeat = self.repeat.filter(|batch| batch.lane == lane);
        let max_events = repeat.map_or(self.limit(lane).events, |batch| batch.count);
        self.phase = Phase::Reading { lane };
        UplinkAction::ReadBatch { lane, max_events, max_bytes: self.rules.batch_bytes }
    }

    fn keep_waiting(&self) -> UplinkAction {
        match (self.phase, self.stop) {
            (Phase::Stopped, _) => UplinkAction::Done,
            (_, Some(deadline)) => UplinkAction::SleepUntil(deadline),
            (Phase::Lingering { until } | Phase::BackingOff { until, .. }, _) => {
                UplinkAction::SleepUntil(until)
            }
            _ => UplinkAction::Idle,
        }
    }

    fn done(&mut self) -> UplinkAction {
        self.phase = Phase::Stopped;
        self.state.next_try = None;
        UplinkAction::Done
    }

    fn limit(&mut self, lane: Lane) -> &mut Limit {
        match lane {
            Lane::Events => &mut self.events_limit,
            Lane::Telemetry => &mut self.telemetry_limit,
        }
    }

    fn waiting(&self, lane: Lane) -> u64 {
        match lane {
            Lane::Events => self.state.waiting_events,
            Lane::Telemetry => self.state.waiting_telemetry,
        }
    }

    fn count_waiting(&mut self, now: BootTime, lane: Lane, waiting: u64) {
        match lane {
            Lane::Events => {
                self.state.waiting_events = waiting;
                self.state.waiting_since =
                    (waiting > 0).then(|| self.state.waiting_since.unwrap_or(now));
            }
            Lane::Telemetry => self.state.waiting_telemetry = waiting,
        }
    }
}

enum Verdict {
    /// The server has it, up to here.
    Stored { up_to: u64, highest: Option<u64> },
    /// The server refuses what it was given.
    Refused { status: u16 },
    /// Not now.
    Again { cause: Cause, retry_after: Option<Span> },
}

/// What an outcome means for the batch. Only 2xx, 400 and 413 ever take anything out of the store.
fn judge(batch: &BatchSummary, outcome: &Outcome) -> Verdict {
    let (status, retry_after, ack) = match outcome {
        Outcome::Failed { failure, .. } => {
            let cause = Cause::Unreachable(*failure);
            return Verdict::Again { cause, retry_after: None };
        }
        Outcome::Answered { status, retry_after, ack, .. } => (*status, *retry_after, ack),
    };
    match status {
        200..=299 => {
            // A server never acknowledges what it was not sent.
            let up_to = ack.acknowledged.unwrap_or(batch.last_seq).min(batch.last_seq);
            if up_to < batch.first_seq {
                return Verdict::Again { cause: Cause::NothingAcknowledged, retry_after };
            }
            Verdict::Stored { up_to, highest: ack.highest_seq }
        }
        400 | 413 => Verdict::Refused { status },
        401 | 403 => Verdict::Again { cause: Cause::NotAllowed, retry_after: None },
        429 | 503 if retry_after.is_some() => {
            Verdict::Again { cause: Cause::AskedToWait, retry_after }
        }
        other => Verdict::Again { cause: Cause::Status(other), retry_after: None },
    }
}

/// Up to a tenth longer, so that a fleet does not come back as one.
fn spread(span: Span, jitter: f64) -> Span {
    Span::from_secs_f64(span.secs_f64() * (1.0 + 0.1 * jitter.clamp(0.0, 1.0)))
}

/// The trouble in words: what a person would be told on the phone.
fn describe(cause: Cause, outcome: &Outcome) -> String {
    let said = match outcome {
        Outcome::Failed { text, .. } => return text.clone(),
        Outcome::Answered { status, text, .. } if text.is_empty() => format!("HTTP {status}"),
        Outcome::Answered { status, text, .. } => format!("HTTP {status}: {text}"),
    };
    match cause {
        Cause::NotAllowed => format!("the server does not accept the token ({said})"),
        Cause::AskedToWait => format!("the server asks for patience ({said})"),
        Cause::RefusesAll => format!("the server refuses one event after the other ({said})"),
        Cause::NothingAcknowledged => format!("the server acknowledged nothing ({said})"),
        Cause::Unreachable(_) | Cause::Status(_) | Cause::Store => said,
    }
}
