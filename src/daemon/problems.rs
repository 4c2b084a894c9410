//! What needs attention, worst first, and what to do about each.
//!
//! Does not know: how it is shown.

use super::report::{Known, Report};
use crate::logic::engine::Engine;
use crate::logic::gnss::trust::Degraded;
use crate::logic::health::{Problem, RecordStatus, SourceState, Status};
use crate::logic::uplink::{Cause, Failure, Trouble};
use crate::units::BootTime;

/// Events over the ceiling of latency before it is a problem.
const OVER_MIN: u64 = 3;

/// That the record's disk did not keep up is a problem for so long.
const BEHIND_TOLD_S: f64 = 600.0;

/// The problems so far.
#[derive(Default)]
struct Found(Vec<Problem>);

impl Found {
    fn add(&mut self, what: String, attempt: &str) {
        self.0.push(Problem { what, attempt: attempt.to_owned() });
    }
}

/// Everything that needs attention.
pub(super) fn all(
    report: &Report,
    status: &Status,
    engine: &Engine,
    now: BootTime,
) -> Vec<Problem> {
    let mut found = Found::default();
    if let Some(error) = &report.store_error {
        found.add(format!("store: {error}"), "df -h; mount | grep -w ro");
    }
    if let Some(why) = &report.reload_refused {
        let first = why.lines().next().unwrap_or_default();
        let what = format!("the config or a layer on disk was refused, the old one runs: {first}");
        found.add(what, "geofenced config check; then reload. A restart would stay down");
    }
    of_sources(report, status, now, &mut found);
    of_clocks(engine, &mut found);
    for (layer, before, version) in engine.layers_not_grown() {
        let what = format!("layer {layer} was changed but its version went {before} -> {version}");
        found.add(what, "raise `version` in the layer file with every change");
    }
    of_latency(status, &mut found);
    if let Some(trouble) = &report.uplink.trouble {
        found.add(format!("uplink: {}", trouble.text), of_uplink(trouble));
    }
    if let Some(record) = &status.record {
        of_record(record, &mut found);
    }
    found.0
}

/// Nothing else suffers where the record does: it comes last.
fn of_record(record: &RecordStatus, found: &mut Found) {
    let (dir, dropped) = (&record.dir, record.dropped);
    if let Some(Problem { what, attempt }) = &record.trouble {
        found.add(format!("record: {what}; {dropped} entries dropped so far"), attempt);
    } else if record.behind_s_ago.is_some_and(|ago_s| ago_s < BEHIND_TOLD_S) {
        let what = format!("record: the disk of {dir} does not keep up; {dropped} entries dropped");
        found.add(what, "use a faster or less busy disk, or unset [record] dir");
    }
}

fn of_sources(report: &Report, status: &Status, now: BootTime, found: &mut Found) {
    for (own, told) in report.sources.iter().zip(&status.sources) {
        let name = &own.status.name;
        if let Some(why) = &own.status.why {
            found.add(format!("source {name}: {why}"), &look_at(own));
        } else if !own.status.up {
            found.add(format!("source {name} is not open yet"), "wait, or see the log");
        } else if own.heard.is_none_or(|at| now - at > own.silence_after) {
            let what = format!("source {name} is open but silent");
            let serial = own.status.kind == "serial";
            let baud = if serial { " and the baud rate" } else { ", and who sends" };
            found.add(what, &format!("check the receiver's power{baud}"));
        } else if let Some(Problem { what, attempt }) = &own.trouble {
            found.add(format!("source {name}: {what}"), attempt);
        } else if told.state == SourceState::Garbled && told.sentences > 0 {
            let what = format!("source {name} is garbled: more lines are broken than whole");
            found.add(what, "see who else reads it (fuser); check the baud rate and the wiring");
        } else if told.sentences == 0 {
            let (what, attempt) = if own.status.kind == "jsonl" || own.status.kind == "gpsd" {
                ("no record", "look at what it sends; README's Configure has a line that is one")
            } else {
                (
                    "no sentence",
                    "check the baud rate, and that it speaks NMEA; another reader garbles",
                )
            };
            found.add(format!("source {name} sends bytes, but {what} among them"), attempt);
        }
    }
    let no_fix = status.assets.iter().all(|asset| asset.heard_s_ago.is_none());
    if no_fix && status.counters.sentences > 0 {
        let what = "no usable fix since the start".to_owned();
        found.add(what, "check the antenna; see `rejected` for the reasons");
    }
}

/// The stated ceiling: a fix that makes an event is on disk within its window and 1.1 s.
fn of_latency(status: &Status, found: &mut Found) {
    let (durable, max_s) = (&status.latency.durable, status.latency.durable_p99_max_s);
    let over = durable.buckets.iter().filter(|b| b.to_s.is_none_or(|to_s| to_s > max_s));
    let over: u64 = over.map(|bucket| bucket.count).sum();
    // One slow commit in a quiet week is no problem to lose sleep over.
    if let Some(p99_s) = durable.p99_s.filter(|p99_s| *p99_s > max_s && over >= OVER_MIN) {
        let what = format!("1 in 100 events took {p99_s:.1} s to the disk, over {max_s:.1} s");
        found.add(what, "see `slowest` under flash; a worn or busy disk, or too little CPU");
    }
}

/// How one looks at a source that is down.
fn look_at(own: &Known) -> String {
    let target = &own.status.path;
    match own.status.kind.as_str() {
        "gpsd" => "systemctl status gpsd; gpspipe -w".to_owned(),
        "tcp" => format!("check the network and what serves {target}"),
        "udp" | "jsonl" if target.contains(':') => format!("ss -lnp | grep {target}"),
        _ => format!("ls -l {target}"),
    }
}

/// Different troubles call for different people.
fn of_uplink(trouble: &Trouble) -> &'static str {
    match trouble.cause {
        Cause::NotAllowed => "check [uplink] token_file; a reload tries at once",
        Cause::AskedToWait => "wait: the server asked for it",
        Cause::Status(_) | Cause::RefusesAll | Cause::NothingAcknowledged => {
            "ask whoever runs the server; see its log"
        }
        Cause::Store => "df -h; see the log",
        Cause::Unreachable(Failure::Tls) => "check ca_file and the date; see the log",
        Cause::Unreachable(_) => "check the address, the network and the files of [uplink]",
    }
}

/// What receivers' clocks need (TIME-2, TIME-5, TIME-6).
fn of_clocks(engine: &Engine, found: &mut Found) {
    for (asset, source, why) in engine.clock_troubles() {
        let (what, attempt) = match why {
            Degraded::NoDate => (
                "sends no date, and the system clock is not synchronised: its fixes wait",
                "switch RMC or ZDA on in the receiver, or let chrony set the clock",
            ),
            Degraded::FloorConflict => (
                "insists on a time that release date, stored time or [time] floor forbid; it is believed",
                "check the system's and the receiver's date; correct [time] floor",
            ),
            Degraded::Held => (
                "has no time that can be trusted yet: its fixes wait",
                "wait for its first fixes, or check the receiver's date",
            ),
        };
        found.add(format!("source {source} of {asset} {what}"), attempt);
    }
}
