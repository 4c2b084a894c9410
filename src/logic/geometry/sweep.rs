//! Where the edges of a zone's rings cross or run along each other.

use super::check::Draft;
use super::fault::{ShapeFault, Slip};

pub(super) fn crossings(_drafts: &[Draft], _slips: &mut Vec<Slip>, _faults: &mut Vec<ShapeFault>) {}
