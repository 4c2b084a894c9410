//! `record`: what every source gave, out of the running daemon's memory, for `replay`.
//!
//! Does not know: what is in it.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::out::Out;
use super::{CliError, DaemonArg, Exit, status};
use crate::edge::control;
use crate::logic::config::parse_duration;

/// It holds positions: whoever wrote the file may read it, nobody else.
const MODE: u32 = 0o600;

/// Arguments of `record`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which daemon to ask.
    #[command(flatten)]
    pub daemon: DaemonArg,
    /// Write it to this file, readable by you alone, instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Only the last so long, such as 15min.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub since: Option<String>,
}

fn duration(text: &str) -> Result<String, String> {
    parse_duration(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// Runs it.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let socket = status::socket(&args.daemon)?;
    let since = args.since.as_ref().map(|since| format!("?since={}", control::encode(since)));
    let text = status::fetch(&socket, &format!("/v1/record{}", since.unwrap_or_default()))?;
    if let Some(path) = &args.output {
        write(path, &text)?;
    } else {
        let mut out = Out::new();
        out.bytes(&text)?;
        out.finish()?;
    }
    Ok(Exit::Ok)
}

fn write(path: &Path, text: &[u8]) -> Result<(), CliError> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(MODE).open(path);
    file.and_then(|mut file| file.write_all(text)).map_err(|error| CliError::writing(&error))
}
