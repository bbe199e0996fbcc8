//! Columns of a record batch, read by row whatever their layout: text and bytes come with small
//! offsets, large ones or as views, numbers and times in several widths and units.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Int32Array, Int64Array, LargeBinaryArray,
    LargeStringArray, MapArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_schema::{DataType, TimeUnit};

use crate::error::{Error, Result};

/// A column, found by name.
struct Named<'a> {
    name: &'a str,
    array: &'a ArrayRef,
}

impl<'a> Named<'a> {
    fn find(batch: &'a RecordBatch, name: &'a str) -> Result<Named<'a>> {
        let array = batch.column_by_name(name);
        let array = array.ok_or_else(|| Error::Invalid(format!("no column {name:?}")))?;
        Ok(Named { name, array })
    }

    fn wrong_type(&self, expected: &str) -> Error {
        let (name, found) = (self.name, self.array.data_type());
        Error::Invalid(format!("the column {name:?} is {found}, not {expected}"))
    }
}

/// Texts or bytes.
pub enum Bytes<'a> {
    /// Bytes with offsets of 32 bits.
    Binary(&'a BinaryArray),
    /// Bytes with offsets of 64 bits.
    LargeBinary(&'a LargeBinaryArray),
    /// Views of bytes.
    BinaryView(&'a BinaryViewArray),
    /// Texts with offsets of 32 bits.
    Utf8(&'a StringArray),
    /// Texts with offsets of 64 bits.
    LargeUtf8(&'a LargeStringArray),
    /// Views of texts.
    Utf8View(&'a StringViewArray),
}

impl<'a> Bytes<'a> {
    /// Finds a column of bytes. Fails if it is missing or of another type.
    pub fn binary(batch: &'a RecordBatch, name: &'a str) -> Result<Bytes<'a>> {
        let named = Named::find(batch, name)?;
        match Bytes::of(named.array) {
            Some(bytes) => Ok(bytes),
            None => Err(named.wrong_type("binary")),
        }
    }

    /// Finds a column of text. Fails if it is missing or of another type.
    pub fn text(batch: &'a RecordBatch, name: &'a str) -> Result<Bytes<'a>> {
        let named = Named::find(batch, name)?;
        match Bytes::of(named.array) {
            Some(text) if text.is_text() => Ok(text),
            _ => Err(named.wrong_type("text")),
        }
    }

    fn of(array: &'a ArrayRef) -> Option<Bytes<'a>> {
        Some(match array.data_type() {
            DataType::Binary => Bytes::Binary(array.as_binary()),
            DataType::LargeBinary => Bytes::LargeBinary(array.as_binary()),
            DataType::BinaryView => Bytes::BinaryView(array.as_binary_view()),
            DataType::Utf8 => Bytes::Utf8(array.as_string()),
            DataType::LargeUtf8 => Bytes::LargeUtf8(array.as_string()),
            DataType::Utf8View => Bytes::Utf8View(array.as_string_view()),
            _ => return None,
        })
    }

    fn is_text(&self) -> bool {
        matches!(
            self,
            Bytes::Utf8(_) | Bytes::LargeUtf8(_) | Bytes::Utf8View(_)
        )
    }

    /// Returns the bytes of a row, None for null.
    pub fn get(&self, row: usize) -> Option<&'a [u8]> {
        match self {
            Bytes::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Bytes::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Bytes::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Bytes::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Bytes::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Bytes::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
        }
    }
}

/// Whole numbers.
pub enum Numbers<'a> {
    /// Numbers of 32 bits.
    Int32(&'a Int32Array),
    /// Numbers of 64 bits.
    Int64(&'a Int64Array),
}

impl<'a> Numbers<'a> {
    /// Finds a column by its name. Fails if it is missing or of another type.
    pub fn find(batch: &'a RecordBatch, name: &'a str) -> Result<Numbers<'a>> {
        let named = Named::find(batch, name)?;
        match named.array.data_type() {
            DataType::Int32 => Ok(Numbers::Int32(named.array.as_primitive::<Int32Type>())),
            DataType::Int64 => Ok(Numbers::Int64(named.array.as_primitive::<Int64Type>())),
            _ => Err(named.wrong_type("int32 or int64")),
        }
    }

    /// Returns the number of a row, None for null.
    pub fn get(&self, row: usize) -> Option<i64> {
        match self {
            Numbers::Int32(array) => array.is_valid(row).then(|| i64::from(array.value(row))),
            Numbers::Int64(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }
}

/// Points in time.
pub struct Times<'a> {
    array: &'a ArrayRef,
    unit: TimeUnit,
}

impl<'a> Times<'a> {
    /// Finds a column by its name. Fails if it is missing or of another type.
    pub fn find(batch: &'a RecordBatch, name: &'a str) -> Result<Times<'a>> {
        let named = Named::find(batch, name)?;
        match named.array.data_type() {
            DataType::Timestamp(unit, _) => Ok(Times {
                array: named.array,
                unit: *unit,
            }),
            _ => Err(named.wrong_type("a timestamp")),
        }
    }

    /// Returns the seconds since 1970 and the nanoseconds on top of a row, None for null.
    pub fn get(&self, row: usize) -> Option<(i64, i32)> {
        if self.array.is_null(row) {
            return None;
        }
        let (value, per_second) = match self.unit {
            TimeUnit::Second => (self.value::<TimestampSecondType>(row), 1),
            TimeUnit::Millisecond => (self.value::<TimestampMillisecondType>(row), 1_000),
            TimeUnit::Microsecond => (self.value::<TimestampMicrosecondType>(row), 1_000_000),
            TimeUnit::Nanosecond => (self.value::<TimestampNanosecondType>(row), 1_000_000_000),
        };
        let nanos = value.rem_euclid(per_second) * (1_000_000_000 / per_second);
        Some((value.div_euclid(per_second), nanos as i32))
    }

    fn value<T: arrow_array::ArrowPrimitiveType<Native = i64>>(&self, row: usize) -> i64 {
        self.array.as_primitive::<T>().value(row)
    }
}

/// Maps of texts.
pub struct Maps<'a> {
    array: &'a MapArray,
    keys: Bytes<'a>,
    values: Bytes<'a>,
}

impl<'a> Maps<'a> {
    /// Finds a column by its name. Fails if it is missing or of another type.
    pub fn find(batch: &'a RecordBatch, name: &'a str) -> Result<Maps<'a>> {
        let named = Named::find(batch, name)?;
        let wrong = || named.wrong_type("a map of texts");
        let array = named.array.as_map_opt().ok_or_else(wrong)?;
        let text = |array| Bytes::of(array).filter(Bytes::is_text).ok_or_else(wrong);
        Ok(Maps {
            array,
            keys: text(array.keys())?,
            values: text(array.values())?,
        })
    }

    /// Appends the pairs of a row to `pairs`, none for null. A value that is null is empty.
    pub fn get(&self, row: usize, pairs: &mut Vec<(&'a [u8], &'a [u8])>) {
        if self.array.is_null(row) {
            return;
        }
        let ends = self.array.value_offsets();
        for pair in ends[row] as usize..ends[row + 1] as usize {
            let value = self.values.get(pair).unwrap_or_default();
            pairs.push((self.keys.get(pair).unwrap_or_default(), value));
        }
    }
}
