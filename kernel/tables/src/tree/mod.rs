//! A tree: a metarange with its ranges, all the records of one commit in the order of their keys.
//!
//! - Open: [`Pool`] keeps tables open, [`Tree`] finds a key's range, [`Values`] are those of many
//!   keys, [`TreeCursor`] walks.
//! - Read: [`Listing`] is a page of a tree with staged changes over it, shown by [`stats_json`]
//!   and [`s3_xml`]; [`addresses`] gives one of each folder.
//! - Divide: [`parts`] cuts a tree by keys.
//! - Compare: [`diff`] of two trees, [`compare`] of three, pages of either, and [`conflicts`].
//! - Write: [`load`] makes a tree of records, [`Application`] one of changes, [`merge`] one of three,
//!   [`layers`] one of parts of many.

mod application;
mod apply;
mod changes;
mod copy;
mod cursor;
mod look_ups;
mod merging;
mod pages;
mod parallel;
mod pool;
mod range_list;
mod rewrite;
#[expect(
    clippy::module_inception,
    reason = "a tree is what the module is about"
)]
mod tree;
mod write_result;

pub mod addresses;
pub mod diff;
pub mod layers;
pub mod load;
pub mod parts;

#[cfg(test)]
mod model_tests;
#[cfg(test)]
pub(crate) mod testing;

pub use application::Application;
pub use changes::{Change, Changes};
pub use cursor::TreeCursor;
pub use look_ups::Values;
pub use merging::{compare, conflicts, merge};
pub use pages::diff_page::{DiffPage, Kind, Row, compare_page, diff_page, kind as difference_kind};
pub use pages::list_range::{ListRange, successor, upper_bound};
pub use pages::listing::{Item, Listing, Staged};
pub use pages::{s3_xml, shown_entry, stats_json};
pub use pool::{Locate, Pool, TableId};
pub use range_list::RangeList;
pub use tree::Tree;
pub use write_result::{ChangeCounts, WriteResult};
