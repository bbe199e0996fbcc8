//! Pages of a tree with staged changes over it, and of differences; what clients see of them.

pub mod diff_page;
pub mod list_range;
pub mod listing;
pub mod s3_xml;
pub mod shown_entry;
pub mod stats_json;
