//! `run`: the daemon.

use std::path::PathBuf;

use super::{CliError, ConfigArg, Exit, Verbosity, config_files, log};
use crate::daemon::{self, DaemonError};
use crate::edge::clock;
use crate::edge::control::ControlError;
use crate::edge::files::FileError;
use crate::store::StoreError;

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
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let loaded = config_files::load(&config_files::gather(args.config.config.as_deref())?)?;
    let _logger = log::init(&loaded.config.log, args.verbosity, clock::boot_now);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let named: Option<PathBuf> = args.config.config.clone();
    let reread: daemon::Reread = Box::new(move || {
        let files = config_files::gather(named.as_deref()).map_err(|e| e.message)?;
        config_files::load(&files).map(|loaded| loaded.config).map_err(|e| e.message)
    });
    daemon::run(loaded.config, &reread).map(|()| Exit::Ok).map_err(|error| explain(&error))
}

/// The exit code of each way not to run.
pub(super) fn explain(error: &DaemonError) -> CliError {
    let exit = match error {
        DaemonError::File(FileError::NotAllowed(_))
        | DaemonError::Store(StoreError::NotAllowed(_))
        | DaemonError::Control(
            ControlError::NotAllowed { .. } | ControlError::DirectoryDenied(_),
        ) => Exit::NoPermission,
        DaemonError::File(FileError::Missing(_)) | DaemonError::NoLayers(_) => Exit::NoInput,
        DaemonError::File(_) | DaemonError::Layer { .. } | DaemonError::TwoFiles { .. } => {
            Exit::Data
        }
        DaemonError::Store(StoreError::InUse(_))
        | DaemonError::Control(ControlError::AlreadyRunning(_))
        | DaemonError::Unsaved(_)
        | DaemonError::Busy
        | DaemonError::Runtime(_) => Exit::TempFail,
        DaemonError::Pipeline => Exit::Software,
        DaemonError::Identity { .. }
        | DaemonError::NoDirectory { .. }
        | DaemonError::Uplink(_)
        | DaemonError::Store(_)
        | DaemonError::Control(_) => Exit::Config,
    };
    CliError::new(exit, error.to_string())
}
