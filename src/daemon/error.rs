//! Why the daemon does not run.

use std::path::PathBuf;

use crate::edge::control::ControlError;
use crate::edge::files::FileError;
use crate::edge::http::HttpError;
use crate::store::StoreError;

/// Every way a start or a run can fail. The cli turns each into an exit code.
#[derive(Debug, thiserror::Error)]
pub enum DaemonError {
    /// `[gateway] id_file` holds no id.
    #[error("[gateway] id_file: {path}: {why}")]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file that is needed.
    #[error("{0}")]
    File(#[from] FileError),
    /// No file answers a pattern of `[zones] files`.
    #[error("[zones] files: `{0}` matches no file; put a layer there, or correct the pattern")]
    NoLayers(String),
    /// A layer that fails its checks, every fault on a line of its own.
    #[error("{}: refused\n{}", path.display(), faults.join("\n"))]
    Layer {
        /// The file.
        path: PathBuf,
        /// All of them.
        faults: Vec<String>,
    },
    /// Two files of one layer.
    #[error("layer `{layer}` is in {} and in {}: give each layer one file", .first.display(), .second.display())]
    TwoFiles {
        /// The layer.
        layer: String,
        /// One file.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// `[uplink]` cannot work.
    #[error("[uplink] {0}")]
    Uplink(#[from] HttpError),
    /// The store.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The control socket.
    #[error("[control] socket: {0}")]
    Control(ControlError),
    /// The operating system refused a thread, a timer or a signal.
    #[error("the system refused: {0}")]
    Runtime(std::io::Error),
    /// What was decided could not be made durable before the end.
    #[error("{0} decided events are lost: the store took nothing more; see the log")]
    Unsaved(usize),
    /// The pipeline did not give the store back.
    #[error("the pipeline did not end in time")]
    Busy,
    /// `[gateway] state_dir` or the socket's directory.
    #[error("{key}: there is no directory `{}`; create it, or correct the key", path.display())]
    NoDirectory {
        /// Which key.
        key: &'static str,
        /// What it needs.
        path: PathBuf,
    },
    /// The pipeline thread is gone.
    #[error("the pipeline ended by itself: this is a bug of geofenced")]
    Pipeline,
}
