//! The wire form of protobuf messages: fields of a number, a wire type and a value.
//!
//! Writing leaves out fields with their default value, as proto3 does. Reading returns every field,
//! and the message skips those that it does not know.

use crate::error::{Error, Result};
use crate::varint;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

/// Appends a field with a number, unless it is 0.
pub fn put_int(out: &mut Vec<u8>, field: u64, value: i64) {
    if value != 0 {
        varint::put(out, field << 3 | VARINT);
        varint::put(out, value as u64);
    }
}

/// Appends a field with bytes, unless they are empty.
pub fn put_bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    if !value.is_empty() {
        put_message(out, field, value);
    }
}

/// Appends a field with an embedded message, which is there even when it is empty.
pub fn put_message(out: &mut Vec<u8>, field: u64, message: &[u8]) {
    varint::put(out, field << 3 | BYTES);
    varint::put(out, message.len() as u64);
    out.extend_from_slice(message);
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Int(u64),
    Bytes(&'a [u8]),
    /// A fixed-size number, which none of our messages has.
    Fixed,
}

impl<'a> Value<'a> {
    /// Returns a number of 64 bits. Fails for another type.
    pub fn int(self) -> Result<i64> {
        match self {
            Value::Int(value) => Ok(value as i64),
            _ => Err(malformed("a number was expected")),
        }
    }

    /// Returns a 32-bit number; like Go, keeps the low bits of a longer one.
    pub fn int32(self) -> Result<i32> {
        Ok(self.int()? as i32)
    }

    /// Returns bytes. Fails for another type.
    pub fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Value::Bytes(value) => Ok(value),
            _ => Err(malformed("bytes were expected")),
        }
    }
}

/// The fields of a message in stored order.
pub struct Fields<'a> {
    message: &'a [u8],
    position: usize,
}

impl<'a> Fields<'a> {
    /// Returns the fields of a message.
    pub fn of(message: &'a [u8]) -> Self {
        Fields {
            message,
            position: 0,
        }
    }

    /// Returns the next field's number and value, None at the end.
    pub fn next(&mut self) -> Result<Option<(u64, Value<'a>)>> {
        if self.position == self.message.len() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let field = tag >> 3;
        if field == 0 || field >= 1 << 29 {
            return Err(malformed("a field number is out of bounds"));
        }
        let value = match tag & 7 {
            VARINT => Value::Int(self.varint()?),
            BYTES => {
                let length = self.varint()?;
                Value::Bytes(self.slice(length)?)
            }
            FIXED64 => self.slice(8).map(|_| Value::Fixed)?,
            FIXED32 => self.slice(4).map(|_| Value::Fixed)?,
            _ => return Err(malformed("unknown wire type")),
        };
        Ok(Some((field, value)))
    }

    fn varint(&mut self) -> Result<u64> {
        varint::take(self.message, &mut self.position).ok_or_else(|| malformed("bad varint"))
    }

    fn slice(&mut self, length: u64) -> Result<&'a [u8]> {
        let rest = &self.message[self.position..];
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let slice = rest
            .get(..length)
            .ok_or_else(|| malformed("a field ends behind the message"))?;
        self.position += length;
        Ok(slice)
    }
}

fn malformed(what: &str) -> Error {
    Error::Invalid(format!("malformed message: {what}"))
}
