//! Four ways to decide crossings, asked the same questions.
//!
//! `Streaks` is what many guides show: three alike in a row make an event, and nothing ever runs
//! out. `Timers` is the published debounce: five states a pair and a timer for each running vote.
//! `Machine` is this package's, with and without its wheel.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use geofenced::logic::crossing::bracket::Context;
use geofenced::logic::crossing::machine::VoteRules;
use geofenced::logic::crossing::observe::{Margins, Side};
use geofenced::logic::crossing::pair::{Before, Measured, Pair, Seen};
use geofenced::logic::crossing::silences::{Silence, Silences};
use geofenced::logic::crossing::table::{Begun, PairTable};
use geofenced::logic::crossing::wheel::Wheel;
use geofenced::logic::geometry::Located;
use geofenced::units::{BootTime, EventTime, Position, Span};

use super::stream::Asked;

/// What is said of a pair: (device, fence, inside).
pub(crate) type Said = (u16, u16, bool);

/// One way to decide.
pub(crate) trait Rival {
    /// One fix asked about one fence.
    fn step(&mut self, asked: &Asked) -> Option<Said>;
    /// Nothing has come until then.
    fn wait(&mut self, _until_ms: u32) {}
    /// Pairs whose answer is pending.
    fn pending(&self) -> usize;
    /// Pairs that are kept.
    fn pairs(&self) -> usize;
}

const CONFIRM: u8 = 3;
const WINDOW_MS: u32 = 4500;

/// Three alike in a row.
#[derive(Default)]
pub(crate) struct Streaks(HashMap<(u16, u16), (bool, u8)>);

