//! Floor 4: arguments, and one file per command.
//!
//! Always holds: data goes to standard output, talk to standard error; the exit code is one of
//! [`Exit`]; a reader that goes away ends us quietly with 0. A command is a `clap` struct and one
//! `run(&Args) -> Result<Exit, CliError>`. Does not know: how anything is decided.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub mod config;
pub mod config_files;
pub mod demo;
pub mod events;
pub mod exit;
pub mod log;
pub mod out;
pub mod record;
pub mod replay;
mod replay_fleet;
mod replay_input;
mod replay_print;
mod replay_record;
pub mod run;
mod shipped;
pub mod simulate;
pub mod status;
mod status_screen;
pub mod zones;

pub use exit::{CliError, Exit};

/// Decides which zones a vehicle is in and delivers every change once in effect, in order, with
/// an honest time.
#[derive(Parser, Debug)]
#[command(name = "geofenced", version, about, propagate_version = true)]
#[command(subcommand_required = true, arg_required_else_help = false)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Run the daemon.
    Run(run::Args),
    /// Put recorded drives through the same engine and print what it decides.
    Replay(replay::Args),
    /// Write a drive that never was, for `replay`, with the truth about it.
    Simulate(simulate::Args),
    /// Check zone files.
    #[command(subcommand)]
    Zones(zones::Command),
    /// Check or show the config.
    #[command(subcommand)]
    Config(config::Command),
    /// Show the state of the running daemon.
    Status(status::Args),
    /// Print events from the running daemon or from a store.
    Events(events::Args),
    /// Write out what every source gave, for `replay`.
    Record(record::Args),
    /// See all of it on this machine without hardware.
    Demo(demo::Args),
}

/// How much a command says of what it does.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub struct Verbosity {
    /// Say more; twice says everything.
    #[arg(short = 'v', long, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Where the config is, for commands that need one.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct ConfigArg {
    /// Use this config and the conf.d beside it [default: those in /etc/geofenced].
    #[arg(long, value_name = "FILE")]
    pub config: Option<std::path::PathBuf>,
}

/// Which daemon is asked, for commands that ask one.
#[derive(clap::Args, Debug, Clone, Default)]
pub struct DaemonArg {
    /// Which config names the socket.
    #[command(flatten)]
    pub config: ConfigArg,
    /// Ask at this socket instead.
    #[arg(long, value_name = "PATH", conflicts_with = "config")]
    pub socket: Option<std::path::PathBuf>,
}

/// Runs the program on its arguments.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let outcome = match Cli::try_parse_from(args) {
        Ok(cli) => dispatch(&cli.command),
        Err(e) => {
            // Help and the version were asked for: they are data. clap picks the stream.
            let exit = if e.use_stderr() { Exit::Usage } else { Exit::Ok };
            drop(e.print());
            Ok(exit)
        }
    };
    match outcome {
        Ok(exit) => exit.into(),
        Err(e) => {
            e.say();
            e.exit.into()
        }
    }
}

fn dispatch(command: &Command) -> Result<Exit, CliError> {
    match command {
        Command::Run(args) => run::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Zones(command) => zones::run(command),
        Command::Config(command) => config::run(command),
        Command::Status(args) => status::run(args),
        Command::Events(args) => events::run(args),
        Command::Record(args) => record::run(args),
        Command::Demo(args) => demo::run(args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }

    /// The command lines of DESIGN §7 parse.
    #[test]
    fn the_contracts_command_lines_parse() {
        for line in [
            "run --config f.toml",
            "run -v",
            "replay a.nmea b.csv --zones x.geojson y.geojson --print events --format csv",
            "replay - --print fixes --floor 2010-01-01",
            "simulate",
            "simulate --seed 7 --zones x.geojson y.geojson --scenario urban --rate 0.2 --truth t",
            "simulate --minutes 60 --format csv --asset van-1 -o drive.csv",
            "zones check a.geojson b.geojson --json",
            "config check",
            "config check a.toml b.toml",
            "config check --config a.toml",
            "config show --origin",
            "status --json --check",
            "events -n 5 --follow --zone depots/nord --json",
            "events --since 2026-11-30T12:00:00Z --store geofenced.db",
            "record -o drive.record --since 15min",
            "demo",
        ] {
            let args = std::iter::once("geofenced").chain(line.split(' '));
            if let Err(e) = Cli::try_parse_from(args) {
                panic!("{line}: {e}");
            }
        }
    }
}
