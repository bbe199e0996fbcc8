//! Hints to the processor about memory that is read soon.

/// Bytes of a line of a processor's caches.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// More lines than that are not asked for at once.
#[cfg(target_arch = "x86_64")]
const MOST: usize = 64;

/// Asks the processor to bring bytes into its caches, without waiting for them. Does nothing on
/// processors other than x86-64.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE).take(MOST) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that could be seen and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
