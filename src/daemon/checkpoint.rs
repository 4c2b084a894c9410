//! When the checkpoint is written, and where a start finds it (STO-3).
//!
//! Always holds: it is written only when nothing waits for a commit, at once after one and else
//! at most once a second, and takes no more than one part in fifty of the time; a file that cannot
//! be gone on with costs a line in the log and a count, never the start.
//! Does not know: what is in it.

use std::fs;
use std::path::{Path, PathBuf};

use tracing::{info, warn};

use super::pipeline::Pipeline;
use crate::edge::clock;
use crate::edge::files::{self, FileError};
use crate::logic::config::Config;
use crate::logic::engine::{Birth, CHECKPOINT_BYTES_MAX, Checkpoint, Ignored, Setup};
use crate::logic::group::Restored;
use crate::units::{BootTime, Span};

/// Between two, while nothing is committed.
const EVERY: Span = Span::from_secs(1);

/// After one that took so long nothing is written for so many times as long: a gateway of many
/// assets has more to do.
const REST_TIMES: i64 = 50;

/// Keeps the checkpoint.
pub(super) struct Keeper {
    path: PathBuf,
    boot_id: String,
    /// Something was heard since the last.
    heard: bool,
    /// The last goes on from a commit that is no longer the store's last.
    stale: bool,
    /// When the last was written, and how long that took.
    last: (BootTime, Span),
    failing: bool,
    /// How many this start did not go on with.
    pub(super) ignored: u64,
}

impl Keeper {
    /// What there is to go on with.
    pub(super) fn start(
        config: &Config,
        setup: &Setup,
        restored: &Restored,
        birth: &Birth,
    ) -> (Self, Option<Checkpoint>) {
        // The directory of the control socket is the runtime directory; systemd keeps it over a
        // restart. By the socket's name, because two daemons may share it.
        let path = Path::new(&config.control.socket).with_extension("checkpoint");
        let mut keeper = Self {
            path,
            boot_id: birth.boot_id.clone(),
            heard: false,
            stale: true,
            last: (birth.boot, Span::ZERO),
            failing: false,
            ignored: 0,
        };
        let bytes = match files::read_bytes(&keeper.path, CHECKPOINT_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(FileError::Missing(_)) => return (keeper, None),
            Err(error) => {
                keeper.ignored += 1;
                warn!("checkpoint ignored: {error}");
                return (keeper, None);
            }
        };
        match Checkpoint::open(&bytes, setup, restored, birth) {
            Ok(found) => {
                let age = (birth.boot - found.taken).secs_f64();
                info!("checkpoint: {} assets go on as they were {age:.1} s ago", found.assets());
                (keeper, Some(found))
            }
            Err(why) => {
                keeper.said(Some(&why));
                (keeper, None)
            }
        }
    }

    /// The start did not go on with it.
    pub(super) fn said(&mut self, ignored: Option<&Ignored>) {
        if let Some(why) = ignored {
            self.ignored += 1;
            info!("checkpoint ignored: {why}");
        }
    }

    /// An input has come.
    pub(super) fn heard(&mut self) {
        self.heard = true;
    }

    /// A commit was made.
    pub(super) fn committed(&mut self) {
        self.stale = true;
    }

    /// When the next is due. Deadlines need none: they fire again at their own time.
    fn due(&self) -> Option<BootTime> {
        if !self.heard && !self.stale {
            return None;
        }
        let (last, took) = self.last;
        let pause = if self.stale { Span::ZERO } else { EVERY };
        Some(last + pause.max(took.times(REST_TIMES)))
    }

    fn wrote(&mut self, now: BootTime, result: std::io::Result<()>) {
        (self.heard, self.stale) = (false, false);
        self.last = (now, clock::boot_now() - now);
        match result {
            Ok(()) if self.failing => info!("checkpoint: written again"),
            Err(error) if !self.failing => {
                warn!("checkpoint: `{}` cannot be written: {error}", self.path.display());
            }
            _ => {}
        }
    }

    /// The store has all of it.
    pub(super) fn remove(&self) {
        // Where it cannot be removed it is stale all the same.
        let _ = fs::remove_file(&self.path);
    }
}

impl Pipeline {
    /// When the loop is to wake for it.
    pub(super) fn keep_due(&self) -> Option<BootTime> {
        // What waits for a commit wakes the loop itself.
        self.keeper.due().filter(|_| self.group.is_empty())
    }

    /// Writes the checkpoint, if it is due.
    pub(super) fn keep(&mut self, now: BootTime) {
        if self.keep_due().is_none_or(|due| due > now) {
            return;
        }
        let begun = clock::boot_now();
        let commit = self.store.last_commit();
        let bytes = self.engine.checkpoint(&self.keeper.boot_id, commit, now);
        let result = if let Some(bytes) = bytes {
            files::replace(&self.keeper.path, &bytes)
        } else {
            // The one before would only be found stale.
            self.keeper.remove();
            Ok(())
        };
        let failed = result.is_err();
        self.keeper.wrote(begun, result);
        self.keeper.failing = failed;
    }
}
