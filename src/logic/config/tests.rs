//! Config: what is refused, with which words; what is accepted, and as what.

use std::collections::BTreeMap;

use super::merge::merge;
use super::*;
use crate::units::Span;

/// Enough to run.
const CORE: &str = r#"[gateway]
id = "gw-1"
[[source]]
kind = "serial"
path = "/dev/ttyACM0"
[zones]
files = ["z.geojson"]
[uplink]
url = "https://fleet.example/v1/events"
"#;

fn files(texts: &[&str]) -> Vec<ConfigFile> {
    let name = |i: usize| format!("{}.toml", ["a", "b", "c"][i]);
    texts.iter().enumerate().map(|(i, text)| ConfigFile::new(name(i), *text)).collect()
}

fn good(texts: &[&str]) -> Loaded {
    match load(&files(texts), &Env::new()) {
        Ok(loaded) => loaded,
        Err(faults) => panic!("{faults:#?}"),
    }
}

/// Every fault of these files, as printed.
fn faults(texts: &[&str]) -> Vec<String> {
    match load(&files(texts), &Env::new()) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// The core and one more file give exactly this one fault.
fn check(text: &str, expected: &str) {
    assert_eq!(faults(&[CORE, text]), [expected], "{text}");
}

#[test]
fn five_lines_are_enough() {
    let loaded = good(&[CORE]);
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.unsupported(), []);
    assert_eq!(loaded.config.decide, Decide::default());
    let source = &loaded.config.sources[0];
    assert_eq!(source.input, Input::Serial { path: "/dev/ttyACM0".into(), baud: None });
    assert_eq!((source.name.as_str(), source.rank), ("gnss", 1));
    assert_eq!(source.interval, Span::from_secs(1));
    assert!(!source.interval_declared);
    assert_eq!(loaded.config.spool.max_bytes, 64 << 20);
    assert_eq!(loaded.config.flash.heartbeat, Span::from_secs(900));
}

#[test]
fn every_default_fits_its_shape() {
    for key in schema::KEYS {
        if let Some(default) = key.default {
            let value = build::default_value(key.shape, default);
            let rendered = toml::de::DeValue::parse(&value::write(&value))
                .map(|v| value::read(key.shape, v.get_ref(), &Env::new()));
            assert_eq!(rendered, Ok(Ok(value)), "{}.{}", key.section, key.name);
        }
    }
}

