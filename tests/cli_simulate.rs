//! `simulate` through the real binary, and its output through `replay`.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;

fn geofenced(args: &[&str], input: &[u8]) -> Output {
    let mut command = Command::cargo_bin("geofenced").unwrap();
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(args).write_stdin(input);
    command.output().unwrap()
}

/// What it writes, where it must do so without a word.
fn simulate(args: &[&str]) -> Vec<u8> {
    let out = geofenced(&[&["simulate"], args].concat(), b"");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!((out.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    out.stdout
}

const ZONES: [&str; 3] = ["zones/customers.geojson", "zones/depots.geojson", "zones/roads.geojson"];

/// Zone, side and time of everything in lines of JSON that has all three.
fn changes(lines: &[u8]) -> Vec<(String, bool, String)> {
    let lines = std::str::from_utf8(lines).unwrap().lines();
    let values = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let change = |value: Value| {
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        Some((text("zone")?, value["inside"].as_bool()?, text("at")?))
    };
    values.filter_map(change).collect()
}

/// Both formats give the crossings that the truth names, in its order, to a second. (The depots
/// have gaps that this drive passes in a second, where no three fixes can lie.)
#[test]
fn replay_finds_the_true_crossings() {
    let dir = tempfile::tempdir().unwrap();
    let truth = dir.path().join("truth");
    let zones = [ZONES[0], ZONES[2]];
    for format in ["nmea", "csv"] {
        let drive = simulate(
            &[
                &["--zones"],
                &zones[..],
                &[
                    "--seed",
                    "5",
                    "--rate",
                    "5",
                    "--format",
                    format,
                    "--truth",
                    truth.to_str().unwrap(),
                ],
            ]
            .concat(),
        );
        let out = geofenced(&[&["replay", "-", "--zones"], &zones[..]].concat(), &drive);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let (true_ones, found) = (changes(&std::fs::read(&truth).unwrap()), changes(&out.stdout));
        assert!(true_ones.len() >= 8, "{true_ones:?}");
        assert_eq!(true_ones.len(), found.len(), "{format}: {true_ones:?} {found:?}");
        for (wanted, found) in true_ones.iter().zip(&found) {
            let seconds = |time: &str| {
                let time: geofenced::units::EventTime = time.parse().unwrap();
                time.nanos() as f64 / 1e9
            };
            let off_s = (seconds(&wanted.2) - seconds(&found.2)).abs();
            assert!(
                (&wanted.0, wanted.1) == (&found.0, found.1) && off_s < 1.0,
                "{format}: {wanted:?} {found:?}"
            );
        }
    }
}

/// INV-7: the same seed gives the same bytes, on every machine; another seed, others.
#[test]
fn inv_7_a_seed_gives_its_bytes() {
    for (scenario, digest) in [
        ("open-sky", 3_629_630_162_722_442_799),
        ("urban", 7_430_582_202_303_485_061),
        ("parked", 5_119_000_414_659_908_257),
        ("creeping", 13_306_418_856_559_094_600),
        ("stop-and-go", 17_710_321_720_848_689_974),
        ("tunnel", 15_016_031_449_646_090_852),
        ("clock", 14_562_178_092_225_830_773),
    ] {
        let bytes = |seed| simulate(&["--scenario", scenario, "--seed", seed]);
        let own = bytes("1");
        assert_ne!(own, bytes("2"), "{scenario}");
        assert_eq!(geofenced::logic::hash::short(&own), digest, "{scenario}");
    }
}

/// Every scenario is a drive that `replay` reads to its end, in both formats.
#[test]
fn every_scenario_replays() {
    for (scenario, told) in [
        ("urban", ""),
        ("parked", ""),
        ("creeping", ""),
        ("stop-and-go", ""),
        ("tunnel", " no_position"),
        ("clock", " late"),
    ] {
        for format in ["nmea", "csv"] {
            let drive = simulate(&["--scenario", scenario, "--minutes", "30", "--format", format]);
            let out = geofenced(&[&["replay", "-", "--zones"], &ZONES[..]].concat(), &drive);
            let said = String::from_utf8(out.stderr).unwrap();
            assert_eq!(out.status.code(), Some(0), "{scenario} {format}: {said}");
            assert!(said.contains(told), "{scenario} {format}: {said}");
            assert!(!out.stdout.is_empty(), "{scenario} {format}");
        }
    }
}

#[test]
fn files_hold_what_standard_output_would() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("drive.csv");
    let args = ["--zones", ZONES[1], "--format", "csv", "--asset", "van,1", "--minutes", "2"];
    let written = simulate(&[&args[..], &["-o", file.to_str().unwrap()]].concat());
    assert!(written.is_empty());
    let own = std::fs::read(&file).unwrap();
    assert_eq!(own, simulate(&args));
    let text = String::from_utf8(own).unwrap();
    let header = "asset,time,lat,lon,accuracy_m,speed_mps,heading_deg\n";
    assert!(text.starts_with(&format!("{header}\"van,1\",2026-11-30T12:00:00Z,48.1")), "{text}");
    assert_eq!(text.lines().count(), 1 + 121);
}

#[test]
fn what_cannot_be_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("no/file");
    let there = there.to_str().unwrap();
    let empty = dir.path().join("e.geojson");
    let layer =
        r#"{"type":"FeatureCollection","geofenced":{"layer":"l","version":1},"features":[]}"#;
    std::fs::write(&empty, layer).unwrap();
    for (args, exit, told) in [
        (&["--rate", "99"][..], 64, "0.01 to 25 Hz"),
        (&["--rate", "NaN"], 64, "0.01 to 25 Hz"),
        (&["--minutes", "0"], 64, "1..=10080"),
        (&["--scenario", "moon"], 64, "open-sky"),
        (&["--asset", "a/b"], 64, "separates"),
        (&["--zones", "no.geojson"], 66, "no.geojson"),
        (&["--zones", "Cargo.toml"], 65, "Cargo.toml"),
        (&["--zones", empty.to_str().unwrap()], 65, "no zone"),
        (&["-o", there], 75, "cannot write"),
        (&["--truth", there], 75, "cannot write"),
    ] {
        let out = geofenced(&[&["simulate"], args].concat(), b"");
        let said = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(exit), "{args:?}: {said}");
        assert!(said.contains(told), "{args:?}: {said}");
        assert!(out.stdout.is_empty(), "{args:?}");
    }
    assert!(!Path::new(there).exists());
}
