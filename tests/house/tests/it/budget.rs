//! The circles of the tree, counted against a budget that may only fall.

use compass_house::{Package, arrows, circles};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Circles of files in all packages together. A commit that dissolves one lowers it; none raises it.
const BUDGET: usize = 5;

/// The folders with a library, below the root of the workspace.
fn packages(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("Cargo.toml").is_file() && folder.join("src/lib.rs").is_file() {
        found.push(folder.to_owned());
    }
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        let is_hidden = name.to_string_lossy().starts_with('.');
        if entry.file_type().unwrap().is_dir() && !is_hidden && name != "src" && name != "target" {
            packages(&entry.path(), found);
        }
    }
}

/// The circles of a package in words: the files of each, and the arrows between them.
fn described(folder: &Path, root: &Path) -> Vec<String> {
    let Some(package) = Package::read(folder).unwrap() else { return Vec::new() };
    let arrows = arrows(&package);
    let shown = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    let describe = |circle: BTreeSet<&Path>| {
        let mut text = format!("{} files in {}\n", circle.len(), shown(folder));
        for arrow in arrows.iter().filter(|arrow| circle.contains(arrow.from) && circle.contains(arrow.to)) {
            writeln!(text, "  {} -> {}: {}", shown(arrow.from), shown(arrow.to), arrow.item).unwrap();
        }
        text
    };
    circles(&arrows).into_iter().map(describe).collect()
}

#[test]
fn circles_are_no_more_than_the_budget() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut folders = Vec::new();
    packages(&root, &mut folders);
    folders.sort();
    assert!(folders.contains(&root.join("tests/house")), "{folders:?}");
    let found: Vec<String> = folders.iter().flat_map(|folder| described(folder, &root)).collect();
    let count = found.len();
    assert!(count <= BUDGET, "{count} circles of files, {BUDGET} are allowed:\n{}", found.join("\n"));
    assert_eq!(count, BUDGET, "there are fewer circles of files than allowed: lower BUDGET to {count}");
}
