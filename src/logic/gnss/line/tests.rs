//! Framing, read as bytes in, sentences and rejects out.

use super::*;

/// What a byte stream gives, fed whole and in pieces of every small size, which must agree.
fn frames(policy: Checksum, bytes: &[u8]) -> Vec<String> {
    let whole = fed(policy, bytes, bytes.len().max(1));
    for piece in [1, 2, 3, 7, 64] {
        assert_eq!(fed(policy, bytes, piece), whole, "fed by {piece}");
    }
    whole
}

fn fed(policy: Checksum, bytes: &[u8], piece: usize) -> Vec<String> {
    let show = |framed: Result<Sentence<'_>, Reject>| match framed {
        Ok(s) => format!("{} {} {}", s.talker(), s.kind(), s.data()),
        Err(reject) => format!("{reject:?}"),
    };
    let mut framer = Framer::new(policy);
    let mut seen = Vec::new();
    for mut chunk in bytes.chunks(piece) {
        while let Some(framed) = framer.feed(&mut chunk) {
            seen.push(show(framed));
        }
        assert!(chunk.is_empty());
    }
    seen.extend(framer.finish().map(show));
    seen
}

fn check(bytes: &[u8], expected: &[&str]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(frames(Checksum::Required, bytes), expected, "{text}");
}

const V: &str = "$GNRMC,,V,,,,,,,,,,N*4D";
const V_SEEN: &str = "GN RMC ,V,,,,,,,,,,N";

#[test]
fn lines_of_all_talkers_and_endings() {
    check(
        b"$GNRMC,,V,,,,,,,,,,N*4D\r\n$GPRMC,,V,,,,,,,,,,N*53\n",
        &[V_SEEN, "GP RMC ,V,,,,,,,,,,N"],
    );
    check(b"\r\n\r\n  \r\n", &[]);
    check(b"$PSRF154,107*3D\r\n$PMTK*02\r\n", &["P SRF154 107", "P MTK "]);
    // Lower-case digits are digits; the last line may lack its end.
    check(
        V.to_lowercase().replace("gnrmc,,v", "GNRMC,,V").replace(",n*", ",N*").as_bytes(),
        &[V_SEEN],
    );
}

/// D17: a checksum is mandatory unless configured otherwise, and a wrong one is never right.
#[test]
fn d17_checksums() {
    let bytes = b"$GPGLL,1,N,2,E\r\n$GPGLL,1,N,2,E*00\r\n$GPGLL,1,N,2,E*5\r\n$GPGLL,1*ZZ\r\n";
    check(bytes, &["NoChecksum", "Checksum", "Malformed", "Checksum"]);
    assert_eq!(
        frames(Checksum::IfPresent, bytes),
        ["GP GLL 1,N,2,E", "Checksum", "Malformed", "Checksum"]
    );
}

/// D7: receivers send past 102 bytes; 256 is the cap.
#[test]
fn d7_long_lines() {
    let long = b"$GNGGA,115739.00,4158.8441367,N,09147.4416929,W,4,13,0.9,255.747,M,-32.00,M,01,\
                 0000*70\r\n";
    assert!(frames(Checksum::Required, long)[0].starts_with("GN GGA 115739.00,"));
    for (length, fits) in [(252, true), (253, true), (254, false), (5_000, false)] {
        let body = format!("GPTXT,{}", "A".repeat(length - 7));
        let sum = body.bytes().fold(0, |a, b| a ^ b);
        let line = format!("${body}*{sum:02X}\r\n{V}\r\n");
        let seen = frames(Checksum::Required, line.as_bytes());
        assert_eq!(seen.len(), 2, "{length}: {seen:?}");
        assert_eq!(seen[0] == "Overlong", !fits, "{length}: {seen:?}");
        assert_eq!(seen[1], V_SEEN);
    }
}

/// D12: binary protocols between and inside of lines.
#[test]
fn d12_binary_noise() {
    check(b"\xB5\x62\x01\x07\x5C\x00$GNRMC,,V,,,,,,,,,,N*4D\r\n", &["Noise", V_SEEN]);
    check(b"\x00\xFF\x24\x80\x0A$GNRMC,,V,,,,,,,,,,N*4D\r\n", &["Noise", "Noise", "Noise", V_SEEN]);
    check(
        b"$GNRMC,,V,,,,,,,,,,N*4D\xB5\x62\x05\x01$GNRMC,,V,,,,,,,,,,N*4D\r\n",
        &[V_SEEN, "Noise", V_SEEN],
    );
    check(b"$GNRMC,,V\x80,,,\r\n$GNRMC,,V,,,,,,,,,,N*4D\r\n", &["Malformed", "Noise", V_SEEN]);
    check(b"\0\0$GNRMC,,V,,,,,,,,,,N*4D\r\n\0", &[V_SEEN]);
    check(b"$ 5 and $ 6\r\n", &["Noise", "Noise"]);
    check(b"\x19!\x19\xFF!\x19\r\n", &["Noise", "Noise", "Noise"]);
}

#[test]
fn glued_truncated_and_led_by_junk() {
    check(b"$GNRMC,,V,,,,,,,,,,N*4D$GNRMC,,V,,,,,,,,,,N*4D\r\n", &[V_SEEN, V_SEEN]);
    check(b"$GNRMC,12$GNRMC,,V,,,,,,,,,,N*4D\r\n", &["Malformed", V_SEEN]);
    check(b"047432000,0$GNRMC,,V,,,,,,,,,,N*4D,17\r\n", &[V_SEEN]);
    check(b"nmea0183 n0183-GNRMC GNRMC $GNRMC,,V,,,,,,,,,,N*4D\n", &[V_SEEN]);
    check(b"\\s:r1,c:1577836800*11\\$GNRMC,,V,,,,,,,,,,N*4D\r\n", &[V_SEEN]);
    check(b"hello\r\n", &["Noise"]);
    check(b"$GNRMC,,V,,,\r\n", &["NoChecksum"]);
}

#[test]
fn ais_lines_are_nobodys_fault() {
    check(b"!AIVDM,1,1,,B,3:16dn0PBkPfhv`HqN:pJ6bt01<P,0*1A\r\n", &[]);
    check(b"!AIVDM,1,1,,B,3:16$GNRMC,,V,,,,,,,,,,N*4D\r\n!BSVDM,1\r\n", &[V_SEEN]);
    check(b"\\g:1-2-7*1F\\!AIVDM,2,1,9,A,55P7,0*4B\r\n", &[]);
    check(b"$GNRMC,1!AIVDM,1,1,,B,3:1,0*1A\r\n", &["Malformed"]);
}

/// Comments of recorded logs hold no faults, but may hold a sentence.
#[test]
fn comments() {
    check(b"# Notes: $GPRMC. and $GPGGA,1*00 \xFF\r\n#\r\n# {\"class\":\"VERSION\"}\n", &[]);
    check(b"#$GNRMC,,V,,,,,,,,,,N*4D\r\nnoise\r\n", &[V_SEEN, "Noise"]);
    assert!(frames(Checksum::IfPresent, b"# as $GPGLL,1,N,2,E\r\n").is_empty());
}
