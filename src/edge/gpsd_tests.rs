//! A gpsd of our own, that says what a test wants.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use super::*;
use crate::edge::clock;
use crate::edge::source::SourceEvent;
use crate::units::Span;

/// Far more than anything here takes.
const PATIENCE: Duration = Duration::from_secs(40);

const VERSION: &str = r#"{"class":"VERSION","release":"3.22","proto_major":3,"proto_minor":14}"#;
const BOTH: &str = r#"{"class":"DEVICES","devices":[{"path":"/dev/a","activated":"2026-11-30T12:00:00Z"},
    {"path":"/dev/b"}]}"#;
const NONE: &str = r#"{"class":"DEVICES","devices":[]}"#;
const TPV: &str = r#"{"class":"TPV","device":"/dev/a","mode":1}"#;
const WATCH: &str = r#"?WATCH={"device":"/dev/a","enable":true,"json":true};"#;

struct Fake {
    listener: TcpListener,
    stream: Option<BufReader<TcpStream>>,
    told: mpsc::Receiver<SourceEvent>,
}

impl Fake {
    /// A daemon, and a reader of it that wants `device`.
    async fn new(device: Option<&str>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (events, told) = mpsc::channel(64);
        let outlet = Outlet::new(0, events, Arc::new(AtomicUsize::new(0)));
        let options = GpsdOptions { peer: Peer::hasty(port), device: device.map(str::to_owned) };
        tokio::spawn(run(options, outlet, || 0.0));
        Self { listener, stream: None, told }
    }

    async fn met(&mut self) {
        self.stream = Some(BufReader::new(self.listener.accept().await.unwrap().0));
    }

    async fn says(&mut self, lines: &[&str]) {
        for line in lines {
            let line = line.replace('\n', "") + "\r\n";
            self.stream.as_mut().unwrap().get_mut().write_all(line.as_bytes()).await.unwrap();
        }
    }

    async fn hears(&mut self, request: &str) {
        let mut line = String::new();
        self.stream.as_mut().unwrap().read_line(&mut line).await.unwrap();
        assert_eq!(line.trim_end(), request);
        if request.starts_with("?WATCH") {
            line.clear();
            self.stream.as_mut().unwrap().read_line(&mut line).await.unwrap();
            assert_eq!(line.trim_end(), "?DEVICES;");
        }
    }

    /// What is told next: `+`, `- why`, `! note` or the lines that are handed on.
    async fn told(&mut self, expected: &str) {
        let told = match self.told.recv().await.unwrap().what {
            Happened::Up => "+".to_owned(),
            Happened::Down { why } => format!("- {why}"),
            Happened::Note { what } => format!("! {what}"),
            Happened::Bytes(bytes) => String::from_utf8(bytes).unwrap().trim_end().to_owned(),
            Happened::End => "end".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(told, expected);
    }
}

fn block<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.expect("in time") })
}

#[test]
fn e7_asked_again_after_each_reconnect() {
    block(async {
        let mut gpsd = Fake::new(Some("/dev/a")).await;
        for _ in 0..3 {
            gpsd.met().await;
            gpsd.says(&[VERSION]).await;
            gpsd.hears(WATCH).await;
            gpsd.says(&[BOTH, TPV]).await;
            gpsd.told("+").await;
            gpsd.told(TPV).await;
            gpsd.stream = None;
            gpsd.told("- gpsd has closed the connection").await;
        }
    });
}

#[test]
fn a_device_that_is_not_there_is_said_until_it_is() {
    block(async {
        let mut gpsd = Fake::new(Some("/dev/c")).await;
        let watch = WATCH.replace("/dev/a", "/dev/c");
        for told in [true, false] {
            gpsd.met().await;
            gpsd.says(&[VERSION]).await;
            gpsd.hears(&watch).await;
            gpsd.says(&[BOTH]).await;
            if told {
                gpsd.told("- gpsd has no device /dev/c; it has /dev/a, /dev/b").await;
            }
        }
        gpsd.met().await;
        gpsd.says(&[VERSION]).await;
        gpsd.hears(&watch).await;
        gpsd.says(&[&BOTH.replace("/dev/a", "/dev/c")]).await;
        gpsd.told("+").await;
    });
}

