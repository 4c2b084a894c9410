//! The step of the crossing machine alone, beside what others do, over one seeded stream of a
//! fleet that flaps at fences and falls silent there.
//!
//! `cargo bench --bench crossing` takes a few minutes and some gigabytes for 61 million fixes;
//! `-- quick` takes one million. `-- export DIR` writes the steps for other programs: `steps.bin`,
//! "GSTEP001", u64 n, then the columns device u32, fence u32, row u32, time_ns i64, inside u8.
//! `-- count NAME` takes one pass of one of them, to be counted by valgrind.
//!
//! A step finds the pair from (device, fence), keeps its bracket and its vote, and the wheel.

#[path = "../../tests/field/chance.rs"]
mod chance;
mod rivals;
mod stream;

use std::alloc::System;
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::time::Instant;

use rivals::{Machine, Rival, Streaks, Timers};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use stream::{Asked, Size};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SIZE: Size = Size { fixes: 61_000_000, devices: 4000, fences: 6000, box_m: 39_600.0 };
const QUICK: Size = Size { fixes: 1_000_000, devices: 400, fences: 600, box_m: 12_000.0 };
const RUNS: usize = 5;

const NAMES: [&str; 4] =
    ["counter, no timeout", "counter, timer per pair", "machine, lazy", "machine, wheel"];

fn rival(name: &str, devices: usize) -> Box<dyn Play> {
    match name {
        "counter, no timeout" => Box::new(Streaks::default()),
        "counter, timer per pair" => Box::new(Timers::default()),
        "machine, lazy" => Box::new(Machine::new(devices, false)),
        _ => Box::new(Machine::new(devices, true)),
    }
}

/// A rival that plays a whole stream, so that its step is compiled into the loop.
trait Play: Rival {
    /// Plays; gives how often something was said.
    fn play(&mut self, stream: &[Asked], say: &mut dyn FnMut(rivals::Said)) -> u64;
}

impl<T: Rival> Play for T {
    fn play(&mut self, stream: &[Asked], say: &mut dyn FnMut(rivals::Said)) -> u64 {
        let (mut said, mut now_ms) = (0, 0);
        for asked in stream {
            if asked.time_ms != now_ms {
                now_ms = asked.time_ms;
                self.wait(now_ms);
            }
            if let Some(what) = self.step(asked) {
                said += 1;
                say(what);
            }
        }
        said
    }
}

/// Million steps a second, the median of a few runs.
#[expect(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn rate(name: &str, size: Size, stream: &[Asked]) -> f64 {
    let one = |_| {
        let mut rival = rival(name, size.devices);
        let begin = Instant::now();
        black_box(rival.play(black_box(stream), &mut |_| ()));
        stream.len() as f64 / begin.elapsed().as_secs_f64() / 1e6
    };
    let mut rates: Vec<f64> = (0..RUNS).map(one).collect();
    rates.sort_by(f64::total_cmp);
    rates[RUNS / 2]
}

/// One row: what was said, what is pending an hour after the last fix, and what a pair costs.
fn row(name: &str, size: Size, stream: &[Asked]) -> String {
    let mut sides: HashMap<(u16, u16), bool> = HashMap::new();
    let mut repeated = 0_u64;
    let region = Region::new(ALLOCATOR);
    let mut rival = rival(name, size.devices);
    let said = rival.play(stream, &mut |_| ());
    let held = region.change();
    let bytes = held.bytes_allocated - held.bytes_deallocated;
    let end_ms = stream.last().map_or(0, |asked| asked.time_ms);
    rival.wait(end_ms + 3_600_000);
    let (pairs, pending) = (rival.pairs(), rival.pending());
    drop(rival);
    let mut again = self::rival(name, size.devices);
    again.play(stream, &mut |(device, fence, inside)| {
        // A pair begins outside: an exit before any entry repeats as well.
        let before = sides.insert((device, fence), inside).unwrap_or(false);
        repeated += u64::from(before == inside);
    });
    let per_pair = bytes as f64 / pairs as f64;
    let rate = rate(name, size, stream);
    format!(
        "{name:<26} {said:>10} {repeated:>10} {pending:>10} {pairs:>10} {per_pair:>10.1} {rate:>10.1}"
    )
}

fn export(stream: &[Asked], dir: &str) -> std::io::Result<()> {
    let mut out = BufWriter::new(std::fs::File::create(format!("{dir}/steps.bin"))?);
    out.write_all(b"GSTEP001")?;
    out.write_all(&(stream.len() as u64).to_le_bytes())?;
    let mut column = |of: &dyn Fn(usize, &Asked) -> Vec<u8>| {
        stream.iter().enumerate().try_for_each(|(ix, asked)| out.write_all(&of(ix, asked)))
    };
    column(&|_, asked| u32::from(asked.device).to_le_bytes().to_vec())?;
    column(&|_, asked| u32::from(asked.fence).to_le_bytes().to_vec())?;
    column(&|ix, _| (ix as u32).to_le_bytes().to_vec())?;
    let begin_ms = 1_700_000_000_000;
    column(&|_, asked| ((begin_ms + i64::from(asked.time_ms)) * 1_000_000).to_le_bytes().to_vec())?;
    column(&|_, asked| vec![u8::from(asked.distance_m <= 0.0)])
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let size =
        if args.first().is_some_and(|arg| ["quick", "count"].contains(arg)) { QUICK } else { SIZE };
    let stream = stream::stream(1, size);
    match args[..] {
        ["export", dir] => return export(&stream, dir),
        ["count", name] => {
            let said = rival(name, size.devices).play(&stream, &mut |_| ());
            return writeln!(out, "{name}: {said} said in {} steps", stream.len());
        }
        _ => {}
    }
    writeln!(out, "{} fixes, {} steps", size.fixes, stream.len())?;
    let (said, repeated, pending, pairs) = ("said", "repeated", "pending", "pairs");
    writeln!(
        out,
        "{:<26} {said:>10} {repeated:>10} {pending:>10} {pairs:>10} {:>10} {:>10}",
        "", "B/pair", "M steps/s"
    )?;
    for name in NAMES {
        writeln!(out, "{}", row(name, size, &stream))?;
    }
    Ok(())
}
