//! Every recorded log of the corpus goes through framer and assembler, whole and broken: nothing
//! panics, nothing grows, time is linear, and a table says what was made of each.

use std::collections::BTreeMap;
use std::time::Duration;

use geofenced::daemon::REPLAY_TRUSTED;
use geofenced::logic::config::Decide;
use geofenced::logic::engine::{Engine, Input, Trusting};
use geofenced::logic::gnss::Reject;
use geofenced::logic::gnss::epoch::{Assembler, Epoch};
use geofenced::logic::gnss::line::{Checksum, Framer};
use geofenced::logic::gnss::record::{Format, SNIFF_BYTES};
use geofenced::units::{BootTime, Span};

#[expect(dead_code, reason = "these tests replay nothing whole")]
#[path = "drive/harness.rs"]
mod harness;

use harness::{corpus, logs, name, tell};

/// Broken logs are cut to this, so that the big ones do not outweigh all others.
const BROKEN_BYTES_MAX: usize = 64 * 1024;

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

    fn epoch(&mut self, epoch: Option<Epoch>) {
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

/// Reads a log at once, as a replay does (`pace` is nothing), or as a live source of so many
/// bytes at a time, `pace` apart.
fn tally(bytes: &[u8], piece: usize, pace: Option<Span>) -> Tally {
    let mut tally = Tally::default();
    let (mut framer, assembler) = (Framer::new(Checksum::Required), Assembler::new(5.0));
    let mut assembler = if pace.is_none() { assembler.patient() } else { assembler };
    let mut now = BootTime::from_nanos(0);
    for mut bytes in bytes.chunks(piece) {
        now = now + pace.unwrap_or(Span::ZERO);
        if pace.is_some() {
            tally.epoch(assembler.flush(now));
        }
        while let Some(framed) = framer.feed(&mut bytes) {
            tally.sentences += usize::from(framed.is_ok());
            match framed.and_then(|sentence| assembler.push(&sentence, now)) {
                Ok(epoch) => tally.epoch(epoch),
                Err(reject) => tally.reject(reject),
            }
        }
    }
    tally.epoch(assembler.finish());
    tally
}

#[test]
fn every_log_is_read() {
    let Some(directory) = corpus("nmea") else { return };
    tell(&format!("{:<52} {:>9} {:>7} {:>8}  rejects", "log", "sentences", "epochs", "located"));
    for path in logs(&directory) {
        let bytes = std::fs::read(&path).expect("a log can be read");
        let name = name(&path);
        assert_eq!(
            Format::sniff(&bytes[..bytes.len().min(SNIFF_BYTES)]),
            Some(Format::Nmea),
            "{name}"
        );
        let Tally { sentences, epochs, located, rejects } = tally(&bytes, usize::MAX, None);
        tell(&format!("{name:<52} {sentences:>9} {epochs:>7} {located:>8}  {rejects:?}"));
        assert!(
            sentences > 0 || name.contains("AIS") || name.contains("ais") || name.contains("aivdm"),
            "{name}"
        );
        assert!(epochs <= sentences, "{name}");
    }
}

/// A seeded source of chance.
struct Chance(u64);

impl Chance {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below
    }

    /// Bytes flipped, dropped and doubled, one in some 20 to 2,000; then cut.
    fn broken(&mut self, whole: &[u8]) -> Vec<u8> {
        let rate = [20, 200, 2_000][self.below(3)];
        let mut bytes = Vec::with_capacity(whole.len());
        for byte in whole {
            match self.below(rate * 3) {
                0 => {}
                1 => bytes.extend([*byte, *byte]),
                2 => bytes.push(byte ^ 1 << self.below(8)),
                _ => bytes.push(*byte),
            }
        }
        bytes.truncate(bytes.len() - self.below(bytes.len() / 4 + 1));
        bytes
    }
}

