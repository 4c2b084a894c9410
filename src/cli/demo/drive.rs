//! The simulated vehicle and its receiver: motion along one street, as far as it is let go; the
//! rest is the simulator's.
//!
//! Always holds: the same ticks give the same sentences (chance comes from a fixed seed); the
//! truth about each boundary is kept, to hold what was reported against it.
//! Does not know: zones, or that anybody listens.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::cli::{CliError, Exit};
use crate::edge::clock;
use crate::edge::pty::Pty;
use crate::logic::simulate::chance::Chance;
use crate::logic::simulate::drive::Motion;
use crate::logic::simulate::receiver::Epoch;
use crate::logic::simulate::sentences::{Quality, sentences};
use crate::units::{BootTime, EventTime, Position, Span};

/// The street: this latitude, eastwards from this longitude on.
const LAT_DEG: f64 = 48.15;
const LON_DEG: f64 = 11.56;
/// Metres in a degree of longitude there (WGS84).
const METRES_A_DEGREE: f64 = 74_408.8;
/// 5 Hz.
const TICK: Span = Span::from_millis(200);
/// 72 km/h.
const SPEED_MPS: f64 = 20.0;
/// How far a position may lie beside the truth: a good receiver under an open sky.
const NOISE_M: f64 = 0.6;
/// What its receiver claims: an HDOP of 0.8.
const ACCURACY_M: f64 = 4.0;
/// What it starts from.
const SEED: u64 = 4711;

/// A boundary that the street crosses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Boundary {
    /// Metres east of the street's beginning.
    pub(super) x_m: f64,
    /// `layer/zone`.
    pub(super) zone: &'static str,
    /// Whether the way east leads in.
    pub(super) inwards: bool,
}

/// What lies on the way, in order; the shipped zones.
pub(super) const BOUNDARIES: [Boundary; 6] = [
    Boundary { x_m: 0.0, zone: "depots/nord", inwards: true },
    Boundary { x_m: 160.3, zone: "depots/nord", inwards: false },
    Boundary { x_m: 290.6, zone: "roads/ring-road", inwards: true },
    Boundary { x_m: 350.6, zone: "roads/ring-road", inwards: false },
    Boundary { x_m: 471.0, zone: "customers/0815", inwards: true },
    Boundary { x_m: 571.0, zone: "customers/0815", inwards: false },
];

/// A boundary that was crossed, and when in truth.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Passage {
    pub(super) boundary: Boundary,
    pub(super) at: EventTime,
}

/// The vehicle: pure.
#[derive(Clone, Debug)]
struct Vehicle {
    x_m: f64,
    time: EventTime,
    chance: Chance,
}

impl Vehicle {
    /// One tick on towards `target_m`; gives the sentences, and what was passed on the way.
    fn step(&mut self, target_m: f64) -> (String, Vec<Passage>) {
        let from_m = self.x_m;
        self.x_m = (from_m + SPEED_MPS * TICK.secs_f64()).min(target_m).max(from_m);
        let began = self.time;
        self.time = self.time + TICK;
        let moved_m = self.x_m - from_m;
        let passed = BOUNDARIES.iter().filter(|b| from_m < b.x_m && b.x_m <= self.x_m);
        let passed = passed.map(|&boundary| {
            let after = Span::from_secs_f64((boundary.x_m - from_m) / SPEED_MPS);
            Passage { boundary, at: began + after }
        });
        let passed = passed.collect();
        (self.sentences(moved_m / TICK.secs_f64()), passed)
    }

    fn sentences(&mut self, speed_mps: f64) -> String {
        let x_m = self.x_m + self.chance.between(-NOISE_M, NOISE_M);
        let y_m = self.chance.between(-NOISE_M, NOISE_M);
        let (lat, lon) = (LAT_DEG + y_m / 111_200.0, LON_DEG + x_m / METRES_A_DEGREE);
        let epoch = Epoch {
            true_time: self.time,
            time: self.time,
            place: Position::new(lat, lon),
            deviation_m: NOISE_M,
            accuracy_m: ACCURACY_M,
            motion: Motion { speed_mps, heading_deg: 90.0 },
        };
        sentences(&epoch, Quality::Dilution)
    }
}

