//! Cases as timelines: what happens when, and which events come of it.
//!
//! Always holds: an expected event is matched word by word, so that a case says only what it is
//! about; no fence event may come that is not expected. Does not know: what is right.

use std::sync::Arc;

use geofenced::logic::config::Decide;
use geofenced::logic::event::{Event, Kind};
use geofenced::logic::zones::Layer;

use crate::harness::{Gateway, Place, VAN, feature, record, second};

pub(crate) use Do::*;

/// In the middle of `S`.
pub(crate) const IN: Place = (48.0005, 11.0010);
/// 149 m east of `S`.
pub(crate) const OUT_E: Place = (48.0005, 11.0040);
/// 0.7 m inside the east edge of `S`.
pub(crate) const EDGE_IN: Place = (48.0005, 11.00199);
/// 0.7 m outside it.
pub(crate) const EDGE_OUT: Place = (48.0005, 11.00201);

/// The square of the cases, with `properties`.
pub(crate) fn square(properties: &str) -> String {
    feature("S", &ring(11.0, 48.0), properties)
}

/// A square as large as `S` with its south-west corner there.
pub(crate) fn ring(lon: f64, lat: f64) -> String {
    let (east, north) = (lon + 0.002, lat + 0.001);
    format!(
        r#"{{"type":"Polygon","coordinates":[[[{lon:.4},{lat:.4}],[{east:.4},{lat:.4}],
        [{east:.4},{north:.4}],[{lon:.4},{north:.4}],[{lon:.4},{lat:.4}]]]}}"#
    )
}