/// D12, D9: flipped, dropped, doubled and cut: no panic, no more epochs than sentences.
#[test]
fn broken_logs_cost_themselves_only() {
    const SEED: u64 = 0x9E6C_63D0_876A_3F6B;
    let Some(directory) = corpus("nmea") else { return };
    // They own no heap: however long the stream, this is what is kept of it.
    assert!(!std::mem::needs_drop::<Framer>() && !std::mem::needs_drop::<Assembler>());
    assert!(size_of::<Framer>() + size_of::<Assembler>() <= 1_536);
    let mut chance = Chance(SEED);
    let (mut whole, mut left, mut rejects) = (0, 0, BTreeMap::<Reject, u64>::new());
    for path in logs(&directory) {
        let log = std::fs::read(&path).expect("a log can be read");
        let log = &log[..log.len().min(BROKEN_BYTES_MAX)];
        whole += 3 * tally(log, 512, None).located;
        for round in 0..3 {
            let name = format!("seed {SEED:#x}: {} round {round}", name(&path));
            let bytes = chance.broken(log);
            let (piece, pace) =
                (1 + chance.below(300), Span::from_secs_f64(chance.below(60) as f64 / 1e3));
            let tally = tally(&bytes, piece, Some(pace));
            assert!(tally.epochs <= tally.sentences, "{name}");
            left += tally.located;
            through_the_engine(&name, &bytes, piece, pace, &mut rejects);
        }
    }
    tell(&format!("seed {SEED:#x}: {left} of {whole} epochs with a place are left; {rejects:?}"));
    assert!(left * 4 > whole, "one fault in 20 to 2,000 bytes leaves more than a quarter");
}

/// The same through trust and order, as a serial line.
fn through_the_engine(
    name: &str,
    bytes: &[u8],
    piece: usize,
    pace: Span,
    rejects: &mut BTreeMap<Reject, u64>,
) {
    let mut setup = harness::setup(&Decide::default());
    setup.sources[REPLAY_TRUSTED].trusting = Trusting::Serial;
    let mut engine = Engine::replay(setup, &[]);
    let (source, mut at, mut fixes) = (REPLAY_TRUSTED, BootTime::from_nanos(0), 0);
    for bytes in bytes.chunks(piece) {
        at = at + pace;
        fixes += engine.step(Input::Bytes { source, at, bytes }).fixes.len();
    }
    fixes += engine.step(Input::End { source, at }).fixes.len();
    at = at + Span::from_secs(3_600);
    fixes += engine.step(Input::Wake { now: at }).fixes.len();
    let counters = engine.counters();
    assert!(counters.epochs <= counters.sentences, "{name}");
    assert!(fixes as u64 <= counters.epochs, "{name}: {fixes} of {}", counters.epochs);
    for (reason, count) in &counters.rejects {
        *rejects.entry(*reason).or_default() += count;
    }
}

/// Four times as long takes four times as long: whatever a stream is made of.
#[test]
fn time_is_linear() {
    let Some(directory) = corpus("nmea") else { return };
    let mut chance = Chance(0x51_7CC1_B727_220A);
    let mut mixed = Vec::new();
    for path in logs(&directory) {
        let log = std::fs::read(&path).expect("a log can be read");
        mixed.extend(chance.broken(&log[..log.len().min(8 * 1024)]));
    }
    let noise: Vec<u8> = (0..mixed.len()).map(|_| chance.below(256) as u8).collect();
    let (dollars, digits) = (vec![b'$'; mixed.len()], vec![b'7'; mixed.len()]);
    for (what, once) in [("mixed", mixed), ("noise", noise), ("$", dollars), ("7", digits)] {
        let fourfold = once.repeat(4);
        let (short, long) = (best_of_three(&once), best_of_three(&fourfold));
        let ratio = long.as_secs_f64() / short.as_secs_f64().max(1e-4);
        tell(&format!("{what}: {} bytes {short:?}, four times {long:?}: {ratio:.1}", once.len()));
        assert!(ratio < 12.0, "{what}: {ratio:.1}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the test compares what reading takes")]
fn best_of_three(bytes: &[u8]) -> Duration {
    let timed = (0..3).map(|_| {
        let start = std::time::Instant::now();
        std::hint::black_box(tally(bytes, 4_096, None).epochs);
        start.elapsed()
    });
    timed.min().expect("three")
}
