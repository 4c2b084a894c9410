//! From bytes to checked sentences.
//!
//! Always holds: at most [`SENTENCE_BYTES_MAX`] bytes are kept, nothing is allocated, every
//! sentence handed out is printable ASCII whose checksum is right (or absent, where the source
//! allows that), and what is not handed out is counted by reason: at a line end, `$` or `!` there
//! is at most one [`Reject`] for what was begun, and one for the noise that cut it. Binary
//! protocols between the lines, glued and truncated lines, host prefixes, NMEA 4 tag blocks and
//! AIS lines only ever cost themselves.
//! Does not know: what a field means, what time it is, where the bytes come from.

use serde::{Deserialize, Serialize};

use crate::logic::config;
use crate::logic::gnss::Reject;

/// The longest sentence kept, `$` included, in bytes. NMEA allows 82; RTK receivers send past 102
/// (FIELD D7), and no sentence we read comes near this. A longer one loses, as `Overlong`.
pub const SENTENCE_BYTES_MAX: usize = 256;

/// The longest header (talker and kind) that a line without a right checksum is believed to have.
const HEADER_BYTES_MAX: usize = 12;

/// What a source promises about checksums (FIELD D17). A wrong one is always refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checksum {
    /// A line without one is refused.
    #[default]
    Required,
    /// A line without one is taken.
    IfPresent,
}

impl From<config::Checksum> for Checksum {
    fn from(configured: config::Checksum) -> Self {
        match configured {
            config::Checksum::Required => Self::Required,
            config::Checksum::IfPresent => Self::IfPresent,
        }
    }
}

/// One sentence: framed, printable, checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sentence<'a> {
    header: &'a str,
    data: &'a str,
}

impl<'a> Sentence<'a> {
    /// Who speaks: `GP`, `GN`, `GL`, …, or `P` for a proprietary sentence.
    pub fn talker(&self) -> &'a str {
        self.header.split_at(self.talker_len()).0
    }

    /// What is said: `RMC`, `GGA`, …
    pub fn kind(&self) -> &'a str {
        self.header.split_at(self.talker_len()).1
    }

    /// Everything between the header's comma and the checksum.
    pub fn data(&self) -> &'a str {
        self.data
    }

    /// The fields after the header, in order.
    pub fn fields(&self) -> std::str::Split<'a, char> {
        self.data.split(',')
    }

    fn talker_len(&self) -> usize {
        if self.header.starts_with('P') { 1 } else { self.header.len().min(2) }
    }
}

/// Where in a line the framer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Before any `$` of this line.
    Between,
    /// From a `$` on; the bytes are kept.
    Inside,
    /// Behind what needed attention: the rest of the line is let go.
    Rest,
}

/// How the kept bytes came to an end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// With `*` and two characters.
    Checksum,
    /// With a line end.
    Line,
    /// By the start of another sentence, or by a byte that no sentence holds.
    Cut,
    /// The cap was reached.
    Cap,
    /// Nothing was kept: bytes that belong to no sentence.
    Noise,
}

/// Finds sentences in a byte stream.
///
/// ```
/// use geofenced::logic::gnss::line::{Checksum, Framer};
/// let mut framer = Framer::new(Checksum::Required);
/// let mut bytes: &[u8] = b"\xB5\x62junk$GPZDA,120000.00,30,11,2026,00,00*60\r\n";
/// let mut kinds = 0;
/// while let Some(framed) = framer.feed(&mut bytes) {
///     kinds += usize::from(framed.is_ok_and(|sentence| sentence.kind() == "ZDA"));
/// }
/// assert_eq!(kinds, 1);
/// ```
#[derive(Clone, Debug)]
pub struct Framer {
    policy: Checksum,
    state: State,
    /// This line is a comment of a recorded log: what is wrong in it is no fault.
    comment: bool,
    /// This line had a byte that is not blank before any sentence.
    junk: bool,
    /// That junk was no text, so it is noise even where a sentence follows.
    binary: bool,
    /// Where the kept bytes have their `*`.
    star: Option<usize>,
    len: usize,
    kept: [u8; SENTENCE_BYTES_MAX],
}

impl Framer {
    /// A framer at the start of a line.
    pub fn new(policy: Checksum) -> Self {
        Self {
            policy,
            state: State::Between,
            comment: false,
            junk: false,
            binary: false,
            star: None,
            len: 0,
            kept: [0; SENTENCE_BYTES_MAX],
        }
    }

