//! The control API: HTTP/1.1 on a Unix socket, and the client that the commands use.
//!
//! Always holds: the socket file is for its owner and one group, and that is who may read; a
//! socket on which somebody listens is never replaced; whoever changes something is an admin.
//! Does not know: what the answers say; a handler gives them.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::{TokioIo, TokioTimer};
use nix::unistd::{Gid, Group, Uid, User};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;

pub use hyper::Method;

mod route;
pub use route::{Access, Ask, EVENTS_MAX, EventsQuery, Rights, WAIT_S_MAX, encode, may, route};

/// Connections at a time: a person, a web page, a scraper, and as many again that hang.
const CONNECTIONS_MAX: usize = 16;
/// The longest answer a command takes: the longest list of events.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Whoever has not sent its request by then is let go.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a command waits for the daemon, whose loop may sit out a slow disk.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest path of a socket: `sun_path` less its NUL.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Owner and group; to connect is to write.
const SOCKET_MODE: u32 = 0o660;

/// Why the API, or the way to it, does not work.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Nobody listens there.
    #[error("no daemon at `{}`: start it with `systemctl start geofenced`", .0.display())]
    NoDaemon(PathBuf),
    /// The file mode forbids it.
    #[error("`{}` is for root and the members of its group: {advice}", path.display())]
    NotAllowed {
        /// The socket.
        path: PathBuf,
        /// What to do.
        advice: String,
    },
    /// The daemon is there and does not answer.
    #[error("the daemon at `{}` does not answer: {text}", path.display())]
    NoAnswer {
        /// The socket.
        path: PathBuf,
        /// In words.
        text: String,
    },
    /// Another daemon has it.
    #[error("another geofenced listens at `{}`", .0.display())]
    AlreadyRunning(PathBuf),
    /// Something else lies there.
    #[error("`{}` is there and is not a socket: move it away", .0.display())]
    NotASocket(PathBuf),
    /// Its directory belongs to somebody else.
    #[error("the control socket `{}` cannot be made: its directory may not be written", .0.display())]
    DirectoryDenied(PathBuf),
    /// It cannot be made.
    #[error("the control socket `{}` cannot be made: {text}", path.display())]
    Bind {
        /// The socket.
        path: PathBuf,
        /// In words.
        text: String,
    },
}

/// Who is at the other end, by the kernel's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its user.
    pub uid: u32,
    /// All of its groups: the one it connected with and those of the user database.
    pub gids: Vec<u32>,
}

/// One request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// GET reads, anything else changes.
    pub method: Method,
    /// The path, without the query.
    pub path: String,
    /// The query's keys and values, decoded, in order.
    pub query: Vec<(String, String)>,
    /// Who asks.
    pub peer: Peer,
}

/// One answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Its media type.
    pub content_type: &'static str,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer in JSON.
    pub fn json(status: u16, value: &serde_json::Value) -> Self {
        let body = value.to_string().into_bytes();
        Self { status, content_type: "application/json", body }
    }

    /// A refusal in words.
    pub fn error(status: u16, text: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": text }))
    }
}

/// Makes the socket at `path`, for its owner and, where there is such a group, for `group`.
/// Needs a tokio runtime around it.
pub fn bind(path: &Path, group: Option<&str>) -> Result<UnixListener, ControlError> {
    let failed = |text: String| ControlError::Bind { path: path.into(), text };
    if path.as_os_str().len() > SOCKET_PATH_BYTES_MAX {
        return Err(failed(format!("the path is longer than {SOCKET_PATH_BYTES_MAX} bytes")));
    }
    clear_the_way(path)?;
    let listener = UnixListener::bind(path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => failed("its directory does not exist".into()),
        io::ErrorKind::PermissionDenied => ControlError::DirectoryDenied(path.into()),
        _ => failed(e.to_string()),
    })?;
    let gid = group.and_then(|name| Group::from_name(name).ok().flatten()).map(|group| group.gid);
    let owned_by = fs::symlink_metadata(path).map_err(|e| failed(e.to_string()))?.gid();
    // A sandbox may forbid chown outright, also where it would change nothing.
    if gid.is_some_and(|gid| gid.as_raw() != owned_by) {
        nix::unistd::chown(path, None, gid)
            .map_err(|e| failed(format!("it cannot be given to its group: {}", e.desc())))?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE))
        .map_err(|e| failed(e.to_string()))?;
    Ok(listener)
}

