//! The sections of a config as types.
//!
//! Always holds: only `build` makes them from text, after every check.
//! Does not know: TOML, files, defaults other than [`Decide`]'s.

use std::fmt;

use crate::units::{AssetId, EventTime, GatewayId, SourceId, Span};

/// Writes an enum whose values have names in the config.
macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$vdoc])* $variant),+
        }

        impl $name {
            /// The names as a config writes them.
            pub const NAMES: &'static [&'static str] = &[$($text),+];
            /// The name in a config.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text),+
                }
            }
            /// The value of a name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

/// `[gateway]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Gateway {
    /// Its id, or the file that holds it.
    pub id: Identity,
    /// What rides on this gateway; `None` is the gateway's own id.
    pub asset: Option<AssetId>,
    /// Where the store lives.
    pub state_dir: String,
}

/// Where the gateway's id comes from. Never guessed.
#[derive(Clone, PartialEq, Debug)]
pub enum Identity {
    /// Written in the config.
    Given(GatewayId),
    /// The first line of this file.
    File(String),
}

/// One `[[source]]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// Its name, unique.
    pub name: SourceId,
    /// What is opened.
    pub input: Input,
    /// Whom it locates; `None` is the gateway's asset.
    pub asset: Option<AssetId>,
    /// 1 is best; no two sources of one asset share a rank (ORD-4).
    pub rank: u8,
    /// The declared reporting interval.
    pub interval: Span,
    /// Whether `interval` was written by somebody or is the default (PAIR-1).
    pub interval_declared: bool,
    /// Reported silent after this long without a byte.
    pub silence_after: Span,
    /// What a missing checksum means.
    pub checksum: Checksum,
    /// How long a fix may wait for earlier ones (ORD-1).
    pub reorder_window: Span,
    /// Event time is arrival time: recorded or accelerated feeds only (TIME-3).
    pub trust_fixes: bool,
}

impl Source {
    /// The kind as the config names it.
    pub fn kind(&self) -> SourceKind {
        match self.input {
            Input::Serial { .. } => SourceKind::Serial,
            Input::Gpsd { .. } => SourceKind::Gpsd,
            Input::Tcp { .. } => SourceKind::Tcp,
            Input::Udp { .. } => SourceKind::Udp,
            Input::Jsonl { .. } => SourceKind::Jsonl,
            Input::File { .. } => SourceKind::File,
        }
    }
}

choice! {
    /// The kinds of input.
    SourceKind {
        /// A serial port.
        Serial = "serial",
        /// A gpsd on the network.
        Gpsd = "gpsd",
        /// NMEA from a TCP server.
        Tcp = "tcp",
        /// NMEA in UDP datagrams.
        Udp = "udp",
        /// JSON lines.
        Jsonl = "jsonl",
        /// A file, or standard input.
        File = "file",
    }
}

/// What a source opens.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// A serial port.
    Serial {
        /// The device.
        path: String,
        /// `None` tries the usual rates.
        baud: Option<u32>,
    },
    /// A gpsd.
    Gpsd {
        /// Where it listens.
        address: Address,
        /// Only this device of it.
        device: Option<String>,
    },
    /// A TCP server to connect to.
    Tcp {
        /// Where it listens.
        address: Address,
    },
    /// A UDP port to listen on.
    Udp {
        /// Where to listen.
        address: Address,
    },
    /// JSON lines of trackers that name their asset.
    Jsonl {
        /// Where they come from.
        from: Lines,
    },
    /// An NMEA file; `-` is standard input.
    File {
        /// Which.
        path: String,
    },
}

/// Where JSON lines come from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lines {
    /// A TCP port to listen on.
    Address(Address),
    /// A file, a pipe, standard input; else a Unix socket to listen on.
    Path(String),
}

impl Input {
    /// What it opens, as `status` names it.
    pub fn target(&self) -> String {
        match self {
            Self::Serial { path, .. }
            | Self::File { path }
            | Self::Jsonl { from: Lines::Path(path) } => path.clone(),
            Self::Gpsd { address, device: Some(device) } => format!("{address} {device}"),
            Self::Gpsd { address, .. }
            | Self::Tcp { address }
            | Self::Udp { address }
            | Self::Jsonl { from: Lines::Address(address) } => address.to_string(),
        }
    }
    /// Its kind, as a config writes it.
    pub const fn kind_name(&self) -> &'static str {
        match self {
            Self::Serial { .. } => SourceKind::Serial,
            Self::Gpsd { .. } => SourceKind::Gpsd,
            Self::Tcp { .. } => SourceKind::Tcp,
            Self::Udp { .. } => SourceKind::Udp,
            Self::Jsonl { .. } => SourceKind::Jsonl,
            Self::File { .. } => SourceKind::File,
        }
        .name()
    }
}

/// `host:port`, the port checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    /// Name or number, an IPv6 one without its brackets.
    pub host: String,
    /// 1..=65535.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

choice! {
    /// What a missing checksum means; a wrong one always refuses the sentence.
    Checksum {
        /// Refuse the sentence.
        Required = "required",
        /// Take the sentence.
        IfPresent = "if-present",
    }
}

/// `[decide]`: what makes a crossing. A zone may override the first four.
#[derive(Clone, PartialEq, Debug)]
pub struct Decide {
    /// Agreeing fixes needed to change a membership, 1..=31.
    pub confirm: u8,
    /// Which must span this long.
    pub confirm_for: Span,
    /// How far inside an inside vote must be.
    pub enter_margin_m: f64,
    /// How far outside an outside vote must be, beyond twice the accuracy.
    pub exit_margin_m: f64,
    /// Accuracy counts at most this much against an outside vote.
    pub accuracy_cap_m: f64,
    /// A worse fix decides nothing.
    pub max_accuracy_m: f64,
    /// Accuracy is HDOP times this when the receiver gives no better.
    pub range_error_m: f64,
    /// A faster implied motion is a jump.
    pub max_speed_mps: f64,
    /// Fixed time a vote stands; `None` follows PAIR-1.
    pub vote_timeout: Option<Span>,
    /// The silence limit is at least this.
    pub stale_after: Span,
    /// Longer brackets are uncertain; `None` is the silence limit.
    pub infer_limit: Option<Span>,
}

