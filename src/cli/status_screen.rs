//! The screen of `status`: worst first, nothing scrolls, every problem ends with what to do.
//!
//! Always holds: every list on it is bounded, and says what it left out; times are UTC, with the
//! date where it is not that of the last fix. Does not know: where a Status comes from.

use std::fmt::Write as _;

use super::out::{Colour, paint};
use crate::logic::event::Event;
use crate::logic::health::{AssetStatus, SourceState, SourceStatus, State, Status};
use crate::units::EventTime;

/// Assets on the screen; `--json` has more.
const ASSETS_MAX: usize = 5;
/// Lines of zones and votes an asset.
const ZONES_MAX: usize = 6;
/// Layers on one line.
const LAYERS_MAX: usize = 4;
/// Reasons on one line.
const REASONS_MAX: usize = 4;
/// Metres a second in kilometres an hour.
const KMH: f64 = 3.6;

/// The screen as text.
pub(super) fn screen(status: &Status, colour: bool) -> String {
    let mut page = String::new();
    head(&mut page, status, colour);
    page.push('\n');
    for asset in status.assets.iter().take(ASSETS_MAX) {
        position(&mut page, asset, status.assets.len() > 1, colour);
    }
    sources(&mut page, &status.sources, colour);
    rejected(&mut page, status);
    clocks(&mut page, status);
    latency(&mut page, status);
    page.push('\n');
    zones(&mut page, status);
    page.push('\n');
    delivery(&mut page, status);
    page.push('\n');
    store(&mut page, status);
    problems(&mut page, status, colour);
    page
}

fn row(page: &mut String, name: &str, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "{name:<9} {text}");
}

fn head(page: &mut String, status: &Status, colour: bool) {
    let state = match (status.state, status.problems.first()) {
        (State::Ready, _) => paint(Colour::Green, "ready", colour),
        (State::Degraded, Some(worst)) => {
            paint(Colour::Red, &format!("DEGRADED: {}", worst.what), colour)
        }
        (State::Degraded, None) => paint(Colour::Red, "DEGRADED", colour),
    };
    let who = match status.assets.as_slice() {
        [only] if only.asset != status.gateway => format!("{} / {}", status.gateway, only.asset),
        _ => status.gateway.clone(),
    };
    let _ = writeln!(page, "geofenced {}   {who}   {state}", status.version);
    let down = status.down_s.map_or_else(String::new, |s| format!(", down {}", ago(s)));
    let (up, boot) = (ago(status.up_s), ago(status.boot_s));
    let _ = writeln!(page, "up {up} (boot {boot})   last start: {}{down}", status.start_cause);
}

fn position(page: &mut String, asset: &AssetStatus, named: bool, colour: bool) {
    let name = if named { format!("{}  ", asset.asset) } else { String::new() };
    let Some(place) = &asset.position else {
        row(page, "position", &format!("{name}none yet"));
        return;
    };
    let mut text = format!("{name}{:.6} {:.6}", place.lat, place.lon);
    if let Some(accuracy_m) = place.accuracy_m {
        let _ = write!(text, " ±{accuracy_m:.1} m");
    }
    if let Some(speed_mps) = asset.speed_mps {
        let _ = write!(text, "  {:.0} km/h", speed_mps * KMH);
    }
    match asset.heard_s_ago {
        Some(seconds) => text = format!("{text}  {} ago", ago(seconds)),
        None => text.push_str("  from before this start"),
    }
    if let Some(time) = asset.time {
        // Of a fix from before this start nobody knows the age: it comes with its date.
        let today = asset.heard_s_ago.map_or(EventTime::from_nanos(0), |_| time);
        let _ = write!(text, "   {} UTC", clock(time, Some(today)));
    }
    if let Some(quality) = asset.time_quality {
        let name = serde_json::to_value(quality).ok();
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
        let _ = write!(text, ", {name} time");
    }
    if asset.stale {
        text.push_str(&paint(Colour::Yellow, "   STALE", colour));
    }
    row(page, "position", &text);
}

