//! What a new version of a layer changes on the ground.
//!
//! Always holds: every zone of both versions is in exactly one list; only ids and shapes matter
//! (LAY-1).

use std::collections::BTreeMap;

use super::{Fingerprint, Layer};
use crate::units::ZoneId;

/// Zones by what became of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Diff {
    /// Only in the new version, in its order.
    pub added: Vec<ZoneId>,
    /// Only in the old one, in its order.
    pub removed: Vec<ZoneId>,
    /// In both, with another shape, in the new order.
    pub reshaped: Vec<ZoneId>,
    /// In both, with the same shape, in the new order.
    pub kept: Vec<ZoneId>,
}

/// Compares the zones there were with those of a new version.
pub fn diff(old: &[(ZoneId, Fingerprint)], new: &Layer) -> Diff {
    let before: BTreeMap<&ZoneId, Fingerprint> = old.iter().map(|(id, f)| (id, *f)).collect();
    let mut out = Diff::default();
    for zone in &new.zones {
        let list = match before.get(&zone.id) {
            None => &mut out.added,
            Some(shape) if *shape == zone.fingerprint => &mut out.kept,
            Some(_) => &mut out.reshaped,
        };
        list.push(zone.id.clone());
    }
    let after: std::collections::BTreeSet<&ZoneId> = new.zones.iter().map(|z| &z.id).collect();
    let gone = old.iter().filter(|(id, _)| !after.contains(id));
    out.removed = gone.map(|(id, _)| id.clone()).collect();
    out
}
