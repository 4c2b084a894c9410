//! From a config to what a life of the daemon needs, with everything checked that can be checked
//! before the old life ends.
//!
//! Always holds: nothing here changes anything. Does not know: threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::DaemonError;
use crate::edge::files::{self, FileError};
use crate::edge::http::{Http, HttpOptions};
use crate::logic::config::{Config, Decide, Identity, Input, UplinkFormat, UplinkKind};
use crate::logic::engine::{
    Feed, HeartbeatRules, Setup, SourceSetup, Telemetry, Trusting, UNRANKED,
};
use crate::logic::uplink::{UplinkRules, WireFormat};
use crate::logic::zones::{self, Layer};
use crate::units::{AssetId, GatewayId};

/// A gateway id's file holds one line.
const ID_FILE_BYTES_MAX: u64 = 4096;

/// Name and version, as events and the store carry it.
pub fn software() -> String {
    format!("geofenced {}", env!("CARGO_PKG_VERSION"))
}

/// Everything checked.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(super) gateway: GatewayId,
    pub(super) setup: Setup,
    pub(super) layers: Vec<Arc<Layer>>,
    pub(super) http: Option<Http>,
    pub(super) format: WireFormat,
    pub(super) uplink: UplinkRules,
    /// Whether it takes the place of a config that ran in this process.
    pub(super) reload: bool,
    /// Why a later config is not the one in force.
    pub(super) refused: Option<String>,
}

/// Checks a config against the files it names.
pub fn prepare(config: &Config) -> Result<Prepared, DaemonError> {
    directories(config)?;
    let gateway = identity(&config.gateway.id)?;
    let layers = read_layers(&config.zones.files, &config.decide)?;
    let (http, format) = http(config)?;
    let uplink = UplinkRules {
        batch_max: format.batch_max(u32::try_from(config.uplink.batch_max).unwrap_or(u32::MAX)),
        batch_bytes: config.uplink.batch_bytes,
        linger: config.uplink.linger,
        backoff_max: config.uplink.backoff_max,
        ..UplinkRules::default()
    };
    let setup = setup(config, &gateway);
    Ok(Prepared { gateway, setup, layers, http, format, uplink, reload: false, refused: None })
}

/// What a life would only find out after the one before it has ended.
fn directories(config: &Config) -> Result<(), DaemonError> {
    let socket = Path::new(&config.control.socket).parent().unwrap_or(Path::new("/"));
    // A bare name lies where we stand.
    let socket = if socket.as_os_str().is_empty() { Path::new(".") } else { socket };
    for (key, path) in [
        ("[gateway] state_dir", Path::new(&config.gateway.state_dir)),
        ("[control] socket", socket),
    ] {
        if !path.is_dir() {
            return Err(DaemonError::NoDirectory { key, path: path.to_owned() });
        }
    }
    Ok(())
}

/// The configured id, read from its file where it has one.
pub fn identity(identity: &Identity) -> Result<GatewayId, DaemonError> {
    match identity {
        Identity::Given(id) => Ok(id.clone()),
        Identity::File(path) => {
            let path = PathBuf::from(path);
            let text = files::read_text(&path, ID_FILE_BYTES_MAX)?;
            GatewayId::new(text.trim())
                .map_err(|error| DaemonError::Identity { path, why: error.to_string() })
        }
    }
}

fn http(config: &Config) -> Result<(Option<Http>, WireFormat), DaemonError> {
    let format = match config.uplink.format {
        UplinkFormat::Batch => WireFormat::Batch,
        UplinkFormat::Single => WireFormat::Single,
        UplinkFormat::Jsonl => WireFormat::Jsonl,
    };
    if config.uplink.kind == UplinkKind::None {
        return Ok((None, format));
    }
    let own = &config.uplink;
    let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
    let options = HttpOptions {
        url: own.url.clone().unwrap_or_default(),
        format,
        token_file: path(&own.token_file),
        ca_file: path(&own.ca_file),
        client_cert_file: path(&own.client_cert_file),
        client_key_file: path(&own.client_key_file),
        proxy: own.proxy.clone(),
    };
    Ok((Some(Http::new(&options)?), format))
}

