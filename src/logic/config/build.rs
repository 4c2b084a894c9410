//! Settings to [`Config`]: defaults filled in, and what keys mean together.
//!
//! Always holds: a `Config` leaves here only when there is no fault at all (INV-8).
//! Does not know: TOML, files.

use std::collections::BTreeMap;

use super::fault::{ConfigFault, Origin};
use super::merge::{Merged, SOURCE_NAME, Section, Setting, shown};
use super::schema::{self, SOURCE};
use super::sections::{
    Checksum, Control, Decide, Events, Flash, Gateway, Identity, Input, Lines, Log, LogLevel,
    PositionDetail, Record, Source, SourceKind, Spool, TimeRules, Uplink, UplinkFormat, UplinkKind,
    Zones,
};
use super::value::{self, Value};
use super::{Config, Effective, Env, Loaded};
use crate::units::{AssetId, EventTime, GatewayId, SourceId, Span};

/// One section's values by name, defaults included. A key of another shape than asked for is our
/// own bug: `merge` let nothing else in.
struct Keys<'a>(&'a Section);

impl Keys<'_> {
    fn value(&self, key: &str) -> Option<&Value> {
        self.0.keys.get(key).map(|s| &s.value)
    }
    fn given(&self, key: &str) -> bool {
        self.0.keys.get(key).is_some_and(|s| s.origin != Origin::Default)
    }
    fn opt_text(&self, key: &str) -> Option<String> {
        match self.value(key)? {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
    fn text(&self, key: &str) -> String {
        self.opt_text(key).expect("the schema gives it a default")
    }
    fn choice<T>(&self, key: &str, from: impl Fn(&str) -> Option<T>) -> T {
        from(&self.text(key)).expect("the schema lists the names of this type")
    }
    fn opt_list(&self, key: &str) -> Vec<String> {
        match self.value(key) {
            Some(Value::List(items)) => items.clone(),
            _ => Vec::new(),
        }
    }
    fn opt_span(&self, key: &str) -> Option<Span> {
        match self.value(key)? {
            Value::Span(span) => Some(*span),
            _ => None,
        }
    }
    fn span(&self, key: &str) -> Span {
        self.opt_span(key).expect("the schema gives it a default")
    }
    fn opt_count(&self, key: &str) -> Option<u64> {
        match self.value(key)? {
            Value::Count(n) | Value::Bytes(n) => Some(*n),
            _ => None,
        }
    }
    fn count(&self, key: &str) -> u64 {
        self.opt_count(key).expect("the schema gives it a default")
    }
    fn number(&self, key: &str) -> f64 {
        match self.value(key) {
            Some(Value::Number(n)) => *n,
            _ => unreachable!("the schema gives {key} a default"),
        }
    }
    fn flag(&self, key: &str) -> bool {
        matches!(self.value(key), Some(Value::Flag(true)))
    }
    fn time(&self, key: &str) -> Option<EventTime> {
        match self.value(key)? {
            Value::Time(time) => Some(*time),
            _ => None,
        }
    }
}

/// What is found on the way.
struct Findings {
    faults: Vec<ConfigFault>,
    warnings: Vec<ConfigFault>,
    last: Origin,
}

impl Findings {
    /// Where a key is written, else where its section is, else the last file.
    fn origin(&self, section: &Section, key: &str) -> Origin {
        let set = section.keys.get(key).map(|s| &s.origin).filter(|o| **o != Origin::Default);
        set.or(section.at.as_ref()).unwrap_or(&self.last).clone()
    }
    fn fault(&mut self, section: &Section, key: (&str, &str), what: &str, fix: &str) {
        let origin = self.origin(section, key.1);
        self.faults.push(ConfigFault::at(&origin, schema::dotted(key.0, key.1), what, fix));
    }
    fn warn(&mut self, section: &Section, key: (&str, &str), what: &str, fix: &str) {
        let origin = self.origin(section, key.1);
        self.warnings.push(ConfigFault::at(&origin, schema::dotted(key.0, key.1), what, fix));
    }
}

/// The config, or all faults: those found before and those found here.
pub(super) fn build(
    mut merged: Merged,
    faults: Vec<ConfigFault>,
) -> Result<Loaded, Vec<ConfigFault>> {
    let last = merged.last.clone().unwrap_or(Origin::Default);
    let mut found = Findings { faults, warnings: Vec::new(), last };
    let zones_given = merged.sections.contains_key("zones");
    fill_defaults(&mut merged);
    let section = |name: &str| merged.sections.get(name).cloned().unwrap_or_default();

    let gateway = gateway(&section("gateway"), &mut found);
    let sources = sources(&merged, &mut found);
    if !zones_given {
        let fix = r#"add [zones] with files = ["/etc/geofenced/zones/*.geojson"]"#;
        found.fault(&Section::default(), ("", "zones"), "is missing", fix);
    }
    let decide = decide(&section("decide"), &sources, &mut found);
    let sources: Vec<Source> = sources.into_iter().map(|(source, _)| source).collect();
    let mut uplink_keys = section("uplink");
    let uplink = uplink(&mut uplink_keys, &mut found);
    merged.sections.insert("uplink", uplink_keys);
    let time = Keys(&merged.sections["time"]);
    let zones = Keys(&merged.sections["zones"]);
    let config = gateway.zip(uplink).map(|(gateway, uplink)| Config {
        gateway,
        sources,
        decide,
        time: TimeRules {
            skew_tolerance: time.span("skew_tolerance"),
            steps_to_adopt: time.count("steps_to_adopt") as u8,
            floor: time.time("floor"),
            ..TimeRules::default()
        },
        zones: Zones {
            files: zones.opt_list("files"),
            drop_dir: zones.opt_text("drop_dir"),
            keys: zones.opt_list("keys"),
            pull: zones.opt_text("pull"),
            pull_every: zones.opt_span("pull_every"),
            trial: zones.opt_span("trial"),
        },
        uplink,
        spool: spool(&merged),
        events: events(&merged),
        flash: flash(&merged),
        record: record(&merged, &mut found),
        log: log(&merged),
        control: control(&merged),
    });
    match config {
        Some(config) if found.faults.is_empty() => {
            let origins = effective(&merged);
            Ok(Loaded { config, origins, warnings: found.warnings })
        }
        _ => Err(found.faults),
    }
}

/// Gives every section every default it lacks.
fn fill_defaults(merged: &mut Merged) {
    for name in schema::sections().into_iter().chain([""]) {
        if name != SOURCE {
            fill(name, merged.sections.entry(name).or_default());
        }
    }
    for (_, section) in &mut merged.sources {
        fill(SOURCE, section);
    }
}

fn fill(name: &str, section: &mut Section) {
    for key in schema::of(name) {
        if let Some(default) = key.default {
            section.keys.entry(key.name).or_insert_with(|| Setting {
                value: default_value(key.shape, default),
                origin: Origin::Default,
            });
        }
    }
}

/// A default out of the schema, read as any other value is.
pub(super) fn default_value(shape: value::Shape, default: &str) -> Value {
    let parsed = toml::de::DeValue::parse(default).expect("a default is TOML");
    value::read(shape, parsed.get_ref(), &Env::new()).expect("a default fits its shape")
}

fn gateway(section: &Section, found: &mut Findings) -> Option<Gateway> {
    let keys = Keys(section);
    let refused = section.bad.contains("id") || section.bad.contains("id_file");
    let id = match (keys.opt_text("id"), keys.opt_text("id_file")) {
        (Some(id), file) => {
            if file.is_some() {
                let fix = "`id` is used; leave one of the two out";
                found.warn(section, ("gateway", "id_file"), "both id and id_file are set", fix);
            }
            GatewayId::new(&id).ok().map(Identity::Given)
        }
        (None, Some(file)) => Some(Identity::File(file)),
        (None, None) => {
            if !refused {
                let fix = "write id = \"gw-004711\" under [gateway], or id_file = \"…\"; \
                           it is never guessed";
                found.fault(section, ("gateway", "id"), "is missing", fix);
            }
            None
        }
    };
    let asset = keys.opt_text("asset").and_then(|a| AssetId::new(&a).ok());
    Some(Gateway { id: id?, asset, state_dir: keys.text("state_dir") })
}

/// The sources that are whole, each with its settings, and what is wrong among them.
fn sources<'m>(merged: &'m Merged, found: &mut Findings) -> Vec<(Source, &'m Section)> {
    if merged.sources.is_empty() {
        let fix = r#"add [[source]] with kind = "serial" and path = "/dev/serial/by-id/…""#;
        found.fault(&Section::default(), ("", "source"), "there is none", fix);
    }
    let whole: Vec<_> = merged
        .sources
        .iter()
        .filter_map(|(name, section)| Some((source(name, section, found)?, section)))
        .collect();
    check_ranks(merged, &whole, found);
    whole
}

