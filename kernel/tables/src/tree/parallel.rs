//! Runs independent pieces of one operation on several threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use crate::error::Result;

/// More threads than this bring nothing: the disk is the limit then.
const MAX_THREADS: usize = 8;

/// Work on fewer entries takes about as long as the threads to begin.
const FEW_ENTRIES: u64 = 10_000;

/// Returns the number of threads that this process may run at once. Finding it out reads several
/// files of the system, which takes longer than a small write.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// Like [`each`], for work on so many entries in all: few of them are done by this thread alone.
pub fn each_of<T: Send>(
    entries: u64,
    count: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    if entries < FEW_ENTRIES {
        return (0..count).map(work).collect();
    }
    each(count, work)
}

/// Returns what `work` returns for each number below `count`, in order. Fails with the error of
/// the first piece that failed; pieces not begun by then are left out.
pub fn each<T: Send>(count: usize, work: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    let threads = count.min(cores()).min(MAX_THREADS);
    if threads < 2 {
        return (0..count).map(work).collect();
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let slots: Vec<Mutex<Option<Result<T>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    let run = || {
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = slots.get(number) else {
                return;
            };
            let done = work(number);
            if done.is_err() {
                failed.store(true, Ordering::Relaxed);
            }
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(run);
        }
        run();
    });
    slots
        .into_iter()
        .filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order() {
        let squares = each(1000, |number| Ok(number * number)).unwrap();
        assert_eq!(squares, (0..1000).map(|n| n * n).collect::<Vec<_>>());
        assert!(each(0, |_| Ok(())).unwrap().is_empty());
        for entries in [0, FEW_ENTRIES] {
            let doubled = each_of(entries, 100, |number| Ok(number * 2)).unwrap();
            assert_eq!(doubled, (0..100).map(|n| n * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn an_error_is_returned() {
        let done = each(1000, |number| match number {
            700 => Err(Error::Invalid("seven hundred".into())),
            _ => Ok(()),
        });
        assert_eq!(done.unwrap_err().to_string(), "seven hundred");
    }

    #[test]
    fn few_entries_begin_no_thread() {
        let own = thread::current().id();
        let threads = each_of(FEW_ENTRIES - 1, 100, |_| Ok(thread::current().id())).unwrap();
        assert!(threads.iter().all(|id| *id == own));
    }
}
