//! `replay --jobs`: the command prints what it prints with one thread, byte for byte, and says and
//! returns the same, on recorded drives and on a made-up fleet, in every format.
//!
//! Always holds: nothing of the corpus is copied. Does not know: which events are right.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::json;

#[path = "field/chance.rs"]
mod chance;

use chance::Chance;

/// A directory of the corpus, where there is one.
fn corpus(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("GEOFENCED_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    let directory = root.join(part);
    let required = std::env::var_os("GEOFENCED_REQUIRE_CORPUS").is_some();
    assert!(directory.is_dir() || !required, "no corpus at {}", directory.display());
    directory.is_dir().then_some(directory)
}

/// Standard output, standard error and the exit code.
fn told(args: &[&str], input: &str) -> (String, String, i32) {
    let mut command = assert_cmd::Command::cargo_bin("geofenced").expect("the binary is built");
    let output = command.args(args).write_stdin(input).output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr), output.status.code().expect("it ends"))
}

/// One replay with one thread and with several. Gives what it printed.
fn check(args: &[&str], input: &str) -> String {
    let want = told(args, input);
    for jobs in ["1", "2", "3", "8"] {
        let mut with: Vec<&str> = vec!["replay", "--jobs", jobs];
        with.extend(&args[1..]);
        let got = told(&with, input);
        let differs = want.0.lines().zip(got.0.lines()).find(|(want, got)| want != got);
        assert_eq!(differs, None, "{with:?}");
        assert!(want == got, "{with:?}: {:?} against {:?}", (&want.1, want.2), (&got.1, got.2));
    }
    want.0
}

const FORMATS: [&[&str]; 5] = [
    &["--format", "jsonl"],
    &["--format", "cloudevents"],
    &["--format", "csv"],
    &["--print", "fixes"],
    &["--print", "fixes", "--format", "csv"],
];

/// Circles along a street.
fn zones(directory: &Path) -> String {
    let circle = |n: i32| {
        json!({
            "type": "Feature", "id": format!("z{n}"), "properties": {"radius_m": 60, "dwell": "30s"},
            "geometry": {"type": "Point", "coordinates": [11.0 + f64::from(n) * 0.002, 48.0]},
        })
    };
    let layer = json!({
        "type": "FeatureCollection", "features": (0..9).map(circle).collect::<Vec<_>>(),
        "geofenced": {"layer": "street", "version": 1, "created": "2026-11-30T00:00:00Z"},
    });
    let path = directory.join("street.geojson");
    std::fs::write(&path, layer.to_string()).expect("a temporary file");
    path.display().to_string()
}

/// Vans to and fro, some reports out of order, some lines that are none.
fn fleet(seed: u64, received: bool) -> String {
    let mut chance = Chance::new(seed);
    let mut csv = "asset,time,lat,lon,accuracy_m,received\n".to_owned();
    for n in 0..9_000_i64 {
        let van = chance.below(30);
        let at = 1_790_000_000_000 + n * 100 - chance.below(700).cast_signed();
        let along = (at % 10_000_000) as f64 * 1e-7 * (1.0 + van as f64 * 0.1);
        let lon = 11.0 + (along * 5.0 % 0.04 - 0.02).abs();
        let stamp = if received { format!("{}000000", at + 900) } else { String::new() };
        let lat = if chance.below(500) == 0 { 91.0 } else { 48.0 + chance.normal() * 3e-5 };
        let _ = writeln!(csv, "van-{van},{at}000000,{lat:.6},{lon:.6},4,{stamp}");
        if chance.below(900) == 0 {
            csv.push_str("van-1,yesterday,48,11,4,\n");
        }
    }
    csv
}

#[test]
fn inv_7_a_fleet_is_told_alike_by_any_number_of_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let zones = zones(directory.path());
    for (seed, received) in [(1, false), (2, true)] {
        for format in FORMATS {
            let args = [&["replay", "-", "--zones", &zones], format].concat();
            let printed = check(&args, &fleet(seed, received));
            let lines = printed.lines().count();
            assert!(lines > 50, "seed {seed}, {format:?}: {lines} lines");
        }
    }
}

/// What cannot be read at all ends a replay behind all that came before it.
#[test]
fn faults_of_the_input_are_told_alike_by_any_number_of_threads() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let zones = zones(directory.path());
    let args = ["replay", "-", "--zones", &zones];
    let cut = |text: &str| format!("{}\nvan-1,\"{}\"\n", text, "x".repeat(70_000));
    for (input, code) in [
        (String::new(), 65),
        ("asset,time,lat,lon\n".to_owned(), 65),
        ("asset,time,lat\n1,2,3\n".to_owned(), 65),
        ("asset,time,lat,lon\nvan,1,0,0\n".to_owned(), 65),
        (cut(&fleet(3, false)), 65),
        (fleet(4, false).replace("yesterday", "1790000000000000000"), 0),
    ] {
        check(&args, &input);
        let (.., got) = told(&args, &input);
        assert_eq!(got, code, "{}", input.chars().take(60).collect::<String>());
    }
}

#[test]
fn jobs_are_one_to_sixty_four() {
    for (jobs, code) in [("0", 64), ("65", 64), ("x", 64), ("64", 66)] {
        let args = ["replay", "nowhere", "--print", "fixes", "--jobs", jobs];
        assert_eq!(told(&args, "").2, code, "{jobs}");
    }
}

#[test]
fn inv_7_recorded_drives_are_told_alike_by_any_number_of_threads() {
    let Some(logs) = corpus("nmea") else { return };
    let drive = logs.join("genivi__20100403_Z205_Switzerland_full.nmea").display().to_string();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drive/switzerland.geojson");
    let own = own.display().to_string();
    let lines = told(&["replay", &drive, "--print", "fixes", "--format", "csv"], "").0;
    for format in [FORMATS[0], FORMATS[3]] {
        for inputs in [&[drive.as_str()][..], &["-"], &[&drive, "-"]] {
            let args = [&["replay"], inputs, &["--zones", &own], format].concat();
            let printed = check(&args, &lines);
            assert!(printed.lines().count() > 10, "{args:?}");
        }
    }
}
