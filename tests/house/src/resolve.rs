//! From the names of a module to the files that define them.

use super::source::{Module, Package};
use std::collections::BTreeSet;
use std::path::Path;

/// Re-exports that are followed for one name: more would be a circle of them.
const STEPS: usize = 16;

/// A file that names an item of another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow<'p> {
    pub from: &'p Path,
    pub to: &'p Path,
    pub item: &'p str,
}

/// Target of a path.
#[derive(Clone, Copy)]
enum Place<'p> {
    Module(&'p Module),
    Item(&'p Module, &'p str),
}

/// The arrows between the files of a package, each once.
pub fn arrows(package: &Package) -> BTreeSet<Arrow<'_>> {
    let mut arrows = BTreeSet::new();
    for module in package.modules.values() {
        let imported = module.imports.iter().map(|(_, path)| path);
        for path in imported.chain(&module.names) {
            // A module that only holds others re-exports them: the arrow is of the file that takes an item from it.
            if let Some(Place::Item(owner, item)) = resolve(package, module, path, STEPS)
                && owner.file != module.file
                && module.has_code
            {
                arrows.insert(Arrow { from: &module.file, to: &owner.file, item });
            }
        }
    }
    arrows
}

fn resolve<'p>(package: &'p Package, from: &'p Module, path: &[String], steps: usize) -> Option<Place<'p>> {
    let mut path = path;
    let mut at = from.path.clone();
    let mut is_relative = false;
    while let Some((first, rest)) = path.split_first() {
        match first.as_str() {
            "crate" => at.clear(),
            "super" => drop(at.pop()?),
            "self" => {}
            _ => break,
        }
        (path, is_relative) = (rest, true);
    }
    let module = package.modules.get(&at)?;
    let (first, rest) = match path.split_first() {
        Some(split) => split,
        None => return Some(Place::Module(module)),
    };
    let place = member(package, module, first, steps).or_else(|| {
        // A path of a program may begin with the name of its library.
        let is_library =
            !is_relative && package.folder.file_name().is_some_and(|name| *first == *name.to_string_lossy());
        is_library.then(|| package.modules.get(&Vec::new()).map(Place::Module)).flatten()
    })?;
    rest.iter().try_fold(place, |place, name| match place {
        Place::Module(module) => member(package, module, name, steps),
        // A method or a variant belongs to its type.
        item @ Place::Item(..) => Some(item),
    })
}

/// Looks `name` up in a module: a module below it, an item of its own, or an import.
fn member<'p>(package: &'p Package, module: &'p Module, name: &str, steps: usize) -> Option<Place<'p>> {
    let steps = steps.checked_sub(1)?;
    let below: Vec<String> = module.path.iter().cloned().chain([name.to_owned()]).collect();
    if let Some(below) = package.modules.get(&below) {
        return Some(Place::Module(below));
    }
    if let Some(item) = module.defines.iter().find(|defined| *defined == name) {
        return Some(Place::Item(module, item));
    }
    let is_own = |path: &[String]| path.first().is_some_and(|first| first != name || path.len() > 1);
    let named = module.imports.iter().filter(|(alias, path)| alias == name && is_own(path));
    if let Some(found) = named.into_iter().find_map(|(_, path)| resolve(package, module, path, steps)) {
        return Some(found);
    }
    let mut globs = module.imports.iter().filter(|(alias, _)| alias == "*");
    globs.find_map(|(_, path)| match resolve(package, module, path, steps)? {
        Place::Module(other) if other.path != module.path => member(package, other, name, steps),
        _ => None,
    })
}
