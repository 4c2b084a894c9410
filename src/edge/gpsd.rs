//! gpsd: connect, ask it to WATCH, read its lines; ask again after every reconnect (E7).
//!
//! Always holds: nothing is asked before gpsd has greeted; a gpsd that has no receiver for us is
//! down in words, whatever its socket says; one that is silent is asked whether it lives before
//! it is left. Does not know: what a position is worth.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::edge::backoff::{RETRY_MAX, RETRY_MIN, Retry};
use crate::edge::lines::Lines;
use crate::edge::net::{GARBAGE_BYTES_MAX, Peer, reason};
use crate::edge::source::{Closed, Happened, Outlet, READ_BYTES};
use crate::logic::gnss::gpsd::{self, Device, Said};

/// A question that every gpsd answers: whether it lives. One that has lost its receiver (3.22) does
/// not say so by itself.
const PING: &[u8] = b"?DEVICES;\n";

/// One gpsd.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GpsdOptions {
    /// Where it listens.
    pub peer: Peer,
    /// Only this device of it.
    pub device: Option<String>,
}

/// Reads from gpsd until nobody listens.
pub async fn run(options: GpsdOptions, outlet: Outlet, chance: impl FnMut() -> f64) {
    let mut retry = Retry::new(RETRY_MIN, RETRY_MAX, chance);
    loop {
        let why = match options.peer.connect().await {
            Ok(stream) => {
                let watch = Watch::new(&options, &outlet, &mut retry);
                match watch.until_gone(stream).await {
                    Ok(why) => why,
                    Err(Closed) => return,
                }
            }
            Err(why) => why,
        };
        if retry.failed(&outlet, why).await.is_err() {
            return;
        }
    }
}

/// One connection.
struct Watch<'a, C> {
    options: &'a GpsdOptions,
    outlet: &'a Outlet,
    retry: &'a mut Retry<C>,
    /// Bytes since something that gpsd would say.
    garbage: usize,
    told_refusal: bool,
}

/// What a line asks for.
enum Then {
    /// To go on.
    Go,
    /// To ask for reports.
    Watch,
    /// To leave, and why.
    Leave(String),
}

impl<'a, C: FnMut() -> f64> Watch<'a, C> {
    fn new(options: &'a GpsdOptions, outlet: &'a Outlet, retry: &'a mut Retry<C>) -> Self {
        Self { options, outlet, retry, garbage: 0, told_refusal: false }
    }

    async fn until_gone(mut self, mut stream: TcpStream) -> Result<String, Closed> {
        let mut buffer = vec![0; READ_BYTES];
        let mut lines = Lines::default();
        let (mut asked, mut watching) = (false, false);
        loop {
            let next = async {
                let peer = &self.options.peer;
                if asked {
                    peer.read(&mut stream, &mut buffer).await
                } else {
                    peer.read_or_ask(&mut stream, &mut buffer).await
                }
            };
            let read = tokio::select! {
                read = next => read,
                () = self.outlet.closed() => return Err(Closed),
            };
            let (bytes, gone) = match read {
                None if asked => (Vec::new(), Some(self.options.peer.silent())),
                None => {
                    asked = true;
                    (Vec::new(), stream.write_all(PING).await.err().map(|e| reason(&e)))
                }
                Some(Ok(0)) => (lines.finish(), Some("gpsd has closed the connection".to_owned())),
                Some(Ok(len)) => {
                    asked = false;
                    (lines.push(&buffer[..len]), None)
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::Interrupted => continue,
                Some(Err(error)) => (lines.finish(), Some(reason(&error))),
            };
            match self.lines(bytes).await? {
                Then::Watch if !watching => {
                    watching = true;
                    let request = gpsd::watch(self.options.device.as_deref());
                    if let Err(error) = stream.write_all(request.as_bytes()).await {
                        return Ok(reason(&error));
                    }
                }
                Then::Leave(why) => return Ok(why),
                Then::Go | Then::Watch => {}
            }
            if let Some(why) = gone {
                return Ok(why);
            }
        }
    }

    /// Takes what gpsd says of itself, and hands on the rest.
    async fn lines(&mut self, bytes: Vec<u8>) -> Result<Then, Closed> {
        let mut reports = Vec::with_capacity(bytes.len());
        let mut then = Then::Go;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let said = gpsd::said(line);
            self.garbage = if said.is_some() { 0 } else { self.garbage + line.len() };
            match said {
                Some(Said::Version) => then = Then::Watch,
                // No proof of a receiver.
                Some(Said::Watching) => {}
                Some(Said::Devices(devices)) => self.devices(&devices, &mut then).await?,
                Some(Said::Device(device)) => self.device(&device, &mut then).await?,
                // Before that the list of devices says more.
                Some(Said::Error(_)) if self.told_refusal || !self.retry.is_open() => {}
                Some(Said::Error(what)) => {
                    self.told_refusal = true;
                    let what = format!("gpsd refuses a request: {}", cut(&what));
                    self.outlet.send(Happened::Note { what }).await?;
                }
                Some(Said::Other) => {
                    self.retry.opened(self.outlet).await?;
                    self.retry.useful(self.outlet).await?;
                    reports.extend_from_slice(line);
                }
                None => reports.extend_from_slice(line),
            }
        }
        if !reports.is_empty() {
            self.outlet.send(Happened::Bytes(reports)).await?;
        }
        if self.garbage > GARBAGE_BYTES_MAX {
            return Ok(Then::Leave("what answers there is no gpsd".to_owned()));
        }
        Ok(then)
    }

    /// Whether ours is among those that gpsd has.
    async fn devices(&mut self, devices: &[Device], then: &mut Then) -> Result<(), Closed> {
        let ours = |device: &&Device| self.is_ours(device);
        let names = devices.iter().map(|d| cut(&d.path)).collect::<Vec<_>>().join(", ");
        match (devices.iter().find(ours), &self.options.device) {
            (None, None) => *then = Then::Leave("gpsd has no receiver".to_owned()),
            (None, Some(wanted)) => {
                let has = if names.is_empty() { "none" } else { &names };
                *then = Then::Leave(format!("gpsd has no device {wanted}; it has {has}"));
            }
            _ if devices.iter().filter(ours).any(|device| device.open) => {
                self.retry.opened(self.outlet).await?;
            }
            _ => {
                let why = format!("gpsd has {names}, and has not opened it");
                self.retry.say_down(self.outlet, why).await?;
            }
        }
        Ok(())
    }

    /// One has come or gone.
    async fn device(&mut self, device: &Device, then: &mut Then) -> Result<(), Closed> {
        if !self.is_ours(device) {
            return Ok(());
        }
        if device.open {
            return self.retry.opened(self.outlet).await;
        }
        // Which others there are is what a new connection is told.
        *then = Then::Leave(format!("gpsd has closed {}: is it unplugged?", cut(&device.path)));
        Ok(())
    }

    fn is_ours(&self, device: &Device) -> bool {
        self.options.device.as_ref().is_none_or(|wanted| *wanted == device.path)
    }
}

/// Foreign text, short and on one line.
fn cut(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
#[path = "gpsd_tests.rs"]
mod tests;
