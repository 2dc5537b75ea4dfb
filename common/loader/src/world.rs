//! The world of one evaluation: modules of the tree, data below the roots that may be read, and a record of every look.

use crate::observed::Look;
use compass_python::FileFault;
use compass_settings::{LoaderCall, LoaderWorld};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The host of one evaluation.
#[derive(Debug)]
pub(crate) struct TreeWorld<'w> {
    pub(crate) world: &'w LoaderWorld,
    /// Folders and files below which data may be read.
    roots: Vec<PathBuf>,
    looks: Mutex<BTreeMap<Look, Option<String>>>,
}

impl<'w> TreeWorld<'w> {
    pub(crate) fn new(world: &'w LoaderWorld, call: &LoaderCall) -> Self {
        let mut roots = vec![world.data_dir.clone(), PathBuf::from(".")];
        roots.extend(world.data_dir.parent().map(|above| above.join("data")));
        roots.extend(world.config.parent().map(Path::to_path_buf));
        roots.extend(world.trees.iter().cloned());
        roots.extend(world.hub_caches.iter().cloned());
        roots.extend(home(world).map(|home| home.join(".cache/opencompass")));
        // A path that the configuration names is meant to be read.
        call.parameters.values().for_each(|value| named(value, &mut roots));
        let mut canonical: Vec<PathBuf> = roots.iter().filter_map(|root| std::fs::canonicalize(root).ok()).collect();
        canonical.sort();
        canonical.dedup();
        Self { world, roots: canonical, looks: Mutex::default() }
    }

    /// Everything that was seen.
    pub(crate) fn looks(self) -> BTreeMap<Look, Option<String>> {
        self.looks.into_inner().unwrap_or_default()
    }

    pub(crate) fn saw(&self, look: Look, what: Option<String>) {
        if let Ok(mut looks) = self.looks.lock() {
            looks.insert(look, what);
        }
    }

    /// Resolves a path of a loader: `./data/...` is below the data folder.
    pub(crate) fn place(&self, path: &Path) -> PathBuf {
        if path.is_absolute() {
            return path.to_path_buf();
        }
        let plain = path.strip_prefix("./").unwrap_or(path);
        let below = plain.strip_prefix("data").ok();
        let own = below.map(|below| self.world.data_dir.join(below));
        let beside = self.world.data_dir.parent().map(|above| above.join(plain));
        let candidates = [own.clone(), beside, Some(path.to_path_buf()), Some(self.world.data_dir.join(plain))];
        let found = candidates.into_iter().flatten().find(|candidate| candidate.exists());
        let found = found.or_else(|| {
            let default = home(self.world)?.join(".cache/opencompass").join(plain);
            default.exists().then_some(default)
        });
        found.or(own).unwrap_or_else(|| path.to_path_buf())
    }

    /// The same, if it may be read.
    pub(crate) fn allowed(&self, path: &Path) -> Result<PathBuf, FileFault> {
        let place = self.place(path);
        let Ok(canonical) = std::fs::canonicalize(&place) else {
            self.saw(Look::Kind(place.clone()), None);
            return Err(FileFault::Missing(place));
        };
        if self.roots.iter().any(|root| canonical.starts_with(root)) || self.is_blob(&canonical) {
            return Ok(place);
        }
        Err(FileFault::Refused(format!(
            "`{}` is neither in the data folder nor beside the configuration",
            place.display()
        )))
    }

    /// Snapshots of the hub's cache are links into its blobs.
    fn is_blob(&self, canonical: &Path) -> bool {
        self.world
            .hub_caches
            .iter()
            .any(|cache| std::fs::canonicalize(cache).is_ok_and(|cache| canonical.starts_with(cache)))
    }
}

fn home(world: &LoaderWorld) -> Option<PathBuf> {
    world.variables.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home))
}

fn named(value: &Value, roots: &mut Vec<PathBuf>) {
    match value {
        Value::String(text) if text.starts_with('/') && text.len() > 1 => roots.push(text.into()),
        Value::Array(items) => items.iter().for_each(|item| named(item, roots)),
        Value::Object(entries) => entries.values().for_each(|value| named(value, roots)),
        _ => {}
    }
}
