//! JSON lines: what a scan must find before a fast reader may decode them.
//!
//! Fast readers give 64-bit integers and doubles, and one of two values of the same name. The scan
//! finds the type of each column, and vouches that this type holds each value as it is written. The
//! values of columns without such a type are handed over as they are written.

mod cursor;
mod document;
mod lines;
mod numbers;
mod shape;
mod text;
mod values;

pub use document::document_lines;
pub use lines::Lines;
