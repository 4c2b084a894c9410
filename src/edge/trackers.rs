//! Trackers that name their asset: JSON lines over TCP connections, or those of a Unix socket.
//!
//! Always holds: every connection has its own lines and its own bounds, and is read no faster than
//! the loop, so that nothing is dropped; a half line at the end is a line; a bad line costs itself
//! alone. Does not know: what a line says, beyond looking like an object.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::edge::backoff::{RETRY_MAX, RETRY_MIN, Retry};
use crate::edge::lines::Lines;
use crate::edge::net::{GARBAGE_BYTES_MAX, keep_alive, reason};
use crate::edge::source::{Closed, Happened, Outlet};
use crate::logic::lines;

/// Connections at a time: ten times the trackers that ride on one vehicle. Newcomers lose.
const CONNECTIONS_MAX: usize = 64;
/// A connection that gives no whole line for so long is closed: its place is wanted. A tracker
/// that reports hourly connects hourly.
const IDLE_MAX: Duration = Duration::from_mins(10);
/// After one that was turned away, or could not be taken (no descriptors left, say), the next
/// waits.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);
/// Bytes asked for at one read: some 300 lines, so that a fleet's backlog costs few system calls.
const READ_BYTES: usize = 32 * 1024;
/// Owner and group; to connect is to write.
const SOCKET_MODE: u32 = 0o660;

/// Where trackers connect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// A host and a port.
    Tcp(String, u16),
    /// A Unix socket.
    Unix(PathBuf),
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

type Stream = Box<dyn AsyncRead + Send + Unpin>;

impl Listen {
    async fn bind(&self) -> Result<Listener, String> {
        match self {
            Self::Tcp(host, port) => TcpListener::bind((host.as_str(), *port))
                .await
                .map(Listener::Tcp)
                .map_err(|e| format!("{host}:{port} cannot be listened on: {}", reason(&e))),
            Self::Unix(path) => bind_unix(path)
                .map(Listener::Unix)
                .map_err(|why| format!("`{}` cannot be listened on: {why}", path.display())),
        }
    }
}

/// A socket that nobody listens on is a dead process's.
fn bind_unix(path: &Path) -> Result<UnixListener, String> {
    let text = |error: io::Error| reason(&error);
    match fs::symlink_metadata(path) {
        Ok(meta) if !meta.file_type().is_socket() => {
            return Err("something that is no socket lies there".to_owned());
        }
        Ok(_) if StdUnixStream::connect(path).is_ok() => {
            return Err("another process listens there".to_owned());
        }
        Ok(_) => fs::remove_file(path).map_err(text)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "its directory does not exist".to_owned(),
        _ => text(error),
    })?;
    fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE)).map_err(text)?;
    Ok(listener)
}

impl Listener {
    async fn accept(&self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                keep_alive(&stream);
                Box::new(stream)
            }
            Self::Unix(listener) => Box::new(listener.accept().await?.0),
        })
    }
}

/// Listens until nobody takes what comes.
pub async fn run(listen: Listen, outlet: Outlet, chance: impl FnMut() -> f64) {
    let mut retry = Retry::new(RETRY_MIN, RETRY_MAX, chance);
    loop {
        let why = match listen.bind().await {
            Ok(listener) => {
                let served = match retry.opened(&outlet).await {
                    Ok(()) => serve(&listener, &outlet).await,
                    Err(closed) => closed,
                };
                let Closed = served;
                return;
            }
            Err(why) => why,
        };
        if retry.failed(&outlet, why).await.is_err() {
            return;
        }
    }
}

/// Takes connections. They end with this future.
async fn serve(listener: &Listener, outlet: &Outlet) -> Closed {
    let mut connections = JoinSet::new();
    let mut told = false;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = connections.join_next() => continue,
            () = outlet.closed() => return Closed,
        };
        // Places that came free meanwhile.
        while connections.try_join_next().is_some() {}
        let note = match accepted {
            Ok(stream) if connections.len() < CONNECTIONS_MAX => {
                told = false;
                connections.spawn(read(stream, outlet.clone()));
                continue;
            }
            Ok(_turned_away) => {
                format!("{CONNECTIONS_MAX} trackers are connected; others are turned away")
            }
            Err(error) => format!("a tracker cannot be taken in: {}", reason(&error)),
        };
        sleep(ACCEPT_PAUSE).await;
        if !std::mem::replace(&mut told, true)
            && outlet.send(Happened::Note { what: note }).await.is_err()
        {
            return Closed;
        }
    }
}

/// One connection to its end.
async fn read(mut stream: Stream, outlet: Outlet) -> Result<(), Closed> {
    let mut buffer = vec![0; READ_BYTES];
    let mut cutter = Lines::default();
    let mut garbage = 0;
    let mut idle = Box::pin(sleep(IDLE_MAX));
    loop {
        let read = tokio::select! {
            read = stream.read(&mut buffer) => read,
            () = &mut idle => break,
        };
        let len = match read {
            Ok(0) => break,
            Ok(len) => len,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        garbage += len;
        let whole = cutter.push(&buffer[..len]);
        if lines::parts(&whole).any(looks_like_a_record) {
            garbage = 0;
        }
        if !whole.is_empty() {
            idle.as_mut().set(sleep(IDLE_MAX));
            outlet.send_lines(whole).await?;
        }
        if garbage > GARBAGE_BYTES_MAX {
            let what = format!("a tracker sent {garbage} bytes and no record; it is hung up on");
            outlet.send(Happened::Note { what }).await?;
            break;
        }
    }
    let half = cutter.finish();
    if half.is_empty() { Ok(()) } else { outlet.send_lines(half).await }
}

fn looks_like_a_record(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.first() == Some(&b'{') && line.last() == Some(&b'}')
}

#[cfg(test)]
#[path = "trackers_tests.rs"]
mod tests;
