//! DESIGN §4's table, worked out from every case of the machine and held against its text.
//!
//! Always holds: a case's row and column follow from what is put in, its cell from what comes
//! out; the pair as it lies in memory answers each as the pure step does, swept or not.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::*;
use crate::logic::crossing::bracket::kind;
use crate::logic::crossing::pair::{Before, Votes};
use crate::logic::crossing::silences::Silences;
use crate::logic::crossing::table::{Begun, PairTable};

const NANO: Span = Span::from_nanos(1);
const ZONE: u32 = 7;

/// The contract's table. Its three rows are split by what their words ask for: enough votes,
/// spanning long enough; a deadline not passed; a silence longer than S. STALE is shown of the
/// asset (PAIR-5): its pairs answer as ever, and where the reports come so seldom that a deadline
/// (PAIR-1) lies beyond S, a vote outlasts the silence.
const CONTRACT: &str = "\
| state | disagrees | agrees | Unsure | time passes |
| ENTERING, EXITING: enough with this one | commit | committed | stay | stay |
| ENTERING, EXITING: ran out | first vote | committed | committed | committed |
| ENTERING, EXITING: ran out, one is enough | commit | committed | committed | committed |
| ENTERING, EXITING: too few or too short | one more vote | committed | stay | stay |
| OUTSIDE, INSIDE | first vote | stay | stay | stay |
| OUTSIDE, INSIDE: one is enough | commit | stay | stay | stay |
| STALE, ENTERING, EXITING: enough with this one | commit | committed | stay | stay |
| STALE, ENTERING, EXITING: ran out | first vote | committed | committed | committed |
| STALE, ENTERING, EXITING: ran out, one is enough | commit | committed | committed | committed |
| STALE, ENTERING, EXITING: too few or too short | one more vote | committed | stay | stay |
| STALE, OUTSIDE, INSIDE | first vote | stay | stay | stay |
| STALE, OUTSIDE, INSIDE: one is enough | commit | stay | stay | stay |
";

/// PAIR-6 in the same form: there is no committed side, so both are voted for.
const FIRST_EVALUATION: &str = "\
| state | the other side | the votes' side | Unsure | time passes |
| no vote | first vote | first vote | stay | stay |
| no vote for 60 s | first vote | first vote | outside | stay |
| no vote for 60 s: one is enough | commit | commit | outside | stay |
| no vote: one is enough | commit | commit | stay | stay |
| voted, ran out | first vote | first vote | no vote | no vote |
| voted, ran out 60 s ago | first vote | first vote | outside | no vote |
| voted, ran out 60 s ago: one is enough | commit | commit | outside | no vote |
| voted, ran out: one is enough | commit | commit | no vote | no vote |
| voted: enough with this one | first vote | commit | stay | stay |
| voted: enough with this one, one is enough | commit | commit | stay | stay |
| voted: too few or too short | first vote | one more vote | stay | stay |
";

fn now() -> EventTime {
    EventTime::from_nanos(1_700_000_000 * 1_000_000_000)
}

/// One case: everything that the step is given.
#[derive(Clone, Copy, Debug)]
struct Case {
    rules: VoteRules,
    silence_limit: Span,
    committed: Option<Side>,
    /// How many votes run, and for what.
    votes: Option<(Side, u8)>,
    /// Since the first vote, or since none ran.
    age: Span,
    /// Since the fix before.
    gap: Span,
    was_inside: bool,
    run: Option<Run>,
    observation: Option<Side>,
    distance_m: f64,
}

/// OBS-1's answers, and metres from the boundary that give them: clear of it (6 m) or not.
const SEEN: [(Option<Side>, f64); 6] = [
    (Some(Side::Inside), -50.0),
    (Some(Side::Inside), -3.0),
    (Some(Side::Outside), 50.0),
    (Some(Side::Outside), 5.0),
    (None, 3.0),
    (None, -1.0),
];

impl Case {
    fn fix(&self) -> (Measured, Seen) {
        let inside = self.distance_m < 0.0;
        let position = Position::new(48.0, 11.0).unwrap();
        let before = Before { time: now() - self.gap, position };
        let fix = Measured { time: now(), position, clear_m: 6.0, before: Some(before) };
        let before_m = (inside != self.was_inside).then_some(if inside { 5.0 } else { -5.0 });
        let (observation, distance_m) = (self.observation, self.distance_m);
        (fix, Seen { observation, distance_m, inside, before_m })
    }

    fn pair(&self) -> Pair {
        let first = now() - self.age;
        Pair {
            committed: self.committed,
            votes: self.votes.map(|(side, count)| Votes {
                side,
                count,
                first,
                deadline: first + self.rules.window,
            }),
            run: self.run.filter(|run| run.side.is_inside() == self.was_inside),
            was_inside: Some(self.was_inside),
            ..Pair::unevaluated(first)
        }
    }

    fn ran_out(&self) -> bool {
        self.votes.is_some() && self.age > self.rules.window
    }

