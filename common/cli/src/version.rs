//! The version that `--version` prints.

use std::sync::LazyLock;

/// Version of this build and, where COMPASS_COMMIT named it when the program was built, its commit: `0.1.0 (1a2b3c4d5e6f)`.
///
/// Nothing asks git: a build of a working tree does not change with every commit, and needs no git.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> =
        LazyLock::new(|| with_commit(env!("CARGO_PKG_VERSION"), option_env!("COMPASS_COMMIT")));
    &VERSION
}

fn with_commit(version: &str, commit: Option<&str>) -> String {
    match commit.map(str::trim).filter(|commit| !commit.is_empty()) {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_follows_the_version_where_it_is_known() {
        assert_eq!(with_commit("0.1.0", Some("1a2b3c4d5e6f")), "0.1.0 (1a2b3c4d5e6f)");
        assert_eq!(with_commit("0.1.0", Some("1a2b3c4d5e6f-dirty")), "0.1.0 (1a2b3c4d5e6f-dirty)");
        for unknown in [None, Some(""), Some(" \n")] {
            assert_eq!(with_commit("0.1.0", unknown), "0.1.0");
        }
        assert!(version().starts_with(env!("CARGO_PKG_VERSION")));
    }
}
