//! Dependencies of the packages, by their manifests: the layers, and the reason of each outside crate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The keys of a table of a manifest, up to the first dot: `serde.workspace = true` is `serde`.
fn keys(manifest: &str, table: &str) -> BTreeSet<String> {
    let lines = manifest.lines().skip_while(|line| *line != format!("[{table}]")).skip(1);
    let lines =
        lines.take_while(|line| !line.starts_with('[')).filter(|line| line.contains('=') && !line.starts_with('#'));
    lines.filter_map(|line| line.split(['.', ' ', '=']).next()).map(str::to_owned).collect()
}

/// The packages of the workspace, with what each depends on outside its tests.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let root = root();
    let workspace = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let members = workspace.lines().find(|line| line.starts_with("members")).unwrap();
    let folders: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
    assert!(folders.contains(&"tests/house"), "{folders:?}");
    let manifests = folders.iter().map(|folder| std::fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap());
    let named = manifests.map(|manifest| {
        let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
        (name.trim_matches('"').to_owned(), keys(&manifest, "dependencies"))
    });
    named.collect()
}

/// Everything that a package depends on, directly or not.
fn below(package: &str, packages: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let (mut below, mut open) = (BTreeSet::new(), vec![package]);
    while let Some(name) = open.pop() {
        for next in packages.get(name).into_iter().flatten() {
            if below.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    below
}

/// The packages that depend on `dependency`, directly or not.
fn above(dependency: &str, packages: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    packages.keys().filter(|name| below(name, packages).contains(dependency)).cloned().collect()
}

#[test]
fn layers_are_those_of_the_architecture() {
    let packages = packages();
    // How configurations are written is known to the programs alone.
    let readers = ["loader", "master", "tests"].map(|name| format!("compass-{name}"));
    assert_eq!(above("compass-config", &packages), readers);
    let interpreting = ["config", "faults", "loader", "master", "tests", "worker"];
    assert_eq!(above("compass-python", &packages), interpreting.map(|name| format!("compass-{name}")));
    for (program, other) in [("compass-master", "compass-worker"), ("compass-worker", "compass-master")] {
        assert!(!below(program, &packages).contains(other), "{program} depends on {other}");
    }
    let direct = |dependency: &str| {
        let uses = packages.iter().filter(|(_, uses)| uses.contains(dependency));
        uses.map(|(name, _)| name.as_str()).filter(|name| *name != "compass-tests").collect::<Vec<_>>()
    };
    assert_eq!(direct("tch"), ["compass-engine"]);
    assert_eq!(direct("arrow-array"), ["compass-data"]);
}

#[test]
fn every_outside_crate_has_a_reason() {
    let root = root();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let declared: BTreeSet<String> =
        keys(&manifest, "workspace.dependencies").into_iter().filter(|name| !name.starts_with("compass-")).collect();
    let page = std::fs::read_to_string(root.join("docs/src/design/dependencies.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| crate"));
    let named = rows.filter_map(|row| row.split('|').nth(1)).flat_map(|names| names.split(", "));
    let named: BTreeSet<String> = named.map(|name| name.trim().to_owned()).collect();
    assert!(declared.len() > 50, "{declared:?}");
    let difference: Vec<&String> = declared.symmetric_difference(&named).collect();
    assert!(difference.is_empty(), "in Cargo.toml or in docs/src/design/dependencies.md alone: {difference:?}");
}
