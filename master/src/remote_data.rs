//! Data in an object store (a file, a folder, or the files that a pattern names), and data sets of the hub.

use compass_common::status_output::print_status;
use compass_settings::{Choose, RemoteFault};
use compass_storage::{
    Fetched, HubRepository, Listing, Location, Progress, ProgressLog, S3Location, Storage, StorageFault,
};
use std::path::PathBuf;

/// Data on this node.
pub(super) struct FetchedData {
    /// Path in place of the one that was asked for: the file, the folder, or the pattern in it.
    pub(super) place: PathBuf,
    /// Keeps it there.
    pub(super) held: Fetched,
}

/// Fetches what `path` names; `parse` reads a path.
///
/// # Errors
/// Why it cannot be had.
pub(super) fn fetch(
    storage: &Storage,
    path: &str,
    parse: &dyn Fn(&str) -> Result<Location, RemoteFault>,
) -> Result<FetchedData, RemoteFault> {
    let fault = |fault: StorageFault| RemoteFault { message: fault.message, help: fault.help };
    let Location::S3(location) = parse(path)? else {
        let message = format!("`{path}` is no place in an object store");
        return Err(RemoteFault { message, help: "write `profile:s3://bucket/key`".into() });
    };
    let (folder, listing, last) = found(storage, path, &location).map_err(fault)?;
    let folder = Location::S3(folder);
    let names: Vec<String> = listing.files.keys().cloned().collect();
    let mut log = ProgressLog::new(path);
    let mut said = |progress: Progress| log.line(&progress).into_iter().for_each(print_status);
    let held = storage.fetch(&folder, &listing, &names, &mut said).map_err(fault)?;
    let place = last.map_or_else(|| held.folder().to_owned(), |last| held.folder().join(last));
    Ok(FetchedData { place, held })
}

/// Fetches the files of a data set of the hub that `choose` picks; they lie in the hub's own cache from then on.
///
/// # Errors
/// Why they cannot be had.
pub(super) fn fetch_dataset(
    storage: &Storage,
    (repository, revision): (&str, &str),
    choose: &Choose<'_>,
) -> Result<PathBuf, RemoteFault> {
    let fault = |fault: StorageFault| RemoteFault { message: fault.message, help: fault.help };
    let named = |message: String, help: &str| RemoteFault { message, help: help.into() };
    let repository = HubRepository::dataset(repository, revision).map_err(|message| {
        named(message, "write `hub:<owner>/<name>`, then `@<revision>` and `/<config>` where wanted")
    })?;
    let location = Location::Hub(repository);
    let listing = storage.list(&location).map_err(fault)?;
    let all: Vec<String> = listing.files.keys().cloned().collect();
    let names = choose(&all).map_err(|message| named(message, "name a split, and a config, that the data set has"))?;
    let mut log = ProgressLog::new(location.to_string());
    let mut said = |progress: Progress| log.line(&progress).into_iter().for_each(print_status);
    let held = storage.fetch(&location, &listing, &names, &mut said).map_err(fault)?;
    Ok(held.folder().to_owned())
}

/// The folder that is looked in, the files of it that are meant, and the name that stands for them.
fn found(
    storage: &Storage,
    path: &str,
    location: &S3Location,
) -> Result<(S3Location, Listing, Option<String>), StorageFault> {
    if !path.ends_with('/')
        && let Some((folder, name)) = location.parent()
    {
        if !name.contains('*') {
            let (folder, listing) = storage.list_object(location)?;
            return Ok((folder, listing, Some(name.to_owned())));
        }
        let mut listing = storage.list(&Location::S3(folder.clone()))?;
        listing.files.retain(|file, _| !file.contains('/') && matches(name, file));
        return Ok((folder, listing, Some(name.to_owned())));
    }
    let mut listing = storage.list(&Location::S3(location.clone()))?;
    // Not what lies below it: as of a local folder.
    listing.files.retain(|file, _| !file.contains('/'));
    Ok((location.clone(), listing, None))
}

/// Returns whether a name fits a pattern, in which each `*` matches any characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(after) = name.strip_prefix(first) else { return false };
    if !rest.contains('*') {
        return after.ends_with(rest);
    }
    let mut ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
    ends.any(|end| matches(rest, after.get(end..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, fits) in [
            ("*_test.csv", "algebra_test.csv", true),
            ("*_test.csv", "algebra_dev.csv", false),
            ("train-*-of-*.parquet", "train-00000-of-00002.parquet", true),
            ("a*b*c", "ac", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
