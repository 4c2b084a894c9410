//! The ring against a list of all that was put into it.

use proptest::prelude::*;

use super::*;
use crate::logic::engine::{Feed, Trusting};
use crate::logic::gnss::line::Checksum;
use crate::units::{AssetId, SourceId};

fn at(nanos: i64) -> BootTime {
    BootTime::from_nanos(nanos)
}

fn header() -> Header {
    let now = (at(1_000_000), WallTime::from_nanos(5));
    Header::new("geofenced test".into(), "boot".into(), now)
}

/// An entry's stamp, its bytes, or else what it was.
type Seen = (i64, Vec<u8>, Option<What>);

/// What a reader finds: the header, and each entry's stamp with its bytes or else what it was.
fn read(text: &[u8]) -> (Header, Vec<Seen>) {
    assert!(is_record(text));
    let mut lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let header = read_header(lines.next().unwrap()).unwrap();
    let entries = lines.map(|line| {
        let entry = read_entry(line, 3).unwrap();
        let bytes = entry.bytes().map(Result::unwrap);
        (entry.at.nanos(), bytes.clone().unwrap_or_default(), bytes.is_none().then_some(entry.what))
    });
    (header, entries.collect())
}

#[test]
fn people_can_read_it_and_it_reads_itself() {
    let mut ring = Recorder::new(4096);
    ring.take(at(1), 0, Taken::Up);
    ring.take(at(2), 0, Taken::Bytes(b"$GPZDA,1\"2*60\r\n"));
    ring.take(at(3), 2, Taken::Bytes(b"\xb5\x62\x00"));
    ring.take(at(4), 0, Taken::System(Some(WallTime::from_nanos(7))));
    ring.take(at(5), 0, Taken::Down("unplugged"));
    let text = ring.into_text(header(), None);
    let lines: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            r#"{"at":1,"source":0,"up":null}"#,
            r#"{"at":2,"source":0,"text":"$GPZDA,1\"2*60\r\n"}"#,
            r#"{"at":3,"source":2,"base64":"tWIA"}"#,
            r#"{"at":4,"source":0,"system":"1970-01-01T00:00:00.000000007Z"}"#,
            r#"{"at":5,"source":0,"down":"unplugged"}"#,
        ]
    );
    let (header, entries) = read(&text);
    assert_eq!((header.lost, entries.len()), (0, 5));
    assert_eq!(entries[2].1, b"\xb5\x62\x00");
}

#[test]
fn a_wrong_record_is_refused_in_words() {
    let version = br#"{"geofenced_record":9,"software":"","boot_id":"","wall":"1970-01-01T00:00:00Z","at":0,"lost":0,"sources":[]}"#;
    assert!(read_header(version).unwrap_err().contains("version 9"));
    assert!(read_header(b"{").is_err() && !is_record(b"{\"asset\":1}"));
    assert!(read_entry(br#"{"at":1,"source":3,"up":null}"#, 3).unwrap_err().contains("source 3"));
    assert!(read_entry(br#"{"at":1,"source":0,"sideways":1}"#, 3).is_err());
    let entry = read_entry(br#"{"at":1,"source":0,"base64":"!"}"#, 3).unwrap();
    assert!(entry.bytes().unwrap().is_err());
}

#[test]
fn since_leaves_out_what_is_older_and_counts_it() {
    let mut ring = Recorder::new(4096);
    for nanos in [1, 999_000, 1_000_000] {
        ring.take(at(nanos), 0, Taken::Bytes(b"x"));
    }
    let (header, entries) = read(&ring.into_text(header(), Some(Span::from_nanos(1_000))));
    assert_eq!((header.lost, entries.len()), (1, 2));
}

proptest! {
    /// Bounded, the newest kept, nothing changed, every loss counted.
    #[test]
    fn the_ring_keeps_the_newest_that_fit(
        max in 0_usize..400,
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 0..60),
    ) {
        let mut ring = Recorder::new(max);
        for (ix, chunk) in (0_i64..).zip(&chunks) {
            ring.take(at(ix), (ix % 3) as usize, Taken::Bytes(chunk));
            prop_assert!(ring.len() <= max && ring.ring.capacity() <= max.max(1));
        }
        let fits = |chunk: &Vec<u8>| max > 0 && chunk.len() + OVERHEAD <= max;
        let mut room = max;
        let mut wanted: Vec<Seen> = Vec::new();
        for (ix, chunk) in (0_i64..).zip(&chunks).collect::<Vec<_>>().into_iter().rev() {
            if !fits(chunk) {
                continue;
            }
            let Some(left) = room.checked_sub(chunk.len() + OVERHEAD) else { break };
            room = left;
            wanted.insert(0, (ix, chunk.clone(), None));
        }
        let (header, entries) = read(&ring.into_text(header(), None));
        if max > 0 {
            prop_assert_eq!(header.lost as usize, chunks.len() - entries.len());
        }
        prop_assert_eq!(entries, wanted);
    }
}

/// Whatever kind of source it is, the header brings it back whole.
#[test]
fn the_header_carries_every_kind_of_source() {
    let source = |feed, trusting| SourceSetup {
        id: SourceId::new("s").unwrap(),
        feed,
        asset: AssetId::new("van").unwrap(),
        checksum: Checksum::IfPresent,
        interval: Span::from_millis(333),
        window: Span::from_nanos(1),
        trusting,
        rank: 2,
    };
    let floor = "2010-01-01T00:00:00Z".parse().ok();
    let sources = vec![
        source(Feed::Nmea, Trusting::Serial),
        source(Feed::Records, Trusting::Network),
        source(Feed::Gpsd { device: None }, Trusting::Network),
        source(Feed::Gpsd { device: Some("/dev/ttyS0".into()) }, Trusting::Fixes),
    ];
    let wanted = Header { floor, sources, ..header() };
    let text = Recorder::new(0).into_text(wanted.clone(), None);
    assert_eq!(read_header(&text), Ok(wanted));
}
