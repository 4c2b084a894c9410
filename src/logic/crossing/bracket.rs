//! What a crossing is called (BRK-1) and which gap lies in it (BRK-2).
//!
//! Always holds: the answer follows from the bracket, its longest silence and the restarts, and
//! from nothing else. Does not know: votes, zones.

use serde::{Deserialize, Serialize};

use super::machine::Commit;
use super::silences::{Silence, Silences};
use crate::logic::event::{Certainty, Gap, GapCause, Kind};
use crate::units::{EventTime, Span};

/// A start of the daemon as one asset lived it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Restart {
    /// The last time the asset was heard before it, as far as that was made durable.
    pub after: EventTime,
    /// The first time it was heard after it; none yet.
    pub until: Option<EventTime>,
    /// Restart on one boot, or power.
    pub cause: GapCause,
    /// Kernel boot in event time, where that is known.
    pub powered_from: Option<EventTime>,
}

/// How many restarts an asset remembers: older ones lie before any bracket that matters.
pub const RESTARTS_MAX: usize = 8;

/// What decides the certainty beside the bracket itself. S as it is at the commit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Context<'a> {
    /// S, the silence limit.
    pub silence_limit: Span,
    /// Longer silences in a bracket make it uncertain.
    pub infer_limit: Span,
    /// The last time the asset was heard before its newest restart.
    pub restarted_after: Option<EventTime>,
    /// The asset's long silences, this fix's included.
    pub silences: &'a Silences,
}

/// BRK-1. A bracket that holds any restart holds the newest one: it reaches up to now.
#[must_use]
pub fn certainty(context: &Context<'_>, not_before: EventTime, silence: Silence) -> Certainty {
    let restarted = context.restarted_after.is_some_and(|after| not_before <= after);
    let silent = silence.span > context.silence_limit;
    if !silent && !restarted {
        Certainty::Observed
    } else if silence.span > context.infer_limit {
        Certainty::Uncertain
    } else {
        Certainty::Inferred
    }
}

/// The kind under which a crossing is sent; `None` for a first evaluation that says outside,
/// which is counted, not sent.
#[must_use]
pub fn kind(commit: &Commit) -> Option<Kind> {
    match (commit.first, commit.side.is_inside(), commit.certainty) {
        (true, true, _) => Some(Kind::FenceInitialised),
        (true, false, _) => None,
        (false, _, Certainty::Uncertain) => Some(Kind::FenceTransitionUncertain),
        (false, true, _) => Some(Kind::FenceEntry),
        (false, false, _) => Some(Kind::FenceExit),
    }
}

/// BRK-2: the longest silence in the bracket where it is one, else the newest restart there.
#[must_use]
pub fn gap(commit: &Commit, silence_limit: Span, restarts: &[Restart]) -> Option<Gap> {
    if commit.certainty == Certainty::Observed {
        return None;
    }
    let silence = commit.silence;
    if silence.span > silence_limit {
        let (from, to) = (silence.from, silence.to());
        let restart = restarts.iter().rev().find(|r| from <= r.after && r.after < to);
        return Some(Gap {
            cause: restart.map_or(GapCause::Silence, |restart| restart.cause),
            from,
            to,
            powered_from: restart.and_then(|restart| restart.powered_from),
        });
    }
    let restart = restarts.last()?;
    Some(Gap {
        cause: restart.cause,
        from: restart.after,
        to: restart.until.unwrap_or(restart.after).max(restart.after),
        powered_from: restart.powered_from,
    })
}
