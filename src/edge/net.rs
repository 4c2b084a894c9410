//! NMEA over the network: a client of a TCP server, and a UDP listener.
//!
//! Always holds: a TCP server is read no faster than the loop, and one that is silent for longer
//! than its limit is taken for dead (E6); datagrams that the loop does not take in time are lost
//! oldest first, counted. Does not know: what the sentences say. Who sent a datagram is not asked:
//! its address can be forged.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpStream, UdpSocket};

use crate::edge::backoff::{RETRY_MAX, RETRY_MIN, Retry};
use crate::edge::clock;
use crate::edge::source::{Closed, Happened, Outlet, READ_BYTES};
use crate::units::{BootTime, Span};

/// A server that has not answered by then is not there: name lookup and three SYNs.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// A peer that is well is not asked more often.
const ASK_MIN: Span = Span::from_secs(1);

/// A shorter silence is no proof that a peer is gone: TCP itself repeats for seconds.
const SILENCE_MIN: Span = Span::from_secs(10);
/// The kernel asks a quiet peer after half a minute, thrice.
const KEEPALIVE_S: (u32, u32, u32) = (30, 10, 3);

/// So many bytes without anything that was meant for us: whoever sends them is left for a while,
/// and so cannot fill the channel that other sources need.
pub(super) const GARBAGE_BYTES_MAX: usize = 1024 * 1024;

/// Datagrams that wait for the loop: a minute of a receiver's 10 Hz bursts.
const DATAGRAMS_MAX: usize = 1024;
/// The longest datagram that is taken: some fifty sentences. Whoever floods with longer ones must
/// not fill the channel with them.
const DATAGRAM_BYTES_MAX: usize = 4096;

/// A peer to connect to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Name or number.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Nothing for this long means that it is gone.
    silence_max: Duration,
    /// Nothing for this long is worth a question, where the peer answers any.
    ask_after: Duration,
}

impl Peer {
    /// One that is taken for dead after `silence`, or after ten seconds if that is longer.
    pub fn new(host: &str, port: u16, silence: Span) -> Self {
        let silence_max = silence.max(SILENCE_MIN).to_std();
        Self { host: host.to_owned(), port, silence_max, ask_after: silence.max(ASK_MIN).to_std() }
    }

    /// One that may be silent for less, which proves nothing outside a test.
    #[cfg(test)]
    pub(super) fn hasty(port: u16) -> Self {
        let silence_max = Duration::from_millis(500);
        Self { silence_max, ask_after: silence_max, ..Self::new("127.0.0.1", port, Span::ZERO) }
    }

    /// The next bytes, or nothing within the limit.
    pub(super) async fn read(
        &self,
        stream: &mut TcpStream,
        buffer: &mut [u8],
    ) -> Option<io::Result<usize>> {
        tokio::time::timeout(self.silence_max, stream.read(buffer)).await.ok()
    }

    /// The next bytes, or nothing within the time after which it is asked.
    pub(super) async fn read_or_ask(
        &self,
        stream: &mut TcpStream,
        buffer: &mut [u8],
    ) -> Option<io::Result<usize>> {
        tokio::time::timeout(self.ask_after, stream.read(buffer)).await.ok()
    }

    /// What is said of it when it sends nothing.
    pub(super) fn silent(&self) -> String {
        format!("nothing came for {} s; connecting again", self.silence_max.as_secs_f64())
    }

    /// Connects, or says why not.
    pub(super) async fn connect(&self) -> Result<TcpStream, String> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        let not = |why: &str| format!("{}:{} does not answer: {why}", self.host, self.port);
        match tokio::time::timeout(CONNECT_MAX, connecting).await {
            Ok(Ok(stream)) => {
                keep_alive(&stream);
                Ok(stream)
            }
            Ok(Err(error)) => Err(not(&reason(&error))),
            Err(_) => Err(not("it is silent")),
        }
    }
}

/// The error without its number.
pub(super) fn reason(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(number) => nix::errno::Errno::from_raw(number).desc().to_owned(),
        None => error.to_string(),
    }
}

/// The kernel looks after a quiet peer; a system that will not is no reason to hang up.
pub(super) fn keep_alive(stream: &TcpStream) {
    let (idle, every, count) = KEEPALIVE_S;
    let _ = setsockopt(stream, sockopt::KeepAlive, &true);
    let _ = setsockopt(stream, sockopt::TcpKeepIdle, &idle);
    let _ = setsockopt(stream, sockopt::TcpKeepInterval, &every);
    let _ = setsockopt(stream, sockopt::TcpKeepCount, &count);
}

