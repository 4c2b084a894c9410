//! A slow interpreter of DESIGN §4, written from its text: it keeps every fix as it was seen and
//! looks back over them.
//!
//! Always holds: every answer is worked out anew from the history since the last commit.
//! Does not know: the product's pair, its votes, or what it forgets.

/// One usable measured fix as one zone sees it. Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fix {
    pub(crate) t: i64,
    pub(crate) d_m: f64,
    pub(crate) inside: bool,
    pub(crate) accuracy_m: f64,
}

/// What the contract lets a zone ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) confirm: i64,
    pub(crate) confirm_for: i64,
    pub(crate) enter_m: f64,
    pub(crate) exit_m: f64,
    pub(crate) dwell: Option<i64>,
    pub(crate) infer_limit: Option<i64>,
}

/// What an event must say.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Said {
    pub(crate) kind: &'static str,
    pub(crate) inside: Option<bool>,
    pub(crate) at: Option<i64>,
    pub(crate) not_before: Option<i64>,
    pub(crate) not_after: Option<i64>,
    pub(crate) confirmed_at: i64,
    pub(crate) certainty: Option<&'static str>,
    pub(crate) gap: Option<(i64, i64)>,
    pub(crate) fixes: Option<usize>,
    /// Which of the zone's events opened the visit.
    pub(crate) visit: Option<usize>,
}

const S: i64 = 1_000_000_000;

/// One zone's whole life.
pub(crate) struct Twin {
    rules: Rules,
    fixes: Vec<Fix>,
    /// When the asset was heard, at these fixes and by dead reckoning that ends silence; each with
    /// the last of the fixes by then.
    heard: Vec<(i64, usize)>,
    /// The committed side, and the fix that committed it.
    committed: Option<(bool, usize)>,
    /// What `not_before` falls back to: a fix, its time, and the fix by whose clock that is.
    fallback: (usize, i64, usize),
    /// The event that opened the visit, where its dwell is counted from, whether that was sent.
    visit: Option<(usize, i64, bool)>,
    said: Vec<Said>,
}

impl Twin {
    pub(crate) fn new(rules: Rules) -> Self {
        let (fixes, heard, said) = (Vec::new(), Vec::new(), Vec::new());
        Self { rules, fixes, heard, committed: None, fallback: (0, 0, 0), visit: None, said }
    }

    pub(crate) fn said(&self) -> &[Said] {
        &self.said
    }

    /// FIX-4 at the fix `i`: declared 1 s, gaps newest first; a step back is none.
    fn interval(&self, i: usize) -> i64 {
        let gaps = (1..=i).rev().map(|j| self.fixes[j].t - self.fixes[j - 1].t);
        let mut gaps: Vec<i64> = gaps.filter(|gap| *gap > 0).take(5).collect();
        gaps.resize(5, S);
        gaps.sort_unstable();
        gaps[3].min(86_400 * S)
    }

    /// OBS-1.
    fn observation(&self, i: usize) -> Option<bool> {
        let fix = self.fixes[i];
        if fix.inside {
            return (fix.d_m <= -self.rules.enter_m).then_some(true);
        }
        let asked = self.rules.exit_m + 2.0 * fix.accuracy_m.min(30.0);
        (fix.d_m >= asked).then_some(false)
    }

    /// Whether the fix lies at least u on `side`.
    fn clear(&self, i: usize, side: bool) -> bool {
        let fix = self.fixes[i];
        fix.inside == side && fix.d_m.abs() >= 2.0 * fix.accuracy_m
    }

    /// Whether the receiver's clock was set back before the fix `j` (TIME-4).
    fn stepped_back(&self, j: usize) -> bool {
        j > 0 && self.fixes[j].t < self.fixes[j - 1].t
    }