/// Removes a socket that a killed daemon left behind, and nothing else.
fn clear_the_way(path: &Path) -> Result<(), ControlError> {
    let failed = |e: io::Error| ControlError::Bind { path: path.into(), text: e.to_string() };
    match fs::symlink_metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(failed(e)),
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err(ControlError::NotASocket(path.into()));
        }
        Ok(_) => {}
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(failed(e)),
        Ok(_) => Err(ControlError::AlreadyRunning(path.into())),
    }
}

/// Answers requests for ever by `handler`. Whoever finds all connections taken waits its turn.
pub async fn serve<H, F>(listener: UnixListener, handler: H)
where
    H: Fn(Request) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, say: those that are open will close.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(peer) = peer_of(&stream) else { continue };
        let handler = handler.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(move |request| {
                answer(request, peer.clone(), handler.clone())
            });
            // What breaks off is the client's to notice.
            let _ = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEADER_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop(place);
        });
    }
}

fn peer_of(stream: &UnixStream) -> io::Result<Peer> {
    let cred = stream.peer_cred()?;
    let mut gids = vec![cred.gid()];
    if let Ok(Some(user)) = User::from_uid(Uid::from_raw(cred.uid()))
        && let Ok(name) = std::ffi::CString::new(user.name)
        && let Ok(more) = nix::unistd::getgrouplist(&name, Gid::from_raw(cred.gid()))
    {
        gids.extend(more.iter().map(|gid| gid.as_raw()));
    }
    Ok(Peer { uid: cred.uid(), gids })
}

async fn answer<H, F>(
    request: hyper::Request<Incoming>,
    peer: Peer,
    handler: H,
) -> Result<hyper::Response<Full<Bytes>>, hyper::Error>
where
    H: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    // Nothing that can be asked has a body, so none is read: a slow or a long one costs nothing.
    let (parts, _) = request.into_parts();
    let answer = handler(Request {
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: route::parse_query(parts.uri.query().unwrap_or_default()),
        peer,
    })
    .await;
    let mut reply = hyper::Response::new(Full::new(Bytes::from(answer.body)));
    *reply.status_mut() = hyper::StatusCode::from_u16(answer.status)
        .expect("a handler answers with a status between 100 and 999");
    let kind = hyper::header::HeaderValue::from_static(answer.content_type);
    reply.headers_mut().insert(hyper::header::CONTENT_TYPE, kind);
    Ok(reply)
}

/// Asks the daemon at `socket` for `path_and_query`; blocks until the answer is there.
pub fn get(socket: &Path, path_and_query: &str) -> Result<(u16, Vec<u8>), ControlError> {
    ask(socket, Method::GET, path_and_query, Vec::new())
}

/// [`get`] with any method and a body.
pub fn ask(
    socket: &Path,
    method: Method,
    path_and_query: &str,
    body: Vec<u8>,
) -> Result<(u16, Vec<u8>), ControlError> {
    let no_answer = |text: String| ControlError::NoAnswer { path: socket.into(), text };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| no_answer(e.to_string()))?;
    runtime.block_on(async {
        let asking = async {
            let stream =
                UnixStream::connect(socket).await.map_err(|e| not_connected(socket, &e))?;
            exchange(stream, method, path_and_query, body).await.map_err(no_answer)
        };
        let late = || no_answer(format!("nothing within {} s", CLIENT_TIMEOUT.as_secs()));
        tokio::time::timeout(CLIENT_TIMEOUT, asking).await.map_err(|_| late())?
    })
}

fn not_connected(socket: &Path, error: &io::Error) -> ControlError {
    let path = socket.to_path_buf();
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ControlError::NoDaemon(path),
        io::ErrorKind::PermissionDenied => {
            let advice = "use sudo, or add yourself to the group and log in again".to_owned();
            ControlError::NotAllowed { path, advice }
        }
        _ => ControlError::NoAnswer { path, text: error.to_string() },
    }
}

async fn exchange(
    stream: UnixStream,
    method: Method,
    path_and_query: &str,
    body: Vec<u8>,
) -> Result<(u16, Vec<u8>), String> {
    let request = hyper::Request::builder()
        .method(method)
        .uri(path_and_query)
        .header(hyper::header::HOST, "localhost")
        .body(Full::new(Bytes::from(body)))
        .map_err(|e| e.to_string())?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|e| e.to_string())?;
    let driver = tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await;
    let body = body.map_err(|e| e.to_string())?.to_bytes().to_vec();
    driver.abort();
    Ok((status, body))
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
