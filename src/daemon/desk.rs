//! What others may ask of the pipeline thread, and the control API that asks it.
//!
//! Always holds: an answer comes from the thread that owns engine and store, so every reader sees
//! only committed events. Does not know: how an answer is made.

use std::time::Duration;

use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot, watch};

use crate::edge::control::{self, Ask, EventsQuery, Response, Rights};
use crate::logic::config::Config;
use crate::logic::event::{Event, Lane};
use crate::logic::group::Batch;
use crate::logic::health::Status;
use crate::logic::recorder::{Header, Recorder};
use crate::logic::uplink::UplinkState;

/// An answer that may fail, in words.
pub(super) type Answer<T> = oneshot::Sender<Result<T, String>>;

/// One thing that is asked of the pipeline.
#[derive(Debug)]
pub(super) enum Request {
    /// Read a batch.
    ReadBatch { lane: Lane, max_events: u32, max_bytes: u64, answer: Answer<Batch> },
    /// Forget what was acknowledged.
    Acknowledge { lane: Lane, up_to: u64, answer: Answer<()> },
    /// Set one event aside.
    DeadLetter { lane: Lane, seq: u64, why: String, answer: Answer<()> },
    /// How delivery does, for status.
    Uplink(Box<UplinkState>),
    /// Whether this life may end for another: not while it holds what the store does not take.
    MayReload(Answer<()>),
    /// The config on disk was refused, and why.
    ReloadRefused(String),
    /// Delivery has done its last.
    UplinkDone,
    /// Everything `status` shows.
    Status(oneshot::Sender<Box<Status>>),
    /// What sources gave.
    Record(oneshot::Sender<Box<(Recorder, Header)>>),
    /// Events.
    Events(EventsQuery, Answer<Vec<Event>>),
    /// Commit, try delivery once more where that is asked for, end.
    Stop { flush: bool },
}

/// Who may do what.
pub(super) fn rights(config: &Config) -> Rights {
    Rights::of_group(&config.control.admin_group)
}

/// Serves the control API until it is aborted.
///
/// `news` changes with every commit, for those who wait for an event.
pub(super) async fn serve(
    listener: UnixListener,
    rights: Rights,
    desk: mpsc::Sender<Request>,
    news: watch::Receiver<u64>,
) {
    control::serve(listener, move |request| {
        let (desk, news) = (desk.clone(), news.clone());
        let asked = control::route(&request, &rights);
        async move {
            match asked {
                Ok(ask) => answer(ask, &desk, news).await,
                Err(refusal) => refusal,
            }
        }
    })
    .await;
}

async fn answer(
    ask: Ask,
    desk: &mpsc::Sender<Request>,
    mut news: watch::Receiver<u64>,
) -> Response {
    let busy = || Response::error(503, "the daemon is stopping");
    match ask {
        Ask::Status => {
            let (answer, told) = oneshot::channel();
            if desk.send(Request::Status(answer)).await.is_err() {
                return busy();
            }
            let Ok(status) = told.await else { return busy() };
            let value = serde_json::to_value(&*status).expect("a status is plain data");
            Response::json(200, &value)
        }
        Ask::Record(since) => {
            let (answer, told) = oneshot::channel();
            if desk.send(Request::Record(answer)).await.is_err() {
                return busy();
            }
            let Ok(record) = told.await else { return busy() };
            let (recorder, header) = *record;
            // Not on the pipeline's thread: writing it out takes a while.
            let body = recorder.into_text(header, since);
            Response { status: 200, content_type: "application/jsonl", body }
        }
        Ask::Events(query) => {
            let until = tokio::time::sleep(Duration::from_secs(query.wait_s));
            tokio::pin!(until);
            loop {
                news.mark_unchanged();
                let (answer, told) = oneshot::channel();
                if desk.send(Request::Events(query.clone(), answer)).await.is_err() {
                    return busy();
                }
                let events = match told.await {
                    Ok(Ok(events)) => events,
                    Ok(Err(why)) => return Response::error(500, &why),
                    Err(_) => return busy(),
                };
                let over = !events.is_empty()
                    || tokio::select! {
                        biased;
                        () = &mut until => true,
                        changed = news.changed() => changed.is_err(),
                    };
                if over {
                    let value = serde_json::to_value(&events).expect("events are plain data");
                    return Response::json(200, &value);
                }
            }
        }
    }
}
