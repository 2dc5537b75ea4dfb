//! Places where imports of a configuration are found: beside it, in an OpenCompass tree, and in what comes with the program.

use super::{preset_form, stand_in};
use crate::presets::later::preset_later;
use crate::read::summary::files;
use crate::report::environment::PythonWorld;
use crate::syntax::source::{invalid_utf8, reason};
use compass_common::regular_file;
use compass_diagnostic::spelling;
use compass_python::{FileKind, Host, Imported, LibrarySource};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Largest file that `open` may read.
const MOST_BYTES: u64 = 16 << 20;
/// Largest file of source.
pub(super) const MOST_SOURCE: u64 = 8 << 20;
/// Pretended folder of the files that `stand_in` writes: no folder has this name.
const STAND_INS: &str = "<presets>";

/// The host of one evaluation.
pub(super) struct TreeHost {
    /// The folder of the configuration.
    folder: PathBuf,
    /// Folders that hold `configs`: of a tree, `opencompass`; of a clone of its repository, the clone.
    trees: Vec<PathBuf>,
    world: PythonWorld,
}

/// The folder of the package `opencompass` of a tree. Up to version 0.3 the clone of its repository holds `configs`, and the
/// package beside it.
pub(super) fn package(tree: &Path) -> PathBuf {
    let beside = tree.join("opencompass");
    if beside.join("__init__.py").is_file() { beside } else { tree.to_path_buf() }
}

/// A module of the package `opencompass`, `opencompass.datasets.cmrc`, in the first of `trees` that has it. The trees are folders that
/// hold `configs`, as [`LoaderWorld::trees`](super::LoaderWorld::trees) has them.
pub fn tree_module(trees: &[PathBuf], dotted: &str) -> Option<LibrarySource> {
    let relative: PathBuf = dotted.strip_prefix("opencompass.")?.split('.').collect();
    for tree in trees {
        let module = package(tree).join(&relative);
        let file = module.with_extension("py");
        let package = module.join("__init__.py");
        for (path, is_package) in [(package, true), (file, false)] {
            // A tree need not have this module.
            let Ok(bytes) = regular_file::read(&path, MOST_SOURCE) else { continue };
            let text = String::from_utf8(bytes).ok()?;
            return Some(LibrarySource { path, text, is_package });
        }
    }
    None
}

/// Returns the trees that a folder named by a person may mean: it holds the package, or is the package, or a clone of its
/// repository, or `configs` itself.
fn named_trees(named: &Path) -> Vec<PathBuf> {
    let mut trees = vec![named.join("opencompass"), named.to_path_buf()];
    let is_configs = named.file_name().is_some_and(|name| name == "configs");
    if is_configs && ["datasets", "models"].iter().any(|folder| named.join(folder).is_dir()) {
        trees.extend(named.parent().map(Path::to_path_buf));
    }
    trees
}

/// Returns what is wrong with the folder of `--opencompass`, and what to do; `None` if it has a tree.
pub(crate) fn no_tree(named: &Path) -> Option<(String, String)> {
    if named_trees(named).iter().any(|tree| tree.join("configs").is_dir()) {
        return None;
    }
    let shown = named.display();
    let reason = match std::fs::metadata(named) {
        Err(error) => reason(&error),
        Ok(there) if !there.is_dir() => "it is a file".to_owned(),
        Ok(_) => "it has neither a folder `opencompass/configs` nor a folder `configs`".to_owned(),
    };
    let reason = reason.replace("no such file", "there is no such folder");
    let inside = std::fs::read_dir(named).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut inside: Vec<PathBuf> = inside.filter(|path| path.join("opencompass/configs").is_dir()).collect();
    inside.sort();
    let help = match inside.first() {
        Some(near) => format!("did you mean `{}`?", near.display()),
        None => {
            "name the folder that holds the package `opencompass` with its folder `configs`, or that package; without \
                 --opencompass, data sets and models that come with the program are imported all the same"
                .to_owned()
        }
    };
    Some((format!("`{shown}` has no OpenCompass tree: {reason}"), help))
}

/// A folder and those above it, the nearest first. The parent of a bare name is empty, and is the current directory.
fn folders_above(folder: &Path) -> Vec<PathBuf> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    absolute.ancestors().map(Path::to_path_buf).collect()
}

