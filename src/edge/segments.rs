//! The record's segment files: a bounded queue, and the one thread that writes them.
//!
//! Always holds: whoever gives an entry never waits; what the queue or the disk did not take is
//! counted, and its place is marked in the record; nothing is ever synced; segments stay within
//! their bound, and no file but a segment is touched. A segment that could not be written on is
//! left whole, and the next try begins another. Does not know: what the entries mean.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing::{info, warn};

use crate::edge::clock;
use crate::logic::health::{Problem, RecordStatus};
use crate::logic::recorder::segments::{Name, Shelf};
use crate::logic::recorder::{Entry, Header, Taken, What};
use crate::units::{BootTime, Span};

/// They hold positions: for the daemon's user alone.
const MODE: u32 = 0o600;

/// Entries that may wait: minutes of a receiver behind a stalled disk.
const QUEUE_ENTRIES: usize = 2048;

/// And their bytes: they must not cost the memory that the daemon lives in.
const QUEUE_BYTES: usize = 1024 * 1024;

/// Bytes that go in one write.
const WRITE_BYTES: usize = 64 * 1024;

/// After a refusal, this long until the next try.
const RETRY: Span = Span::from_secs(5);

/// What the pipeline and the writer share.
#[derive(Debug, Default)]
struct Shared {
    queued_bytes: AtomicUsize,
    dropped: AtomicU64,
    /// Nobody waits for the writer any more: it may write nothing.
    abandoned: AtomicBool,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    segments: usize,
    bytes: u64,
    trouble: Option<Problem>,
}

impl Shared {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry on its way, and how many before it found no room.
struct Item {
    missed: u64,
    entry: Entry,
}

/// Where entries are given.
#[derive(Debug)]
pub struct Sink {
    items: SyncSender<Item>,
    missed: u64,
    dropped_at: Option<BootTime>,
    shared: Arc<Shared>,
    dir: PathBuf,
    bytes_max: u64,
    /// Closes when the writer has ended.
    ended: Receiver<()>,
}

impl Sink {
    /// Starts the writer. `header` is every segment's, but for its times.
    pub fn start(dir: PathBuf, bytes_max: u64, header: Header) -> io::Result<Self> {
        let (items, queue) = sync_channel(QUEUE_ENTRIES);
        let (end, ended) = channel();
        let shared = Arc::new(Shared::default());
        let mut writer = Writer::new(dir.clone(), bytes_max, header, Arc::clone(&shared));
        std::thread::Builder::new().name("record".into()).spawn(move || {
            writer.run(&queue);
            drop(end);
        })?;
        Ok(Self { items, missed: 0, dropped_at: None, shared, dir, bytes_max, ended })
    }

    /// Takes what happened; never waits.
    pub fn take(&mut self, at: BootTime, source: usize, taken: Taken<'_>) {
        self.give(Entry { at, source: source as u16, what: What::of(taken) });
    }

    /// Until here everything is decided and stored.
    pub fn decided(&mut self, at: BootTime) {
        self.give(Entry { at, source: 0, what: What::Decided });
    }

    fn give(&mut self, entry: Entry) {
        let (at, len) = (entry.at, entry.what.len());
        let queued = self.shared.queued_bytes.load(Ordering::Relaxed);
        let item = Item { missed: self.missed, entry };
        // Counted first: the writer may have taken it before we go on.
        self.shared.queued_bytes.fetch_add(len, Ordering::Relaxed);
        if queued + len <= QUEUE_BYTES && self.items.try_send(item).is_ok() {
            self.missed = 0;
            return;
        }
        self.shared.queued_bytes.fetch_sub(len, Ordering::Relaxed);
        self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        self.missed += 1;
        self.dropped_at = Some(at);
    }

    /// How it does.
    pub fn status(&self, now: BootTime) -> RecordStatus {
        let told = self.shared.told();
        RecordStatus {
            dir: self.dir.display().to_string(),
            segments: told.segments as u64,
            bytes: told.bytes,
            max_bytes: self.bytes_max,
            dropped: self.shared.dropped.load(Ordering::Relaxed),
            behind_s_ago: self.dropped_at.map(|at| (now - at).secs_f64()),
            trouble: told.trouble.clone(),
        }
    }

