//! Starts one reader for each configured source.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::error;

use crate::edge::gpsd::{self, GpsdOptions};
use crate::edge::net::{self, Peer};
use crate::edge::serial::{self, SerialOptions};
use crate::edge::source::{Outlet, SourceEvent};
use crate::edge::trackers::{self, Listen};
use crate::edge::{clock, files};
use crate::logic::config::{Address, Config, Input, Lines, Source};
use crate::logic::gnss::baud::Baud;

/// Readers are tasks, which are given back to be stopped; files have threads of their own.
pub(super) fn spawn(
    config: &Config,
    events: &mpsc::Sender<SourceEvent>,
    lost_chunks: &Arc<AtomicUsize>,
) -> Vec<JoinHandle<()>> {
    let outlets = (0..).map(|ix| Outlet::new(ix, events.clone(), Arc::clone(lost_chunks)));
    config
        .sources
        .iter()
        .zip(outlets)
        .filter_map(|(source, outlet)| start(source, outlet))
        .collect()
}

fn start(source: &Source, outlet: Outlet) -> Option<JoinHandle<()>> {
    let chance = clock::random_fraction;
    let peer = |to: &Address| Peer::new(&to.host, to.port, source.silence_after);
    Some(match &source.input {
        Input::Serial { path, baud } => {
            let baud = baud.map_or(Baud::Auto, Baud::Fixed);
            let (path, silence) = (PathBuf::from(path), source.silence_after);
            let options = SerialOptions::new(path, baud, source.checksum.into(), silence);
            tokio::spawn(serial::run(options, outlet, chance))
        }
        Input::Gpsd { address, device } => {
            let options = GpsdOptions { peer: peer(address), device: device.clone() };
            tokio::spawn(gpsd::run(options, outlet, chance))
        }
        Input::Tcp { address } => tokio::spawn(net::tcp(peer(address), outlet, chance)),
        Input::Udp { address } => {
            tokio::spawn(net::udp(address.host.clone(), address.port, outlet, chance))
        }
        Input::Jsonl { from: Lines::Address(address) } => {
            let listen = Listen::Tcp(address.host.clone(), address.port);
            tokio::spawn(trackers::run(listen, outlet, chance))
        }
        Input::Jsonl { from: Lines::Path(path) } if !is_read(path) => {
            tokio::spawn(trackers::run(Listen::Unix(path.into()), outlet, chance))
        }
        Input::Jsonl { from: Lines::Path(path) } => return read(source, path, true, outlet),
        Input::File { path } => return read(source, path, false, outlet),
    })
}

/// Whether something lies at `path` that is read; else a socket is made there.
fn is_read(path: &str) -> bool {
    let kind = |path: &Path| fs::metadata(path).ok().map(|meta| meta.file_type());
    path == "-"
        || kind(Path::new(path))
            .is_some_and(|kind| kind.is_file() || kind.is_fifo() || kind.is_char_device())
}

fn read(source: &Source, path: &str, lines: bool, outlet: Outlet) -> Option<JoinHandle<()>> {
    let input = match path {
        "-" => files::FileInput::Stdin,
        path => files::FileInput::Path(PathBuf::from(path)),
    };
    if let Err(error) = files::spawn(input, lines, outlet) {
        error!("source {}: no thread for it: {error}", source.name);
    }
    None
}
