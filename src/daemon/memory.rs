//! What the pipeline reads back from its store for assets that are not in memory.
//!
//! Always holds: what a group that is not stored yet says of an asset goes before its rows.
//! Does not know: who is forgotten, or what rows mean.

use super::error::DaemonError;
use super::pipeline::Pipeline;
use crate::units::AssetId;

/// Assets that are looked at in one go: some MB of rows, or of events.
pub(super) const PAGE: usize = 1000;

/// How far a membership snapshot that is being made has come.
#[derive(Default)]
pub(super) struct Snapshot {
    /// All up to this id are in it.
    after: Option<AssetId>,
}

impl Pipeline {
    /// Gives the engine back whom it wants; it goes on with the input that spoke of them.
    pub(super) fn recall(&mut self) -> Result<(), DaemonError> {
        while let Some(id) = self.engine.wants() {
            let mut rows = self.store.asset(id)?;
            if self.retry_at.is_some() {
                self.group.overlay(&mut rows);
            }
            let step = self.engine.recall(rows);
            self.take(step);
        }
        Ok(())
    }

    /// LAY-1 for every asset that a start left in the store, in the transaction that puts the
    /// layers in force.
    pub(super) fn pass_layers(&mut self) -> Result<(), DaemonError> {
        let mut after = None;
        while self.engine.must_pass() {
            let page = self.store.assets(after.as_ref(), PAGE)?;
            if page.len() < PAGE {
                self.engine.passed();
            }
            for rows in page {
                after = Some(rows.asset.asset.clone());
                self.engine.pass(rows);
            }
        }
        Ok(())
    }

    /// The next so many assets' zones, as far as a snapshot is being made.
    pub(super) fn snapshot_page(&mut self) -> Result<(), DaemonError> {
        let Some(Snapshot { after }) = self.snapshot_at.take() else { return Ok(()) };
        let mut page = self.store.assets(after.as_ref(), PAGE)?;
        let last = page.last().filter(|_| page.len() == PAGE);
        let up_to = last.map(|rows| rows.asset.asset.clone());
        page.retain(|rows| self.engine.lacks(&rows.asset.asset));
        if self.retry_at.is_some() {
            for rows in &mut page {
                self.group.overlay(rows);
            }
        }
        let step = self.engine.snapshot(after.as_ref(), up_to.as_ref(), &page);
        self.take(step);
        self.snapshot_at = up_to.map(|id| Snapshot { after: Some(id) });
        Ok(())
    }
}
