//! Every recorded log of the corpus goes through framer and assembler: nothing panics, nothing
//! grows, and a table says what was made of each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use geofenced::logic::gnss::Reject;
use geofenced::logic::gnss::epoch::Assembler;
use geofenced::logic::gnss::line::{Checksum, Framer};
use geofenced::logic::gnss::record::{Format, SNIFF_BYTES};
use geofenced::units::{BootTime, Span};

/// What one log gave.
#[derive(Default)]
struct Tally {
    sentences: usize,
    epochs: usize,
    located: usize,
    rejects: BTreeMap<Reject, usize>,
}

impl Tally {
    fn reject(&mut self, reject: Reject) {
        *self.rejects.entry(reject).or_default() += 1;
    }

    fn epoch(&mut self, epoch: Option<geofenced::logic::gnss::epoch::Epoch>) {
        let Some(epoch) = epoch else { return };
        self.epochs += 1;
        assert!(epoch.accuracy_m.is_finite() && epoch.accuracy_m > 0.0);
        assert!(epoch.time.is_none_or(|t| t >= Span::ZERO && t < Span::from_secs(86_401)));
        match epoch.fix {
            Ok(_) => self.located += 1,
            Err(reject) => self.reject(reject),
        }
    }
}

/// Reads a log at once, as a replay does: the content alone ends the epochs.
fn tally(mut bytes: &[u8]) -> Tally {
    let now = BootTime::from_nanos(0);
    let mut tally = Tally::default();
    let (mut framer, mut assembler) = (Framer::new(Checksum::Required), Assembler::new(5.0));
    while let Some(framed) = framer.feed(&mut bytes) {
        tally.sentences += usize::from(framed.is_ok());
        match framed.and_then(|sentence| assembler.push(&sentence, now)) {
            Ok(epoch) => tally.epoch(epoch),
            Err(reject) => tally.reject(reject),
        }
    }
    tally.epoch(assembler.finish());
    tally
}

fn corpus() -> PathBuf {
    let root = std::env::var_os("GEOFENCED_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    root.join("nmea")
}

fn logs(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("the corpus can be listed");
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    // The checked outputs of gpsd's own tests hold its answers, not a receiver's bytes.
    paths.retain(|p| !p.file_name().is_some_and(|n| n.to_string_lossy().contains(".chk")));
    paths.sort();
    paths
}

#[test]
fn every_log_is_read() {
    let directory = corpus();
    if !directory.is_dir() {
        println!("skipped: no corpus at {}", directory.display());
        return;
    }
    println!("{:<52} {:>9} {:>7} {:>8}  rejects", "log", "sentences", "epochs", "located");
    for path in logs(&directory) {
        let bytes = std::fs::read(&path).expect("a log can be read");
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        assert_eq!(
            Format::sniff(&bytes[..bytes.len().min(SNIFF_BYTES)]),
            Some(Format::Nmea),
            "{name}"
        );
        let Tally { sentences, epochs, located, rejects } = tally(&bytes);
        println!("{name:<52} {sentences:>9} {epochs:>7} {located:>8}  {rejects:?}");
        assert!(
            sentences > 0 || name.contains("AIS") || name.contains("ais") || name.contains("aivdm"),
            "{name}"
        );
        assert!(epochs <= sentences, "{name}");
    }
}
