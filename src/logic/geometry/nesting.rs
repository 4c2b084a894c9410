//! Whether holes lie in their part and parts beside each other.

use super::check::Draft;
use super::fault::ShapeFault;
use super::path::Path;

pub(super) fn check(_drafts: &[Draft], _paths: &[Path], _faults: &mut Vec<ShapeFault>) {}
