//! `demo`: all of it on this machine, without hardware.

use super::{CliError, Exit, Verbosity};

/// Arguments of `demo`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How much is said.
    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// Runs it.
pub fn run(_args: &Args) -> Result<Exit, CliError> {
    Err(CliError::new(Exit::Software, "demo is not wired in this build"))
}
