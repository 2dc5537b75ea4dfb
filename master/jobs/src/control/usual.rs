//! The folder in which commands look that name no state folder, and the words with which they name another.

use std::path::{Path, PathBuf};

/// The state folder of a user's masters where no configuration says another; `None` without a home.
pub fn usual_state_dir() -> Option<PathBuf> {
    std::env::home_dir().map(|home| home.join(".local/state/compass"))
}

/// The command that starts a server of this state folder, which only a configuration names.
pub(super) fn serve_command(state_dir: &Path) -> String {
    if usual_state_dir().is_some_and(|usual| usual == state_dir) {
        return "`compass-master serve`".to_owned();
    }
    let folder = state_dir.display().to_string();
    format!("`compass-master serve --config FILE`, where [master] of FILE says state_dir = {folder:?}")
}

/// Returns the words that a command needs to reach the masters of this state folder: empty for the usual one.
pub(super) fn place(state_dir: &Path) -> String {
    if usual_state_dir().is_some_and(|usual| usual == state_dir) {
        return String::new();
    }
    let folder = state_dir.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let word = if folder.chars().all(is_plain) { folder } else { format!("'{}'", folder.replace('\'', "'\\''")) };
    format!(" --state-dir {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_a_state_folder_that_is_not_the_usual_one() {
        let folder = Path::new("/scratch/my state");
        assert_eq!(place(folder), " --state-dir '/scratch/my state'");
        let command = serve_command(folder);
        assert!(command.contains("serve --config FILE`") && command.contains("state_dir = \"/scratch/my state\""));
        if let Some(usual) = usual_state_dir() {
            assert_eq!((place(&usual).as_str(), serve_command(&usual).as_str()), ("", "`compass-master serve`"));
        }
    }
}
