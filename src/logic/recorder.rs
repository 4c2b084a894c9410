//! The flight recorder: what every source gave, byte for byte with its stamp, as much as fits.
//!
//! Always holds: the ring never takes more than its bound, stamps and all; the oldest goes first,
//! counted; a text written from it and read again gives the same bytes with the same stamps.
//! Does not know: what the bytes mean, files, clocks.
//!
//! The text is JSON, one object a line, to be read by people too. The first line is the
//! [`Header`]; each other is an [`Entry`].

use std::collections::VecDeque;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};

use crate::logic::engine::SourceSetup;
use crate::units::{BootTime, EventTime, Span, WallTime};

pub mod segments;

/// The version of the text.
const VERSION: u32 = 1;

/// How the first line begins, whoever wrote it.
const MAGIC: &[u8] = b"{\"geofenced_record\":";

/// Length, stamp, source, kind.
const OVERHEAD: usize = 4 + 8 + 2 + 1;

/// What a record says of the gateway it was made on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// The version of this format.
    pub geofenced_record: u32,
    /// Name and version of the software.
    pub software: String,
    /// The kernel's boot id: stamps of one boot compare.
    pub boot_id: String,
    /// The system clock when this was written: a hint.
    pub wall: WallTime,
    /// The boot time then.
    pub at: BootTime,
    /// Entries before the first that there was no room for.
    pub lost: u64,
    /// `[time] floor`, where it is set.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub floor: Option<EventTime>,
    /// The sources; entries name them by their place here.
    pub sources: Vec<SourceSetup>,
}

impl Header {
    /// The header of a record written now.
    pub fn new(software: String, boot_id: String, (at, wall): (BootTime, WallTime)) -> Self {
        let (floor, sources) = (None, Vec::new());
        Self { geofenced_record: VERSION, software, boot_id, wall, at, lost: 0, floor, sources }
    }

    /// Its line, behind what is in `text`.
    pub fn write(&self, text: &mut Vec<u8>) {
        line(text, self);
    }
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Bytes that read well as text.
    Text(String),
    /// Any other bytes.
    Base64(String),
    /// The source opened.
    Up,
    /// It closed or ended, and why.
    Down(String),
    /// What the system clock said, while it was synchronised (TIME-5); it runs on from there.
    System(Option<WallTime>),
    /// So many entries are missing here: the disk was full, slow or away.
    Lost(u64),
    /// Until here was decided, and what came of it is in the store.
    Decided,
}

impl What {
    /// What is kept of a moment, on its own.
    pub fn of(taken: Taken<'_>) -> Self {
        match taken {
            Taken::Bytes(bytes) => of_bytes(bytes),
            Taken::Up => Self::Up,
            Taken::Down(why) => Self::Down(why.to_owned()),
            Taken::System(wall) => Self::System(wall),
        }
    }

    /// Bytes of memory behind it.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) | Self::Base64(text) | Self::Down(text) => text.len(),
            Self::Up | Self::System(_) | Self::Lost(_) | Self::Decided => 0,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// When.
    pub at: BootTime,
    /// Which source, by its place in the header; 0 where it is about none.
    pub source: u16,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

impl Entry {
    /// The bytes that came, if any did; a fault where they are written wrong.
    pub fn bytes(&self) -> Option<Result<Vec<u8>, base64::DecodeError>> {
        match &self.what {
            What::Text(text) => Some(Ok(text.clone().into_bytes())),
            What::Base64(text) => Some(BASE64.decode(text)),
            What::Up | What::Down(_) | What::System(_) | What::Lost(_) | What::Decided => None,
        }
    }

