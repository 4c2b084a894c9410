//! The vehicle: where it truly is at every moment.
//!
//! Always holds: between two knots it goes straight in longitude/latitude, as edges of zones are,
//! at one speed; before the first and after the last it stands.
//! Does not know: receivers, zones, the time of day: moments are spans since the drive began.

use crate::logic::geometry::distance_m;
use crate::logic::geometry::ground::{Frame, wrap_deg};
use crate::units::{Position, Span};

/// A moment and the place there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Knot {
    pub(super) after: Span,
    pub(super) place: Position,
}

/// A drive.
#[derive(Clone, PartialEq, Debug)]
pub struct Drive {
    /// In order of time; at least one.
    knots: Vec<Knot>,
}

/// How the vehicle moves at a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Motion {
    /// Speed over ground.
    pub speed_mps: f64,
    /// Course in degrees from north; the last one while it stands.
    pub heading_deg: f64,
}

impl Drive {
    /// A vehicle that stands.
    pub fn from(place: Position) -> Self {
        Self { knots: vec![Knot { after: Span::ZERO, place }] }
    }

    /// How long it takes.
    pub fn length(&self) -> Span {
        self.last().after
    }

    /// Where it ends.
    pub fn end(&self) -> Position {
        self.last().place
    }

    fn last(&self) -> Knot {
        *self.knots.last().expect("a drive has a beginning")
    }

    /// Goes straight on to `place`.
    pub fn go_to(&mut self, place: Position, speed_mps: f64) {
        let way_m = distance_m(self.end(), place);
        let takes = Span::from_secs_f64(way_m / speed_mps.max(f64::MIN_POSITIVE));
        self.knots.push(Knot { after: self.length() + takes, place });
    }

    /// Stands for a while.
    pub fn wait(&mut self, for_: Span) {
        let Knot { after, place } = self.last();
        self.knots.push(Knot { after: after + for_, place });
    }

    /// Ends at a moment, standing until then where it is shorter.
    pub fn end_at(&mut self, length: Span) {
        let place = self.at(length);
        self.knots.retain(|knot| knot.after < length);
        self.knots.push(Knot { after: length, place });
    }

    /// Where it is.
    pub fn at(&self, after: Span) -> Position {
        let next = self.knots.partition_point(|knot| knot.after <= after);
        match (next.checked_sub(1).map(|ix| self.knots[ix]), self.knots.get(next)) {
            (Some(a), Some(b)) => {
                let share = (after - a.after).nanos() as f64 / (b.after - a.after).nanos() as f64;
                between(a.place, b.place, share)
            }
            (Some(last), None) => last.place,
            (None, _) => self.knots[0].place,
        }
    }

    /// How it moves.
    pub fn motion(&self, after: Span) -> Motion {
        let next = self.knots.partition_point(|knot| knot.after <= after);
        let mut heading_deg = 0.0;
        for (ahead, pair) in
            self.knots[..self.knots.len().min(next + 1)].windows(2).rev().enumerate()
        {
            let takes_s = (pair[1].after - pair[0].after).secs_f64();
            let way_m = distance_m(pair[0].place, pair[1].place);
            let now = ahead == 0 && next < self.knots.len();
            if way_m > 0.0 && takes_s > 0.0 {
                heading_deg = course_deg(pair[0].place, pair[1].place);
                let speed_mps = if now { way_m / takes_s } else { 0.0 };
                return Motion { speed_mps, heading_deg };
            }
        }
        Motion { speed_mps: 0.0, heading_deg }
    }

    /// Every straight piece of it.
    pub(super) fn legs(&self) -> impl Iterator<Item = (Knot, Knot)> {
        self.knots.windows(2).map(|pair| (pair[0], pair[1]))
    }
}

/// The place a share of the way from `a` to `b`.
pub(super) fn between(a: Position, b: Position, share: f64) -> Position {
    let lat = a.lat_deg() + (b.lat_deg() - a.lat_deg()) * share;
    let lon = a.lon_deg() + wrap_deg(b.lon_deg() - a.lon_deg()) * share;
    Position::new(lat.clamp(-90.0, 90.0), wrap_deg(lon)).expect("between two places lie places")
}

/// The place so many metres from another; good for some kilometres.
pub fn beside(place: Position, east_m: f64, north_m: f64) -> Position {
    let frame = Frame::at(place.lat_deg());
    let lat = (place.lat_deg() + north_m / frame.north_m).clamp(-90.0, 90.0);
    // At a pole every longitude is the same place.
    let lon = if frame.east_m > 1.0 { place.lon_deg() + east_m / frame.east_m } else { 0.0 };
    Position::new(lat, wrap_deg(lon)).unwrap_or(place)
}

fn course_deg(from: Position, to: Position) -> f64 {
    let (east_m, north_m) = Frame::at(from.lat_deg()).offset_m(from, to);
    east_m.atan2(north_m).to_degrees().rem_euclid(360.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(lat: f64, lon: f64) -> Position {
        Position::new(lat, lon).unwrap()
    }

    #[test]
    fn a_drive_goes_waits_and_ends() {
        let mut drive = Drive::from(place(48.0, 11.0));
        drive.go_to(beside(place(48.0, 11.0), 100.0, 0.0), 10.0);
        drive.wait(Span::from_secs(5));
        assert!((drive.length().secs_f64() - 15.0).abs() < 1e-3, "{:?}", drive.length());
        assert!(distance_m(drive.at(Span::from_secs(4)), place(48.0, 11.0)) - 40.0 < 0.01);
        let going = drive.motion(Span::from_secs(4));
        assert!((going.speed_mps - 10.0).abs() < 1e-6 && going.heading_deg.round() == 90.0);
        let waits = drive.motion(Span::from_secs(12));
        assert_eq!((waits.speed_mps, waits.heading_deg), (0.0, going.heading_deg));
        assert_eq!(drive.motion(Span::from_secs(99)).speed_mps, 0.0);
        assert_eq!(drive.at(Span::from_secs(99)), drive.end());
        drive.end_at(Span::from_secs(4));
        assert_eq!(drive.length(), Span::from_secs(4));
        assert!((distance_m(drive.end(), place(48.0, 11.0)) - 40.0).abs() < 0.01);
        drive.end_at(Span::from_secs(60));
        assert_eq!(drive.at(Span::from_secs(30)), drive.end());
    }

    #[test]
    fn a_drive_passes_the_date_line() {
        let mut drive = Drive::from(place(-17.0, 179.999));
        drive.go_to(place(-17.0, -179.999), 10.0);
        let length = drive.length();
        assert!(length.secs_f64() < 30.0);
        let middle = drive.at(Span::from_nanos(length.nanos() / 2));
        assert!(middle.lon_deg().abs() > 179.999_9, "{middle:?}");
        assert_eq!(beside(place(90.0, 5.0), 10.0, 5.0).lat_deg(), 90.0);
    }
}
