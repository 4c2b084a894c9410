//! Receivers and truths: what the parts promise each other.

use super::chance::Chance;
use super::drive::{Drive, beside};
use super::receiver::{
    ClockFault, Epoch, HONEST_RADIUS, Missing, Outage, Outliers, Receiver, Wander,
};
use super::scenario::{Outline, Scenario};
use super::truth::crossings;
use crate::logic::geometry::{Shape, distance_m};
use crate::units::{EventTime, Position, Span};

const BEGAN: EventTime = EventTime::from_nanos(1_796_040_000_000_000_000);
const SECOND: Span = Span::from_secs(1);

fn home() -> Position {
    Position::new(48.15, 11.56).unwrap()
}

/// What a receiver says of standing at home for so many seconds.
fn standing(receiver: &Receiver, secs: i64) -> Vec<Epoch> {
    let mut drive = Drive::from(home());
    drive.wait(Span::from_secs(secs));
    receiver.epochs(&drive, BEGAN, Chance::new(3)).collect()
}

fn off_m(epoch: &Epoch) -> f64 {
    distance_m(epoch.place.unwrap(), home())
}

/// FIX-2: 68 % of the positions lie within the claimed radius, whatever the noise is made of.
#[test]
fn fix_2_the_claimed_accuracy_is_honest() {
    let wander = |sigma_m, secs| Wander { sigma_m, tau: Span::from_secs(secs) };
    for (white_m, wanders) in [
        (4.0, vec![]),
        (0.0, vec![wander(8.0, 30)]),
        (2.0, vec![wander(4.0, 30), wander(1.0, 900)]),
    ] {
        let receiver = Receiver { white_m, wanders, ..Receiver::exact(SECOND) };
        let epochs = standing(&receiver, 100_000);
        let within = epochs.iter().filter(|e| off_m(e) <= e.accuracy_m).count();
        let share = within as f64 / epochs.len() as f64;
        assert!((share - 0.68).abs() < 0.02, "{receiver:?}: {share}");
        assert_eq!(epochs[0].accuracy_m, HONEST_RADIUS * epochs[0].deviation_m);
    }
}

#[test]
fn correlated_noise_remembers_and_white_noise_does_not() {
    let lagged = |receiver: &Receiver| {
        let epochs = standing(receiver, 60_000);
        let north = |e: &Epoch| e.place.unwrap().lat_deg() - home().lat_deg();
        let product: f64 = epochs.windows(31).map(|w| north(&w[0]) * north(&w[30])).sum();
        let square: f64 = epochs.iter().map(|e| north(e) * north(e)).sum();
        product / square
    };
    let wander = Wander { sigma_m: 5.0, tau: Span::from_secs(30) };
    let slow = lagged(&Receiver { wanders: vec![wander], ..Receiver::exact(SECOND) });
    assert!((slow - (-1.0_f64).exp()).abs() < 0.08, "{slow}");
    let white = lagged(&Receiver { white_m: 5.0, ..Receiver::exact(SECOND) });
    assert!(white.abs() < 0.03, "{white}");
}

#[test]
fn outliers_come_at_their_rate_and_size() {
    let outliers = Outliers { share: 0.01, size_m: 30.0 };
    let epochs = standing(&Receiver { outliers, ..Receiver::exact(SECOND) }, 50_000);
    let far = epochs.iter().filter(|e| off_m(e) > 1.0);
    assert!(far.clone().all(|e| (off_m(e) - 30.0).abs() < 0.01));
    let share = far.count() as f64 / epochs.len() as f64;
    assert!((share - 0.01).abs() < 0.002, "{share}");
}

/// An outage hides epochs and changes no other.
#[test]
fn outages_hide_and_change_nothing_else() {
    let clear = Receiver { white_m: 3.0, ..Receiver::exact(SECOND) };
    let outage = |from, until, missing| Outage {
        from: Span::from_secs(from),
        until: Span::from_secs(until),
        missing,
    };
    let outages = vec![outage(10, 20, Missing::Fix), outage(30, 40, Missing::Everything)];
    let (all, some) = (standing(&clear, 60), standing(&Receiver { outages, ..clear }, 60));
    assert_eq!((all.len(), some.len()), (61, 51));
    for epoch in &some {
        let after = (epoch.time - BEGAN).nanos() / SECOND.nanos();
        let hidden = (10..20).contains(&after);
        assert_eq!(epoch.place, all[after as usize].place.filter(|_| !hidden), "{after}");
    }
}

#[test]
fn clock_faults_are_told_and_the_true_time_stays() {
    let (jump, step) = (Span::from_secs(3600), Span::from_secs(-3));
    let faults = vec![
        ClockFault::Jump { at: Span::from_secs(10), by: jump },
        ClockFault::Step { at: Span::from_secs(20), by: step },
        ClockFault::Rollover { at: Span::from_secs(30) },
    ];
    let epochs = standing(&Receiver { faults, ..Receiver::exact(SECOND) }, 40);
    let era = Span::from_secs(1024 * 7 * 86_400);
    for (n, epoch) in (0..).zip(&epochs) {
        let off = epoch.time - epoch.true_time;
        let expected = match n {
            10 => jump,
            0..20 => Span::ZERO,
            20..30 => step,
            _ => step - era,
        };
        assert_eq!(off, expected, "{n}");
        assert_eq!(epoch.true_time, BEGAN + Span::from_secs(n));
    }
}

/// A straight way through a circle: the truth by hand.
#[test]
fn truth_is_where_the_way_meets_the_boundary() {
    let circle = Shape::circle(home(), 100.0).unwrap();
    for (offset_m, chord_m) in [(0.0, 200.0), (80.0, 120.0), (99.999, 2.0 * 0.447_2), (101.0, 0.0)]
    {
        let mut drive = Drive::from(beside(home(), -500.0, offset_m));
        drive.go_to(beside(home(), 500.0, offset_m), 10.0);
        let found = crossings(&drive, BEGAN, &circle);
        let wanted: Vec<f64> = if chord_m > 0.0 {
            vec![50.0 - chord_m / 20.0, 50.0 + chord_m / 20.0]
        } else {
            Vec::new()
        };
        let times: Vec<f64> = found.iter().map(|c| (c.time - BEGAN).secs_f64()).collect();
        assert_eq!(times.len(), wanted.len(), "{offset_m}: {times:?}");
        for (time, wanted) in times.iter().zip(wanted) {
            assert!((time - wanted).abs() < 0.01, "{offset_m}: {times:?}");
        }
        for crossing in found {
            let before = drive.at(crossing.time - BEGAN - Span::from_millis(1));
            let after = drive.at(crossing.time - BEGAN + Span::from_millis(1));
            let sides = (circle.locate(before).inside, circle.locate(after).inside);
            assert_eq!(sides, (!crossing.inside, crossing.inside), "to the millisecond");
        }
    }
}

/// INV-7: the same seed, the same epochs; another seed, others.
#[test]
fn inv_7_a_seed_is_a_drive() {
    let circle = Shape::circle(home(), 100.0).unwrap();
    for (scenario, name) in Scenario::ALL {
        let epochs = |seed| {
            let length = Span::from_secs(600);
            let outline = Outline { interval: SECOND, length, aside: 1.0, clear_m: 120.0, seed };
            let plan = scenario.plan(&[&circle], outline);
            let epochs: Vec<Epoch> =
                plan.receiver.epochs(&plan.drive, BEGAN, plan.chance.clone()).collect();
            epochs
        };
        assert_eq!(epochs(1), epochs(1), "{name}");
        assert_ne!(epochs(1), epochs(2), "{name}");
    }
}
