//! A second opinion on crossings: DESIGN §3–§4 read word for word, each zone on its own, every
//! answer worked out again from the whole list of fixes. Slow and plain on purpose.
//!
//! Always holds: shares no code with the product. Does not know: bytes, clocks, order, restarts,
//! which fixes are usable.

use serde_json::Value;

use crate::shapes::{Area, Point};

/// One second in nanoseconds.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// What the asset said: a usable measured fix, or dead reckoning that only ends silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) time: i64,
    pub(crate) at: Point,
    pub(crate) accuracy_m: f64,
    pub(crate) measured: bool,
}

/// `[decide]`, in seconds and metres.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) confirm: u64,
    pub(crate) confirm_for_s: f64,
    pub(crate) enter_margin_m: f64,
    pub(crate) exit_margin_m: f64,
    pub(crate) stale_after_s: f64,
    pub(crate) infer_limit_s: Option<f64>,
    pub(crate) interval_s: f64,
}

/// A zone with its own rules.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    pub(crate) id: String,
    area: Area,
    rules: Rules,
    dwell_s: Option<f64>,
    detect_pass: bool,
}

/// An event as far as it can be told without a stream.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) zone: String,
    pub(crate) inside: Option<bool>,
    pub(crate) at: Option<i64>,
    pub(crate) not_before: Option<i64>,
    pub(crate) not_after: Option<i64>,
    pub(crate) confirmed_at: i64,
    pub(crate) certainty: Option<String>,
    /// How far `at` may be off when distances are off by 5 mm and a ten-thousandth.
    pub(crate) slack: i64,
}

/// Nanoseconds of a duration as a zone file writes it: "30s", "2min".
fn seconds(text: &str) -> f64 {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[digits.len()..] {
        "s" => 1.0,
        "min" => 60.0,
        other => panic!("no unit of ours: {other}"),
    };
    digits.parse::<f64>().expect("a number") * unit
}

/// Reads the zones of a GeoJSON layer.
pub(crate) fn zones(layer: &str, rules: Rules) -> Vec<Zone> {
    let layer: Value = serde_json::from_str(layer).expect("JSON");
    let read = |feature: &Value| {
        let own = &feature["properties"];
        let number = |key: &str, default: f64| own[key].as_f64().unwrap_or(default);
        let span = |key: &str| own[key].as_str().map(seconds);
        Zone {
            id: feature["id"].as_str().expect("an id").to_owned(),
            area: Area::read(feature),
            rules: Rules {
                confirm: own["confirm"].as_u64().unwrap_or(rules.confirm),
                confirm_for_s: span("confirm_for").unwrap_or(rules.confirm_for_s),
                enter_margin_m: number("enter_margin_m", rules.enter_margin_m),
                exit_margin_m: number("exit_margin_m", rules.exit_margin_m),
                ..rules
            },
            dwell_s: span("dwell"),
            detect_pass: own["detect_pass"].as_bool().unwrap_or(false),
        }
    };
    layer["features"].as_array().expect("features").iter().map(read).collect()
}

/// One measured fix as one zone sees it.
#[derive(Clone, Copy, Debug)]
struct Look {
    time: i64,
    at: Point,
    /// Inside, Outside, or `None`: Unsure (OBS-1).
    says: Option<bool>,
    /// At least u inside, or at least u outside.
    clear: Option<bool>,
    d_m: f64,
}

fn look(zone: &Zone, fix: &Heard) -> Look {
    let (place, rules) = (zone.area.place(fix.at), &zone.rules);
    let open_m = rules.exit_margin_m + 2.0 * fix.accuracy_m.min(30.0);
    let asked_m = match place.hole_m {
        Some(depth_m) => open_m.min((depth_m / 2.0).max(2.0 * fix.accuracy_m)),
        None => open_m,
    };
    let says = match place.inside {
        true if place.d_m <= -rules.enter_margin_m => Some(true),
        false if place.d_m >= asked_m => Some(false),
        _ => None,
    };
    let clear = (place.d_m.abs() >= 2.0 * fix.accuracy_m).then_some(place.inside);
    Look { time: fix.time, at: fix.at, says, clear, d_m: place.d_m }
}

/// FIX-4, for the fix at the end of `times`.
fn interval_s(times: &[i64], declared_s: f64) -> f64 {
    let mut gaps: Vec<f64> =
        times.windows(2).map(|w| (w[1] - w[0]) as f64 / SECOND as f64).rev().take(5).collect();
    gaps.resize(5, declared_s);
    gaps.sort_by(f64::total_cmp);
    gaps[3].min(86_400.0)
}

/// What is remembered of one zone; places are numbers of looks.
#[derive(Default)]
struct Pair {
    committed: Option<bool>,
    /// The fix after which the committed side holds.
    committed_by: Option<usize>,
    votes: Vec<usize>,
    votes_for: bool,
    deadline: i64,
    /// When the last vote ran out.
    idle_since: Option<i64>,
    /// `not_before` where no two fixes have been clear since.
    fallback: i64,
    dwell: Option<i64>,
    pass_from: Option<usize>,
    /// Whether the way since then came through the zone.
    pass_path: bool,
    pass_to: Option<usize>,
}