fn sources(page: &mut String, sources: &[SourceStatus], colour: bool) {
    let wide = sources.iter().map(|source| source.name.chars().count()).max().unwrap_or(0);
    for (ix, source) in sources.iter().enumerate() {
        let heard = match source.heard_s_ago {
            Some(seconds) => format!("heard {} ago", ago(seconds)),
            None => "never heard".to_owned(),
        };
        let state = match source.state {
            SourceState::Closed => paint(Colour::Red, "CLOSED", colour),
            SourceState::Silent => paint(Colour::Red, "SILENT", colour),
            SourceState::Garbled => paint(Colour::Red, "GARBLED", colour),
            fine => match &source.detail {
                Some(detail) => format!("{} at {detail}", fine.name()),
                None => fine.name().to_owned(),
            },
        };
        let (name, kind, path, rank) = (&source.name, &source.kind, &source.path, source.rank);
        let rate = source.rate_hz.map_or_else(String::new, |hz| format!("  {}", rate(hz)));
        let used = match source.epochs {
            _ if source.state == SourceState::Standby => String::new(),
            0 => String::new(),
            epochs => format!("  used {:.1} %", source.fixes as f64 / epochs as f64 * 100.0),
        };
        let title = if ix == 0 { "source" } else { "" };
        let text = format!("{name:<wide$}  {kind} {path}  {state}, {heard}{rate}{used}");
        row(page, title, &if sources.len() > 1 { format!("{text}  rank {rank}") } else { text });
    }
}

/// 1.0 Hz, or every 10 min.
fn rate(hz: f64) -> String {
    if hz >= 0.1 || hz <= 0.0 { format!("{hz:.1} Hz") } else { format!("every {}", ago(1.0 / hz)) }
}

/// How long a fix takes to the disk and to the server.
fn latency(page: &mut String, status: &Status) {
    let own = &status.latency;
    let stages =
        [("decided", &own.decided), ("durable", &own.durable), ("sent", &own.acknowledged)];
    let said = stages.iter().filter_map(|(name, stage)| {
        Some(format!("{name} {:.2} s (99 % {:.2} s)", stage.p50_s?, stage.p99_s?))
    });
    let said: Vec<String> = said.collect();
    if !said.is_empty() {
        row(page, "latency", &said.join("  "));
    }
}

fn rejected(page: &mut String, status: &Status) {
    let counters = &status.counters;
    let total: u64 = counters.rejects.values().sum();
    let mut reasons: Vec<_> = counters.rejects.iter().filter(|(_, n)| **n > 0).collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1));
    let named = reasons.iter().take(REASONS_MAX);
    let mut named: Vec<String> = named
        .map(|(reason, n)| format!("{} {}", grouped(**n), reason.name().replace('_', " ")))
        .collect();
    if reasons.len() > REASONS_MAX {
        named.push("others".to_owned());
    }
    let used = counted(counters.fixes, "fix");
    let text = match total {
        0 => format!("nothing; {used} used"),
        _ => format!("{}: {}; {used} used", grouped(total), named.join(", ")),
    };
    row(page, "rejected", &text);
    if counters.chunks_lost > 0 {
        let lost = counted(counters.chunks_lost, "read");
        row(page, "", &format!("{lost} lost because the loop was behind"));
    }
}

/// What receivers' clocks made necessary; nothing where they are right.
fn clocks(page: &mut String, status: &Status) {
    let own = &status.counters;
    let each = [
        (own.clamped, "clamped"),
        (own.restamped, "dated by boot time"),
        (own.stepped, "steps adopted"),
        (own.rollover, "eras added"),
        (own.floor_conflict, "floors lowered"),
    ];
    let said =
        each.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", grouped(*n)));
    let said: Vec<String> = said.collect();
    if !said.is_empty() {
        row(page, "clock", &said.join(", "));
    }
}

