//! `zones check`: parses each file as the daemon would and tells every fault.
//!
//! Output: one line a layer on standard output (`FILE: layer depots version 42: 412 zones`, or
//! one JSON object with `--json`), repairs and faults on standard error. Exit 65 if any file is
//! refused, 66 if one is not there; all files are checked before it ends.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::out::Out;
use super::{CliError, Exit};
use crate::edge::files::{self, FileError};
use crate::logic::config::Decide;
use crate::logic::zones::{self, Checked};

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
    let Command::Check(args) = command;
    let mut out = Out::new();
    let mut worst = Exit::Ok;
    for path in &args.files {
        let (exit, line) = check(path, args.json);
        if let Some(line) = line {
            out.line(&line)?;
        }
        // A refused layer outweighs a file that is not there: it needs a person.
        if worst == Exit::Ok || exit == Exit::Data {
            worst = exit;
        }
    }
    out.finish()?;
    Ok(worst)
}

fn check(path: &Path, json: bool) -> (Exit, Option<String>) {
    let bytes = match files::read_bytes(path, zones::LAYER_BYTES_MAX as u64) {
        Ok(bytes) => bytes,
        Err(error) => {
            CliError::new(Exit::NoInput, error.to_string()).say();
            let exit = match error {
                FileError::Missing(_) => Exit::NoInput,
                FileError::NotAllowed(_) => Exit::NoPermission,
                _ => Exit::Data,
            };
            return (exit, None);
        }
    };
    match zones::parse_layer(&bytes, &Decide::default()) {
        Ok(checked) => (Exit::Ok, Some(accepted(path, &checked, json))),
        Err(faults) => {
            let lines: Vec<String> =
                faults.iter().map(|fault| format!("{}: {fault}", path.display())).collect();
            CliError::new(Exit::Data, lines.join("\n")).say();
            let told = json.then(|| {
                let texts: Vec<String> = faults.iter().map(ToString::to_string).collect();
                json!({ "file": path.display().to_string(), "faults": texts }).to_string()
            });
            (Exit::Data, told)
        }
    }
}

fn accepted(path: &Path, checked: &Checked, json: bool) -> String {
    let Checked { layer, repairs } = checked;
    let file = path.display();
    let lines: Vec<String> = repairs.iter().map(|r| format!("{file}: repaired: {r}")).collect();
    if !lines.is_empty() {
        CliError::new(Exit::Ok, lines.join("\n")).say();
    }
    if !json {
        let (id, version, zones) = (&layer.id, layer.version, layer.zones.len());
        return format!("{file}: layer {id} version {version}: {zones} zones");
    }
    let zones: Vec<_> = layer
        .zones
        .iter()
        .map(|zone| {
            json!({
                "zone": zone.id, "name": zone.name, "shape": zone.fingerprint.to_string(),
                "kind": zone.shape.kind_name(), "vertices": zone.shape.vertices(),
            })
        })
        .collect();
    let texts: Vec<String> = repairs.iter().map(ToString::to_string).collect();
    json!({
        "file": file.to_string(), "layer": layer.id, "version": layer.version,
        "zones": zones, "repairs": texts,
    })
    .to_string()
}
