//! Collects arguments, calls `cli`, returns the exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    geofenced::cli::main(std::env::args_os())
}