/// Reads from a server of NMEA until nobody listens.
pub async fn tcp(peer: Peer, outlet: Outlet, chance: impl FnMut() -> f64) {
    let mut retry = Retry::new(RETRY_MIN, RETRY_MAX, chance);
    loop {
        let why = match peer.connect().await {
            Ok(stream) => match read_until_gone(stream, &peer, &outlet, &mut retry).await {
                Ok(why) => why,
                Err(Closed) => return,
            },
            Err(why) => why,
        };
        if retry.failed(&outlet, why).await.is_err() {
            return;
        }
    }
}

async fn read_until_gone(
    mut stream: TcpStream,
    peer: &Peer,
    outlet: &Outlet,
    retry: &mut Retry<impl FnMut() -> f64>,
) -> Result<String, Closed> {
    retry.opened(outlet).await?;
    let mut buffer = vec![0; READ_BYTES];
    let mut garbage = 0;
    loop {
        let read = tokio::select! {
            read = peer.read(&mut stream, &mut buffer) => read,
            () = outlet.closed() => return Err(Closed),
        };
        match read {
            None => return Ok(peer.silent()),
            Some(Ok(0)) => return Ok("the other side has closed the connection".to_owned()),
            Some(Ok(len)) => {
                garbage += len;
                if has_sentence(&buffer[..len]) {
                    garbage = 0;
                    retry.useful(outlet).await?;
                }
                outlet.send(Happened::Bytes(buffer[..len].to_vec())).await?;
                if garbage > GARBAGE_BYTES_MAX {
                    return Ok("what it sends is no NMEA".to_owned());
                }
            }
            Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Some(Err(error)) => return Ok(format!("the connection broke: {}", reason(&error))),
        }
    }
}

/// Whether a sentence begins in there: a banner or an error page is no reason to come back fast.
fn has_sentence(bytes: &[u8]) -> bool {
    let mut starts = bytes.iter().enumerate().filter(|(_, byte)| matches!(byte, b'$' | b'!'));
    starts.any(|(at, _)| {
        let rest = &bytes[at + 1..];
        let name = rest.iter().take_while(|b| b.is_ascii_uppercase() || b.is_ascii_digit()).count();
        (4..=8).contains(&name) && rest.get(name) == Some(&b',')
    })
}

/// Takes datagrams of NMEA until nobody listens.
pub async fn udp(host: String, port: u16, outlet: Outlet, chance: impl FnMut() -> f64) {
    let mut retry = Retry::new(RETRY_MIN, RETRY_MAX, chance);
    loop {
        let why = match UdpSocket::bind((host.as_str(), port)).await {
            Ok(socket) => match take_datagrams(&socket, &outlet, &mut retry).await {
                Ok(why) => why,
                Err(Closed) => return,
            },
            Err(error) => format!("{host}:{port} cannot be listened on: {}", reason(&error)),
        };
        if retry.failed(&outlet, why).await.is_err() {
            return;
        }
    }
}

async fn take_datagrams(
    socket: &UdpSocket,
    outlet: &Outlet,
    retry: &mut Retry<impl FnMut() -> f64>,
) -> Result<String, Closed> {
    retry.opened(outlet).await?;
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX + 1];
    let mut waiting: VecDeque<(BootTime, Vec<u8>)> = VecDeque::new();
    loop {
        tokio::select! {
            read = socket.recv(&mut buffer) => match read {
                Ok(len) if len > DATAGRAM_BYTES_MAX => outlet.lost(),
                Ok(len) => {
                    if waiting.len() >= DATAGRAMS_MAX {
                        waiting.pop_front();
                        outlet.lost();
                    }
                    waiting.push_back((clock::boot_now(), whole(&buffer[..len])));
                }
                Err(error) => return Ok(format!("the socket failed: {}", reason(&error))),
            },
            room = outlet.room(), if !waiting.is_empty() => {
                let room = room?;
                if let Some((at, bytes)) = waiting.pop_front() {
                    room.fill(at, bytes);
                }
                retry.useful(outlet).await?;
            }
            () = outlet.closed() => return Err(Closed),
        }
    }
}

/// A datagram ends its last sentence, whether it says so or not: the next may be another's.
fn whole(datagram: &[u8]) -> Vec<u8> {
    let mut bytes = datagram.to_vec();
    if bytes.last() != Some(&b'\n') {
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[cfg(test)]
#[path = "net_tests.rs"]
mod tests;
