//! As much of JSON Schema, draft 7, as the configuration's schema uses.

use regex::Regex;
use serde_json::{Map, Value as Json};

/// Returns the parts of `value` that the schema does not accept, each with its place.
pub(crate) fn faults(schema: &Json, value: &Json) -> Vec<String> {
    let mut found = Vec::new();
    Validator { root: schema }.check(schema, value, "", &mut found);
    found
}

struct Validator<'s> {
    root: &'s Json,
}

impl Validator<'_> {
    fn check(&self, schema: &Json, value: &Json, at: &str, found: &mut Vec<String>) {
        let rules = match schema {
            Json::Object(rules) => rules,
            Json::Bool(true) => return,
            _ => return found.push(format!("{at}: nothing may stand here")),
        };
        for (rule, wanted) in rules {
            let holds = match rule.as_str() {
                "$schema" | "title" | "description" | "definitions" | "additionalProperties" => true,
                "$ref" => {
                    let name = wanted.as_str().unwrap().strip_prefix("#").unwrap();
                    self.check(self.root.pointer(name).unwrap(), value, at, found);
                    true
                }
                "type" => is_of(wanted.as_str().unwrap(), value),
                "enum" => wanted.as_array().unwrap().contains(value),
                "pattern" => {
                    value.as_str().is_none_or(|text| Regex::new(wanted.as_str().unwrap()).unwrap().is_match(text))
                }
                "minimum" => value.as_i64().is_none_or(|number| number >= wanted.as_i64().unwrap()),
                "maximum" => value.as_i64().is_none_or(|number| number <= wanted.as_i64().unwrap()),
                "allOf" => {
                    wanted.as_array().unwrap().iter().for_each(|one| self.check(one, value, at, found));
                    true
                }
                "anyOf" => wanted.as_array().unwrap().iter().any(|one| {
                    let mut inner = Vec::new();
                    self.check(one, value, at, &mut inner);
                    inner.is_empty()
                }),
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &below(at, &index.to_string()), found);
                    }
                    true
                }
                "properties" => {
                    for (name, inner) in value.as_object().into_iter().flatten() {
                        self.property(rules, name, inner, at, found);
                    }
                    true
                }
                other => unreachable!("`{other}` is not known here"),
            };
            if !holds {
                found.push(format!("{at}: {value} does not fit `{rule}` of {wanted}"));
            }
        }
        if !rules.contains_key("properties")
            && let (Some(others), Json::Object(entries)) = (rules.get("additionalProperties"), value)
        {
            entries.iter().for_each(|(name, inner)| self.check(others, inner, &below(at, name), found));
        }
    }

    fn property(&self, rules: &Map<String, Json>, name: &str, value: &Json, at: &str, found: &mut Vec<String>) {
        let known = rules.get("properties").and_then(|properties| properties.get(name));
        let schema = known.or(rules.get("additionalProperties"));
        self.check(schema.unwrap_or(&Json::Bool(true)), value, &below(at, name), found);
    }
}

fn is_of(kind: &str, value: &Json) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => unreachable!("no type is called `{other}`"),
    }
}

fn below(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}
