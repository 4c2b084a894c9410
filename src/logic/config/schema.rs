//! The one list of keys: section, name, shape, default, what it is for.
//!
//! Always holds: the order is that of the shipped file; every default reads as its own shape.
//! Does not know: how a value is read (`value`) or what two keys mean together (`build`).

use std::fmt::Write as _;

use super::sections::{Checksum, LogLevel, PositionDetail, SourceKind, UplinkFormat, UplinkKind};
use super::value::Shape;
use crate::units::Span;

/// One key.
pub(super) struct Key {
    /// Its section; empty above all sections.
    pub(super) section: &'static str,
    /// Its name.
    pub(super) name: &'static str,
    /// What its value must be.
    pub(super) shape: Shape,
    /// Its default as TOML; `None` means unset.
    pub(super) default: Option<&'static str>,
    /// What it is for, one line.
    pub(super) doc: &'static str,
}

const fn key(
    section: &'static str,
    name: &'static str,
    shape: Shape,
    default: Option<&'static str>,
    doc: &'static str,
) -> Key {
    Key { section, name, shape, default, doc }
}

/// The `[[source]]` section: the only one there may be several of.
pub(super) const SOURCE: &str = "source";

/// The only config version there is.
pub(super) const VERSION: u64 = 1;

const ANY: Shape = Shape::Duration { min: Span::ZERO };
/// Timers that may not be zero: a loop would spin.
const TICK: Shape = Shape::Duration { min: Span::from_millis(100) };
const METRES: Shape = Shape::Number { positive: false };
const SOME_METRES: Shape = Shape::Number { positive: true };
const HTTP: Shape = Shape::Url(&["https", "http"]);

