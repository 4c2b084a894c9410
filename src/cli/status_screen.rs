//! The screen of `status`: worst first, nothing scrolls, every problem ends with what to do.

use std::fmt::Write as _;

use super::events;
use super::out::{Colour, paint};
use crate::logic::health::{AssetStatus, State, Status};

/// Assets on the screen; `--json` has more.
const ASSETS_MAX: usize = 5;
/// Lines of zones and votes an asset.
const ZONES_MAX: usize = 6;
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
    for source in &status.sources {
        let heard =
            source.heard_s_ago.map_or_else(|| "never".into(), |s| format!("{} ago", ago(s)));
        let state = if source.up { "open" } else { "closed" };
        let (name, kind, path) = (&source.name, &source.kind, &source.path);
        row(&mut page, "source", &format!("{name}  {kind} {path}  {state}, heard {heard}"));
    }
    rejected(&mut page, status);
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
    let _ = writeln!(page, "geofenced {}   {}   {state}", status.version, status.gateway);
    let down = status.down_s.map_or_else(String::new, |s| format!(", down {s} s"));
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
    if let Some(quality) = asset.time_quality {
        let name = serde_json::to_value(quality).ok();
        let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
        let _ = write!(text, "   {name} time");
    }
    if asset.stale {
        text.push_str(&paint(Colour::Yellow, "   STALE", colour));
    }
    row(page, "position", &text);
}

fn rejected(page: &mut String, status: &Status) {
    let counters = &status.counters;
    let total: u64 = counters.rejects.values().sum();
    let mut reasons: Vec<_> = counters.rejects.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1));
    let named: Vec<String> =
        reasons.iter().take(4).map(|(reason, n)| format!("{n} {}", reason.name())).collect();
    let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
    row(page, "rejected", &format!("{total} beside {} used fixes{named}", counters.fixes));
    if counters.chunks_lost > 0 {
        row(page, "", &format!("{} reads lost because the loop was behind", counters.chunks_lost));
    }
}

fn zones(page: &mut String, status: &Status) {
    let layers: Vec<String> = status
        .layers
        .iter()
        .map(|l| format!("{} in {} v{}", l.zones, l.layer, l.version))
        .collect();
    row(page, "zones", &layers.join(", "));
    for asset in status.assets.iter().take(ASSETS_MAX) {
        if asset.evaluating {
            row(page, "first", "evaluation pending: not all zones have answered");
        }
        for inside in asset.inside.iter().take(ZONES_MAX) {
            let dwell = if inside.dwell_sent { "  dwell sent" } else { "" };
            let (zone, since, visit) = (&inside.zone, inside.since, &inside.visit);
            row(page, "inside", &format!("{zone}  since {since}  visit {visit}{dwell}"));
        }
        let more = asset.inside.len().saturating_sub(ZONES_MAX);
        if more > 0 {
            row(page, "", &format!("and {more} more; see --json"));
        }
        for vote in asset.votes.iter().take(ZONES_MAX) {
            let name = if vote.entering { "entering" } else { "leaving" };
            let (zone, votes, needed) = (&vote.zone, vote.votes, vote.needed);
            let lapses = vote.lapses;
            row(page, name, &format!("{zone}  {votes} of {needed} votes, lapses {lapses}"));
        }
    }
    let more = status.assets.len().saturating_sub(ASSETS_MAX);
    if more > 0 {
        row(page, "", &format!("and {more} more assets; see --json"));
    }
}

fn delivery(page: &mut String, status: &Status) {
    let events = &status.events;
    let oldest = events.oldest_s.map_or_else(String::new, |s| format!(" (oldest {})", ago(s)));
    let (decided, waiting) = (events.decided, events.waiting);
    let (lost, dead) = (events.lost, events.dead_lettered);
    let text = format!(
        "{decided} decided   {waiting} waiting{oldest}   {lost} lost   {dead} dead-lettered"
    );
    row(page, "events", &text);
    if let Some(last) = &events.last {
        let acked = if events.last_acknowledged { "acknowledged" } else { "not yet acknowledged" };
        row(page, "last", &format!("{}, {acked}", events::human(last).trim_start()));
    }
    let uplink = &status.uplink;
    let ok = uplink.ok_s_ago.map_or_else(|| "never".into(), |s| format!("{} ago", ago(s)));
    let next = uplink.next_try_s.map_or_else(String::new, |s| format!("   next try in {}", ago(s)));
    if uplink.kind == "none" {
        row(page, "uplink", "none: events stay here");
    } else {
        row(page, "uplink", &format!("{} {}   last ok {ok}{next}", uplink.kind, uplink.target));
    }
}

fn store(page: &mut String, status: &Status) {
    let store = &status.store;
    let (path, stream) = (&store.path, &store.stream);
    let (spool, max) = (size(store.spool_bytes), size(store.spool_max_bytes));
    row(page, "store", &format!("{path}   stream {stream}   spool {spool} of {max}"));
    let (written, slowest) = (size(store.written_bytes), store.slowest_commit_s);
    let text = format!(
        "{written} since the start, {} fsyncs, {} commits, slowest {slowest:.2} s",
        store.fsyncs, store.commits
    );
    row(page, "flash", &text);
    row(page, "memory", &size(status.memory_bytes));
}

fn problems(page: &mut String, status: &Status, colour: bool) {
    if status.problems.is_empty() {
        return;
    }
    page.push('\n');
    let count = status.problems.len();
    let title = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
    for (ix, problem) in status.problems.iter().enumerate() {
        let name = if ix == 0 { title.as_str() } else { "" };
        row(page, name, &paint(Colour::Red, &problem.what, colour));
        row(page, "", &format!("try: {}", problem.attempt));
    }
}

/// A length of time in the two units that matter.
fn ago(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..60 if seconds < 10.0 => format!("{:.1} s", seconds.max(0.0)),
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min", whole / 60),
        3600..86_400 => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
        _ => format!("{} d {} h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// Bytes with a unit.
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
