//! Looks at whether to go on, while several threads are at work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use crate::error::Result;

/// So many entries are passed between two looks.
const BETWEEN_LOOKS: u64 = 1 << 14;

/// Tells how many entries have been passed, on the thread alone that began.
pub struct Looks<'a> {
    look: &'a (dyn Fn(u64) -> Result<()> + Sync),
    thread: ThreadId,
    passed: AtomicU64,
}

impl<'a> Looks<'a> {
    /// Returns the looks of this thread: `look` is told how many entries more have been passed,
    /// and ends the work by an error.
    pub fn new(look: &'a (dyn Fn(u64) -> Result<()> + Sync)) -> Looks<'a> {
        Looks {
            look,
            thread: thread::current().id(),
            passed: AtomicU64::new(0),
        }
    }

    /// Notes that so many entries have been passed.
    pub fn pass(&self, count: u64) -> Result<()> {
        let before = self.passed.fetch_add(count, Ordering::Relaxed);
        if before + count < BETWEEN_LOOKS || thread::current().id() != self.thread {
            return Ok(());
        }
        self.finish()
    }

    /// Looks, whatever has been passed.
    pub fn finish(&self) -> Result<()> {
        (self.look)(self.passed.swap(0, Ordering::Relaxed))
    }
}
