//! `zones check`: parses each file as the daemon would and tells every fault.
//!
//! Output: one line a layer on standard output (`FILE: layer depots version 42: 412 zones within
//! 48.1412..48.1569 N, 11.5592..11.5940 E`, or one JSON object with `--json`), repairs and faults
//! on standard error. Exit 65 if any file is refused, 66 if one is not there; all files are
//! checked before it ends.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::out::Out;
use super::{CliError, Exit};
use crate::edge::files::{self, FileError};
use crate::logic::config::Decide;
use crate::logic::geometry::Bounds;
use crate::logic::zones::{self, Checked, Layer};

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
        let zones = if zones == 1 { "1 zone".to_owned() } else { format!("{zones} zones") };
        // In words, so that coordinates the wrong way round show.
        let within = extent(layer).map_or_else(String::new, |b| format!(" within {}", shown(&b)));
        return format!("{file}: layer {id} version {version}: {zones}{within}");
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
        "bbox": extent(layer).map(|b| [b.west, b.south, b.east, b.north].map(round_e7)),
        "zones": zones, "repairs": texts,
    })
    .to_string()
}

/// The box around all zones of a layer; none where there is no zone.
fn extent(layer: &Layer) -> Option<Bounds> {
    layer.zones.iter().map(|zone| zone.shape.bounds()).reduce(|a, b| Bounds {
        south: a.south.min(b.south),
        north: a.north.max(b.north),
        west: a.west.min(b.west),
        east: a.east.max(b.east),
    })
}

fn round_e7(deg: f64) -> f64 {
    (deg * 1e7).round() / 1e7
}

/// As a map says it: four digits are 11 m.
fn shown(bounds: &Bounds) -> String {
    let range = |low: f64, high: f64, [plus, minus]: [char; 2]| {
        if high < 0.0 {
            format!("{:.4}..{:.4} {minus}", -high, -low)
        } else {
            format!("{low:.4}..{high:.4} {plus}")
        }
    };
    let north = range(bounds.south, bounds.north, ['N', 'S']);
    format!("{north}, {}", range(bounds.west, bounds.east, ['E', 'W']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(coordinates: &[[f64; 2]]) -> String {
        let feature = |(id, at): (usize, &[f64; 2])| {
            json!({
                "type": "Feature", "id": id, "properties": {"radius_m": 1},
                "geometry": {"type": "Point", "coordinates": at},
            })
        };
        let features: Vec<_> = coordinates.iter().enumerate().map(feature).collect();
        let layer = json!({
            "type": "FeatureCollection", "geofenced": {"layer": "a", "version": 3},
            "features": features,
        });
        let checked = zones::parse_layer(layer.to_string().as_bytes(), &Decide::default());
        accepted(Path::new("f"), &checked.unwrap(), false)
    }

    #[test]
    fn the_extent_shows_where_a_layer_lies() {
        for (coordinates, right) in [
            (&[][..], "0 zones"),
            (&[[11.56, 48.14]], "1 zone within 48.1400..48.1400 N, 11.5600..11.5600 E"),
            (
                &[[11.56, 48.14], [11.59, 48.15]],
                "2 zones within 48.1400..48.1500 N, 11.5600..11.5900 E",
            ),
            (&[[48.14, 11.56]], "1 zone within 11.5600..11.5600 N, 48.1400..48.1400 E"),
            (&[[-70.5, -33.4]], "1 zone within 33.4000..33.4000 S, 70.5000..70.5000 W"),
            (&[[-0.1, 51.0], [0.1, 51.0]], "2 zones within 51.0000..51.0000 N, -0.1000..0.1000 E"),
        ] {
            assert_eq!(line(coordinates), format!("f: layer a version 3: {right}"));
        }
    }
}
