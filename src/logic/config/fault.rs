//! What is wrong with a config, and where.
//!
//! Always holds: a fault says where, which key, what is wrong and what would be right, and never
//! carries the value of a key it does not know (it may be a secret).
//! Does not know: how faults are printed or what they end.

use std::fmt;
use std::sync::Arc;

/// Who set a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Origin {
    /// Nobody: the built-in default.
    Default,
    /// A place in a file, counted from 1; line 0 is the file as a whole.
    File {
        /// As the caller named it.
        file: Arc<str>,
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
    },
}

impl fmt::Display for Origin {
    /// `file:line`, or `default`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line: 0, .. } => f.write_str(file),
            Self::File { file, line, .. } => write!(f, "{file}:{line}"),
        }
    }
}

/// One thing wrong with a config (or, as a warning, worth knowing).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ConfigFault {
    /// Where it is written.
    pub origin: Origin,
    /// The key, dotted.
    pub key: String,
    /// What is wrong.
    pub what: String,
    /// What would be right; empty where `what` says it.
    pub fix: String,
}

impl ConfigFault {
    pub(super) fn at(
        origin: &Origin,
        key: impl Into<String>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { origin: origin.clone(), key: key.into(), what: what.into(), fix: fix.into() }
    }
}

impl fmt::Display for ConfigFault {
    /// `file:line:column: key: what is wrong; what would be right`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default => f.write_str("config: ")?,
            Origin::File { file, line: 0, .. } => write!(f, "{file}: ")?,
            Origin::File { file, line, column } => write!(f, "{file}:{line}:{column}: ")?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)?;
        if !self.fix.is_empty() {
            write!(f, "; {}", self.fix)?;
        }
        Ok(())
    }
}
