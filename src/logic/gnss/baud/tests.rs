//! A receiver that is heard right at its own rate and as garbage at any other.

use super::*;

const ZDA: &[u8] = b"$GPZDA,120000.00,30,11,2026,00,00*60\r\n";

/// Bytes that a wrong rate makes of a burst: seldom text, never a sentence.
fn garbage(len: usize, seed: u32) -> Vec<u8> {
    let mut state = seed | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        (state >> 24) as u8
    };
    (0..len).map(next).collect()
}

fn ms(millis: i64) -> BootTime {
    BootTime::from_nanos(0) + Span::from_millis(millis)
}

/// A port and a receiver, once a second `lines` sentences.
struct Bench {
    ear: Ear,
    now_ms: i64,
    said: Vec<(i64, Heard)>,
}

impl Bench {
    fn new(baud: Baud, last: Option<u32>) -> Self {
        Self { ear: Ear::new(baud, Checksum::Required, last), now_ms: 0, said: Vec::new() }
    }

    /// `seconds` of a receiver that speaks at `rate`; deadlines fire at their own time.
    fn run(&mut self, seconds: i64, rate: u32, lines: usize) {
        for _ in 0..seconds {
            let until = self.now_ms + 1_000;
            while let Some(due) = self.ear.deadline().filter(|due| *due < ms(until)) {
                let heard = self.ear.wake(due);
                self.note(due.nanos() / 1_000_000, heard);
            }
            self.now_ms = until;
            let bytes = if self.ear.rate() == rate {
                ZDA.repeat(lines)
            } else {
                garbage(ZDA.len() * lines, until as u32)
            };
            let heard = self.ear.hear(ms(until), &bytes);
            self.note(until, heard);
        }
    }

    fn note(&mut self, at: i64, heard: Option<Heard>) {
        self.said.extend(heard.map(|heard| (at, heard)));
    }

    fn settled(&self) -> Option<(i64, u32)> {
        self.said.iter().rev().find_map(|(at, heard)| match heard {
            Heard::Settled(rate) => Some((*at, *rate)),
            _ => None,
        })
    }
}

#[test]
fn every_usual_rate_is_found_whatever_the_burst() {
    for rate in RATES {
        for lines in [1, 2, 6, 20] {
            let mut bench = Bench::new(Baud::Auto, None);
            bench.run(40, rate, lines);
            let (at, found) = bench.settled().unwrap_or_else(|| panic!("{rate} {lines}"));
            assert_eq!(found, rate);
            assert!(at <= 36_000, "{rate} with {lines} lines a second took {at} ms");
        }
    }
}

#[test]
fn the_rate_that_was_right_is_tried_first() {
    let mut bench = Bench::new(Baud::Auto, Some(460_800));
    bench.run(1, 460_800, 6);
    assert_eq!(bench.said, [(1_000, Heard::Settled(460_800))]);
}

#[test]
fn a_receiver_that_changes_its_rate_is_followed() {
    let mut bench = Bench::new(Baud::Auto, None);
    bench.run(3, 9600, 6);
    assert_eq!(bench.settled().map(|(_, rate)| rate), Some(9600));
    bench.run(30, 115_200, 6);
    let (at, rate) = bench.settled().unwrap();
    assert!(rate == 115_200 && at < 20_000, "{:?}", bench.said);
    assert!(!bench.said.iter().any(|(_, heard)| *heard == Heard::Garbled), "{:?}", bench.said);
}

#[test]
fn silence_and_one_torn_line_change_nothing() {
    let mut bench = Bench::new(Baud::Auto, None);
    assert_eq!(bench.ear.deadline(), None, "nothing came: nothing is judged");
    bench.run(3, 9600, 6);
    let before = bench.said.clone();
    // A tracker that reports every 20 s, one line of it cut off.
    bench.now_ms += 20_000;
    let _ = bench.ear.hear(ms(bench.now_ms), &ZDA[..20]);
    bench.now_ms += 20_000;
    assert_eq!(bench.ear.hear(ms(bench.now_ms), ZDA), None);
    assert_eq!(bench.ear.deadline(), None);
    assert_eq!(bench.said, before);
}

#[test]
fn a_fixed_rate_is_never_left_and_garbage_is_said_once() {
    let mut bench = Bench::new(Baud::Fixed(4800), None);
    bench.run(30, 38_400, 6);
    assert_eq!(bench.ear.rate(), 4800);
    assert!(matches!(bench.said[..], [(5_000..8_000, Heard::Garbled)]), "{:?}", bench.said);
    bench.said.clear();
    bench.run(3, 4800, 6);
    assert_eq!(bench.said, [(31_000, Heard::Settled(4800))], "and so is its end");
}

#[test]
fn a_round_in_vain_is_said_once_and_goes_on() {
    let mut bench = Bench::new(Baud::Auto, None);
    bench.run(120, 1_200, 6);
    let garbled = bench.said.iter().filter(|(_, heard)| *heard == Heard::Garbled).count();
    assert_eq!(garbled, 1, "{:?}", bench.said);
    bench.run(60, 19_200, 6);
    assert_eq!(bench.settled().map(|(_, rate)| rate), Some(19_200));
}

/// Half of the bytes are somebody else's.
#[test]
fn a_second_reader_shows_as_torn_lines_and_its_end_too() {
    for baud in [Baud::Auto, Baud::Fixed(9600)] {
        let mut bench = Bench::new(baud, None);
        bench.run(10, 9600, 8);
        bench.said.clear();
        for second in 0..10 {
            bench.now_ms += 1_000;
            let burst = ZDA.repeat(8);
            // Chunks of 32 bytes go to one or the other.
            let ours = burst.chunks(32).enumerate().filter(|(ix, _)| (ix + second) % 5 > 1);
            let ours: Vec<u8> = ours.flat_map(|(_, chunk)| chunk.to_vec()).collect();
            let heard = bench.ear.hear(ms(bench.now_ms), &ours);
            bench.note(bench.now_ms, heard);
        }
        let said: Vec<Heard> = bench.said.iter().map(|(_, heard)| *heard).collect();
        assert_eq!(said, [Heard::Torn], "{baud:?}");
        bench.run(10, 9600, 8);
        assert_eq!(bench.said.last().map(|(_, heard)| *heard), Some(Heard::Clean));
    }
}

/// UBX between the lines is no fault, at the right rate.
#[test]
fn binary_between_sentences_is_no_trouble() {
    let mut bench = Bench::new(Baud::Auto, None);
    for second in 1..60 {
        let mut burst = garbage(400, second as u32);
        burst.retain(|byte| !b"$!\r\n".contains(byte));
        burst.extend_from_slice(&ZDA.repeat(2));
        let heard = bench.ear.hear(ms(second * 1_000), &burst);
        bench.note(second * 1_000, heard);
    }
    assert_eq!(bench.said, [(1_000, Heard::Settled(9600))]);
}
