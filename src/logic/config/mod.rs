//! Text to [`Config`]: every check, working defaults, and who set what.
//!
//! Always holds: a `Config` that exists passed every check (INV-8); the table in `schema` is the
//! one list of keys, from which unknown keys, defaults, `config show` and the shipped reference
//! are checked; no secret is ever in a config, so none can be printed from one.
//! Does not know: where the files are or how they are read.
//!
//! Files are read in order and the later wins key by key. `[[source]]` tables are merged by
//! their `name` (default `gnss`): a later file that names a source again changes only the keys it
//! gives, a new name adds a source, and one file may not use a name twice.

mod build;
mod fault;
mod merge;
mod schema;
mod sections;
mod show;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

pub use fault::{ConfigFault, Origin};
pub use schema::reference;
pub use sections::{
    Address, Checksum, Control, Decide, Events, Flash, Gateway, Identity, Input, Lines, Log,
    LogLevel, PositionDetail, RELEASE_DATE, Record, Source, SourceKind, Spool, TimeRules, Uplink,
    UplinkFormat, UplinkKind, Zones,
};
pub use value::{TextError, parse_duration, parse_size};

/// One file of the config, already read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigFile {
    /// How messages name it.
    pub path: String,
    /// What is in it.
    pub text: String,
}

/// The environment as far as a config may refer to it: only `CREDENTIALS_DIRECTORY` is looked up.
pub type Env = BTreeMap<String, String>;

/// Everything a gateway is told. Sections as in the shipped file.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// Who this is and where it keeps its state.
    pub gateway: Gateway,
    /// One per receiver, at least one, names unique.
    pub sources: Vec<Source>,
    /// What makes a crossing.
    pub decide: Decide,
    /// How receivers' clocks are trusted.
    pub time: TimeRules,
    /// Where layers come from.
    pub zones: Zones,
    /// Where events go.
    pub uplink: Uplink,
    /// How much may wait.
    pub spool: Spool,
    /// What events carry and which are wanted.
    pub events: Events,
    /// How often the disk is written.
    pub flash: Flash,
    /// What sources gave, kept for a complaint.
    pub record: Record,
    /// What is logged.
    pub log: Log,
    /// The local socket.
    pub control: Control,
}

/// A config that passed, with what is worth saying about it.
#[derive(Clone, PartialEq, Debug)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// Every key in effect and who set it, in the order of the reference.
    pub origins: Vec<Effective>,
    /// What was accepted but will surprise somebody.
    pub warnings: Vec<ConfigFault>,
}

/// One key in effect.
#[derive(Clone, PartialEq, Debug)]
pub struct Effective {
    /// Its section; empty for a key above all sections.
    pub section: &'static str,
    /// Which `[[source]]`, counted from 0; 0 elsewhere.
    pub index: usize,
    /// Its name.
    pub key: &'static str,
    /// Its value as TOML on one line.
    pub literal: String,
    /// Who set it.
    pub origin: Origin,
}

/// Reads a config out of its files, in order: all faults, or a config that passed every check.
pub fn load(files: &[ConfigFile], env: &Env) -> Result<Loaded, Vec<ConfigFault>> {
    let (merged, faults) = merge::merge(files, env);
    build::build(merged, faults)
}

impl Loaded {
    /// What this config asks for that this release cannot do yet: parsed, checked, not run.
    pub fn unsupported(&self) -> Vec<ConfigFault> {
        let mut faults = Vec::new();
        for effective in &self.origins {
            let Effective { section, key, literal, origin, .. } = effective;
            let refused = schema::NOT_YET
                .iter()
                .any(|&(s, k, v)| s == *section && k == *key && v.is_none_or(|v| v == literal));
            if refused {
                faults.push(ConfigFault::at(
                    origin,
                    schema::dotted(section, key),
                    format!("{key} = {literal} is not in this release yet"),
                    schema::instead(section, key),
                ));
            }
        }
        faults
    }

    /// The effective config as TOML, one key a line, with who set it when `origin` is asked for.
    pub fn show(&self, origin: bool) -> String {
        show::show(&self.origins, origin)
    }
}

impl ConfigFile {
    /// A file with this name and text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}
