//! The plain form of a record in JSON, at one pass: one flat object, no escapes, no key twice.
//!
//! Always holds: what it gives is what `serde_json` gives for the same line; what is not of the
//! plain form, wrong lines included, it leaves to that.
//! Does not know: what values mean, or why a line is wrong.

use super::{ACCURACY, ASSET, HEADING, KEYS, LAT, LON, RECEIVED, SPEED, TIME};

/// Each value's text in the order of [`KEYS`], empty where it is unknown; `None` where the line
/// is to be read the long way.
pub(super) fn texts(line: &[u8]) -> Option<[&str; KEYS.len()]> {
    let mut line = Scanner { text: std::str::from_utf8(line).ok()?, at: 0 };
    let mut texts = [""; KEYS.len()];
    let mut seen = 0_u32;
    line.blanks();
    line.take(b'{').then_some(())?;
    loop {
        line.blanks();
        line.take(b'"').then_some(())?;
        let name = line.rest_of_string()?;
        line.blanks();
        line.take(b':').then_some(())?;
        line.blanks();
        match key(name) {
            Some(key) => {
                texts[key] = line.value()?;
                let twice = seen & (1 << key) != 0;
                seen |= 1 << key;
                // A name of nothing is not the same as none.
                let nothing = key == ASSET && line.text[..line.at].ends_with("\"\"");
                (!twice && !nothing).then_some(())?;
            }
            None => line.pass()?,
        }
        line.blanks();
        if !line.take(b',') {
            break;
        }
    }
    line.take(b'}').then_some(())?;
    line.blanks();
    (line.at == line.text.len()).then_some(texts)
}

/// The place of a key in [`KEYS`], at one comparison.
pub(super) fn key(name: &str) -> Option<usize> {
    Some(match name {
        "asset" => ASSET,
        "time" => TIME,
        "lat" => LAT,
        "lon" => LON,
        "accuracy_m" => ACCURACY,
        "received" => RECEIVED,
        "speed_mps" => SPEED,
        "heading_deg" => HEADING,
        _ => return None,
    })
}

/// A line, and how far it has been read.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    /// What JSON takes for white.
    fn blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// A string whose first quote has been taken.
    fn rest_of_string(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let len = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F))?;
        self.at += len;
        self.take(b'"').then(|| &rest[..len])
    }

    /// A number as it is written.
    fn number(&mut self) -> Option<&'a str> {
        let begin = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _signed = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Some(&self.text[begin..self.at])
    }

    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    /// The text of a value that can be one of ours.
    fn value(&mut self) -> Option<&'a str> {
        match self.peek()? {
            b'"' => {
                self.at += 1;
                self.rest_of_string()
            }
            b'n' => self.word("null").map(|()| ""),
            _ => self.number(),
        }
    }

    /// A value that nobody asks for.
    fn pass(&mut self) -> Option<()> {
        match self.peek()? {
            b't' => self.word("true"),
            b'f' => self.word("false"),
            _ => self.value().map(drop),
        }
    }
}
