//! The schema for editors: JSON Schema, draft 7, as Taplo and Even Better TOML read it.
//!
//! It accepts whatever the program does and less than everything else: what only the program can tell, it leaves open. No
//! key is required in it, because included files are merged key by key.

use crate::keys::vocabulary::Words;
use crate::keys::{Key, Kind, Standing, TableKeys};
use crate::read::top::TOP;
use crate::reference::TABLES;
use serde_json::{Map, Value as Json, json};

/// The schema of a configuration file.
pub fn schema() -> Json {
    let mut schema = Map::new();
    schema.insert("$schema".into(), "http://json-schema.org/draft-07/schema#".into());
    schema.insert("title".into(), "Configuration of a Compass job".into());
    schema.extend(table(&TOP));
    let others = TABLES.into_iter().filter(|table| table.name != TOP.name);
    let definitions: Map<String, Json> = others.map(|keys| (keys.name.to_owned(), table(keys).into())).collect();
    schema.insert("definitions".into(), definitions.into());
    schema.into()
}

fn table(keys: &'static TableKeys) -> Map<String, Json> {
    let mut named: Vec<(&'static str, Vec<&'static Key>)> = Vec::new();
    for key in keys.every_key().filter(|key| key.standing != Standing::Hidden) {
        for spelling in key.spellings() {
            match named.iter_mut().find(|(name, _)| *name == spelling) {
                Some((_, variants)) => variants.push(key),
                None => named.push((spelling, vec![key])),
            }
        }
    }
    let properties: Map<String, Json> =
        named.into_iter().map(|(name, variants)| (name.to_owned(), property(name, &variants).into())).collect();
    let mut table = Map::new();
    table.insert("type".into(), "object".into());
    table.insert("properties".into(), properties.into());
    table.insert("additionalProperties".into(), false.into());
    table
}

/// A key in all the meanings that it has under the types of its table.
fn property(name: &str, variants: &[&'static Key]) -> Map<String, Json> {
    let mut meanings: Vec<String> = Vec::new();
    let mut kinds: Vec<Json> = Vec::new();
    for key in variants {
        let meaning = description(name, key);
        if !meaning.is_empty() && !meanings.contains(&meaning) {
            meanings.push(meaning);
        }
        let kind: Json = match key.standing {
            // Only what asks for nothing passes.
            Standing::Later(_) => json!({ "enum": ["", [], {}] }),
            Standing::Served | Standing::Ignored | Standing::Hidden => kind(key.kind).into(),
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let mut property = Map::new();
    if !meanings.is_empty() {
        property.insert("description".into(), meanings.join("\n\n").into());
    }
    match (kinds.pop(), kinds.is_empty()) {
        // Beside a reference, draft 7 reads nothing.
        (Some(Json::Object(kind)), true) if kind.contains_key("$ref") => {
            property.insert("allOf".into(), json!([kind]));
        }
        (Some(Json::Object(kind)), true) => property.extend(kind),
        (last, _) => {
            kinds.extend(last);
            property.insert("anyOf".into(), kinds.into());
        }
    }
    property
}

/// The meaning and the default, without links of the book.
fn description(name: &str, key: &Key) -> String {
    let mut text = match key.standing {
        Standing::Served | Standing::Hidden => without_links(key.meaning),
        Standing::Ignored => format!("No effect: {}", without_links(key.meaning)),
        Standing::Later(meanwhile) => format!("Not yet served; {meanwhile}"),
    };
    if let Some(first) = text.get(..1).filter(|first| *first != "`").map(str::to_uppercase) {
        text.replace_range(..1, &first);
    }
    if name != key.name {
        text = format!("`{}`: {text}", key.name);
    }
    match key.default {
        "" => text,
        "required" => format!("{text}. Required."),
        default => format!("{text}. Default: {default}."),
    }
}

fn without_links(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("](") {
        let Some(((start, words), (_, after))) = before.rsplit_once('[').zip(link.split_once(')')) else { break };
        plain.push_str(start);
        plain.push_str(words);
        rest = after;
    }
    plain + rest
}

fn kind(kind: Kind) -> Map<String, Json> {
    let schema = match kind {
        Kind::Text | Kind::Path => json!({ "type": "string" }),
        Kind::Duration => json!({ "type": "string", "pattern": "^[0-9]+[smhd]$" }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Whole(least, most) => whole(least, most),
        Kind::Number => json!({ "type": "number" }),
        Kind::Choice(words) => choice(&words()),
        Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::ArrayOf(item) => json!({ "type": "array", "items": self::kind(*item) }),
        Kind::MapOf(Kind::Anything) => json!({ "type": "object" }),
        Kind::MapOf(value) => json!({ "type": "object", "additionalProperties": self::kind(*value) }),
        Kind::Table(keys) => reference(keys),
        Kind::Tables(keys) => json!({ "type": "array", "items": reference(keys) }),
        Kind::Named(keys) => {
            let names = keys.keys.iter().find(|key| key.name == "type").map(|key| self::kind(key.kind));
            json!({ "anyOf": [names, reference(keys)] })
        }
        Kind::Either(kinds) => json!({ "anyOf": kinds.iter().map(|one| self::kind(*one)).collect::<Vec<_>>() }),
        Kind::Anything => json!({}),
    };
    match schema {
        Json::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn reference(keys: &TableKeys) -> Json {
    json!({ "$ref": format!("#/definitions/{}", keys.name) })
}

fn whole(least: i64, most: i64) -> Json {
    let mut schema = Map::new();
    schema.insert("type".into(), "integer".into());
    if least > i64::MIN {
        schema.insert("minimum".into(), least.into());
    }
    if most < i64::from(u32::MAX) {
        schema.insert("maximum".into(), most.into());
    }
    schema.into()
}

/// OpenCompass's classes are not listed: whatever is named like one passes.
fn choice(words: &Words) -> Json {
    let names: Vec<&str> = words.names.iter().chain(&words.aliases).copied().collect();
    match words.suffix {
        None => json!({ "enum": names }),
        Some(suffix) => json!({ "anyOf": [{ "enum": names }, { "type": "string", "pattern": suffix }] }),
    }
}
