//! `geofenced demo` as a stranger runs it: the real program with everything it starts.
//!
//! Always holds: it takes most of a minute and next to no processor time, so it is one test and
//! runs beside the others. Does not know: what the events say; the demo checks that itself.

use std::process::Command;

/// The issue's own bound for the demo, from its first line to its last.
const SECONDS_MAX: f64 = 60.0;

/// The seconds in front of the first line that has `part`.
fn second(text: &str, part: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(part));
    let line = line.unwrap_or_else(|| panic!("no line with `{part}` in\n{text}"));
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}

#[test]
fn the_demo_ends_well_by_itself_and_leaves_nothing() {
    let home = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_geofenced"))
        .arg("demo")
        .env("TMPDIR", home.path())
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}\n{talk}");
    assert!(talk.is_empty() && !text.contains('\x1b'), "{talk}");

    // The order of the plot.
    let plot = [
        "READY",
        "fence_initialised roads/town",
        "fence_entry depots/nord",
        "KILLED",
        "fence_dwell depots/nord",
        "fence_exit depots/nord",
        "fence_entry roads/ring-road",
        "fence_exit roads/ring-road",
        "fence_entry customers/0815",
        "fence_exit customers/0815",
        "stopped in order",
    ];
    let times: Vec<f64> = plot.iter().map(|part| second(&text, part)).collect();
    assert!(times.is_sorted() && times[plot.len() - 1] < SECONDS_MAX, "{times:?}\n{text}");
    let stop_s = times[plot.len() - 1] - second(&text, "then stops it with SIGTERM");
    assert!(stop_s < 3.0, "SIGTERM took {stop_s} s\n{text}");

    assert_eq!(text.matches("KILLED with kill -9").count(), 2, "{text}");
    assert_eq!(text.matches("  ok     ").count(), 5, "{text}");
    assert!(!text.contains("WRONG"), "{text}");
    for part in ["drops it by its id", "fence_exit customers/0815  at", ", inferred"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
    let left: Vec<_> = std::fs::read_dir(home.path()).expect("still there").collect();
    assert!(left.is_empty(), "{left:?}");
}
