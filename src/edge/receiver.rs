//! A small real server for `demo` and tests: takes batches of CloudEvents on this machine only.
//!
//! Always holds: what it has stored is kept in order, with ids seen before marked; it answers
//! like a good server unless it was told to misbehave. Does not know: who sends, or why.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use flate2::read::GzDecoder;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// The longest body, and the longest after unpacking: far more than any batch of ours.
const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// How it answers.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Manner {
    /// Stores and says so.
    #[default]
    Good,
    /// Stores, then drops the connection without an answer (H1).
    DropAnswer,
    /// Stores nothing and answers this.
    Status(u16),
    /// Stores nothing, answers this and asks for so many seconds of patience.
    RetryAfter(u16, u32),
    /// Answers 400 to whatever holds this event; otherwise good (H13).
    RefuseId(String),
    /// Answers 413 to more than so many events; otherwise good.
    AtMost(usize),
    /// Waits so long, then is good.
    Slow(Duration),
}

/// One event as it was received.
#[derive(Clone, PartialEq, Debug)]
pub struct Received {
    /// The CloudEvent.
    pub event: Value,
    /// Its id had been stored before.
    pub duplicate: bool,
}

/// One request as it was seen, whatever was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Content-Type.
    pub content_type: String,
    /// Idempotency-Key.
    pub key: String,
    /// Authorization.
    pub authorization: String,
    /// Whether the body came packed.
    pub gzip: bool,
    /// The body, unpacked.
    pub body: Vec<u8>,
    /// The answer; 0 where the connection was dropped.
    pub status: u16,
}

#[derive(Debug, Default)]
struct State {
    received: Vec<Received>,
    ids: HashSet<String>,
    highest: HashMap<String, u64>,
    seen: Vec<Seen>,
    manner: Manner,
    once: VecDeque<Manner>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    /// A test that failed while it held the lock must not hide its own message.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The running server; dropping it stops it.
#[derive(Debug)]
pub struct Receiver {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Receiver {
    /// Starts on a free port of 127.0.0.1, on a thread of its own.
    pub fn start() -> io::Result<Self> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)))
    }

    /// Starts at `address`: one that was up before, say.
    pub fn start_at(address: SocketAddr) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(address))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let (stop, stopped) = oneshot::channel();
        let state = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("receiver".into()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = accept(&listener, &state) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { shared, address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where events are to be sent.
    pub fn url(&self) -> String {
        format!("http://{}/v1/events", self.address)
    }

    /// The address alone.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on it answers so.
    pub fn set_manner(&self, manner: Manner) {
        self.shared.lock().manner = manner;
    }

    /// It answers so once each, in order, before it goes back to its manner.
    pub fn once(&self, manners: impl IntoIterator<Item = Manner>) {
        self.shared.lock().once.extend(manners);
    }

    /// All that was stored, in order, duplicates marked.
    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().received.clone()
    }

    /// All that was stored, in order, each id once.
    pub fn events(&self) -> Vec<Value> {
        let fresh = |r: &Received| (!r.duplicate).then(|| r.event.clone());
        self.shared.lock().received.iter().filter_map(fresh).collect()
    }

    /// Every request so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.shared.lock().seen.clone()
    }

    /// Waits until `enough` says so of what was stored; false when `within` was too short.
    pub fn wait_until(&self, within: Duration, enough: impl Fn(&[Received]) -> bool) -> bool {
        let state = self.shared.lock();
        let waited =
            self.shared.changed.wait_timeout_while(state, within, |s| !enough(&s.received));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It can only have ended already.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                let shared = Arc::clone(&shared);
                async move { answer(request, &shared).await }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service);
            // Whoever breaks off a connection knows it; there is nobody else to tell.
            let _ = connection.await;
        });
    }
}

/// The connection is dropped without an answer.
#[derive(Debug, thiserror::Error)]
#[error("told to drop the connection")]
struct Dropped;

