//! `status`: one screen of the running daemon's state, worst first.

use std::path::{Path, PathBuf};

use super::out::{Out, colour_on_stdout};
use super::{CliError, ConfigArg, Exit, config_files, status_screen};
use crate::edge::control::{self, ControlError};
use crate::logic::health::{State, Status};

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

/// Where the daemon listens when no config says otherwise.
const SOCKET_DEFAULT: &str = "/run/geofenced/control.sock";

/// Runs it.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let socket = socket(args.socket.as_deref(), &args.config)?;
    let status: Status = match ask(&socket, "/v1/status") {
        Ok(status) => status,
        Err(error) if args.check && error.exit == Exit::Unavailable => {
            return Err(CliError::new(Exit::Down, error.message));
        }
        Err(error) => return Err(error),
    };
    let mut out = Out::new();
    if args.json {
        let text = serde_json::to_string_pretty(&status)
            .map_err(|error| CliError::new(Exit::Software, error.to_string()))?;
        out.line(&text)?;
    } else {
        out.text(&status_screen::screen(&status, colour_on_stdout()))?;
    }
    out.finish()?;
    match status.state {
        State::Degraded if args.check => Ok(Exit::Degraded),
        _ => Ok(Exit::Ok),
    }
}

/// The socket that was named, or that the config names, or the usual one.
pub(super) fn socket(named: Option<&Path>, config: &ConfigArg) -> Result<PathBuf, CliError> {
    if let Some(path) = named {
        return Ok(path.to_owned());
    }
    let files = match config_files::gather(config.config.as_deref()) {
        Ok(files) => files,
        // Someone who may ask the daemon need not be able to read its config.
        Err(_) if config.config.is_none() => return Ok(PathBuf::from(SOCKET_DEFAULT)),
        Err(error) => return Err(error),
    };
    Ok(PathBuf::from(config_files::load(&files)?.config.control.socket))
}

/// Asks the daemon; an answer that is no success is an error with its words.
pub(super) fn ask<T: serde::de::DeserializeOwned>(
    socket: &Path,
    path: &str,
) -> Result<T, CliError> {
    let (status, body) = control::get(socket, path).map_err(|error| {
        let exit = match error {
            ControlError::NoDaemon(_) => Exit::Unavailable,
            ControlError::NotAllowed { .. } => Exit::NoPermission,
            _ => Exit::TempFail,
        };
        CliError::new(exit, error.to_string())
    })?;
    if status != 200 {
        let text = String::from_utf8_lossy(&body).into_owned();
        let exit = if status == 403 { Exit::NoPermission } else { Exit::TempFail };
        return Err(CliError::new(exit, format!("the daemon answers {status}: {text}")));
    }
    serde_json::from_slice(&body).map_err(|error| {
        let message = format!("the daemon's answer cannot be read ({error}); is it this version?");
        CliError::new(Exit::TempFail, message)
    })
}