    /// Writes what waits, but waits no longer than `limit` for a disk that hangs.
    pub fn close(self, limit: Duration) {
        let Self { items, shared, ended, .. } = self;
        drop(items);
        if ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            shared.abandoned.store(true, Ordering::Relaxed);
            warn!("record: the disk does not take the last entries in time");
        }
    }
}

/// What the disk refused.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be {done}: {source}", path.display())]
struct Refused {
    done: &'static str,
    path: PathBuf,
    source: io::Error,
}

impl Refused {
    fn new(done: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { done, path, source }
    }

    /// What a person can do.
    fn attempt(&self, dir: &Path) -> String {
        let dir = dir.display();
        let act = match self.source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                format!("make the directory {dir}, or mount its disk")
            }
            io::ErrorKind::PermissionDenied => format!("let the daemon's user write in {dir}"),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                format!("free space in {dir} (df -h), or lower [record] max_bytes")
            }
            io::ErrorKind::ReadOnlyFilesystem => {
                format!("give the unit ReadWritePaths={dir}, or mount it writable")
            }
            _ => format!("ls -ld {dir}; df -h {dir}; dmesg"),
        };
        format!("{act}; it then goes on by itself")
    }
}

/// The thread's own.
struct Writer {
    dir: PathBuf,
    bytes_max: u64,
    header: Header,
    shared: Arc<Shared>,
    /// None before the first look at the directory, and after a refusal.
    shelf: Option<Shelf>,
    /// The last segment of this run.
    last: Option<Name>,
    file: Option<File>,
    /// Bytes of it that are whole lines.
    file_bytes: u64,
    /// Lines that are not written yet, how many entries, and how many they say are missing.
    buffer: Vec<u8>,
    buffered: u64,
    buffered_lost: u64,
    /// Missing entries that no line says yet.
    unsaid: u64,
    /// What the system clock said last: every segment begins with it.
    system: Option<Entry>,
    retry_at: Option<BootTime>,
}

impl Writer {
    fn new(dir: PathBuf, bytes_max: u64, header: Header, shared: Arc<Shared>) -> Self {
        Self {
            dir,
            bytes_max,
            header,
            shared,
            shelf: None,
            last: None,
            file: None,
            file_bytes: 0,
            buffer: Vec::new(),
            buffered: 0,
            buffered_lost: 0,
            unsaid: 0,
            system: None,
            retry_at: None,
        }
    }

    fn run(&mut self, queue: &Receiver<Item>) {
        while let Ok(item) = queue.recv() {
            self.take(item, clock::boot_now());
            while self.buffer.len() < WRITE_BYTES
                && let Ok(item) = queue.try_recv()
            {
                self.take(item, clock::boot_now());
            }
            self.settle(clock::boot_now());
        }
    }

    /// One entry, into the buffer or, where that is another segment's, behind it.
    fn take(&mut self, Item { missed, entry }: Item, now: BootTime) {
        self.shared.queued_bytes.fetch_sub(entry.what.len(), Ordering::Relaxed);
        self.unsaid += missed;
        if matches!(entry.what, What::System(_)) {
            self.system = Some(entry.clone());
        }
        let waits = self.retry_at.is_some_and(|at| now < at);
        if waits || self.shared.abandoned.load(Ordering::Relaxed) {
            self.lose(1);
        } else if let Err(refused) = self.put(&entry) {
            self.lose(1);
            self.refused(&refused, now);
        }
    }

    /// Writes what is buffered, and tells how it is.
    fn settle(&mut self, now: BootTime) {
        if self.buffer.is_empty() {
            return;
        }
        if let Err(refused) = self.flush() {
            self.refused(&refused, now);
            return;
        }
        let mut told = self.shared.told();
        if let Some(shelf) = &self.shelf {
            (told.segments, told.bytes) = (shelf.count(), shelf.bytes());
        }
        self.retry_at = None;
        if told.trouble.take().is_some() {
            info!("record: works again");
        }
    }

    fn lose(&mut self, entries: u64) {
        self.shared.dropped.fetch_add(entries, Ordering::Relaxed);
        self.unsaid += entries;
    }