/// ORD-4: an asset has one voting source at a time, so ranks among its sources differ.
fn check_ranks(merged: &Merged, sources: &[(Source, &Section)], found: &mut Findings) {
    let gateway = merged.sections.get("gateway").map(Keys);
    let own = |key| gateway.as_ref().and_then(|g| g.opt_text(key));
    let default = own("asset").or_else(|| own("id")).unwrap_or_default();
    let mut taken: BTreeMap<(String, u8), &Source> = BTreeMap::new();
    let mut trusted: BTreeMap<String, &Source> = BTreeMap::new();
    for (source, section) in sources {
        let asset = source.asset.as_ref().map_or(default.clone(), ToString::to_string);
        let first = *trusted.entry(asset.clone()).or_insert(source);
        if first.trust_fixes != source.trust_fixes {
            let what = format!("{} and {} locate one asset by two clocks", first.name, source.name);
            let fix = "give both trust = \"fixes\" or neither, or another `asset`";
            found.fault(section, (&shown(source.name.as_str()), "trust"), &what, fix);
        }
        if let Some(other) = taken.insert((asset, source.rank), source) {
            let what = format!("{} and {} locate one asset with one rank", other.name, source.name);
            let fix = "give the standby rank = 2, or another `asset`";
            found.fault(section, (&shown(source.name.as_str()), "rank"), &what, fix);
        }
    }
}

