//! Screens as they are printed, from fixed states.

use serde_json::json;

use super::*;

/// A van in trouble, in the numbers of the contract's sketch.
fn degraded() -> Status {
    let event = json!({
        "seq": 18_234, "id": "k7q2m9xa-18234", "kind": "fence_exit", "gateway": "gw-004711",
        "layer": "depots", "zone": "nord", "inside": false, "at": "2026-11-30T07:41:58.25Z",
        "not_before": "2026-11-30T07:41:57.75Z", "not_after": "2026-11-30T07:41:58.75Z",
    });
    let status = json!({
        "version": "1.0.3", "gateway": "gw-004711", "state": "degraded",
        "up_s": 8040.0, "boot_s": 21_720.0, "start_cause": "watchdog", "down_s": 1.8,
        "problems": [
            {"what": "uplink: connected, but no answer in time",
             "attempt": "check the address and the network"},
            {"what": "source spare is open but silent", "attempt": "check the baud rate"},
        ],
        "sources": [
            {"name": "gnss", "kind": "serial", "path": "/dev/ttyACM0",
             "up": true, "heard_s_ago": 0.4, "state": "voting", "rank": 1, "sentences": 56_280,
             "epochs": 8040, "fixes": 8009, "rate_hz": 1.0, "rejects": {"accuracy": 24}},
            {"name": "spare", "kind": "serial", "path": "/dev/ttyS1", "up": false, "rank": 2},
        ],
        "assets": [{
            "asset": "van-4711", "position": {"lat": 48.137_512, "lon": 11.575_502, "accuracy_m": 3.1},
            "speed_mps": 11.7, "time": "2026-11-30T07:42:11Z", "time_quality": "gnss",
            "heard_s_ago": 0.4, "stale": false, "live_pairs": 3, "evaluating": false,
            "inside": [
                {"zone": "depots/nord", "visit": "k7q2m9xa-18101",
                 "since": "2026-11-30T07:12:44.3Z", "dwell_sent": true},
                {"zone": "roads/town", "visit": "k7q2m9xa-17000",
                 "since": "2026-11-29T18:02:00Z", "dwell_sent": false},
            ],
            "votes": [{"zone": "depots/yard-3", "entering": false, "votes": 2, "needed": 3,
                "first": "2026-11-30T07:42:09.9Z", "lapses": "2026-11-30T07:42:15Z"}],
        }],
        "layers": [
            {"layer": "customers", "version": 318, "zones": 318},
            {"layer": "depots", "version": 42, "zones": 1412},
        ],
        "counters": {"sentences": 56_280, "epochs": 8040, "fixes": 8009, "clamped": 2,
            "rejects": {"accuracy": 24, "jump": 5, "no_position": 2}},
        "latency": {
            "decided": {"count": 8009, "p50_s": 0.55, "p99_s": 0.61},
            "durable": {"count": 31, "p50_s": 0.93, "p99_s": 1.55},
        },
        "events": {"decided": 18_234, "waiting": 7, "oldest_s": 180.0, "lost": 0,
            "dead_lettered": 0, "last_acknowledged": false, "last": event},
        "uplink": {"kind": "https", "target": "https://fleet.example/v1/events",
            "ok_s_ago": 185.0, "next_try_s": 40.0, "error": "no answer"},
        "store": {"path": "/var/lib/geofenced/geofenced.db", "stream": "k7q2m9xa",
            "spool_bytes": 9216, "spool_max_bytes": 67_108_864, "commits": 107,
            "written_bytes": 1_153_434, "fsyncs": 214, "slowest_commit_s": 0.31},
        "memory_bytes": 7_130_317,
    });
    serde_json::from_value(status).unwrap()
}

const DEGRADED: &str = "\
geofenced 1.0.3   gw-004711 / van-4711   DEGRADED: uplink: connected, but no answer in time
up 2 h 14 min (boot 6 h 02 min)   last start: watchdog, down 1.8 s

