//! How much two keys have in common.

/// Returns how many first bytes two strings have in common.
#[inline]
pub fn shared_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut shared = 0;
    while let (Some(x), Some(y)) = (a[shared..].first_chunk(), b[shared..].first_chunk()) {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return shared + differing.trailing_zeros() as usize / 8;
        }
        shared += 8;
    }
    let rest = a[shared..].iter().zip(&b[shared..]);
    shared + rest.take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shared_prefix_is_what_it_says(stem: Vec<u8>, a: Vec<u8>, b: Vec<u8>) {
            let a = [&stem[..], &a].concat();
            let b = [&stem[..], &b].concat();
            let shared = shared_prefix(&a, &b);
            prop_assert!(shared >= stem.len());
            prop_assert_eq!(&a[..shared], &b[..shared]);
            prop_assert!(a.get(shared) != b.get(shared) || shared == a.len() || shared == b.len());
        }
    }
}