impl Rival for Streaks {
    fn step(&mut self, asked: &Asked) -> Option<Said> {
        let inside = asked.distance_m <= 0.0;
        let streak = self.0.entry((asked.device, asked.fence)).or_insert((inside, 0));
        *streak = (inside, if streak.0 == inside { streak.1.saturating_add(1) } else { 1 });
        (streak.1 == CONFIRM).then_some((asked.device, asked.fence, inside))
    }
    fn pending(&self) -> usize {
        self.0.values().filter(|streak| streak.1 < CONFIRM).count()
    }
    fn pairs(&self) -> usize {
        self.0.len()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Outside,
    Entering,
    Inside,
    Exiting,
    Stale,
}

struct Timed {
    state: State,
    votes: u8,
    first_ms: u32,
    last_ms: u32,
}

/// The published machine with one timer for each running vote.
#[derive(Default)]
pub(crate) struct Timers {
    pairs: HashMap<(u16, u16), Timed>,
    timers: BinaryHeap<Reverse<(u32, (u16, u16))>>,
}

impl Timers {
    fn expire(&mut self, now_ms: u32) {
        while let Some(Reverse((due_ms, key))) = self.timers.peek().copied() {
            if due_ms >= now_ms {
                return;
            }
            self.timers.pop();
            let Some(pair) = self.pairs.get_mut(&key) else { continue };
            if pair.first_ms + WINDOW_MS == due_ms {
                pair.state = match pair.state {
                    State::Entering => State::Outside,
                    State::Exiting => State::Inside,
                    state => state,
                };
            }
        }
    }
}

impl Rival for Timers {
    fn step(&mut self, asked: &Asked) -> Option<Said> {
        self.expire(asked.time_ms);
        let key = (asked.device, asked.fence);
        let inside = asked.distance_m <= 0.0;
        let fresh = Timed { state: State::Outside, votes: 0, first_ms: 0, last_ms: asked.time_ms };
        let pair = self.pairs.entry(key).or_insert(fresh);
        if asked.time_ms - pair.last_ms > 300_000 {
            pair.state = State::Stale;
        }
        pair.last_ms = asked.time_ms;
        let (towards, from) = match pair.state {
            State::Stale => {
                pair.state = if inside { State::Inside } else { State::Outside };
                return None;
            }
            State::Outside | State::Inside => {
                if inside != (pair.state == State::Inside) {
                    pair.state = if inside { State::Entering } else { State::Exiting };
                    (pair.votes, pair.first_ms) = (1, asked.time_ms);
                    self.timers.push(Reverse((asked.time_ms + WINDOW_MS, key)));
                }
                return None;
            }
            State::Entering => (State::Inside, State::Outside),
            State::Exiting => (State::Outside, State::Inside),
        };
        if inside != (towards == State::Inside) {
            pair.state = from;
            return None;
        }
        pair.votes += 1;
        if pair.votes < CONFIRM {
            return None;
        }
        pair.state = towards;
        Some((asked.device, asked.fence, inside))
    }
    fn wait(&mut self, until_ms: u32) {
        self.expire(until_ms);
    }
    fn pending(&self) -> usize {
        let pending = |pair: &&Timed| matches!(pair.state, State::Entering | State::Exiting);
        self.pairs.values().filter(pending).count()
    }
    fn pairs(&self) -> usize {
        self.pairs.len()
    }
}

struct Device {
    table: PairTable,
    silences: Silences,
    /// When its last two fixes were.
    now: EventTime,
    before: EventTime,
}

/// This package's machine.
pub(crate) struct Machine {
    devices: Vec<Device>,
    wheel: Option<Wheel<(u16, Begun)>>,
    rules: VoteRules,
    margins: Margins,
}

const MILLION: i64 = 1_000_000;
/// 68 % radius of 4 m of noise on each axis.
const ACCURACY_M: f64 = 6.0;

/// With the geometry taken out every fix is there.
const SOMEWHERE: Position = Position::ORIGIN;

impl Machine {
    pub(crate) fn new(devices: usize, wheel: bool) -> Self {
        let device = || Device {
            table: PairTable::default(),
            silences: Silences::default(),
            now: EventTime::from_nanos(0),
            before: EventTime::from_nanos(0),
        };
        Self {
            devices: std::iter::repeat_with(device).take(devices).collect(),
            wheel: wheel.then(Wheel::default),
            rules: VoteRules::new(CONFIRM, Span::from_secs(2), None, Span::from_secs(1)),
            margins: Margins { enter_m: 0.0, exit_m: 10.0, accuracy_cap_m: 30.0 },
        }
    }
}

impl Rival for Machine {
    #[inline]
    fn step(&mut self, asked: &Asked) -> Option<Said> {
        let time = EventTime::from_nanos(i64::from(asked.time_ms) * MILLION);
        let device = &mut self.devices[asked.device as usize];
        let zone = u32::from(asked.fence);
        // A fix is asked about several fences; only the first of them makes it the last one.
        let again = device.now == time;
        device.before = if again { device.before } else { device.now };
        device.now = time;
        let silence = Silence { from: device.before, span: time - device.before };
        if !again {
            device.silences.note(silence, Span::from_secs(300));
        }
        let located = Located {
            inside: asked.distance_m <= 0.0,
            distance_m: f64::from(asked.distance_m),
            hole_depth_m: None,
        };
        let place = device.table.find(zone).unwrap_or_else(|| {
            device.table.put(zone, &Pair::unevaluated(time), false);
            device.table.find(zone).expect("it was just put there")
        });
        let fix = Measured {
            time,
            position: SOMEWHERE,
            clear_m: 2.0 * ACCURACY_M,
            before: Some(Before { time: device.before, position: SOMEWHERE }),
        };
        let seen = Seen {
            observation: self.margins.observe(&located, ACCURACY_M),
            distance_m: located.distance_m,
            inside: located.inside,
            // With the geometry taken out: as far on the other side.
            before_m: Some(located.distance_m),
        };
        let limit = Span::from_secs(300);
        let context = Context {
            silence_limit: limit,
            infer_limit: limit,
            restarted_after: None,
            silences: &device.silences,
        };
        let stepped = device.table.step(|| self.rules, &context, place, &fix, &seen);
        if let (Some(begun), Some(wheel)) = (stepped.begun, &mut self.wheel) {
            wheel.set(BootTime::from_nanos(begun.deadline.nanos()), (asked.device, begun));
        }
        let commit =
            stepped.commit.filter(|commit| !commit.first || commit.side == Side::Inside)?;
        Some((asked.device, asked.fence, commit.side.is_inside()))
    }

    #[inline]
    fn wait(&mut self, until_ms: u32) {
        if let Some(wheel) = &mut self.wheel {
            let devices = &mut self.devices;
            wheel.turn(BootTime::from_nanos(i64::from(until_ms) * MILLION), |(device, begun)| {
                devices[device as usize].table.sweep(begun);
            });
        }
    }
    fn pending(&self) -> usize {
        self.devices.iter().map(|device| device.table.running() as usize).sum()
    }
    fn pairs(&self) -> usize {
        self.devices.iter().map(|device| device.table.len()).sum()
    }
}
