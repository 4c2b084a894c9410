//! The delivery thread: performs what the uplink machine asks.
//!
//! Always holds: one request is under way at most; everything it knows of events it was given by
//! the store (read → send → acknowledged → delete). Does not know: when to do what.

use std::sync::mpsc::{Receiver, RecvTimeoutError};

use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};

use super::desk::{Answer, Request};
use crate::edge::clock;
use crate::edge::http::Http;
use crate::logic::group::Batch;
use crate::logic::uplink::{
    BatchSummary, Uplink, UplinkAction, UplinkInput, UplinkRules, WireFormat,
};
use crate::units::{BootTime, StreamId};

/// The thread's belongings.
pub(super) struct Courier {
    pub(super) machine: Uplink,
    pub(super) http: Http,
    pub(super) format: WireFormat,
    pub(super) stream: StreamId,
    pub(super) desk: mpsc::Sender<Request>,
    pub(super) news: Receiver<UplinkInput>,
    batch: Option<Batch>,
    stop: Option<BootTime>,
    troubled: bool,
}

impl Courier {
    pub(super) fn new(
        rules: UplinkRules,
        http: Http,
        format: WireFormat,
        stream: StreamId,
        desk: mpsc::Sender<Request>,
        news: Receiver<UplinkInput>,
    ) -> Self {
        Self {
            machine: Uplink::new(rules),
            http,
            format,
            stream,
            desk,
            news,
            batch: None,
            stop: None,
            troubled: false,
        }
    }

    /// Works until the machine is done or the pipeline is gone.
    pub(super) fn run(mut self) {
        let mut action = UplinkAction::Idle;
        while let Some(input) = self.perform(action) {
            if let UplinkInput::Stop { deadline } = input {
                self.stop = Some(deadline);
            }
            action = self.machine.handle(clock::boot_now(), input);
            self.publish();
        }
        let _ = self.desk.blocking_send(Request::UplinkDone);
    }

    /// Does one action; gives the machine's next input, or `None` at the end.
    fn perform(&mut self, action: UplinkAction) -> Option<UplinkInput> {
        match action {
            UplinkAction::ReadBatch { lane, max_events, max_bytes } => {
                let asked =
                    self.ask(|answer| Request::ReadBatch { lane, max_events, max_bytes, answer })?;
                Some(asked.map_or_else(failed, |batch| {
                    let summary = summary(&batch);
                    self.batch = Some(batch);
                    UplinkInput::BatchRead(summary)
                }))
            }
            UplinkAction::Send(summary) => Some(self.send(&summary)),
            UplinkAction::Acknowledge { lane, up_to } => {
                let done = self.ask(|answer| Request::Acknowledge { lane, up_to, answer })?;
                Some(done.map_or_else(failed, |()| UplinkInput::Settled))
            }
            UplinkAction::DeadLetter { lane, seq, why } => {
                warn!("uplink: event {}-{seq} is refused for good: {why}", self.stream);
                let done = self.ask(|answer| Request::DeadLetter { lane, seq, why, answer })?;
                Some(done.map_or_else(failed, |()| UplinkInput::Settled))
            }
            UplinkAction::SleepUntil(deadline) => {
                match self.news.recv_timeout(clock::until(deadline)) {
                    Ok(input) => Some(input),
                    Err(RecvTimeoutError::Timeout) => Some(UplinkInput::Wake),
                    Err(RecvTimeoutError::Disconnected) => None,
                }
            }
            UplinkAction::Idle => self.news.recv().ok(),
            UplinkAction::Done => None,
        }
    }

    fn send(&mut self, summary: &BatchSummary) -> UplinkInput {
        let batch = self.batch.take().filter(|batch| self::summary(batch) == Some(*summary));
        let batch = batch.expect("the machine sends what was just read");
        let events: Vec<_> =
            batch.events.iter().map(|stored| stored.event.to_cloudevent()).collect();
        let body = self.format.body(&events);
        let within = self.stop.map(clock::until);
        let outcome = self.http.post(&body, &summary.key(&self.stream), within);
        UplinkInput::Answer { outcome, jitter: clock::random_fraction() }
    }

    /// Asks the pipeline; `None` when it is gone.
    fn ask<T>(&self, request: impl FnOnce(Answer<T>) -> Request) -> Option<Result<T, String>> {
        let (answer, told) = oneshot::channel();
        self.desk.blocking_send(request(answer)).ok()?;
        told.blocking_recv().ok()
    }

    /// Tells status, and the log where trouble begins or ends.
    fn publish(&mut self) {
        let state = self.machine.state();
        match (&state.trouble, self.troubled) {
            (Some(trouble), false) => warn!("uplink: {}", trouble.text),
            (None, true) => info!("uplink: works again"),
            _ => {}
        }
        self.troubled = state.trouble.is_some();
        // A full desk is a busy pipeline: the next news will tell it.
        let _ = self.desk.try_send(Request::Uplink(Box::new(state.clone())));
    }
}

fn failed(text: String) -> UplinkInput {
    UplinkInput::StoreFailed { text, jitter: clock::random_fraction() }
}

fn summary(batch: &Batch) -> Option<BatchSummary> {
    Some(BatchSummary {
        lane: batch.lane,
        first_seq: batch.events.first()?.event.seq,
        last_seq: batch.last_seq()?,
        count: batch.events.len() as u32,
        more: batch.more,
    })
}
