//! Reports progress and checks for cancellation while several threads work.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ThreadId};

use crate::error::Result;

/// The number of entries between two reports.
const REPORT_INTERVAL: u64 = 1 << 14;

/// Counts the processed entries of all threads, and reports them on the thread that created it.
pub struct Progress<'a> {
    report: &'a (dyn Fn(u64) -> Result<()> + Sync),
    thread: ThreadId,
    unreported: AtomicU64,
}

impl<'a> Progress<'a> {
    /// `report` is called on the current thread with the number of entries since the call before; an
    /// error that it returns cancels the work.
    pub fn new(report: &'a (dyn Fn(u64) -> Result<()> + Sync)) -> Progress<'a> {
        Progress {
            report,
            thread: thread::current().id(),
            unreported: AtomicU64::new(0),
        }
    }

    /// Adds processed entries, and reports when the interval has passed.
    pub fn add(&self, count: u64) -> Result<()> {
        let before = self.unreported.fetch_add(count, Ordering::Relaxed);
        if before + count < REPORT_INTERVAL || thread::current().id() != self.thread {
            return Ok(());
        }
        self.finish()
    }

    /// Reports the remaining entries.
    pub fn finish(&self) -> Result<()> {
        (self.report)(self.unreported.swap(0, Ordering::Relaxed))
    }
}
