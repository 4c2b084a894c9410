//! From what happened to what the event says (DESIGN §7, the flat record).
//!
//! Always holds: `inside` is present iff the membership changes (INV-1); an uncertain event has no
//! `at`. Does not know: event numbers.

use crate::logic::config::PositionDetail;
use crate::logic::crossing::asset::{Happening, Heard, Visit, What};
use crate::logic::crossing::bracket::{self, Restart};
use crate::logic::crossing::ground::{ActiveZone, Ground};
use crate::logic::crossing::machine::Commit;
use crate::logic::event::{Body, Certainty, Entered, Kind, Place};
use crate::logic::gnss::Fix;
use crate::units::{AssetId, EventTime, Span};

/// What is the same for every event of one fix.
pub(super) struct Scene<'a> {
    pub(super) ground: &'a Ground,
    pub(super) asset: &'a AssetId,
    pub(super) fix: &'a Fix,
    pub(super) silence_limit: Span,
    pub(super) restarts: &'a [Restart],
    pub(super) detail: PositionDetail,
}

/// What every event about a zone says.
pub(super) fn zone_body(ground: &Ground, asset: &AssetId, zone: &ActiveZone) -> Body {
    let content = zone.zone();
    Body {
        asset: Some(asset.clone()),
        layer: Some(zone.key.layer.clone()),
        zone: Some(zone.key.zone.clone()),
        zone_name: content.name.clone(),
        layer_version: Some(ground.layers()[zone.layer].version),
        shape: Some(content.fingerprint.to_string()),
        rules: Some(zone.rules.clone()),
        tags: (!content.tags.is_empty()).then(|| content.tags.clone()),
        ..Body::default()
    }
}

/// The kind and body of one happening.
pub(super) fn describe(scene: &Scene<'_>, happening: &Happening) -> (Kind, Body) {
    let zone = scene.ground.zone(happening.zone);
    let mut body = zone_body(scene.ground, scene.asset, zone);
    fill_fix(scene, &mut body);
    let kind = match &happening.what {
        What::Crossed(commit, ended) => crossed(scene, &mut body, commit, ended.as_ref()),
        What::Dwelt { at, visit } => {
            body.at = Some(*at);
            body.visit = Some(visit.id.clone());
            body.entered = Some(visit.entered.clone());
            Kind::FenceDwell
        }
        What::Passed { entered, left, not_before, not_after } => {
            body.at = Some(*left);
            body.not_before = Some(*not_before);
            body.not_after = Some(*not_after);
            body.certainty = Some(Certainty::Observed);
            body.entered = Some(Entered {
                at: Some(*entered),
                not_before: Some(*not_before),
                not_after: Some(*not_after),
            });
            body.duration_s = Some(seconds(*left - *entered));
            Kind::FencePassed
        }
    };
    (kind, body)
}

/// The deciding fix.
fn fill_fix(scene: &Scene<'_>, body: &mut Body) {
    let fix = scene.fix;
    body.confirmed_at = Some(fix.time);
    body.time_quality = Some(fix.time_quality);
    if scene.detail == PositionDetail::CrossingFix {
        body.position = Some(Place::new(fix.position, Some(fix.accuracy_m)));
        body.speed_mps = fix.speed_mps.map(hundredths);
        body.heading_deg = fix.heading_deg.map(hundredths);
    }
}

fn crossed(scene: &Scene<'_>, body: &mut Body, commit: &Commit, ended: Option<&Visit>) -> Kind {
    let kind = bracket::kind(commit).expect("an initial outside is counted, never sent");
    body.inside = Some(commit.side.is_inside());
    body.fixes = Some(u32::from(commit.votes));
    if commit.first {
        return kind;
    }
    body.certainty = Some(commit.certainty);
    body.not_before = Some(commit.not_before);
    body.not_after = commit.not_after;
    body.gap = bracket::gap(commit, scene.silence_limit, scene.restarts);
    if let Some(change) = commit.change.filter(|_| commit.certainty != Certainty::Uncertain) {
        body.at = Some(change.at);
        if scene.detail != PositionDetail::None {
            body.crossing = Some(Place::new(change.position, None));
        }
    }
    if let Some(visit) = ended {
        end_visit(body, visit);
    }
    kind
}

/// The visit that an event ends, and how long it lasted.
pub(super) fn end_visit(body: &mut Body, visit: &Visit) {
    let left_by = body.not_after.or(body.confirmed_at);
    let entered = &visit.entered;
    body.visit = Some(visit.id.clone());
    body.duration_s = difference(entered.at, body.at);
    body.duration_s_min = difference(entered.not_after, body.not_before);
    body.duration_s_max = difference(entered.not_before, left_by);
    body.entered = Some(entered.clone());
}

/// The visit that the event of `body` opens.
pub(super) fn open_visit(id: &str, body: &Body) -> Visit {
    let confirmed_at = body.confirmed_at.expect("a fix confirmed what opens a visit");
    Visit {
        id: id.to_owned(),
        entered: Entered {
            at: body.at,
            not_before: body.not_before,
            // Where none is known the vehicle may have been on the line still when it was
            // confirmed: no end is an honest one.
            not_after: body.not_after,
        },
        dwell_from: body.at.unwrap_or(confirmed_at),
        dwell_sent: false,
    }
}

/// `fence_retired`, or `fence_redrawn` where the asset is inside the new shape as well.
pub(super) fn retired(body: &mut Body, cause: &str, last: Option<&Heard>, visit: &Visit) {
    body.cause = Some(cause.to_owned());
    body.inside = Some(false);
    body.confirmed_at = last.map(|last| last.time);
    end_visit(body, visit);
}

fn difference(from: Option<EventTime>, to: Option<EventTime>) -> Option<f64> {
    Some(seconds(to? - from?).max(0.0))
}

/// Seconds to the millisecond: finer says nothing about a vehicle.
fn seconds(span: Span) -> f64 {
    (span.secs_f64() * 1000.0).round() / 1000.0
}

fn hundredths(value: f32) -> f64 {
    (f64::from(value) * 100.0).round() / 100.0
}