fn source(name: &str, section: &Section, found: &mut Findings) -> Option<Source> {
    let keys = Keys(section);
    let shown = shown(name);
    let Some(kind) = keys.opt_text("kind").as_deref().and_then(SourceKind::from_name) else {
        if !section.bad.contains("kind") {
            let fix =
                format!("write kind = \"serial\"; there are {}", SourceKind::NAMES.join(", "));
            found.fault(section, (&shown, "kind"), "is missing", &fix);
        }
        return None;
    };
    let input = input(kind, section, &shown, found);
    let uses: &[&str] = match kind {
        SourceKind::Serial => &["path", "baud"],
        SourceKind::File => &["path"],
        SourceKind::Jsonl => &["path", "address"],
        SourceKind::Gpsd => &["address", "device"],
        SourceKind::Tcp | SourceKind::Udp => &["address"],
    };
    for key in ["path", "baud", "address", "device"] {
        if keys.given(key) && !uses.contains(&key) {
            let what = format!("has no meaning for kind = \"{}\"", kind.name());
            found.warn(section, (&shown, key), &what, "leave it out");
        }
    }
    if kind == SourceKind::Jsonl && keys.given("path") && keys.given("address") {
        let fix = "leave one of `address` and `path` out; each source has one place";
        found.fault(section, (&shown, "path"), "stands beside address", fix);
    }
    // FIX-4 bounds the interval.
    if keys.span("interval") > Span::from_secs(86_400) {
        found.fault(section, (&shown, "interval"), "is longer than a day", "write at most \"24h\"");
    }
    Some(Source {
        name: SourceId::new(&keys.opt_text("name").unwrap_or(SOURCE_NAME.to_owned())).ok()?,
        input: input?,
        asset: keys.opt_text("asset").and_then(|a| AssetId::new(&a).ok()),
        rank: keys.count("rank") as u8,
        interval: keys.span("interval"),
        interval_declared: keys.given("interval"),
        silence_after: keys.span("silence_after"),
        checksum: keys.choice("checksum", Checksum::from_name),
        reorder_window: keys.span("reorder_window"),
        trust_fixes: keys.value("trust").is_some(),
    })
}

