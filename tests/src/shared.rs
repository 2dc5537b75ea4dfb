//! Reference data that lies beside the checkout on some machines and never in it.

use std::path::PathBuf;

/// The folder of reference data, if this machine has it; else says loudly that `test` is skipped.
pub fn shared(test: &str, needs: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let folder = std::env::var_os("COMPASS_SHARED").map_or(beside, PathBuf::from);
    if folder.join(needs).exists() {
        return Some(folder.canonicalize().unwrap_or(folder));
    }
    eprintln!("skipped: {test} needs {needs} in ../shared (or COMPASS_SHARED), which this machine does not have");
    None
}
