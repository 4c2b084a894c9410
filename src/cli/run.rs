//! `run`: the daemon.

use super::{CliError, ConfigArg, Exit, Verbosity};

/// Arguments of `run`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which config.
    #[command(flatten)]
    pub config: ConfigArg,
    /// How much is said.
    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// Runs it.
pub fn run(_args: &Args) -> Result<Exit, CliError> {
    Err(CliError::new(Exit::Software, "run is not wired in this build"))
}