    /// Gives up the segment, whole, and everything that was to go into it.
    fn refused(&mut self, refused: &Refused, now: BootTime) {
        if let (Some(file), Some(name)) = (self.file.take(), self.last) {
            // Half a line at its end would be read up to there; an empty file is nobody's.
            let _ = match self.file_bytes {
                0 => fs::remove_file(self.path(name)),
                whole => file.set_len(whole),
            };
        }
        self.shelf = None;
        self.buffer.clear();
        self.lose(self.buffered);
        self.unsaid += self.buffered_lost;
        (self.buffered, self.buffered_lost) = (0, 0);
        self.retry_at = Some(now + RETRY);
        let trouble = Problem { what: refused.to_string(), attempt: refused.attempt(&self.dir) };
        if self.shared.told().trouble.replace(trouble).is_none() {
            warn!("record: {refused}; entries are dropped until it can");
        }
    }

    fn put(&mut self, entry: &Entry) -> Result<(), Refused> {
        let mut lines = Vec::new();
        if self.unsaid > 0 {
            let what = What::Lost(self.unsaid);
            Entry { at: entry.at, source: 0, what }.write(&mut lines);
        }
        entry.write(&mut lines);
        let len = lines.len() as u64;
        if self.shelf.as_ref().is_none_or(|shelf| !shelf.takes(len)) {
            self.flush()?;
            self.begin(entry.at)?;
        }
        self.room(len)?;
        self.buffer.append(&mut lines);
        self.buffered += 1;
        self.buffered_lost += std::mem::take(&mut self.unsaid);
        Ok(())
    }

    /// The next segment: its header, and what the system clock said.
    fn begin(&mut self, at: BootTime) -> Result<(), Refused> {
        self.file = None;
        let shelf = match self.shelf.take() {
            Some(shelf) => shelf,
            None => Shelf::new(self.bytes_max, scan(&self.dir)?, self.last),
        };
        let name = self.shelf.insert(shelf).begin();
        let mut head = Vec::new();
        (self.header.at, self.header.wall) = (at, clock::wall_now());
        self.header.write(&mut head);
        if let Some(Entry { at: then, what: What::System(wall), .. }) = &self.system {
            let what = What::System(wall.map(|wall| wall + (at - *then)));
            Entry { at, source: 0, what }.write(&mut head);
        }
        self.room(head.len() as u64)?;
        let path = self.path(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path);
        self.file = Some(file.map_err(Refused::new("made", &path))?);
        self.last = Some(name);
        self.file_bytes = 0;
        self.buffer = head;
        Ok(())
    }

    /// Makes room for so many bytes more in the segment.
    fn room(&mut self, len: u64) -> Result<(), Refused> {
        loop {
            let shelf = self.shelf.as_mut().expect("a segment has begun");
            let over = shelf.over(len).map_err(io::Error::other);
            let Some(oldest) = over.map_err(Refused::new("written", &self.dir))? else {
                shelf.grow(len);
                return Ok(());
            };
            let path = self.dir.join(oldest.to_string());
            match fs::remove_file(&path) {
                // Somebody else made room.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                done => done.map_err(Refused::new("deleted", &path))?,
            }
            shelf.deleted();
        }
    }

    fn flush(&mut self) -> Result<(), Refused> {
        let (Some(file), Some(name)) = (&mut self.file, self.last) else { return Ok(()) };
        if let Err(source) = file.write_all(&self.buffer) {
            return Err(Refused::new("written", &self.path(name))(source));
        }
        self.file_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        (self.buffered, self.buffered_lost) = (0, 0);
        Ok(())
    }

    fn path(&self, name: Name) -> PathBuf {
        self.dir.join(name.to_string())
    }
}

/// The segments in a directory, with their lengths.
fn scan(dir: &Path) -> Result<Vec<(Name, u64)>, Refused> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(Refused::new("read", dir))? {
        let entry = entry.map_err(Refused::new("read", dir))?;
        let Some(name) = entry.file_name().to_str().and_then(Name::parse) else { continue };
        // Gone since it was listed: not there.
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_file() {
            found.push((name, meta.len()));
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
