//! Modules of the user's own beside a configuration, as OpenCompass imports them from there: `mydata.DSjson`, or `.mydata.DSjson`
//! as a relative import names it.
//!
//! The evaluator follows imports of OpenCompass's package alone, so these modules stand in it under a name of their own.

use super::host::{MOST_SOURCE, tree_module};
use compass_common::regular_file;
use compass_python::LibrarySource;
use compass_settings::{LoaderWorld, is_own};
use std::path::{Path, PathBuf};

/// Prefix of the evaluator's names for modules beside the configuration.
const BESIDE: &str = "opencompass.beside.";

/// The evaluator's name of what `written` names in a module beside the configuration; `None` where there is no such module.
pub fn beside_name(config: &Path, written: &str) -> Option<String> {
    let plain = written.strip_prefix('.').unwrap_or(written);
    let (module, _) = plain.rsplit_once('.').filter(|_| is_own(written))?;
    module_beside(config, module)?;
    Some(format!("{BESIDE}{plain}"))
}

/// A module of OpenCompass's package in `world`, or beside its configuration, by the evaluator's name.
pub fn library_module(world: &LoaderWorld, dotted: &str) -> Option<LibrarySource> {
    module_of(&world.trees, &world.config, dotted)
}

/// A text of the evaluator with names as the user writes them.
pub fn without_beside(text: &str) -> String {
    text.replace(BESIDE, "")
}

pub(super) fn module_of(trees: &[PathBuf], config: &Path, dotted: &str) -> Option<LibrarySource> {
    match dotted.strip_prefix(BESIDE) {
        Some(own) => module_beside(config, own),
        None => tree_module(trees, dotted),
    }
}

fn module_beside(config: &Path, dotted: &str) -> Option<LibrarySource> {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_');
    let parts: Vec<&str> = dotted.split('.').collect();
    if !parts.iter().all(|part| is_name(part)) {
        return None;
    }
    let folder = config.parent().unwrap_or(Path::new(""));
    let module = folder.join(parts.iter().collect::<PathBuf>());
    let files = [(module.join("__init__.py"), true), (module.with_extension("py"), false)];
    files.into_iter().find_map(|(path, is_package)| {
        let bytes = regular_file::read(&path, MOST_SOURCE).ok()?;
        Some(LibrarySource { path, text: String::from_utf8(bytes).ok()?, is_package })
    })
}
