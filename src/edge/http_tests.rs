//! Against the loopback receiver, dead ports, and a TLS server with a CA of its own.

use std::net::TcpListener;

use serde_json::{Value, json};

use super::*;
use crate::edge::receiver::{Manner, Receiver};

fn cloud_events(range: std::ops::RangeInclusive<u64>) -> Vec<Value> {
    range
        .map(|seq| json!({"specversion": "1.0", "id": format!("k7-{seq}"), "data": {"seq": seq}}))
        .collect()
}

fn client(url: &str) -> Http {
    Http::new(&HttpOptions { url: url.into(), ..HttpOptions::default() }).unwrap()
}

fn post(client: &Http, range: std::ops::RangeInclusive<u64>) -> Outcome {
    let key = format!("k7-{}-{}", range.start(), range.end());
    client.post(&client.format.body(&cloud_events(range)), &key, None)
}

fn status_of(outcome: &Outcome) -> u16 {
    match outcome {
        Outcome::Answered { status, .. } => *status,
        Outcome::Failed { failure, text } => panic!("{failure:?}: {text}"),
    }
}

fn failure_of(outcome: &Outcome) -> Failure {
    match outcome {
        Outcome::Failed { failure, .. } => *failure,
        Outcome::Answered { .. } => panic!("{outcome:?}"),
    }
}

#[test]
fn del_2_batches_arrive_whole_packed_and_keyed() {
    let receiver = Receiver::start().unwrap();
    let client = client(&receiver.url());
    for (range, packed) in [(1..=1, false), (2..=99, true)] {
        let Outcome::Answered { status, ack, .. } = post(&client, range.clone()) else {
            panic!("no answer")
        };
        assert_eq!((status, ack.acknowledged), (200, Some(*range.end())));
        let seen = receiver.seen().pop().unwrap();
        assert_eq!(seen.gzip, packed);
        assert_eq!(seen.key, format!("k7-{}-{}", range.start(), range.end()));
        assert_eq!(seen.content_type, "application/cloudevents-batch+json");
        assert_eq!(seen.authorization, "");
    }
    assert_eq!(receiver.events(), cloud_events(1..=99));
}

#[test]
fn del_2_every_format_is_understood() {
    let receiver = Receiver::start().unwrap();
    for format in [WireFormat::Batch, WireFormat::Single, WireFormat::Jsonl] {
        let url = receiver.url();
        let client = Http::new(&HttpOptions { url, format, ..HttpOptions::default() }).unwrap();
        assert_eq!(status_of(&post(&client, 1..=1)), 200, "{format:?}");
        assert_eq!(receiver.seen().pop().unwrap().content_type, format.content_type());
    }
    assert_eq!(receiver.received().len(), 3);
    assert_eq!(receiver.events().len(), 1);
}

#[test]
fn h_1_an_answer_that_is_lost_is_no_answer_and_the_server_knows_the_repeat() {
    let receiver = Receiver::start().unwrap();
    receiver.once([Manner::DropAnswer]);
    let client = client(&receiver.url());
    assert_eq!(failure_of(&post(&client, 1..=3)), Failure::Broken);
    assert_eq!(status_of(&post(&client, 1..=3)), 200);
    let seen = receiver.seen();
    assert_eq!((&seen[0].key, &seen[0].body), (&seen[1].key, &seen[1].body));
    let duplicates: Vec<bool> = receiver.received().iter().map(|r| r.duplicate).collect();
    assert_eq!(duplicates, [false, false, false, true, true, true]);
}

#[test]
fn every_status_comes_back_as_it_is() {
    let receiver = Receiver::start().unwrap();
    let client = client(&receiver.url());
    for status in [301, 302, 307, 400, 401, 403, 404, 405, 413, 429, 500, 503] {
        receiver.once([Manner::Status(status)]);
        assert_eq!(status_of(&post(&client, 1..=1)), status);
    }
    receiver.once([Manner::RetryAfter(503, 17)]);
    let Outcome::Answered { retry_after, text, .. } = post(&client, 1..=1) else { panic!() };
    assert_eq!(retry_after, Some(Span::from_secs(17)));
    assert_eq!(text, r#"{"error":"told so"}"#);
    assert!(receiver.received().is_empty());
}

#[test]
fn the_token_is_read_at_each_try() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let receiver = Receiver::start().unwrap();
    let (url, token_file) = (receiver.url(), Some(path.clone()));
    let client = Http::new(&HttpOptions { url, token_file, ..HttpOptions::default() }).unwrap();
    assert_eq!(failure_of(&post(&client, 1..=1)), Failure::Local);
    for token in ["first", "second"] {
        std::fs::write(&path, format!("{token}\n")).unwrap();
        assert_eq!(status_of(&post(&client, 1..=1)), 200);
        assert_eq!(receiver.seen().pop().unwrap().authorization, format!("Bearer {token}"));
    }
    // A token that cannot be a header is a fault of this machine and is not shown.
    std::fs::write(&path, "two\nlines").unwrap();
    let Outcome::Failed { failure: Failure::Local, text } = post(&client, 1..=1) else { panic!() };
    assert!(!text.contains("lines"), "{text}");
}

#[test]
fn failures_say_where() {
    let dead = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", dead.local_addr().unwrap());
    // Listens and never answers.
    let outcome = client(&url).post(b"[]", "k", Some(Duration::from_millis(50)));
    assert_eq!(failure_of(&outcome), Failure::Timeout);
    drop(dead);
    assert_eq!(failure_of(&client(&url).post(b"[]", "k", None)), Failure::Connect);
    // What is spoken there is not TLS.
    let receiver = Receiver::start().unwrap();
    let url = receiver.url().replace("http:", "https:");
    let outcome = client(&url).post(b"[]", "k", None);
    assert_eq!(failure_of(&outcome), Failure::Tls, "{outcome:?}");
}

