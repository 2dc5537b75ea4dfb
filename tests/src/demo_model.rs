//! The demo's model, which every checkout has, and copies of it to damage.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// Its folder.
pub fn demo_model() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/demo/model");
    folder.canonicalize().unwrap_or(folder)
}

/// Copies its files into the folder `to`, which is made.
///
/// # Errors
/// Errors of the disk.
pub fn copy_demo_model(to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(demo_model())? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
