//! What goes to the server and what comes back, as values (DEL-1, DEL-2).
//!
//! Always holds: a batch is a run of one lane's sequence, oldest first. Does not know: HTTP
//! clients, sockets, or when to try again.

use serde::Deserialize;
use serde_json::Value;

use crate::logic::event::Lane;
use crate::units::{Span, StreamId};

/// How a batch is written on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireFormat {
    /// A JSON array of CloudEvents.
    #[default]
    Batch,
    /// One CloudEvent per request.
    Single,
    /// One CloudEvent per line.
    Jsonl,
}

impl WireFormat {
    /// The media type of the body.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Batch => "application/cloudevents-batch+json",
            Self::Single => "application/cloudevents+json",
            Self::Jsonl => "application/x-ndjson",
        }
    }

    /// The most events that one request may hold.
    pub const fn batch_max(self, configured: u32) -> u32 {
        match self {
            Self::Single => 1,
            Self::Batch | Self::Jsonl => configured,
        }
    }

    /// The body of a request. The same events give the same bytes (H1). `Single` takes the first.
    pub fn body(self, events: &[Value]) -> Vec<u8> {
        match self {
            Self::Batch => join(events, "[", ",", "]"),
            Self::Single => join(&events[..events.len().min(1)], "", "", ""),
            Self::Jsonl => join(events, "", "\n", "\n"),
        }
    }
}

fn join(events: &[Value], open: &str, between: &str, close: &str) -> Vec<u8> {
    let texts: Vec<String> = events.iter().map(Value::to_string).collect();
    format!("{open}{}{close}", texts.join(between)).into_bytes()
}

/// What the machine needs to know of a batch that the store has read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchSummary {
    /// Whose events these are.
    pub lane: Lane,
    /// The oldest number in it.
    pub first_seq: u64,
    /// The newest.
    pub last_seq: u64,
    /// How many; seqs may be missing in between.
    pub count: u32,
    /// Whether there is more behind it.
    pub more: bool,
}

impl BatchSummary {
    /// The Idempotency-Key: the same batch has the same key at every try (H1).
    pub fn key(&self, stream: &StreamId) -> String {
        let lane = match self.lane {
            Lane::Events => "",
            Lane::Telemetry => "-telemetry",
        };
        format!("{stream}{lane}-{}-{}", self.first_seq, self.last_seq)
    }
}

/// What a server may say in the body of its answer. Every key is optional, others are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default)]
pub struct AckBody {
    /// Everything up to and including this number is stored; without it the whole batch is.
    pub acknowledged: Option<u64>,
    /// The highest number the server has ever stored of this stream (STO-7).
    pub highest_seq: Option<u64>,
}

impl AckBody {
    /// Reads a body; one that is not such JSON says nothing.
    pub fn parse(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_default()
    }
}

/// Where a try failed before there was an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// The name has no address.
    Dns,
    /// No connection came about, or the proxy gave none.
    Connect,
    /// The other side could not be trusted, or did not trust us.
    Tls,
    /// It took too long.
    Timeout,
    /// The connection broke, or what came was not HTTP.
    Broken,
    /// Something on this machine: an unreadable token, a bad address.
    Local,
}

impl Failure {
    /// One word for metrics and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Timeout => "timeout",
            Self::Broken => "broken",
            Self::Local => "local",
        }
    }
}

/// How one try to send ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The server answered.
    Answered {
        /// Its HTTP status.
        status: u16,
        /// When it wants to be asked again.
        retry_after: Option<Span>,
        /// What it says it has.
        ack: AckBody,
        /// The beginning of its answer, for people, where it is not a success.
        text: String,
    },
    /// There was no answer.
    Failed {
        /// Where it failed.
        failure: Failure,
        /// In words.
        text: String,
    },
}

impl Outcome {
    /// An answer with nothing but a status.
    pub fn status(status: u16) -> Self {
        let (retry_after, ack, text) = (None, AckBody::default(), String::new());
        Self::Answered { status, retry_after, ack, text }
    }
}
