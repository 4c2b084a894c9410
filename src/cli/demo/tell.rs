//! What the server received, in words for somebody who has never seen it.
//!
//! Always holds: it says only what the event says. Does not know: what happens next.

use crate::logic::event::{Body, Certainty, Event, Gap, GapCause, Kind};
use crate::units::EventTime;

/// Event time to seconds since the demo began.
pub(super) type Secs<'a> = &'a dyn Fn(EventTime) -> f64;

/// Kind, zone, moment, certainty.
pub(super) fn what(event: &Event, secs: Secs<'_>) -> String {
    let body = &event.body;
    let mut text = format!("#{} {}", event.seq, event.kind.name());
    match (&body.layer, &body.zone, body.layer_version) {
        (Some(layer), Some(zone), _) => text = format!("{text} {layer}/{zone}"),
        (Some(layer), None, Some(version)) => text = format!("{text} {layer} v{version}"),
        _ => {}
    }
    match (body.at, body.certainty) {
        (Some(at), Some(certainty)) => {
            format!("{text}  at {:.1} s, {}", secs(at), certainty_name(certainty))
        }
        (Some(at), None) => format!("{text}  at {:.1} s", secs(at)),
        (None, Some(certainty)) => format!("{text}  {}", certainty_name(certainty)),
        (None, None) => text,
    }
}

fn certainty_name(certainty: Certainty) -> &'static str {
    match certainty {
        Certainty::Observed => "observed",
        Certainty::Inferred => "inferred",
        Certainty::Uncertain => "uncertain",
    }
}

/// Why, in a sentence.
pub(super) fn why(event: &Event, secs: Secs<'_>) -> Option<String> {
    let body = &event.body;
    Some(match event.kind {
        Kind::FenceInitialised => {
            "was inside when first seen; nobody saw it come, so no entry is claimed".to_owned()
        }
        Kind::FenceEntry | Kind::FenceExit | Kind::FenceTransitionUncertain => {
            crossing(event.kind, body, secs)
        }
        Kind::FenceDwell => "has now been inside as long as the zone's `dwell` asks".to_owned(),
        Kind::GatewayStarted => {
            let start = body.start.as_ref()?;
            match (start.cause.as_str(), start.down_s) {
                ("first", _) => "the first start on this disk".to_owned(),
                ("crash", Some(down_s)) => {
                    format!("it was cut off; its last commit was {down_s} s before")
                }
                (cause, _) => format!("cause: {cause}"),
            }
        }
        Kind::AssetReconciled => {
            let found = body.reconciled.as_ref()?;
            if found.believed_inside.is_empty() {
                format!(
                    "nothing was known; found inside {}, outside {} zones",
                    found.initialised_inside, found.initialised_outside
                )
            } else {
                let silent = found
                    .silence_s
                    .map_or_else(String::new, |s| format!("heard nothing for {s:.1} s; "));
                format!(
                    "{silent}remembered inside {}; changed meanwhile: {}",
                    found.believed_inside.join(" and "),
                    found.inferred + found.uncertain
                )
            }
        }
        _ => return None,
    })
}

fn crossing(kind: Kind, body: &Body, secs: Secs<'_>) -> String {
    let verb = if kind == Kind::FenceEntry { "came in" } else { "left" };
    let between = match (body.not_before, body.not_after.or(body.confirmed_at)) {
        (Some(from), Some(to)) => {
            format!("{verb} between {:.1} and {:.1} s", secs(from), secs(to))
        }
        _ => verb.to_owned(),
    };
    let fixes = body.fixes.unwrap_or_default();
    match &body.gap {
        None => format!("{between}; {fixes} fixes in a row say so, and none is missing there"),
        Some(gap) => format!("{between}; {fixes} fixes say so, but {}", deaf(gap, secs)),
    }
}

fn deaf(gap: &Gap, secs: Secs<'_>) -> String {
    let cause = match gap.cause {
        GapCause::Restart => "the daemon was dead",
        GapCause::Power => "the power was off",
        GapCause::Suspend => "the box was asleep",
        GapCause::Silence => "the receiver was silent",
    };
    format!("{cause}: nothing heard from {:.1} to {:.1} s", secs(gap.from), secs(gap.to))
}
