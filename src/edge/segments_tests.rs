//! The writer against disks that are small, full, late or not there, under a clock that is passed.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::*;
use crate::logic::recorder::{self, read_entry, read_header};
use crate::units::WallTime;

fn at(millis: i64) -> BootTime {
    BootTime::from_nanos(millis * 1_000_000)
}

fn writer(dir: &Path, bytes_max: u64) -> Writer {
    let now = (at(0), WallTime::from_nanos(0));
    let mut header = Header::new("geofenced test".into(), "boot".into(), now);
    let source = r#"{"id":"s","feed":"nmea","asset":"van","checksum":"required",
        "interval":1000000000,"window":0,"trusting":"serial","rank":1}"#;
    header.sources = vec![serde_json::from_str(source).unwrap()];
    Writer::new(dir.to_owned(), bytes_max, header, Arc::new(Shared::default()))
}

fn item(millis: i64, text: &str) -> Item {
    let entry = Entry { at: at(millis), source: 0, what: What::Text(text.to_owned()) };
    Item { missed: 0, entry }
}

/// Gives one entry at a time and writes it, as on a quiet line.
fn feed(writer: &mut Writer, millis: impl IntoIterator<Item = i64>) {
    for millis in millis {
        writer.shared.queued_bytes.fetch_add(9, Ordering::Relaxed);
        writer.take(item(millis, "$GP,12345"), at(millis));
        writer.settle(at(millis));
    }
}

/// Each segment in name order: its name, and its entries behind a whole header.
fn segments(dir: &Path) -> Vec<(String, Vec<Entry>)> {
    let mut names: Vec<String> =
        scan(dir).unwrap().into_iter().map(|(name, _)| name.to_string()).collect();
    names.sort();
    let read = |name: String| {
        let path = dir.join(&name);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE, "{name}");
        let text = fs::read(path).unwrap();
        assert!(recorder::is_record(&text) && text.ends_with(b"\n"), "{name}");
        let mut lines = text.split_inclusive(|byte| *byte == b'\n');
        let header = read_header(lines.next().unwrap()).unwrap();
        let entries: Vec<Entry> =
            lines.map(|line| read_entry(line, header.sources.len()).unwrap()).collect();
        assert_eq!(header.at, entries[0].at, "{name}");
        (name, entries)
    };
    names.into_iter().map(read).collect()
}

/// The stamps of what was fed, over all segments.
fn stamps(dir: &Path) -> Vec<i64> {
    let entries = segments(dir).into_iter().flat_map(|(_, entries)| entries);
    let fed = entries.filter(|entry| matches!(entry.what, What::Text(_)));
    fed.map(|entry| entry.at.nanos() / 1_000_000).collect()
}

fn total(dir: &Path) -> u64 {
    scan(dir).unwrap().iter().map(|(_, len)| len).sum()
}

#[test]
fn segments_stay_within_their_bound_and_keep_the_newest() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), vec![b'x'; 99_999]).unwrap();
    let max = 16 * 1024;
    let mut writer = writer(dir.path(), max);
    for millis in 0..1000 {
        feed(&mut writer, [millis]);
        assert!(total(dir.path()) <= max, "{millis}");
    }
    let kept = stamps(dir.path());
    assert_eq!(kept, ((1000 - kept.len().cast_signed() as i64)..1000).collect::<Vec<_>>());
    assert!(kept.len() > 100 && total(dir.path()) > max * 3 / 4, "{}", kept.len());
    assert_eq!(writer.shared.dropped.load(Ordering::Relaxed), 0);
    assert_eq!(writer.shared.queued_bytes.load(Ordering::Relaxed), 0);
    let told = writer.shared.told();
    assert_eq!((told.bytes, told.segments), (total(dir.path()), segments(dir.path()).len()));
    assert_eq!(fs::metadata(dir.path().join("notes.txt")).unwrap().len(), 99_999);
}

#[test]
fn a_restart_keeps_older_segments_within_the_bound() {
    let dir = tempfile::tempdir().unwrap();
    let max = 16 * 1024;
    feed(&mut writer(dir.path(), max), 0..50);
    let before = segments(dir.path());
    feed(&mut writer(dir.path(), max), 50..60);
    let after = segments(dir.path());
    assert_eq!(after[..before.len()], before, "what the first run wrote is as it was");
    assert_eq!(after.len(), before.len() + 1);
    assert_eq!(stamps(dir.path()), (0..60).collect::<Vec<_>>());
    // A smaller bound holds from its first entry on.
    feed(&mut writer(dir.path(), 4096), [60]);
    assert!(total(dir.path()) <= 4096);
    assert_eq!(stamps(dir.path()).last(), Some(&60));
}

/// Every segment can be replayed alone: it begins with what the system clock says.
#[test]
fn each_segment_begins_with_the_system_clock() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = writer(dir.path(), 8 * 1024);
    let system = |wall: i64| Some(WallTime::from_nanos(wall * 1_000_000));
    let entry = Entry { at: at(0), source: 0, what: What::System(system(500)) };
    writer.take(Item { missed: 0, entry }, at(0));
    feed(&mut writer, 1..100);
    for (name, entries) in &segments(dir.path())[1..] {
        let millis = entries[0].at.nanos() / 1_000_000;
        assert_eq!(entries[0].what, What::System(system(500 + millis)), "{name}");
    }
}

