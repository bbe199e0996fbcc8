//! A mapped file that may be cut short, or whose disk may fail, while it is read.
//!
//! The operating system tells who reads a page that is no longer there by SIGBUS, which ends the
//! process, and with it the answers about all other files. Here a handler puts a page of zeros in
//! the place of the one that is lost and lets the reader go on: no block of zeros has the checksum
//! that it must have, so the reader fails with an error of its own.

use std::fs::File;
use std::io;
use std::ops::Deref;

use memmap2::Mmap;

/// A read-only mapping of a whole file, whose lost pages read as zeros.
pub struct GuardedMap {
    map: Mmap,
    #[cfg(unix)]
    _watch: signal::Watch,
}

impl GuardedMap {
    /// Maps a file, which must not be empty.
    pub fn new(file: &File) -> io::Result<GuardedMap> {
        // SAFETY: tables are written under another name, renamed when complete and never changed
        // after that, so the mapping stays what it is; where somebody changes one all the same,
        // the bytes are garbage, which every block's checksum tells, and lost pages are zeros.
        let map = unsafe { Mmap::map(file) }?;
        Ok(GuardedMap {
            #[cfg(unix)]
            _watch: signal::Watch::new(&map),
            map,
        })
    }
}

impl Deref for GuardedMap {
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

    /// So many mappings are watched at most; those beyond are as dangerous as any.
    const PLACES: usize = 16_384;

    /// Where each watched mapping begins (0 for a free place, 1 for one being taken) and ends. A
    /// handler may take no lock, so this is all it looks at.
    static BEGINS: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
    static ENDS: [AtomicUsize; PLACES] = [const { AtomicUsize::new(0) }; PLACES];
    const FREE: usize = 0;
    const TAKEN: usize = 1;

    static HINT: AtomicUsize = AtomicUsize::new(0);
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static INSTALL: Once = Once::new();
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// A mapping's place in the list of those watched.
    pub struct Watch(Option<usize>);

    impl Watch {
        pub fn new(bytes: &[u8]) -> Watch {
            INSTALL.call_once(install);
            let start = HINT.fetch_add(1, Ordering::Relaxed);
            let place = (0..PLACES)
                .map(|step| start.wrapping_add(step) % PLACES)
                .find(|&place| {
                    let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
                    BEGINS[place]
                        .compare_exchange(FREE, TAKEN, success, failure)
                        .is_ok()
                });
            if let Some(place) = place {
                let begin = bytes.as_ptr() as usize;
                ENDS[place].store(begin + bytes.len(), Ordering::Relaxed);
                BEGINS[place].store(begin, Ordering::Release);
            }
            Watch(place)
        }
    }

    impl Drop for Watch {
        fn drop(&mut self) {
            if let Some(place) = self.0 {
                BEGINS[place].store(FREE, Ordering::Release);
            }
        }
    }

    fn is_watched(address: usize) -> bool {
        BEGINS.iter().zip(&ENDS).any(|(begin, end)| {
            let begin = begin.load(Ordering::Acquire);
            begin > TAKEN && (begin..end.load(Ordering::Relaxed)).contains(&address)
        })
    }

    fn install() {
        // SAFETY: `sysconf` has no conditions; the structs are plain data and filled in before
        // they are used; the handler does only what a handler may.
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
                let _ = BEFORE.set(before);
                libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut());
            }
        }
    }

    /// Puts zeros in the place of a lost page of a watched mapping. For any other address it puts
    /// the handler back that was there before and returns: the reader fails again, and that one
    /// is asked.
    extern "C" fn on_bus_error(number: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        // SAFETY: the operating system hands over a valid `info`. The page lies in a mapping that
        // is ours alone and is read by a thread that waits for this handler.
        unsafe {
            let address = (*info).si_addr() as usize;
            if is_watched(address) {
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
            match BEFORE.get() {
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
    fn what_is_lost_reads_as_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 100_000]).unwrap();
        let map = GuardedMap::new(&file).unwrap();
        assert!(map.iter().all(|byte| *byte == 7));
        file.set_len(0).unwrap();
        assert!(map.iter().all(|byte| *byte == 0));
        assert_eq!(map.len(), 100_000);
    }

    #[test]
    fn many_maps_come_and_go() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 10_000]).unwrap();
        let kept: Vec<_> = (0..100).map(|_| GuardedMap::new(&file).unwrap()).collect();
        for _ in 0..20_000 {
            GuardedMap::new(&file).unwrap();
        }
        file.set_len(0).unwrap();
        assert!(kept.iter().all(|map| map[9_999] == 0));
    }
}