async fn answer(
    request: Request<Incoming>,
    shared: &Shared,
) -> Result<Response<Full<Bytes>>, Dropped> {
    let text = |name: HeaderName| {
        let value = request.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let mut seen = Seen {
        content_type: text(CONTENT_TYPE),
        key: text(HeaderName::from_static("idempotency-key")),
        authorization: text(AUTHORIZATION),
        gzip: text(CONTENT_ENCODING) == "gzip",
        body: Vec::new(),
        status: 0,
    };
    let body = Limited::new(request.into_body(), BODY_BYTES_MAX).collect().await;
    let body = body.map_err(|_| Dropped)?.to_bytes();
    let events = unpack(&body, seen.gzip).and_then(|body| {
        seen.body = body;
        parse(&seen.body, &seen.content_type)
    });
    let manner = {
        let mut state = shared.lock();
        state.once.pop_front().unwrap_or_else(|| state.manner.clone())
    };
    if let Manner::Slow(wait) = manner {
        tokio::time::sleep(wait).await;
    }
    let mut state = shared.lock();
    let reply = decide(&manner, events, &mut state);
    seen.status = reply.as_ref().map_or(0, |reply| reply.status().as_u16());
    state.seen.push(seen);
    shared.changed.notify_all();
    reply.ok_or(Dropped)
}

/// What is stored and answered; `None` drops the connection.
fn decide(
    manner: &Manner,
    events: Option<Vec<Value>>,
    state: &mut State,
) -> Option<Response<Full<Bytes>>> {
    let Some(events) = events else {
        return Some(reply(400, None, &json!({"error": "not CloudEvents"})));
    };
    match manner {
        Manner::Status(status) => return Some(reply(*status, None, &json!({"error": "told so"}))),
        Manner::RetryAfter(status, secs) => {
            return Some(reply(*status, Some(*secs), &json!({"error": "told so"})));
        }
        Manner::RefuseId(id) if events.iter().any(|event| event["id"] == id.as_str()) => {
            return Some(reply(400, None, &json!({"error": "an event is refused"})));
        }
        Manner::AtMost(most) if events.len() > *most => {
            return Some(reply(413, None, &json!({"error": "too many events"})));
        }
        _ => {}
    }
    let ack = store(events, state);
    (*manner != Manner::DropAnswer).then(|| reply(200, None, &ack))
}

fn store(events: Vec<Value>, state: &mut State) -> Value {
    let mut last = None;
    for event in events {
        let id = event["id"].as_str().unwrap_or_default().to_owned();
        if let Some((stream, seq)) = id.rsplit_once('-')
            && let Ok(seq) = seq.parse::<u64>()
        {
            let highest = state.highest.entry(stream.to_owned()).or_default();
            *highest = seq.max(*highest);
            last = Some((seq, *highest));
        }
        let duplicate = !state.ids.insert(id);
        state.received.push(Received { event, duplicate });
    }
    match last {
        Some((acknowledged, highest)) => {
            json!({"acknowledged": acknowledged, "highest_seq": highest})
        }
        None => json!({}),
    }
}

fn reply(status: u16, retry_after_secs: Option<u32>, body: &Value) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::new(Bytes::from(body.to_string())));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Some(secs) = retry_after_secs {
        reply.headers_mut().insert(RETRY_AFTER, secs.into());
    }
    reply
}

fn unpack(body: &[u8], gzip: bool) -> Option<Vec<u8>> {
    if !gzip {
        return Some(body.to_vec());
    }
    let mut unpacked = Vec::new();
    let len =
        GzDecoder::new(body).take(BODY_BYTES_MAX as u64 + 1).read_to_end(&mut unpacked).ok()?;
    (len <= BODY_BYTES_MAX).then_some(unpacked)
}

/// The events of a body; every one must have an id.
fn parse(body: &[u8], content_type: &str) -> Option<Vec<Value>> {
    let events = match content_type {
        "application/cloudevents-batch+json" => serde_json::from_slice(body).ok()?,
        "application/cloudevents+json" => vec![serde_json::from_slice(body).ok()?],
        "application/x-ndjson" => serde_json::Deserializer::from_slice(body)
            .into_iter::<Value>()
            .collect::<Result<Vec<_>, _>>()
            .ok()?,
        _ => return None,
    };
    let sound = |event: &Value| event["id"].is_string() && event["specversion"] == "1.0";
    events.iter().all(sound).then_some(events)
}
