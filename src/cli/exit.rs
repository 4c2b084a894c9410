//! How a command ends: an exit code by sysexits, and one message.
//!
//! Always holds: one message says where, what and what would be right. Does not know: commands.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use crate::logic::config::ConfigFault;

/// Exit codes, by sysexits (DESIGN §7), and those of `status --check`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// `status --check`: degraded.
    Degraded = 1,
    /// `status --check`: down.
    Down = 2,
    /// The command line is wrong.
    Usage = 64,
    /// The data is wrong, or a layer was refused.
    Data = 65,
    /// An input is not there.
    NoInput = 66,
    /// No daemon answers.
    Unavailable = 69,
    /// Our own bug.
    Software = 70,
    /// Try later.
    TempFail = 75,
    /// Not allowed.
    NoPermission = 77,
    /// The config is wrong.
    Config = 78,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// The exit code.
    pub exit: Exit,
    /// Where, what, and what would be right; may have several lines; empty says nothing.
    pub message: String,
}

impl CliError {
    /// An end with a message.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into() }
    }

    /// A file that could not be read: 66, or 77 where it was not allowed.
    pub fn reading(path: &Path, error: &io::Error) -> Self {
        let exit = match error.kind() {
            io::ErrorKind::PermissionDenied => Exit::NoPermission,
            _ => Exit::NoInput,
        };
        Self::new(exit, format!("cannot read {}: {}", path.display(), plain(error)))
    }

    /// Standard output that takes no more: quiet success when its reader went away.
    pub fn writing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Exit::Ok, ""),
            _ => Self::new(Exit::TempFail, format!("cannot write the output: {}", plain(error))),
        }
    }

    /// A config that was refused: every fault on a line of its own.
    pub fn config(faults: &[ConfigFault]) -> Self {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        Self::new(Exit::Config, lines.join("\n"))
    }

    /// Says the message on standard error.
    pub fn say(&self) {
        say(&self.message);
    }
}

/// An error of the system without Rust's `(os error 2)`.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Talks: each line on standard error behind the program's name. A closed one is no reason to
/// fail.
pub fn say(message: &str) {
    let mut err = io::stderr().lock();
    for line in message.lines() {
        drop(writeln!(err, "geofenced: {line}"));
    }
}
