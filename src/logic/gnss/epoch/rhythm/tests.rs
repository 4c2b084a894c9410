//! A receiver on a line of some rate, byte by byte: every burst is one fix, whole, and soon.

use super::super::tests::dice;
use super::super::{Assembler, Epoch, QUIET};
use crate::logic::gnss::Reject;
use crate::logic::gnss::line::{Checksum, Framer};
use crate::units::{BootTime, Span};

/// Bytes that a serial driver hands over at once.
const CHUNK: usize = 16;
/// Bursts until a cycle without surprises is known.
const LEARNT: usize = 5;

struct Given {
    epoch: Epoch,
    at: BootTime,
}

/// What a run gave, and when each burst's last byte was there.
#[derive(Default)]
struct Run {
    given: Vec<Given>,
    repeats: usize,
    ends: Vec<BootTime>,
}

impl Run {
    /// From a burst's last byte to its epoch in milliseconds, below zero where the rest of the
    /// burst did not matter: the middle one and the worst, once learnt.
    fn latency_ms(&self) -> (i64, i64) {
        let one = |(given, end): (&Given, &BootTime)| (given.at - *end).nanos() / 1_000_000;
        let mut all: Vec<i64> = self.given.iter().zip(&self.ends).map(one).skip(LEARNT).collect();
        all.sort_unstable();
        (all[all.len() / 2], *all.last().expect("bursts"))
    }

    /// None split, none merged, none without what its burst said of it.
    fn is_whole(&self, name: &str) {
        assert_eq!(self.given.len(), self.ends.len(), "{name}");
        assert_eq!(self.repeats, 0, "{name}");
        for (n, given) in self.given.iter().enumerate() {
            let epoch = &given.epoch;
            assert!(epoch.fix.is_ok(), "{name}: {n}: {epoch:?}");
            let told = (epoch.accuracy_m, epoch.altitude_m, epoch.heading_deg);
            assert_eq!(
                told,
                (accuracy_m(n), Some(n as f32), Some((n % 360) as f32)),
                "{name}: {n}"
            );
        }
    }
}

fn accuracy_m(n: usize) -> f64 {
    5.0 * (1.0 + (n % 9) as f64)
}

/// Plays bursts, one each `interval`, over a line of so many bytes a second.
fn play(interval: Span, rate: i64, bursts: &[Vec<String>]) -> Run {
    play_to(Assembler::new(5.0), interval, rate, bursts)
}

fn play_to(mut assembler: Assembler, interval: Span, rate: i64, bursts: &[Vec<String>]) -> Run {
    let mut framer = Framer::new(Checksum::Required);
    let mut run = Run::default();
    let byte = Span::from_nanos(1_000_000_000 / rate);
    let mut free = BootTime::from_nanos(0);
    for (n, burst) in (0..).zip(bursts) {
        // The receiver computes for a while, and its line may still be busy.
        let mut now = BootTime::from_nanos(0) + interval.times(n) + Span::from_millis(5);
        now = now.max(free);
        let text: String = burst.iter().map(|body| line(body)).collect();
        for chunk in text.as_bytes().chunks(CHUNK) {
            for _ in chunk {
                now = now + byte;
            }
            // The deadline fires at its own time (ORD-1).
            while let Some(due) = assembler.deadline().filter(|due| *due < now) {
                run.given.extend(assembler.flush(due).map(|epoch| Given { epoch, at: due }));
            }
            let mut bytes = chunk;
            while let Some(framed) = framer.feed(&mut bytes) {
                match framed.and_then(|sentence| assembler.push(&sentence, now)) {
                    Ok(epoch) => run.given.extend(epoch.map(|epoch| Given { epoch, at: now })),
                    Err(reject) => {
                        assert_eq!(reject, Reject::Repeat);
                        run.repeats += 1;
                    }
                }
            }
        }
        free = now;
        run.ends.push(now);
    }
    if let Some(due) = assembler.deadline() {
        run.given.extend(assembler.flush(due).map(|epoch| Given { epoch, at: due }));
    }
    run
}

fn line(body: &str) -> String {
    format!("${body}*{:02X}\r\n", body.bytes().fold(0, |a, b| a ^ b))
}

/// Sentences by their letters, of burst `n` at `hz`: what they say differs from burst to burst.
fn burst(letters: &str, n: usize, hz: usize) -> Vec<String> {
    let time = format!("12{:02}{:02}.{:02}", n / hz / 60, n / hz % 60, n % hz * 100 / hz);
    let place = "4807.03800,N,01131.00000,E";
    let hdop = accuracy_m(n) / 5.0;
    let course = n % 360;
    let told = |letter| match letter {
        'R' => format!("GNRMC,{time},A,{place},0.01,,301126,,,A,V"),
        'C' => format!("GNRMC,{time},A,{place},0.01,{course},301126,,,A,V"),
        'V' => format!("GNVTG,{course},T,,M,0.01,N,0.02,K,A"),
        'G' => format!("GNGGA,{time},{place},1,12,,{n}.0,M,46.9,M,,"),
        'H' => format!("GNGGA,{time},{place},1,12,{hdop},{n}.0,M,46.9,M,,"),
        'A' => format!("GNGSA,A,3,04,05,,09,12,,,24,,,,,2.5,{hdop},2.1,1"),
        'S' => "GPGSV,3,1,11,07,63,152,29,13,57,053,39,10,43,302,33,04,43,215,36".to_owned(),
        'L' => format!("GNGLL,{place},{time},A,A"),
        'Z' => format!("GNZDA,{time},30,11,2026,00,00"),
        letter => format!("GNTXT,01,01,02,{letter}"),
    };
    letters.chars().map(told).collect()
}