/// What a source opens, if all it needs is there.
fn input(kind: SourceKind, section: &Section, shown: &str, found: &mut Findings) -> Option<Input> {
    let keys = Keys(section);
    let mut need = |key: &'static str, example: &str| {
        let given = keys.opt_text(key);
        if given.is_none() && !section.bad.contains(key) {
            let what = format!("is missing for kind = \"{}\"", kind.name());
            found.fault(section, (shown, key), &what, &format!("write {key} = \"{example}\""));
        }
        given
    };
    let address = |text: String| value::parse_address(&text).ok();
    Some(match kind {
        SourceKind::Serial => Input::Serial {
            path: need("path", "/dev/serial/by-id/…")?,
            baud: keys.opt_count("baud").map(|n| n as u32),
        },
        SourceKind::File => Input::File { path: need("path", "drive.nmea")? },
        SourceKind::Jsonl => match keys.opt_text("address") {
            Some(text) => Input::Jsonl { from: Lines::Address(address(text)?) },
            None if section.bad.contains("address") => return None,
            None => {
                Input::Jsonl { from: Lines::Path(need("path", "/run/geofenced/trackers.sock")?) }
            }
        },
        SourceKind::Gpsd => Input::Gpsd {
            // The port gpsd has from IANA.
            address: address(keys.opt_text("address").unwrap_or("127.0.0.1:2947".to_owned()))?,
            device: keys.opt_text("device"),
        },
        SourceKind::Tcp => Input::Tcp { address: address(need("address", "192.0.2.1:5017")?)? },
        SourceKind::Udp => Input::Udp { address: address(need("address", "0.0.0.0:10110")?)? },
    })
}

fn decide(section: &Section, sources: &[(Source, &Section)], found: &mut Findings) -> Decide {
    let keys = Keys(section);
    let mut decide = Decide {
        confirm: keys.count("confirm") as u8,
        confirm_for: keys.span("confirm_for"),
        enter_margin_m: keys.number("enter_margin_m"),
        exit_margin_m: keys.number("exit_margin_m"),
        accuracy_cap_m: keys.number("accuracy_cap_m"),
        max_accuracy_m: keys.number("max_accuracy_m"),
        range_error_m: keys.number("range_error_m"),
        max_speed_mps: keys.number("max_speed_mps"),
        vote_timeout: keys.opt_span("vote_timeout"),
        stale_after: keys.span("stale_after"),
        infer_limit: keys.opt_span("infer_limit"),
    };
    if let Some(timeout) = decide.vote_timeout {
        decide.vote_timeout = Some(check_timeout(timeout, &decide, section, sources, found));
    }
    decide
}

/// PAIR-1: what a vote takes at a steady interval, in time and in words: `confirm` reports, and the
/// one that spans `confirm_for`.
fn least_timeout(decide: &Decide, interval: Span) -> (Span, String) {
    let counted = interval.times(i64::from(decide.confirm));
    let each = interval.nanos().max(1);
    let spanned = interval.times((decide.confirm_for.nanos() + each - 1) / each);
    if counted >= spanned {
        return (counted, format!("{} reports", decide.confirm));
    }
    let asked = value::write_duration(decide.confirm_for);
    (spanned, format!("confirm_for = \"{asked}\""))
}

