//! The pure step of the crossing machine: the table of DESIGN §4.
//!
//! | state | disagrees with committed | agrees | Unsure |
//! |---|---|---|---|
//! | OUTSIDE, INSIDE | first vote | stay | stay |
//! | ENTERING, EXITING | one more vote; enough commit | all votes dropped | stay |
//!
//! Time is applied before the observation: a vote past its deadline is gone (PAIR-2). STALE is
//! shown, not a state of a pair (PAIR-5): after a silence a disagreement is a first vote where the
//! pair's votes have run out.
//!
//! Always holds: a commit is for the side that was not committed (INV-1); the state after is
//! ready for the next crossing. Does not know: clocks, zones, what the event will say.

use super::bracket::{self, Context};
use super::observe::Side;
use super::pair::{Change, Measured, Pair, Run, Seen, Votes};
use super::silences::Silence;
use crate::logic::event::Certainty;
use crate::logic::geometry::ground::wrap_deg;
use crate::units::{EventTime, Position, Span};

/// An unevaluated pair with nothing but Unsure fixes this long is outside (PAIR-6).
pub const FIRST_EVALUATION_IDLE: Span = Span::from_secs(60);

/// What a vote needs. From the zone's rules and the asset's interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VoteRules {
    /// Agreeing fixes needed, 1..=31.
    pub confirm: u8,
    /// Which must span this long.
    pub confirm_for: Span,
    /// How long a vote stands (PAIR-1).
    pub window: Span,
    /// How long a clock that has stepped back may have been late before that was believed.
    pub adoption: Span,
}

/// TIME-4: a step back is believed after five late fixes, and on a source that can delay after
/// 60 s; one more may lie before the first of them.
fn adoption(interval: Span) -> Span {
    interval.times(6).max(Span::from_secs(60))
}

impl VoteRules {
    /// PAIR-1: max(4.5 s, 1.5 × max(confirm × interval, confirm_for + interval / 2)), or the fixed
    /// timeout. The fix that spans `confirm_for` comes up to an interval after it: without the
    /// half of one, a single vote of which a little more than an interval is asked would run out
    /// before that fix, over and over.
    pub fn new(confirm: u8, confirm_for: Span, fixed: Option<Span>, interval: Span) -> Self {
        let spanned = confirm_for + Span::from_nanos(interval.nanos() / 2);
        let needed = interval.times(i64::from(confirm)).max(spanned);
        // 1.5 in integers: exact for every machine (INV-7).
        let grown = Span::from_nanos(needed.nanos().saturating_add(needed.nanos() / 2));
        let window = fixed.unwrap_or_else(|| grown.max(Span::from_millis(4500)));
        Self { confirm, confirm_for, window, adoption: adoption(interval) }
    }
}

/// A membership that has just been decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Commit {
    /// The side from here on.
    pub side: Side,
    /// Whether this was the first evaluation (PAIR-6).
    pub first: bool,
    /// How many fixes voted for it; none where a first evaluation ended on Unsure fixes.
    pub votes: u8,
    /// The bracket's near end.
    pub not_before: EventTime,
    /// The bracket's far end, where it is known.
    pub not_after: Option<EventTime>,
    /// The boundary's passing, where a change of sign was seen.
    pub change: Option<Change>,
    /// How well the moment is known (BRK-1).
    pub certainty: Certainty,
    /// The longest silence in the bracket.
    pub silence: Silence,
}

/// One ordered fix changes one pair.
#[must_use]
pub fn step(
    rules: &VoteRules,
    context: &Context<'_>,
    mut pair: Pair,
    fix: &Measured,
    seen: &Seen,
) -> (Pair, Option<Commit>) {
    let commit = advance(rules, context, &mut pair, fix, seen);
    (pair, commit)
}

/// The same where the pair lies.
#[inline]
pub(super) fn advance(
    rules: &VoteRules,
    context: &Context<'_>,
    pair: &mut Pair,
    fix: &Measured,
    seen: &Seen,
) -> Option<Commit> {
    if let Some(before) = fix.before.filter(|_| fix.stepped_back()) {
        pair.stepped_back(before.time, fix.time, rules);
    }
    expire(pair, fix.time);
    note_bracket(pair, fix, seen);
    let side = match pair.committed {
        Some(committed) => vote(rules, pair, committed, fix, seen),
        None => first_evaluation(rules, pair, fix, seen),
    };
    let commit = side.map(|side| settle(context, pair, side, fix, seen));
    pair.was_inside = Some(seen.inside);
    commit
}

/// PAIR-2: a vote past its deadline resolves to the committed side.
fn expire(pair: &mut Pair, now: EventTime) {
    if let Some(votes) = pair.votes.filter(|votes| now > votes.deadline) {
        pair.votes = None;
        // The deadline, not the time it was noticed: a sweep changes nothing (PAIR-4).
        pair.idle_since = votes.deadline;
    }
}