    fn row(&self) -> String {
        let rules = &self.rules;
        let at_once = rules.confirm == 1 && rules.confirm_for == Span::ZERO;
        let votes = self.votes.map_or(0, |(_, count)| u32::from(count));
        let enough = votes + 1 >= u32::from(rules.confirm) && self.age >= rules.confirm_for;
        let mut row = String::new();
        if self.committed.is_some() && self.gap > self.silence_limit {
            row += "STALE, ";
        }
        row += match (self.committed, self.votes) {
            (Some(_), None) => "OUTSIDE, INSIDE",
            (Some(_), Some(_)) => "ENTERING, EXITING",
            (None, None) => "no vote",
            (None, Some(_)) => "voted",
        };
        let mut why = Vec::new();
        if self.ran_out() {
            row += if self.committed.is_some() { ": ran out" } else { ", ran out" };
        } else if self.votes.is_some() {
            why.push(if enough { "enough with this one" } else { "too few or too short" });
        }
        let idle = self.age - if self.ran_out() { rules.window } else { Span::ZERO };
        if self.committed.is_none() && idle >= Span::from_secs(60) {
            match self.votes {
                None => row += " for 60 s",
                Some(_) if self.ran_out() => row += " 60 s ago",
                Some(_) => {}
            }
        }
        let matters = self.votes.is_none() || self.ran_out() || self.committed.is_none();
        if at_once && matters {
            why.push("one is enough");
        }
        if !why.is_empty() {
            row += if self.committed.is_some() && self.ran_out() { ", " } else { ": " };
        }
        row + &why.join(", ")
    }

    fn column(&self) -> usize {
        let compared = self.committed.map(Side::other).or(self.votes.map(|(side, _)| side));
        match self.observation {
            None => 2,
            Some(side) if self.committed.is_some() => usize::from(Some(side) != compared),
            Some(side) => usize::from(compared.unwrap_or(Side::Inside) == side),
        }
    }

    /// What came out, as the table says it.
    fn outcome(&self, before: &Pair, after: &Pair, commit: Option<&Commit>) -> &'static str {
        if let Some(commit) = commit {
            assert_eq!(after.votes, None, "{self:?}");
            assert_eq!(after.committed, Some(commit.side), "{self:?}");
            assert_ne!(self.committed, Some(commit.side), "{self:?}");
            let sent = self.committed.is_some() || commit.side.is_inside();
            assert_eq!(kind(commit).is_some(), sent, "{self:?}");
            if commit.votes == 0 {
                assert_eq!(commit.side, Side::Outside, "{self:?}");
                return "outside";
            }
            assert_eq!(self.observation, Some(commit.side), "{self:?}");
            return "commit";
        }
        assert_eq!(after.committed, self.committed, "{self:?}");
        match (before.votes, after.votes) {
            (Some(votes), after) if after == Some(votes) && votes.count == u8::MAX => {
                // A count that is full stays so.
                if self.observation == Some(votes.side) { "one more vote" } else { "stay" }
            }
            (before, after) if before == after => "stay",
            (_, None) if self.committed.is_some() => "committed",
            (_, None) => "no vote",
            (_, Some(votes)) if votes.count == 1 && votes.first == now() => {
                assert_eq!(votes.deadline, now() + self.rules.window, "{self:?}");
                "first vote"
            }
            (Some(before), Some(after)) => {
                let count = before.count.saturating_add(1);
                assert_eq!(after, Votes { count, ..before }, "{self:?}");
                "one more vote"
            }
            (None, Some(votes)) => panic!("{self:?}: {votes:?} from nothing"),
        }
    }
}

/// What a quiet pair's slot keeps of it.
fn kept(pair: Pair) -> Pair {
    if !pair.is_quiet() {
        return pair;
    }
    let run = pair.run.filter(|run| Some(run.side) == pair.committed);
    Pair { change: None, idle_since: pair.not_before, run, ..pair }
}

/// The case through the table in memory, where the vote that ran out was swept or was not.
fn in_memory(case: &Case, context: &Context<'_>, sweep: bool) -> (Pair, Option<Commit>, bool) {
    let (fix, seen) = case.fix();
    let mut table = PairTable::default();
    table.put(ZONE, &case.pair(), false);
    if let Some(votes) = case.pair().votes.filter(|_| sweep && case.ran_out()) {
        assert!(table.sweep(Begun { zone: ZONE, deadline: votes.deadline }), "{case:?}");
    }
    let place = table.find(ZONE).unwrap();
    let stepped = table.step(|| case.rules, context, place, &fix, &seen);
    let after = table.at(place);
    assert_eq!(table.running(), u32::from(after.votes.is_some()), "{case:?}");
    let fresh = after.votes.filter(|votes| votes.first == now() && votes.count == 1);
    assert_eq!(stepped.begun.map(|begun| begun.deadline), fresh.map(|v| v.deadline), "{case:?}");
    (after, stepped.commit, stepped.reversed)
}

