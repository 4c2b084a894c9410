//! Servers and senders on the loopback that misbehave.

use std::net::{Ipv4Addr, UdpSocket as StdUdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;
use crate::edge::source::SourceEvent;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);
const SENTENCE: &[u8] = b"$GPRMC,120000,V,,,,,,,301126,,,N*57\r\n";

fn block<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("in time") })
}

/// The next thing that is told, and when.
async fn next(told: &mut mpsc::Receiver<SourceEvent>) -> Happened {
    told.recv().await.expect("the source lives").what
}

async fn server() -> (TcpListener, Peer) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, Peer::hasty(port))
}

fn outlet(room: usize) -> (Outlet, mpsc::Receiver<SourceEvent>, Arc<AtomicUsize>) {
    let (events, told) = mpsc::channel(room);
    let lost = Arc::new(AtomicUsize::new(0));
    (Outlet::new(0, events, Arc::clone(&lost)), told, lost)
}

#[test]
fn e6_a_silent_server_is_left_and_met_again() {
    block(async {
        let (listener, peer) = server().await;
        let (outlet, mut told, _) = outlet(16);
        let reader = tokio::spawn(tcp(peer, outlet, || 0.0));
        let (mut first, _) = listener.accept().await.unwrap();
        first.write_all(SENTENCE).await.unwrap();
        assert_eq!(next(&mut told).await, Happened::Up);
        assert_eq!(next(&mut told).await, Happened::Bytes(SENTENCE.to_vec()));
        // It stays open and says nothing more.
        let start = clock::boot_now();
        let Happened::Down { why } = next(&mut told).await else { panic!("it is gone") };
        assert!(clock::boot_now() - start >= Span::from_millis(450));
        assert!(why.starts_with("nothing came for 0.5 s"), "{why}");
        let (mut second, _) = listener.accept().await.unwrap();
        second.write_all(SENTENCE).await.unwrap();
        assert_eq!(next(&mut told).await, Happened::Up);
        assert_eq!(next(&mut told).await, Happened::Bytes(SENTENCE.to_vec()));
        drop((first, told));
        reader.await.unwrap();
    });
}

#[test]
fn a_server_that_hangs_up_at_once_is_not_hammered() {
    block(async {
        let (listener, peer) = server().await;
        let (outlet, mut told, _) = outlet(64);
        let reader = tokio::spawn(tcp(peer, outlet, || 1.0));
        let start = clock::boot_now();
        for _ in 0..5 {
            let (mut stream, _) = listener.accept().await.unwrap();
            // A banner is no sentence.
            stream.write_all(b"$ busy, GPRMC later\r\n").await.unwrap();
        }
        // 250 ms, 500 ms, 1 s, 2 s.
        let took = clock::boot_now() - start;
        assert!(took >= Span::from_millis(3700), "{took:?}");
        let mut ups = 0;
        while let Ok(event) = told.try_recv() {
            ups += usize::from(event.what == Happened::Up);
        }
        assert_eq!(ups, 3, "the log is not filled");
        reader.abort();
    });
}

#[test]
fn a_flood_of_garbage_is_left() {
    block(async {
        let (listener, peer) = server().await;
        let (outlet, mut told, _) = outlet(16);
        let reader = tokio::spawn(tcp(peer, outlet, || 0.0));
        let (mut stream, _) = listener.accept().await.unwrap();
        let flood =
            tokio::spawn(async move { while stream.write_all(&[b'x'; 8192]).await.is_ok() {} });
        let mut bytes = 0;
        let why = loop {
            match next(&mut told).await {
                Happened::Bytes(more) => bytes += more.len(),
                Happened::Down { why } => break why,
                _ => {}
            }
        };
        assert_eq!(why, "what it sends is no NMEA");
        assert!(bytes <= GARBAGE_BYTES_MAX + READ_BYTES, "{bytes}");
        flood.await.unwrap();
        reader.abort();
    });
}

