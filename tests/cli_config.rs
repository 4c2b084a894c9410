//! `config check`, `config show` and the command line's conventions, through the real binary:
//! what is said, on which stream, with which exit code. Nothing is ever changed by them.

#![expect(clippy::unwrap_used, reason = "a test ends at the first thing that is not as expected")]

use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;

/// Enough to run.
const CORE: &str = "[gateway]\nid = \"gw-1\"\n[[source]]\nkind = \"serial\"\npath = \"/dev/x\"\n\
                    [zones]\nfiles = [\"z.geojson\"]\n[uplink]\nurl = \"https://h/v1\"\n";

fn geofenced(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("geofenced").unwrap();
    command.current_dir(dir).args(args).env_remove("CREDENTIALS_DIRECTORY").output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    dir
}

/// `config check c.toml` of this text ends with this code and these lines on standard error.
fn check(config: &[u8], exit: i32, expected: &[&str]) {
    let dir = folder(&[("c.toml", config)]);
    let out = geofenced(dir.path(), &["config", "check", "c.toml"]);
    let lines: Vec<String> = expected.iter().map(|line| format!("geofenced: {line}\n")).collect();
    assert_eq!(text(&out.stderr), lines.concat());
    assert_eq!(out.status.code(), Some(exit));
    assert_eq!(out.stdout.is_empty(), exit != 0, "data only when it is right");
}

/// The core with one more piece of text.
fn with(more: &str) -> Vec<u8> {
    format!("{CORE}{more}").into_bytes()
}

#[test]
fn a_good_config_is_said_to_be_good() {
    // A machine that has the directories for the store and the socket.
    let places = "state_dir = \".\"\n[control]\nsocket = \"./s\"\n[[source]]";
    let core = CORE.replace("[[source]]", places);
    let layer =
        br#"{"type":"FeatureCollection","geofenced":{"layer":"l","version":1},"features":[]}"#;
    let warning = "geofenced: warning: `run` would not start on this machine: ";
    for (files, told) in [
        (vec![("c.toml", core.as_bytes()), ("z.geojson", layer.as_slice())], String::new()),
        (vec![("c.toml", core.as_bytes())], format!("{warning}`z.geojson` does not exist\n")),
        (
            vec![("c.toml", core.as_bytes()), ("z.geojson", b"[]")],
            format!("{warning}z.geojson: refused\n"),
        ),
    ] {
        let dir = folder(&files);
        let out = geofenced(dir.path(), &["config", "check", "c.toml"]);
        assert_eq!(
            text(&out.stdout),
            "c.toml\nok: gateway gw-1, source gnss (serial), uplink https://h/v1\n"
        );
        let stderr = text(&out.stderr);
        assert!(stderr.starts_with(&told) && stderr.is_empty() == told.is_empty(), "{stderr}");
        assert_eq!(out.status.code(), Some(0));
    }
}

#[test]
fn a_bad_config_is_told_with_its_place_and_ends_with_78() {
    for (more, line) in [
        ("batch = 1", "c.toml:10:1: uplink.batch: unknown key; did you mean `batch_max`?"),
        (
            "[decide]\nconfirm_fro = \"2s\"",
            "c.toml:11:1: decide.confirm_fro: unknown key; did you mean `confirm_for`?",
        ),
        (
            "linger = \"2m\"",
            "c.toml:10:10: uplink.linger: \"2m\": a bare `m` is not a unit; write \"2min\" for minutes or \"2ms\" for milliseconds",
        ),
        (
            "token = \"hunter2\"",
            "c.toml:10:1: uplink.token: a secret does not belong in a config; put it in a file of its own and name it: token_file = \"$CREDENTIALS_DIRECTORY/…\"",
        ),
        (
            "[[source]]\nname = \"t\"\nkind = \"tcp\"\naddress = \"h:0\"\nrank = 2",
            "c.toml:13:11: source t.address: \"0\" is not a port; a port is 1 to 65535",
        ),
        (
            "[decide]\nexit_margin_m = -1\n",
            "c.toml:11:17: decide.exit_margin_m: -1 is out of range; write a number of 0 or more",
        ),
    ] {
        check(&with(more), 78, &[line]);
    }
}