/// Moves both ends of the bracket and the last change of sign.
fn note_bracket(pair: &mut Pair, fix: &Measured, seen: &Seen) {
    if pair.not_after.is_none() {
        pair.change = change_of_sign(pair.was_inside, fix, seen).or(pair.change);
    }
    let clear = seen.is_clear(fix.clear_m).then_some(seen.side());
    let run = pair.run.filter(|run| Some(run.side) == clear);
    pair.run = clear.map(|side| Run { side, len: run.map_or(1, |_| 2) });
    let outside_vote = seen.observation == Some(Side::Outside);
    pair.away = match clear {
        Some(Side::Outside) if outside_vote => (pair.away + 1).min(2),
        _ => 0,
    };
    let Some(committed) = pair.committed else { return };
    if seen.observation == Some(committed) {
        pair.not_after = None;
    }
    match (clear, run) {
        (Some(side), Some(_)) if side == committed => clear_of_boundary(pair, fix.time),
        (Some(_), Some(_)) if pair.not_after.is_none() => {
            // A run reaches up to the fix before this one.
            pair.not_after = fix.before.map(|before| before.time.min(fix.time));
        }
        _ => {}
    }
}

/// Two successive fixes at least u inside the committed side: nothing before can matter.
fn clear_of_boundary(pair: &mut Pair, now: EventTime) {
    pair.not_before = now;
    pair.not_after = None;
}

/// d interpolated to zero between the last fix and this one, where its sign changed.
fn change_of_sign(was_inside: Option<bool>, fix: &Measured, seen: &Seen) -> Option<Change> {
    was_inside.filter(|was| *was != seen.inside)?;
    let before = fix.before?;
    let before_m = seen.before_m.expect("asked where the sign has changed");
    let (from, to) = (before_m.abs(), seen.distance_m.abs());
    let share = if from + to > 0.0 { from / (from + to) } else { 0.0 };
    let from = before.time.min(fix.time);
    let step = Span::from_secs_f64((fix.time - from).secs_f64() * share);
    let mix = |a: f64, b: f64| a + (b - a) * share;
    let (a, b) = (before.position, fix.position);
    // Across the antimeridian the short way round.
    let east = wrap_deg(b.lon_deg() - a.lon_deg());
    let lon = wrap_deg(a.lon_deg() + east * share);
    let position = Position::new(mix(a.lat_deg(), b.lat_deg()), lon)?;
    Some(Change { at: from + step, position })
}

/// The table's two rows. Gives the side to commit.
fn vote(
    rules: &VoteRules,
    pair: &mut Pair,
    committed: Side,
    fix: &Measured,
    seen: &Seen,
) -> Option<Side> {
    match seen.observation? {
        side if side == committed => {
            pair.votes = None;
            None
        }
        side => cast(rules, pair, side, fix.time),
    }
}

/// PAIR-6: voted both ways, or outside after a minute of Unsure without a vote.
fn first_evaluation(
    rules: &VoteRules,
    pair: &mut Pair,
    fix: &Measured,
    seen: &Seen,
) -> Option<Side> {
    match seen.observation {
        Some(side) => {
            pair.votes = pair.votes.filter(|votes| votes.side == side);
            cast(rules, pair, side, fix.time)
        }
        None if pair.votes.is_some() => None,
        None => (fix.time - pair.idle_since >= FIRST_EVALUATION_IDLE).then_some(Side::Outside),
    }
}

/// Casts one vote; gives its side when there are enough, spanning long enough.
fn cast(rules: &VoteRules, pair: &mut Pair, side: Side, now: EventTime) -> Option<Side> {
    let votes = pair.votes.get_or_insert(Votes {
        side,
        count: 0,
        first: now,
        deadline: now + rules.window,
    });
    votes.count = votes.count.saturating_add(1);
    let enough = votes.count >= rules.confirm && now - votes.first >= rules.confirm_for;
    enough.then_some(side)
}

/// Commits `side`, says how it is known, and makes the pair ready for the next crossing.
#[inline(never)]
fn settle(
    context: &Context<'_>,
    pair: &mut Pair,
    side: Side,
    fix: &Measured,
    seen: &Seen,
) -> Commit {
    assert!(pair.committed != Some(side), "a commit changes the membership (INV-1)");
    let votes = pair.votes.take();
    let first = pair.committed.is_none();
    if first {
        // Before any event: the first vote of the first evaluation, else the first fix seen.
        if let Some(votes) = votes {
            pair.not_before = votes.first;
        }
    }
    let silence = context.silences.longest_since(pair.not_before);
    let commit = Commit {
        side,
        first,
        votes: votes.map_or(0, |votes| votes.count),
        not_before: pair.not_before,
        not_after: pair.not_after,
        change: pair.change,
        certainty: bracket::certainty(context, pair.not_before, silence),
        silence,
    };
    pair.committed = Some(side);
    pair.not_after = None;
    // A first evaluation that ended on Unsure fixes may lie past the boundary already: that
    // passing is the next crossing's.
    if seen.inside == side.is_inside() {
        pair.change = None;
    }
    match (pair.run, votes) {
        (Some(run), _) if run.side == side && run.len >= 2 => clear_of_boundary(pair, fix.time),
        // Not observed: its own near end may say little, then its first vote does.
        (_, Some(votes)) if commit.certainty != Certainty::Observed => {
            pair.not_before = pair.not_before.max(votes.first);
        }
        _ => {}
    }
    commit
}

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