/// The latency behind a burst's last byte, and the right number of fixes, at every line rate and
/// interval in use; beside it what waiting for quiet or the next burst gives.
#[test]
fn soon_at_one_hertz_and_right_at_twenty_five() {
    println!("burst          baud  Hz    bytes/s  middle ms   worst ms  waiting: middle, worst");
    // Some begin with what has no time, some end with it.
    for letters in ["CH", "CGA", "RVGA", "AVRG", "RVGASSSL", "GLASSSRVZ", "RVGAAASSSSL", "VRLGAZ"] {
        for (baud, hz) in [4_800_u32, 9_600, 115_200]
            .into_iter()
            .flat_map(|b| [1_usize, 5, 10, 25].map(|hz| (b, hz)))
        {
            let bursts: Vec<Vec<String>> = (0..40 * hz).map(|n| burst(letters, n, hz)).collect();
            let bytes: usize = bursts[hz].iter().map(|body| body.len() + 6).sum();
            if bytes * hz > baud as usize / 10 {
                continue;
            }
            let name = format!("{letters:<12} {baud:>6} {hz:>3} {:>10}", bytes * hz);
            let interval = Span::from_secs_f64(1.0 / hz as f64);
            let run = play(interval, i64::from(baud) / 10, &bursts);
            let waiting =
                play_to(Assembler::new(5.0).patient(), interval, i64::from(baud) / 10, &bursts);
            let ((middle, worst), waited) = (run.latency_ms(), waiting.latency_ms());
            println!("{name} {middle:>10} {worst:>10}  {waited:?}");
            run.is_whole(&name);
            waiting.is_whole(&name);
            assert!(worst <= 0 && middle <= 0, "{name}: {worst} ms");
        }
    }
}

/// A cycle of cycles: ten RMC a second, the rest once. Wrong guesses are few, then none.
#[test]
fn a_cycle_that_does_not_repeat_is_not_guessed_for_long() {
    let bursts: Vec<Vec<String>> =
        (0..6_000).map(|n| burst(if n % 10 == 0 { "CHASS" } else { "C" }, n, 10)).collect();
    let run = play(Span::from_millis(100), 11_520, &bursts);
    assert_eq!(run.given.len(), bursts.len());
    assert!(run.repeats <= 4, "{} sentences came too late", run.repeats);
    let late: Vec<usize> =
        (0..6_000).step_by(10).filter(|n| run.given[*n].epoch.altitude_m.is_none()).collect();
    assert!(late.len() <= 4 && late.iter().all(|n| *n < 200), "{late:?}");
    let (middle, worst) = run.latency_ms();
    println!("divided rates at 10 Hz: {middle} ms, worst {worst} ms");
    assert!(worst <= 200);
}

/// Lost lines cost what they said, and no more; in any order.
#[test]
fn lost_lines_and_shuffled_ones() {
    const SEED: u64 = 0x2545_F491_4F6C_DD1D;
    let mut next = dice(SEED);
    let letters = "CHZLS";
    let shuffled: Vec<Vec<String>> = (0..500)
        .map(|n| {
            let mut bodies = burst(letters, n, 1);
            (1..bodies.len()).for_each(|i| bodies.swap(i, next(i + 1)));
            bodies
        })
        .collect();
    let run = play(Span::from_secs(1), 960, &shuffled);
    run.is_whole("shuffled");
    assert!(run.latency_ms().1 <= 0, "seed {SEED:#x}: {:?}", run.latency_ms());
    let holed: Vec<Vec<String>> = (0..2_000)
        .map(|n| burst(letters, n, 1).into_iter().filter(|_| next(50) > 0).collect())
        .collect();
    let run = play(Span::from_secs(1), 960, &holed);
    assert_eq!((run.given.len(), run.repeats), (2_000, 0), "seed {SEED:#x}");
    let (middle, worst) = run.latency_ms();
    println!("one line in fifty lost: {middle} ms, worst {worst} ms");
    assert!(middle <= 0 && worst <= QUIET.nanos() / 1_000_000, "seed {SEED:#x}");
}

/// A receiver is told to send more: one epoch goes without it, one sentence is a repeat.
#[test]
fn a_cycle_that_grows() {
    let bursts: Vec<Vec<String>> = (0..300)
        .map(|n| {
            burst(
                if n < 100 {
                    "CL"
                } else if n < 200 {
                    "CHL"
                } else {
                    "CHLZ"
                },
                n,
                1,
            )
        })
        .collect();
    let run = play(Span::from_secs(1), 960, &bursts);
    assert_eq!((run.given.len(), run.repeats), (300, 0));
    let whole = |n: usize| run.given[n].epoch.altitude_m.is_some();
    assert!((101..300).all(whole));
    assert!(run.latency_ms().0 <= 0);
}
