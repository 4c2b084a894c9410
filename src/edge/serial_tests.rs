//! Real ptys; a symlink stands for the name under /dev/serial/by-id.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use super::*;
use crate::edge::source::{Happened, SourceEvent};

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(10);

struct Plug {
    master: fs::File,
    _slave: OwnedFd,
}

/// A new pty under the name `link`.
fn plug(link: &Path) -> Plug {
    let pty = nix::pty::openpty(None, None).unwrap();
    let _ = fs::remove_file(link);
    std::os::unix::fs::symlink(nix::unistd::ttyname(&pty.slave).unwrap(), link).unwrap();
    Plug { master: fs::File::from(pty.master), _slave: pty.slave }
}

fn options(path: &Path) -> SerialOptions {
    let (retry_min, retry_max) = (Span::from_millis(5), Span::from_millis(20));
    SerialOptions { path: path.into(), baud: Baud::Fixed(115_200), retry_min, retry_max }
}

fn outlet(room: usize) -> (Outlet, mpsc::Receiver<SourceEvent>, Arc<AtomicUsize>) {
    let (sender, receiver) = mpsc::channel(room);
    let lost = Arc::new(AtomicUsize::new(0));
    (Outlet::new(7, sender, Arc::clone(&lost)), receiver, lost)
}

async fn next(events: &mut mpsc::Receiver<SourceEvent>) -> Happened {
    let event = tokio::time::timeout(PATIENCE, events.recv()).await.expect("in time").unwrap();
    assert_eq!(event.source, 7);
    event.what
}

async fn expect_bytes(events: &mut mpsc::Receiver<SourceEvent>, wanted: &[u8]) {
    let mut got = Vec::new();
    while got.len() < wanted.len() {
        match next(events).await {
            Happened::Bytes(bytes) => got.extend(bytes),
            other => panic!("{other:?} instead of bytes"),
        }
    }
    assert_eq!(got, wanted);
}

async fn expect_down(events: &mut mpsc::Receiver<SourceEvent>, part: &str) {
    match next(events).await {
        Happened::Down { why } => assert!(why.contains(part), "{why}"),
        other => panic!("{other:?} instead of down"),
    }
}

fn on_runtime(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

#[test]
fn e_1_a_port_is_waited_for_read_lost_and_found_again() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let (outlet, mut events, lost) = outlet(64);
        let task = tokio::spawn(run(options(&link), outlet, || 0.5));
        expect_down(&mut events, "is not there; waiting").await;

        for round in 0..3 {
            let mut plug = plug(&link);
            assert_eq!(next(&mut events).await, Happened::Up, "round {round}");
            // Raw: nothing is translated, echoed or held back for a line end.
            let bytes = b"$GPRMC,\r\n\x03\x04\x00\xff\xb5\x62*";
            plug.master.write_all(bytes).unwrap();
            expect_bytes(&mut events, bytes).await;
            // The name goes first: a number that is free is somebody else's pty at once.
            fs::remove_file(&link).unwrap();
            drop(plug);
            expect_down(&mut events, "gone").await;
            expect_down(&mut events, "is not there").await;
        }
        assert_eq!(lost.load(Ordering::Relaxed), 0);
        drop(events);
        tokio::time::timeout(PATIENCE, task).await.expect("ends when nobody listens").unwrap();
    });
}

#[test]
fn a_full_channel_loses_chunks_counted_and_the_port_stays_open() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let mut plug = plug(&link);
        let (outlet, mut events, lost) = outlet(1);
        let _task = tokio::spawn(run(options(&link), outlet, || 0.5));
        assert_eq!(next(&mut events).await, Happened::Up);
        let deadline = tokio::time::timeout(PATIENCE, async {
            while lost.load(Ordering::Relaxed) == 0 {
                plug.master.write_all(b"x").unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        deadline.await.expect("a loss is counted");
        assert!(matches!(next(&mut events).await, Happened::Bytes(_)));
    });
}

#[test]
fn a_pty_makes_its_writer_wait_and_loses_nothing_to_a_busy_loop() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let mut plug = plug(&link);
        let (outlet, mut events, lost) = outlet(2);
        let _task = tokio::spawn(run(options(&link), outlet, || 0.5));
        assert_eq!(next(&mut events).await, Happened::Up);
        let content: Vec<u8> = (0..100_000_u32).map(|i| (i % 251) as u8).collect();
        let wanted = content.clone();
        let writer = std::thread::spawn(move || {
            plug.master.write_all(&content).unwrap();
            plug
        });
        let mut got = Vec::new();
        while got.len() < wanted.len() {
            let Happened::Bytes(bytes) = next(&mut events).await else { panic!("no bytes") };
            got.extend(bytes);
            // Busy: the channel is full most of the time.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(got == wanted && lost.load(Ordering::Relaxed) == 0);
        drop(writer.join().unwrap());
    });
}

#[test]
fn a_port_in_use_names_its_holder() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let _plug = plug(&link);
        let first = open(&options(&link)).unwrap();
        // Or a pty would stay shut after a kill -9.
        assert!(!first.exclusive());
        let error = open(&options(&link)).unwrap_err();
        let pid = std::process::id();
        let OpenError::Busy { holder: Holder::Known { pid: seen, .. }, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*seen, pid);
        assert!(error.to_string().contains("in use by"), "{error}");
        drop(first);
        assert!(open(&options(&link)).is_ok());
    });
}

#[test]
fn what_is_not_a_port_is_said() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("log.nmea");
        fs::write(&file, "x").unwrap();
        let table = [
            (file.as_path(), "use kind = \"file\""),
            (dir.path(), "a directory"),
            (Path::new("/dev/null"), "not a serial port"),
            (Path::new("/nowhere/tty"), "not there"),
        ];
        for (path, part) in table {
            let text = open(&options(path)).unwrap_err().to_string();
            assert!(text.contains(part) && text.contains(path.to_str().unwrap()), "{text}");
        }
        let denied = tokio_serial::Error::new(
            tokio_serial::ErrorKind::Io(io::ErrorKind::PermissionDenied),
            "Permission denied",
        );
        let text = explain(Path::new("/nowhere"), &denied).to_string();
        assert!(text.contains("group `dialout`"), "{text}");
    });
}

#[test]
fn nobody_is_sent_into_a_group_that_does_not_help() {
    for (group, mode, part) in [
        ("dialout", 0o20660, "to group `dialout`"),
        ("uucp", 0o20660, "add the user of geofenced to group `uucp`"),
        ("root", 0o20600, "KERNEL==\"ttyACM0\", GROUP=\"dialout\", MODE=\"0660\""),
        ("root", 0o20660, "rules.d"),
        ("dialout", 0o20600, "rules.d"),
    ] {
        let text = advice(Path::new("/dev/ttyACM0"), group, mode);
        assert!(text.contains(part) && !text.contains("group `root`"), "{text}");
    }
}