/// One zone's story.
struct Story<'a> {
    zone: &'a Zone,
    heard: &'a [Heard],
    looks: Vec<Look>,
    pair: Pair,
    events: Vec<Event>,
}

/// Every event of every zone, in no order between zones.
pub(crate) fn evaluate(zones: &[Zone], heard: &[Heard]) -> Vec<Event> {
    zones.iter().flat_map(|zone| story(zone, heard)).collect()
}

fn story(zone: &Zone, heard: &[Heard]) -> Vec<Event> {
    let mut story =
        Story { zone, heard, looks: Vec::new(), pair: Pair::default(), events: Vec::new() };
    let mut times = Vec::new();
    for fix in heard.iter().filter(|fix| fix.measured) {
        times.push(fix.time);
        let recent = &times[times.len().saturating_sub(6)..];
        story.looks.push(look(zone, fix));
        story.fix(interval_s(recent, zone.rules.interval_s));
    }
    story.events
}

impl Story<'_> {
    fn fix(&mut self, interval_s: f64) {
        let now = self.looks[self.looks.len() - 1];
        let was = self.pair.committed;
        if !self.pair.votes.is_empty() && now.time > self.pair.deadline {
            self.pair.votes.clear();
            self.pair.idle_since = Some(self.pair.deadline);
        }
        self.vote(&now, interval_s);
        if was == Some(false) && self.pair.committed == Some(false) {
            self.pass(interval_s);
        } else {
            (self.pair.pass_from, self.pair.pass_to) = (None, None);
        }
        if was == Some(true) {
            self.dwell(&now);
        }
    }

    /// PAIR-1, PAIR-2, PAIR-6.
    fn vote(&mut self, now: &Look, interval_s: f64) {
        let (rules, pair) = (&self.zone.rules, &mut self.pair);
        let Some(side) = now.says else {
            let idle_since = pair.idle_since.unwrap_or(self.looks[0].time);
            let waited = now.time - idle_since >= 60 * SECOND;
            if pair.committed.is_none() && pair.votes.is_empty() && waited {
                pair.fallback = self.looks[0].time;
                pair.committed = Some(false);
                pair.committed_by = Some(self.looks.len() - 1);
            }
            return;
        };
        if pair.committed == Some(side) {
            pair.votes.clear();
            return;
        }
        if pair.votes_for != side {
            pair.votes.clear();
        }
        if pair.votes.is_empty() {
            let spanned_s = rules.confirm_for_s + interval_s / 2.0;
            let longest_s = (rules.confirm as f64 * interval_s).max(spanned_s);
            let stands_s = (1.5 * longest_s).max(4.5);
            pair.deadline = now.time + (stands_s * SECOND as f64).round() as i64;
            pair.votes_for = side;
        }
        pair.votes.push(self.looks.len() - 1);
        let first = self.looks[pair.votes[0]].time;
        let spans_s = (now.time - first) as f64 / SECOND as f64;
        if pair.votes.len() as u64 >= rules.confirm && spans_s >= rules.confirm_for_s {
            self.commit(side, interval_s);
        }
    }

    fn commit(&mut self, side: bool, interval_s: f64) {
        let last = self.looks.len() - 1;
        let confirmed_at = self.looks[last].time;
        let first_vote = self.looks[self.pair.votes[0]].time;
        let mut event = Event {
            zone: self.zone.id.clone(),
            inside: Some(side),
            confirmed_at,
            ..Event::default()
        };
        if self.pair.committed.is_none() {
            self.pair.fallback = first_vote;
            "fence_initialised".clone_into(&mut event.kind);
        } else {
            self.bracket(&mut event, !side, interval_s);
            let observed = event.certainty.as_deref() == Some("observed");
            let own = event.not_before.expect("every crossing has a near end");
            self.pair.fallback = if observed { own } else { own.max(first_vote) };
        }
        self.pair.dwell = self.zone.dwell_s.filter(|_| side).map(|dwell_s| {
            event.at.unwrap_or(confirmed_at) + (dwell_s * SECOND as f64).round() as i64
        });
        let counted_only = self.pair.committed.is_none() && !side;
        self.pair.committed = Some(side);
        self.pair.committed_by = Some(last);
        self.pair.votes.clear();
        if !counted_only {
            self.events.push(event);
        }
    }

    /// Both ends, `at`, the name and its certainty.
    fn bracket(&self, event: &mut Event, from: bool, interval_s: f64) {
        let looks = &self.looks;
        let last = looks.len() - 1;
        let since = self.pair.committed_by.expect("committed before");
        let two_clear = |i: usize, side: bool| {
            i >= 1 && looks[i].clear == Some(side) && looks[i - 1].clear == Some(side)
        };
        let near = (since..=last).rev().find(|&i| two_clear(i, from));
        let not_before = near.map_or(self.pair.fallback, |i| looks[i].time);
        let agreed = (since..=last).rev().find(|&i| looks[i].says == Some(from));
        let open = near.max(agreed).map_or(since, |i| i + 1);
        let far = (open + 1..=last).find(|&i| two_clear(i, !from)).map(|i| i - 1);
        let change = (1..=far.unwrap_or(last))
            .rev()
            .find(|&i| (looks[i].d_m <= 0.0) != (looks[i - 1].d_m <= 0.0));
        event.not_before = Some(not_before);
        event.not_after = far.map(|i| looks[i].time);
        let limit_s = self.silence_limit_s(interval_s);
        let silence_s = self.longest_silence_s(not_before, event.confirmed_at);
        let infer_s = self.zone.rules.infer_limit_s.unwrap_or(limit_s);
        let (kind, certainty) = match (silence_s > limit_s, silence_s > infer_s, from) {
            (true, true, _) => ("fence_transition_uncertain", "uncertain"),
            (true, false, true) => ("fence_exit", "inferred"),
            (true, false, false) => ("fence_entry", "inferred"),
            (false, _, true) => ("fence_exit", "observed"),
            (false, _, false) => ("fence_entry", "observed"),
        };
        kind.clone_into(&mut event.kind);
        event.certainty = Some(certainty.to_owned());
        if let Some(i) = change.filter(|_| certainty != "uncertain") {
            let (a, b) = (&looks[i - 1], &looks[i]);
            let (gap, ways) = ((b.time - a.time) as f64, a.d_m.abs() + b.d_m.abs());
            event.at = Some(a.time + (gap * a.d_m.abs() / ways).round() as i64);
            event.slack = (gap * (0.005 / ways + 1e-4)) as i64;
        }
    }

    fn silence_limit_s(&self, interval_s: f64) -> f64 {
        self.zone.rules.stale_after_s.max(3.0 * interval_s)
    }

    /// The longest time between two things heard, within two times.
    fn longest_silence_s(&self, from: i64, to: i64) -> f64 {
        let within = self.heard.windows(2).filter(|w| from <= w[0].time && w[1].time <= to);
        within.map(|w| (w[1].time - w[0].time) as f64 / SECOND as f64).fold(0.0, f64::max)
    }

    fn dwell(&mut self, now: &Look) {
        let Some(deadline) = self.pair.dwell.filter(|deadline| now.time >= *deadline) else {
            return;
        };
        if self.pair.committed == Some(true) && now.says == Some(true) {
            self.pair.dwell = None;
            self.events.push(Event {
                kind: "fence_dwell".to_owned(),
                zone: self.zone.id.clone(),
                at: Some(deadline),
                confirmed_at: now.time,
                slack: SECOND,
                ..Event::default()
            });
        }
    }

    /// `fence_passed`: from a fix clearly outside to another, confirmed by the next.
    fn pass(&mut self, interval_s: f64) {
        let last = self.looks.len() - 1;
        if !self.zone.detect_pass {
            return;
        }
        let before = last - 1;
        let from = match self.pair.pass_from {
            Some(from) => from,
            None if self.looks[before].says == Some(false) => before,
            None => return,
        };
        let stretch = |a: usize, b: usize| {
            self.zone.area.crossed(self.looks[a].at, self.looks[b].at).is_some()
        };
        let path = self.pair.pass_from.is_some() && self.pair.pass_path || stretch(before, last);
        (self.pair.pass_from, self.pair.pass_path) = (Some(from), path);
        if self.looks[last].says != Some(false) {
            self.pair.pass_to = None;
            return;
        }
        let looks = &self.looks;
        let crossed = |a: usize, b: usize| self.zone.area.crossed(looks[a].at, looks[b].at);
        let silence_s = self.longest_silence_s(looks[from].time, looks[last].time);
        let heard = silence_s <= self.silence_limit_s(interval_s);
        if let Some(to) = self.pair.pass_to.take()
            && heard
            && crossed(to, last).is_none()
        {
            let event = self.passed(from, to);
            self.events.push(event);
            self.pair.pass_from = None;
            return;
        }
        if heard && path && crossed(from, last).is_some() {
            self.pair.pass_to = Some(last);
        } else {
            self.pair.pass_from = None;
        }
    }

    fn passed(&self, from: usize, to: usize) -> Event {
        let (a, b) = (&self.looks[from], &self.looks[to]);
        let (_, left) = self.zone.area.crossed(a.at, b.at).expect("crossed before");
        let gap = (b.time - a.time) as f64;
        Event {
            kind: "fence_passed".to_owned(),
            zone: self.zone.id.clone(),
            inside: None,
            at: Some(a.time + (gap * left).round() as i64),
            not_before: Some(a.time),
            not_after: Some(b.time),
            confirmed_at: self.looks[self.looks.len() - 1].time,
            certainty: Some("observed".to_owned()),
            slack: SECOND / 50,
        }
    }
}
