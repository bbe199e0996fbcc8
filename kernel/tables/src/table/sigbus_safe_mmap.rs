//! A memory-mapped file that survives truncation and disk errors while it is read.
//!
//! Reading a lost page of a mapping raises SIGBUS, which by default ends the process. The handler in
//! this module maps a page of zeros over the lost page and resumes the reader. A block of zeros
//! never has a valid checksum, so the reader then fails with an ordinary error.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// A read-only mapping of a whole file, whose lost pages read as zeros.
pub struct SigbusSafeMmap {
    map: Mmap,
    #[cfg(unix)]
    _registration: signal::Registration,
}

impl SigbusSafeMmap {
    /// Maps a file, which must not be empty.
    pub fn new(file: &File) -> io::Result<SigbusSafeMmap> {
        // SAFETY: tables are written under another name, renamed when complete and never changed
        // afterwards, so the mapping is constant. If another program changes a table nevertheless,
        // the checksums of its blocks detect that, and lost pages read as zeros.
        let map = unsafe { Mmap::map(file) }?;
        Ok(SigbusSafeMmap {
            #[cfg(unix)]
            _registration: signal::Registration::new(&map),
            map,
        })
    }
}

impl Deref for SigbusSafeMmap {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.map
    }
}

#[cfg(unix)]
mod signal {
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::Once;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use libc::{c_int, c_void, siginfo_t};

    /// The maximum number of registered mappings; further mappings are not protected.
    const MAX_MAPPINGS: usize = 16_384;

    /// The first address of each registered mapping (0 for a free slot, 1 for a slot being filled)
    /// and its end. The signal handler must not take a lock, so it reads only these arrays.
    static STARTS: [AtomicUsize; MAX_MAPPINGS] = [const { AtomicUsize::new(0) }; MAX_MAPPINGS];
    static ENDS: [AtomicUsize; MAX_MAPPINGS] = [const { AtomicUsize::new(0) }; MAX_MAPPINGS];
    const FREE: usize = 0;
    const RESERVED: usize = 1;

    static HINT: AtomicUsize = AtomicUsize::new(0);
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static INSTALL: Once = Once::new();
    static PREVIOUS_ACTION: OnceLock<libc::sigaction> = OnceLock::new();

    /// The registration of a mapping: its slot, None if all slots are in use.
    pub struct Registration(Option<usize>);

    impl Registration {
        /// Registers a mapping, as long as there is room for one.
        pub fn new(bytes: &[u8]) -> Registration {
            INSTALL.call_once(install);
            let start = HINT.fetch_add(1, Ordering::Relaxed);
            let slot = (0..MAX_MAPPINGS)
                .map(|step| start.wrapping_add(step) % MAX_MAPPINGS)
                .find(|&slot| {
                    let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
                    STARTS[slot]
                        .compare_exchange(FREE, RESERVED, success, failure)
                        .is_ok()
                });
            if let Some(slot) = slot {
                let begin = bytes.as_ptr() as usize;
                ENDS[slot].store(begin + bytes.len(), Ordering::Relaxed);
                STARTS[slot].store(begin, Ordering::Release);
            }
            Registration(slot)
        }
    }

    impl Drop for Registration {
        fn drop(&mut self) {
            if let Some(slot) = self.0 {
                STARTS[slot].store(FREE, Ordering::Release);
            }
        }
    }

    fn is_registered(address: usize) -> bool {
        STARTS.iter().zip(&ENDS).any(|(begin, end)| {
            let begin = begin.load(Ordering::Acquire);
            begin > RESERVED && (begin..end.load(Ordering::Relaxed)).contains(&address)
        })
    }

    fn install() {
        // SAFETY: `sysconf` has no preconditions; the structs are plain data and initialized before
        // use; the handler is async-signal-safe.
        unsafe {
            PAGE.store(
                usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096),
                Ordering::Relaxed,
            );
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut action.sa_mask);
            let mut before: libc::sigaction = MaybeUninit::zeroed().assume_init();
            if libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut before) == 0 {
                let _ = PREVIOUS_ACTION.set(before);
                libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
            }
        }
    }

    /// Maps zeros over a lost page of a registered mapping. For any other address it restores the
    /// previous handler and returns: the read fails again, and that handler runs.
    extern "C" fn on_bus_error(number: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        // SAFETY: the operating system passes a valid `info`. The page belongs to a mapping of this
        // module, and the thread that reads it is suspended in this handler.
        unsafe {
            let address = (*info).si_addr() as usize;
            if is_registered(address) {
                let page = PAGE.load(Ordering::Relaxed);
                let mapped = libc::mmap(
                    (address - address % page) as *mut c_void,
                    page,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
                    -1,
                    0,
                );
                if mapped != libc::MAP_FAILED {
                    return;
                }
            }
            match PREVIOUS_ACTION.get() {
                Some(before) => libc::sigaction(number, before, ptr::null_mut()),
                None => libc::sigaction(number, ptr::null(), ptr::null_mut()),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn truncated_file_reads_as_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100_000]).unwrap();
        let map = SigbusSafeMmap::new(&file).unwrap();
        assert!(map.iter().all(|byte| *byte == 7));
        file.set_len(0).unwrap();
        assert!(map.iter().all(|byte| *byte == 0));
        assert_eq!(map.len(), 100_000);
    }

    #[test]
    fn slots_are_reused_by_many_mappings() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        let kept: Vec<_> = (0..100)
            .map(|_| SigbusSafeMmap::new(&file).unwrap())
            .collect();
        for _ in 0..20_000 {
            SigbusSafeMmap::new(&file).unwrap();
        }
        file.set_len(0).unwrap();
        assert!(kept.iter().all(|map| map[9_999] == 0));
    }
}
