//! What sources gave, into memory and, where a directory is given, onto the disk.
//!
//! Always holds: neither makes the pipeline wait. Does not know: files.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::edge::segments::Sink;
use crate::logic::config::Record;
use crate::logic::health::RecordStatus;
use crate::logic::recorder::{Header, Recorder, Taken};
use crate::units::BootTime;

/// A disk that hangs may keep an end no longer than this.
const CLOSE_MAX: Duration = Duration::from_millis(200);

/// Both records.
#[derive(Debug)]
pub(super) struct Tee {
    pub(super) ring: Recorder,
    disk: Option<Sink>,
}

impl Tee {
    /// Under `[record]`; `header` is that of the engine that runs.
    pub(super) fn start(config: &Record, header: Header) -> io::Result<Self> {
        let ring = Recorder::new(config.max_bytes as usize);
        let start = |dir| Sink::start(PathBuf::from(dir), config.max_bytes, header);
        Ok(Self { ring, disk: config.dir.as_ref().map(start).transpose()? })
    }

    pub(super) fn take(&mut self, at: BootTime, source: usize, taken: Taken<'_>) {
        self.ring.take(at, source, taken);
        if let Some(disk) = &mut self.disk {
            disk.take(at, source, taken);
        }
    }

    /// Until here everything is decided and stored.
    pub(super) fn decided(&mut self, at: BootTime) {
        if let Some(disk) = &mut self.disk {
            disk.decided(at);
        }
    }

    pub(super) fn status(&self, now: BootTime) -> Option<RecordStatus> {
        self.disk.as_ref().map(|disk| disk.status(now))
    }

    /// Gives the disk the rest.
    pub(super) fn close(&mut self) {
        if let Some(disk) = self.disk.take() {
            disk.close(CLOSE_MAX);
        }
    }
}
