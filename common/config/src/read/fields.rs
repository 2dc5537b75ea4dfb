//! Reading a table key by key. What its table of keys does not name is unknown.
//!
//! Every key that a reader asks for stands in the table, and a reader that finishes has asked for every key of it: debug
//! assertions see to both. A getter returns `None` both for an absent key and for a wrong value; the latter has been reported, so that the
//! caller may go on with a default that will not be used.

use crate::keys::vocabulary::LENGTHS;
use crate::keys::{Key, Kind, Standing, TableKeys, TypeKeys};
use crate::report::check::Check;
use crate::syntax::source::Span;
use crate::syntax::tree::{Node, Table, Value};
use compass_diagnostic::spelling;
use regex::Regex;
use std::fmt::Display;
use std::ops::RangeInclusive;

static EMPTY: Table = Table { entries: Vec::new() };

/// A table being read.
#[derive(Debug)]
pub(crate) struct Fields<'t> {
    pub(crate) table: &'t Table,
    /// Place at which a missing key is reported.
    pub(crate) span: Span,
    /// Name of the table in messages: `[[model]]`, `reader_cfg`.
    pub(crate) title: String,
    keys: &'static TableKeys,
    of_type: Option<&'static TypeKeys>,
    asked: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    pub(crate) fn new(table: &'t Table, span: Span, keys: &'static TableKeys) -> Self {
        Self { table, span, title: keys.title.into(), keys, of_type: None, asked: Vec::new() }
    }

    /// A table without entries, for what may be a table and is a string.
    pub(crate) fn none(span: Span, keys: &'static TableKeys) -> Self {
        Self::new(&EMPTY, span, keys)
    }

    /// Under another title.
    pub(crate) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: title.into(), ..self }
    }

    /// Adds the keys of one of the table's types, which the reader has found out.
    pub(crate) fn of_type(&mut self, name: &str) {
        self.of_type = self.keys.of_type(name);
        debug_assert!(self.of_type.is_some(), "the keys of `{}` have no type `{name}`", self.keys.name);
    }

    /// The keys that may stand here, those of the type first.
    fn known(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.of_type.into_iter().flat_map(TypeKeys::every_key).chain(self.keys.keys)
    }

    fn key(&self, name: &str) -> Option<&'static Key> {
        self.known().find(|key| key.spellings().any(|spelling| spelling == name))
    }

    pub(crate) fn get(&mut self, key: &'static str) -> Option<&'t Node> {
        debug_assert!(self.key(key).is_some(), "the keys of `{}` lack `{key}`", self.keys.name);
        self.asked.push(key);
        self.table.get(key)
    }

    /// A key with two spellings; both at once is an error.
    pub(crate) fn either(&mut self, check: &mut Check, key: &'static str) -> Option<(&'static str, &'t Node)> {
        let aliases = self.key(key).map(|key| key.aliases).unwrap_or_default();
        let mut found = self.get(key).map(|node| (key, node));
        for alias in aliases {
            match (found, self.get(alias)) {
                (Some(_), Some(node)) => {
                    let message = format!("`{alias}` is `{key}`, which is given too");
                    check.error(node.span, message, Some("remove one".into()));
                    return None;
                }
                (None, Some(node)) => found = Some((alias, node)),
                (_, None) => {}
            }
        }
        found
    }

    /// As [`Fields::get`]; absence is an error, and `example` is the right hand side that would do.
    pub(crate) fn require(&mut self, check: &mut Check, key: &'static str, example: &str) -> Option<&'t Node> {
        let node = self.get(key);
        if node.is_none() {
            let message = format!("missing key `{key}` in {}", self.title);
            check.error(self.span, message, Some(format!("write `{key} = {example}`")));
        }
        node
    }

    pub(crate) fn text(&mut self, check: &mut Check, key: &'static str) -> Option<&'t str> {
        let node = self.get(key)?;
        text(check, key, node)
    }

    pub(crate) fn texts(&mut self, check: &mut Check, key: &'static str) -> Option<Vec<(String, Span)>> {
        let node = self.get(key)?;
        check.texts(key, node)
    }

    /// A whole number within the bounds of the key.
    pub(crate) fn u32(&mut self, check: &mut Check, key: &'static str) -> Option<u32> {
        self.whole(check, key).and_then(|number| number.try_into().ok())
    }

    /// A number of tokens from 1 on, or a word for one.
    pub(crate) fn length(&mut self, check: &mut Check, key: &'static str) -> Option<u32> {
        let node = self.get(key)?;
        match node.text() {
            Some(word) if LENGTHS.words().names.contains(&word) => LENGTHS.pick(check, key, node),
            Some(_) => {
                check.wrong_type(key, node, "a number of tokens, or \"rest\"", "512");
                None
            }
            None => whole(check, key, node, 1..=i64::from(u32::MAX)).and_then(|number| number.try_into().ok()),
        }
    }

    /// As [`Fields::u32`].
    pub(crate) fn u64(&mut self, check: &mut Check, key: &'static str) -> Option<u64> {
        self.whole(check, key).and_then(|number| number.try_into().ok())
    }

    fn whole(&mut self, check: &mut Check, key: &'static str) -> Option<i64> {
        let bounds = match self.key(key).map(|key| key.kind) {
            Some(Kind::Whole(least, most)) => least..=most,
            _ => 0..=i64::from(u32::MAX),
        };
        let node = self.get(key)?;
        whole(check, key, node, bounds)
    }

    /// The table at `key`, to be read and finished by the caller.
    pub(crate) fn table(
        &mut self,
        check: &mut Check,
        key: &'static str,
        keys: &'static TableKeys,
    ) -> Option<Fields<'t>> {
        let node = self.get(key)?;
        table(check, key, node, keys)
    }

    /// Reports every key that is unknown, and those that a later version serves; an empty value asks for nothing and passes.
    pub(crate) fn finish(self, check: &mut Check) {
        let unread = self.known().find(|key| key.standing == Standing::Served && !self.asked.contains(&key.name));
        debug_assert!(
            unread.is_none(),
            "nothing reads `{}` of `{}`",
            unread.map_or("", |key| key.name),
            self.keys.name
        );
        for entry in &self.table.entries {
            let name = entry.key.as_str();
            match self.key(name).map(|key| key.standing) {
                Some(Standing::Served | Standing::Ignored | Standing::Hidden) => {}
                Some(Standing::Later(_)) if entry.node.is_empty() => {}
                Some(Standing::Later(meanwhile)) => check.not_yet(entry.key_span, &format!("`{name}`"), meanwhile),
                None => {
                    let help = self.suggestion(name);
                    check.error(entry.key_span, format!("unknown key `{name}`"), Some(help));
                }
            }
        }
    }

    /// Returns what to write in place of an unknown key.
    fn suggestion(&self, name: &str) -> String {
        let served = self.known().filter(|key| key.standing == Standing::Served).map(|key| key.name);
        let mut served: Vec<&str> = served.collect();
        served.sort_by_key(|name| *name != "type");
        match spelling::nearest(
            name,
            self.known().filter(|key| key.standing != Standing::Hidden).flat_map(|key| key.spellings()),
        ) {
            Some(near) => format!("did you mean `{near}`?"),
            None if served.is_empty() => format!("{} takes no keys", self.title),
            None => format!("{} takes {}", self.title, spelling::list(&served)),
        }
    }
}

/// The string in `node`.
pub(crate) fn text<'t>(check: &mut Check, key: &str, node: &'t Node) -> Option<&'t str> {
    if node.text().is_none() {
        check.wrong_type(key, node, "a string", "\"...\"");
    }
    node.text()
}