/// A port that nobody has for the moment.
fn free_port() -> u16 {
    StdUdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn udp_loses_the_oldest_and_counts() {
    block(async {
        let port = free_port();
        let (outlet, mut told, lost) = outlet(1);
        let reader = tokio::spawn(udp("127.0.0.1".to_owned(), port, outlet, || 0.0));
        assert_eq!(next(&mut told).await, Happened::Up);
        let sender = StdUdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let sent = DATAGRAMS_MAX + 300;
        for n in 0..sent {
            sender.send_to(n.to_string().as_bytes(), ("127.0.0.1", port)).unwrap();
            // The kernel's own buffer must not be what loses them.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        }
        while lost.load(Ordering::Relaxed) < 298 {
            tokio::task::yield_now().await;
        }
        let mut got = Vec::new();
        while got.last() != Some(&(sent - 1)) {
            let Happened::Bytes(bytes) = next(&mut told).await else { panic!("bytes") };
            let text = String::from_utf8(bytes).unwrap();
            got.push(text.strip_suffix("\r\n").expect("ended").parse::<usize>().unwrap());
        }
        assert!(got.is_sorted());
        assert_eq!(got.len() + lost.load(Ordering::Relaxed), sent, "each one is told or counted");
        assert!(got[got.len() - DATAGRAMS_MAX..].iter().copied().eq(sent - DATAGRAMS_MAX..sent));
        reader.abort();
    });
}

/// One longer than is taken is counted, and never told in part.
#[test]
fn a_long_datagram_is_counted_whole() {
    block(async {
        let port = free_port();
        let (outlet, mut told, lost) = outlet(8);
        let reader = tokio::spawn(udp("127.0.0.1".to_owned(), port, outlet, || 0.0));
        assert_eq!(next(&mut told).await, Happened::Up);
        let sender = StdUdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for len in [DATAGRAM_BYTES_MAX + 1, DATAGRAM_BYTES_MAX + 900, DATAGRAM_BYTES_MAX] {
            sender.send_to(&vec![b'x'; len], ("127.0.0.1", port)).unwrap();
        }
        let Happened::Bytes(bytes) = next(&mut told).await else { panic!("bytes") };
        assert_eq!(bytes.len(), DATAGRAM_BYTES_MAX + 2, "the longest, and its line's end");
        assert_eq!(lost.load(Ordering::Relaxed), 2);
        reader.abort();
    });
}

#[test]
fn a_port_that_is_taken_is_waited_for() {
    block(async {
        let taken = StdUdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let (outlet, mut told, _) = outlet(4);
        let reader = tokio::spawn(udp("127.0.0.1".to_owned(), port, outlet, || 0.0));
        let Happened::Down { why } = next(&mut told).await else { panic!("it is taken") };
        assert_eq!(why, format!("127.0.0.1:{port} cannot be listened on: Address already in use"));
        drop(taken);
        assert_eq!(next(&mut told).await, Happened::Up);
        reader.abort();
        let _ = reader.await;
        StdUdpSocket::bind((Ipv4Addr::LOCALHOST, port)).expect("free again at once");
    });
}

#[test]
fn datagrams_and_sentences() {
    for (datagram, expected) in [
        (&b"$A\r\n"[..], &b"$A\r\n"[..]),
        (b"$A", b"$A\r\n"),
        (b"$A\r\n$B", b"$A\r\n$B\r\n"),
        (b"", b"\r\n"),
    ] {
        assert_eq!(whole(datagram), expected);
    }
    for (bytes, sentence) in [
        (&b"xx$GPRMC,1"[..], true),
        (b"!AIVDM,1", true),
        (b"$PUBX,00", true),
        (b"$GP,", false),
        (b"$GPRMC", false),
        (b"$$$,,,", false),
        (b"HTTP/1.1 400 Bad Request", false),
    ] {
        assert_eq!(has_sentence(bytes), sentence, "{}", String::from_utf8_lossy(bytes));
    }
}