/// Returns `true` if the file was written by `stand_in`.
pub(super) fn is_stand_in(path: &Path) -> bool {
    path.starts_with(STAND_INS)
}

impl TreeHost {
    pub(super) fn new(config: &Path, world: PythonWorld) -> Self {
        let folder = config.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut trees = Vec::new();
        if let Some(named) = &world.opencompass {
            trees.extend(named_trees(named));
        }
        trees.extend(folders_above(&folder).iter().flat_map(|above| [above.join("opencompass"), above.clone()]));
        // Of the Python that was named: an environment is the folder around its `bin`.
        let named = world.interpreter.as_deref().and_then(|program| program.parent()?.parent());
        for environment in named.into_iter().chain(world.environments.iter().map(PathBuf::as_path)) {
            let Ok(versions) = std::fs::read_dir(environment.join("lib")) else { continue };
            let mut found: Vec<PathBuf> =
                versions.flatten().map(|entry| entry.path().join("site-packages/opencompass")).collect();
            found.sort();
            trees.extend(found);
        }
        trees.retain(|tree| tree.join("configs").is_dir());
        trees.dedup();
        Self { folder, trees, world }
    }

    /// Folders that hold `configs`, the first one first.
    pub(super) fn trees(&self) -> &[PathBuf] {
        &self.trees
    }

    /// The file of a module below `folder`, if it is there.
    fn file(folder: &Path, parts: &[&str]) -> Option<Imported> {
        let mut path = folder.to_path_buf();
        path.extend(parts);
        path.set_extension("py");
        let bytes = match regular_file::read(&path, MOST_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            Err(error) => {
                let reason = format!("cannot read `{}`: {}", path.display(), reason(&error));
                return Some(Imported::Missing { reason, help: Some("it is what the import names".into()) });
            }
        };
        Some(match String::from_utf8(bytes) {
            Ok(text) => Imported::Source { path, text },
            Err(error) => {
                let place = invalid_utf8(error.as_bytes(), error.utf8_error().valid_up_to());
                Imported::Missing {
                    reason: format!("`{}` is not UTF-8 text: {place}", path.display()),
                    help: Some("save the file as UTF-8".into()),
                }
            }
        })
    }

    /// Returns what comes with the program under the last part of the module's name.
    fn shipped(parts: &[&str]) -> Option<Imported> {
        let name = *parts.last()?;
        let value = |kind: &str, text: String| Imported::Value {
            path: Path::new(STAND_INS).join(format!("{name}.py")),
            text,
            name: kind.to_owned(),
        };
        if parts.contains(&"summarizers") {
            // Groups come with the program, by the names of their files; OpenCompass's `example` lists groups that are in
            // every table.
            let file = parts.rsplit(|part| *part == "groups").next().map(|file| file.join("/")).unwrap_or_default();
            return match files::python(&file) {
                Some(groups) => Some(value("groups", format!("groups = {groups}\n"))),
                None if name == "example" => Some(value("summarizer", "summarizer = {}\n".to_owned())),
                None => None,
            };
        }
        if parts.contains(&"models") {
            return stand_in::models(name).map(|text| value("models", text));
        }
        stand_in::datasets(name).map(|text| value("datasets", text))
    }