/// The circle of the cases.
pub(crate) fn circle() -> String {
    feature("C", r#"{"type":"Point","coordinates":[11.0010,48.0005]}"#, r#""radius_m":50"#)
}

/// What happens; times are seconds of the timeline.
pub(crate) enum Do {
    /// One fix of the van: when, where, accuracy 3 m.
    Fix(f64, Place),
    /// The same with an accuracy; none is unknown.
    Acc(f64, Place, Option<f64>),
    /// Fixes at one place: the first when, how many, how far apart.
    Stay(f64, u32, f64, Place),
    /// Fixes on a straight line: from when, how many, how far apart, from where, to where.
    Move(f64, u32, f64, Place, Place),
    /// One fix of another asset.
    Other(&'static str, f64, Place),
    /// Killed, and started a second later.
    Crash(f64),
    /// No power: from when, until when.
    PowerCut(f64, f64),
    /// Stopped as it should be, and started a second later.
    Stop(f64),
    /// Stopped, and started with other layers.
    Layers(f64, Vec<Arc<Layer>>),
    /// NMEA that arrives at once.
    Nmea(f64, String),
    /// Nothing, until then.
    Wait(f64),
}

/// Plays a timeline; five seconds later it looks.
pub(crate) fn play(layers: &[Arc<Layer>], decide: &Decide, timeline: &[Do]) -> Gateway {
    let mut gateway = Gateway::new(layers, decide);
    let mut end = 0.0_f64;
    for what in timeline {
        end = end.max(one(&mut gateway, what));
    }
    let end = end.max(gateway.now());
    gateway.pass(end + 5.0);
    gateway.commit();
    gateway
}

/// Gives the second at which it began.
fn one(gateway: &mut Gateway, what: &Do) -> f64 {
    let mut hear = |t: f64, place, accuracy_m| {
        // A report is on its way for a while.
        gateway.hear(t + 0.2, record(VAN, t, place, accuracy_m));
    };
    match what {
        Fix(t, place) => hear(*t, *place, Some(3.0)),
        Acc(t, place, accuracy_m) => hear(*t, *place, *accuracy_m),
        Stay(t, count, every, place) => {
            for i in 0..*count {
                hear(t + f64::from(i) * every, *place, Some(3.0));
            }
        }
        Move(t, count, every, a, b) => {
            for i in 0..*count {
                let share = f64::from(i) / f64::from(count - 1);
                let place = (a.0 + (b.0 - a.0) * share, a.1 + (b.1 - a.1) * share);
                hear(t + f64::from(i) * every, place, Some(3.0));
            }
        }
        Other(asset, t, place) => gateway.hear(t + 0.2, record(asset, *t, *place, Some(3.0))),
        Crash(t) => gateway.crash(*t),
        PowerCut(off, on) => gateway.power_cut(*off, *on),
        Stop(t) => gateway.stop(*t),
        Layers(t, layers) => gateway.change_layers(*t, layers),
        Nmea(t, text) => gateway.nmea(*t, text.as_bytes()),
        Wait(t) => gateway.pass(*t),
    }
    match what {
        Fix(t, ..)
        | Acc(t, ..)
        | Stay(t, ..)
        | Move(t, ..)
        | Other(_, t, _)
        | Crash(t)
        | Stop(t)
        | Layers(t, _)
        | Nmea(t, _)
        | Wait(t)
        | PowerCut(_, t) => *t,
    }
}

/// One event as words: kind, zone, and what its moment is known by, in seconds of the timeline.
pub(crate) fn words(event: &Event) -> Vec<String> {
    let body = &event.body;
    let name = event.kind.name();
    let mut words = vec![name.strip_prefix("fence_").unwrap_or(name).to_owned()];
    words.extend(body.zone.as_ref().map(ToString::to_string));
    words.extend(body.asset.as_ref().filter(|a| a.as_str() != VAN).map(|a| format!("of={a}")));
    words.extend(body.inside.map(|inside| format!("inside={inside}")));
    words.extend(body.certainty.map(|c| format!("{c:?}").to_lowercase()));
    words.extend(body.cause.clone());
    let mut time = |name: &str, time| {
        words.push(match time {
            Some(time) => format!("{name}={}", second(time)),
            None => format!("{name}=none"),
        });
    };
    time("at", body.at);
    time("from", body.not_before);
    time("to", body.not_after);
    time("by", body.confirmed_at);
    if let Some(gap) = &body.gap {
        time("gap_from", Some(gap.from));
        time("gap_to", Some(gap.to));
        time("powered", gap.powered_from);
        words.push(format!("gap={:?}", gap.cause).to_lowercase());
    }
    words.extend(body.visit.as_ref().map(|id| format!("visit={}", id.rsplit('-').next().unwrap())));
    words.extend(body.fixes.map(|fixes| format!("fixes={fixes}")));
    words
}

/// The fence events of a gateway.
pub(crate) fn fences(gateway: &mut Gateway) -> Vec<Event> {
    let mut events = gateway.events();
    events.retain(|event| event.kind.name().starts_with("fence_"));
    events
}

/// Compares the fence events with what is expected, word by word.
pub(crate) fn compare(name: &str, gateway: &mut Gateway, want: &[&str]) {
    let have: Vec<Vec<String>> = fences(gateway).iter().map(words).collect();
    let fits = |(want, have): (&&str, &Vec<String>)| {
        want.split_whitespace().all(|word| have.iter().any(|h| h == word))
    };
    let same = have.len() == want.len() && want.iter().zip(&have).all(fits);
    let have: Vec<String> = have.iter().map(|words| words.join(" ")).collect();
    assert!(same, "{name}:\nwant {want:#?}\nhave {have:#?}");
}

/// Plays a timeline over zones and compares.
pub(crate) fn check(name: &str, layers: &[Arc<Layer>], timeline: &[Do], want: &[&str]) -> Gateway {
    check_with(name, layers, &Decide::default(), timeline, want)
}

/// The same under other rules.
pub(crate) fn check_with(
    name: &str,
    layers: &[Arc<Layer>],
    decide: &Decide,
    timeline: &[Do],
    want: &[&str],
) -> Gateway {
    let mut gateway = play(layers, decide, timeline);
    compare(name, &mut gateway, want);
    gateway
}

/// The events of one kind.
pub(crate) fn of_kind(gateway: &mut Gateway, kind: Kind) -> Vec<Event> {
    gateway.events().into_iter().filter(|event| event.kind == kind).collect()
}
