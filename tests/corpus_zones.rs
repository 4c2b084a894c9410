//! Every zone file of the corpus is read or refused with reasons, never a panic; prints a table.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use geofenced::logic::config::Decide;
use geofenced::logic::geometry::Index;
use geofenced::logic::zones::{Checked, Fault, parse_layer};
use geofenced::units::Position;
use serde_json::{Value, json};

fn corpus() -> PathBuf {
    let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    std::env::var_os("GEOFENCED_CORPUS").map_or(default, PathBuf::from)
}

fn files_under(dir: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut entries: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files_under(&path, out);
        } else {
            out.push(path);
        }
    }
}

fn bytes_of(path: &Path) -> Vec<u8> {
    let raw = fs::read(path).expect("a corpus file can be read");
    if path.extension().is_none_or(|e| e != "gz") {
        return raw;
    }
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&raw[..]).read_to_end(&mut bytes).expect("sound gzip");
    bytes
}

/// Corpus files lack our member, ids of their own, and sizes: what a person would add first.
fn as_layer(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    if value.get("type")? == "Feature" {
        value = json!({"type": "FeatureCollection", "features": [value]});
    } else if value.get("coordinates").is_some() || value.get("geometries").is_some() {
        let feature = json!({"type": "Feature", "properties": {}, "geometry": value});
        value = json!({"type": "FeatureCollection", "features": [feature]});
    }
    value.as_object_mut()?.insert("geofenced".into(), json!({"layer": "corpus", "version": 1}));
    for (i, feature) in value.get_mut("features")?.as_array_mut()?.iter_mut().enumerate() {
        let Some(feature) = feature.as_object_mut() else { continue };
        feature.insert("id".into(), json!(i));
        if let Some(props) = feature.get_mut("properties").and_then(Value::as_object_mut) {
            props.retain(|key, _| key != "name" && key != "tags");
            props.insert("radius_m".into(), json!(100));
            props.insert("width_m".into(), json!(50));
        }
    }
    serde_json::to_vec(&value).ok()
}

/// Asks every zone about the corners of its box, and the index about them.
fn use_layer(found: &Checked) {
    let zones = &found.layer.zones;
    let index = Index::build(zones.iter().map(|z| z.shape.bounds()));
    let mut near = Vec::new();
    for (id, zone) in (0..).zip(zones) {
        let b = zone.shape.bounds();
        let lon = if b.west > 180.0 { b.west - 360.0 } else { b.west };
        let corner = Position::new(b.south, lon).expect("a corner is a place");
        assert!(zone.shape.locate(corner).distance_m.is_finite(), "{}", zone.id);
        index.near(corner, 1.0, &mut near);
        assert!(near.contains(&id), "{}", zone.id);
    }
}

#[test]
fn corpus_zones_are_read_or_refused_with_reasons() {
    let root = corpus();
    let mut files = Vec::new();
    files_under(&root.join("zones"), &mut files);
    files_under(&root.join("cases"), &mut files);
    if files.is_empty() {
        println!("skipped: no corpus at {}", root.display());
        return;
    }
    println!("| file | zones | vertices | repairs | faults | ms | first fault |");
    println!("|---|---|---|---|---|---|---|");
    let mut accepted = 0;
    for path in &files {
        let bytes = bytes_of(path);
        // As it is: garbage, XML and plain GeoJSON alike must only be refused.
        assert!(parse_layer(&bytes, &Decide::default()).is_err(), "{}", path.display());
        let Some(layer) = as_layer(&bytes) else { continue };
        let (found, ms) = timed(&layer);
        let short = path.strip_prefix(&root).expect("found under it").display();
        match &found {
            Ok(found) => {
                accepted += 1;
                use_layer(found);
                let zones = &found.layer.zones;
                let vertices: usize = zones.iter().map(|z| z.shape.vertices()).sum();
                let repairs = found.repairs.len();
                println!("| {short} | {} | {vertices} | {repairs} | 0 | {ms} | |", zones.len());
            }
            Err(faults) => {
                let first: String = faults[0].to_string().chars().take(150).collect();
                println!("| {short} | - | - | - | {} | {ms} | {first} |", faults.len());
            }
        }
    }
    assert!(accepted > 50, "only {accepted} of {} were read", files.len());
}

#[expect(clippy::disallowed_methods, reason = "the table shows what reading costs")]
fn timed(layer: &[u8]) -> (Result<Checked, Vec<Fault>>, u128) {
    let start = std::time::Instant::now();
    let found = parse_layer(layer, &Decide::default());
    (found, start.elapsed().as_millis())
}