#[test]
fn every_fault_is_listed() {
    check(
        b"[spool]\nmax_age = 90\n",
        78,
        &[
            "c.toml:2:11: spool.max_age: 90 is not text; a duration is text with its unit, such as \"2s\"",
            "c.toml: gateway.id: is missing; write id = \"gw-004711\" under [gateway], or id_file = \"…\"; it is never guessed",
            "c.toml: source: there is none; add [[source]] with kind = \"serial\" and path = \"/dev/serial/by-id/…\"",
            "c.toml: zones: is missing; add [zones] with files = [\"/etc/geofenced/zones/*.geojson\"]",
        ],
    );
}

#[test]
fn what_is_not_text_is_told() {
    check(b"a = 1\nb = \"\xff\"\n", 78, &["c.toml:2: is not UTF-8 text; save it as UTF-8"]);
    let large = vec![b'#'; (1 << 20) + 1];
    check(&large, 78, &["c.toml: is 1048577 bytes long; a config has at most 1 MiB"]);
}

#[test]
fn a_file_that_is_not_there_is_66() {
    let dir = folder(&[]);
    for args in [&["config", "check", "c.toml"], &["config", "check", "--config=c.toml"]] {
        let out = geofenced(dir.path(), args);
        assert_eq!(text(&out.stderr), "geofenced: cannot read c.toml: No such file or directory\n");
        assert_eq!(out.status.code(), Some(66));
    }
}

/// `--config FILE` reads the conf.d beside it, in the order of the names, later wins.
#[test]
fn show_says_who_set_what() {
    let dir = folder(&[
        ("c.toml", CORE.as_bytes()),
        ("conf.d/20-b.toml", b"[decide]\nconfirm = 7\n"),
        ("conf.d/10-a.toml", b"[decide]\nconfirm = 5\nexit_margin_m = 12.5\n"),
        ("conf.d/README", b"not = a [config"),
    ]);
    let out = geofenced(dir.path(), &["config", "show", "--origin", "--config", "c.toml"]);
    assert_eq!(text(&out.stderr), "");
    let shown = text(&out.stdout);
    for (line, origin) in [
        ("id = \"gw-1\"", "c.toml:2"),
        ("confirm = 7", "conf.d/20-b.toml:2"),
        ("exit_margin_m = 12.5", "conf.d/10-a.toml:3"),
        ("confirm_for = \"2s\"", "default"),
    ] {
        let found = shown.lines().find(|l| l.starts_with(line)).unwrap();
        assert_eq!(found.split(" # ").nth(1), Some(origin), "{found}");
    }
    // What is shown is itself a config.
    let again = folder(&[("c.toml", shown.as_bytes())]);
    let out = geofenced(again.path(), &["config", "check", "c.toml"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
}

#[test]
fn the_command_line_is_checked_with_64() {
    let dir = folder(&[]);
    for args in [
        &[][..],
        &["dance"],
        &["config"],
        &["config", "check", "--origin"],
        &["replay"],
        &["zones", "check"],
        &["events", "--since", "yesterday"],
        &["events", "-n", "0"],
        &["events", "-n", "10001"],
        &["replay", "x", "--floor", "2010"],
        &["config", "check", "a.toml", "--config", "b.toml"],
    ] {
        let out = geofenced(dir.path(), args);
        assert_eq!(out.status.code(), Some(64), "{args:?}");
        assert!(out.stdout.is_empty() && !out.stderr.is_empty(), "{args:?}");
    }
    for args in [&["--version"][..], &["--help"], &["config", "show", "--help"]] {
        let out = geofenced(dir.path(), args);
        assert_eq!((out.status.code(), out.stderr.len()), (Some(0), 0), "{args:?}");
        assert!(!out.stdout.is_empty(), "{args:?}");
    }
}

/// A reader that goes away is no fault; a disk that is full is one.
#[test]
fn standard_output_may_close_but_not_fail() {
    let dir = folder(&[("c.toml", CORE.as_bytes())]);
    for (to, exit) in [("| true; exit ${PIPESTATUS[0]}", 0), ("> /dev/full", 75)] {
        let bin = assert_cmd::cargo::cargo_bin("geofenced");
        let line = format!("'{}' config show --config c.toml {to}", bin.display());
        let mut bash = std::process::Command::new("bash");
        let out = bash.current_dir(dir.path()).args(["-c", &line]).output().unwrap();
        assert_eq!(out.status.code(), Some(exit), "{to}: {}", text(&out.stderr));
    }
}

const ZONES: &str = r#"{"type":"FeatureCollection","geofenced":{"layer":"a","version":1},"features":
    [{"type":"Feature","id":"z","properties":{"radius_m":50},
      "geometry":{"type":"Point","coordinates":[11,48]}}]}"#;
const NMEA: &str = "$GPRMC,120000.00,V,,,,,,,301126,,,N*7A\r\n";
const CSV: &str = "asset,time,lat,lon\na,2026-11-30T12:00:00Z,48.5,11\n";

/// A line without an end is refused, not kept: in CSV, where nothing after it can be trusted, and
/// in JSON lines, where it is one bad line whatever lies in it. What comes in pieces is known.
#[test]
fn a_replay_keeps_no_line_longer_than_a_record() {
    let row = r#"{"asset":"a","time":"2026-11-30T12:00:00Z","lat":48.5,"lon":11}"#;
    let long = format!(r#"{{"x":"{:16384}{row}"#, "");
    let json = format!("{row}\n{long}\n{{}}\n");
    let dir = folder(&[("a.jsonl", json.as_bytes())]);
    let bin = assert_cmd::cargo::cargo_bin("geofenced");
    let head = "printf 'asset,time,lat,lon\\n'";
    for (input, exit, fixes, parts) in [
        (
            format!("({head}; head -c 64M /dev/zero)"),
            65,
            0,
            &["-:2: a line is longer than 16384 bytes"][..],
        ),
        ("cat a.jsonl".to_owned(), 65, 1, &["-:2: ", "bytes long", "2 lines could not"]),
        (
            "(printf 'asset,ti'; sleep 0.2; printf 'me,lat,lon\\na,2026-11-30T12:00:00Z,48,11\\n')"
                .to_owned(),
            0,
            1,
            &[],
        ),
    ] {
        let line = format!("{input} | '{}' replay - --print fixes", bin.display());
        let mut bash = std::process::Command::new("bash");
        let out = bash.current_dir(dir.path()).args(["-c", &line]).output().unwrap();
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(exit), "{input}: {said}");
        assert_eq!(text(&out.stdout).lines().count(), fixes, "{input}");
        assert!(parts.iter().all(|part| said.contains(part)), "{input}: {said}");
    }
}

/// A pipe or a device has no end that can be counted on.
#[test]
fn a_config_or_a_layer_that_is_no_file_is_refused_at_once() {
    let dir = folder(&[("far.csv", CSV.as_bytes())]);
    assert!(
        std::process::Command::new("mkfifo").arg(dir.path().join("p")).status().unwrap().success()
    );
    for (args, exit) in [
        (&["config", "check", "p"][..], 66),
        (&["config", "check", "/dev/zero"], 66),
        (&["zones", "check", "p"], 65),
        (&["replay", "far.csv", "--zones", "p"], 65),
    ] {
        let out = geofenced(dir.path(), args);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(exit), "{args:?}: {said}");
        assert!(said.contains("not a regular file"), "{args:?}: {said}");
    }
}

