//! Wiring only: the pipeline thread that owns engine and store, start order, reload, shutdown.
//!
//! Always holds: one thread owns the engine and the store, so crash reasoning is one loop long;
//! nothing is evaluated before what was believed is loaded (STO-4); a reload applies a new config
//! whole or keeps the old one.
//! Does not know: how anything is decided, stored, read or sent.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot, watch};
use tracing::{error, info, warn};

use crate::edge::{clock, control, systemd};
use crate::logic::config::Config;

mod checkpoint;
mod desk;
mod error;
mod memory;
mod pipeline;
mod prepare;
mod problems;
mod report;
mod sources;
mod tee;
mod uplink;
mod waits;

pub use error::DaemonError;
use pipeline::{Ended, Pipeline};
pub use prepare::{
    Prepared, REPLAY_RECEIVED, REPLAY_TRUSTED, identity, prepare, read_layers, replay_setup,
    software,
};

/// Reads that may wait for the pipeline: a slow serial line gives some hundred a second, and a
/// disk may stall for 30 s with nothing lost.
const CHANNEL_INPUTS: usize = 8192;

/// Requests that may wait for the pipeline: more than all control connections together.
const CHANNEL_REQUESTS: usize = 64;

/// SIGTERM to exit at the most; the issue asks for 4 s and `flush_on_stop` takes 3 s of them.
const STOP_MAX: Duration = Duration::from_millis(3800);

/// A start may take this long before systemd gives it up.
const START_MAX: Duration = Duration::from_secs(90);

/// A reload waits this long for the store: a disk may stall for 30 s.
const RELOAD_MAX: Duration = Duration::from_secs(40);

/// Reads the config again; an error is what to say of it.
pub type Reread = Box<dyn Fn() -> Result<Config, String>>;

/// Runs until SIGTERM or SIGINT; SIGHUP reads the config again through `reread`.
pub fn run(config: Config, reread: &Reread) -> Result<(), DaemonError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(DaemonError::Runtime)?;
    let mut config = config;
    let mut prepared = prepare(&config)?;
    // Listened to across lives: a stop during a reload is not lost.
    let mut signals = {
        let _context = runtime.enter();
        Signals::listen()?
    };
    let mut before: Option<(Config, Prepared)> = None;
    loop {
        let now = (config.clone(), prepared.clone());
        let life = one_life(&runtime, config, prepared, &mut signals, reread);
        match runtime.block_on(life) {
            Ok(Next::Stop) => return Ok(()),
            Ok(Next::Again(new, ready)) => {
                before = Some(now);
                (config, prepared) = (*new, *ready);
            }
            Err(Fall::Start(error)) => {
                // INV-8: what does not start never replaces what ran.
                let Some((old, ready)) = before.take() else { return Err(error) };
                error!("the new config does not start, back to the old one: {error}");
                let refused = Some(error.to_string());
                (config, prepared) = (old, Prepared { reload: true, refused, ..ready });
            }
            Err(Fall::Run(error)) => return Err(error),
        }
    }
}

/// How a life failed.
enum Fall {
    /// Before it had begun.
    Start(DaemonError),
    /// Later.
    Run(DaemonError),
}

/// What follows when a pipeline has ended.
enum Next {
    Stop,
    Again(Box<Config>, Box<Prepared>),
}

/// The signals that a daemon lives by.
struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

impl Signals {
    fn listen() -> Result<Self, DaemonError> {
        let on = |kind| signal(kind).map_err(DaemonError::Runtime);
        Ok(Self {
            term: on(SignalKind::terminate())?,
            int: on(SignalKind::interrupt())?,
            hup: on(SignalKind::hangup())?,
        })
    }
}