/// The whole number in `node`, within `bounds`.
pub(crate) fn whole(check: &mut Check, key: &str, node: &Node, bounds: RangeInclusive<i64>) -> Option<i64> {
    let (least, most) = bounds.into_inner();
    match node.value {
        Value::Integer(number) if number < least => out_of_range(check, key, node.span, number, least, most),
        Value::Integer(number) if number > most => out_of_range(check, key, node.span, number, least, most),
        Value::Integer(number) => Some(number),
        _ => {
            check.wrong_type(key, node, "a whole number", &least.max(1).to_string());
            None
        }
    }
}

/// The number in `node`, whole or not.
pub(crate) fn number(check: &mut Check, key: &str, node: &Node, example: &str) -> Option<f64> {
    let number = node.number();
    if number.is_none() {
        check.wrong_type(key, node, "a number", example);
    }
    number
}

/// The number of 0 or more in `node`.
pub(crate) fn number_from_zero(check: &mut Check, key: &str, node: &Node) -> Option<f64> {
    let value = number(check, key, node, "1.0")?;
    if value.is_finite() && value >= 0.0 {
        return Some(value);
    }
    let help = format!("write a number of 0 or more: `{key} = 1.0`");
    check.error(node.span, format!("`{key}` is out of range: {value}"), Some(help));
    None
}

