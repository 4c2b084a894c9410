//! `replay`: recorded drives through the same engine, without a store.
//!
//! Always holds: what is printed is what a daemon with `trust = "fixes"` would decide on the same
//! input. Inputs are read one after the other as one drive; NMEA belongs to one asset.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};

use super::out::Out;
use super::replay_fleet::Fleet;
use super::replay_input::{self, BoundedLines};
use super::replay_record::Live;
use super::{CliError, ConfigArg, Exit, Verbosity, config_files, replay_print, replay_record, run};
use crate::daemon::{self, REPLAY_RECEIVED, REPLAY_TRUSTED};
use crate::logic::config::{Config, ConfigFile};
use crate::logic::engine::{Engine, Input, Step};
use crate::logic::gnss::record::{self, Record};
use crate::logic::health::Counters;
use crate::logic::recorder;
use crate::units::{BootTime, EventTime};

/// Arguments of `replay`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Recordings: NMEA, CSV or JSON lines, whatever the name; - is standard input.
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Zone files, one layer each; needed unless fixes are printed.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub zones: Vec<PathBuf>,
    /// Take [decide], [time] and the rest from this config instead of the defaults.
    #[command(flatten)]
    pub config: ConfigArg,
    /// What to print.
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Print::Events)]
    pub print: Print,
    /// How to print it.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Jsonl)]
    pub format: Format,
    /// Undo a week rollover: times more than five years before this date (2026-01-01, or RFC 3339).
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    pub floor: Option<EventTime>,
    /// Share the assets out over so many threads; the output is the same.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = jobs())]
    pub jobs: u16,
    /// How much is said.
    #[command(flatten)]
    pub verbosity: Verbosity,
}

/// More threads than any machine has that replays would only wait for each other.
const JOBS_MAX: i64 = 64;

fn jobs() -> clap::builder::RangedI64ValueParser<u16> {
    clap::value_parser!(u16).range(1..=JOBS_MAX)
}

/// What `replay` prints.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Print {
    /// What was decided: entries, exits and the rest.
    Events,
    /// What it was decided on: each fix, and why it was used or not.
    Fixes,
}

/// How `replay` prints it.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Flat JSON, one record a line.
    Jsonl,
    /// CloudEvents JSON, one a line.
    Cloudevents,
    /// Comma-separated with a header.
    Csv,
}

/// What a replay without `--config` runs with: the defaults.
const DEFAULT_CONFIG: &str = "[gateway]\nid = \"replay\"\n[[source]]\nname = \"replay\"\n\
    kind = \"file\"\npath = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";

/// A read of an input.
const CHUNK_BYTES: usize = 64 * 1024;

/// A progress bar is for inputs that take a while.
const BAR_FROM_BYTES: u64 = 16 * 1024 * 1024;

/// A date, or a time by RFC 3339.
fn parse_date(text: &str) -> Result<EventTime, String> {
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    whole.parse().map_err(|_| "write it as 2026-01-01 or 2026-01-01T00:00:00Z".to_owned())
}

/// Runs it.
pub fn run(args: &Args) -> Result<Exit, CliError> {
    let usage = |message: &str| Err(CliError::new(Exit::Usage, message));
    if args.inputs.is_empty() {
        return usage(
            "no INPUT is given; inputs go before --zones: \
             geofenced replay drive.nmea --zones zones.geojson",
        );
    }
    if args.zones.is_empty() && args.print == Print::Events {
        return usage("events need zones: give --zones FILE, or --print fixes");
    }
    if args.print == Print::Fixes && args.format == Format::Cloudevents {
        return usage("fixes are no CloudEvents: use --format jsonl or csv with --print fixes");
    }
    let mut config = config(args)?;
    config.time.floor = args.floor.or(config.time.floor);
    let patterns: Vec<String> = args.zones.iter().map(|p| p.display().to_string()).collect();
    let explain = |error| run::explain(&error);
    let layers = daemon::read_layers(&patterns, &config.decide).map_err(|error| {
        let hint =
            args.zones.iter().find(|path| is_recording(path)).map(|path| {
                format!("\n{} is a recording: inputs go before --zones", path.display())
            });
        let CliError { exit, message } = explain(error);
        CliError::new(exit, message + &hint.unwrap_or_default())
    })?;
    let gateway = daemon::identity(&config.gateway.id).map_err(explain)?;
    let setup = daemon::replay_setup(&config, &gateway, args.print == Print::Fixes);
    let mut replay = Replay {
        deciding: Deciding::One(Box::new(Engine::replay(setup.clone(), &layers))),
        jobs: usize::from(args.jobs),
        live: Live::new(setup, layers),
        printer: replay_print::Printer::new(args.print, args.format, Out::new()),
        bad_lines: 0,
        bad_line: None,
    };
    replay.printer.header()?;
    for input in &replay_record::in_order(&args.inputs) {
        if let Err(error) = replay.read(input) {
            // What came before the fault is told first, as one thread tells it.
            let rest = replay.deciding.rest();
            let _ = replay.printer.step(&rest);
            return Err(error);
        }
    }
    replay.recorded_all()?;
    replay.finish(args)
}

