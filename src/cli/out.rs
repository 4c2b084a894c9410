//! Standard output, and whether a terminal is there to be coloured.
//!
//! Always holds: writing never panics; colour only on a terminal that wants it.
//! Does not know: what is written.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};

use super::CliError;

/// Buffered standard output. Call [`Out::finish`] last: it is what notices a full disk.
#[derive(Debug)]
pub struct Out(BufWriter<StdoutLock<'static>>);

impl Out {
    /// Standard output, locked.
    pub fn new() -> Self {
        Self(BufWriter::new(io::stdout().lock()))
    }
    /// Writes a text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.bytes(text.as_bytes())
    }
    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.0.write_all(bytes).map_err(|e| CliError::writing(&e))
    }
    /// Writes a line.
    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        self.text(line)?;
        self.text("\n")
    }
    /// Hands over what is buffered, for a reader that follows.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.0.flush().map_err(|e| CliError::writing(&e))
    }
    /// Hands over the rest.
    pub fn finish(mut self) -> Result<(), CliError> {
        self.flush()
    }
}

impl Default for Out {
    fn default() -> Self {
        Self::new()
    }
}

/// The colours in use, by meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colour {
    /// Broken.
    Red,
    /// Needs attention.
    Yellow,
    /// Well.
    Green,
    /// Less important.
    Dim,
    /// More important.
    Bold,
}

/// Text in a colour, where colour is wanted.
pub fn paint(colour: Colour, text: &str, wanted: bool) -> String {
    if !wanted {
        return text.to_owned();
    }
    let code = match colour {
        Colour::Red => 31,
        Colour::Yellow => 33,
        Colour::Green => 32,
        Colour::Dim => 2,
        Colour::Bold => 1,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Whether standard output wants colour.
pub fn colour_on_stdout() -> bool {
    colour(io::stdout().is_terminal(), &|name| std::env::var(name).ok())
}

/// Whether standard error wants colour.
pub fn colour_on_stderr() -> bool {
    colour(io::stderr().is_terminal(), &|name| std::env::var(name).ok())
}

/// no-color.org: any `NO_COLOR` that is not empty; a dumb terminal has none either.
fn colour(terminal: bool, env: &dyn Fn(&str) -> Option<String>) -> bool {
    terminal
        && env("NO_COLOR").is_none_or(|v| v.is_empty())
        && env("TERM").is_none_or(|v| v != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_needs_a_terminal_that_wants_it() {
        for (terminal, variable, expected) in [
            (true, ("X", ""), true),
            (false, ("X", ""), false),
            (true, ("NO_COLOR", "1"), false),
            (true, ("NO_COLOR", ""), true),
            (true, ("TERM", "dumb"), false),
        ] {
            let env = |name: &str| (name == variable.0).then(|| variable.1.to_owned());
            assert_eq!(colour(terminal, &env), expected, "{terminal} {variable:?}");
        }
        assert_eq!(paint(Colour::Red, "x", false), "x");
        assert_eq!(paint(Colour::Red, "x", true), "\x1b[31mx\x1b[0m");
    }
}