type Cells = BTreeMap<String, [BTreeSet<&'static str>; 4]>;

fn run(case: &Case, cells: &mut Cells) {
    let mut silences = Silences::default();
    silences.note(Silence { from: now() - case.gap, span: case.gap }, Span::ZERO);
    let limit = case.silence_limit;
    let context = Context {
        silence_limit: limit,
        infer_limit: limit,
        restarted_after: None,
        silences: &silences,
    };
    let (before, (fix, seen)) = (case.pair(), case.fix());
    let (after, commit) = step(&case.rules, &context, before, &fix, &seen);
    let outcome = case.outcome(&before, &after, commit.as_ref());
    for sweep in [false, true] {
        let (have, committed, reversed) = in_memory(case, &context, sweep);
        assert_eq!((have, committed), (kept(after), commit), "swept: {sweep}: {case:?}");
        assert_eq!(reversed, ["committed", "no vote"].contains(&outcome), "{case:?}");
    }
    let cells = cells.entry(case.row()).or_default();
    cells[case.column()].insert(outcome);
    let lapsed = before.votes != before.votes_at(now());
    cells[3].insert(match case.committed {
        _ if !lapsed => "stay",
        Some(_) => "committed",
        None => "no vote",
    });
}

/// The times that matter to these rules, on both sides of each; one instant has one fix (ORD-3).
fn ages(rules: &VoteRules, silence_limit: Span) -> Vec<Span> {
    let idle = FIRST_EVALUATION_IDLE;
    let edges = [rules.confirm_for, rules.window, silence_limit, idle, rules.window + idle];
    let around = edges.iter().flat_map(|&edge| [edge - NANO, edge, edge + NANO]);
    let mut ages: Vec<_> = around.filter(|age| *age > Span::ZERO).collect();
    ages.sort_unstable();
    ages.dedup();
    ages
}

/// Every case with these states: how many there were, and the table.
fn every(committed: &[Option<Side>]) -> (usize, Cells) {
    let (mut n, mut cells) = (0, Cells::new());
    let seconds = [0, 2, 30];
    let each = |confirm: u8| seconds.iter().map(move |s| (confirm, Span::from_secs(*s)));
    for (confirm, confirm_for) in [1, 2, 3, 31].into_iter().flat_map(each) {
        // Once a second, and so seldom that a vote outlasts S.
        for (interval, silence_limit) in [(1, 300), (600, 1800)] {
            let interval = Span::from_secs(interval);
            let silence_limit = Span::from_secs(silence_limit);
            let rules = VoteRules::new(confirm, confirm_for, None, interval);
            for case in cases(&rules, silence_limit, committed) {
                run(&case, &mut cells);
                n += 1;
            }
        }
    }
    (n, cells)
}

fn cases(rules: &VoteRules, silence_limit: Span, committed: &[Option<Side>]) -> Vec<Case> {
    let most = rules.confirm;
    // One vote, one and two short of enough; and enough, that do not span long enough yet.
    let counts: BTreeSet<_> = [1, most.saturating_sub(2), most - 1, most, 255].into();
    let mut votes = vec![None];
    for count in counts.into_iter().filter(|count| *count > 0) {
        votes.extend([Side::Inside, Side::Outside].map(|side| Some((side, count))));
    }
    let runs = [None, Some((Side::Inside, 2)), Some((Side::Outside, 2)), Some((Side::Outside, 1))];
    let mut cases = Vec::new();
    for &committed in committed {
        for &votes in votes.iter().filter(|v| v.is_none_or(|(side, _)| Some(side) != committed)) {
            for age in ages(rules, silence_limit) {
                for gap in BTreeSet::from([age, age.min(Span::from_secs(1))]) {
                    for run in runs.map(|run| run.map(|(side, len)| Run { side, len })) {
                        cases.extend(SEEN.iter().flat_map(|&(observation, distance_m)| {
                            [true, false].map(|was_inside| Case {
                                rules: *rules,
                                silence_limit,
                                committed,
                                votes,
                                age,
                                gap,
                                was_inside,
                                run,
                                observation,
                                distance_m,
                            })
                        }));
                    }
                }
            }
        }
    }
    cases
}

fn check(what: &str, committed: &[Option<Side>], head: &str, want: &str) {
    let (n, cells) = every(committed);
    let mut text = format!("{head}\n");
    for (row, cells) in &cells {
        write!(text, "| {row} |").unwrap();
        for cell in cells {
            let all: Vec<_> = cell.iter().copied().collect();
            write!(text, " {} |", all.join(" / ")).unwrap();
        }
        text.push('\n');
    }
    println!("{what}, from {n} cases:\n{text}");
    assert_eq!(text, want, "{what}");
}

/// §4: the table.
#[test]
fn pair_1_to_5_every_case_is_the_contracts_table() {
    let committed = [Some(Side::Outside), Some(Side::Inside)];
    let head = "| state | disagrees | agrees | Unsure | time passes |";
    check("DESIGN §4", &committed, head, CONTRACT);
}

/// PAIR-6: the first evaluation.
#[test]
fn pair_6_every_case_of_a_first_evaluation() {
    let head = "| state | the other side | the votes' side | Unsure | time passes |";
    check("PAIR-6", &[None], head, FIRST_EVALUATION);
}
