//! `replay`: recorded drives through the same engine, without a store.

use std::path::PathBuf;

use super::{CliError, ConfigArg, Exit, Verbosity};
use crate::units::EventTime;

/// Arguments of `replay`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Recordings: NMEA (whatever the name), .csv, .jsonl; - is standard input.
    #[arg(value_name = "INPUT", required = true)]
    pub inputs: Vec<PathBuf>,
    /// Zone files, one layer each; needed unless fixes are printed.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub zones: Vec<PathBuf>,
    /// Take [decide], [time] and the rest from this config instead of the defaults.
    #[command(flatten)]
    pub config: ConfigArg,
    /// What to print.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Print::Events)]
    pub print: Print,
    /// How to print it.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Jsonl)]
    pub format: Format,
    /// Refuse times before this date (2026-01-01, or RFC 3339).
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    pub floor: Option<EventTime>,
    /// Inputs at a time [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: Option<u16>,
    /// Write a page with the map and the events.
    #[arg(long, value_name = "FILE.html")]
    pub report: Option<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// What `replay` prints.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Print {
    /// What was decided.
    Events,
    /// What was decided on.
    Fixes,
}

/// How `replay` prints it.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Flat JSON, one record a line.
    Jsonl,
    /// CloudEvents JSON, one a line.
    Cloudevents,
    /// Comma-separated with a header.
    Csv,
}

/// A date, or a time by RFC 3339.
fn parse_date(text: &str) -> Result<EventTime, String> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| "write it as 2026-01-01 or 2026-01-01T00:00:00Z".to_owned())
}

/// Runs it.
pub fn run(_args: &Args) -> Result<Exit, CliError> {
    Err(CliError::new(Exit::Software, "replay is not wired in this build"))
}
