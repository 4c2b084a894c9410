//! `events`: committed events, from the running daemon or from a store.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::out::Out;
use super::{CliError, DaemonArg, Exit, status};
use crate::edge::control;
use crate::logic::event::{Event, Lane};
use crate::store::{EventQuery, ReadOnly, StoreError};
use crate::units::EventTime;

/// Without `-n`: a screen.
const COUNT_DEFAULT: u32 = 20;

/// As many as the daemon gives at a time.
fn count_range() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(control::EVENTS_MAX))
}

/// Arguments of `events`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Which daemon to ask.
    #[command(flatten)]
    pub daemon: DaemonArg,
    /// At most the last N [default: 20].
    #[arg(short = 'n', value_name = "N", value_parser = count_range())]
    pub count: Option<u32>,
    /// Go on printing as they are committed.
    #[arg(long, conflicts_with = "store")]
    pub follow: bool,
    /// Only those confirmed at or after this time (RFC 3339).
    #[arg(long, value_name = "TIME")]
    pub since: Option<EventTime>,
    /// Only those of one zone: `layer/zone`, or a zone id of any layer.
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// Print the flat record as JSON, one a line.
    #[arg(long)]
    pub json: bool,
    /// Read this store file instead of asking the daemon.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["config", "socket"])]
    pub store: Option<PathBuf>,
}

/// Runs it.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let mut out = Out::new();
    if let Some(store) = &args.store {
        print(&mut out, &stored(args, store)?, args.json)?;
        out.finish()?;
        return Ok(Exit::Ok);
    }
    let socket = status::socket(&args.daemon)?;
    let mut events = asked(args, &socket, args.count.unwrap_or(COUNT_DEFAULT), None)?;
    print(&mut out, &events, args.json)?;
    let mut last = events.last().map(|event| event.seq);
    if !args.follow {
        out.finish()?;
        return Ok(Exit::Ok);
    }
    loop {
        out.flush()?;
        events = asked(args, &socket, control::EVENTS_MAX, last.or(Some(0)))?;
        print(&mut out, &events, args.json)?;
        last = events.last().map(|event| event.seq).or(last);
    }
}

fn stored(args: &Args, path: &Path) -> Result<Vec<Event>, CliError> {
    let fault = |error: StoreError| {
        let exit = match &error {
            StoreError::NotAllowed(_) => Exit::NoPermission,
            StoreError::InUse(_) => Exit::TempFail,
            _ if !path.exists() => Exit::NoInput,
            _ => Exit::Data,
        };
        CliError::new(exit, error.to_string())
    };
    let store = ReadOnly::open(path).map_err(fault)?;
    let query = EventQuery {
        max: args.count.unwrap_or(COUNT_DEFAULT) as usize,
        after: None,
        since: args.since,
        zone: args.zone.clone(),
    };
    Ok(store.events(Lane::Events, &query).map_err(fault)?.events)
}

fn asked(
    args: &Args,
    socket: &Path,
    count: u32,
    after: Option<u64>,
) -> Result<Vec<Event>, CliError> {
    let mut path = format!("/v1/events?n={count}");
    for (key, value) in [
        ("since", args.since.map(|since| since.to_string())),
        ("zone", args.zone.clone()),
        ("after", after.map(|seq| seq.to_string())),
        ("wait", after.map(|_| control::WAIT_S_MAX.to_string())),
    ] {
        if let Some(value) = value {
            let _ = write!(path, "&{key}={}", control::encode(&value));
        }
    }
    status::ask(socket, &path)
}

fn print(out: &mut Out, events: &[Event], json: bool) -> Result<(), CliError> {
    for event in events {
        out.line(&if json { event.to_json() } else { human(event) })?;
    }
    Ok(())
}

/// One event as a line for people: when, what, where, how sure.
pub(super) fn human(event: &Event) -> String {
    let body = &event.body;
    let time = event.time().map_or_else(
        || body.recorded_at.map_or_else(|| "-".to_owned(), |wall| format!("({wall})")),
        |time| time.to_string(),
    );
    let mut line = format!("{:>6}  {time:<30} {:<26}", event.seq, event.kind.name());
    if let (Some(layer), Some(zone)) = (&body.layer, &body.zone) {
        let _ = write!(line, " {layer}/{zone}");
    } else if let (Some(layer), Some(version)) = (&body.layer, body.layer_version) {
        let _ = write!(line, " {layer} v{version}");
    }
    if let Some(cause) = body.cause.as_deref().or(body.start.as_ref().map(|s| s.cause.as_str())) {
        let _ = write!(line, " ({cause})");
    }
    if let Some(gap) = &body.gap {
        let _ = write!(line, " between {} and {}", gap.from, gap.to);
    }
    if let Some(seconds) = body.duration_s {
        let _ = write!(line, " after {seconds} s");
    }
    line.trim_end().to_owned()
}