fn setup(config: &Config, gateway: &GatewayId) -> Setup {
    let own = AssetId::new(gateway.as_str()).expect("ids of both kinds are checked alike");
    let default = config.gateway.asset.clone().unwrap_or(own);
    let sources = config.sources.iter().map(|source| SourceSetup {
        id: source.name.clone(),
        feed: match &source.input {
            Input::Gpsd { device, .. } => Feed::Gpsd { device: device.clone() },
            Input::Jsonl { .. } => Feed::Records,
            _ => Feed::Nmea,
        },
        asset: source.asset.clone().unwrap_or_else(|| default.clone()),
        checksum: source.checksum.into(),
        interval: source.interval,
        window: source.reorder_window,
        trusting: match (&source.input, source.trust_fixes) {
            (_, true) => Trusting::Fixes,
            (Input::Serial { .. }, false) => Trusting::Serial,
            _ => Trusting::Network,
        },
        rank: source.rank,
    });
    Setup {
        gateway: gateway.clone(),
        software: Some(software()),
        decide: config.decide.clone(),
        time: config.time,
        detail: config.events.position,
        sources: sources.collect(),
        announce: true,
        report_fixes: false,
        telemetry: Telemetry {
            late_fix: config.events.late_fix,
            stale_markers: config.events.stale_markers,
        },
        heartbeat: HeartbeatRules {
            commit_every: config.flash.commit_every,
            heartbeat: config.flash.heartbeat,
        },
    }
}

/// Where `replay` feeds records whose event time is their arrival, and NMEA.
pub const REPLAY_TRUSTED: usize = 0;
/// Where it feeds records that say when they were received.
pub const REPLAY_RECEIVED: usize = 1;

/// What `replay` runs with: the rules of a config, no announcements, and the two inputs above.
pub fn replay_setup(config: &Config, gateway: &GatewayId, report_fixes: bool) -> Setup {
    let mut replay = setup(config, gateway);
    let first = replay.sources.swap_remove(0);
    let source =
        |trusting| SourceSetup { feed: Feed::Nmea, trusting, rank: UNRANKED, ..first.clone() };
    replay.sources = vec![source(Trusting::Fixes), source(Trusting::Network)];
    replay.software = None;
    replay.announce = false;
    replay.telemetry = Telemetry::default();
    replay.report_fixes = report_fixes;
    replay
}

/// Reads every layer that the patterns name, checked under `decide`.
pub fn read_layers(patterns: &[String], decide: &Decide) -> Result<Vec<Arc<Layer>>, DaemonError> {
    let mut layers: Vec<(PathBuf, Arc<Layer>)> = Vec::new();
    for pattern in patterns {
        let paths = match files::glob(Path::new(pattern)) {
            // The folder is not there either: the pattern says more.
            Err(FileError::Missing(_)) => Vec::new(),
            found => found?,
        };
        if paths.is_empty() {
            return Err(DaemonError::NoLayers(pattern.clone()));
        }
        for path in paths {
            if layers.iter().any(|(known, _)| *known == path) {
                continue;
            }
            let layer = read_layer(&path, decide)?;
            if let Some((first, _)) = layers.iter().find(|(_, known)| known.id == layer.id) {
                return Err(DaemonError::TwoFiles {
                    layer: layer.id.to_string(),
                    first: first.clone(),
                    second: path,
                });
            }
            layers.push((path, Arc::new(layer)));
        }
    }
    Ok(layers.into_iter().map(|(_, layer)| layer).collect())
}

fn read_layer(path: &Path, decide: &Decide) -> Result<Layer, DaemonError> {
    let bytes = files::read_bytes(path, zones::LAYER_BYTES_MAX as u64)?;
    let checked = zones::parse_layer(&bytes, decide).map_err(|faults| DaemonError::Layer {
        path: path.to_owned(),
        faults: faults.iter().map(ToString::to_string).collect(),
    })?;
    for repair in &checked.repairs {
        tracing::info!("{}: repaired: {repair}", path.display());
    }
    Ok(checked.layer)
}
