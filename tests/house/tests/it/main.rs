//! The graph of the files: how sources are read, and how many circles the tree has.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its fixtures too")]

mod budget;
mod packages;
mod tree;
mod voice;

use compass_house::{Package, arrows};
use tree::Tree;

/// The arrows of a package with these files, as `from -> to: item`.
fn arrows_of(files: &[(&str, &str)]) -> Vec<String> {
    let tree = Tree::new(files);
    let package = Package::read(tree.root()).unwrap().unwrap();
    let shown = |path: &std::path::Path| path.strip_prefix(tree.root().join("src")).unwrap().display().to_string();
    let arrows = arrows(&package);
    arrows.iter().map(|arrow| format!("{} -> {}: {}", shown(arrow.from), shown(arrow.to), arrow.item)).collect()
}

#[test]
fn a_name_leads_through_re_exports_to_the_file_that_defines_it() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::Thing;"),
        ("a.rs", "use crate::Thing; impl Thing {}"),
        ("b/mod.rs", "mod inner; pub use inner::Thing as Thing;"),
        ("b/inner.rs", "pub struct Thing;"),
    ];
    assert_eq!(arrows_of(&files), ["a.rs -> b/inner.rs: Thing"]);
}

#[test]
fn globs_and_aliases_are_followed() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        (
            "a.rs",
            "use super::b::*; use crate::c::{Other as Another, deep}; fn f(x: Another) -> u8 { Named::new(deep::g()) }",
        ),
        ("b.rs", "pub struct Named; mod hidden {}"),
        ("c/mod.rs", "pub struct Other; pub mod deep;"),
        ("c/deep.rs", "pub fn g() {}"),
    ];
    // Of what a glob brings, only what is named in a path is seen.
    assert_eq!(arrows_of(&files), ["a.rs -> b.rs: Named", "a.rs -> c/deep.rs: g", "a.rs -> c/mod.rs: Other"]);
}

#[test]
fn paths_begin_at_the_module_above_or_at_the_root() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        ("a/mod.rs", "mod inner; pub const UP: u8 = 1;"),
        ("a/inner.rs", "fn f() -> u8 { super::UP + super::super::b::far() + self::own() } fn own() -> u8 { 0 }"),
        ("b.rs", "pub fn far() -> u8 { crate::a::UP }"),
    ];
    let expected = ["a/inner.rs -> a/mod.rs: UP", "a/inner.rs -> b.rs: far", "b.rs -> a/mod.rs: UP"];
    assert_eq!(arrows_of(&files), expected);
}

#[test]
fn a_tree_of_imports_has_branches_within_branches() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::{b::{self, One, inner::{Two, Three as Four}}, c::Five}; fn f() {}"),
        ("b/mod.rs", "pub mod inner; pub struct One;"),
        ("b/inner.rs", "pub struct Two; pub struct Three;"),
        ("c.rs", "pub type Five = u8;"),
    ];
    let expected =
        ["a.rs -> b/inner.rs: Three", "a.rs -> b/inner.rs: Two", "a.rs -> b/mod.rs: One", "a.rs -> c.rs: Five"];
    assert_eq!(arrows_of(&files), expected);
}

#[test]
fn test_code_texts_and_comments_draw_no_arrow() {
    let files = [
        ("lib.rs", "mod a; mod b; #[cfg(test)] mod checks;"),
        (
            "a.rs",
            "// crate::b::T\nfn f<'a>(_: &'a str) -> char { r#\"crate::b::T\"#; \"crate::b::T\"; ':' }\n#[cfg(test)]\n\
             #[allow(unused)]\nmod tests { use crate::b::T; fn g() { crate::b::T; } }\n#[cfg(test)] use crate::b::T;",
        ),
        ("b.rs", "pub struct T;"),
        ("checks.rs", "use crate::a::f;"),
    ];
    assert_eq!(arrows_of(&files), [""; 0]);
}

#[test]
fn a_folder_without_a_library_is_no_package_of_files() {
    let tree = Tree::new(&[("main.rs", "fn main() {}")]);
    assert!(Package::read(tree.root()).unwrap().is_none());
}
