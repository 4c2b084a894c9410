//! `status`: one screen of the running daemon's state, worst first.

use std::path::PathBuf;

use super::{CliError, ConfigArg, Exit};

/// Arguments of `status`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which config names the socket.
    #[command(flatten)]
    pub config: ConfigArg,
    /// Ask at this socket instead.
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    pub socket: Option<PathBuf>,
    /// Print the same fields as JSON.
    #[arg(long)]
    pub json: bool,
    /// Exit 0 when ready, 1 when degraded, 2 when down.
    #[arg(long)]
    pub check: bool,
}

/// Runs it.
pub fn run(_args: &Args) -> Result<Exit, CliError> {
    Err(CliError::new(Exit::Software, "status is not wired in this build"))
}
