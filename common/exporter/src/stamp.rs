//! Dependencies of a result, as digests: files, folders and variables of the environment.

use crate::environment::{SET, variable};
use compass_settings::LoaderWorld;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Digests of what was read, which hold as long as it is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamps {
    /// Digest of a file's bytes, or of the names in a folder. `None` where it was gone.
    pub(crate) files: Vec<(PathBuf, Option<String>)>,
    /// `None` where it was not set. Values may be secrets: only their digests are kept.
    pub(crate) variables: Vec<(String, Option<String>)>,
}

/// Digests that were made, each once.
#[derive(Debug, Default)]
pub(crate) struct Stamper {
    known: BTreeMap<PathBuf, Option<String>>,
}

impl Stamper {
    /// Returns the digests of `paths`, and of `variables` of `world`.
    pub(crate) fn stamp<'p>(
        &mut self,
        paths: impl Iterator<Item = &'p PathBuf>,
        world: &LoaderWorld,
        variables: &[String],
    ) -> Stamps {
        let files = paths.map(|path| (path.clone(), self.of(path))).collect();
        let is_theirs = |name: &&String| !SET.contains(&name.as_str());
        let variables = variables.iter().filter(is_theirs).map(|name| (name.clone(), of_variable(world, name)));
        Stamps { files, variables: variables.collect() }
    }

    /// Returns whether nothing has changed.
    pub(crate) fn holds(&mut self, stamps: &Stamps, world: &LoaderWorld) -> bool {
        let same = |(name, digest): &(String, Option<String>)| of_variable(world, name) == *digest;
        stamps.variables.iter().all(same) && stamps.files.iter().all(|(path, digest)| self.of(path) == *digest)
    }

    fn of(&mut self, path: &Path) -> Option<String> {
        if let Some(known) = self.known.get(path) {
            return known.clone();
        }
        let digest = digest(path).ok();
        self.known.insert(path.to_path_buf(), digest.clone());
        digest
    }
}

fn of_variable(world: &LoaderWorld, name: &str) -> Option<String> {
    variable(world, name).map(|value| blake3::hash(value.as_bytes()).to_hex().to_string())
}

/// The digest of the bytes of a file, or of the names in a folder.
fn digest(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_dir() {
        return of_file(path);
    }
    let mut names = std::fs::read_dir(path)?
        .map(|entry| entry.map(|entry| entry.file_name().into_encoded_bytes()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(blake3::hash(&names.join(&0)).to_hex().to_string())
}

/// The digest of the bytes of a regular file.
///
/// # Errors
/// It cannot be read.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(compass_common::regular_file::open(path)?)?;
    Ok(hasher.finalize().to_hex().to_string())
}
