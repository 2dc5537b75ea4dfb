//! The demo's model, which every checkout has, and copies of it to damage.

use std::fs;
use std::path::{Path, PathBuf};

/// Its folder.
pub fn demo_model() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/model");
    folder.canonicalize().unwrap_or(folder)
}

/// Copies its files into the folder `to`, which is made.
pub fn copy_demo_model(to: &Path) {
    fs::create_dir_all(to).unwrap_or_else(|error| panic!("cannot make {}: {error}", to.display()));
    for entry in fs::read_dir(demo_model()).into_iter().flatten().flatten() {
        let (from, copy) = (entry.path(), to.join(entry.file_name()));
        fs::copy(&from, &copy).unwrap_or_else(|error| panic!("cannot copy {}: {error}", from.display()));
    }
}
