//! Tables and trees of Anabranch: the RocksDB-compatible SSTables that hold object metadata,
//! and the walks over them.
