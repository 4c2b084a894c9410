//! Instructions of the hot paths, counted by valgrind: the same on a noisy machine, so that a
//! regression shows.
//!
//! `cargo bench --bench instructions` counts each path and compares it with
//! `benches/instructions.txt`; more than 5 % off fails. `GEOFENCED_BLESS=1` writes the file anew:
//! another compiler or profile counts otherwise. The kept ones are of rustc 1.95 with thin LTO and
//! four codegen units. Needs valgrind.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use geofenced::daemon::{REPLAY_TRUSTED, replay_setup};
use geofenced::logic::config::{ConfigFile, Env, load};
use geofenced::logic::crossing::bracket::Context;
use geofenced::logic::crossing::machine::VoteRules;
use geofenced::logic::crossing::observe::Side;
use geofenced::logic::crossing::pair::{Before, Measured, Pair, Seen};
use geofenced::logic::crossing::silences::Silences;
use geofenced::logic::crossing::table::PairTable;
use geofenced::logic::engine::{Engine, Input};
use geofenced::logic::gnss::record::Record;
use geofenced::logic::zones::parse_layer;
use geofenced::units::{AssetId, BootTime, EventTime, GatewayId, Position, Span};

const COUNTS: &str = "benches/instructions.txt";
const TIMES: i64 = 20_000;
/// A compiler's patch release moves a count by less.
const APART_MAX: f64 = 0.05;

/// What is counted: a name, and what holds at each time.
type Counted<T> = (&'static str, fn(i64) -> T);

/// Whether the fix lies inside.
const STEPS: [Counted<bool>; 3] = [
    ("step, stays outside", |_| false),
    ("step, one fix in three inside", |n| n % 3 == 0),
    ("step, crosses every fourth", |n| n / 4 % 2 == 0),
];
/// Whole fixes: metres east of the middle of a zone of 100 m.
const FIXES: [Counted<f64>; 3] = [
    ("fix, open ground", |n| 5_000.0 + (n % 100) as f64 * 10.0),
    ("fix, inside and staying", |n| (n % 10) as f64),
    ("fix, through the zone", |n| (n % 100) as f64 * 10.0 - 500.0),
];

#[inline(never)]
fn counted_steps(table: &mut PairTable, inside: fn(i64) -> bool) {
    let rules = VoteRules::new(3, Span::from_secs(2), None, Span::from_secs(1));
    let silences = Silences::default();
    let limit = Span::from_secs(300);
    let context = Context {
        silence_limit: limit,
        infer_limit: limit,
        restarted_after: None,
        silences: &silences,
    };
    let at = |n: i64| EventTime::from_nanos(0) + Span::from_secs(n);
    for n in 1..=TIMES {
        let inside = inside(n);
        let side = if inside { Side::Inside } else { Side::Outside };
        let position = Position::ORIGIN;
        let before = Some(Before { time: at(n - 1), position });
        let fix = Measured { time: at(n), position, clear_m: 10.0, before };
        let distance_m = if inside { -20.0 } else { 20.0 };
        let seen = Seen { observation: Some(side), distance_m, inside, before_m: Some(20.0) };
        let place = table.find(black_box(7)).expect("it is there");
        black_box(table.step(|| rules, &context, place, &fix, &seen));
    }
}

#[inline(never)]
fn counted_fixes(engine: &mut Engine, records: Vec<Record>) {
    for record in records {
        let at = BootTime::from_nanos(record.time.nanos());
        let _ = black_box(engine.step(Input::Record { source: REPLAY_TRUSTED, at, record }));
    }
}

fn steps(inside: fn(i64) -> bool) {
    let mut table = PairTable::default();
    let outside =
        Pair { committed: Some(Side::Outside), ..Pair::unevaluated(EventTime::from_nanos(0)) };
    (0..20).for_each(|zone| table.put(zone, &outside, false));
    counted_steps(&mut table, inside);
}

fn fixes(east_m: fn(i64) -> f64) {
    let text = "[gateway]\nid = \"bench\"\n[[source]]\nname = \"fleet\"\nkind = \"file\"\n\
        path = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";
    let config = load(&[ConfigFile::new("bench", text)], &Env::new()).expect("a sound config");
    let id = GatewayId::new("bench").expect("a sound id");
    let setup = replay_setup(&config.config, &id, false);
    let lon = |m: f64| m / 111_319.49;
    let mut zones = String::from(
        r#"{"type":"FeatureCollection","geofenced":{"layer":"l","version":1,
        "created":"2026-11-30T00:00:00Z"},"features":["#,
    );
    for n in 0..1_000 {
        // A thousand squares of 100 m, in rows two kilometres apart; the first is the one.
        let (x, y) = (lon(f64::from(n % 30) * 2_000.0 + 50.0), lon(f64::from(n / 30) * 2_000.0));
        let half = lon(50.0);
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            zones,
            r#"{comma}{{"type":"Feature","id":"z{n}","properties":{{}},"geometry":{{"type":
            "Polygon","coordinates":[[[{w:.7},{s:.7}],[{e:.7},{s:.7}],[{e:.7},{n2:.7}],
            [{w:.7},{n2:.7}],[{w:.7},{s:.7}]]]}}}}"#,
            w = x - half,
            e = x + half,
            s = y - half,
            n2 = y + half,
        );
    }
    zones.push_str("]}");
    let layer = parse_layer(zones.as_bytes(), &setup.decide).expect("sound zones").layer;
    let like = Record::from_json(br#"{"time":0,"lat":1,"lon":1,"accuracy_m":3}"#);
    let like = Record { asset: AssetId::new("van").ok(), ..like.expect("a sound record") };
    let records = (0..TIMES).map(|n| Record {
        time: EventTime::from_nanos(1_790_000_000_000_000_000) + Span::from_secs(n),
        position: Ok(Position::new(0.0, lon(50.0 + east_m(n))).expect("on the equator")),
        ..like.clone()
    });
    let mut engine = Engine::replay(setup, &[layer.into()]);
    counted_fixes(&mut engine, records.collect());
}

