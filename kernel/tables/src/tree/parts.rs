//! Cuts a tree by keys into parts of about equally many blocks. Only the indexes of ranges are read.

use super::tree::Tree;
use crate::error::{Error, Result};

/// The keys after the first one, up to and including the second, if there is one.
pub type KeySpan = (Vec<u8>, Option<Vec<u8>>);

/// Returns the keys of the part `number` of so many parts, which together have all keys. Parts are
/// empty if there are too few blocks. Fails with [`Error::Invalid`] for a number that is too large.
pub fn part(tree: &Tree, number: usize, parts: usize) -> Result<KeySpan> {
    if number >= parts {
        return Err(Error::Invalid(format!("no part {number} of {parts}")));
    }
    let counts = (0..tree.ranges().len())
        .map(|range| Ok(tree.table(range)?.block_count()))
        .collect::<Result<Vec<_>>>()?;
    let total: usize = counts.iter().sum();
    let end = |number: usize| end_of_blocks(tree, &counts, scaled(total, number, parts));
    let until = match number + 1 == parts {
        true => None,
        false => Some(end(number + 1)?),
    };
    Ok((end(number)?, until))
}

/// Returns `total * number / parts` without overflow.
fn scaled(total: usize, number: usize, parts: usize) -> usize {
    let product = total as u128 * number as u128 / parts as u128;
    usize::try_from(product).unwrap_or(total)
}

/// Returns a key that no key of the first `blocks` blocks is above, and every later one is above.
fn end_of_blocks(tree: &Tree, counts: &[usize], blocks: usize) -> Result<Vec<u8>> {
    let mut left = blocks;
    for (range, &count) in counts.iter().enumerate() {
        if left <= count {
            return match left.checked_sub(1) {
                None => Ok(Vec::new()),
                // The separator of the last block may be above the first key of the next range.
                Some(block) => {
                    let max_key = &tree.ranges()[range].max_key;
                    Ok(tree.table(range)?.separator(block).min(max_key.clone()))
                }
            };
        }
        left -= count;
    }
    Ok(Vec::new())
}
