//! The files of an adapter that `peft` saved.

use super::manifest::FileMark;
use super::mark::{DigestExtent, mark};
use compass_common::regular_file;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// File that says how the adapter is to be merged.
pub const CONFIG: &str = "adapter_config.json";

/// Its weights, in the order in which `peft` looks for them.
const WEIGHTS: [&str; 2] = ["adapter_model.safetensors", "adapter_model.bin"];

/// The file of an adapter's weights.
pub fn weights_of(directory: &Path) -> Option<PathBuf> {
    WEIGHTS.iter().map(|name| directory.join(name)).find(|path| path.exists())
}

/// The names of an adapter's files among those of a folder; `None` where it is no adapter.
pub fn names_among(names: &BTreeSet<String>) -> Option<[String; 2]> {
    let weights = WEIGHTS.iter().find(|name| names.contains(**name))?;
    names.contains(CONFIG).then(|| [CONFIG.to_owned(), (*weights).to_owned()])
}

/// The marks of an adapter's files, by canonical name: whole files, for they are small.
///
/// # Errors
/// One of them cannot be read.
pub fn read_adapter(directory: &Path) -> io::Result<BTreeMap<String, FileMark>> {
    let weights = weights_of(directory).ok_or(io::ErrorKind::NotFound)?;
    let mut files = BTreeMap::new();
    for path in [directory.join(CONFIG), weights] {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        files.insert(format!("adapter/{name}"), mark(&regular_file::open(&path)?, DigestExtent::Whole)?);
    }
    Ok(files)
}
