//! `demo`: all of it on this machine, without hardware: a simulated receiver, the shipped zones, a
//! loopback server, and the real daemon, which is killed twice.
//!
//! Always holds: nothing leaves this machine and nothing of it stays; it exits 0 iff every check
//! at its end holds. Does not know: how anything is decided.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::out::Colour;
use super::{CliError, Exit, Verbosity};
use crate::logic::event::{Kind, Lane};
use crate::store::{EventQuery, ReadOnly, StoreError};

mod drive;
mod stage;
mod tell;
mod verdict;

use stage::{Stage, Who};

/// Arguments of `demo`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// How much is said.
    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// The plot, in metres east of the depot's west fence.
const BEGIN_M: f64 = -120.0;
/// Still clearly outside of the depot.
const BEFORE_DEPOT_M: f64 = -40.0;
/// In the middle of the depot.
const IN_DEPOT_M: f64 = 80.0;
/// At the customer's door, 57 m before the far side of the circle.
const AT_CUSTOMER_M: f64 = 514.0;
/// Beyond the customer by more than any margin and accuracy.
const BEYOND_CUSTOMER_M: f64 = 610.0;
/// Where the street ends.
const END_M: f64 = 720.0;
/// How long the first death lasts at least.
const DEAD_S: f64 = 1.5;

const DEPOT: &str = "depots/nord";
const ROAD: &str = "roads/ring-road";
const CUSTOMER: &str = "customers/0815";

/// What breaks where this is done otherwise.
const ELSEWHERE: [&str; 5] = [
    "zones kept in memory only: a second entry into depots/nord after the first kill, or no exit",
    "crossings sent before they are on disk: those under way at a kill are gone, and nobody knows",
    "sent, then forgotten: the lost answer would have cost the exit, or given it twice",
    "outside again after the second kill, so no exit: the van would be at customers/0815 for ever",
    "an exit made up at the time of the restart: an invoice with a wrong time and no warning",
];

/// Runs it.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let mut stage = Stage::set(BEGIN_M, args.verbosity.verbose > 0)?;
    prologue(&mut stage)?;
    first_kill(&mut stage)?;
    second_kill(&mut stage)?;
    epilogue(&mut stage)
}

fn prologue(stage: &mut Stage) -> Result<(), CliError> {
    let address = stage.server_address();
    stage.line(&format!(
        "A van drives past the shipped zones. Its receiver is simulated, on a pseudo-terminal; the\n\
         daemon is the real one; the server listens on {address}. The daemon is killed twice.\n\
         Takes about 45 s. Times are seconds since the start, by the receiver's clock.\n"
    ))?;
    stage.say(Who::Demo, "starts the daemon")?;
    stage.start_daemon()?;
    stage.say(Who::Vehicle, "starts 120 m west of depots/nord, eastwards at 72 km/h")?;
    stage.go_to(BEFORE_DEPOT_M);
    stage.until("the server hears of the first evaluation", |stage| {
        stage.count(Kind::AssetReconciled) == 1
    })
}

/// Killed inside of a zone and started again there.
fn first_kill(stage: &mut Stage) -> Result<(), CliError> {
    stage.go_to(IN_DEPOT_M);
    stage.until("the server has the entry into the depot", |stage| {
        stage.has(Kind::FenceEntry, DEPOT)
    })?;
    stage.kill_daemon()?;
    let since_s = stage.now_s();
    stage.until("some time has passed", |stage| stage.now_s() - since_s >= DEAD_S)?;
    stage.say(Who::Demo, "starts the daemon again; what the receiver sent meanwhile is lost")?;
    stage.start_daemon()?;
    stage.until("the server has the dwell", |stage| stage.has(Kind::FenceDwell, DEPOT))?;
    stage.say(Who::Demo, "the server will store the next batch, but its answer gets lost")?;
    stage.lose_an_answer();
    stage.go_to(AT_CUSTOMER_M);
    stage.until("the server has the exit from the depot", |stage| {
        stage.has(Kind::FenceExit, DEPOT)
    })?;
    stage.until("the server has the toll road", |stage| {
        stage.has(Kind::FenceEntry, ROAD) && stage.has(Kind::FenceExit, ROAD)
    })
}

/// Killed inside of a zone and started again outside.
fn second_kill(stage: &mut Stage) -> Result<(), CliError> {
    stage.until("the server has the entry at the customer's", |stage| {
        stage.has(Kind::FenceEntry, CUSTOMER)
    })?;
    stage.kill_daemon()?;
    stage.go_to(END_M);
    stage.until("the van has left the customer", |stage| stage.x_m() >= BEYOND_CUSTOMER_M)?;
    let x_m = stage.x_m();
    let text = format!("starts the daemon again; the vehicle is at {x_m:.0} m, gone from the zone");
    stage.say(Who::Demo, &text)?;
    let starts = stage.count(Kind::AssetReconciled);
    stage.start_daemon()?;
    stage.until("the server has the exit that nobody saw", |stage| {
        stage.has(Kind::FenceExit, CUSTOMER) && stage.count(Kind::AssetReconciled) > starts
    })
}

/// Stops the daemon and holds what the server has against the truth.
fn epilogue(stage: &mut Stage) -> Result<Exit, CliError> {
    let status = stage.status()?;
    let inside: BTreeSet<String> =
        status.assets.iter().flat_map(|a| a.inside.iter().map(|i| i.zone.clone())).collect();
    stage.say(Who::Demo, "asks the daemon where the van is, then stops it with SIGTERM")?;
    stage.stop_daemon()?;
    let (decided, waiting) = left_behind(stage, status.events.decided)?;
    let story = stage.story(decided, waiting, inside)?;
    stage
        .line("\nWhat the server has, held against the truth and against what the daemon knows")?;
    let mut wrong = String::new();
    for check in story.checks() {
        match check {
            Ok(text) => stage.coloured(Colour::Green, &format!("  ok     {text}"))?,
            Err(text) => {
                stage.coloured(Colour::Red, &format!("  WRONG  {text}"))?;
                let _ = writeln!(wrong, "check failed: {text}");
            }
        }
    }
    if !wrong.is_empty() {
        return Err(CliError::new(Exit::Software, wrong.trim_end()));
    }
    stage.line("\nWhat would have gone wrong elsewhere")?;
    for text in ELSEWHERE {
        stage.line(&format!("  {text}"))?;
    }
    let took_s = stage.now_s();
    stage.line(&format!("\nDone in {took_s:.0} s; everything it made is removed."))?;
    Ok(Exit::Ok)
}

/// The last number and how many events wait, read from the store that the daemon left. What was
/// acknowledged is deleted there, so the last number may be known from `told` only.
fn left_behind(stage: &Stage, told: u64) -> Result<(u64, u64), CliError> {
    let read = || {
        let store = ReadOnly::open(&stage.store())?;
        let query = EventQuery { max: 1, after: None, since: None, zone: None };
        Ok((store.events(Lane::Events, &query)?.events, store.waiting(Lane::Events)?))
    };
    let (events, waiting) =
        read().map_err(|error: StoreError| CliError::new(Exit::Software, error.to_string()))?;
    Ok((events.last().map_or(told, |event| event.seq.max(told)), waiting))
}
