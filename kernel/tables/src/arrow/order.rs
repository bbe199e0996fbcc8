//! Sorts unsorted paths.
//!
//! The paths of a listing share long prefixes, so comparing them as strings would be slow. Instead,
//! the common prefix of a run of paths is found once, the next eight bytes are sorted as a number,
//! and each run of equal numbers is sorted recursively (an MSD radix sort whose digit is the eight
//! bytes after the common prefix).

use arrow_array::{RecordBatch, RecordBatchReader};

use super::columns::Bytes;
use crate::error::{Error, Result};

/// Runs that are shorter are compared path by path.
const SHORT: usize = 16;

const DIGIT: usize = 8;

/// Returns the numbers of the rows of a stream in the order of their column `path`: those that are
/// equal in their original order, and those without a path last. Fails with [`Error::Invalid`] if
/// the column is missing or not text, and for more rows than 32 bits can count.
pub fn path_order(source: impl RecordBatchReader) -> Result<Vec<u32>> {
    let batches = source.collect::<std::result::Result<Vec<RecordBatch>, _>>();
    let batches = batches.map_err(|error| Error::Invalid(error.to_string()))?;
    let mut paths: Vec<&[u8]> = Vec::new();
    let (mut items, mut absent) = (Vec::new(), Vec::new());
    let columns = batches
        .iter()
        .map(|batch| Ok((Bytes::text(batch, "path")?, batch.num_rows())))
        .collect::<Result<Vec<_>>>()?;
    for (column, rows) in &columns {
        for row in 0..*rows {
            let number = u32::try_from(paths.len())
                .map_err(|_| Error::Invalid("too many rows to sort at once".into()))?;
            let path = column.get(row);
            match path {
                Some(_) => items.push(Item { digit: 0, number }),
                None => absent.push(number),
            }
            paths.push(path.unwrap_or_default());
        }
    }
    sort(&mut items, &paths, 0);
    Ok(items.iter().map(|item| item.number).chain(absent).collect())
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    digit: u64,
    number: u32,
}

/// Sorts paths whose first `depth` bytes are equal.
fn sort(items: &mut [Item], paths: &[&[u8]], depth: usize) {
    let path = |item: &Item| paths[item.number as usize];
    let alike = match items {
        [first, rest @ ..] if rest.len() >= SHORT => {
            let first = &path(first)[depth..];
            let common = |item| common(first, &path(item)[depth..]);
            depth + rest.iter().map(common).min().unwrap_or_default()
        }
        _ => {
            items.sort_unstable_by_key(|item| (path(item), item.number));
            return;
        }
    };
    for item in items.iter_mut() {
        item.digit = digit(&path(item)[alike..]);
    }
    items.sort_unstable();
    let behind = alike + DIGIT;
    for run in items.chunk_by_mut(|left, right| left.digit == right.digit) {
        if run.len() == 1 {
            continue;
        }
        if run.iter().all(|item| path(item).len() > behind) {
            sort(run, paths, behind);
        } else {
            // the end of a path and a byte of zero give the same number
            run.sort_unstable_by_key(|item| (path(item), item.number));
        }
    }
}

fn common(left: &[u8], right: &[u8]) -> usize {
    let pairs = left.iter().zip(right);
    pairs.take_while(|(left, right)| left == right).count()
}

/// Returns the first eight bytes as a number that sorts in the same order.
fn digit(bytes: &[u8]) -> u64 {
    let mut first = [0; DIGIT];
    let length = bytes.len().min(DIGIT);
    first[..length].copy_from_slice(&bytes[..length]);
    u64::from_be_bytes(first)
}
