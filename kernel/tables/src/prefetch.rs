//! Prefetch hints to the processor.

/// The size of a cache line in bytes.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

/// The maximum number of lines prefetched by one call.
#[cfg(target_arch = "x86_64")]
const MOST: usize = 64;

/// Prefetches bytes into the processor's caches without waiting for them. Does nothing on
/// processors other than x86-64.
#[inline]
pub fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(LINE).take(MOST) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no visible effect and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}
