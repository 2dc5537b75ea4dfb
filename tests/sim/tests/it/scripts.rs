//! Every script holds over its seeds, and fails on its mutant; the book lists it with the tests that it replaces.

use compass_sim::{Moved, Mutant, SCRIPTS};
use std::collections::BTreeSet;

const BOOK: &str = include_str!("../../../../docs/src/design/simulation.md");

/// Seeds among which a script fails on its mutant, most on the first of them.
const ENOUGH: u64 = 100;

/// Number of seeds that each script is played with.
fn seeds() -> std::ops::Range<u64> {
    0..if std::env::var_os("COMPASS_FULL").is_some() { 200 } else { 8 }
}

fn all() -> impl Iterator<Item = &'static Moved> {
    SCRIPTS.into_iter().flatten()
}

#[test]
fn every_script_holds_over_its_seeds() {
    let mut broken = Vec::new();
    for script in all() {
        let mut found = seeds().map(|seed| (seed, script.run(seed, None, false).violations));
        if let Some((seed, violations)) = found.find(|(_, violations)| !violations.is_empty()) {
            broken.push(format!("{} of seed {seed}: {violations:?}", script.name));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_script_fails_on_its_mutant() {
    let mut survived = Vec::new();
    for script in all() {
        let mut runs = (0..ENOUGH).map(|seed| script.run(seed, Some(script.mutant), false).violations);
        match runs.find(|violations| !violations.is_empty()) {
            Some(violations) => println!("{} on {:?}: {:?}", script.name, script.mutant, violations[0]),
            None => survived.push((script.name, script.mutant)),
        }
    }
    assert_eq!(survived, [], "not found in {ENOUGH} seeds");
}

#[test]
fn mutants_that_no_drawn_history_looks_for_are_found_by_scripts() {
    let found: BTreeSet<Mutant> = all().map(|script| script.mutant).collect();
    let left: Vec<Mutant> = Mutant::SCRIPTED.into_iter().filter(|mutant| !found.contains(mutant)).collect();
    assert_eq!(left, []);
}

#[test]
fn book_lists_every_script_with_what_it_stands_for_and_its_mutant() {
    let names: BTreeSet<&str> = all().map(|script| script.name).collect();
    assert_eq!(names.len(), all().count(), "a name is there twice");
    for script in all() {
        assert!(script.name.len() <= 60, "{}", script.name);
        for of in script.of {
            let (file, test) = of.split_once(": ").unwrap();
            let row = format!("| {file} | `{test}` | `{}` | `{:?}` |", script.name, script.mutant);
            assert!(BOOK.contains(&row), "the book lacks the line\n{row}");
        }
    }
}

#[test]
fn one_seed_makes_one_play() {
    for script in all() {
        let (one, other) = (script.run(3, None, true), script.run(3, None, true));
        assert!(one.trace == other.trace && one.ended == other.ended, "{}", script.name);
    }
}
