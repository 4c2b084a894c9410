//! What every source tells the pipeline, whatever kind of input it is.
//!
//! Always holds: bytes carry the boot time of the moment they were read; `Up`, `Down` and `End`
//! are never lost; bytes of a source that cannot wait are lost only when the channel stays full,
//! and then counted; of lines that can wait at most [`WAITING_BYTES_MAX`] a source wait.
//! Does not know: what the bytes mean.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use crate::edge::clock;
use crate::logic::health::Problem;
use crate::units::BootTime;

/// Bytes asked for at one read: some 60 sentences, a burst of the fastest receivers.
pub(super) const READ_BYTES: usize = 4096;

/// How long a full channel is waited for. The kernel's 4 KiB behind a serial port last 350 ms at
/// 115,200 baud, so nothing is lost there meanwhile; and a pty, which makes its writer wait, loses
/// nothing to a loop that is merely busy.
const PATIENCE: Duration = Duration::from_millis(250);

/// Lines of one source that wait for the loop, in bytes: what it decides in a tenth of a second.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One thing that happened at a source.
#[derive(Debug)]
pub struct SourceEvent {
    /// Which source: its place in the configuration.
    pub source: usize,
    /// When.
    pub at: BootTime,
    /// What.
    pub what: Happened,
    /// Its share of what may wait, given back with it.
    _share: Option<OwnedSemaphorePermit>,
}

/// What can happen at a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Happened {
    /// These bytes came.
    Bytes(Vec<u8>),
    /// It is open.
    Up,
    /// How it is open: the rate that was found, say. For status and one line of the log.
    Detail(String),
    /// Open, but something is wrong with it, or no longer; said once for each change.
    Trouble(Option<Problem>),
    /// It is not, and is tried again; said once for each reason.
    Down {
        /// In words, with what to do.
        why: String,
    },
    /// Something to be told once, while it goes on.
    Note {
        /// In words.
        what: String,
    },
    /// Nothing will come any more.
    End,
}

/// Nobody takes events any more: the source ends.
#[derive(Debug)]
pub(super) struct Closed;

/// The way from one source into the pipeline's bounded channel.
#[derive(Clone, Debug)]
pub struct Outlet {
    source: usize,
    events: mpsc::Sender<SourceEvent>,
    lost_chunks: Arc<AtomicUsize>,
    shares: Arc<Semaphore>,
}

impl Outlet {
    /// For source number `source`; chunks lost to a full channel are added to `lost_chunks`.
    pub fn new(
        source: usize,
        events: mpsc::Sender<SourceEvent>,
        lost_chunks: Arc<AtomicUsize>,
    ) -> Self {
        let shares = Arc::new(Semaphore::new(WAITING_BYTES_MAX));
        Self { source, events, lost_chunks, shares }
    }

    fn now(&self, what: Happened) -> SourceEvent {
        SourceEvent { source: self.source, at: clock::boot_now(), what, _share: None }
    }

    /// Waits for room: for news, and for sources that can wait.
    pub(super) async fn send(&self, what: Happened) -> Result<(), Closed> {
        self.events.send(self.now(what)).await.map_err(|_| Closed)
    }

    /// Whole lines of a source that can wait: until there is room for so many bytes. The stamp is
    /// that of the reading.
    pub(super) async fn send_lines(&self, lines: Vec<u8>) -> Result<(), Closed> {
        let bytes = lines.capacity().min(WAITING_BYTES_MAX) as u32;
        let event = self.now(Happened::Bytes(lines));
        let share = Arc::clone(&self.shares).acquire_many_owned(bytes).await;
        let share = share.map_err(|_| Closed)?;
        let event = SourceEvent { _share: Some(share), ..event };
        self.events.send(event).await.map_err(|_| Closed)
    }

    /// [`Self::send`] on an ordinary thread. The stamp is that of the reading.
    pub(super) fn send_blocking(&self, what: Happened) -> Result<(), Closed> {
        self.events.blocking_send(self.now(what)).map_err(|_| Closed)
    }

    /// For sources that cannot wait long: a channel that stays full loses these bytes, counted.
    pub(super) async fn offer(&self, bytes: &[u8]) -> Result<(), Closed> {
        let event = self.now(Happened::Bytes(bytes.to_vec()));
        let Ok(sent) = tokio::time::timeout(PATIENCE, self.events.send(event)).await else {
            self.lost();
            return Ok(());
        };
        sent.map_err(|_| Closed)
    }

    /// Room for one event, whose bytes were read at a time of their own.
    pub(super) async fn room(&self) -> Result<Room<'_>, Closed> {
        let permit = self.events.reserve().await.map_err(|_| Closed)?;
        Ok(Room { source: self.source, permit })
    }

    /// Counts bytes that a source had to let go.
    pub(super) fn lost(&self) {
        self.lost_chunks.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until nobody listens.
    pub(super) async fn closed(&self) {
        self.events.closed().await;
    }
}

/// Room for one event in the channel.
pub(super) struct Room<'a> {
    source: usize,
    permit: mpsc::Permit<'a, SourceEvent>,
}

impl Room<'_> {
    /// Bytes that were read at `at`.
    pub(super) fn fill(self, at: BootTime, bytes: Vec<u8>) {
        let what = Happened::Bytes(bytes);
        self.permit.send(SourceEvent { source: self.source, at, what, _share: None });
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    /// Lines wait within their bound; what is more waits at the peer, and comes when the loop has
    /// taken as much. Longer than the bound goes alone.
    #[test]
    fn lines_wait_within_their_bound() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (events, mut told) = mpsc::channel(8);
            let outlet = Outlet::new(0, events, Arc::new(AtomicUsize::new(0)));
            for (first, next, waits) in [
                (WAITING_BYTES_MAX / 2, WAITING_BYTES_MAX / 2, false),
                (WAITING_BYTES_MAX / 2 + 1, WAITING_BYTES_MAX / 2, true),
                (WAITING_BYTES_MAX * 2, 1, true),
                (1, WAITING_BYTES_MAX * 2, true),
            ] {
                outlet.send_lines(vec![0; first]).await.unwrap();
                let mut second = pin!(outlet.send_lines(vec![0; next]));
                let sent = std::future::poll_fn(|cx| Poll::Ready(second.as_mut().poll(cx))).await;
                assert_eq!(sent.is_pending(), waits, "{first} then {next}");
                drop(told.recv().await.unwrap());
                if waits {
                    second.await.unwrap();
                }
                let SourceEvent { what, .. } = told.recv().await.unwrap();
                assert_eq!(what, Happened::Bytes(vec![0; next]));
            }
        });
    }
}
