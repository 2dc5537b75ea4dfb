//! `SPANFilter` and `POSFilter`: named entities and parts of speech out of a response.

use super::FilterError;
use crate::pattern::constant;
use compass_pyfmt::strip;
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Models' names of the labels, in the order in which lm-eval rewrites them.
const LABELS: [(&str, &str); 15] = [
    ("person", "PER"),
    ("location", "LOC"),
    ("organization", "ORG"),
    ("counties", "LOC"),
    ("places", "LOC"),
    ("people", "PER"),
    ("persons", "PER"),
    ("company", "ORG"),
    ("country", "LOC"),
    ("continent", "LOC"),
    ("time", "DATE"),
    ("date", "DATE"),
    ("per", "PER"),
    ("loc", "LOC"),
    ("org", "ORG"),
];

/// The entities of a response in lower case as `per: ada $ loc: london`; entities called `none` are dropped.
pub(super) fn format_span(response: &str) -> String {
    static REWRITTEN: LazyLock<Vec<(Regex, String)>> = LazyLock::new(|| {
        let rewrite = |(name, label): &(&str, &str)| (constant(&format!(r"\b{name}\s*:")), format!("{label}:"));
        LABELS.iter().map(rewrite).collect()
    });
    static ENTITIES: LazyLock<Regex> = LazyLock::new(|| constant(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)"));
    let mut text = response.to_lowercase();
    for (name, label) in REWRITTEN.iter() {
        text = name.replace_all(&text, label.as_str()).into_owned();
    }
    let text = text.replace("$$", "$");
    let text = text.trim_end_matches('$').replace('\n', "$");
    let mut entities = Vec::new();
    for found in ENTITIES.captures_iter(strip(&text)) {
        for entity in found[2].split(',').map(strip).filter(|entity| entity.to_lowercase() != "none") {
            entities.push(format!("{}: {entity}", found[1].to_lowercase()));
        }
    }
    entities.join(" $ ")
}

/// The tags of the pairs `('token', 'tag')` in a response; `fallback` where there are none.
pub(super) fn parts_of_speech(item: &Value, fallback: &[String]) -> Result<Value, FilterError> {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| constant(r"\('([^']*)', '([^']*)'\)"));
    let tags: Vec<Value> = PAIR.captures_iter(super::responses::text(item)?).map(|pair| pair[2].into()).collect();
    Ok(if tags.is_empty() { fallback.to_vec().into() } else { tags.into() })
}
