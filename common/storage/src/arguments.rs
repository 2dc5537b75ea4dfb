//! The flags of every program that fetches files.

use crate::cache::Bound;
use crate::size::parse_size;
use crate::storage::StorageOptions;
use crate::variables::Variables;
use clap::Args;
use std::path::PathBuf;

/// Places of object stores, and of what is fetched.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageArguments {
    /// The file with the profiles of `profile:s3://...` [default: petreloss.conf in the home directory]
    #[arg(long, value_name = "FILE", env = "PETRELOSS_CONF", value_parser = parse_path)]
    petreloss_conf: Option<PathBuf>,
    /// Folder on this node for files that are fetched from object stores [default: ~/.cache/compass/storage]
    #[arg(long, value_name = "DIR", env = "COMPASS_STORAGE_CACHE", value_parser = parse_path)]
    storage_cache: Option<PathBuf>,
    /// The most that this folder may hold, such as 500G; what was used longest ago makes room [default: half of the disk]
    #[arg(long, value_name = "SIZE", env = "COMPASS_STORAGE_CACHE_LIMIT", value_parser = parse_limit)]
    storage_cache_limit: Option<u64>,
}

impl StorageArguments {
    /// Returns the options that they come to, with the environment of this process.
    pub fn options(&self) -> StorageOptions {
        StorageOptions {
            variables: Variables::of_process(),
            petreloss_conf: self.petreloss_conf.clone().filter(|path| !path.as_os_str().is_empty()),
            cache: self.storage_cache.clone().filter(|path| !path.as_os_str().is_empty()),
            bound: self.storage_cache_limit.map_or(Bound::HalfOfDisk, Bound::Bytes),
        }
    }

    /// The same as variables, for programs that this one starts on this host.
    pub fn variables(&self) -> Vec<(String, String)> {
        let absolute = |path: &PathBuf| {
            let path = Some(path).filter(|path| !path.as_os_str().is_empty())?;
            Some(std::path::absolute(path).ok()?.display().to_string())
        };
        let values = [
            ("PETRELOSS_CONF", self.petreloss_conf.as_ref().and_then(absolute)),
            ("COMPASS_STORAGE_CACHE", self.storage_cache.as_ref().and_then(absolute)),
            ("COMPASS_STORAGE_CACHE_LIMIT", self.storage_cache_limit.map(|bytes| bytes.to_string())),
        ];
        values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// An empty variable counts as none.
fn parse_path(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(text.into())
}

fn parse_limit(text: &str) -> Result<u64, String> {
    parse_size(text)
}
