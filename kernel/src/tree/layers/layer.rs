//! A layer: which entries of a tree it has, and what becomes of them.

use crate::error::Result;
use crate::tree::Tree;

/// Says which entries are left out.
pub trait LeaveOut: Send + Sync {
    /// Returns whether to leave out the entry whose key has this behind the layer's prefix.
    fn leaves_out(&self, name: &[u8]) -> Result<bool>;
}

/// The entries of a tree whose keys begin with `prefix`.
pub struct Layer {
    pub tree: Tree,
    pub prefix: Vec<u8>,
    /// What takes the prefix's place.
    pub target: Vec<u8>,
    /// Only the entry is meant whose key is `prefix`.
    pub single: bool,
    /// The storage namespace in which relative addresses are, which are made full; with None
    /// addresses stay as they are.
    pub namespace: Option<Vec<u8>>,
    pub leave_out: Option<Box<dyn LeaveOut>>,
}

impl Layer {
    /// Returns whether its entries are taken as they are, keys and values.
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

    /// Returns what a key has behind the prefix, None for a key that is not the layer's.
    pub fn name<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        let name = key.strip_prefix(self.prefix.as_slice())?;
        (!self.single || name.is_empty()).then_some(name)
    }
}