#[derive(Debug)]
struct State {
    target_m: f64,
    x_m: f64,
    line: Option<Pty>,
    passed: Vec<Passage>,
    stop: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    stopped: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The drive under way, on a thread of its own; dropping it ends it.
#[derive(Debug)]
pub(super) struct Drive {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    began: BootTime,
    zero: EventTime,
}

impl Drive {
    /// The vehicle stands at `x_m`, its receiver is on.
    pub(super) fn start(x_m: f64) -> Result<Self, CliError> {
        let began = clock::boot_now();
        // Sentences carry hundredths: all ticks then are whole ones.
        let now = clock::wall_now().nanos();
        let zero = EventTime::from_nanos(now - now.rem_euclid(10_000_000));
        let state = State { target_m: x_m, x_m, line: None, passed: Vec::new(), stop: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), stopped: Condvar::new() });
        let vehicle = Vehicle { x_m, time: zero, chance: Chance::new(SEED) };
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("receiver".into())
            .spawn(move || go(vehicle, began, &own))
            .map_err(|e| CliError::new(Exit::TempFail, format!("no thread to drive: {e}")))?;
        Ok(Self { shared, thread: Some(thread), began, zero })
    }

    /// The receiver's cable goes to `line` from now on.
    pub(super) fn plug(&self, line: Pty) {
        self.shared.lock().line = Some(line);
    }

    /// The vehicle may go on to `x_m`.
    pub(super) fn go_to(&self, x_m: f64) {
        self.shared.lock().target_m = x_m;
    }

    /// Where it is.
    pub(super) fn x_m(&self) -> f64 {
        self.shared.lock().x_m
    }

    /// All boundaries passed so far.
    pub(super) fn passed(&self) -> Vec<Passage> {
        self.shared.lock().passed.clone()
    }

    /// Seconds since the start, now.
    pub(super) fn now_s(&self) -> f64 {
        (clock::boot_now() - self.began).secs_f64()
    }

    /// Seconds since the start at an event time.
    pub(super) fn secs_of(&self, time: EventTime) -> f64 {
        (time - self.zero).secs_f64()
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.stopped.notify_all();
        if let Some(thread) = self.thread.take() {
            // It ends within a tick, and has nothing left to say.
            drop(thread.join());
        }
    }
}

/// Every tick at its time; a machine that was busy gets the missed ones at once.
fn go(mut vehicle: Vehicle, began: BootTime, shared: &Shared) {
    let mut due = began;
    loop {
        due = due + TICK;
        let state = shared.lock();
        let waited = shared.stopped.wait_timeout_while(state, clock::until(due), |s| !s.stop);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.stop {
            return;
        }
        let (sentences, passed) = vehicle.step(state.target_m);
        state.x_m = vehicle.x_m;
        state.passed.extend(passed);
        if let Some(line) = &state.line {
            // What nobody reads is lost, as on the road.
            let _ = line.send(sentences.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logic::config::Decide;
    use crate::logic::zones::parse_layer;
    use crate::units::Position;

    fn vehicle(x_m: f64) -> Vehicle {
        let time = "2026-11-30T23:59:59.7Z".parse().unwrap();
        Vehicle { x_m, time, chance: Chance::new(SEED) }
    }

    #[test]
    fn sentences_are_sound_and_the_same_each_time() {
        let (text, passed) = vehicle(-2.0).step(100.0);
        assert_eq!((&text, passed.len()), (&vehicle(-2.0).step(100.0).0, 1));
        assert_eq!(passed[0].at.to_string(), "2026-11-30T23:59:59.8Z");
        assert!(text.starts_with("$GNRMC,235959.90,A,4809.00"), "{text}");
        assert!(text.contains(",N,01133.60") && text.contains(",38.88,90.0,301126,,,A*"), "{text}");
    }

    #[test]
    fn a_vehicle_stops_where_it_is_told() {
        let mut vehicle = vehicle(0.0);
        for _ in 0..10 {
            vehicle.step(5.0);
        }
        assert_eq!(vehicle.x_m, 5.0);
        assert!(vehicle.step(5.0).0.contains(",E,0.00,90.0,011226,"));
    }

    /// The truth that the demo holds the daemon to is where the shipped zones have it.
    #[test]
    fn the_boundaries_are_those_of_the_shipped_zones() {
        for boundary in BOUNDARIES {
            let (layer, zone) = boundary.zone.split_once('/').unwrap();
            let (_, text) = crate::cli::shipped::ZONES
                .into_iter()
                .find(|(name, _)| name.strip_suffix(".geojson") == Some(layer))
                .unwrap();
            let layer = parse_layer(text.as_bytes(), &Decide::default()).unwrap().layer;
            let zone = layer.zones.iter().find(|z| z.id.as_str() == zone).unwrap();
            let lon_deg = LON_DEG + boundary.x_m / METRES_A_DEGREE;
            let located = zone.shape.locate(Position::new(LAT_DEG, lon_deg).unwrap());
            assert!(located.distance_m.abs() < 0.2, "{boundary:?}: {located:?}");
        }
    }
}
