//! What comes over a serial line that is not NMEA, and lines that come and go.

use geofenced::edge::clock;

use crate::drive;
use crate::harness::{Pty, Site, await_true, count, records};

/// Chance that can be had again (xorshift64).
struct Chance(u64);

impl Chance {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let next = |_| {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 as u8
        };
        (0..count).map(next).collect()
    }
}

/// D1, G2: garbage is counted and costs nothing but itself.
#[test]
fn garbage_is_counted_and_fixes_go_on() {
    let seed = clock::boot_now().nanos().cast_unsigned() | 1;
    println!("seed {seed}");
    let mut chance = Chance(seed);
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    let rubbish = [
        chance.bytes(20_000),
        b"$GPRMC,001640.000,A,48".to_vec(),
        b"$GPGGA,001640.000,4800.0000,N,01100.0000,E,1,09,0.9,500.0,M,48.0,M,,*00\r\n".to_vec(),
        vec![b'x'; 10_000],
        format!("$GPRMC,{}", "1".repeat(10_000)).into_bytes(),
        vec![0; 3_000],
        drive::sentence("GPRMC,99,A,,,,,,,,,,,").into_bytes(),
        drive::sentence("GPGGA,001640,NaN,N,inf,E,1,9,1,1,M,1,M,,").into_bytes(),
        b"\r\n\r\n$$$$$*\r\n".to_vec(),
    ];
    let epochs = drive::arriving(1000);
    for (ix, epoch) in epochs.iter().enumerate() {
        assert!(pty.feed(&rubbish[ix % rubbish.len()]));
        assert!(pty.feed(&epoch.bytes));
    }
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
    let status = site.await_status("what is counted", |s| {
        s["sources"][0]["sentences"].as_u64() >= Some(2 * epochs.len() as u64)
    });
    let counters = &status["counters"];
    for reason in ["noise", "overlong", "checksum", "malformed"] {
        assert!(counters["rejects"][reason].as_u64() > Some(1), "{reason}: {counters}");
    }
    assert_eq!(counters["fixes"].as_u64(), Some(epochs.len() as u64 - 2), "{counters}");
    let text = String::from_utf8(site.command(&["status", "--socket", "control.sock"]).stdout);
    let text = text.unwrap();
    let rejected = text.lines().find(|line| line.starts_with("rejected")).unwrap();
    assert!(rejected.contains("checksum"), "{rejected}");
    daemon.stop();
}

/// E3: a receiver that is pulled out and put in again, in the middle of a sentence.
#[test]
fn e3_a_port_that_goes_and_comes_back_is_read_on() {
    let site = Site::trusted();
    site.write("zones/a.geojson", &drive::gate(1, &[]));
    let mut pty = Pty::plug(&site.path("gnss"));
    let daemon = site.start_open();
    let bytes = drive::bytes(&drive::arriving(1000));
    let (before, after) = bytes.split_at(bytes.len() / 2 + 7);
    assert!(pty.feed(before));
    let sentences = drive::sentences(before);
    site.await_status("all is read", |s| s["sources"][0]["sentences"] == sentences);
    drop(pty);
    let status = site.await_status("it is gone", |s| s["sources"][0]["up"] == false);
    assert_eq!(status["state"], "degraded");
    let what = status["problems"][0]["what"].as_str().unwrap();
    assert!(what.starts_with("source gnss: "), "{what}");
    let mut pty = Pty::plug(&site.path("gnss"));
    site.await_open();
    assert!(pty.feed(after));
    await_true("the entry arrives", || count(&records(&site.server), "fence_entry") == 1);
    let status = site.await_status("it is well again", |s| s["state"] == "ready");
    assert_eq!(status["counters"]["rejects"]["late"], serde_json::Value::Null);
    let log = site.log();
    assert_eq!(log.matches("source gnss: open").count(), 2, "{log}");
    assert!(log.contains("unplugged"), "{log}");
    daemon.stop();
}
