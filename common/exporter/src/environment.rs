//! The variables of the interpreter: the user's own, and others for the folders that it reads and writes.

use compass_settings::{Interpreter, LoaderWorld};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Variables that are set here, whatever the user's are; what depends on them depends on their causes.
pub(crate) const SET: [&str; 15] = [
    "COMPASS_DATA_CACHE",
    "HF_DATASETS_CACHE",
    "HF_DATASETS_DISABLE_PROGRESS_BARS",
    "HF_DATASETS_OFFLINE",
    "HF_HUB_OFFLINE",
    "HF_MODULES_CACHE",
    "MPLCONFIGDIR",
    "NUMBA_CACHE_DIR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "TMPDIR",
    "TOKENIZERS_PARALLELISM",
    "TQDM_DISABLE",
    "TRANSFORMERS_OFFLINE",
];

/// The value of a variable of the user's.
pub(crate) fn variable<'w>(world: &'w LoaderWorld, name: &str) -> Option<&'w str> {
    let found = world.variables.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
}

/// A cache of the Hugging Face libraries: what `own` names, else `name` in their home.
pub(crate) fn cache(world: &LoaderWorld, own: &str, name: &str) -> Option<PathBuf> {
    if let Some(named) = variable(world, own) {
        return std::path::absolute(named).ok();
    }
    let home = match (variable(world, "HF_HOME"), variable(world, "XDG_CACHE_HOME")) {
        (Some(home), _) => PathBuf::from(home),
        (None, Some(caches)) => Path::new(caches).join("huggingface"),
        (None, None) => Path::new(variable(world, "HOME")?).join(".cache/huggingface"),
    };
    std::path::absolute(home.join(name)).ok()
}

/// All variables of an interpreter that writes to `own`.
///
/// # Errors
/// The data folder cannot be given the name that OpenCompass wants.
pub(crate) fn variables(
    world: &LoaderWorld,
    interpreter: &Interpreter,
    own: &Path,
) -> io::Result<Vec<(OsString, OsString)>> {
    let is_kept = |name: &str| !SET.contains(&name);
    let mut all: Vec<(OsString, OsString)> = world
        .variables
        .iter()
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    let mut set = |name: &str, value: OsString| all.push((name.into(), value));
    let temporary = own.join("tmp");
    for name in ["TMPDIR", "MPLCONFIGDIR", "NUMBA_CACHE_DIR"] {
        set(name, temporary.clone().into());
    }
    set("HF_DATASETS_CACHE", own.join("hf-datasets").into());
    set("HF_MODULES_CACHE", own.join("hf-modules").into());
    // Loaders that take items of a set take them in one order.
    set("PYTHONHASHSEED", "0".into());
    set("PYTHONIOENCODING", "utf-8".into());
    for name in ["HF_DATASETS_DISABLE_PROGRESS_BARS", "PYTHONDONTWRITEBYTECODE", "TQDM_DISABLE"] {
        set(name, "1".into());
    }
    set("TOKENIZERS_PARALLELISM", "false".into());
    if !interpreter.network {
        for name in ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"] {
            set(name, "1".into());
        }
    }
    if let Some(cache) = data_cache(&world.data_dir, own)? {
        set("COMPASS_DATA_CACHE", cache.into());
    }
    Ok(all)
}

/// Returns the folder that OpenCompass calls `COMPASS_DATA_CACHE`: its `data` holds data sets. `None` if that is `data` in
/// the current directory.
fn data_cache(data_dir: &Path, own: &Path) -> io::Result<Option<PathBuf>> {
    if data_dir.is_relative() {
        return Ok(None);
    }
    if data_dir.file_name().is_some_and(|name| name == "data") {
        return Ok(data_dir.parent().map(Path::to_path_buf));
    }
    if data_dir.join("data").is_dir() {
        return Ok(Some(data_dir.to_path_buf()));
    }
    let named = own.join("cache");
    std::fs::create_dir(&named)?;
    symlink(data_dir, named.join("data"))?;
    Ok(Some(named))
}
