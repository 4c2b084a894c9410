//! Named scenarios: a route and a receiver that belong together.
//!
//! Always holds: the same scenario, zones and seed give the same drive and receiver. The figures
//! are those of ordinary receivers, and `docs/defaults.md` is measured with them.
//! Does not know: sentences, files.

use super::chance::Chance;
use super::drive::Drive;
use super::receiver::{ClockFault, Missing, Outage, Outliers, Receiver, Wander};
use super::route::{Pace, Tour, park_on_boundary, tour};
use crate::logic::geometry::Shape;
use crate::units::Span;

/// What a drive is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// A country road under an open sky.
    OpenSky,
    /// Streets between houses: reflections that last, and 1 % of the positions 30 m off.
    Urban,
    /// Parked on the boundary of a zone.
    Parked,
    /// Over boundaries slower than the noise moves.
    Creeping,
    /// A traffic jam.
    StopAndGo,
    /// Tunnels: no position for up to two minutes; now and then a receiver that says nothing.
    Tunnel,
    /// A receiver whose clock jumps, steps and rolls over.
    Clock,
}

/// Half a minute: how long a reflection stays alike.
pub const REFLECTION: Span = Span::from_secs(30);
/// How long the slow errors of orbit and air stay alike.
const DRIFT: Span = Span::from_secs(900);

/// What a plan is made for.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outline {
    /// From one epoch to the next.
    pub interval: Span,
    /// How long it takes.
    pub length: Span,
    /// How far beside the middle of zones the way leads, as [`Tour`] has it.
    pub aside: f64,
    /// How far away from a zone it turns, in metres, as [`Tour`] has it.
    pub clear_m: f64,
    /// Where chance begins.
    pub seed: u64,
}

/// A drive and the receiver that is on it.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// Where the vehicle truly is.
    pub drive: Drive,
    /// What says so.
    pub receiver: Receiver,
    /// The chance that is left, for the noise.
    pub chance: Chance,
}

impl Scenario {
    /// Every scenario, with its name on the command line.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::OpenSky, "open-sky"),
        (Self::Urban, "urban"),
        (Self::Parked, "parked"),
        (Self::Creeping, "creeping"),
        (Self::StopAndGo, "stop-and-go"),
        (Self::Tunnel, "tunnel"),
        (Self::Clock, "clock"),
    ];

    /// A drive of this kind through and past the shapes.
    pub fn plan(self, shapes: &[&Shape], outline: Outline) -> Plan {
        let mut chance = Chance::new(outline.seed);
        let length = outline.length;
        let drive = self.drive(shapes, outline, &mut chance);
        let mut receiver = self.receiver(outline.interval);
        if self == Self::Tunnel {
            receiver.outages = tunnels(length, &mut chance);
        }
        if self == Self::Clock {
            receiver.faults = faults(length);
        }
        Plan { drive, receiver, chance }
    }

    fn drive(self, shapes: &[&Shape], outline: Outline, chance: &mut Chance) -> Drive {
        let Outline { length, aside, clear_m, .. } = outline;
        let pace = match self {
            Self::Parked => {
                if let Some(shape) = shapes.get(chance.below(shapes.len())) {
                    return park_on_boundary(shape, 8.0, length, chance);
                }
                Pace::Steady { speed_mps: 8.0 }
            }
            Self::OpenSky | Self::Clock => Pace::Steady { speed_mps: 22.0 },
            Self::Urban => Pace::Steady { speed_mps: 10.0 },
            Self::Tunnel => Pace::Steady { speed_mps: 17.0 },
            Self::Creeping => Pace::Creeping { speed_mps: 0.5 },
            Self::StopAndGo => Pace::StopAndGo { speed_mps: 6.0 },
        };
        tour(shapes, Tour { pace, aside, clear_m, length }, chance)
    }

    fn receiver(self, interval: Span) -> Receiver {
        let drift = Wander { sigma_m: 1.0, tau: DRIFT };
        let open = Receiver { white_m: 0.8, wanders: vec![drift], ..Receiver::exact(interval) };
        match self {
            Self::OpenSky | Self::Clock => open,
            Self::Tunnel | Self::Creeping => Receiver { white_m: 2.0, ..open },
            Self::Parked | Self::StopAndGo => Receiver {
                white_m: 1.0,
                wanders: vec![Wander { sigma_m: 3.0, tau: REFLECTION }, drift],
                ..open
            },
            Self::Urban => Receiver {
                white_m: 2.0,
                wanders: vec![Wander { sigma_m: 4.0, tau: REFLECTION }, drift],
                outliers: Outliers { share: 0.01, size_m: 30.0 },
                ..open
            },
        }
    }
}

/// Tunnels of 15 to 120 s, a minute or two apart; every fourth is a silence.
fn tunnels(length: Span, chance: &mut Chance) -> Vec<Outage> {
    let mut outages = Vec::new();
    let mut now = Span::ZERO;
    while now < length {
        let from = now + Span::from_secs_f64(chance.between(40.0, 160.0));
        let until = from + Span::from_secs_f64(chance.between(15.0, 120.0));
        let missing = if chance.below(4) == 0 { Missing::Everything } else { Missing::Fix };
        outages.push(Outage { from, until, missing });
        now = until;
    }
    outages
}

/// An epoch an hour ahead, then a clock 3 s behind, then one that has rolled over.
fn faults(length: Span) -> Vec<ClockFault> {
    let quarter = |n| Span::from_nanos(length.nanos() / 4 * n);
    vec![
        ClockFault::Jump { at: quarter(1), by: Span::from_secs(3600) },
        ClockFault::Step { at: quarter(2), by: Span::from_secs(-3) },
        ClockFault::Rollover { at: quarter(3) },
    ]
}
