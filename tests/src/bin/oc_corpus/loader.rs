//! How loader classes are read that the table of splits does not know.

use compass_config::Loader;
use compass_loader::TreeLoader;
use std::sync::Arc;

/// The loader that the master uses without an interpreter; its rows are kept beside other temporary files.
pub(super) fn loader() -> Option<Loader> {
    let rows = std::env::temp_dir().join("compass-oc-corpus-rows");
    Some(Loader(Arc::new(TreeLoader::new(rows))))
}
