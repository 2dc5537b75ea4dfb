//! Where commands look that name no state folder, and what they name for another.

use std::path::{Path, PathBuf};

/// The state folder of a user's masters where no configuration says another; `None` without a home.
pub fn usual_state_dir() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(".local/state/compass"))
}

/// What a command needs to reach the masters of this state folder: nothing for the usual one.
pub(super) fn place(state_dir: &Path) -> String {
    if usual_state_dir().is_some_and(|usual| usual == state_dir) {
        return String::new();
    }
    let folder = state_dir.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let word = if folder.chars().all(is_plain) { folder } else { format!("'{}'", folder.replace('\'', "'\\''")) };
    format!(" --state-dir {word}")
}