/// From a checked config to the end of its pipeline.
async fn one_life(
    runtime: &tokio::runtime::Runtime,
    config: Config,
    prepared: Prepared,
    signals: &mut Signals,
    reread: &Reread,
) -> Result<Next, Fall> {
    let (requests, asked) = mpsc::channel(CHANNEL_REQUESTS);
    let (events, inputs) = mpsc::channel(CHANNEL_INPUTS);
    let lost_chunks = Arc::new(AtomicUsize::new(0));
    // First, because a start that is refused for its socket must not have begun a store.
    let socket = std::path::Path::new(&config.control.socket);
    let listener = control::bind(socket, Some(&config.control.group))
        .map_err(|error| Fall::Start(DaemonError::Control(error)))?;
    // After an unclean stop the store is checked first, which takes a while on a slow disk.
    let _ = systemd::extend_timeout(START_MAX);
    // STO-4: open → check → migrate → layers → memberships, then READY, then sources.
    let (tell, news) = watch::channel(0);
    let lines = pipeline::Lines { desk: requests.clone(), requests: asked, inputs, tell };
    let pipeline = Pipeline::start(&config, prepared, lines, &lost_chunks)
        .inspect_err(|_| drop(std::fs::remove_file(socket)))
        .map_err(Fall::Start)?;
    let rights = desk::rights(&config);
    let server = tokio::spawn(desk::serve(listener, rights, requests.clone(), news));
    let line = pipeline.line();
    let handle = runtime.handle().clone();
    let (over, mut ended) = oneshot::channel();
    let thread = std::thread::Builder::new()
        .name("pipeline".into())
        .spawn(move || {
            let _ = over.send(pipeline.run(&handle));
        })
        .map_err(|error| Fall::Run(DaemonError::Runtime(error)))?;
    if let Err(error) = systemd::ready(&line) {
        warn!("systemd was not told that we are ready: {error}");
    }
    let readers = sources::spawn(&config, &events, &lost_chunks);
    drop(events);
    let next = wait(signals, &mut ended, &requests, reread).await;
    server.abort();
    for reader in readers {
        reader.abort();
        // Its sockets are closed when it has ended: the next life may want them.
        let _ = reader.await;
    }
    let next = next.map_err(Fall::Run)?;
    let stop = matches!(next, Next::Stop);
    if stop {
        let _ = systemd::stopping();
    }
    if requests.send(desk::Request::Stop { flush: stop }).await.is_ok() {
        // The next life needs the store: a reload waits until it is given back.
        let limit = if stop { STOP_MAX } else { RELOAD_MAX };
        match tokio::time::timeout(limit, ended).await {
            Ok(Ok(Ended::Clean)) if stop => info!("stopped"),
            Ok(Ok(Ended::Clean)) => {}
            Ok(Ok(Ended::Failed(error))) => return Err(Fall::Run(*error)),
            Ok(Err(_)) => return Err(Fall::Run(DaemonError::Pipeline)),
            Err(_) => return Err(Fall::Run(DaemonError::Busy)),
        }
    }
    drop(thread);
    let _ = std::fs::remove_file(&config.control.socket);
    Ok(next)
}

/// Waits for a reason to end this life. A bad config or layer at SIGHUP is none.
async fn wait(
    signals: &mut Signals,
    ended: &mut oneshot::Receiver<Ended>,
    desk: &mpsc::Sender<desk::Request>,
    reread: &Reread,
) -> Result<Next, DaemonError> {
    loop {
        tokio::select! {
            _ = signals.term.recv() => return Ok(Next::Stop),
            _ = signals.int.recv() => return Ok(Next::Stop),
            end = &mut *ended => return Err(match end {
                Ok(Ended::Failed(error)) => *error,
                _ => DaemonError::Pipeline,
            }),
            _ = signals.hup.recv() => {
                let _ = systemd::reloading();
                let new = may_reload(desk).await.and_then(|()| reread()).and_then(|config| {
                    let ready = prepare(&config).map_err(|e| e.to_string())?;
                    Ok((config, Prepared { reload: true, ..ready }))
                });
                match new {
                    Ok((config, ready)) => {
                        info!("reload: the new config is in force");
                        return Ok(Next::Again(Box::new(config), Box::new(ready)));
                    }
                    Err(why) => {
                        warn!("reload refused, the old config stays: {why}");
                        let _ = desk.send(desk::Request::ReloadRefused(why)).await;
                        let _ = systemd::ready("reload refused, the old config stays; see the log");
                    }
                }
            }
        }
    }
}

/// Whether the life that runs may end for another.
async fn may_reload(desk: &mpsc::Sender<desk::Request>) -> Result<(), String> {
    let (answer, told) = oneshot::channel();
    let asked = desk.send(desk::Request::MayReload(answer)).await;
    match (asked, told.await) {
        (Ok(()), Ok(answer)) => answer,
        _ => Err("the pipeline does not answer".to_owned()),
    }
}

/// Where the daemon's clocks are read, for those that may not.
fn birth(reload: bool) -> Result<crate::logic::engine::Birth, DaemonError> {
    Ok(crate::logic::engine::Birth {
        boot: clock::boot_now(),
        boot_id: clock::boot_id().map_err(DaemonError::Runtime)?,
        wall: clock::wall_now(),
        reload,
    })
}