#[test]
fn devices_that_gpsd_opens_and_closes() {
    block(async {
        let mut gpsd = Fake::new(Some("/dev/b")).await;
        let watch = WATCH.replace("/dev/a", "/dev/b");
        gpsd.met().await;
        gpsd.says(&[VERSION]).await;
        gpsd.hears(&watch).await;
        gpsd.says(&[BOTH, r#"{"class":"WATCH","enable":true,"json":true}"#]).await;
        gpsd.told("- gpsd has /dev/a, /dev/b, and has not opened it").await;
        gpsd.says(&[r#"{"class":"ERROR","message":"zero"}"#]).await;
        gpsd.says(&[r#"{"class":"DEVICE","path":"/dev/a","activated":0}"#]).await;
        gpsd.says(&[r#"{"class":"DEVICE","path":"/dev/b","activated":"2026-11-30T12:00:00Z"}"#])
            .await;
        gpsd.told("+").await;
        // It lost it and took it back while nobody was told.
        gpsd.says(&[BOTH]).await;
        gpsd.told("- gpsd has /dev/a, /dev/b, and has not opened it").await;
        gpsd.says(&[TPV]).await;
        gpsd.told("+").await;
        gpsd.told(TPV).await;
        gpsd.says(&[r#"{"class":"ERROR","message":"one"}"#]).await;
        gpsd.told("! gpsd refuses a request: one").await;
        gpsd.says(&[r#"{"class":"ERROR","message":"two"}"#]).await;
        gpsd.says(&[r#"{"class":"DEVICE","path":"/dev/b","activated":0}"#]).await;
        gpsd.told("- gpsd has closed /dev/b: is it unplugged?").await;
        gpsd.met().await;
        gpsd.says(&[VERSION]).await;
        gpsd.hears(&watch).await;
        gpsd.says(&[NONE]).await;
        gpsd.told("- gpsd has no device /dev/b; it has none").await;
    });
}

#[test]
fn one_that_greets_and_hangs_up_is_not_hammered() {
    block(async {
        let mut gpsd = Fake::new(None).await;
        let start = clock::boot_now();
        for _ in 0..5 {
            gpsd.met().await;
            gpsd.says(&[VERSION, &BOTH.replace('\n', ""), r#"{"class":"WATCH"}"#]).await;
            gpsd.hears(r#"?WATCH={"enable":true,"json":true};"#).await;
            gpsd.stream = None;
        }
        // Half of 250 ms, 500 ms, 1 s, 2 s: the least that chance gives.
        let took = clock::boot_now() - start;
        assert!(took >= Span::from_millis(1850), "{took:?}");
    });
}

#[test]
fn a_silent_gpsd_is_asked_before_it_is_left() {
    block(async {
        let mut gpsd = Fake::new(None).await;
        gpsd.met().await;
        gpsd.says(&[VERSION]).await;
        gpsd.hears(r#"?WATCH={"enable":true,"json":true};"#).await;
        gpsd.says(&[BOTH]).await;
        gpsd.told("+").await;
        // Its receiver is off; it lives.
        gpsd.hears("?DEVICES;").await;
        gpsd.says(&[BOTH]).await;
        gpsd.hears("?DEVICES;").await;
        gpsd.told("- nothing came for 0.5 s; connecting again").await;
    });
}

#[test]
fn nonsense_is_handed_on_to_be_counted_and_a_liar_is_left() {
    block(async {
        let mut gpsd = Fake::new(None).await;
        gpsd.met().await;
        for line in ["HTTP/1.1 400 Bad Request", "{\"class\":"] {
            gpsd.says(&[line]).await;
            gpsd.told(line).await;
        }
        let mut stream = gpsd.stream.take().unwrap().into_inner();
        let flood = tokio::spawn(async move {
            while stream.write_all(&[b'x'; 8000]).await.is_ok()
                && stream.write_all(b"\n").await.is_ok()
            {}
        });
        loop {
            match gpsd.told.recv().await.unwrap().what {
                Happened::Bytes(_) => {}
                Happened::Down { why } => break assert_eq!(why, "what answers there is no gpsd"),
                other => panic!("{other:?}"),
            }
        }
        flood.await.unwrap();
    });
}
