//! `COMPASS_DATA_CACHE`, as OpenCompass has it: a data set that it calls `./data/mmlu` lies in `$COMPASS_DATA_CACHE/data/mmlu`.
//!
//! Releases before took the folder itself for the one with the data sets. It goes on being that where it holds no `data`.

use std::path::{Path, PathBuf};

/// The folder with the data sets, as `COMPASS_DATA_CACHE` gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataCache {
    /// Folder that holds the data sets: `mmlu`, `ARC`, ...
    pub folder: PathBuf,
    /// Note for the user if the folder itself was taken: a message, and what to do.
    pub note: Option<(String, &'static str)>,
}

impl DataCache {
    /// Looks into `cache`, the value of the variable.
    pub fn of(cache: &Path) -> Self {
        let below = cache.join("data");
        if below.is_dir() || !cache.is_dir() {
            return Self { folder: below, note: None };
        }
        let message = format!(
            "COMPASS_DATA_CACHE: `{}` holds no folder `data`, where OpenCompass looks; data sets are looked for in the \
             folder itself",
            cache.display()
        );
        let note = Some((message, "name the folder above `data`, or the folder itself with `--data-dir`"));
        Self { folder: cache.to_owned(), note }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sets_lie_below_data_as_in_opencompass() {
        let cache = tempfile::tempdir().unwrap();
        let old = DataCache::of(cache.path());
        assert_eq!(old.folder, cache.path());
        assert!(old.note.unwrap().0.contains("holds no folder `data`"));
        std::fs::create_dir(cache.path().join("data")).unwrap();
        assert_eq!(DataCache::of(cache.path()), DataCache { folder: cache.path().join("data"), note: None });
        let nowhere = DataCache::of(&cache.path().join("nothing"));
        assert_eq!(nowhere, DataCache { folder: cache.path().join("nothing/data"), note: None });
    }
}