fn config(args: &Args) -> Result<Config, CliError> {
    let files = match &args.config.config {
        Some(path) => config_files::gather(Some(path))?,
        None => vec![ConfigFile::new("built-in", DEFAULT_CONFIG)],
    };
    Ok(config_files::load(&files)?.config)
}

/// Whether a file given as zones is a drive.
fn is_recording(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let first = File::open(path).and_then(|mut file| replay_input::first_bytes(&mut file));
    let format = first.ok().and_then(|first| record::Format::sniff(&first));
    matches!(format, Some(record::Format::Nmea | record::Format::Csv))
}

/// One engine, or several that together are one.
pub(super) enum Deciding {
    One(Box<Engine>),
    Many(Box<Fleet>),
}

impl Deciding {
    pub(super) fn step(&mut self, input: Input<'_>) -> Step {
        match self {
            Self::One(engine) => engine.step(input),
            Self::Many(fleet) => fleet.step(input),
        }
    }

    /// What is still to come.
    fn rest(&mut self) -> Step {
        match self {
            Self::One(_) => Step::default(),
            Self::Many(fleet) => fleet.rest(),
        }
    }

    fn counters(self) -> Counters {
        match self {
            Self::One(engine) => engine.counters(),
            Self::Many(fleet) => fleet.counters(),
        }
    }
}

pub(super) struct Replay {
    pub(super) deciding: Deciding,
    jobs: usize,
    pub(super) live: Live,
    pub(super) printer: replay_print::Printer,
    bad_lines: u64,
    bad_line: Option<String>,
}

/// What reads an input, and its length where that is known.
type Opened = (Box<dyn Read>, Option<u64>);

fn open(path: &Path) -> Result<Opened, CliError> {
    if path == Path::new("-") {
        return Ok((Box::new(io::stdin().lock()), None));
    }
    let reading = |error: io::Error| CliError::reading(path, &error);
    let file = File::open(path).map_err(reading)?;
    let meta = file.metadata().map_err(reading)?;
    if meta.is_dir() {
        let message = format!("{} is a directory; give the files in it", path.display());
        return Err(CliError::new(Exit::NoInput, message));
    }
    Ok((Box::new(file), meta.is_file().then_some(meta.len())))
}

