//! Serial ports: open when they are there, read, notice when they are gone, open again.
//!
//! Always holds: at most one descriptor of a port is held, and it is dropped before the port is
//! opened again (a held one gives the device a new number); a port that fails is waited for and
//! never fatal; every byte is passed on, those read at a wrong rate too, so that all of them are
//! counted and recorded. Does not know: what the receiver says. Sole user of `tokio-serial`.

use std::io;
use std::path::PathBuf;

use nix::errno::Errno;
use tokio::io::AsyncReadExt;
use tokio_serial::{ClearBuffer, SerialPort, SerialStream};

use crate::edge::backoff::{RETRY_MAX, RETRY_MIN, Retry};
use crate::edge::clock;
use crate::edge::source::{Closed, Happened, Outlet, READ_BYTES};
use crate::logic::gnss::baud::{Baud, Ear, Heard};
use crate::logic::gnss::line::Checksum;
use crate::logic::health::Problem;
use crate::units::Span;

mod port;
use port::Holder;
pub use port::OpenError;

/// A port that is open and silent for so many times its `silence_after` is closed and opened:
/// USB adapters hang, and no read ever says so.
const SILENCES: i64 = 6;

/// One port.
#[derive(Clone, PartialEq, Debug)]
pub struct SerialOptions {
    /// Best a name under `/dev/serial/by-id`, which outlives a replug.
    pub path: PathBuf,
    /// The speed.
    pub baud: Baud,
    /// Whether the receiver sends checksums: what a right rate is known by.
    pub checksum: Checksum,
    /// After so long without a byte the port is opened anew.
    pub reopen_after: Span,
    /// The first wait before opening again.
    pub retry_min: Span,
    /// The longest.
    pub retry_max: Span,
}

impl SerialOptions {
    /// With the waits of the field, for a source that is reported silent after `silence_after`.
    pub fn new(path: PathBuf, baud: Baud, checksum: Checksum, silence_after: Span) -> Self {
        let reopen_after = silence_after.times(SILENCES);
        let (retry_min, retry_max) = (RETRY_MIN, RETRY_MAX);
        Self { path, baud, checksum, reopen_after, retry_min, retry_max }
    }
}

/// Reads the port until nobody listens. `chance` gives fractions in 0..1 for the back-off.
pub async fn run(options: SerialOptions, outlet: Outlet, chance: impl FnMut() -> f64) {
    let retry = Retry::new(options.retry_min, options.retry_max, chance);
    let mut line = Line { options, outlet, retry, rate: None, silent: false };
    while line.once().await.is_ok() {}
}

/// One port over its whole life.
struct Line<C> {
    options: SerialOptions,
    outlet: Outlet,
    retry: Retry<C>,
    /// That was right last.
    rate: Option<u32>,
    /// It was closed for its silence: being open is no news until a byte comes.
    silent: bool,
}

impl<C: FnMut() -> f64> Line<C> {
    /// From one opening, or the try of one, to the wait before the next.
    async fn once(&mut self) -> Result<(), Closed> {
        let ear = Ear::new(self.options.baud, self.options.checksum, self.rate);
        let why = match port::open(&self.options.path, ear.rate()) {
            Ok(port) => self.read(port, ear).await?,
            Err(error) => {
                self.silent = false;
                error.to_string()
            }
        };
        self.retry.failed(&self.outlet, why).await
    }

    /// Reads until the port is gone or hangs; gives why. Takes it by value, so that it is closed
    /// before anybody opens it again.
    async fn read(&mut self, mut port: SerialStream, mut ear: Ear) -> Result<String, Closed> {
        if !self.silent {
            self.retry.opened(&self.outlet).await?;
        }
        let mut buffer = vec![0; READ_BYTES];
        let mut silent_at = clock::boot_now() + self.options.reopen_after;
        loop {
            let wake = ear.deadline().map_or(silent_at, |due| due.min(silent_at));
            let read = tokio::select! {
                read = port.read(&mut buffer) => Some(read),
                () = tokio::time::sleep(clock::until(wake)) => None,
                () = self.outlet.closed() => return Err(Closed),
            };
            let now = clock::boot_now();
            let heard = match read {
                // A port that was hung up gives this for ever (E3).
                Some(Ok(0)) => return Ok(self.gone("unplugged (hung up)")),
                Some(Ok(len)) => {
                    if std::mem::take(&mut self.silent) {
                        self.retry.opened(&self.outlet).await?;
                    }
                    self.retry.useful(&self.outlet).await?;
                    self.outlet.offer(&buffer[..len]).await?;
                    silent_at = now + self.options.reopen_after;
                    ear.hear(now, &buffer[..len])
                }
                Some(Err(e)) if e.kind() == io::ErrorKind::Interrupted => None,
                Some(Err(e)) => return Ok(self.gone(&gone_text(&e))),
                None if silent_at <= now => {
                    self.silent = true;
                    return Ok(self.silence());
                }
                None => ear.wake(now),
            };
            if let Some(heard) = heard {
                self.act(&mut port, heard).await?;
            }
        }
    }

    async fn act(&mut self, port: &mut SerialStream, heard: Heard) -> Result<(), Closed> {
        let trouble = match heard {
            Heard::Try(rate) => {
                // A rate that the device cannot do is one at which no sentence comes.
                let set = port.set_baud_rate(rate).and_then(|()| port.clear(ClearBuffer::Input));
                tracing::debug!("`{}`: {rate} baud: {set:?}", self.options.path.display());
                return Ok(());
            }
            Heard::Settled(rate) => {
                self.rate = Some(rate);
                self.outlet.send(Happened::Detail(format!("{rate} baud"))).await?;
                None
            }
            Heard::Clean => None,
            Heard::Garbled => Some(self.garbled()),
            Heard::Torn => Some(self.torn()),
        };
        self.outlet.send(Happened::Trouble(trouble)).await
    }

    fn gone(&mut self, how: &str) -> String {
        self.silent = false;
        format!("`{}` is gone: {how}", self.options.path.display())
    }

    fn silence(&self) -> String {
        let (path, seconds) = (self.options.path.display(), self.options.reopen_after.secs_f64());
        // Another reader that waits in a read gets every byte.
        let also = self.other().also();
        format!(
            "`{path}` is silent, no byte in {seconds} s{also}; it is opened anew until one comes"
        )
    }

    /// Somebody else who has the port open, now.
    fn other(&self) -> Holder {
        port::holder(&self.options.path, Some(std::process::id()))
    }

    fn garbled(&self) -> Problem {
        let path = self.options.path.display();
        let (at, rate) = match self.options.baud {
            Baud::Auto => ("any usual rate".to_owned(), "whether it speaks NMEA"),
            Baud::Fixed(rate) => (format!("{rate} baud"), "`baud`, or set it to \"auto\""),
        };
        Problem {
            what: format!("`{path}` gives bytes but no sentence at {at}{}", self.other().also()),
            attempt: format!("check {rate}; fuser -v {path} shows another reader"),
        }
    }

    fn torn(&self) -> Problem {
        let (path, other) = (self.options.path.display(), self.other());
        let what = format!("`{path}` gives many torn sentences{}", other.also());
        let attempt = match other {
            Holder::Unknown => format!("look for another reader (fuser -v {path}), then the cable"),
            _ => "stop it, or let gpsd have the port and use kind = \"gpsd\"".to_owned(),
        };
        Problem { what, attempt }
    }
}

fn gone_text(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(e @ (Errno::EIO | Errno::ENXIO | Errno::ENODEV | Errno::EBADF)) => {
            format!("unplugged ({e:?})")
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
#[path = "serial_tests.rs"]
mod tests;
