//! Copies records of a tree into a new one, in the largest pieces that there are.

use super::cursor::TreeCursor;
use crate::error::{Error, Result};
use crate::ranges::RangeWriter;

/// Copies the records from where the cursor stands up to the key `end` and with it, to the last
/// one when there is no end: whole ranges by their ids, then whole blocks, then records.
pub fn copy_through(
    from: &mut TreeCursor,
    end: Option<&[u8]>,
    out: &mut RangeWriter,
) -> Result<()> {
    let ends_behind = |key: &[u8]| end.is_none_or(|end| key <= end);
    while from.key().is_some_and(ends_behind) {
        if let Some(info) = from.whole_range()
            && ends_behind(&info.max_key)
        {
            out.add_range(info.clone())?;
            from.skip_ranges(1);
            continue;
        }
        from.enter()?;
        let blocks = blocks_within(from, &ends_behind);
        if blocks > 0 {
            copy_blocks(from, blocks, out)?;
            from.skip_blocks(blocks)?;
        } else {
            copy_record(from, out)?;
        }
    }
    Ok(())
}

/// Returns how many blocks that lie ahead are to be copied whole.
fn blocks_within(from: &TreeCursor, ends_behind: &impl Fn(&[u8]) -> bool) -> usize {
    let mut count = 0;
    while from
        .blocks_end(count + 1)
        .is_some_and(|end| ends_behind(&end))
    {
        count += 1;
    }
    count
}

fn copy_blocks(from: &TreeCursor, count: usize, out: &mut RangeWriter) -> Result<()> {
    let Some((table, first)) = from.block_ahead() else {
        return Ok(());
    };
    (first..first + count)
        .try_for_each(|block| out.add_block(table, block))
        .map_err(|error| blame(from, error))
}

fn copy_record(from: &mut TreeCursor, out: &mut RangeWriter) -> Result<()> {
    if let Some((key, value)) = from.record()? {
        let added = out.add(key, value);
        added.map_err(|error| blame(from, error))?;
    }
    from.next()
}

/// Keys are copied in the order in which they lie, so when it is wrong, the table is to blame.
fn blame(from: &TreeCursor, error: Error) -> Error {
    match error {
        Error::Order(reason) => from.corrupt(&reason),
        other => other,
    }
}
