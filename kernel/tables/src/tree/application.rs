//! Applies any number of changes to a tree in bounded memory.
//!
//! When many changes wait, they are applied and make a tree, to which the next ones are applied. The
//! keys come in order, so two such passes have at most one range in common. The result has the
//! records of a single pass; it may have one more cut between ranges where a pass ended.

use super::apply::apply;
use super::changes::Changes;
use super::tree::Tree;
use super::write_result::{ChangeCounts, WriteResult};
use crate::error::Result;
use crate::table::TableFolder;

/// So many bytes of changes wait before they are applied.
const MAX_WAITING_BYTES: usize = 128 << 20;

/// A tree to which changes are applied as they come.
pub struct Application {
    base: Tree,
    folder: TableFolder,
    /// The tree with the changes of earlier passes.
    tree: Tree,
    waiting: Changes,
    max_waiting_bytes: usize,
    counts: ChangeCounts,
}

impl Application {
    /// Begins to apply changes to a tree; new tables are written into a folder.
    pub fn new(base: &Tree, folder: impl Into<TableFolder>) -> Self {
        Application::within(MAX_WAITING_BYTES, base, folder)
    }

    pub(super) fn within(
        max_waiting_bytes: usize,
        base: &Tree,
        folder: impl Into<TableFolder>,
    ) -> Self {
        Application {
            base: base.clone(),
            folder: folder.into(),
            tree: base.clone(),
            waiting: Changes::default(),
            max_waiting_bytes,
            counts: ChangeCounts::default(),
        }
    }

    /// Adds a change: an identity and data, None to delete. Returns whether so many changes wait
    /// that [`Self::apply_waiting`] must be called. Fails with [`Error::Order`] unless the key is
    /// greater than all before.
    ///
    /// [`Error::Order`]: crate::Error::Order
    pub fn push(&mut self, key: &[u8], value: Option<(&[u8], &[u8])>) -> Result<bool> {
        self.waiting.push(key, value)?;
        Ok(self.waiting.memory() >= self.max_waiting_bytes)
    }

    /// Applies the changes that wait.
    pub fn apply_waiting(&mut self) -> Result<()> {
        let done = apply(&self.tree, &self.waiting, &self.folder)?;
        self.counts.add(done.counts);
        if !done.counts.is_zero() {
            self.tree = self.tree.beside(&done.metarange_id, self.folder.path())?;
        }
        self.waiting.clear();
        Ok(())
    }

    /// Applies the changes that are left, and returns the tree. If none has an effect, nothing is
    /// written.
    pub fn finish(mut self) -> Result<WriteResult> {
        if self.counts.is_zero() {
            return apply(&self.base, &self.waiting, &self.folder);
        }
        self.apply_waiting()?;
        WriteResult::write(self.tree.ranges(), &[&self.base], self.counts, &self.folder)
    }
}