#[test]
fn a_directory_that_comes_later_is_written_in_and_the_loss_is_marked() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("card");
    let mut writer = writer(&dir, 16 * 1024);
    feed(&mut writer, [0, 1, 2]);
    let trouble = writer.shared.told().trouble.clone().unwrap();
    assert!(trouble.what.contains("No such file"), "{trouble:?}");
    assert!(trouble.attempt.starts_with("make the directory"), "{trouble:?}");
    assert_eq!(writer.shared.dropped.load(Ordering::Relaxed), 3);
    fs::create_dir(&dir).unwrap();
    let retry = RETRY.nanos() / 1_000_000;
    feed(&mut writer, [retry - 1]);
    assert_eq!(total(&dir), 0, "not before it is time");
    feed(&mut writer, [retry, retry + 1]);
    assert!(writer.shared.told().trouble.is_none());
    let whats: Vec<What> = segments(&dir)[0].1.iter().map(|entry| entry.what.clone()).collect();
    assert_eq!(whats[0], What::Lost(4));
    assert_eq!((whats.len(), writer.shared.dropped.load(Ordering::Relaxed)), (3, 4));
}

/// A file system of one MiB; `None` where this may not be mounted.
struct Small(tempfile::TempDir);

impl Small {
    fn mount() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(dir.path());
        let done = mount.output().is_ok_and(|out| out.status.success());
        if !done {
            println!("skipped: no tmpfs may be mounted here");
        }
        done.then_some(Self(dir))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).output());
    }
}

#[test]
fn a_full_disk_costs_entries_and_is_left_by_itself() {
    let Some(small) = Small::mount() else { return };
    let dir = small.0.path();
    let mut writer = writer(dir, 4 * 1024 * 1024);
    feed(&mut writer, 0..10);
    let filler = dir.join("filler");
    let all = fs::write(&filler, vec![0; 2 * 1024 * 1024]);
    assert_eq!(all.unwrap_err().kind(), io::ErrorKind::StorageFull);
    // The page that is begun has room; then it is over, and stays so at every try.
    let retry = RETRY.nanos() / 1_000_000;
    feed(&mut writer, 10..500);
    feed(&mut writer, (1..4).map(|tries| 500 + tries * retry));
    let dropped = writer.shared.dropped.load(Ordering::Relaxed);
    assert!(dropped > 300, "{dropped}");
    let trouble = writer.shared.told().trouble.clone().unwrap();
    assert!(trouble.attempt.starts_with("free space"), "{trouble:?}");
    let before = stamps(dir);
    assert!(before.len() >= 10, "what was written is whole: {before:?}");
    fs::remove_file(filler).unwrap();
    feed(&mut writer, [500 + 4 * retry]);
    assert!(writer.shared.told().trouble.is_none());
    assert_eq!(stamps(dir).len(), before.len() + 1);
    let (_, newest) = segments(dir).pop().unwrap();
    assert_eq!(newest[0].what, What::Lost(dropped));
}

/// A disk that hangs: the writer takes nothing, and whoever gives entries goes on.
#[test]
fn a_full_queue_drops_counts_and_marks() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = writer(dir.path(), 16 * 1024 * 1024);
    for (text, fit, gives) in
        [("x".repeat(9), QUEUE_ENTRIES, 4000), ("x".repeat(64 * 1024), QUEUE_BYTES / 65_536, 40)]
    {
        let (items, queue) = sync_channel(QUEUE_ENTRIES);
        let (_end, ended) = channel();
        let shared = Arc::clone(&writer.shared);
        let path = dir.path().to_owned();
        let mut sink =
            Sink { items, missed: 0, dropped_at: None, shared, dir: path, bytes_max: 9, ended };
        let before = sink.status(at(0)).dropped;
        for millis in 0..gives {
            sink.take(at(millis), 0, Taken::Bytes(text.as_bytes()));
        }
        let status = sink.status(at(gives + 1999));
        assert_eq!(status.dropped - before, gives as u64 - fit as u64);
        assert_eq!(status.behind_s_ago, Some(2.0));
        writer.take(queue.recv().unwrap(), at(4000));
        sink.take(at(4000), 0, Taken::Up);
        drop(sink);
        writer.run(&queue);
        let entries: Vec<Entry> =
            segments(dir.path()).into_iter().flat_map(|(_, entries)| entries).collect();
        let [.., lost, last] = &entries[..] else { panic!("too few") };
        assert_eq!((&lost.what, &last.what), (&What::Lost(gives as u64 - fit as u64), &What::Up));
        assert_eq!(writer.shared.queued_bytes.load(Ordering::Relaxed), 0);
    }
}

/// The thread ends with its sink, everything written.
#[test]
fn closing_writes_what_waits() {
    let dir = tempfile::tempdir().unwrap();
    let Writer { header, .. } = writer(dir.path(), 0);
    let mut sink = Sink::start(dir.path().to_owned(), 1 << 20, header).unwrap();
    for millis in 0..500 {
        sink.take(at(millis), 0, Taken::Bytes(b"$GP,12345"));
    }
    sink.decided(at(500));
    sink.close(Duration::from_secs(20));
    assert_eq!(stamps(dir.path()), (0..500).collect::<Vec<_>>());
    assert_eq!(segments(dir.path())[0].1.last().unwrap().what, What::Decided);
}
