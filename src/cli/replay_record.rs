//! Replays what `record` wrote: the same bytes with the same stamps, each source as it was trusted.
//!
//! Always holds: deadlines fire between the stamps as they did in the daemon (INV-7), so that what
//! is decided is what the daemon decided, if it started with the record. Does not know: zones.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::replay::{Deciding, Replay};
use super::{CliError, Exit, exit, replay_input};
use crate::logic::engine::{Engine, Input, Setup, WAKE_LAG};
use crate::logic::recorder::segments::Name;
use crate::logic::recorder::{self, Entry, Header, What};
use crate::logic::zones::Layer;
use crate::units::{BootTime, WallTime};

/// What a record's engine is made of, and whether one has begun.
pub(super) struct Live {
    pub(super) setup: Setup,
    pub(super) layers: Vec<Arc<Layer>>,
    /// How many sources the record that began has.
    pub(super) sources: usize,
    /// Something has been read already.
    pub(super) began: bool,
    /// The boot whose stamps these are.
    pub(super) boot_id: String,
    /// What the system clock said last, and when.
    pub(super) system: Option<(BootTime, WallTime)>,
    /// The last moment of the records so far; what is due by then is, when no other follows.
    pub(super) last: Option<BootTime>,
}

impl Live {
    /// The engine that goes on for `header`: a new one, or none where the last record's may.
    fn engine(&mut self, header: &Header) -> Result<Option<Engine>, &'static str> {
        match (self.began, self.sources) {
            (true, 0) => Err("a record is replayed alone, or behind records of the same sources"),
            (true, _) if self.boot_id != header.boot_id => {
                Err("it is of another boot than the record before it, and their stamps do not \
                     compare; replay the records of each `boot_id` on their own")
            }
            (true, _) if self.setup.sources != header.sources => {
                Err("its sources are not those of the record before it")
            }
            (true, _) => Ok(None),
            (false, _) => {
                (self.began, self.sources) = (true, header.sources.len());
                self.setup.sources.clone_from(&header.sources);
                self.boot_id.clone_from(&header.boot_id);
                self.setup.time.floor = self.setup.time.floor.or(header.floor);
                Ok(Some(Engine::replay(self.setup.clone(), &self.layers)))
            }
        }
    }
}

impl Live {
    /// Before anything is read.
    pub(super) fn new(setup: Setup, layers: Vec<Arc<Layer>>) -> Self {
        let (boot_id, system, last) = (String::new(), None, None);
        Self { setup, layers, sources: 0, began: false, boot_id, system, last }
    }
}

/// Segments of a daemon's directory in the order in which they were written, however they are
/// given; other inputs as they are given.
pub(super) fn in_order(inputs: &[PathBuf]) -> Vec<PathBuf> {
    let name = |path: &PathBuf| path.file_name().and_then(|name| Name::parse(name.to_str()?));
    let mut inputs = inputs.to_vec();
    if inputs.iter().all(|path| name(path).is_some()) {
        inputs.sort_by_key(name);
    }
    inputs
}

impl Replay {
    /// One record. What a power cut left of its last line is said, and is no fault.
    pub(super) fn recorded(
        &mut self,
        reader: &mut impl BufRead,
        path: &Path,
    ) -> Result<(), CliError> {
        let bad = |number: usize, why: &str| {
            CliError::new(Exit::Data, format!("{}:{number}: {why}", path.display()))
        };
        let reading = |error: io::Error| CliError::reading(path, &error);
        let mut line = Vec::new();
        replay_input::long_line(reader, &mut line).map_err(reading)?;
        let header = match recorder::read_header(&line) {
            Err(_) if is_cut(&line, reader).map_err(reading)? => {
                torn(path, 1);
                return Ok(());
            }
            header => header.map_err(|why| bad(1, &why))?,
        };
        if header.lost > 0 {
            let what = format!("it begins after {} entries that had no room", header.lost);
            exit::say(&format!("{}:1: {what}", path.display()));
        }
        if let Some(engine) = self.live.engine(&header).map_err(|why| bad(1, why))? {
            self.deciding = Deciding::One(Box::new(engine));
        }
        self.reach(header.at);
        for number in 2.. {
            if replay_input::long_line(reader, &mut line).map_err(reading)? == 0 {
                break;
            }
            let entry = match recorder::read_entry(&line, header.sources.len()) {
                Err(_) if is_cut(&line, reader).map_err(reading)? => {
                    torn(path, number);
                    return Ok(());
                }
                entry => entry.map_err(|why| bad(number, &why))?,
            };
            self.reach(entry.at);
            match entry.what {
                What::System(wall) => self.live.system = wall.map(|wall| (entry.at, wall)),
                What::Lost(lost) => {
                    let what = format!("{lost} entries are missing here; the disk took them not");
                    exit::say(&format!("{}:{number}: {what}", path.display()));
                }
                _ => {}
            }
            // It runs on from when it was recorded.
            let wall = self.live.system.map(|(then, wall)| wall + (entry.at - then));
            let _ = self.deciding.step(Input::System { wall });
            let input = input(&entry).map_err(|why| bad(number, &why))?;
            self.feed(input.as_ref(), &entry)?;
        }
        Ok(())
    }

    fn reach(&mut self, at: BootTime) {
        self.live.last = self.live.last.max(Some(at));
    }

    /// Behind the last of several records: what is due by their last moment.
    pub(super) fn recorded_all(&mut self) -> Result<(), CliError> {
        let Some(last) = self.live.last.take() else { return Ok(()) };
        let step = self.deciding.step(Input::Wake { now: last + WAKE_LAG });
        self.printer.step(&step)
    }

    fn feed(&mut self, input: Option<&Vec<u8>>, entry: &Entry) -> Result<(), CliError> {
        let (source, at) = (usize::from(entry.source), entry.at);
        let step = match (input, &entry.what) {
            (Some(bytes), _) => self.deciding.step(Input::Bytes { source, at, bytes }),
            (None, What::Down(_)) => self.deciding.step(Input::End { source, at }),
            (None, _) => return Ok(()),
        };
        self.printer.step(&step)
    }
}

/// Whether a line is the last and has no end.
fn is_cut(line: &[u8], reader: &mut impl BufRead) -> io::Result<bool> {
    Ok(!line.ends_with(b"\n") && reader.fill_buf()?.is_empty())
}

/// Says that an input ends within this line.
pub(super) fn torn(path: &Path, number: usize) {
    let what = "the record breaks off within this line, as at a power cut; read up to here";
    exit::say(&format!("{}:{number}: {what}", path.display()));
}

fn input(entry: &Entry) -> Result<Option<Vec<u8>>, String> {
    entry.bytes().transpose().map_err(|error| error.to_string())
}
