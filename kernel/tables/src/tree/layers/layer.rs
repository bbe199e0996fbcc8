//! A layer: a selection of a tree's entries, and their new keys and addresses.

use crate::error::Result;
use crate::tree::Tree;

/// A filter that excludes entries.
pub trait LeaveOut: Send + Sync {
    /// Returns whether to exclude the entry whose key has this name after the layer's prefix.
    fn leaves_out(&self, name: &[u8]) -> Result<bool>;
}

/// The entries of a tree whose keys begin with `prefix`.
pub struct Layer {
    /// The tree.
    pub tree: Tree,
    /// What the keys begin with.
    pub prefix: Vec<u8>,
    /// The replacement of the prefix.
    pub target: Vec<u8>,
    /// Selects only the entry whose key is `prefix`.
    pub single: bool,
    /// The storage namespace with which relative addresses are made full; with None addresses do not
    /// change.
    pub namespace: Option<Vec<u8>>,
    /// Decides which entries are skipped.
    pub leave_out: Option<Box<dyn LeaveOut>>,
}

impl Layer {
    /// Returns whether keys and values of its entries are unchanged.
    pub fn is_kept(&self) -> bool {
        self.namespace.is_none()
            && self.leave_out.is_none()
            && self.prefix == self.target
            && !self.single
    }

    /// Returns the least key of the tree whose new key is not below `new_key`, None when all are.
    pub fn first_from(&self, new_key: &[u8]) -> Option<Vec<u8>> {
        match new_key.strip_prefix(self.target.as_slice()) {
            Some(name) => Some([&self.prefix, name].concat()),
            None => (new_key < self.target.as_slice()).then(|| self.prefix.clone()),
        }
    }

    /// Returns the rest of a key after the prefix, None for a key that is not the layer's.
    pub fn name<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        let name = key.strip_prefix(self.prefix.as_slice())?;
        (!self.single || name.is_empty()).then_some(name)
    }
}