    /// The latest that something of the fix `j` may have been by today's clock: what the old clock
    /// says, and not after the new one began.
    fn latest(&self, time: i64, j: usize) -> i64 {
        let steps = (j + 1..self.fixes.len()).filter(|k| self.stepped_back(*k));
        steps.map(|k| self.fixes[k].t).fold(time, i64::min)
    }

    /// The earliest: the old clock's last fix may lie as long before the new one's first as it
    /// takes to believe a step, a minute or six intervals.
    fn earliest(&self, time: i64, j: usize) -> i64 {
        let steps = (j + 1..self.fixes.len()).filter(|k| self.stepped_back(*k));
        steps.fold(time, |time, k| {
            let (last, adoption) = (self.fixes[k - 1].t, (60 * S).max(6 * self.interval(k)));
            self.fixes[k].t - adoption - (last - time.min(last))
        })
    }

    /// PAIR-1.
    fn window(&self, j: usize) -> i64 {
        let counted = self.rules.confirm * self.interval(j);
        let needed = counted.max(self.rules.confirm_for + self.interval(j) / 2);
        4_500_000_000.max(needed + needed / 2)
    }

    /// The running vote after the fixes up to `i`: its side and its fixes; when it began, or since
    /// when none ran.
    fn votes(&self, i: usize) -> (Vec<(bool, usize)>, i64) {
        let begin = self.committed.map_or(0, |(_, c)| c + 1);
        let mut votes: Vec<(bool, usize)> = Vec::new();
        let mut idle = self.fixes[begin.min(i)].t;
        let (mut first, mut deadline) = (0, 0);
        for j in begin..=i {
            let t = self.fixes[j].t;
            if self.stepped_back(j) {
                (first, idle) = (first.min(t), idle.min(t));
                deadline = deadline.min(t + self.window(j));
            }
            if !votes.is_empty() && t > deadline {
                votes.clear();
                idle = deadline;
            }
            let Some(side) = self.observation(j) else { continue };
            if votes.first().is_some_and(|(voted, _)| *voted != side) {
                votes.clear();
            }
            if self.committed.is_some_and(|(committed, _)| committed == side) {
                continue;
            }
            if votes.is_empty() {
                (first, deadline) = (t, t + self.window(j));
            }
            votes.push((side, j));
        }
        let since = if votes.is_empty() { idle } else { first };
        (votes, since)
    }

    /// FIX-3: an estimated fix ends silence for at most 60 s after the last measured one.
    pub(crate) fn estimated(&mut self, t: i64) {
        if self.fixes.last().is_some_and(|last| t - last.t <= 60 * S) {
            self.heard.push((t, self.fixes.len() - 1));
        }
    }

    /// The next measured fix.
    pub(crate) fn fix(&mut self, fix: Fix) {
        self.fixes.push(fix);
        self.heard.push((fix.t, self.fixes.len() - 1));
        let i = self.fixes.len() - 1;
        let (votes, since) = self.votes(i);
        let observed = self.observation(i);
        let enough = votes.last().is_some_and(|(_, j)| *j == i)
            && i64::try_from(votes.len()).is_ok_and(|n| n >= self.rules.confirm)
            && fix.t - since >= self.rules.confirm_for;
        match self.committed {
            None if enough => {
                self.initialised(i, votes[0].0, Some(votes.len()));
                self.fallback = (votes[0].1, since, i);
            }
            None if observed.is_none() && votes.is_empty() && fix.t - since >= 60 * S => {
                self.initialised(i, false, None);
                self.fallback = (0, self.fixes[0].t, 0);
            }
            Some((committed, by)) if enough => self.crossed(i, (committed, by), &votes, since),
            Some((true, _)) if observed == Some(true) => self.dwell(fix.t),
            _ => {}
        }
    }

    fn initialised(&mut self, i: usize, side: bool, votes: Option<usize>) {
        self.committed = Some((side, i));
        if side {
            let opens = self.said.len();
            self.visit = Some((opens, self.fixes[i].t, false));
            self.said.push(Said {
                kind: "fence_initialised",
                inside: Some(true),
                fixes: votes,
                visit: Some(opens),
                ..nothing(self.fixes[i].t)
            });
        }
    }

