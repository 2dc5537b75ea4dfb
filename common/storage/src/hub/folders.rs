//! Folders of repositories in a local cache of the hub.

use crate::location::{HubKind, HubRepository};
use crate::mark::{Listing, ObjectMark};
use crate::variables::Variables;
use compass_common::regular_file;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The local caches, the first one first: what is downloaded comes into it.
pub fn caches(variables: &Variables) -> Vec<PathBuf> {
    let folder = |name: &str| variables.get(name).map(PathBuf::from);
    let home = folder("HF_HOME")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/huggingface")));
    let hub = folder("HF_HUB_CACHE")
        .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
        .or_else(|| home.map(|home| home.join("hub")));
    // transformers puts its models there in place of the hub's folder, where it is set.
    let mut caches: Vec<PathBuf> = hub.into_iter().chain(folder("TRANSFORMERS_CACHE")).collect();
    caches.dedup();
    caches
}

/// `models--owner--name` or `datasets--owner--name` in a cache.
pub(crate) struct RepositoryFolder {
    cache: PathBuf,
    name: String,
}

impl RepositoryFolder {
    pub(crate) fn new(cache: &Path, repository: &HubRepository) -> Self {
        let kind = match repository.kind {
            HubKind::Model => "models",
            HubKind::Dataset => "datasets",
        };
        Self { cache: cache.to_owned(), name: format!("{kind}--{}", repository.repository.replace('/', "--")) }
    }

    fn folder(&self) -> PathBuf {
        self.cache.join(&self.name)
    }

    /// The snapshot of a revision: its commit, and the folder, which need not hold all files.
    pub(crate) fn snapshot(&self, revision: &str) -> Option<(String, PathBuf)> {
        let commit = regular_file::read_text(&self.folder().join("refs").join(revision), regular_file::SMALL);
        let commit = commit.map_or_else(|_| revision.to_owned(), |commit| commit.trim().to_owned());
        let folder = self.snapshot_of(&commit);
        (!commit.is_empty() && folder.is_dir()).then_some((commit, folder))
    }

    pub(crate) fn snapshot_of(&self, commit: &str) -> PathBuf {
        self.folder().join("snapshots").join(commit)
    }

    pub(crate) fn blob(&self, etag: &str) -> PathBuf {
        self.folder().join("blobs").join(etag)
    }

    /// The lock under which a blob is downloaded, also by the hub's own library.
    pub(crate) fn lock(&self, etag: &str) -> io::Result<PathBuf> {
        let folder = self.cache.join(".locks").join(&self.name);
        fs::create_dir_all(&folder)?;
        Ok(folder.join(format!("{etag}.lock")))
    }

    /// Returns whether the snapshot of a commit has this file whole.
    pub(crate) fn holds(&self, commit: &str, name: &str, mark: &ObjectMark) -> bool {
        let file = fs::metadata(self.snapshot_of(commit).join(name));
        file.is_ok_and(|file| file.is_file() && file.len() == mark.bytes)
    }

    /// Gives a blob its name in the snapshot.
    pub(crate) fn link(&self, commit: &str, name: &str, etag: &str) -> io::Result<()> {
        let link = self.snapshot_of(commit).join(name);
        if let Some(folder) = link.parent() {
            fs::create_dir_all(folder)?;
        }
        let up = "../".repeat(2 + name.matches('/').count());
        let own = link.with_added_extension(format!("{}.link", std::process::id()));
        let _ = fs::remove_file(&own);
        symlink(format!("{up}blobs/{etag}"), &own)?;
        fs::rename(own, link)
    }

    /// Notes which commit a revision stood for.
    pub(crate) fn note(&self, revision: &str, listing: &Listing) -> io::Result<()> {
        let Some(commit) = listing.commit.as_deref().filter(|commit| *commit != revision) else { return Ok(()) };
        let path = self.folder().join("refs").join(revision);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let own = path.with_added_extension(format!("{}.new", std::process::id()));
        fs::write(&own, commit)?;
        fs::rename(own, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_where_the_libraries_put_them() {
        let of = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            caches(&pairs.collect()).iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(of(&[("HOME", "/h")]), ["/h/.cache/huggingface/hub"]);
        assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), ["/x/huggingface/hub"]);
        assert_eq!(of(&[("HF_HOME", "/f"), ("HOME", "/h")]), ["/f/hub"]);
        assert_eq!(of(&[("HF_HOME", "/f"), ("HF_HUB_CACHE", "/c")]), ["/c"]);
        assert_eq!(of(&[("HF_HOME", "/f"), ("TRANSFORMERS_CACHE", "/t")]), ["/f/hub", "/t"]);
    }
}