#[test]
fn errors_of_the_libraries_are_sorted() {
    // A resolver is not asked: these are its errors as std and ureq give them.
    let io = |kind: io::ErrorKind, text: &str| ureq::Error::Io(io::Error::new(kind, text));
    let lookup = "failed to lookup address information: Name or service not known";
    let table = [
        (ureq::Error::HostNotFound, Failure::Dns),
        (io(io::ErrorKind::Other, lookup), Failure::Dns),
        (ureq::Error::Timeout(Timeout::Resolve), Failure::Dns),
        (ureq::Error::Timeout(Timeout::Connect), Failure::Timeout),
        (io(io::ErrorKind::NetworkUnreachable, "x"), Failure::Connect),
        (io(io::ErrorKind::ConnectionReset, "x"), Failure::Broken),
        (ureq::Error::Rustls(rustls::Error::HandshakeNotComplete), Failure::Tls),
    ];
    for (error, wanted) in table {
        assert_eq!(classify(&error), wanted, "{error}");
        assert!(!explain(&error).is_empty());
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let with = |url: &str| Http::new(&HttpOptions { url: url.into(), ..HttpOptions::default() });
    for (url, part) in [
        ("fleet.example/v1", "not an http"),
        ("ftp://fleet.example/", "not an http"),
        ("", "not an http"),
        ("http://fleet.example/v1", "not encrypted"),
        ("http://127.0.0.1.example/", "not encrypted"),
    ] {
        let text = with(url).unwrap_err().to_string();
        assert!(text.contains(part), "{url}: {text}");
    }
    for url in ["https://fleet.example/v1", "http://localhost:1/", "http://[::1]:80/"] {
        assert!(with(url).is_ok(), "{url}");
    }
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("ca.pem");
    std::fs::write(&empty, "nothing").unwrap();
    let url = "https://fleet.example/".to_owned();
    let ca_file = Some(empty);
    let options = HttpOptions { url, ca_file, ..HttpOptions::default() };
    let text = Http::new(&options).unwrap_err().to_string();
    assert!(text.contains("no certificate"), "{text}");
    let half = HttpOptions { client_key_file: options.ca_file.clone(), ..options.clone() };
    assert!(Http::new(&HttpOptions { ca_file: None, ..half }).is_err());
    let proxy = Some("nonsense://".to_owned());
    assert!(Http::new(&HttpOptions { proxy, ca_file: None, ..options }).is_err());
}

#[test]
fn patience_is_seconds_or_a_date_by_the_servers_clock() {
    let read = |retry: &str, date: &str| {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", retry.parse().unwrap());
        headers.insert("date", date.parse().unwrap());
        retry_after(&headers)
    };
    let date = "Mon, 30 Nov 2026 23:59:50 GMT";
    assert_eq!(read("120", date), Some(Span::from_secs(120)));
    assert_eq!(read("Tue, 01 Dec 2026 00:00:20 GMT", date), Some(Span::from_secs(30)));
    assert_eq!(read("Mon, 30 Nov 2026 00:00:00 GMT", date), Some(Span::ZERO));
    for bad in ["-1", "soon", "Tue, 01 anF 2026 00:00:00 GMT", "Tue, 01 Dec 2026 25:00:00 GMT"] {
        assert_eq!(read(bad, date), None, "{bad}");
    }
    assert_eq!(read("Tue, 01 Dec 2026 00:00:20 GMT", "today"), None);
}

/// A TLS server for one name that answers `requests` times; its CA in PEM, and its port.
fn tls_server(name: &str, requests: usize) -> (String, u16) {
    let ca_key = rcgen::KeyPair::generate().unwrap();
    let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let ca_cert = ca.self_signed(&ca_key).unwrap();
    let issuer = rcgen::Issuer::new(ca, ca_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let chain = vec![leaf.signed_by(&key, &issuer).unwrap().der().clone()];
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = Arc::new(config);
    std::thread::spawn(move || {
        for stream in listener.incoming().take(requests) {
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut tls = rustls::StreamOwned::new(connection, stream.unwrap());
            let mut buffer = [0; 4096];
            // A handshake that the client breaks off is what some tests want.
            if io::Read::read(&mut tls, &mut buffer).is_ok() {
                let _ = tls.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
                tls.conn.send_close_notify();
                let _ = tls.flush();
            }
        }
    });
    (ca_cert.pem(), port)
}

#[test]
fn del_2_only_a_server_of_the_configured_ca_is_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.pem");
    // (name in the certificate, trust its CA, what comes of it)
    for (name, trusted, works) in
        [("localhost", true, true), ("localhost", false, false), ("other.example", true, false)]
    {
        let (pem, port) = tls_server(name, 1);
        std::fs::write(&path, pem).unwrap();
        let url = format!("https://localhost:{port}/");
        let ca_file = trusted.then(|| path.clone());
        let client = Http::new(&HttpOptions { url, ca_file, ..HttpOptions::default() }).unwrap();
        let outcome = client.post(b"[]", "k", None);
        if works {
            assert_eq!(status_of(&outcome), 202);
        } else {
            assert_eq!(failure_of(&outcome), Failure::Tls, "{name}: {outcome:?}");
        }
    }
}