    /// Its line, behind what is in `text`.
    pub fn write(&self, text: &mut Vec<u8>) {
        line(text, self);
    }
}

/// What is kept of one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken<'a> {
    /// These bytes came.
    Bytes(&'a [u8]),
    /// It opened.
    Up,
    /// It closed or ended.
    Down(&'a str),
    /// The system clock.
    System(Option<WallTime>),
}

/// The ring.
#[derive(Clone, Debug)]
pub struct Recorder {
    ring: VecDeque<u8>,
    bytes_max: usize,
    lost: u64,
}

impl Recorder {
    /// Keeps at most so many bytes; 0 keeps nothing.
    pub fn new(bytes_max: usize) -> Self {
        // Reserved whole, so that it never grows; untouched pages take no memory.
        Self { ring: VecDeque::with_capacity(bytes_max), bytes_max, lost: 0 }
    }

    /// Takes what happened now. What is longer than the whole ring is lost itself.
    pub fn take(&mut self, at: BootTime, source: usize, taken: Taken<'_>) {
        if self.bytes_max == 0 {
            return;
        }
        let wall;
        let (kind, body): (u8, &[u8]) = match taken {
            Taken::Bytes(bytes) => (0, bytes),
            Taken::Up => (1, &[]),
            Taken::Down(why) => (2, why.as_bytes()),
            Taken::System(None) => (3, &[]),
            Taken::System(Some(at)) => {
                wall = at.nanos().to_le_bytes();
                (3, &wall)
            }
        };
        let size = OVERHEAD + body.len();
        if size > self.bytes_max {
            self.lost += 1;
            return;
        }
        while self.ring.len() + size > self.bytes_max {
            self.drop_oldest();
        }
        self.ring.extend((body.len() as u32).to_le_bytes());
        self.ring.extend(at.nanos().to_le_bytes());
        self.ring.extend((source as u16).to_le_bytes());
        self.ring.push_back(kind);
        self.ring.extend(body);
    }

    fn drop_oldest(&mut self) {
        let mut len = [0; 4];
        len.iter_mut().zip(&self.ring).for_each(|(to, from)| *to = *from);
        self.ring.drain(..OVERHEAD + u32::from_le_bytes(len) as usize);
        self.lost += 1;
    }

    /// Bytes in use.
    pub fn len(&self) -> usize {
        self.ring.len()
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// All of it that is no older than `since` before the header's time, as text.
    pub fn into_text(mut self, mut header: Header, since: Option<Span>) -> Vec<u8> {
        let from = since.map_or(BootTime::from_nanos(i64::MIN), |since| header.at - since);
        header.lost = self.lost;
        let mut rest: &[u8] = self.ring.make_contiguous();
        let mut entries = Vec::new();
        while let Some((entry, after)) = split(rest) {
            if entry.at < from {
                header.lost += 1;
            } else {
                line(&mut entries, &entry);
            }
            rest = after;
        }
        let mut text = Vec::new();
        line(&mut text, &header);
        text.append(&mut entries);
        text
    }
}

fn line(text: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *text, value).expect("plain data into memory");
    text.push(b'\n');
}

/// The first entry of the ring's bytes, and what follows it.
fn split(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let (len, rest) = bytes.split_first_chunk()?;
    let (at, rest) = rest.split_first_chunk()?;
    let (source, rest) = rest.split_first_chunk()?;
    let (kind, rest) = rest.split_first()?;
    let (body, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
    let what = match kind {
        0 => of_bytes(body),
        1 => What::Up,
        2 => What::Down(String::from_utf8_lossy(body).into_owned()),
        _ => {
            let nanos = body.first_chunk().map(|nanos| i64::from_le_bytes(*nanos));
            What::System(nanos.map(WallTime::from_nanos))
        }
    };
    let at = BootTime::from_nanos(i64::from_le_bytes(*at));
    Some((Entry { at, source: u16::from_le_bytes(*source), what }, rest))
}

/// Text where a person can read it: control bytes would swell to six times their length.
fn of_bytes(bytes: &[u8]) -> What {
    let plain = |c: char| !c.is_control() || matches!(c, '\r' | '\n' | '\t');
    match std::str::from_utf8(bytes) {
        Ok(text) if text.chars().all(plain) => What::Text(text.to_owned()),
        _ => What::Base64(BASE64.encode(bytes)),
    }
}

/// Whether an input that begins so is a record.
pub fn is_record(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(MAGIC)
}

/// Whether an input that begins so is a record of which a power cut left no whole line: its first
/// bytes and no more, or a length without content.
pub fn is_torn(first_bytes: &[u8]) -> bool {
    !first_bytes.is_empty()
        && (MAGIC.starts_with(first_bytes) || first_bytes.iter().all(|byte| *byte == 0))
}

/// The first line; a fault in words.
pub fn read_header(line: &[u8]) -> Result<Header, String> {
    let header: Header = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match header.geofenced_record {
        VERSION => Ok(header),
        other => Err(format!("is version {other} of the format; this release reads {VERSION}")),
    }
}

/// Any other line, of a record with so many sources; a fault in words.
pub fn read_entry(line: &[u8], sources: usize) -> Result<Entry, String> {
    let entry: Entry = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if usize::from(entry.source) < sources {
        return Ok(entry);
    }
    Err(format!("names source {}, and the header has {sources}", entry.source))
}

#[cfg(test)]
mod tests;