fn zones(page: &mut String, status: &Status) {
    let shown = status.layers.iter().take(LAYERS_MAX);
    let mut layers: Vec<String> = shown
        .map(|l| format!("{} in {} v{}", grouped(l.zones.into()), l.layer, l.version))
        .collect();
    if let Some(more @ 1..) = status.layers.len().checked_sub(LAYERS_MAX) {
        layers.push(format!("{more} more layers"));
    }
    row(page, "zones", &layers.join(", "));
    for asset in status.assets.iter().take(ASSETS_MAX) {
        memberships(page, asset, status.assets.len() > 1);
    }
    if let Some(more @ 1..) = status.assets.len().checked_sub(ASSETS_MAX) {
        row(page, "", &format!("and {more} more assets; see --json"));
    }
    if status.gauges.assets_in_store > 0 {
        let (here, away) = (status.gauges.assets_in_memory, status.gauges.assets_in_store);
        let text = format!(
            "{} assets in memory; {} not heard for longer are in the store until they are",
            grouped(here),
            grouped(away)
        );
        row(page, "", &text);
    }
}

fn memberships(page: &mut String, asset: &AssetStatus, named: bool) {
    let whose = if named { format!("{}  ", asset.asset) } else { String::new() };
    if asset.evaluating {
        row(page, "first", &format!("{whose}evaluation pending: not all zones have answered"));
    } else if asset.inside.is_empty() {
        row(page, "inside", &format!("{whose}no zone"));
    }
    let wide = asset.inside.iter().take(ZONES_MAX).map(|own| own.zone.chars().count()).max();
    let wide = wide.unwrap_or(0);
    for (ix, own) in asset.inside.iter().take(ZONES_MAX).enumerate() {
        let dwell = if own.dwell_sent { "  dwell sent" } else { "" };
        let (zone, visit, since) = (&own.zone, &own.visit, clock(own.since, asset.time));
        let title = if ix == 0 { "inside" } else { "" };
        row(page, title, &format!("{whose}{zone:<wide$}  since {since}  visit {visit}{dwell}"));
    }
    if let Some(more @ 1..) = asset.inside.len().checked_sub(ZONES_MAX) {
        row(page, "", &format!("and {more} more; see --json"));
    }
    for vote in asset.votes.iter().take(ZONES_MAX) {
        let title = if vote.entering { "entering" } else { "leaving" };
        let (zone, lapses) = (&vote.zone, clock(vote.lapses, asset.time));
        let votes = match (vote.votes, vote.needed) {
            // They must also span `confirm_for`.
            (votes, needed) if votes >= needed => format!("{votes} votes"),
            (votes, needed) => format!("{votes} of {needed} votes"),
        };
        let spans = asset.time.map_or(0.0, |now| (now - vote.first).secs_f64());
        row(page, title, &format!("{whose}{zone}  {votes} in {spans:.1} s, lapses {lapses}"));
    }
    if let Some(more @ 1..) = asset.votes.len().checked_sub(ZONES_MAX) {
        row(page, "", &format!("and {more} more votes; see --json"));
    }
}

fn delivery(page: &mut String, status: &Status) {
    let events = &status.events;
    let oldest = events.oldest_s.map_or_else(String::new, |s| format!(" (oldest {})", ago(s)));
    let (decided, waiting) = (grouped(events.decided), grouped(events.waiting));
    let (lost, dead) = (grouped(events.lost), grouped(events.dead_lettered));
    let text = format!(
        "{decided} decided   {waiting} waiting{oldest}   {lost} lost   {dead} dead-lettered"
    );
    row(page, "events", &text);
    if let Some(last) = &events.last {
        let acked = if events.last_acknowledged { "acknowledged" } else { "not yet acknowledged" };
        let today = status.assets.iter().filter_map(|asset| asset.time).max();
        row(page, "last", &format!("{}, {acked}", last_event(last, today)));
    }
    let uplink = &status.uplink;
    if uplink.kind == "none" {
        row(page, "uplink", "none: events stay here");
        return;
    }
    let ok = match uplink.ok_s_ago {
        Some(seconds) => format!("last ok {} ago", ago(seconds)),
        None => "never ok since the start".to_owned(),
    };
    let next = uplink.next_try_s.map_or_else(String::new, |s| format!("   next try in {}", ago(s)));
    row(page, "uplink", &format!("{}   {ok}{next}", server(&uplink.target)));
}