fn out_of_range<T>(check: &mut Check, key: &str, span: Span, number: impl Display, least: i64, most: i64) -> Option<T> {
    let bounds = match most {
        i64::MAX => format!("of {least} or more"),
        most => format!("from {least} to {most}"),
    };
    check.error(span, format!("`{key}` is out of range: {number}"), Some(format!("write a whole number {bounds}")));
    None
}

/// The table in `node`, to be read and finished by the caller.
pub(crate) fn table<'t>(check: &mut Check, key: &str, node: &'t Node, keys: &'static TableKeys) -> Option<Fields<'t>> {
    any_table(check, key, node).map(|table| Fields::new(table, node.span, keys))
}

/// The table in `node`, whose keys are the user's.
pub(crate) fn any_table<'t>(check: &mut Check, key: &str, node: &'t Node) -> Option<&'t Table> {
    if node.table().is_none() {
        check.wrong_type(key, node, "a table", "{ ... }");
    }
    node.table()
}

/// The boolean in `node`.
pub(crate) fn flag(check: &mut Check, key: &str, node: &Node) -> Option<bool> {
    match node.value {
        Value::Boolean(flag) => Some(flag),
        _ => {
            check.wrong_type(key, node, "a boolean", "true");
            None
        }
    }
}

/// The items of an array, or the value itself.
pub(crate) fn one_or_several(node: &Node) -> &[Node] {
    match &node.value {
        Value::Array(items) => items,
        _ => std::slice::from_ref(node),
    }
}

/// The boolean at `key`.
pub(crate) fn flag_of(check: &mut Check, fields: &mut Fields<'_>, key: &'static str) -> Option<bool> {
    let node = fields.get(key)?;
    flag(check, key, node)
}

/// A value as data.
pub(crate) fn literal(check: &mut Check, key: &str, node: &Node) -> Option<serde_json::Value> {
    match &node.value {
        Value::String(text) => Some(text.as_str().into()),
        Value::Integer(number) => Some((*number).into()),
        Value::Boolean(flag) => Some((*flag).into()),
        Value::Float(number) if number.is_finite() => Some((*number).into()),
        Value::Array(items) => items.iter().map(|item| literal(check, key, item)).collect(),
        Value::Table(table) => {
            let entries = table.entries.iter();
            let entries = entries.map(|entry| Some((entry.key.clone(), literal(check, key, &entry.node)?)));
            entries.collect::<Option<serde_json::Map<_, _>>>().map(serde_json::Value::Object)
        }
        Value::Float(_) | Value::Datetime => {
            check.error(node.span, format!("`{key}` cannot be {}", node.kind()), Some("write it in quotes".into()));
            None
        }
    }
}

/// The regular expression in `node`, as written and compiled.
pub(crate) fn regex(check: &mut Check, node: &Node) -> Option<(String, Regex)> {
    let text = text(check, "regex", node)?;
    match Regex::new(text) {
        Ok(regex) => Some((text.to_owned(), regex)),
        Err(error) => {
            // Of a wrong syntax the library gives a drawing in several lines; the parser says what is wrong.
            let why = match regex_syntax::parse(text) {
                Err(regex_syntax::Error::Parse(error)) => error.kind().to_string(),
                Err(regex_syntax::Error::Translate(error)) => error.kind().to_string(),
                _ => error.to_string(),
            };
            let help = "the syntax is https://docs.rs/regex: Python's, without look-around and backreferences";
            check.error(node.span, format!("`regex` cannot be read: {why}"), Some(help.into()));
            None
        }
    }
}

pub(crate) fn required_text(
    check: &mut Check,
    fields: &mut Fields<'_>,
    key: &'static str,
    example: &str,
) -> Option<String> {
    let node = fields.require(check, key, example)?;
    let text = text(check, key, node)?;
    if text.is_empty() {
        check.error(node.span, format!("`{key}` is empty"), Some(format!("write `{key} = {example}`")));
        return None;
    }
    Some(text.to_owned())
}
