//! `zones check`: parses each file as the daemon would and tells every fault.
//!
//! Output: one line a layer on standard output (`FILE: layer depots version 42: 412 zones`, or
//! one JSON object with `--json`), repairs as warnings and faults as
//! `FILE: feature ID: ring, vertex, coordinate: reason` on standard error. Exit 65 if any file is
//! refused, 66 if one is not there; all files are checked before it ends.

use std::path::PathBuf;

use super::{CliError, Exit};

/// The commands on zones.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Check zone files and say everything that is wrong with them.
    Check(CheckArgs),
}

/// Arguments of `zones check`.
#[derive(clap::Args, Debug)]
pub struct CheckArgs {
    /// GeoJSON files, one layer each.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Print one JSON object a file.
    #[arg(long)]
    pub json: bool,
}

/// Runs it.
pub fn run(command: &Command) -> Result<Exit, CliError> {
    match command {
        Command::Check(_) => {
            Err(CliError::new(Exit::Software, "zones check is not wired in this build"))
        }
    }
}
