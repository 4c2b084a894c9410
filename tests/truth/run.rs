//! Epochs through the real engine, and what it reports for each zone.
//!
//! Always holds: it is `replay`'s engine and setup; for each zone the reported sides alternate
//! (INV-1). Does not know: the truth.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use geofenced::daemon::{REPLAY_TRUSTED, replay_setup};
use geofenced::logic::config::{ConfigFile, Env, load};
use geofenced::logic::engine::{Engine, Input, Setup, Step};
use geofenced::logic::gnss::record::Record;
use geofenced::logic::gnss::{FixQuality, Reject};
use geofenced::logic::simulate::receiver::Epoch;
use geofenced::logic::zones::Layer;
use geofenced::units::{AssetId, BootTime, EventTime, GatewayId};

/// A change of side as it was reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    pub(crate) inside: bool,
    pub(crate) not_before: EventTime,
    pub(crate) not_after: Option<EventTime>,
    pub(crate) confirmed_at: EventTime,
}

impl fmt::Display for Reported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inside, not_before, not_after, confirmed_at } = self;
        let until = not_after.map_or_else(|| "open".to_owned(), |until| until.to_string());
        write!(f, "inside={inside} [{not_before}, {until}] decided {confirmed_at}")
    }
}

/// What was reported, by shape and rules.
pub(crate) type Reports = BTreeMap<(usize, usize), Vec<Reported>>;

fn setup() -> Setup {
    let text = "[gateway]\nid = \"replay\"\n[[source]]\nname = \"replay\"\nkind = \"file\"\n\
        path = \"-\"\n[zones]\nfiles = [\"-\"]\n[uplink]\nkind = \"none\"\n";
    let loaded = load(&[ConfigFile::new("test", text)], &Env::new()).unwrap();
    replay_setup(&loaded.config, &GatewayId::new("replay").unwrap(), false)
}

/// What the engine says of a drive.
pub(crate) fn reports(layer: &Arc<Layer>, epochs: impl Iterator<Item = Epoch>) -> Reports {
    let mut engine = Engine::replay(setup(), std::slice::from_ref(layer));
    let mut reports = Reports::new();
    let asset = AssetId::new("van").unwrap();
    for epoch in epochs {
        let record = Record {
            asset: Some(asset.clone()),
            time: epoch.time,
            position: epoch.place.ok_or(Reject::NoPosition),
            accuracy_m: Some(epoch.accuracy_m),
            received: None,
            speed_mps: Some(epoch.motion.speed_mps as f32),
            heading_deg: None,
            quality: FixQuality::Measured,
            altitude_m: None,
        };
        let at = BootTime::from_nanos(epoch.time.nanos());
        take(engine.step(Input::Record { source: REPLAY_TRUSTED, at, record }), &mut reports);
    }
    let at = BootTime::from_nanos(i64::MAX);
    take(engine.step(Input::End { source: REPLAY_TRUSTED, at }), &mut reports);
    reports
}

fn take(step: Step, reports: &mut Reports) {
    for event in step.events {
        let body = event.body;
        let Some(inside) = body.inside else { continue };
        let zone = body.zone.unwrap();
        let (base, rules) = zone.as_str().split_once('.').unwrap();
        let own = reports.entry((base.parse().unwrap(), rules.parse().unwrap())).or_default();
        let last = own.last().is_some_and(|last: &Reported| last.inside);
        assert_eq!(last, !inside, "INV-1: {zone} at {:?}", body.confirmed_at);
        own.push(Reported {
            inside,
            // A first evaluation claims no moment: it may have been ever before.
            not_before: body.not_before.unwrap_or(EventTime::from_nanos(i64::MIN)),
            not_after: body.not_after,
            confirmed_at: body.confirmed_at.unwrap(),
        });
    }
}