/// When, what, where, how sure.
fn last_event(event: &Event, today: Option<EventTime>) -> String {
    let body = &event.body;
    let time = event.time().or(body.recorded_at.map(EventTime::from_wall));
    let mut text = time.map_or_else(String::new, |time| format!("{} ", clock(time, today)));
    text.push_str(event.kind.name());
    match (&body.layer, &body.zone) {
        (Some(layer), Some(zone)) => text = format!("{text} {layer}/{zone}"),
        (Some(layer), None) => text = format!("{text} {layer}"),
        _ => {}
    }
    if let (Some(from), Some(to), Some(_)) = (body.not_before, body.not_after, body.at) {
        let _ = write!(text, " (±{:.1} s)", (to - from).secs_f64() / 2.0);
    }
    text
}

/// Scheme and host of an address: the rest is the same for a whole fleet.
fn server(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    format!("{scheme} {}", rest.split('/').next().unwrap_or(rest))
}

fn store(page: &mut String, status: &Status) {
    let store = &status.store;
    let (spool, max) = (size(store.spool_bytes), size(store.spool_max_bytes));
    row(page, "store", &format!("{}   stream {}", store.path, store.stream));
    row(page, "spool", &format!("{spool} of {max}"));
    let (written, slowest) = (size(store.written_bytes), store.slowest_commit_s);
    let (commits, fsyncs) = (counted(store.commits, "commit"), counted(store.fsyncs, "fsync"));
    let text = format!("{written} since the start, {commits}, {fsyncs}, slowest {slowest:.2} s");
    row(page, "flash", &text);
    row(page, "memory", &size(status.memory_bytes));
}

fn problems(page: &mut String, status: &Status, colour: bool) {
    if status.problems.is_empty() {
        return;
    }
    page.push('\n');
    let title = if status.problems.len() == 1 { "problem" } else { "problems" };
    for (ix, problem) in status.problems.iter().enumerate() {
        let name = if ix == 0 { title } else { "" };
        row(page, name, &paint(Colour::Red, &problem.what, colour));
        row(page, "", &format!("try: {}", problem.attempt));
    }
}

/// The time of day in UTC; with the date where it is another than `today`'s.
fn clock(time: EventTime, today: Option<EventTime>) -> String {
    let text = time.to_string();
    let (date, of_day) = (text.get(..10).unwrap_or(&text), text.get(11..19).unwrap_or_default());
    if today.is_none_or(|today| today.midnight() == time.midnight()) {
        of_day.to_owned()
    } else {
        format!("{date} {of_day}")
    }
}

/// A length of time in the two units that matter.
fn ago(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..10 => format!("{:.1} s", seconds.max(0.0)),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min", whole / 60),
        3600..86_400 => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// 18,234.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (ix, digit) in digits.chars().enumerate() {
        if ix > 0 && (digits.len() - ix).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things.
fn counted(number: u64, thing: &str) -> String {
    let plural = match (number, thing) {
        (1, _) => "",
        (_, "fix") => "es",
        _ => "s",
    };
    format!("{} {thing}{plural}", grouped(number))
}

/// Bytes with a unit.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => (1024, "KiB"),
        _ => (1_048_576, "MiB"),
    };
    match bytes % unit {
        0 => format!("{} {name}", grouped(bytes / unit)),
        _ => format!("{:.1} {name}", bytes as f64 / unit as f64),
    }
}

#[cfg(test)]
#[path = "status_screen_tests.rs"]
mod tests;
