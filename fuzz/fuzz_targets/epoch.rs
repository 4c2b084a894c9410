//! Any sentences, at any pace, through the assembler.
//!
//! An input is lines. A line's first byte is the time since the one before, squared, in
//! milliseconds; the rest is a sentence's body, to which `$` and a right checksum are added.
//! Holds: no more epochs than sentences; what leaves is finite, in range, and in time; nothing
//! stays due; one measurement in a row gives one epoch.

#![no_main]

use geofenced::logic::gnss::epoch::{Assembler, Epoch};
use geofenced::logic::gnss::line::{Checksum, Framer};
use geofenced::units::{BootTime, Span};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (mut framer, mut assembler) = (Framer::new(Checksum::Required), Assembler::new(5.0));
    let (mut now, mut sentences, mut epochs) = (BootTime::from_nanos(0), 0_usize, 0_usize);
    let mut line = Vec::new();
    for part in data.split(|b| *b == b'\n') {
        let Some((&pace, body)) = part.split_first() else { continue };
        now = now + Span::from_millis(i64::from(pace) * i64::from(pace));
        while let Some(due) = assembler.deadline().filter(|due| *due <= now) {
            epochs += usize::from(assembler.flush(due).is_some_and(|e| holds(&e, now)));
            assert!(assembler.deadline() != Some(due), "a deadline is met once");
        }
        let sum = body.iter().fold(0, |sum, byte| sum ^ byte);
        line.clear();
        line.push(b'$');
        line.extend_from_slice(body);
        line.extend_from_slice(format!("*{sum:02X}\r\n").as_bytes());
        let mut bytes = line.as_slice();
        while let Some(framed) = framer.feed(&mut bytes) {
            let Ok(sentence) = framed else { continue };
            sentences += 1;
            let ended = assembler.push(&sentence, now);
            epochs += usize::from(ended.ok().flatten().is_some_and(|e| holds(&e, now)));
        }
    }
    epochs += usize::from(assembler.finish().is_some_and(|e| holds(&e, now)));
    assert!(assembler.deadline().is_none(), "nothing is left");
    assert!(epochs <= sentences, "{epochs} epochs of {sentences} sentences");
});

fn holds(epoch: &Epoch, now: BootTime) -> bool {
    assert!(epoch.stamp <= now);
    assert!(epoch.accuracy_m.is_finite() && epoch.accuracy_m > 0.0);
    assert!(epoch.time.is_none_or(|t| (Span::ZERO..Span::from_secs(86_401)).contains(&t)));
    assert!(epoch.speed_mps.is_none_or(|v| v.is_finite() && v >= 0.0));
    assert!(epoch.heading_deg.is_none_or(|v| (0.0..360.0).contains(&v)));
    assert!(epoch.altitude_m.is_none_or(f32::is_finite));
    if let Ok(place) = epoch.fix {
        let (lat, lon) = (place.position.lat_deg(), place.position.lon_deg());
        assert!(lat.abs() <= 90.0 && lon.abs() <= 180.0 && (lat, lon) != (0.0, 0.0));
    }
    true
}
