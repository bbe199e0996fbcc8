//! The boundaries between ranges.
//!
//! A range ends after a key with a certain hash, in every commit that has the key. Equal records are
//! therefore split into equal ranges, and a change only affects the boundaries at the keys that it
//! touches. A range also ends when it exceeds a maximum size.

use crate::table::BlockScan;

/// The size, in bytes, at which a range ends.
const MAX_RANGE_SIZE: u64 = 20 << 20;

/// One key in about this many ends its range.
const RAGGEDNESS: u64 = 50_000;

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Returns whether a range ends after `key`, given its estimated size in bytes including the key.
pub fn break_after(key: &[u8], estimated_size: u64) -> bool {
    estimated_size >= MAX_RANGE_SIZE || hash_breaks(key.iter().fold(FNV_START, fnv_step))
}

/// FNV-1a, 64 bits.
fn fnv_step(hash: u64, byte: &u8) -> u64 {
    (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME)
}

fn hash_breaks(hash: u64) -> bool {
    hash.is_multiple_of(RAGGEDNESS)
}

/// Returns whether a range may end within a block, before its last record, if the range has
/// this estimated size before the block.
pub(super) fn may_break_within(block: &BlockScan, size_before: u64, states: &mut Vec<u64>) -> bool {
    // an upper bound of what the block, a block that it completes and their index entries add
    let most = size_before + 2 * block.size() as u64 + 4096;
    if most >= MAX_RANGE_SIZE {
        return true;
    }
    // The hash after each byte of a key is stored, so that only the differing bytes of the next key
    // are hashed.
    states.clear();
    states.push(FNV_START);
    for number in 0..block.records().saturating_sub(1) {
        let (key, _) = block.record(number);
        let shared = block.shared(number).min(states.len() - 1);
        let mut hash = states[shared];
        states.resize(key.len() + 1, 0);
        for (byte, state) in key[shared..].iter().zip(&mut states[shared + 1..]) {
            hash = fnv_step(hash, byte);
            *state = hash;
        }
        if hash_breaks(hash) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_end_ranges_in_lakefs() {
        let ends = [
            "p009/f00102",
            "p052/f00278",
            "p102/f00258",
            "p103/f00635",
            "p114/f00323",
            "p132/f00107",
            "p135/f00519",
        ];
        let all = (0..150).flat_map(|p| (0..1000).map(move |f| format!("p{p:03}/f{f:05}")));
        let found: Vec<String> = all.filter(|key| break_after(key.as_bytes(), 0)).collect();
        assert_eq!(found, ends);
    }

    #[test]
    fn a_size_of_20_mib_ends_a_range() {
        assert!(!break_after(b"a", MAX_RANGE_SIZE - 1));
        assert!(break_after(b"a", MAX_RANGE_SIZE));
    }
}
