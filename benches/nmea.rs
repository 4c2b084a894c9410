//! Bytes to epochs, beside the `nmea` crate's own stateful parser on the same three hours of drive.
//!
//! ```text
//! cargo bench --bench nmea
//! ```
//! Prints MB/s, sentences/s and the ratio, and fails where ours is slower. Without the corpus
//! (`GEOFENCED_CORPUS`) it says so and ends. Both read RMC, GGA, GLL, GST, GSA, VTG and ZDA and
//! pass the rest by; ours also frames, merges, and judges. The crate is handed whole lines.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use geofenced::logic::gnss::epoch::Assembler;
use geofenced::logic::gnss::line::{Checksum, Framer};
use geofenced::units::BootTime;

/// Of so many rounds, in turn, the best of each.
const ROUNDS: usize = 15;

/// What a serial port or a socket gives at once.
const CHUNK_BYTES: usize = 4_096;

fn drive() -> PathBuf {
    let root = std::env::var_os("GEOFENCED_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"),
        PathBuf::from,
    );
    root.join("nmea/genivi__20100403_Z205_Switzerland_full.nmea")
}

/// Sentences and epochs.
fn ours(bytes: &[u8]) -> (usize, usize) {
    let now = BootTime::from_nanos(0);
    let (mut framer, mut assembler) = (Framer::new(Checksum::Required), Assembler::new(5.0));
    let (mut sentences, mut epochs) = (0, 0);
    for mut chunk in bytes.chunks(CHUNK_BYTES) {
        while let Some(framed) = framer.feed(&mut chunk) {
            let Ok(sentence) = framed else { continue };
            sentences += 1;
            if let Ok(Some(epoch)) = assembler.push(&sentence, now) {
                epochs += 1;
                black_box(&epoch);
            }
        }
    }
    (sentences, epochs + usize::from(assembler.finish().is_some()))
}

/// Lines, and those that it took. It may panic on a sound line; then it starts anew.
fn theirs(text: &str) -> (usize, usize) {
    let (mut lines, mut taken) = (0, 0);
    let mut parser = nmea::Nmea::default();
    for line in text.lines() {
        lines += 1;
        let parse = || parser.parse(line).is_ok();
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(parse)) {
            Ok(ok) => taken += usize::from(ok),
            Err(_) => parser = nmea::Nmea::default(),
        }
        black_box(&parser);
    }
    (lines, taken)
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn timed<T>(best: &mut Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = run();
    *best = (*best).min(start.elapsed());
    result
}

#[expect(clippy::print_stdout, reason = "a bench prints what it measured")]
fn main() -> ExitCode {
    let path = drive();
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: no corpus at {}", path.display());
        return ExitCode::SUCCESS;
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (mut own, mut other) = (Duration::MAX, Duration::MAX);
    let (mut sentences, mut epochs, mut lines, mut taken) = (0, 0, 0, 0);
    for _ in 0..ROUNDS {
        (sentences, epochs) = timed(&mut own, || ours(&bytes));
        (lines, taken) = timed(&mut other, || theirs(&text));
    }
    let rate = |count: usize, took: Duration| count as f64 / took.as_secs_f64() / 1e6;
    let show = |who: &str, took: Duration, count: usize| {
        let (mb, million) = (rate(bytes.len(), took), rate(count, took));
        println!("{who:<11} {took:>12.3?} {mb:>8.1} MB/s {million:>7.2} M sentences/s");
    };
    println!("{} bytes, best of {ROUNDS}", bytes.len());
    show("line+epoch", own, sentences);
    show("nmea crate", other, lines);
    println!("{sentences} sentences, {epochs} epochs; the crate took {taken} of {lines} lines");
    let ratio = other.as_secs_f64() / own.as_secs_f64();
    println!("ours is {ratio:.2} times as fast");
    if ratio < 1.0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