    fn missing(&self, folder: &Path, parts: &[&str]) -> Imported {
        let module = parts.join(".");
        let beside = parts.split_last().map(|(_, folders)| folder.join(folders.join("/"))).unwrap_or_default();
        let names: Vec<String> = std::fs::read_dir(&beside)
            .map(|entries| {
                let stems = entries
                    .flatten()
                    .filter_map(|entry| Some(Path::new(&entry.file_name()).with_extension("").to_str()?.to_owned()));
                stems.collect()
            })
            .unwrap_or_default();
        let presets: Vec<String> = crate::presets::data_sets::names();
        let last = parts.last().copied().unwrap_or_default();
        if let Some((why, meanwhile)) = preset_later(last).filter(|_| parts.contains(&"datasets")) {
            let reason = format!("`{last}` is not yet supported: {why}");
            return Imported::Missing { reason, help: Some(meanwhile.to_owned()) };
        }
        let near = spelling::nearest(last, names.iter().chain(&presets).map(String::as_str));
        let looked = format!("looked for `{}.py`", folder.join(parts.join("/")).display());
        // A near name can ask another prompt: that a tree has the right one is said in any case.
        let help = match (near, self.trees.is_empty()) {
            (Some(near), true) => format!(
                "did you mean `{near}`? Where the name is right, name the OpenCompass tree that has it with --opencompass DIR; \
                 {looked}"
            ),
            (Some(near), false) => {
                format!("did you mean `{near}`? Otherwise: {looked}, and in {}", self.shown_trees())
            }
            (None, true) => format!(
                "{looked}; no OpenCompass tree is known: name one with --opencompass DIR, or import data sets by a name that \
                 `compass-master datasets` lists"
            ),
            (None, false) => format!("{looked}, and in {}", self.shown_trees()),
        };
        Imported::Missing { reason: format!("No module named '{module}'"), help: Some(help) }
    }

    fn shown_trees(&self) -> String {
        let shown: Vec<String> = self.trees.iter().map(|tree| tree.display().to_string()).collect();
        spelling::list(&shown.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl Host for TreeHost {
    fn base(&self, file: &Path, level: u32, module: &str) -> Imported {
        let parts: Vec<&str> = module.split('.').collect();
        let of_tree = |parts: &[&str]| self.trees.iter().find_map(|tree| Self::file(&tree.join("configs"), parts));
        if level == 0 {
            let inner = match parts.as_slice() {
                ["opencompass", "configs", inner @ ..] | ["configs", inner @ ..] => Some(inner),
                _ => None,
            };
            let found =
                inner.and_then(of_tree).or_else(|| Self::file(&self.folder, &parts)).or_else(|| Self::shipped(&parts));
            return found.unwrap_or_else(|| self.missing(&self.folder, &parts));
        }
        let mut folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
        for _ in 1..level {
            folder = if folder.as_os_str().is_empty() { "..".into() } else { folder.join("..") };
        }
        let found = Self::file(&folder, &parts).or_else(|| of_tree(&parts)).or_else(|| Self::shipped(&parts));
        found.unwrap_or_else(|| self.missing(&folder, &parts))
    }

    fn read(&self, path: &Path) -> Result<String, String> {
        let shown = path.display();
        let canonical = std::fs::canonicalize(path).map_err(|error| format!("{shown}: {error}"))?;
        let here = std::env::current_dir().unwrap_or_default();
        let allowed = [Some(&self.folder), Some(&here)].into_iter().flatten().chain(&self.trees);
        let is_allowed =
            allowed.filter_map(|root| std::fs::canonicalize(root).ok()).any(|root| canonical.starts_with(root));
        if !is_allowed {
            return Err(format!("{shown} is neither beside the configuration nor in an OpenCompass tree"));
        }
        let bytes = regular_file::read(&canonical, MOST_BYTES).map_err(|error| format!("{shown}: {error}"))?;
        String::from_utf8(bytes).map_err(|_| format!("{shown} is not UTF-8 text"))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.world.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// Returns the kind of what is at a path. Its existence is no secret: its contents are read where that is allowed.
    fn path_kind(&self, path: &Path) -> Option<FileKind> {
        let found = std::fs::metadata(path).ok()?;
        Some(if found.is_dir() { FileKind::Folder } else { FileKind::File })
    }

    fn current_folder(&self) -> Option<PathBuf> {
        std::env::current_dir().ok()
    }

    fn missing_key(&self, file: &Path, key: &str) -> Option<String> {
        let preset = file.strip_prefix(STAND_INS).ok()?.file_stem()?.to_str()?;
        Some(preset_form::lacks(preset, key))
    }
}

#[cfg(test)]
mod tests {
    use super::folders_above;
    use std::path::Path;

    #[test]
    fn a_bare_name_is_a_file_of_the_current_directory() {
        let here = std::env::current_dir().unwrap();
        let bare = folders_above(Path::new("eval.py").parent().unwrap());
        assert_eq!(bare, here.ancestors().collect::<Vec<_>>());
        assert_eq!(bare, folders_above(Path::new("./eval.py").parent().unwrap()));
    }
}
