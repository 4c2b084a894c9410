//! `events`: committed events, from the running daemon or from a store.

use std::path::PathBuf;

use super::{CliError, ConfigArg, Exit};
use crate::units::EventTime;

/// Arguments of `events`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which config names the socket.
    #[command(flatten)]
    pub config: ConfigArg,
    /// At most the last N.
    #[arg(short = 'n', value_name = "N")]
    pub count: Option<usize>,
    /// Go on printing as they are committed.
    #[arg(long, conflicts_with = "store")]
    pub follow: bool,
    /// Only those confirmed at or after this time (RFC 3339).
    #[arg(long, value_name = "TIME")]
    pub since: Option<EventTime>,
    /// Only those of one zone: `layer/zone`, or a zone id of any layer.
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Print the flat record as JSON, one a line.
    #[arg(long)]
    pub json: bool,
    /// Read this store file instead of asking the daemon.
    #[arg(long, value_name = "FILE", conflicts_with = "config")]
    pub store: Option<PathBuf>,
}

/// Runs it.
pub fn run(_args: &Args) -> Result<Exit, CliError> {
    Err(CliError::new(Exit::Software, "events is not wired in this build"))
}
