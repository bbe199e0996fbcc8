//! How numbers, times and keys are written as text.

mod decimal;
mod instant;
mod percent;
mod xml;

pub use decimal::{put_decimal, put_signed};
pub use instant::put_instant;
pub use percent::put_percent_encoded;
pub use xml::put_escaped;