/// A replay that decides nothing says why, and one without any fix is bad data.
#[test]
fn a_replay_of_nothing_says_so() {
    let dir = folder(&[
        ("z.geojson", ZONES.as_bytes()),
        ("void.nmea", NMEA.as_bytes()),
        ("far.csv", CSV.as_bytes()),
        ("empty", b""),
    ]);
    let wrong = "no INPUT is given; inputs go before --zones";
    for (args, exit, part) in [
        (&["replay", "void.nmea", "--zones", "z.geojson"][..], 65, "no usable fix in the input: "),
        (&["replay", "empty", "--print", "fixes"], 65, "nothing in it gives a position"),
        (&["replay", "far.csv", "--zones", "z.geojson"], 0, "1 usable fixes, 0 events"),
        (&["replay", "--zones", "z.geojson", "far.csv"], 64, wrong),
        (
            &["replay", "empty", "--zones", "z.geojson", "void.nmea"],
            65,
            "void.nmea is a recording: inputs go before --zones",
        ),
        (&["replay", "empty", "--zones", "far.csv"], 65, "far.csv is a recording"),
    ] {
        let out = geofenced(dir.path(), args);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(exit), "{args:?}: {said}");
        assert!(said.contains(part), "{args:?}: {said}");
    }
    let out = geofenced(dir.path(), &["replay", "far.csv", "--print", "fixes"]);
    assert_eq!((text(&out.stderr).as_str(), out.status.code()), ("", Some(0)));
}