position  48.137512 11.575502 ±3.1 m  42 km/h  0.4 s ago   07:42:11 UTC, gnss time
source    gnss   serial /dev/ttyACM0  voting, heard 0.4 s ago  1.0 Hz  used 99.6 %  rank 1
          spare  serial /dev/ttyS1  CLOSED, never heard  rank 2
rejected  31: 24 accuracy, 5 jump, 2 no position; 8,009 fixes used
clock     2 clamped
latency   decided 0.55 s (99 % 0.61 s)  durable 0.93 s (99 % 1.55 s)

zones     318 in customers v318, 1,412 in depots v42
inside    depots/nord  since 07:12:44  visit k7q2m9xa-18101  dwell sent
          roads/town   since 2026-11-29 18:02:00  visit k7q2m9xa-17000
leaving   depots/yard-3  2 of 3 votes in 1.1 s, lapses 07:42:15

events    18,234 decided   7 waiting (oldest 3 min)   0 lost   0 dead-lettered
last      07:41:58 fence_exit depots/nord (±0.5 s), not yet acknowledged
uplink    https fleet.example   last ok 3 min ago   next try in 40 s

store     /var/lib/geofenced/geofenced.db   stream k7q2m9xa
spool     9 KiB of 64 MiB
flash     1.1 MiB since the start, 107 commits, 214 fsyncs, slowest 0.31 s
memory    6.8 MiB

problems  uplink: connected, but no answer in time
          try: check the address and the network
          source spare is open but silent
          try: check the baud rate
";

/// A first start before anything was heard.
const EMPTY: &str = "\
geofenced 1.0.3   gw-004711   ready
up 0.5 s (boot 2 d 3 h)   last start: first

rejected  nothing; 0 fixes used

zones     1 in depots v1

events    0 decided   0 waiting   0 lost   0 dead-lettered
uplink    none: events stay here

store     /data/geofenced.db   stream a
spool     0 B of 1 KiB
flash     0 B since the start, 1 commit, 0 fsyncs, slowest 0.00 s
memory    0 B
";

#[test]
fn a_van_in_trouble() {
    let page = screen(&degraded(), false);
    assert_eq!(page, DEGRADED, "\n{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 110 && !line.ends_with(' ')));
    let coloured = screen(&degraded(), true);
    assert!(coloured.contains("\x1b[31mDEGRADED: uplink") && coloured.contains("\x1b[31mCLOSED"));
}

#[test]
fn a_first_start() {
    let status = json!({
        "version": "1.0.3", "gateway": "gw-004711", "up_s": 0.5, "boot_s": 184_000.0,
        "start_cause": "first", "layers": [{"layer": "depots", "version": 1, "zones": 1}],
        "uplink": {"kind": "none"},
        "store": {"path": "/data/geofenced.db", "stream": "a", "spool_max_bytes": 1024,
            "commits": 1},
    });
    let page = screen(&serde_json::from_value(status).unwrap(), false);
    assert_eq!(page, EMPTY, "\n{page}");
}

/// However much there is, the screen stays one, and says what it left out.
#[test]
fn nothing_scrolls() {
    let mut status = degraded();
    let mut asset = status.assets[0].clone();
    asset.inside = vec![asset.inside[0].clone(); 40];
    asset.votes = vec![asset.votes[0].clone(); 40];
    asset.stale = true;
    asset.heard_s_ago = None;
    status.assets = vec![asset; 2];
    status.layers = vec![status.layers[0].clone(); 40];
    let page = screen(&status, false);
    assert!(page.lines().count() < 60, "{page}");
    for part in [
        "36 more layers",
        "and 34 more; see --json",
        "and 34 more votes",
        "start   2026-11-30 07:42:11 UTC, gnss time   STALE",
    ] {
        assert!(page.contains(part), "no `{part}` in\n{page}");
    }
    assert!(page.contains("inside    van-4711  depots/nord"), "{page}");
}
