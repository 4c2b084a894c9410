//! Starts one reader for each configured source.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::error;

use crate::edge::serial::{self, Baud, SerialOptions};
use crate::edge::source::{Outlet, SourceEvent};
use crate::edge::{clock, files};
use crate::logic::config::{Config, Input};

/// Serial readers are tasks, which are given back to be stopped; files have threads of their own.
pub(super) fn spawn(
    config: &Config,
    events: &mpsc::Sender<SourceEvent>,
    lost_chunks: &Arc<AtomicUsize>,
) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    for (ix, source) in config.sources.iter().enumerate() {
        let outlet = Outlet::new(ix, events.clone(), Arc::clone(lost_chunks));
        match &source.input {
            Input::Serial { path, baud } => {
                let baud = baud.map_or(Baud::Auto, Baud::Fixed);
                let options = SerialOptions::new(PathBuf::from(path), baud);
                let reader = serial::run(options, outlet, clock::random_fraction);
                tasks.push(tokio::spawn(reader));
            }
            Input::File { path } => {
                let input = match path.as_str() {
                    "-" => files::FileInput::Stdin,
                    path => files::FileInput::Path(PathBuf::from(path)),
                };
                if let Err(error) = files::spawn(input, outlet) {
                    error!("source {}: no thread for it: {error}", source.name);
                }
            }
            Input::Gpsd { .. } | Input::Tcp { .. } | Input::Udp { .. } | Input::Jsonl { .. } => {
                unreachable!("refused by Loaded::unsupported")
            }
        }
    }
    tasks
}