    /// Takes bytes from the front of `input` up to the end of the next sentence or fault.
    /// `None` means that all of `input` was taken; call again when there is more.
    pub fn feed(&mut self, input: &mut &[u8]) -> Option<Result<Sentence<'_>, Reject>> {
        loop {
            let (end, comment) = self.advance(input)?;
            let verdict = self.verdict(end, comment);
            if verdict.is_ok() || !comment {
                return Some(verdict.map(|()| self.sentence()));
            }
        }
    }

    /// What the end of the input makes of the bytes kept so far: a last line may lack its end.
    pub fn finish(&mut self) -> Option<Result<Sentence<'_>, Reject>> {
        self.feed(&mut b"\n".as_slice())
    }

    /// Moves on to the next end; with it, whether it lies in a comment.
    fn advance(&mut self, input: &mut &[u8]) -> Option<(End, bool)> {
        while !input.is_empty() {
            let comment = self.comment;
            let end = match self.state {
                State::Between => self.between(input),
                State::Inside => self.inside(input),
                State::Rest => self.rest(input),
            };
            if let Some(end) = end {
                return Some((end, comment));
            }
        }
        None
    }

    fn between(&mut self, input: &mut &[u8]) -> Option<End> {
        let (&byte, after) = input.split_first()?;
        match byte {
            b'$' | b'!' if self.binary => {
                // The noise is told before the sentence; the `$` stays for the next call.
                (self.binary, self.junk) = (false, false);
                return Some(End::Noise);
            }
            b'$' => self.begin(),
            b'!' => self.state = State::Rest,
            b'\r' | b'\n' => {
                let noise = self.junk;
                self.new_line();
                *input = after;
                return noise.then_some(End::Noise);
            }
            0 | b' ' | b'\t' => {}
            b'#' if !self.junk => (self.comment, self.junk) = (true, true),
            _ => {
                self.junk = true;
                self.binary |= !is_printable(byte) && !self.comment;
            }
        }
        *input = after;
        None
    }

    fn inside(&mut self, input: &mut &[u8]) -> Option<End> {
        // Plain bytes are taken in one go, but no further than the two digits after a `*`.
        let room = self.star.map_or(SENTENCE_BYTES_MAX, |star| star + 3) - self.len;
        let window = &input[..input.len().min(room)];
        let plain = window.iter().position(|&b| !is_plain(b)).unwrap_or(window.len());
        self.kept[self.len..self.len + plain].copy_from_slice(&window[..plain]);
        self.len += plain;
        *input = &input[plain..];
        if self.star.is_some_and(|star| self.len == star + 3) {
            self.state = State::Rest;
            return Some(End::Checksum);
        }
        if self.len == SENTENCE_BYTES_MAX {
            self.state = State::Rest;
            return Some(End::Cap);
        }
        let (&byte, after) = input.split_first()?;
        match byte {
            b'*' if self.star.is_none() && self.len + 3 > SENTENCE_BYTES_MAX => {
                self.state = State::Rest;
                Some(End::Cap)
            }
            b'*' if self.star.is_none() => {
                self.kept[self.len] = byte;
                self.star = Some(self.len);
                self.len += 1;
                *input = after;
                None
            }
            b'\r' | b'\n' => {
                self.new_line();
                *input = after;
                Some(End::Line)
            }
            b'$' | b'!' | b'*' => {
                self.state = State::Rest;
                Some(End::Cut)
            }
            _ => {
                // What cut it is itself noise, told at the next `$` or line end.
                self.state = State::Between;
                (self.junk, self.binary) = (true, !self.comment);
                *input = after;
                Some(End::Cut)
            }
        }
    }

    fn rest(&mut self, input: &mut &[u8]) -> Option<End> {
        let (&byte, after) = input.split_first()?;
        match byte {
            b'$' => self.begin(),
            b'\r' | b'\n' => self.new_line(),
            byte if is_printable(byte) || byte == 0 || byte == b'\t' => {}
            _ => {
                self.state = State::Between;
                (self.junk, self.binary) = (true, !self.comment);
            }
        }
        *input = after;
        None
    }

    fn begin(&mut self) {
        self.state = State::Inside;
        (self.junk, self.binary) = (false, false);
        self.star = None;
        self.kept[0] = b'$';
        self.len = 1;
    }

    fn new_line(&mut self) {
        self.state = State::Between;
        (self.comment, self.junk, self.binary) = (false, false, false);
    }

    fn verdict(&self, end: End, comment: bool) -> Result<(), Reject> {
        match end {
            End::Noise => Err(Reject::Noise),
            End::Checksum if self.checksum_is_right() => Ok(()),
            // A `$` of some binary protocol is no sentence gone wrong.
            _ if !self.looks_like_a_sentence() => Err(Reject::Noise),
            End::Checksum => Err(Reject::Checksum),
            End::Cap => Err(Reject::Overlong),
            End::Cut => Err(Reject::Malformed),
            End::Line if self.star.is_some() => Err(Reject::Malformed),
            End::Line if self.policy == Checksum::IfPresent && !comment => Ok(()),
            End::Line => Err(Reject::NoChecksum),
        }
    }

    fn checksum_is_right(&self) -> bool {
        let Some(star) = self.star else { return false };
        let sum = self.kept[1..star].iter().fold(0, |sum, byte| sum ^ byte);
        let digit = |at: usize| (self.kept[at] as char).to_digit(16);
        let said = digit(star + 1).zip(digit(star + 2)).map(|(high, low)| high * 16 + low);
        said == Some(u32::from(sum))
    }

    fn looks_like_a_sentence(&self) -> bool {
        has_header(&self.kept[1..self.len])
    }

    fn sentence(&self) -> Sentence<'_> {
        let body = &self.kept[1..self.star.unwrap_or(self.len)];
        let text = std::str::from_utf8(body).expect("only printable ASCII is kept");
        let (header, data) = text.split_once(',').unwrap_or((text, ""));
        Sentence { header, data }
    }
}

/// Whether these bytes begin as what follows the `$` of a sentence: a header, then a comma.
pub(super) fn has_header(bytes: &[u8]) -> bool {
    let header = bytes.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).count();
    (3..=HEADER_BYTES_MAX).contains(&header) && bytes.get(header) == Some(&b',')
}

fn is_printable(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte)
}

fn is_plain(byte: u8) -> bool {
    is_printable(byte) && !matches!(byte, b'$' | b'!' | b'*')
}

#[cfg(test)]
mod tests;
