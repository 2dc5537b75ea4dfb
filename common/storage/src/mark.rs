//! Marks of files: a listing has one of each.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Facts of a file that are known before it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectMark {
    /// Its size.
    pub bytes: u64,
    /// The store's name of this content: another content has another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
}

/// The files of a location, by their names in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub files: BTreeMap<String, ObjectMark>,
    /// For a repository of the hub, the commit that its revision stands for.
    pub commit: Option<String>,
}