    fn crossed(
        &mut self,
        i: usize,
        (committed, since): (bool, usize),
        votes: &[(bool, usize)],
        first: i64,
    ) {
        let two = |j: usize, side: bool| self.clear(j, side) && self.clear(j + 1, side);
        let before = (since.max(1)..=i).rev().find(|j| two(j - 1, committed));
        let (fix, time, clock) = self.fallback;
        let (before, not_before) = match before {
            Some(j) => (j, self.earliest(self.fixes[j].t, j)),
            None => (fix, self.earliest(time, clock)),
        };
        let agreed = (since..=i).rev().find(|j| self.observation(*j) == Some(committed));
        let from = agreed.map_or(since, |j| j + 1).max(before + 1);
        let after = (from..i).find(|j| two(*j, !committed));
        let turned = |j: &usize| self.fixes[j - 1].inside != self.fixes[*j].inside;
        let change = (1..=after.unwrap_or(i)).rev().find(turned);
        let at = change.map(|j| {
            let (a, b) = (self.fixes[j - 1], self.fixes[j]);
            let from = a.t.min(b.t);
            let share = a.d_m.abs() / (a.d_m.abs() + b.d_m.abs());
            self.latest(from + ((b.t - from) as f64 * share) as i64, j)
        });
        // BRK-1: by time, whichever clock it is of.
        let heard = self.heard.windows(2).rev().map(|two| {
            let from = self.latest(two[0].0, two[0].1);
            (from, from + (two[1].0 - two[0].0).max(0))
        });
        let within = heard.take_while(|(from, _)| *from >= not_before);
        let gap = within.max_by_key(|(from, to)| to - from);
        let gap = gap.expect("a bracket holds a fix");
        let long = gap.1 - gap.0;
        let limit = (300 * S).max(3 * self.interval(i));
        let (name, certainty) = match committed {
            _ if long > limit && long > self.rules.infer_limit.unwrap_or(limit) => {
                ("fence_transition_uncertain", "uncertain")
            }
            true => ("fence_exit", if long > limit { "inferred" } else { "observed" }),
            false => ("fence_entry", if long > limit { "inferred" } else { "observed" }),
        };
        let opens = self.said.len();
        let at = at.filter(|_| certainty != "uncertain");
        let ended = self.visit.take().map(|(opened, ..)| opened);
        let confirmed_at = self.fixes[i].t;
        self.said.push(Said {
            kind: name,
            inside: Some(!committed),
            at,
            not_before: Some(not_before),
            not_after: after.map(|j| self.latest(self.fixes[j].t, j)),
            certainty: Some(certainty),
            gap: (certainty != "observed").then_some(gap),
            fixes: Some(votes.len()),
            visit: if committed { ended } else { Some(opens) },
            confirmed_at,
        });
        if !committed {
            self.visit = Some((opens, at.unwrap_or(confirmed_at), false));
        }
        let observed = certainty == "observed";
        let own = (before, not_before, i);
        let voted = (votes[0].1, first, i);
        self.fallback = if observed || not_before > first { own } else { voted };
        self.committed = Some((!committed, i));
    }

    fn dwell(&mut self, now: i64) {
        let (Some(dwell), Some((opened, from, sent))) = (self.rules.dwell, &mut self.visit) else {
            return;
        };
        let at = *from + dwell;
        if *sent || now < at {
            return;
        }
        *sent = true;
        let visit = Some(*opened);
        self.said.push(Said { kind: "fence_dwell", at: Some(at), visit, ..nothing(now) });
    }
}

fn nothing(confirmed_at: i64) -> Said {
    Said {
        kind: "",
        inside: None,
        at: None,
        not_before: None,
        not_after: None,
        confirmed_at,
        certainty: None,
        gap: None,
        fixes: None,
        visit: None,
    }
}