impl Replay {
    fn read(&mut self, path: &Path) -> Result<(), CliError> {
        let (source, length) = open(path)?;
        let bar = bar(length);
        let mut source: Box<dyn Read> = match &bar {
            Some(bar) => Box::new(bar.wrap_read(source)),
            None => source,
        };
        let first = replay_input::first_bytes(&mut source)
            .map_err(|error| CliError::reading(path, &error))?;
        if first.is_empty() {
            return Ok(());
        }
        let format = record::Format::sniff(&first);
        let mut reader = BufReader::with_capacity(CHUNK_BYTES, first.as_slice().chain(source));
        if recorder::is_record(&first) {
            return self.recorded(&mut reader, path);
        }
        if recorder::is_torn(&first) {
            replay_record::torn(path, 1);
            return Ok(());
        }
        if self.live.sources > 0 {
            let why = "follows a record; a record is replayed alone, or with others of its sources";
            return Err(CliError::new(Exit::Data, format!("{} {why}", path.display())));
        }
        self.share_out();
        self.live.began = true;
        match format {
            Some(record::Format::Nmea) => self.nmea(&mut reader, path)?,
            Some(record::Format::Csv) => self.csv(&mut reader, path)?,
            Some(record::Format::JsonLines) => self.json_lines(&mut reader, path)?,
            None => {
                let what = "is neither NMEA, nor CSV with a header `asset,time,lat,lon`, nor \
                    JSON lines with these keys";
                let message = format!("{} {what}", path.display());
                return Err(CliError::new(Exit::Data, message));
            }
        }
        for source in [REPLAY_TRUSTED, REPLAY_RECEIVED] {
            let step =
                self.deciding.step(Input::End { source, at: BootTime::from_nanos(i64::MAX) });
            self.printer.step(&step)?;
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        Ok(())
    }

    /// Before the first fix: assets go to as many threads as were asked for. What `record` wrote
    /// stays on one, because its sources are about one gateway.
    fn share_out(&mut self) {
        if let (Deciding::One(engine), false, 2..) = (&self.deciding, self.live.began, self.jobs) {
            let fleet = Fleet::new(self.live.setup.clone(), engine, self.jobs);
            self.deciding = Deciding::Many(Box::new(fleet));
        }
    }

    fn nmea(&mut self, reader: &mut impl BufRead, path: &Path) -> Result<(), CliError> {
        let at = BootTime::from_nanos(0);
        loop {
            let bytes = reader.fill_buf().map_err(|error| CliError::reading(path, &error))?;
            if bytes.is_empty() {
                return Ok(());
            }
            let length = bytes.len();
            let step = self.deciding.step(Input::Bytes { source: REPLAY_TRUSTED, at, bytes });
            reader.consume(length);
            self.printer.step(&step)?;
        }
    }

    fn csv(&mut self, reader: &mut impl BufRead, path: &Path) -> Result<(), CliError> {
        let bad = |line: u64, why: String| {
            CliError::new(Exit::Data, format!("{}:{line}: {why}", path.display()))
        };
        let mut rows = record::csv_reader().from_reader(BoundedLines::new(reader));
        let header = rows.byte_headers().map_err(|error| bad(1, error.to_string()))?;
        let columns = record::Columns::new(header).map_err(|error| bad(1, error.to_string()))?;
        let mut row = csv::ByteRecord::new();
        loop {
            let more = rows.read_byte_record(&mut row);
            if !more.map_err(|error| bad(rows.position().line(), error.to_string()))? {
                return Ok(());
            }
            let line = row.position().map_or(0, csv::Position::line);
            let read = columns.record(&row).map_err(|error| error.to_string());
            self.record(read, path, line)?;
        }
    }

    fn json_lines(&mut self, reader: &mut impl BufRead, path: &Path) -> Result<(), CliError> {
        let mut line = Vec::new();
        for number in 1.. {
            let read = replay_input::line(reader, &mut line);
            if read.map_err(|error| CliError::reading(path, &error))? == 0 {
                break;
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let read = Record::from_json(&line).map_err(|error| error.to_string());
            self.record(read, path, number)?;
        }
        Ok(())
    }

    /// One record, or one line that gives none: counted, and the first is told.
    fn record(
        &mut self,
        read: Result<Record, String>,
        path: &Path,
        line: u64,
    ) -> Result<(), CliError> {
        let step = match read {
            Ok(record) => {
                let source =
                    if record.received.is_some() { REPLAY_RECEIVED } else { REPLAY_TRUSTED };
                // A recording's arrival stamps stand for boot time: only differences matter.
                let at = BootTime::from_nanos(record.received.unwrap_or(record.time).nanos());
                self.deciding.step(Input::Record { source, at, record })
            }
            Err(why) => {
                self.bad_lines += 1;
                self.bad_line.get_or_insert(format!("{}:{line}: {why}", path.display()));
                self.deciding.step(Input::BadRecord { source: REPLAY_TRUSTED })
            }
        };
        self.printer.step(&step)
    }

    /// What was counted, to standard error. Lines that could not be read are bad data, and so is
    /// a drive without a single fix.
    fn finish(mut self, args: &Args) -> Result<Exit, CliError> {
        let rest = self.deciding.rest();
        self.printer.step(&rest)?;
        let events = self.printer.finish()?;
        let counters = self.deciding.counters();
        let rejects: Vec<String> = counters
            .rejects
            .iter()
            .map(|(reason, count)| format!("{count} {}", reason.name()))
            .collect();
        let mut told = format!(
            "{} sentences, {} epochs, {} usable fixes, {events} events",
            counters.sentences, counters.epochs, counters.fixes
        );
        if !rejects.is_empty() {
            told = format!("{told}; not used: {}", rejects.join(", "));
        }
        let nothing = counters.fixes == 0 || events == 0 && args.print == Print::Events;
        let asked = args.verbosity.verbose > 0 || io::stderr().is_terminal();
        if asked || nothing || !rejects.is_empty() {
            CliError::new(Exit::Ok, told).say();
        }
        match self.bad_line {
            Some(line) => {
                let n = self.bad_lines;
                let message = format!("{line}\n{n} lines could not be read; this is the first");
                Err(CliError::new(Exit::Data, message))
            }
            None if counters.fixes == 0 => {
                let why = match rejects.as_slice() {
                    [] => "nothing in it gives a position".to_owned(),
                    _ => rejects.join(", "),
                };
                Err(CliError::new(Exit::Data, format!("no usable fix in the input: {why}")))
            }
            None => Ok(Exit::Ok),
        }
    }
}

fn bar(length: Option<u64>) -> Option<ProgressBar> {
    let length = length.filter(|length| *length >= BAR_FROM_BYTES)?;
    if !io::stderr().is_terminal() {
        return None;
    }
    let style = ProgressStyle::with_template("{bar:40} {percent}%  {eta} left").ok()?;
    Some(ProgressBar::new(length).with_style(style))
}
