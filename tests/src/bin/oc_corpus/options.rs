//! The command line.

use std::path::PathBuf;

pub(super) const USAGE: &str = "usage: oc-corpus TREE [--list] [--all] [--only TEXT] [--keep FOLDER] [--reports FOLDER] \
                                [--peer PYTHON] [--compare] [--entries N]";

#[derive(Debug, Default)]
pub(super) struct Options {
    /// The folder that holds the package `opencompass`.
    pub(super) tree: PathBuf,
    pub(super) list: bool,
    /// Set if every refused file is named.
    pub(super) all: bool,
    pub(super) only: Option<String>,
    pub(super) keep: Option<PathBuf>,
    /// Path to which the whole report of every refused file is written.
    pub(super) reports: Option<PathBuf>,
    /// The interpreter that has OpenCompass's dependencies.
    pub(super) peer: Option<PathBuf>,
    pub(super) compare: bool,
    pub(super) entries: Option<String>,
}

impl Options {
    /// `None` where the words make no sense.
    pub(super) fn read(mut words: impl Iterator<Item = String>) -> Option<Self> {
        let mut options = Self::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--list" => options.list = true,
                "--all" => options.all = true,
                "--compare" => options.compare = true,
                "--only" => options.only = Some(words.next()?),
                "--keep" => options.keep = Some(std::path::absolute(words.next()?).ok()?),
                "--reports" => options.reports = Some(words.next()?.into()),
                "--peer" => options.peer = Some(words.next()?.into()),
                "--entries" => options.entries = Some(words.next()?),
                tree if !tree.starts_with("--") && options.tree.as_os_str().is_empty() => {
                    options.tree = std::path::absolute(tree).ok()?;
                }
                _ => return None,
            }
        }
        (!options.tree.as_os_str().is_empty()).then_some(options)
    }
}
