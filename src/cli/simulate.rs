//! `simulate`: a drive that never was, as a receiver would tell it, and the truth about it.
//!
//! Always holds: the same arguments give the same bytes, on every machine (INV-7): no clock is
//! read, and all chance comes from the seed. Does not know: what is decided on it.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exit::plain;
use super::out::Out;
use super::shipped::ZONES;
use super::{CliError, Exit, Verbosity, run};
use crate::daemon;
use crate::logic::config::{Decide, RELEASE_DATE};
use crate::logic::geometry::Shape;
use crate::logic::simulate::receiver::Epoch;
use crate::logic::simulate::route::CLEAR_M;
use crate::logic::simulate::rows;
use crate::logic::simulate::scenario::{Outline, Scenario};
use crate::logic::simulate::sentences::{Quality, sentences};
use crate::logic::simulate::truth::Truth;
use crate::logic::zones::{Layer, parse_layer};
use crate::units::{AssetId, EventTime, Span};

/// Arguments of `simulate`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Where chance begins: the same seed gives the same bytes.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Zone files to drive through and past [default: those shipped in zones/].
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub zones: Vec<PathBuf>,
    /// What the drive is like.
    #[arg(long, value_name = "NAME", value_parser = scenarios(), default_value = "open-sky")]
    pub scenario: String,
    /// Epochs a second, 0.01 to 25.
    #[arg(long, value_name = "HZ", default_value = "1", value_parser = rate)]
    pub rate: Rate,
    /// How long it takes, 1 to 10080.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = minutes())]
    pub minutes: u32,
    /// How to write it.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Nmea)]
    pub format: Format,
    /// Whom CSV is about.
    #[arg(long, value_name = "ID", default_value = "simulated", value_parser = asset)]
    pub asset: AssetId,
    /// Write it to this file instead of standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the true crossings to this file, as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// How much is said.
    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// How `simulate` writes epochs.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// RMC, GGA and GST.
    Nmea,
    /// Rows that `replay` reads.
    Csv,
}

/// From one epoch to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate(Span);

/// The day of the release at noon: a drive has a date, and no clock is asked for it.
const BEGAN: EventTime = EventTime::from_nanos(RELEASE_DATE.nanos() + 43_200_000_000_000);

/// Sentences carry hundredths of a second: an interval is a whole number of them.
const TICK: Span = Span::from_millis(10);

/// Some ways lead past a zone, some cut its edge.
const ASIDE: f64 = 1.1;

/// A week.
const MINUTES_MAX: i64 = 10_080;

fn scenarios() -> clap::builder::PossibleValuesParser {
    Scenario::ALL.map(|(_, name)| name).into()
}

fn minutes() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=MINUTES_MAX)
}

fn rate(text: &str) -> Result<Rate, String> {
    let hz: f64 = text.parse().map_err(|_| "write a number such as 5 or 0.2".to_owned())?;
    if !(0.01..=25.0).contains(&hz) {
        return Err("it must be 0.01 to 25 Hz".to_owned());
    }
    let ticks = (1.0 / hz / TICK.secs_f64()).round();
    Ok(Rate(TICK.times(ticks as i64)))
}

fn asset(text: &str) -> Result<AssetId, String> {
    AssetId::new(text).map_err(|error| error.to_string())
}

/// Runs it.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let layers = layers(&args.zones)?;
    let zones = layers.iter().flat_map(|layer| &layer.zones);
    let shapes: Vec<&Shape> = zones.map(|zone| &zone.shape).collect();
    if shapes.is_empty() {
        let message = "the zone files hold no zone to drive to";
        return Err(CliError::new(Exit::Data, message));
    }
    let named = Scenario::ALL.into_iter().find(|(_, name)| *name == args.scenario);
    let (scenario, _) = named.ok_or(CliError::new(Exit::Usage, "no such scenario"))?;
    let length = Span::from_secs(60).times(i64::from(args.minutes));
    let (interval, seed) = (args.rate.0, args.seed);
    let outline = Outline { interval, length, aside: ASIDE, clear_m: CLEAR_M, seed };
    let plan = scenario.plan(&shapes, outline);
    let crossings = match &args.truth {
        Some(path) => {
            let truths = Truth::of(&plan.drive, BEGAN, layers.iter().map(|layer| &**layer));
            write(path, rows::truth_lines(&truths).as_bytes())?;
            Some(truths.iter().map(|truth| truth.crossings.len()).sum::<usize>())
        }
        None => None,
    };
    let epochs = plan.receiver.epochs(&plan.drive, BEGAN, plan.chance.clone());
    let count = emit(args, epochs)?;
    if args.verbosity.verbose > 0 || io::stderr().is_terminal() {
        let told = crossings.map_or_else(String::new, |n| format!(", {n} true crossings"));
        let seed = args.seed;
        CliError::new(Exit::Ok, format!("{count} epochs{told}; seed {seed}")).say();
    }
    Ok(Exit::Ok)
}

/// Everything to where it belongs. Says how many epochs there were.
fn emit(args: &Args, epochs: impl Iterator<Item = Epoch>) -> Result<u64, CliError> {
    let Some(path) = &args.output else {
        let mut out = Out::new();
        let count = each(args, epochs, &mut |text| out.bytes(text))?;
        out.finish()?;
        return Ok(count);
    };
    let failed = |error: io::Error| cannot_write(path, &error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let count = each(args, epochs, &mut |text| file.write_all(text).map_err(failed))?;
    file.flush().map_err(failed)?;
    Ok(count)
}

/// Every epoch as text.
fn each(
    args: &Args,
    epochs: impl Iterator<Item = Epoch>,
    write: &mut impl FnMut(&[u8]) -> Result<(), CliError>,
) -> Result<u64, CliError> {
    if args.format == Format::Csv {
        write(rows::HEADER.as_bytes())?;
    }
    let mut count = 0;
    for epoch in epochs {
        let text = match args.format {
            Format::Nmea => sentences(&epoch, Quality::Deviations),
            Format::Csv => rows::row(&epoch, &args.asset),
        };
        write(text.as_bytes())?;
        count += 1;
    }
    Ok(count)
}

fn layers(paths: &[PathBuf]) -> Result<Vec<Arc<Layer>>, CliError> {
    let decide = Decide::default();
    if !paths.is_empty() {
        let patterns: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
        return daemon::read_layers(&patterns, &decide).map_err(|error| run::explain(&error));
    }
    let shipped = ZONES.iter().map(|(name, text)| {
        let checked = parse_layer(text.as_bytes(), &decide);
        checked
            .map(|checked| Arc::new(checked.layer))
            .map_err(|faults| CliError::new(Exit::Software, format!("{name}: {faults:?}")))
    });
    shipped.collect()
}

fn write(path: &Path, text: &[u8]) -> Result<(), CliError> {
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &io::Error) -> CliError {
    let exit = match error.kind() {
        io::ErrorKind::PermissionDenied => Exit::NoPermission,
        _ => Exit::TempFail,
    };
    CliError::new(exit, format!("cannot write {}: {}", path.display(), plain(error)))
}
