//! OBS-1: what one fix says of one zone.
//!
//! Always holds: near the boundary the answer is Unsure, which votes for nothing.
//! Does not know: votes or memberships.

use crate::logic::geometry::Located;

/// The side of a boundary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Side {
    /// In the zone.
    #[serde(rename = "i")]
    Inside,
    /// Not in the zone.
    #[serde(rename = "o")]
    Outside,
}

impl Side {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Inside => Self::Outside,
            Self::Outside => Self::Inside,
        }
    }
    /// Whether this is inside, as events say it.
    pub const fn is_inside(self) -> bool {
        matches!(self, Self::Inside)
    }
}

/// What one ordered fix says of one zone: a side, or `None` for Unsure.
pub type Observation = Option<Side>;

/// How far from the boundary a vote must lie. Distances in metres.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Margins {
    /// An inside vote is at least this deep.
    pub enter_m: f64,
    /// An outside vote is at least this far, beyond twice the accuracy.
    pub exit_m: f64,
    /// Accuracy counts at most this much against an outside vote.
    pub accuracy_cap_m: f64,
}

impl Margins {
    /// The distance that an outside vote needs in open ground.
    pub fn outside_m(&self, accuracy_m: f64) -> f64 {
        self.exit_m + 2.0 * accuracy_m.min(self.accuracy_cap_m)
    }

    /// OBS-1. In a hole no more is asked than half its greatest depth or twice the accuracy,
    /// whichever is more: otherwise a small hole could never be entered.
    pub fn observe(&self, at: &Located, accuracy_m: f64) -> Observation {
        if at.inside {
            return (at.distance_m <= -self.enter_m).then_some(Side::Inside);
        }
        let open = self.outside_m(accuracy_m);
        let asked = match at.hole_depth_m {
            Some(depth_m) => open.min((depth_m / 2.0).max(2.0 * accuracy_m)),
            None => open,
        };
        (at.distance_m >= asked).then_some(Side::Outside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const M: Margins = Margins { enter_m: 0.0, exit_m: 10.0, accuracy_cap_m: 30.0 };

    fn check(margins: Margins, d: f64, hole: Option<f64>, accuracy: f64, want: Observation) {
        let at = Located { inside: d <= 0.0, distance_m: d, hole_depth_m: hole };
        assert_eq!(margins.observe(&at, accuracy), want, "d={d} hole={hole:?} acc={accuracy}");
    }

    #[test]
    fn obs_1_inside_needs_its_margin_and_outside_distance() {
        check(M, -0.1, None, 3.0, Some(Side::Inside));
        check(M, 0.1, None, 3.0, None);
        check(M, 15.9, None, 3.0, None);
        check(M, 16.0, None, 3.0, Some(Side::Outside));
        let deep = Margins { enter_m: 5.0, ..M };
        check(deep, -4.9, None, 3.0, None);
        check(deep, -5.0, None, 3.0, Some(Side::Inside));
    }

    #[test]
    fn obs_1_accuracy_is_capped_against_an_outside_vote() {
        check(M, 69.9, None, 50.0, None);
        check(M, 70.0, None, 50.0, Some(Side::Outside));
    }

    #[test]
    fn obs_1_a_hole_asks_at_most_half_its_depth_or_twice_the_accuracy() {
        check(M, 6.0, Some(12.0), 2.0, Some(Side::Outside));
        check(M, 5.9, Some(12.0), 2.0, None);
        check(M, 8.0, Some(12.0), 4.0, Some(Side::Outside));
        check(M, 7.9, Some(12.0), 4.0, None);
        check(M, 16.0, Some(200.0), 3.0, Some(Side::Outside));
    }
}
