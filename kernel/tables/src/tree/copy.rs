//! Copies records of a tree into a new one, in pieces as large as possible.

use super::cursor::TreeCursor;
use crate::codec::RangeInfo;
use crate::error::{Error, Result};
use crate::ranges::RangeWriter;

/// Copies the records from where the cursor stands up to the key `end` and with it, to the last
/// one when there is no end: whole ranges by their ids, then whole blocks, then records.
pub fn copy_through(
    from: &mut TreeCursor,
    end: Option<&[u8]>,
    out: &mut RangeWriter,
) -> Result<()> {
    copy_while(from, |key| end.is_none_or(|end| key <= end), out)
}

/// Like [`copy_through`], up to the key `end` and without it.
pub fn copy_before(from: &mut TreeCursor, end: &[u8], out: &mut RangeWriter) -> Result<()> {
    copy_while(from, |key| key < end, out)
}

fn copy_while(
    from: &mut TreeCursor,
    fits: impl Fn(&[u8]) -> bool,
    out: &mut RangeWriter,
) -> Result<()> {
    while from.key().is_some_and(&fits) {
        copy_piece(from, &fits, |_, _| true, out)?;
    }
    Ok(())
}

/// Copies the largest piece that lies ahead and has only keys that fit, which that of the record
/// must; keys that fit are not parted by others. A range is taken by its id if it is to be `taken`.
pub fn copy_piece(
    from: &mut TreeCursor,
    fits: &impl Fn(&[u8]) -> bool,
    taken: impl Fn(&RangeInfo, &RangeWriter) -> bool,
    out: &mut RangeWriter,
) -> Result<()> {
    if let Some(info) = from.whole_range()
        && fits(&info.max_key)
        && taken(info, out)
    {
        out.add_range(info.clone())?;
        from.skip_ranges(1);
        return Ok(());
    }
    from.enter()?;
    match blocks_within(from, fits) {
        0 => copy_record(from, out),
        blocks => {
            copy_blocks(from, blocks, out)?;
            from.skip_blocks(blocks)
        }
    }
}

/// Returns how many blocks that lie ahead are to be copied whole.
fn blocks_within(from: &TreeCursor, fits: &impl Fn(&[u8]) -> bool) -> usize {
    let mut count = 0;
    while from.blocks_end(count + 1).is_some_and(|end| fits(&end)) {
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

/// Keys are copied in stored order, so a wrong order means that the table is damaged.
fn blame(from: &TreeCursor, error: Error) -> Error {
    match error {
        Error::Order(reason) => from.corrupt(&reason),
        other => other,
    }
}
