//! How a sequence of records becomes ranges, and ranges a metarange.

pub mod cut;
pub mod metarange;
pub mod writer;

pub use cut::break_after;
pub use metarange::write_metarange;
pub use writer::RangeWriter;