impl Default for Decide {
    fn default() -> Self {
        Self {
            confirm: 3,
            confirm_for: Span::from_secs(2),
            enter_margin_m: 0.0,
            exit_margin_m: 20.0,
            accuracy_cap_m: 30.0,
            max_accuracy_m: 50.0,
            range_error_m: 5.0,
            max_speed_mps: 100.0,
            vote_timeout: None,
            stale_after: Span::from_secs(300),
            infer_limit: None,
        }
    }
}

/// When this source was released (TIME-1): of the source, not of the build, so that the same
/// source judges alike on every machine. 2026-11-30T00:00:00Z.
pub const RELEASE_DATE: EventTime = EventTime::from_nanos(1_795_996_800_000_000_000);

/// `[time]`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimeRules {
    /// How far a fix may lie from the running offset (TIME-3).
    pub skew_tolerance: Span,
    /// Fixes in a row that must agree before a step is believed (TIME-4).
    pub steps_to_adopt: u8,
    /// Earliest plausible time, set outright (TIME-1); also the base of TIME-2.
    pub floor: Option<EventTime>,
    /// Else the floor follows from this and from what was stored. No key sets it.
    pub release_date: EventTime,
}

impl Default for TimeRules {
    fn default() -> Self {
        Self {
            skew_tolerance: Span::from_secs(2),
            steps_to_adopt: 5,
            floor: None,
            release_date: RELEASE_DATE,
        }
    }
}

/// `[zones]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Zones {
    /// Factory layers: files, or patterns with `*`.
    pub files: Vec<String>,
    /// Signed layers dropped here are taken.
    pub drop_dir: Option<String>,
    /// Minisign public keys.
    pub keys: Vec<String>,
    /// Where newer layers are fetched.
    pub pull: Option<String>,
    /// How often.
    pub pull_every: Option<Span>,
    /// How long a pushed layer is on trial (LAY-2).
    pub trial: Option<Span>,
}

choice! {
    /// How events travel.
    UplinkKind {
        /// HTTP POST.
        Https = "https",
        /// MQTT 5.
        Mqtt = "mqtt",
        /// Not at all: they wait in the spool.
        None = "none",
    }
}

choice! {
    /// The shape of a request body.
    UplinkFormat {
        /// A CloudEvents batch.
        Batch = "batch",
        /// One CloudEvent a request.
        Single = "single",
        /// Flat records, one a line.
        Jsonl = "jsonl",
    }
}

/// `[uplink]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Uplink {
    /// How.
    pub kind: UplinkKind,
    /// Where; always there unless `kind` is none.
    pub url: Option<String>,
    /// Holds the bearer token.
    pub token_file: Option<String>,
    /// Trusts these certificates instead of the built-in set.
    pub ca_file: Option<String>,
    /// Client certificate, with its key below.
    pub client_cert_file: Option<String>,
    /// Client key.
    pub client_key_file: Option<String>,
    /// HTTP proxy.
    pub proxy: Option<String>,
    /// Request body.
    pub format: UplinkFormat,
    /// Events a request.
    pub batch_max: usize,
    /// Bytes a request, before compression.
    pub batch_bytes: u64,
    /// Wait this long to fill a batch.
    pub linger: Span,
    /// Longest wait between tries.
    pub backoff_max: Span,
    /// How long SIGTERM may spend on a last try.
    pub flush_on_stop: Span,
}

/// `[spool]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Spool {
    /// Most that waits.
    pub max_bytes: u64,
    /// Longest that waits.
    pub max_age: Span,
}

choice! {
    /// What of a position leaves the vehicle.
    PositionDetail {
        /// None of it.
        None = "none",
        /// Where the boundary was crossed.
        Crossing = "crossing",
        /// That and the committing fix.
        CrossingFix = "crossing+fix",
    }
}

/// `[events]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Events {
    /// What of a position they carry.
    pub position: PositionDetail,
    /// Between membership snapshots.
    pub snapshot_every: Span,
    /// Between health records.
    pub health_every: Span,
    /// Whether late fixes are reported.
    pub late_fix: bool,
    /// Whether silence and its end are reported.
    pub stale_markers: bool,
}

/// `[flash]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Flash {
    /// Least time between commits (STO-2).
    pub commit_every: Span,
    /// Least often a commit is made when nothing happens.
    pub heartbeat: Span,
    /// Bytes a day that are said when passed.
    pub daily_budget: u64,
}

/// `[record]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// How much of what sources gave is kept, in bytes; 0 is nothing.
    pub max_bytes: u64,
    /// Where as much is kept in files too.
    pub dir: Option<String>,
}

choice! {
    /// What is logged.
    LogLevel {
        /// Only what is broken.
        Error = "error",
        /// And what will be.
        Warn = "warn",
        /// And changes of state.
        Info = "info",
        /// And why.
        Debug = "debug",
        /// And everything.
        Trace = "trace",
    }
}

/// `[log]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Log {
    /// How much.
    pub level: LogLevel,
    /// More are dropped, counted and said.
    pub max_lines_per_hour: u32,
}

/// `[control]`.
#[derive(Clone, PartialEq, Debug)]
pub struct Control {
    /// The Unix socket.
    pub socket: String,
    /// May read.
    pub group: String,
    /// May change.
    pub admin_group: String,
}