/// Every key, in the order of the reference.
#[rustfmt::skip]
pub(super) const KEYS: &[Key] = &[
    key("", "config_version", Shape::Count { min: VERSION, max: VERSION }, Some("1"),
        "the version of this format"),

    key("gateway", "id", Shape::Id, None, "the gateway's id; never guessed"),
    key("gateway", "id_file", Shape::Path, None, "a file whose first line is the id"),
    key("gateway", "asset", Shape::Id, None, "what rides on this gateway; default: the gateway id"),
    key("gateway", "state_dir", Shape::Path, Some(r#""/var/lib/geofenced""#),
        "must survive a software update"),

    key("source", "name", Shape::Id, Some(r#""gnss""#), "unique; files are merged by it"),
    key("source", "kind", Shape::Choice(SourceKind::NAMES), None, "what is opened"),
    key("source", "path", Shape::Path, None,
        "serial, file, jsonl: the device or file; - is standard input; jsonl: or a Unix socket"),
    key("source", "address", Shape::Address, None,
        "gpsd, tcp: host:port of the server; udp, jsonl: to listen on"),
    key("source", "device", Shape::Path, None, "gpsd: only this device of it"),
    key("source", "baud", Shape::BaudOrAuto, Some(r#""auto""#), "serial: auto or a number"),
    key("source", "asset", Shape::Id, None, "whom it locates; default: the gateway's asset"),
    key("source", "rank", Shape::Count { min: 1, max: 100 }, Some("1"),
        "1 votes; 2 is its standby"),
    key("source", "interval", TICK, Some(r#""1s""#), "declared reporting interval"),
    key("source", "silence_after", TICK, Some(r#""10s""#), "then the source is reported silent"),
    key("source", "checksum", Shape::Choice(Checksum::NAMES), Some(r#""required""#),
        "what a missing checksum means"),
    key("source", "reorder_window", ANY, Some(r#""500ms""#),
        "how long a fix may wait for an earlier one"),
    key("source", "trust", Shape::Choice(&["fixes"]), None, "recorded or accelerated feeds only"),

    key("decide", "confirm", Shape::Count { min: 1, max: 31 }, Some("3"),
        "agreeing fixes that change a membership"),
    key("decide", "confirm_for", ANY, Some(r#""2s""#), "which must span this long"),
    key("decide", "enter_margin_m", METRES, Some("0"),
        "an inside vote is at least this far inside"),
    key("decide", "exit_margin_m", METRES, Some("20"),
        "an outside vote is this far out, plus twice the accuracy"),
    key("decide", "accuracy_cap_m", METRES, Some("30"), "accuracy counts at most this much"),
    key("decide", "max_accuracy_m", SOME_METRES, Some("50"), "a worse fix decides nothing"),
    key("decide", "range_error_m", SOME_METRES, Some("5"), "accuracy = HDOP times this"),
    key("decide", "max_speed_mps", SOME_METRES, Some("100"), "a faster implied motion is a jump"),
    key("decide", "vote_timeout", Shape::DurationOrAuto, Some(r#""auto""#),
        "how long a vote stands"),
    key("decide", "stale_after", TICK, Some(r#""300s""#),
        "silence limit, at least three intervals"),
    key("decide", "infer_limit", Shape::DurationOrAuto, Some(r#""auto""#),
        "longer brackets are uncertain"),

    key("time", "skew_tolerance", TICK, Some(r#""2s""#), "how far ahead a receiver's time may run"),
    key("time", "steps_to_adopt", Shape::Count { min: 1, max: 100 }, Some("5"),
        "fixes that make a clock step"),
    key("time", "floor", Shape::Time, None, "only to feed recorded drives to a daemon"),

    key("zones", "files", Shape::List, Some(r#"["/etc/geofenced/zones/*.geojson"]"#),
        "factory layers"),
    key("zones", "drop_dir", Shape::Path, None, "signed layers put here are taken"),
    key("zones", "keys", Shape::List, None, "minisign public keys"),
    key("zones", "pull", HTTP, None, "where newer layers are fetched"),
    key("zones", "pull_every", TICK, None, "how often"),
    key("zones", "trial", TICK, None, "how long a pushed layer is on trial"),

    key("uplink", "kind", Shape::Choice(UplinkKind::NAMES), Some(r#""https""#),
        "how events travel"),
    key("uplink", "url", Shape::Url(&["https", "http", "mqtts", "mqtt"]), None, "where they go"),
    key("uplink", "token_file", Shape::Path, None, "holds the bearer token"),
    key("uplink", "ca_file", Shape::Path, None, "certificates to trust"),
    key("uplink", "client_cert_file", Shape::Path, None, "client certificate"),
    key("uplink", "client_key_file", Shape::Path, None, "and its key"),
    key("uplink", "proxy", HTTP, None, "HTTP proxy"),
    key("uplink", "format", Shape::Choice(UplinkFormat::NAMES), Some(r#""batch""#), "request body"),
    key("uplink", "batch_max", Shape::Count { min: 1, max: 10_000 }, Some("100"),
        "events a request"),
    key("uplink", "batch_bytes", Shape::Size { min: 1024 }, Some(r#""64KiB""#), "bytes a request"),
    key("uplink", "linger", ANY, Some(r#""2s""#), "wait this long to fill a batch"),
    key("uplink", "backoff_max", TICK, Some(r#""10min""#), "longest wait between tries"),
    key("uplink", "flush_on_stop", ANY, Some(r#""3s""#), "last try on SIGTERM"),

    key("spool", "max_bytes", Shape::Size { min: 256 * 1024 }, Some(r#""64MiB""#),
        "most that waits"),
    key("spool", "max_age", TICK, Some(r#""90d""#), "longest that waits, in time that the daemon ran"),

    key("events", "position", Shape::Choice(PositionDetail::NAMES), Some(r#""crossing+fix""#),
        "what of a position leaves the vehicle"),
    key("events", "snapshot_every", TICK, Some(r#""24h""#), "between membership snapshots"),
    key("events", "health_every", TICK, Some(r#""24h""#), "between health records"),
    key("events", "late_fix", Shape::Flag, Some("false"), "report late fixes"),
    key("events", "stale_markers", Shape::Flag, Some("false"), "report silence and its end"),

    key("flash", "commit_every", TICK, Some(r#""1s""#), "least time between commits"),
    key("flash", "heartbeat", TICK, Some(r#""15min""#), "commit at least this often"),
    key("flash", "daily_budget", Shape::Size { min: 0 }, Some(r#""20MiB""#),
        "bytes a day, said when passed"),

    key("record", "max_bytes", Shape::Size { min: 0 }, Some(r#""4MiB""#),
        "what sources gave is kept in memory for `record`; 0 keeps nothing"),
    key("record", "dir", Shape::Path, None,
        "and as much again in files here, for `replay` after a crash"),

    key("log", "level", Shape::Choice(LogLevel::NAMES), Some(r#""info""#), "how much is said"),
    key("log", "max_lines_per_hour", Shape::Count { min: 1, max: 1_000_000 }, Some("200"),
        "more are dropped, counted and said"),

    key("control", "socket", Shape::Path, Some(r#""/run/geofenced/control.sock""#),
        "the Unix socket"),
    key("control", "group", Shape::Text, Some(r#""geofenced""#), "may read"),
    key("control", "admin_group", Shape::Text, Some(r#""geofenced-admin""#), "may change"),
];

/// What parses and is checked but does not run yet: section, key, and the value (as TOML) unless
/// any value counts.
pub(super) const NOT_YET: &[(&str, &str, Option<&str>)] = &[
    ("uplink", "kind", Some(r#""mqtt""#)),
    ("zones", "drop_dir", None),
    ("zones", "keys", None),
    ("zones", "pull", None),
    ("zones", "pull_every", None),
    ("zones", "trial", None),
];

/// Keys that would hold a secret, and the key to use instead.
pub(super) const SECRETS: &[(&str, &str)] = &[
    ("token", "token_file"),
    ("password", "token_file"),
    ("secret", "token_file"),
    ("api_key", "token_file"),
    ("client_key", "client_key_file"),
];

/// What runs now in place of something that does not.
pub(super) fn instead(section: &str, key: &str) -> &'static str {
    match (section, key) {
        ("uplink", _) => r#"kind = "https" and kind = "none" run"#,
        _ => "zones come from `files`",
    }
}

/// The keys of one section.
pub(super) fn of(section: &str) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(move |k| k.section == section)
}

/// The sections in order, without the one above all.
pub(super) fn sections() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = Vec::new();
    for key in KEYS.iter().filter(|k| !k.section.is_empty()) {
        if names.last() != Some(&key.section) {
            names.push(key.section);
        }
    }
    names
}

/// `section.key`, or the key alone above all sections.
pub(super) fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// Every key with its default and what it is for, as `section.key = default` lines.
pub fn reference() -> String {
    let mut text = String::new();
    for key in KEYS {
        let name = dotted(key.section, key.name);
        let default = key.default.unwrap_or("(unset)");
        writeln!(text, "{name} = {default}  # {}", key.doc).expect("a String takes all");
    }
    text
}

/// The right name nearest to a wrong one, if any is near enough to be meant.
pub(super) fn nearest<'a>(wrong: &str, right: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_lowercase().replace('-', "_");
    right
        .map(|name| (strsim::damerau_levenshtein(&wrong, name), name))
        .filter(|(distance, name)| {
            *distance <= 2.max(name.len() / 3) && *distance < name.len().max(2)
                || strsim::jaro_winkler(&wrong, name) >= 0.88
        })
        .min()
        .map(|(_, name)| name)
}
