//! JSON lines: what a scan must find before a fast reader may decode them.
//!
//! Fast readers give 64-bit integers and doubles, and one of two values of the same name. The scan
//! finds the type of each column, and vouches that this type holds each value as it is written.

mod lines;
mod numbers;
mod shape;
mod text;

pub use lines::Lines;
