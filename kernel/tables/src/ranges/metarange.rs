//! Writes the table that lists the ranges of a tree.

use crate::codec::RangeInfo;
use crate::error::Result;
use crate::table::{Kind, TableFolder, TableWriter};

/// Writes the metarange of ranges, which must be in order, into a folder. Returns its id, and
/// whether the file was written and not there before. `metadata` is part of the id. Fails with
/// [`crate::Error::Order`].
pub fn write_metarange(
    ranges: &[RangeInfo],
    metadata: &[(String, String)],
    folder: impl Into<TableFolder>,
) -> Result<(String, bool)> {
    let mut writer = TableWriter::new(Kind::Metaranges);
    let mut value = Vec::new();
    for range in ranges {
        value.clear();
        range.encode_value(&mut value);
        writer.add(&range.max_key, &value)?;
    }
    let table = writer.finish(metadata)?;
    let written = folder.into().write(&table)?;
    Ok((table.id, written))
}
