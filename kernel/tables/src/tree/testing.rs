//! Trees for tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Locate, Pool, Tree};
use crate::codec::encode_value;
use crate::table::{Kind, TableFolder, TableWriter};
use crate::tree::load::Loader;

/// Returns the framed value of an identity and data.
pub fn value(identity: &str, data: &str) -> Vec<u8> {
    let mut out = Vec::new();
    encode_value(identity.as_bytes(), data.as_bytes(), &mut out);
    out
}

/// A folder of tables that is gone at the end.
pub struct Folder {
    folder: tempfile::TempDir,
    pool: Arc<Pool>,
}

impl Folder {
    pub fn new() -> Folder {
        Folder {
            folder: tempfile::tempdir().unwrap(),
            pool: Arc::new(Pool::new(16)),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn locate(&self) -> impl Locate + use<> {
        let folder = self.path().to_owned();
        move |id: &str| -> PathBuf { folder.join(id) }
    }

    /// Writes one range of keys and identities, with the data "d", and returns its id.
    pub fn range(&self, records: &[(&str, &str)]) -> String {
        let mut writer = TableWriter::new(Kind::Ranges);
        for (key, identity) in records {
            writer.add(key.as_bytes(), &value(identity, "d")).unwrap();
        }
        let table = writer.finish(&[]).unwrap();
        TableFolder::from(self.path()).write(&table).unwrap();
        table.id
    }

    /// Opens a tree that is there.
    pub fn open(&self, metarange_id: &str) -> Tree {
        Tree::open(&self.pool, metarange_id, Arc::new(self.locate())).unwrap()
    }

    /// Writes a tree of framed values.
    pub fn tree<'a>(&self, records: impl IntoIterator<Item = (&'a Vec<u8>, &'a Vec<u8>)>) -> Tree {
        let mut loader = Loader::new(self.path());
        for (key, value) in records {
            loader.add(key, value).unwrap();
        }
        self.open(&loader.finish().unwrap().metarange_id)
    }
}
