//! The tables agree with the readers: what a reader asks for and what it never reads is found by its own assertions.

use super::{Kind, TypeKeys};
use crate::reference::TABLES;
use std::collections::BTreeSet;

#[test]
fn no_key_stands_twice_in_a_table() {
    for table in TABLES {
        let of_types: Vec<Vec<&TypeKeys>> = match table.types {
            [] => vec![Vec::new()],
            types => types.iter().map(|one| vec![one]).collect(),
        };
        for keys in of_types {
            let of_type = keys.iter().flat_map(|keys| keys.every_key());
            let mut seen = BTreeSet::new();
            for spelling in table.keys.iter().chain(of_type).flat_map(|key| key.spellings()) {
                assert!(seen.insert(spelling), "`{spelling}` of `{}`", table.name);
            }
        }
    }
}

#[test]
fn types_are_those_that_readers_choose_from() {
    for table in TABLES.into_iter().filter(|table| !table.types.is_empty()) {
        let Some(Kind::Choice(words)) = table.keys.iter().find(|key| key.name == "type").map(|key| key.kind) else {
            assert_eq!(table.name, "column", "the verbs of columns alone are no `type`");
            continue;
        };
        let read: BTreeSet<&str> = words().names.into_iter().collect();
        let known: BTreeSet<&str> = table.types.iter().map(|keys| keys.name).collect();
        // Most evaluators take nothing beside their name.
        assert!(if table.name == "evaluator" { known.is_subset(&read) } else { known == read }, "`{}`", table.name);
    }
}

#[test]
fn every_table_that_a_key_names_is_listed_once() {
    fn tables(kind: Kind) -> Vec<&'static str> {
        match kind {
            Kind::Table(keys) | Kind::Tables(keys) | Kind::Named(keys) => vec![keys.name],
            Kind::ArrayOf(inner) | Kind::MapOf(inner) => tables(*inner),
            Kind::Either(kinds) => kinds.iter().flat_map(|one| tables(*one)).collect(),
            _ => Vec::new(),
        }
    }
    let named = TABLES.into_iter().flat_map(|table| table.every_key()).flat_map(|key| tables(key.kind));
    let named: BTreeSet<&str> = named.chain(["top"]).collect();
    let listed: Vec<&str> = TABLES.into_iter().map(|table| table.name).collect();
    assert_eq!(named, listed.iter().copied().collect());
    assert_eq!(named.len(), listed.len());
}
