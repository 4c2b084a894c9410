//! Trackers, and those that only look like one.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

use super::*;
use crate::edge::source::SourceEvent;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(40);

fn block<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("in time") })
}

/// What a source listens on, its reader and what it tells.
async fn listening(
    listen: Listen,
    room: usize,
) -> (tokio::task::JoinHandle<()>, mpsc::Receiver<SourceEvent>) {
    let (events, mut told) = mpsc::channel(room);
    let outlet = Outlet::new(0, events, Arc::new(AtomicUsize::new(0)));
    let reader = tokio::spawn(run(listen, outlet, || 0.0));
    assert_eq!(next(&mut told).await, Happened::Up);
    (reader, told)
}

async fn next(told: &mut mpsc::Receiver<SourceEvent>) -> Happened {
    told.recv().await.expect("the source lives").what
}

async fn tcp(room: usize) -> (u16, tokio::task::JoinHandle<()>, mpsc::Receiver<SourceEvent>) {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let (reader, told) = listening(Listen::Tcp("127.0.0.1".to_owned(), port), room).await;
    (port, reader, told)
}

async fn connect(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap()
}

#[test]
fn lines_of_many_connections_never_mix() {
    block(async {
        let (port, reader, mut told) = tcp(2).await;
        let (trackers, lines) = (16, 200);
        for tracker in 0..trackers {
            tokio::spawn(async move {
                let mut stream = connect(port).await;
                for line in 0..lines {
                    // In two halves: every line is half read at some time, the last unended.
                    stream.write_all(format!("{{\"t\":{tracker},").as_bytes()).await.unwrap();
                    tokio::task::yield_now().await;
                    let end = if line + 1 == lines { "" } else { "\n" };
                    stream.write_all(format!("\"n\":{line}}}{end}").as_bytes()).await.unwrap();
                }
            });
        }
        let mut seen = vec![0; trackers];
        while seen.iter().any(|n| *n < lines) {
            let Happened::Bytes(bytes) = next(&mut told).await else { panic!("bytes") };
            assert_eq!(bytes.last(), Some(&b'\n'), "whole lines only");
            for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
                let line: serde_json::Value = serde_json::from_slice(line).unwrap();
                let (tracker, n) = (line["t"].as_u64().unwrap(), line["n"].as_u64().unwrap());
                assert_eq!(n, seen[tracker as usize], "in order, none lost");
                seen[tracker as usize] += 1;
            }
        }
        reader.abort();
    });
}

#[test]
fn one_that_sends_garbage_or_never_ends_a_line_harms_nobody() {
    block(async {
        let (port, reader, mut told) = tcp(4).await;
        for garbage in [&[b'x'; 9000][..], b"garbage\n", b"{\n}\n"] {
            let mut stream = connect(port).await;
            tokio::spawn(async move { while stream.write_all(garbage).await.is_ok() {} });
        }
        let mut good = connect(port).await;
        let sender = tokio::spawn(async move {
            for line in 0..2000 {
                good.write_all(format!("{{\"n\":{line}}}\n").as_bytes()).await.unwrap();
            }
            good
        });
        let (mut seen, mut hung_up) = (0, 0);
        while seen < 2000 || hung_up < 3 {
            match next(&mut told).await {
                Happened::Bytes(bytes) => {
                    for line in bytes.split(|b| *b == b'\n').filter(|line| line.starts_with(b"{\""))
                    {
                        assert_eq!(line, format!("{{\"n\":{seen}}}").as_bytes());
                        seen += 1;
                    }
                }
                Happened::Note { what } => {
                    assert!(what.contains("hung up on"), "{what}");
                    hung_up += 1;
                }
                other => panic!("{other:?}"),
            }
        }
        drop(sender.await.unwrap());
        reader.abort();
    });
}

#[test]
fn newcomers_beyond_the_bound_are_turned_away_and_places_come_free() {
    block(async {
        let (port, reader, mut told) = tcp(4).await;
        let mut held = Vec::new();
        for _ in 0..=CONNECTIONS_MAX {
            held.push(connect(port).await);
        }
        let Happened::Note { what } = next(&mut told).await else { panic!("it is said") };
        assert!(what.starts_with("64 trackers are connected"), "{what}");
        // The last one hears that it is not wanted.
        assert_eq!(held.pop().unwrap().read(&mut [0; 1]).await.unwrap(), 0);
        held.clear();
        loop {
            let mut stream = connect(port).await;
            let _ = stream.write_all(b"{}\n").await;
            let mut byte = [0; 1];
            let closed = tokio::time::timeout(Duration::from_secs(2), stream.read(&mut byte));
            if closed.await.is_err() {
                break;
            }
        }
        assert_eq!(next(&mut told).await, Happened::Bytes(b"{}\n".to_vec()));
        reader.abort();
    });
}

#[test]
fn a_unix_socket_is_made_over_a_dead_one_and_over_nothing_else() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.sock");
        for _ in 0..2 {
            // The second time the file of the first lies there.
            let (reader, mut told) = listening(Listen::Unix(path.clone()), 4).await;
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, SOCKET_MODE);
            let mut stream = UnixStream::connect(&path).await.unwrap();
            stream.write_all(b"{}\n{}").await.unwrap();
            drop(stream);
            let mut bytes = Vec::new();
            while bytes.len() < 6 {
                let Happened::Bytes(more) = next(&mut told).await else { panic!("bytes") };
                bytes.extend(more);
            }
            assert_eq!(bytes, b"{}\n{}\n");
            reader.abort();
            let _ = reader.await;
        }
        let held = UnixListener::bind(dir.path().join("held")).unwrap();
        fs::write(dir.path().join("file"), "x").unwrap();
        for (name, why) in [
            ("held", "another process listens there"),
            ("file", "something that is no socket lies there"),
            ("none/t.sock", "its directory does not exist"),
        ] {
            assert_eq!(bind_unix(&dir.path().join(name)).unwrap_err(), why);
        }
        drop(held);
        assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"x");
    });
}

#[test]
fn a_port_is_free_again_at_once() {
    block(async {
        let (port, reader, _told) = tcp(4).await;
        let _held = connect(port).await;
        reader.abort();
        let _ = reader.await;
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.expect("free");
    });
}