/// A segment: its header, and a tracker's records of some seconds.
fn segment(boot_id: &str, seconds: std::ops::Range<u32>) -> String {
    let header = serde_json::json!({
        "geofenced_record": 1, "software": "geofenced 0.1.0", "boot_id": boot_id, "at": 0,
        "wall": "2026-11-30T12:00:00Z", "lost": 0,
        "sources": [{"id": "t", "feed": "records", "asset": "a", "checksum": "required",
            "interval": 1_000_000_000, "window": 0, "trusting": "fixes", "rank": 1}],
    });
    let entry = |second: u32| {
        let time = format!("2026-11-30T12:00:{second:02}Z");
        let record = serde_json::json!({"asset": "a", "time": time, "lat": 48.5, "lon": 11});
        let at = u64::from(second) * 1_000_000_000;
        serde_json::json!({"at": at, "source": 0, "text": format!("{record}\n")}).to_string()
    };
    // The header's mark comes first: it is what a record is known by.
    let header = header.to_string().replace(r#""geofenced_record":1,"#, "");
    let header = header.replacen('{', r#"{"geofenced_record":1,"#, 1);
    let lines: Vec<String> = [header].into_iter().chain(seconds.map(entry)).collect();
    lines.join("\n") + "\n"
}

/// Segments in name order, whichever way they are given; what a power cut tore is said and no
/// fault; those of two boots are refused.
#[test]
fn a_replay_of_segments() {
    let (first, second) = (segment("one", 0..3), segment("one", 3..6));
    let cut = |text: &str, bytes: usize| text.as_bytes()[..bytes].to_vec();
    let torn = cut(&second, second.len() - 20);
    let midway = second.replacen("lat", "lat\n", 1);
    let lost = format!("{first}{{\"at\":9,\"source\":0,\"lost\":7}}\n");
    let full = first.replacen("\"lost\":0", "\"lost\":5", 1);
    let name = |number: u32| format!("geofenced-00000001-{number:08}.record");
    let files = [
        (name(1), first.clone().into_bytes()),
        (name(2), second.clone().into_bytes()),
        (name(3), torn),
        (name(4), cut(&second, 9)),
        (name(5), vec![0; 5000]),
        (name(6), cut(&second, 60)),
        (name(7), segment("two", 3..6).into_bytes()),
        (name(8), midway.into_bytes()),
        (name(9), lost.into_bytes()),
        (name(10), b"asset,time,lat,lon\nvan,2026-01-01T00:00:00Z,48,11\n".to_vec()),
        (name(11), full.into_bytes()),
    ];
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    let dir = folder(&files);
    for (inputs, exit, fixes, part) in [
        (&[1, 2][..], 0, 6, ""),
        (&[2, 1], 0, 6, ""),
        (&[1, 3], 0, 5, "00003.record:4: the record breaks off within this line"),
        (&[3, 1], 0, 5, "00003.record:4: the record breaks off"),
        (&[1, 4], 0, 3, "00004.record:1: the record breaks off"),
        (&[1, 5], 0, 3, "00005.record:1: the record breaks off"),
        (&[1, 6], 0, 3, "00006.record:1: the record breaks off"),
        (&[1, 7], 65, 3, "00007.record:1: it is of another boot than the record before it"),
        (&[7], 0, 3, ""),
        (&[1, 8], 65, 3, "00008.record:2: "),
        (&[11], 0, 3, "00011.record:1: it begins after 5 entries that had no room"),
        (&[1, 10], 65, 3, "00010.record follows a record; a record is replayed alone"),
        (&[9], 0, 3, "00009.record:5: 7 entries are missing here"),
    ] {
        let names: Vec<String> = inputs.iter().map(|number| name(*number)).collect();
        let names = names.iter().map(String::as_str);
        let args: Vec<&str> = ["replay", "--print", "fixes"].into_iter().chain(names).collect();
        let out = geofenced(dir.path(), &args);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(exit), "{inputs:?}: {said}");
        assert_eq!(text(&out.stdout).lines().count(), fixes, "{inputs:?}: {said}");
        assert!(said.contains(part) && said.is_empty() == part.is_empty(), "{inputs:?}: {said}");
    }
}

/// Segments need room for a few.
#[test]
fn a_record_directory_needs_a_mebibyte() {
    let record = |size: &str| format!("{CORE}[record]\ndir = \"/r\"\nmax_bytes = \"{size}\"\n");
    let fault = "c.toml:12:13: record.max_bytes: is too little for the files in `dir`; write at least \"1MiB\"";
    check(record("1023KiB").as_bytes(), 78, &[fault]);
    let dir = folder(&[("c.toml", record("1MiB").as_bytes())]);
    assert_eq!(geofenced(dir.path(), &["config", "check", "c.toml"]).status.code(), Some(0));
}
