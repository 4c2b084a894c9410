//! `config check` and `config show`.

use std::path::PathBuf;

use super::{CliError, ConfigArg, Exit, config_files, exit, out::Out};
use crate::daemon;
use crate::logic::config::{Config, ConfigFile, Identity, Loaded};

/// The commands on the config.
#[derive(clap::Subcommand, Debug)]
pub enum Command {
    /// Check a config and say everything that is wrong with it.
    Check(CheckArgs),
    /// Print the config in effect.
    Show(ShowArgs),
}

/// Arguments of `config check`.
#[derive(clap::Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Check exactly these files, read in this order, later wins [default: the installed config].
    #[arg(value_name = "FILE", conflicts_with = "config")]
    files: Vec<PathBuf>,
}

/// Arguments of `config show`.
#[derive(clap::Args, Debug)]
pub struct ShowArgs {
    #[command(flatten)]
    config: ConfigArg,
    /// Say behind each key who set it.
    #[arg(long)]
    origin: bool,
}

/// Runs one of them.
pub fn run(command: &Command) -> Result<Exit, CliError> {
    match command {
        Command::Check(args) => check(args),
        Command::Show(args) => show(args),
    }
}

fn check(args: &CheckArgs) -> Result<Exit, CliError> {
    let files: Vec<ConfigFile> = if args.files.is_empty() {
        config_files::gather(args.config.config.as_deref())?
    } else {
        args.files.iter().map(|path| config_files::read(path)).collect::<Result<_, _>>()?
    };
    let loaded = config_files::load(&files)?;
    warn(&loaded);
    // What a config names may be on another machine: said, but no fault of the config.
    if let Err(error) = daemon::prepare(&loaded.config) {
        exit::say(&format!("warning: `run` would not start on this machine: {error}"));
    }
    let mut out = Out::new();
    for file in &files {
        out.line(&file.path)?;
    }
    out.line(&summary(&loaded.config))?;
    out.finish()?;
    Ok(Exit::Ok)
}

fn show(args: &ShowArgs) -> Result<Exit, CliError> {
    let files = config_files::gather(args.config.config.as_deref())?;
    let loaded = config_files::load(&files)?;
    warn(&loaded);
    let mut out = Out::new();
    out.text(&loaded.show(args.origin))?;
    out.finish()?;
    Ok(Exit::Ok)
}

/// Says what was accepted but will surprise somebody.
pub fn warn(loaded: &Loaded) {
    for warning in &loaded.warnings {
        exit::say(&format!("warning: {warning}"));
    }
}

fn summary(config: &Config) -> String {
    let gateway = match &config.gateway.id {
        Identity::Given(id) => id.to_string(),
        Identity::File(path) => format!("(id in {path})"),
    };
    let sources: Vec<String> =
        config.sources.iter().map(|s| format!("{} ({})", s.name, s.kind().name())).collect();
    let uplink = config.uplink.url.as_deref().unwrap_or("none");
    format!("ok: gateway {gateway}, source {}, uplink {uplink}", sources.join(", "))
}