/// Runs one path under valgrind: instructions for each time.
fn count(name: &str) -> std::io::Result<f64> {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    valgrind.arg("--toggle-collect=*instructions*counted_*");
    let output = valgrind.arg(std::env::current_exe()?).args(["one", name]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let total = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n);
    let total: Option<f64> = total.and_then(|n| n.trim().parse().ok());
    let total = total.ok_or_else(|| std::io::Error::other(format!("valgrind said: {said}")))?;
    Ok(total / TIMES as f64)
}

fn main() -> std::io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [one, name] = &args[..]
        && one == "one"
    {
        STEPS.iter().filter(|(own, _)| own == name).for_each(|(_, inside)| steps(*inside));
        FIXES.iter().filter(|(own, _)| own == name).for_each(|(_, east_m)| fixes(*east_m));
        return Ok(());
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(COUNTS);
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let (mut out, mut fresh, mut off) = (std::io::stdout().lock(), String::new(), 0);
    for name in STEPS.map(|(name, _)| name).into_iter().chain(FIXES.map(|(name, _)| name)) {
        let now = count(name)?;
        let before = kept.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        let share = before.map_or(1.0, |before: f64| now / before);
        off += usize::from((share - 1.0).abs() > APART_MAX);
        let _ = writeln!(fresh, "{name:<32} {now:>7.0}");
        writeln!(out, "{name:<32} {now:>7.0} instructions, {share:.2} of what is kept")?;
    }
    if std::env::var_os("GEOFENCED_BLESS").is_some() {
        return std::fs::write(&file, fresh);
    }
    if off > 0 {
        return Err(std::io::Error::other(format!("{off} of them are off by more than 5 %")));
    }
    Ok(())
}
