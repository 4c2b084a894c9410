//! Real ptys; a symlink stands for the name under /dev/serial/by-id.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;

use super::*;
use crate::edge::source::SourceEvent;

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
    SerialOptions {
        retry_min: Span::from_millis(5),
        retry_max: Span::from_millis(20),
        ..SerialOptions::new(
            path.into(),
            Baud::Fixed(115_200),
            Checksum::Required,
            Span::from_secs(10),
        )
    }
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
        let first = port::open(&link, 9600).unwrap();
        // Or a pty would stay shut after a kill -9.
        assert!(!first.exclusive());
        let error = port::open(&link, 9600).unwrap_err();
        let pid = std::process::id();
        let OpenError::Busy { holder: Holder::Known { pid: seen, .. }, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*seen, pid);
        assert!(error.to_string().contains("in use by"), "{error}");
        drop(first);
        assert!(port::open(&link, 9600).is_ok());
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
            let text = port::open(path, 9600).unwrap_err().to_string();
            assert!(text.contains(part) && text.contains(path.to_str().unwrap()), "{text}");
        }
        let denied = tokio_serial::Error::new(
            tokio_serial::ErrorKind::Io(io::ErrorKind::PermissionDenied),
            "Permission denied",
        );
        let text = port::explain(Path::new("/nowhere"), &denied).to_string();
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
        let text = port::advice(Path::new("/dev/ttyACM0"), group, mode);
        assert!(text.contains(part) && !text.contains("group `root`"), "{text}");
    }
}

const ZDA: &[u8] = b"$GPZDA,120000.00,30,11,2026,00,00*60\r\n";

/// A receiver on the far side of `link`: right sentences while the port has its rate, else what a
/// UART makes of them. A burst every 50 ms until it is dropped.
struct Simulated {
    rate: Arc<AtomicU32>,
    over: Arc<AtomicUsize>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Simulated {
    fn plug(link: &Path, rate: u32) -> Self {
        let (mut receiver, mut port) = SerialStream::pair().unwrap();
        // Nobody's: what is sent before the port is opened is garbage.
        port.set_baud_rate(1200).unwrap();
        std::os::unix::fs::symlink(port.name().unwrap(), link).unwrap();
        let rate = Arc::new(AtomicU32::new(rate));
        let over = Arc::new(AtomicUsize::new(0));
        let (own, end) = (Arc::clone(&rate), Arc::clone(&over));
        let thread = std::thread::spawn(move || {
            let _port = port;
            while end.load(Ordering::Relaxed) == 0 {
                let right = receiver.baud_rate().unwrap() == own.load(Ordering::Relaxed);
                let burst = if right { ZDA.repeat(4) } else { vec![0x9c; 100] };
                // A line that nobody reads is full: the rest is lost, as on a real one.
                // They come as a UART hands them over: by the trigger level of its FIFO.
                for piece in burst.chunks(16) {
                    let _ = receiver.write_all(piece);
                    std::thread::park_timeout(Duration::from_millis(3));
                }
                std::thread::park_timeout(Duration::from_millis(20));
            }
        });
        Self { rate, over, thread: Some(thread) }
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        self.over.store(1, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// The next event that is not bytes, however long they come.
async fn next_news(events: &mut mpsc::Receiver<SourceEvent>) -> Happened {
    let news = async {
        loop {
            match events.recv().await.unwrap().what {
                Happened::Bytes(_) => {}
                news => return news,
            }
        }
    };
    tokio::time::timeout(PATIENCE.mul_f64(4.0), news).await.expect("in time")
}

#[test]
fn auto_settles_on_the_receivers_rate_and_follows_it_when_it_changes() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let receiver = Simulated::plug(&link, 38_400);
        let (outlet, mut events, _) = outlet(64);
        let auto = SerialOptions { baud: Baud::Auto, ..options(&link) };
        let _task = tokio::spawn(run(auto, outlet, || 0.5));
        assert_eq!(next_news(&mut events).await, Happened::Up);
        for rate in [38_400, 115_200] {
            receiver.rate.store(rate, Ordering::Relaxed);
            let start = clock::boot_now();
            assert_eq!(next_news(&mut events).await, Happened::Detail(format!("{rate} baud")));
            assert_eq!(next_news(&mut events).await, Happened::Trouble(None));
            println!("{rate} baud found after {:.1} s", (clock::boot_now() - start).secs_f64());
        }
    });
}

/// A second reader takes bytes away: it is named, and so is its end.
#[test]
fn a_second_reader_of_the_port_is_named() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let _receiver = Simulated::plug(&link, 9600);
        let (outlet, mut events, _) = outlet(64);
        let auto = SerialOptions { baud: Baud::Auto, ..options(&link) };
        let _task = tokio::spawn(run(auto, outlet, || 0.5));
        for wanted in [Happened::Up, Happened::Detail("9600 baud".into()), Happened::Trouble(None)]
        {
            assert_eq!(next_news(&mut events).await, wanted);
        }
        // One that waits in a read takes everything, which is silence; this one now and then.
        let mut other = std::process::Command::new("sh")
            .args(["-c", "while :; do dd bs=16 count=1; sleep 0.02; done"])
            .stdin(fs::File::open(&link).unwrap())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let Happened::Trouble(Some(trouble)) = next_news(&mut events).await else {
            panic!("no trouble")
        };
        let named = format!("sh (process {})", other.id());
        assert!(trouble.what.contains(&named), "{trouble:?}");
        assert!(trouble.attempt.contains("gpsd"), "{trouble:?}");
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(next_news(&mut events).await, Happened::Trouble(None));
    });
}

/// E3: adapters that hang keep the port open for ever.
#[test]
fn a_silent_port_is_opened_anew_and_that_is_said_once() {
    on_runtime(async {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("gnss");
        let mut plug = plug(&link);
        let (outlet, mut events, _) = outlet(64);
        let hasty = SerialOptions { reopen_after: Span::from_millis(30), ..options(&link) };
        let _task = tokio::spawn(run(hasty, outlet, || 0.5));
        assert_eq!(next(&mut events).await, Happened::Up);
        plug.master.write_all(b"x").unwrap();
        expect_bytes(&mut events, b"x").await;
        expect_down(&mut events, "is silent, no byte in 0.03 s").await;
        // Some ten openings, and not a word.
        let more = tokio::time::timeout(Duration::from_millis(500), events.recv()).await;
        assert!(more.is_err(), "{more:?}");
        plug.master.write_all(b"y").unwrap();
        assert_eq!(next(&mut events).await, Happened::Up);
        expect_bytes(&mut events, b"y").await;
    });
}