#[test]
fn a_bad_value_is_told_with_place_and_remedy() {
    for (text, expected) in [
        (
            "[decide]\nconfirm = 0",
            "b.toml:2:11: decide.confirm: 0 is out of range; write a whole number from 1 to 31",
        ),
        (
            "[decide]\nconfirm = 32",
            "b.toml:2:11: decide.confirm: 32 is out of range; write a whole number from 1 to 31",
        ),
        (
            "[decide]\nconfirm = \"3\"",
            "b.toml:2:11: decide.confirm: \"3\" is not a whole number; write a whole number from 1 to 31",
        ),
        (
            "[decide]\nexit_margin_m = -1",
            "b.toml:2:17: decide.exit_margin_m: -1 is out of range; write a number of 0 or more",
        ),
        (
            "[decide]\nexit_margin_m = inf",
            "b.toml:2:17: decide.exit_margin_m: inf is out of range; write a number of 0 or more",
        ),
        (
            "[decide]\nmax_speed_mps = 0",
            "b.toml:2:17: decide.max_speed_mps: 0 is out of range; write a number above 0",
        ),
        (
            "decide.stale_after = '5m'",
            "b.toml:1:22: decide.stale_after: \"5m\": a bare `m` is not a unit; write \"5min\" for minutes or \"5ms\" for milliseconds",
        ),
        (
            "[decide]\nstale_after = 300",
            "b.toml:2:15: decide.stale_after: 300 is not text; a duration is text with its unit, such as \"2s\"",
        ),
        (
            "[decide]\ninfer_limit = \"soon\"",
            "b.toml:2:15: decide.infer_limit: \"soon\" is not a duration; write a number and a unit, such as \"500ms\", \"2s\", \"15min\", \"24h\", \"90d\", or \"auto\"",
        ),
        (
            "[spool]\nmax_bytes = \"64MB\"",
            "b.toml:2:13: spool.max_bytes: \"64MB\" is not a size; write \"64MiB\"",
        ),
        (
            "[spool]\nmax_bytes = 64",
            "b.toml:2:13: spool.max_bytes: 64 is not text; a size is text with its unit, such as \"64MiB\"",
        ),
        (
            "[flash]\ncommit_every = \"0s\"",
            "b.toml:2:16: flash.commit_every: \"0s\" is too short; it is at least \"100ms\"",
        ),
        (
            "[time]\nfloor = \"2026-01-01\"",
            "b.toml:2:9: time.floor: \"2026-01-01\" is not a time; write it as \"2026-01-01T00:00:00Z\"",
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn a_bad_text_is_told_with_place_and_remedy() {
    for (text, expected) in [
        (
            "[uplink]\nurl = \"fleet.example\"",
            "b.toml:2:7: uplink.url: \"fleet.example\" is not a URL; write it as https://host/path",
        ),
        (
            "[uplink]\nurl = \"https:///x\"",
            "b.toml:2:7: uplink.url: \"https:///x\" is not a URL: it has no host; write it as https://host/path",
        ),
        (
            "[uplink]\nurl = \"https://h:99999/x\"",
            "b.toml:2:7: uplink.url: \"99999\" is not a port; a port is 1 to 65535",
        ),
        (
            "[uplink]\nurl = \"https://u:secret@h/x\"",
            "b.toml:2:7: uplink.url: the URL carries a user name or password; secrets come by file: use token_file",
        ),
        (
            "[uplink]\nurl = \"ftp://h/x\"",
            "b.toml:2:7: uplink.url: \"ftp\" is not a scheme for this; use one of https, http, mqtts, mqtt",
        ),
        (
            "[uplink]\ntoken_file = \"$HOME/token\"",
            "b.toml:2:14: uplink.token_file: $HOME is not expanded; write the path out; only $CREDENTIALS_DIRECTORY is known",
        ),
        (
            "[events]\nposition = \"all\"",
            "b.toml:2:12: events.position: \"all\" is not known; it is one of \"none\", \"crossing\", \"crossing+fix\"",
        ),
        (
            "[events]\nlate_fix = \"yes\"",
            "b.toml:2:12: events.late_fix: \"yes\" is not true or false; write true or false",
        ),
        (
            "[zones]\nfiles = \"z.geojson\"",
            "b.toml:2:9: zones.files: \"z.geojson\" is not a list; write a list of texts: [\"…\", \"…\"]",
        ),
        (
            "config_version = 2",
            "b.toml:1:18: config_version: 2 is out of range; this release knows only 1",
        ),
        (
            "[gateway]\nid = \"a/b\"",
            "b.toml:2:6: gateway.id: `a/b` cannot be an id: `/` separates layer from zone; an id is 1 to 128 bytes of printable text without /",
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn an_unknown_key_gets_the_nearest_right_one() {
    for (text, expected) in [
        (
            "[decide]\nconfrim = 3",
            "b.toml:2:1: decide.confrim: unknown key; did you mean `confirm`?",
        ),
        (
            "[decide]\nexit_margin = 3",
            "b.toml:2:1: decide.exit_margin: unknown key; did you mean `exit_margin_m`?",
        ),
        (
            "[gateway]\nconfirm = 3",
            "b.toml:2:1: gateway.confirm: unknown key; `confirm` belongs to [decide]",
        ),
        ("baud = 9600", "b.toml:1:1: baud: unknown key; `baud` belongs to [[source]]"),
        ("[sources]\n", "b.toml:1:2: sources: unknown section; did you mean [[source]]?"),
        ("[uplnk]\n", "b.toml:1:2: uplnk: unknown section; did you mean [uplink]?"),
        (
            "[source]\nkind = \"file\"",
            "b.toml:1:2: source: is one table; write [[source]], with two brackets",
        ),
        ("decide = 3", "b.toml:1:1: decide: is not a table; write [decide] and its keys below"),
        (
            "[spool]\nqqqqqqqq = 3",
            "b.toml:2:1: spool.qqqqqqqq: unknown key; the keys here are max_bytes, max_age",
        ),
        (
            "[uplink]\ntoken = \"hunter2\"",
            "b.toml:2:1: uplink.token: a secret does not belong in a config; put it in a file of its own and name it: token_file = \"$CREDENTIALS_DIRECTORY/…\"",
        ),
    ] {
        check(text, expected);
    }
}

#[test]
fn a_source_says_what_it_lacks() {
    for (text, expected) in [
        (
            "kind = \"seriell\"",
            "b.toml:2:8: source s.kind: \"seriell\" is not known; it is one of \"serial\", \"gpsd\", \"tcp\", \"udp\", \"jsonl\", \"file\"",
        ),
        (
            "rank = 2",
            "b.toml:1:1: source s.kind: is missing; write kind = \"serial\"; there are serial, gpsd, tcp, udp, jsonl, file",
        ),
        (
            "kind = \"tcp\"",
            "b.toml:1:1: source s.address: is missing for kind = \"tcp\"; write address = \"192.0.2.1:5017\"",
        ),
        (
            "kind = \"udp\"",
            "b.toml:1:1: source s.address: is missing for kind = \"udp\"; write address = \"0.0.0.0:10110\"",
        ),
        (
            "kind = \"jsonl\"",
            "b.toml:1:1: source s.path: is missing for kind = \"jsonl\"; write path = \"/run/geofenced/trackers.sock\"",
        ),
        (
            "kind = \"jsonl\"\npath = \"/t\"\naddress = \"127.0.0.1:99\"",
            "b.toml:3:8: source s.path: stands beside address; leave one of `address` and `path` out; each source has one place",
        ),
        (
            "kind = \"jsonl\"\naddress = \"5017\"",
            "b.toml:3:11: source s.address: \"5017\" is not an address: it has no port; write \"host:port\", such as \"127.0.0.1:2947\"",
        ),
        (
            "kind = \"serial\"",
            "b.toml:1:1: source s.path: is missing for kind = \"serial\"; write path = \"/dev/serial/by-id/…\"",
        ),
        (
            "kind = \"serial\"\npath = \"/dev/x\"\nbaud = \"fast\"",
            "b.toml:4:8: source s.baud: \"fast\" is not a baud rate; write a number such as 9600 or 115200, or \"auto\"",
        ),
        (
            "kind = \"tcp\"\naddress = \"h:99999\"",
            "b.toml:3:11: source s.address: \"99999\" is not a port; a port is 1 to 65535",
        ),
        (
            "kind = \"tcp\"\naddress = \"h\"",
            "b.toml:3:11: source s.address: \"h\" is not an address: it has no port; write \"host:port\", such as \"127.0.0.1:2947\"",
        ),
        (
            "kind = \"tcp\"\naddress = \"::1:5\"",
            "b.toml:3:11: source s.address: \"::1:5\" is not an address; an IPv6 number stands in brackets: \"[::1]:2947\"",
        ),
        (
            "kind = \"file\"\npath = \"-\"\ntrust = \"all\"",
            "b.toml:4:9: source s.trust: \"all\" is not known; the only value is \"fixes\"",
        ),
        (
            "kind = \"file\"\npath = \"-\"\ninterval = \"25h\"",
            "b.toml:4:12: source s.interval: is longer than a day; write at most \"24h\"",
        ),
    ] {
        check(&format!("[[source]]\n{text}\nname = \"s\"\nasset = \"other\""), expected);
    }
}

/// ORD-4: two sources of one asset have two ranks.
#[test]
fn ord_4_unranked_sources_of_one_asset_are_refused() {
    let second = |more: &str| {
        faults(&[CORE, &format!("[[source]]\nname = \"b\"\nkind = \"file\"\npath = \"-\"\n{more}")])
    };
    assert_eq!(
        second(""),
        [
            "b.toml:1:1: source b.rank: gnss and b locate one asset with one rank; give the standby rank = 2, or another `asset`"
        ]
    );
    assert_eq!(second("rank = 2"), [""; 0]);
    assert_eq!(second("asset = \"trailer\""), [""; 0]);
    assert_eq!(second("asset = \"gw-1\"").len(), 1);
    // A recording's clock says nothing about a live receiver that has lapsed.
    assert_eq!(
        second("rank = 2\ntrust = \"fixes\""),
        [
            "b.toml:6:9: source b.trust: gnss and b locate one asset by two clocks; give both trust = \"fixes\" or neither, or another `asset`"
        ]
    );
}

#[test]
fn sources_are_merged_by_name() {
    let loaded = good(&[CORE, "[[source]]\nbaud = 9600\n"]);
    assert_eq!(loaded.config.sources.len(), 1);
    assert_eq!(
        loaded.config.sources[0].input,
        Input::Serial { path: "/dev/ttyACM0".into(), baud: Some(9600) }
    );
    let twice = "[[source]]\nbaud = 9600\n[[source]]\nname = \"gnss\"\n";
    check(
        twice,
        "b.toml:4:8: source.name: two sources of one file are named \"gnss\"; give each a `name` of its own",
    );
}

#[test]
fn later_files_win_key_by_key_and_origins_say_so() {
    let loaded = good(&[CORE, "[decide]\nconfirm = 5\nexit_margin_m = 20\n", "decide.confirm = 7"]);
    assert_eq!(loaded.config.decide.confirm, 7);
    assert_eq!(loaded.config.decide.exit_margin_m, 20.0);
    let text = loaded.show(true);
    for line in ["confirm = 7", "exit_margin_m = 20", "confirm_for = \"2s\"", "id = \"gw-1\""] {
        assert_eq!(text.lines().filter(|l| l.starts_with(line)).count(), 1, "{line}\n{text}");
    }
    let origin = |start: &str| {
        let line = text.lines().find(|l| l.starts_with(start)).unwrap();
        line.rsplit(" # ").next().unwrap().to_owned()
    };
    assert_eq!(origin("confirm = "), "c.toml:1");
    assert_eq!(origin("exit_margin_m"), "b.toml:3");
    assert_eq!(origin("confirm_for"), "default");
    assert_eq!(origin("id"), "a.toml:2");
}

#[test]
fn what_is_shown_reads_back_the_same() {
    let more = r#"
[gateway]
asset = "van \"7\""
[[source]]
name = "spare"
kind = "gpsd"
rank = 2
device = "/dev/ttyUSB1"
interval = "1h 30min"
[decide]
vote_timeout = "6h"
infer_limit = "3600s"
accuracy_cap_m = 12.5
[time]
floor = 2026-01-01T00:00:00Z
[zones]
files = [
  "a", # one
  'b\c',
]
[spool]
max_age = "36h"
"#;
    let loaded = good(&[CORE, more]);
    for origin in [false, true] {
        // A default that was shown becomes a value that was given.
        let again = load(&files(&[&loaded.show(origin)]), &Env::new()).unwrap();
        let mut config = again.config.clone();
        for (ours, theirs) in config.sources.iter_mut().zip(&loaded.config.sources) {
            ours.interval_declared = theirs.interval_declared;
        }
        assert_eq!(config, loaded.config);
        assert_eq!(again.show(false), loaded.show(false));
    }
}

#[test]
fn all_faults_are_listed_in_order() {
    let text = "[spool]\nmax_byte = 1\n[decide]\nconfirm = 0\nstale_after = 1\n";
    let all = faults(&[text]);
    let keys: Vec<&str> = all.iter().filter_map(|f| f.split(": ").nth(1)).collect();
    assert_eq!(
        keys,
        ["spool.max_byte", "decide.confirm", "decide.stale_after", "gateway.id", "source", "zones"]
    );
    assert!(all[3].starts_with("a.toml: gateway.id: is missing; "), "{}", all[3]);
}

#[test]
fn no_file_at_all_says_what_is_missing() {
    assert_eq!(faults(&[]).len(), 3);
}

#[test]
fn text_that_is_not_toml_is_told_with_its_place() {
    for (text, place) in [
        ("[decide\nconfirm = 3", "b.toml:1:8: "),
        ("[decide]\nconfirm = ", "b.toml:2:"),
        ("[decide]\nconfirm = 3\nconfirm = 4", "b.toml:3:1: "),
        ("ä = \"x", "b.toml:1:"),
        ("\u{0}", "b.toml:1:"),
    ] {
        let all = faults(&[CORE, text]);
        assert!(!all.is_empty() && all.iter().all(|f| f.starts_with(place)), "{text:?}: {all:?}");
    }
}

/// PAIR-1: a fixed timeout holds `confirm` reports at the declared interval.
#[test]
fn pair_1_a_timeout_that_holds_no_vote_is_refused_or_raised() {
    let with = |interval: &str, timeout: &str| {
        format!("[[source]]\n{interval}\n[decide]\nvote_timeout = \"{timeout}\"\n")
    };
    check(
        &with("interval = \"10s\"", "20s"),
        "b.toml:4:16: decide.vote_timeout: 20s cannot hold 3 reports at the declared interval \"10s\"; write \"auto\", or at least \"30s\"",
    );
    check(
        &with("", "2s"),
        "b.toml:4:16: decide.vote_timeout: 2s is not longer than confirm_for = \"2s\": no vote could ever be won; write \"auto\", or a longer time",
    );
    let raised = good(&[CORE, &with("", "2500ms")]);
    assert_eq!(raised.config.decide.vote_timeout, Some(Span::from_secs(3)));
    assert_eq!(
        raised.warnings[0].to_string(),
        "b.toml:4:16: decide.vote_timeout: 2500ms cannot hold 3 reports at the usual interval; raised to 3s; declare the source's `interval` if it is shorter"
    );
    // One vote, of which more than an interval is asked: the second report would come too late.
    let single = "confirm = 1\nconfirm_for = \"12s\"\nvote_timeout = \"15s\"";
    check(
        &format!("[[source]]\ninterval = \"10s\"\n[decide]\n{single}\n"),
        "b.toml:6:16: decide.vote_timeout: 15s cannot hold confirm_for = \"12s\" at the declared interval \"10s\"; write \"auto\", or at least \"20s\"",
    );
    let kept = good(&[CORE, &with("interval = \"500ms\"", "2500ms")]);
    assert_eq!(kept.config.decide.vote_timeout, Some(Span::from_millis(2500)));
    assert_eq!(kept.warnings, []);
}

#[test]
fn what_does_not_run_yet_is_refused_by_name() {
    let text = "[[source]]\nname = \"g\"\nkind = \"gpsd\"\nrank = 2\n[zones]\ndrop_dir = \"/d\"\n";
    let told: Vec<String> =
        good(&[CORE, text]).unsupported().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "b.toml:6:12: zones.drop_dir: drop_dir = \"/d\" is not in this release yet; zones come from `files`",
        ]
    );
}

#[test]
fn what_will_surprise_is_said() {
    for (text, expected) in [
        (
            CORE.split("[uplink]").next().unwrap(),
            "a.toml: uplink.url: is missing: events wait in the spool and go nowhere; write url = \"https://…\" under [uplink], or kind = \"none\" to mean it",
        ),
        (
            &CORE.replace("https:", "http:"),
            "a.toml:9:7: uplink.url: http sends positions (and the token) in clear text; write https://",
        ),
        (
            &CORE.replace("kind = \"serial\"", "kind = \"file\"\nbaud = 4800"),
            "a.toml:5:8: source gnss.baud: has no meaning for kind = \"file\"; leave it out",
        ),
        (
            &CORE.replace("id = \"gw-1\"", "id = \"gw-1\"\nid_file = \"/f\""),
            "a.toml:3:11: gateway.id_file: both id and id_file are set; `id` is used; leave one of the two out",
        ),
    ] {
        let told: Vec<String> = good(&[text]).warnings.iter().map(ToString::to_string).collect();
        assert_eq!(told, [expected]);
    }
    let local = CORE.replace("https://fleet.example", "http://127.0.0.1:8080");
    assert_eq!(good(&[&local]).warnings, []);
}

#[test]
fn credentials_are_expanded() {
    let text = "[uplink]\ntoken_file = \"$CREDENTIALS_DIRECTORY/uplink-token\"\n";
    let token = |env: &Env| load(&files(&[CORE, text]), env).unwrap().config.uplink.token_file;
    let env: Env = BTreeMap::from([("CREDENTIALS_DIRECTORY".into(), "/run/credentials/g".into())]);
    assert_eq!(token(&env).as_deref(), Some("/run/credentials/g/uplink-token"));
    assert_eq!(token(&Env::new()).as_deref(), Some("$CREDENTIALS_DIRECTORY/uplink-token"));
}

#[test]
fn durations_and_sizes() {
    for (text, nanos) in [
        ("0s", 0),
        ("500ms", 500_000_000),
        ("2 s", 2_000_000_000),
        ("15min", 900_000_000_000),
        ("24h", 86_400_000_000_000),
        ("90d", 90 * 86_400_000_000_000),
        ("1h 30min", 5_400_000_000_000),
        ("1h30min", 5_400_000_000_000),
        ("7us", 7_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Span::from_nanos(nanos)), "{text}");
        let back = value::write_duration(Span::from_nanos(nanos));
        assert_eq!(parse_duration(&back), Ok(Span::from_nanos(nanos)), "{back}");
    }
    for text in
        ["", " ", "5", "s", "5m", "5 m", "1.5s", "-5s", "5sec", "5s5", "99999999999999d", "5ß"]
    {
        assert!(parse_duration(text).is_err(), "{text}");
    }
    assert_eq!(parse_size("64MiB"), Ok(64 << 20));
    assert_eq!(parse_size("100 B"), Ok(100));
    for text in ["", "64", "MiB", "1.5MiB", "64MB", "-1B", "99999999999GiB", "16777216TiB"] {
        assert!(parse_size(text).is_err(), "{text}");
    }
}

/// Foreign text never panics, whatever is cut out of or put into a config.
#[test]
fn no_text_panics() {
    let whole = format!("{CORE}\n[decide]\nconfirm = 3\nstale_after = \"5min\"\n");
    for cut in 0..whole.len() {
        for junk in ["", "[", "\"", "=", "ä", "\u{0}", "{", "[[source]]"] {
            let text = format!("{}{junk}{}", &whole[..cut], &whole[cut + 1..]);
            drop(load(&files(&[&text]), &Env::new()));
        }
    }
    let (_, faults) = merge(&files(&["a = ".repeat(1000).as_str()]), &Env::new());
    assert!(!faults.is_empty());
}

/// The shipped file: its core runs, its commented keys are the defaults, and none is missing.
mod shipped {
    use super::*;

    const TEXT: &str = include_str!("../../../systemd/geofenced.toml");

    /// A commented key: `#key = default`. Prose and examples have a blank after the `#`.
    fn uncommented() -> String {
        let open = |line: &str| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => rest.to_owned(),
            _ => line.to_owned(),
        };
        TEXT.lines().map(open).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_core_runs_and_the_commented_keys_are_the_defaults() {
        let core = good(&[TEXT]);
        assert_eq!((core.warnings.len(), core.unsupported().len()), (0, 0));
        let mut all = good(&[&uncommented()]);
        all.config.sources[0].interval_declared = false;
        assert_eq!(all.config, core.config);
        let silent: Vec<_> = all.origins.iter().filter(|e| e.origin == Origin::Default).collect();
        assert!(silent.is_empty(), "not in the file: {silent:?}");
    }

    /// Section by section, each key stands there: given, commented, or as an example.
    #[test]
    fn no_key_is_missing() {
        for key in schema::KEYS {
            let mut section = "";
            let found = TEXT.lines().any(|line| {
                if line.starts_with('[') {
                    section = line.trim_matches(['[', ']']);
                }
                let line = line.trim_start_matches('#').trim_start();
                section == key.section
                    && line.strip_prefix(key.name).is_some_and(|l| l.starts_with(" = "))
            });
            assert!(found, "{}.{}: {}", key.section, key.name, key.doc);
        }
    }

    /// Examples (`# key = …`) are right as well.
    #[test]
    fn every_example_is_accepted() {
        let mut header = "";
        for line in TEXT.lines() {
            if line.starts_with('[') {
                header = line;
            }
            let is_key =
                |l: &&str| schema::KEYS.iter().any(|k| l.starts_with(&[k.name, " = "].concat()));
            let Some(example) = line.strip_prefix("# ").filter(is_key) else { continue };
            let (_, faults) = merge(&files(&[&format!("{header}\n{example}\n")]), &Env::new());
            assert_eq!(faults, [], "{example}");
        }
    }
}
