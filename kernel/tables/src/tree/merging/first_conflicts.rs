//! When a merge has found its first conflicts, and may stop.
//!
//! A refused merge names its first conflicts in the order of their keys, and does not count the
//! others. Its pieces are looked at in parallel: one may stop when it, or those before it, have as
//! many conflicts as are sought. What the pieces behind it have found does not matter.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// How many conflicts the pieces of a merge have found so far.
pub struct FirstConflicts {
    sought: usize,
    found: Vec<AtomicUsize>,
    total: AtomicUsize,
    /// This piece, and those behind it, cannot hold one that is sought.
    end: AtomicUsize,
}

impl FirstConflicts {
    /// Returns the state of a merge in so many pieces, which ends with the `sought`th conflict.
    pub fn new(sought: usize, pieces: usize) -> FirstConflicts {
        FirstConflicts {
            sought,
            found: (0..pieces).map(|_| AtomicUsize::new(0)).collect(),
            total: AtomicUsize::new(0),
            end: AtomicUsize::new(pieces),
        }
    }

    /// Adds a conflict of a piece; returns whether the piece alone has all that are sought.
    pub fn add(&self, piece: usize) -> bool {
        self.total.fetch_add(1, Relaxed);
        self.found[piece].fetch_add(1, Relaxed) + 1 >= self.sought
    }

    /// Returns whether all that are sought are before a piece.
    pub fn are_before(&self, piece: usize) -> bool {
        if piece >= self.end.load(Relaxed) {
            return true;
        }
        if self.total.load(Relaxed) < self.sought {
            return false;
        }
        let before = self.found[..piece].iter();
        let are_before = before.map(|found| found.load(Relaxed)).sum::<usize>() >= self.sought;
        if are_before {
            self.end.fetch_min(piece, Relaxed);
        }
        are_before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conflicts_before_a_piece_end_it() {
        let first = FirstConflicts::new(3, 5);
        assert!(!first.add(1));
        assert!(!first.add(3) && !first.add(3) && first.add(3));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|piece| first.are_before(piece)),
            [false, false, false, false, true]
        );
        assert!(!first.add(1));
        assert!(!first.are_before(2));
        assert!(first.add(1));
        assert_eq!(
            [0, 1, 2, 3, 4].map(|piece| first.are_before(piece)),
            [false, false, true, true, true]
        );
    }
}
