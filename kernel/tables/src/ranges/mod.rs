//! How a sequence of records becomes ranges, and ranges a metarange.

pub mod metarange;
pub mod range_boundary;
pub mod writer;

pub use metarange::write_metarange;
pub use range_boundary::break_after;
pub use writer::RangeWriter;
