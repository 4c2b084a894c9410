//! Replays what `record` wrote: the same bytes with the same stamps, each source as it was trusted.
//!
//! Always holds: deadlines fire between the stamps as they did in the daemon (INV-7), so that what
//! is decided is what the daemon decided, if it started with the record. Does not know: zones.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use super::replay::{Deciding, Replay};
use super::{CliError, Exit, replay_input};
use crate::logic::engine::{Engine, Input, Setup, WAKE_LAG};
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
}

impl Live {
    /// The engine that goes on for `header`: a new one, or none where the last record's may.
    fn engine(&mut self, header: &Header) -> Result<Option<Engine>, &'static str> {
        match (self.began, self.sources) {
            (true, 0) => Err("a record is replayed alone, or behind records of the same sources"),
            (true, _) if self.setup.sources != header.sources => {
                Err("its sources are not those of the record before it")
            }
            (true, _) => Ok(None),
            (false, _) => {
                (self.began, self.sources) = (true, header.sources.len());
                self.setup.sources.clone_from(&header.sources);
                self.setup.time.floor = self.setup.time.floor.or(header.floor);
                Ok(Some(Engine::replay(self.setup.clone(), &self.layers)))
            }
        }
    }
}

impl Replay {
    /// One record, to its end and to the moment at which it was written.
    pub(super) fn recorded(
        &mut self,
        reader: &mut impl BufRead,
        path: &Path,
    ) -> Result<(), CliError> {
        let bad = |number: usize, why: &str| {
            CliError::new(Exit::Data, format!("{}:{number}: {why}", path.display()))
        };
        let reading = |error: std::io::Error| CliError::reading(path, &error);
        let mut line = Vec::new();
        replay_input::long_line(reader, &mut line).map_err(reading)?;
        let header = recorder::read_header(&line).map_err(|why| bad(1, &why))?;
        if let Some(engine) = self.live.engine(&header).map_err(|why| bad(1, why))? {
            self.deciding = Deciding::One(Box::new(engine));
        }
        let mut system: Option<(BootTime, WallTime)> = None;
        let mut last = header.at;
        for number in 2.. {
            if replay_input::long_line(reader, &mut line).map_err(reading)? == 0 {
                break;
            }
            let entry = recorder::read_entry(&line, header.sources.len());
            let entry = entry.map_err(|why| bad(number, &why))?;
            last = last.max(entry.at);
            if let What::System(wall) = entry.what {
                system = wall.map(|wall| (entry.at, wall));
            }
            // It runs on from when it was recorded.
            let wall = system.map(|(then, wall)| wall + (entry.at - then));
            let _ = self.deciding.step(Input::System { wall });
            let input = input(&entry).map_err(|why| bad(number, &why))?;
            self.feed(input.as_ref(), &entry)?;
        }
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

fn input(entry: &Entry) -> Result<Option<Vec<u8>>, String> {
    entry.bytes().transpose().map_err(|error| error.to_string())
}
