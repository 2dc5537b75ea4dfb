//! The files of an OpenCompass tree that define data sets.

use std::path::{Path, PathBuf};

/// A configuration of data sets.
#[derive(Debug)]
pub(super) struct File {
    /// Its path below `configs/datasets`, without the ending.
    pub(super) name: String,
    /// Its path below the tree.
    pub(super) path: String,
    /// The module's name.
    pub(super) module: String,
}

impl File {
    /// Its text, and the texts of the files that it imports.
    pub(super) fn text(&self, tree: &Path) -> String {
        let mut text = String::new();
        with_imports(tree, &tree.join(&self.path), 3, &mut text);
        text
    }

    /// A configuration that runs its data sets on a model that echoes.
    pub(super) fn script(&self) -> String {
        format!(
            "from mmengine.config import read_base\nwith read_base():\n    from {} import *\n\
             datasets = sum((v for k, v in locals().items() if k.endswith('_datasets') and isinstance(v, list) and v and \
             isinstance(v[0], dict)), [])\nmodels = [dict(type='echo', abbr='base', path='m')]\n",
            self.module
        )
    }
}

/// All of them whose name holds one of the texts of `only`, which commas separate.
pub(super) fn files(tree: &Path, only: Option<&str>) -> Vec<File> {
    let root = tree.join("opencompass/configs/datasets");
    let mut paths = Vec::new();
    below(&root, &mut paths);
    paths.sort();
    let file = |path: PathBuf| {
        let name = path.strip_prefix(&root).ok()?.with_extension("").to_str()?.to_owned();
        let defines = std::fs::read_to_string(&path).ok()?.contains("_datasets");
        let module = format!("opencompass.configs.datasets.{}", name.replace('/', "."));
        let path = path.strip_prefix(tree).ok()?.to_str()?.to_owned();
        let is_asked = defines && only.is_none_or(|only| only.split(',').any(|only| name.contains(only)));
        is_asked.then_some(File { name, path, module })
    };
    paths.into_iter().filter_map(file).collect()
}

fn with_imports(tree: &Path, path: &Path, depth: usize, all: &mut String) {
    let Ok(text) = std::fs::read_to_string(path) else { return };
    for line in text.lines().filter(|_| depth > 0) {
        let Some(module) = line.trim().strip_prefix("from ").and_then(|rest| rest.split(" import").next()) else {
            continue;
        };
        let dots = module.chars().take_while(|c| *c == '.').count();
        let inner = module.trim_start_matches('.').replace('.', "/");
        let folder = match dots {
            0 if inner.starts_with("opencompass/configs/") => Some(tree),
            0 => None,
            dots => path.ancestors().nth(dots),
        };
        if let Some(folder) = folder {
            with_imports(tree, &folder.join(inner).with_extension("py"), depth - 1, all);
        }
    }
    all.push_str(&text);
    all.push('\n');
}

fn below(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            below(&path, paths);
        } else if path.extension().is_some_and(|ending| ending == "py") && !path.ends_with("__init__.py") {
            paths.push(path);
        }
    }
}
