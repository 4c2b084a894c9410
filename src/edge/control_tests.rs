//! Real sockets in a temporary directory.

use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream as StdStream;

use serde_json::json;
use tokio::sync::oneshot;

use super::*;

/// A daemon with nothing behind it but an echo; dropping it ends it.
struct Daemon {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Daemon {
    fn start(path: &Path) -> Result<Self, ControlError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let listener = {
            let _inside = runtime.enter();
            bind(path, None)?
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, echo) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap();
    }
}

async fn echo(request: Request) -> Response {
    let mine = request.peer.uid == Uid::current().as_raw();
    let gid = request.peer.gids.contains(&Gid::current().as_raw());
    Response::json(
        200,
        &json!({
            "path": request.path, "query": request.query, "peer": mine && gid,
            "method": request.method.as_str(),
        }),
    )
}

#[test]
fn a_request_goes_there_and_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let _daemon = Daemon::start(&path).unwrap();
    let (status, body) = get(&path, "/v1/events?zone=a%2Fb").unwrap();
    let wanted = json!({"path": "/v1/events", "query": [["zone", "a/b"]], "peer": true,
                        "method": "GET"});
    assert_eq!((status, serde_json::from_slice(&body).ok()), (200, Some(wanted)));
    let (_, body) = ask(&path, Method::POST, "/v1/zones", vec![b'x'; 10]).unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(answer["method"], json!("POST"));
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, SOCKET_MODE);
}

#[test]
fn a_body_is_not_waited_for_and_the_daemon_lives() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let _daemon = Daemon::start(&path).unwrap();
    // Bodies that are promised and never sent, on every connection there may be.
    let promise = b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n";
    let promised = || {
        let mut stream = StdStream::connect(&path).unwrap();
        stream.write_all(promise).unwrap();
        stream
    };
    let _held: Vec<StdStream> = (0..CONNECTIONS_MAX).map(|_| promised()).collect();
    assert_eq!(get(&path, "/").unwrap().0, 200);
    // A long one is not kept; its sender may see the answer or a broken connection.
    let answer = ask(&path, Method::POST, "/", vec![b'x'; 1 << 20]);
    assert!(matches!(answer, Ok((200, _)) | Err(ControlError::NoAnswer { .. })), "{answer:?}");
    // Garbage, and a client that leaves in the middle.
    for bytes in [&b"\x00\xff\r\n\r\n"[..], b"GET /v1/sta", b"GET / HTTP/9.9\r\n\r\n"] {
        StdStream::connect(&path).unwrap().write_all(bytes).unwrap();
    }
    assert_eq!(get(&path, "/").unwrap().0, 200);
}

#[test]
fn connections_are_bounded_and_those_beyond_wait_their_turn() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    let _daemon = Daemon::start(&path).unwrap();
    let idle: Vec<StdStream> =
        (0..CONNECTIONS_MAX).map(|_| StdStream::connect(&path).unwrap()).collect();
    let mut waiting = StdStream::connect(&path).unwrap();
    waiting.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    waiting.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
    assert!(waiting.read(&mut [0; 1]).is_err(), "answered beyond the bound");
    drop(idle);
    waiting.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut answer = String::new();
    waiting.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("control.sock");
    assert!(matches!(get(&path, "/"), Err(ControlError::NoDaemon(_))));
    let daemon = Daemon::start(&path).unwrap();
    assert!(matches!(Daemon::start(&path), Err(ControlError::AlreadyRunning(_))));
    assert_eq!(get(&path, "/").unwrap().0, 200);
    drop(daemon);
    // As a killed daemon leaves it.
    assert!(path.exists());
    assert!(matches!(get(&path, "/"), Err(ControlError::NoDaemon(_))));
    let _daemon = Daemon::start(&path).unwrap();
    assert_eq!(get(&path, "/").unwrap().0, 200);
}

#[test]
fn what_stands_in_the_way_is_said_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("control.sock");
    fs::write(&file, "precious").unwrap();
    assert!(matches!(Daemon::start(&file), Err(ControlError::NotASocket(_))));
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");
    for (path, part) in [
        (dir.path().join("no/control.sock"), "directory does not exist"),
        (dir.path().join("x".repeat(120)), "longer than 107"),
    ] {
        let Err(error) = Daemon::start(&path) else { panic!("{path:?}") };
        assert!(error.to_string().contains(part), "{error}");
    }
    let denied = not_connected(&file, &io::Error::from(io::ErrorKind::PermissionDenied));
    assert!(
        matches!(denied, ControlError::NotAllowed { .. }) && denied.to_string().contains("sudo")
    );
}
