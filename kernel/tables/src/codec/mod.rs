//! The contents of a record: the framed value, identities, and the protobuf messages.

mod entry;
mod entry_view;
mod identity;
mod range_info;
mod staged;
mod value;
mod wire;

pub use entry::{Entry, text};
pub use entry_view::EntryView;
pub use identity::{IdentityStream, commit_id, entry_identity, hex, is_system_key};
pub use range_info::RangeInfo;
pub use staged::StagedEntry;
pub use value::{decode_value, encode_value};
pub(crate) use wire::Fields;
