//! Listens to a serial line: at which rate it speaks, and whether somebody takes bytes from it.
//!
//! Always holds: a rate is believed for checksummed sentences alone, never for bytes that look
//! good; silence proves nothing, so a rate is left only after bytes came at it; what is said is
//! said once until it changes. Does not know: ports, clocks, who else reads.

use crate::logic::gnss::Reject;
use crate::logic::gnss::line::{Checksum, Framer};
use crate::units::{BootTime, Span};

/// What receivers speak, the usual ones first.
pub const RATES: [u32; 9] =
    [9600, 4800, 38_400, 115_200, 57_600, 19_200, 230_400, 460_800, 921_600];

/// Sentences that make a rate right. One in 256 garbled lines that still look like a sentence has
/// a right checksum; two in a row of them do not happen.
const SENTENCES: u32 = 2;
/// A rate is heard this long from its first byte on: two bursts of a receiver at 1 Hz.
const DWELL: Span = Span::from_millis(2_500);
/// One whole second of it, where there were [`GARBAGE_BYTES`] and no sentence among them.
const DWELL_GARBAGE: Span = Span::from_millis(1_200);
/// Twice the longest sentence.
const GARBAGE_BYTES: usize = 512;
/// A rate that gave one sentence is given this long for the second: reports every 10 s exist.
const DWELL_PROMISING: Span = Span::from_secs(12);

/// Bytes without a sentence for this long, and so many of them, are garbage.
const GARBLED_AFTER: Span = Span::from_secs(5);
const GARBLED_BYTES: usize = 256;

/// Of this many lines in a row so many are broken where a second reader takes bytes away now and
/// then. A clean line has next to none.
const WINDOW: u32 = 32;
const TORN: u32 = 6;
const WHOLE: u32 = 2;

/// The speed of the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Baud {
    /// Found out by listening.
    #[default]
    Auto,
    /// This many bits a second.
    Fixed(u32),
}

/// What is to be done, or to be known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Heard {
    /// Set the port to this rate, and forget what came at the last.
    Try(u32),
    /// This rate is right.
    Settled(u32),
    /// Bytes come, and no sentence at all: at the fixed rate, or at any.
    Garbled,
    /// Sentences come, and many are broken.
    Torn,
    /// That is over.
    Clean,
}

/// How sure the rate is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Probing,
    Settled,
}

/// One open port.
#[derive(Clone, Debug)]
pub struct Ear {
    state: State,
    auto: bool,
    /// What is tried, in this order and round again.
    rates: Vec<u32>,
    place: usize,
    tried: usize,
    framer: Framer,
    policy: Checksum,
    /// Since the rate was set, or since the last sentence once it is settled.
    first_byte: Option<BootTime>,
    bytes: usize,
    sentences: u32,
    /// Of the last lines, newest lowest: which were broken.
    broken: u32,
    lines: u32,
    /// What was said last of the line.
    trouble: Option<Heard>,
}

impl Ear {
    /// For a port just opened. `last` is the rate that was right before.
    pub fn new(baud: Baud, policy: Checksum, last: Option<u32>) -> Self {
        let rates = match baud {
            Baud::Fixed(rate) => vec![rate],
            Baud::Auto => {
                let others = RATES.into_iter().filter(|rate| Some(*rate) != last);
                last.into_iter().chain(others).collect()
            }
        };
        Self {
            state: State::Probing,
            auto: baud == Baud::Auto,
            rates,
            place: 0,
            tried: 0,
            framer: Framer::new(policy),
            policy,
            first_byte: None,
            bytes: 0,
            sentences: 0,
            broken: 0,
            lines: 0,
            trouble: None,
        }
    }

    /// The rate that the port must have now.
    pub fn rate(&self) -> u32 {
        self.rates[self.place]
    }

    /// These bytes came.
    pub fn hear(&mut self, now: BootTime, mut bytes: &[u8]) -> Option<Heard> {
        if bytes.is_empty() {
            return self.wake(now);
        }
        self.first_byte.get_or_insert(now);
        self.bytes += bytes.len();
        while let Some(framed) = self.framer.feed(&mut bytes) {
            let whole = match framed {
                Ok(_) => true,
                // Binary protocols between the lines are no fault.
                Err(Reject::Noise) => continue,
                Err(_) => false,
            };
            self.broken = self.broken << 1 | u32::from(!whole);
            self.lines = (self.lines + 1).min(WINDOW);
            if whole {
                self.sentences += 1;
                if self.state == State::Settled {
                    (self.first_byte, self.bytes) = (None, 0);
                }
            }
        }
        self.judge(now)
    }

    /// When [`Self::wake`] is due, if no byte comes before.
    pub fn deadline(&self) -> Option<BootTime> {
        let probing = self.state == State::Probing && self.auto;
        self.first_byte.filter(|_| probing).map(|first| first + self.dwell())
    }

    /// Time has passed.
    pub fn wake(&mut self, now: BootTime) -> Option<Heard> {
        self.judge(now)
    }

    fn dwell(&self) -> Span {
        match self.sentences {
            0 if self.bytes >= GARBAGE_BYTES => DWELL_GARBAGE,
            0 => DWELL,
            _ => DWELL_PROMISING,
        }
    }

    fn judge(&mut self, now: BootTime) -> Option<Heard> {
        let heard_for = self.first_byte.map_or(Span::ZERO, |first| now - first);
        let garbled = self.bytes >= GARBLED_BYTES && heard_for >= GARBLED_AFTER;
        match self.state {
            State::Probing if self.sentences >= SENTENCES => {
                self.state = State::Settled;
                (self.tried, self.lines, self.broken) = (0, 0, 0);
                (self.first_byte, self.bytes) = (None, 0);
                self.trouble = None;
                Some(Heard::Settled(self.rate()))
            }
            State::Probing if !self.auto => garbled.then(|| self.say(Heard::Garbled)).flatten(),
            State::Probing if self.deadline().is_some_and(|due| due <= now) => {
                Some(self.next_rate())
            }
            State::Probing => None,
            State::Settled if garbled && self.auto => Some(self.next_rate()),
            State::Settled if garbled => self.say(Heard::Garbled),
            State::Settled => self.judge_lines(),
        }
    }

    /// Goes on to the next rate. After a whole round in vain that is said first.
    fn next_rate(&mut self) -> Heard {
        self.state = State::Probing;
        self.tried += 1;
        if self.tried == self.rates.len()
            && let Some(said) = self.say(Heard::Garbled)
        {
            // The port keeps its rate for one more dwell.
            self.begin();
            return said;
        }
        self.place = (self.place + 1) % self.rates.len();
        self.begin();
        Heard::Try(self.rate())
    }

    fn begin(&mut self) {
        self.framer = Framer::new(self.policy);
        (self.first_byte, self.bytes, self.sentences) = (None, 0, 0);
    }

    fn judge_lines(&mut self) -> Option<Heard> {
        if self.lines < WINDOW {
            return None;
        }
        match self.broken.count_ones() {
            // Not one whole line is garbage, which is told by its own rule.
            TORN..WINDOW => self.say(Heard::Torn),
            ..=WHOLE if self.trouble.take().is_some() => Some(Heard::Clean),
            _ => None,
        }
    }

    fn say(&mut self, trouble: Heard) -> Option<Heard> {
        (self.trouble.replace(trouble) != Some(trouble)).then_some(trouble)
    }
}

#[cfg(test)]
mod tests;
