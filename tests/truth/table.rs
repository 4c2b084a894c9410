//! The measured cells as the tables of `docs/defaults.md`.
//!
//! Always holds: what a table leaves out is said above it there.
//! Does not know: how cells came about.

use std::fmt::Write as _;

use crate::ground::Rules;
use crate::score::Score;

/// One scenario at one rate under one combination of rules.
pub(crate) struct Cell {
    pub(crate) scenario: &'static str,
    pub(crate) hz: f64,
    pub(crate) rules: Rules,
    pub(crate) score: Score,
}

/// Hours on the line.
pub(crate) struct Parked {
    pub(crate) noise: &'static str,
    pub(crate) hz: f64,
    pub(crate) rules: Rules,
    pub(crate) hours: usize,
    pub(crate) events: usize,
    /// Hours with more than one.
    pub(crate) over: usize,
}

/// Rounded down, so that one in a thousand shows.
fn percent(share: f64) -> String {
    if share == 1.0 { "100".to_owned() } else { format!("{:.1}", (1000.0 * share).floor() / 10.0) }
}

/// Every scenario and rate at the rules as shipped.
pub(crate) fn shipped(cells: &[Cell]) -> String {
    let mut text = String::from(
        "| scenario | Hz | true crossings | spurious | missed | delay s, median | 95 % | in bracket % | if it ended at `confirmed_at` % |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for cell in cells.iter().filter(|cell| cell.rules == Rules::shipped()) {
        let Cell { scenario, hz, score, .. } = cell;
        writeln!(
            text,
            "| {scenario} | {hz} | {} | {} | {} | {:.1} | {:.1} | {} | {} |",
            score.truths,
            score.spurious.len(),
            score.missed.len(),
            score.delay_s(0.5),
            score.delay_s(0.95),
            percent(score.share()),
            percent(score.closed_share()),
        )
        .unwrap();
    }
    text
}

/// Rules as rows, scenarios and rates as columns.
pub(crate) fn rules(cells: &[Cell], rows: &[Rules], columns: &[(&str, f64)]) -> String {
    let mut text = String::from("| confirm | confirm_for | exit_margin_m | enter_margin_m |");
    for (scenario, hz) in columns {
        write!(text, " {scenario}, {hz} Hz |").unwrap();
    }
    writeln!(text, "\n|---|---|---|---|{}", "---|".repeat(columns.len())).unwrap();
    for rules in rows {
        text += &row_head(*rules);
        for (scenario, hz) in columns {
            let found =
                cells.iter().find(|c| c.rules == *rules && c.scenario == *scenario && c.hz == *hz);
            let Some(Cell { score, .. }) = found else { continue };
            let (spurious, missed) = (score.spurious.len(), score.missed.len());
            let delay_s = score.delay_s(0.5);
            let share = percent(score.closed_share());
            write!(text, " {spurious} / {missed} / {delay_s:.1} / {share} |").unwrap();
        }
        text.push('\n');
    }
    text
}

fn row_head(rules: Rules) -> String {
    let Rules { confirm, confirm_for_s, exit_margin_m, enter_margin_m } = rules;
    let mark = if rules == Rules::shipped() { "**" } else { "" };
    format!("| {mark}{confirm}{mark} | {confirm_for_s} s | {exit_margin_m} | {enter_margin_m} |")
}

/// Events per hour on the line.
pub(crate) fn parked(all: &[Parked], rows: &[Rules], columns: &[(&str, f64)]) -> String {
    let mut text = String::from("| confirm | confirm_for | exit_margin_m | enter_margin_m |");
    for (noise, hz) in columns {
        write!(text, " {noise}, {hz} Hz |").unwrap();
    }
    writeln!(text, "\n|---|---|---|---|{}", "---|".repeat(columns.len())).unwrap();
    for rules in rows {
        text += &row_head(*rules);
        for (noise, hz) in columns {
            let found = all.iter().find(|p| p.rules == *rules && p.noise == *noise && p.hz == *hz);
            let Some(Parked { hours, events, over, .. }) = found else { continue };
            write!(text, " {:.2}, {over} of {hours} |", *events as f64 / *hours as f64).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Hours on the line at the rules as shipped.
pub(crate) fn standing(all: &[Parked]) -> String {
    let mut text = String::from(
        "| noise | Hz | hours | events per hour | hours with more than one |\n|---|---|---|---|---|\n",
    );
    for Parked { noise, hz, hours, events, over, .. } in all {
        let each = *events as f64 / *hours as f64;
        writeln!(text, "| {noise} | {hz} | {hours} | {each:.2} | {over} |").unwrap();
    }
    text
}

/// Per scenario the lowest share of any rules and rate.
pub(crate) fn worst(cells: &[Cell]) -> String {
    let mut text =
        String::from("| scenario | cells | in bracket % | under | at |\n|---|---|---|---|---|\n");
    for own in cells.chunk_by(|a, b| a.scenario == b.scenario) {
        let worst = own.iter().min_by(|a, b| a.score.share().total_cmp(&b.score.share())).unwrap();
        let Cell { scenario, hz, rules, score } = worst;
        let share = percent(score.share());
        writeln!(text, "| {scenario} | {} | {share} | {rules} | {hz} Hz |", own.len()).unwrap();
    }
    text
}
