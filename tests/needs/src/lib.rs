//! Needs of tests on a machine. A test that lacks one says `skipped: …` on standard error and passes; where
//! `COMPASS_REQUIRE` names it, the test fails instead.
//!
//! `COMPASS_REQUIRE` is a list with commas of the names of [`Need`], or `all`. Not here: how each need is looked for.

use std::fmt::Display;
use std::path::{Path, PathBuf};

/// Something that a test needs and a machine may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Ceph's daemons with its object gateway.
    Ceph,
    /// A control group whose memory can be limited.
    Cgroup,
    /// The `etcd` program.
    Etcd,
    /// Network namespaces, with `ip` and `nft` to set them up.
    Netns,
    /// The `openssl` program.
    Openssl,
    /// The `python3` program.
    Python,
    /// Other users of this machine, which root may become.
    Root,
    /// An isolation in which a program that a model wrote can be run.
    Sandbox,
    /// The folder of reference data beside the checkout.
    Shared,
    /// Slurm's daemons, and root to start them.
    Slurm,
}

impl Need {
    const ALL: [Self; 10] = [
        Self::Ceph,
        Self::Cgroup,
        Self::Etcd,
        Self::Netns,
        Self::Openssl,
        Self::Python,
        Self::Root,
        Self::Sandbox,
        Self::Shared,
        Self::Slurm,
    ];

    /// Its name in `COMPASS_REQUIRE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ceph => "ceph",
            Self::Cgroup => "cgroup",
            Self::Etcd => "etcd",
            Self::Netns => "netns",
            Self::Openssl => "openssl",
            Self::Python => "python",
            Self::Root => "root",
            Self::Sandbox => "sandbox",
            Self::Shared => "shared",
            Self::Slurm => "slurm",
        }
    }

    /// Returns whether `required` (the value of `COMPASS_REQUIRE`) names it.
    ///
    /// # Errors
    /// A name in the list is not one of a need.
    fn is_in(self, required: &str) -> Result<bool, String> {
        let names = || required.split(',').map(str::trim).filter(|name| !name.is_empty());
        let known = |name: &str| name == "all" || Self::ALL.iter().any(|need| need.name() == name);
        match names().find(|name| !known(name)) {
            Some(unknown) => {
                let all = Self::ALL.map(Self::name).join(", ");
                Err(format!("COMPASS_REQUIRE names `{unknown}`, which is not one of {all}, all"))
            }
            None => Ok(names().any(|name| name == "all" || name == self.name())),
        }
    }
}

/// Says that a test is skipped because this machine lacks `need`.
///
/// # Panics
/// `COMPASS_REQUIRE` names the need, or something that is not a need.
#[track_caller]
#[expect(clippy::panic, reason = "it fails the test that calls it")]
pub fn skipped(need: Need, why: impl Display) {
    let required = std::env::var("COMPASS_REQUIRE").unwrap_or_default();
    match need.is_in(&required) {
        Ok(false) => eprintln!("skipped: {why}"),
        Ok(true) => panic!("{} is required here (COMPASS_REQUIRE={required}): {why}", need.name()),
        Err(why) => panic!("{why}"),
    }
}

/// Returns true if a test has a process of its own, as `cargo nextest` gives it; else prints a skip. What a test measures of
/// its process (a peak of memory) would else be its neighbours', too.
pub fn has_own_process() -> bool {
    let has = std::env::var_os("NEXTEST").is_some();
    if !has {
        eprintln!("skipped: it measures its own process; `cargo nextest` runs every test in one of its own");
    }
    has
}

/// A file or folder of the reference data; `None`, said as [`skipped`], where it is missing.
#[track_caller]
pub fn shared(relative: &str) -> Option<PathBuf> {
    shared_folder(relative).map(|folder| folder.join(relative))
}

/// The folder of reference data that has `needed`: `shared/` beside the checkout, or the one that `COMPASS_SHARED` names;
/// `None` without one, reported by [`skipped`].
#[track_caller]
pub fn shared_folder(needed: &str) -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = match std::env::var_os("COMPASS_SHARED") {
        Some(named) => vec![PathBuf::from(named)],
        None => vec![workspace.join("shared"), workspace.join("../shared")],
    };
    let found = folders.into_iter().find(|folder| folder.join(needed).exists());
    if found.is_none() {
        skipped(Need::Shared, format_args!("{needed} is not in shared/ beside the checkout (COMPASS_SHARED)"));
    }
    found.map(|folder| folder.canonicalize().unwrap_or(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_required() {
        assert_eq!(Need::Etcd.is_in(""), Ok(false));
        assert_eq!(Need::Etcd.is_in("slurm, etcd"), Ok(true));
        assert_eq!(Need::Etcd.is_in("slurm,"), Ok(false));
        assert_eq!(Need::Etcd.is_in("all"), Ok(true));
        let error = Need::Etcd.is_in("etcd,bubblewrap").unwrap_err();
        assert!(
            error.starts_with("COMPASS_REQUIRE names `bubblewrap`, which is not one of ceph, cgroup, etcd, "),
            "{error}"
        );
    }

    #[test]
    fn names_are_distinct() {
        for (at, need) in Need::ALL.iter().enumerate() {
            assert_eq!(Need::ALL.iter().position(|other| other.name() == need.name()), Some(at));
        }
    }
}