/// PAIR-1: a fixed vote timeout holds what a vote takes at the declared interval; where no interval
/// is declared it is raised to what the default one needs.
fn check_timeout(
    timeout: Span,
    decide: &Decide,
    section: &Section,
    sources: &[(Source, &Section)],
    found: &mut Findings,
) -> Span {
    let write = value::write_duration;
    let key = ("decide", "vote_timeout");
    if timeout <= decide.confirm_for {
        let what = format!(
            "{} is not longer than confirm_for = \"{}\": no vote could ever be won",
            write(timeout),
            write(decide.confirm_for)
        );
        found.fault(section, key, &what, r#"write "auto", or a longer time"#);
        return timeout;
    }
    let slowest = |declared: bool| {
        let own = sources.iter().map(|(s, _)| s).filter(|s| s.interval_declared == declared);
        own.map(|s| s.interval).max()
    };
    if let Some(interval) = slowest(true) {
        let (least, what) = least_timeout(decide, interval);
        if timeout < least {
            let (timeout, interval) = (write(timeout), write(interval));
            let what =
                format!("{timeout} cannot hold {what} at the declared interval \"{interval}\"");
            let fix = format!("write \"auto\", or at least \"{}\"", write(least));
            found.fault(section, key, &what, &fix);
        }
    }
    if let Some(interval) = slowest(false) {
        let (least, what) = least_timeout(decide, interval);
        if timeout < least {
            let (timeout, raised) = (write(timeout), write(least));
            let what =
                format!("{timeout} cannot hold {what} at the usual interval; raised to {raised}");
            found.warn(section, key, &what, "declare the source's `interval` if it is shorter");
            return least;
        }
    }
    timeout
}

fn uplink(section: &mut Section, found: &mut Findings) -> Option<Uplink> {
    let keys = Keys(section);
    let mut kind = keys.choice("kind", UplinkKind::from_name);
    let url = keys.opt_text("url");
    let silent = !keys.given("kind") && url.is_none() && section.bad.is_empty();
    match (kind, &url) {
        _ if silent => {
            let fix = r#"write url = "https://…" under [uplink], or kind = "none" to mean it"#;
            let what = "is missing: events wait in the spool and go nowhere";
            found.warn(section, ("uplink", "url"), what, fix);
            kind = UplinkKind::None;
        }
        (UplinkKind::None, _) => {}
        (_, None) if section.bad.contains("url") => return None,
        (_, None) => {
            let fix = r#"write url = "https://fleet.example/v1/events""#;
            found.fault(section, ("uplink", "url"), "is missing", fix);
            return None;
        }
        (_, Some(url)) => check_scheme(kind, url, section, found),
    }
    let keys = Keys(section);
    if keys.opt_text("client_cert_file").is_some() != keys.opt_text("client_key_file").is_some() {
        let what = "a client certificate needs both client_cert_file and client_key_file";
        found.fault(section, ("uplink", "client_cert_file"), what, "write both or neither");
    }
    let uplink = Uplink {
        kind,
        url,
        token_file: keys.opt_text("token_file"),
        ca_file: keys.opt_text("ca_file"),
        client_cert_file: keys.opt_text("client_cert_file"),
        client_key_file: keys.opt_text("client_key_file"),
        proxy: keys.opt_text("proxy"),
        format: keys.choice("format", UplinkFormat::from_name),
        batch_max: keys.count("batch_max") as usize,
        batch_bytes: keys.count("batch_bytes"),
        linger: keys.span("linger"),
        backoff_max: keys.span("backoff_max"),
        flush_on_stop: keys.span("flush_on_stop"),
    };
    if silent {
        let value = Value::Text(UplinkKind::None.name().to_owned());
        section.keys.insert("kind", Setting { value, origin: Origin::Default });
    }
    Some(uplink)
}

/// The URL's scheme is one that the kind speaks; clear text beyond this machine is said.
fn check_scheme(kind: UplinkKind, url: &str, section: &Section, found: &mut Findings) {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    if scheme.starts_with("mqtt") != (kind == UplinkKind::Mqtt) {
        let what = format!("a {scheme} URL does not fit kind = \"{}\"", kind.name());
        let fix = match kind {
            UplinkKind::Mqtt => "write mqtts://host, or kind = \"https\"",
            _ => "write https://host/path, or kind = \"mqtt\"",
        };
        found.fault(section, ("uplink", "url"), &what, fix);
    }
    let local = ["localhost", "127.", "[::1]"].iter().any(|host| rest.starts_with(host));
    if !scheme.ends_with('s') && !local {
        let what = format!("{scheme} sends positions (and the token) in clear text");
        found.warn(section, ("uplink", "url"), &what, &format!("write {scheme}s://"));
    }
}

fn spool(merged: &Merged) -> Spool {
    let keys = Keys(&merged.sections["spool"]);
    Spool { max_bytes: keys.count("max_bytes"), max_age: keys.span("max_age") }
}

fn events(merged: &Merged) -> Events {
    let keys = Keys(&merged.sections["events"]);
    Events {
        position: keys.choice("position", PositionDetail::from_name),
        snapshot_every: keys.span("snapshot_every"),
        health_every: keys.span("health_every"),
        late_fix: keys.flag("late_fix"),
        stale_markers: keys.flag("stale_markers"),
    }
}

fn flash(merged: &Merged) -> Flash {
    let keys = Keys(&merged.sections["flash"]);
    Flash {
        commit_every: keys.span("commit_every"),
        heartbeat: keys.span("heartbeat"),
        daily_budget: keys.count("daily_budget"),
    }
}

/// The longest record that a command can fetch in one answer, whatever is in it.
const RECORD_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The least that segment files are made of: one takes a source's longest read.
const SEGMENTS_BYTES_MIN: u64 = 1024 * 1024;

fn record(merged: &Merged, found: &mut Findings) -> Record {
    let section = &merged.sections["record"];
    let (max_bytes, dir) = (Keys(section).count("max_bytes"), Keys(section).opt_text("dir"));
    if max_bytes > RECORD_BYTES_MAX {
        found.fault(section, ("record", "max_bytes"), "is too much", "write at most \"16MiB\"");
    }
    if dir.is_some() && max_bytes < SEGMENTS_BYTES_MIN {
        let what = "is too little for the files in `dir`";
        found.fault(section, ("record", "max_bytes"), what, "write at least \"1MiB\"");
    }
    Record { max_bytes, dir }
}

fn log(merged: &Merged) -> Log {
    let keys = Keys(&merged.sections["log"]);
    Log {
        level: keys.choice("level", LogLevel::from_name),
        max_lines_per_hour: keys.count("max_lines_per_hour") as u32,
    }
}

fn control(merged: &Merged) -> Control {
    let keys = Keys(&merged.sections["control"]);
    Control {
        socket: keys.text("socket"),
        group: keys.text("group"),
        admin_group: keys.text("admin_group"),
    }
}

/// Every key in effect in the order of the schema.
fn effective(merged: &Merged) -> Vec<Effective> {
    let mut all = Vec::new();
    for name in [""].into_iter().chain(schema::sections()) {
        let sections: Vec<&Section> = if name == SOURCE {
            merged.sources.iter().map(|(_, section)| section).collect()
        } else {
            merged.sections.get(name).into_iter().collect()
        };
        for (index, section) in sections.into_iter().enumerate() {
            let set = schema::of(name).filter_map(|k| Some((k, section.keys.get(k.name)?)));
            all.extend(set.map(|(key, setting)| Effective {
                section: name,
                index,
                key: key.name,
                literal: value::write(&setting.value),
                origin: setting.origin.clone(),
            }));
        }
    }
    all
}
