//! Reading a table key by key. What was not asked for by the end is unknown.
//!
//! A getter returns `None` both for an absent key and for a wrong value; the latter has been reported, so that the
//! caller may go on with a default that will not be used.

use super::check::Check;
use super::source::Span;
use super::tree::{Node, Table, Value};
use compass_diagnostic::spelling;
use std::fmt::Display;
use std::ops::RangeInclusive;

static EMPTY: Table = Table { entries: Vec::new() };

/// A table being read.
#[derive(Debug)]
pub(super) struct Fields<'t> {
    pub(super) table: &'t Table,
    /// Where it is said that a key is missing.
    pub(super) span: Span,
    /// What it is called in messages: `[[model]]`, `reader_cfg`.
    pub(super) title: String,
    asked: Vec<&'static str>,
    hidden: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    pub(super) fn new(table: &'t Table, span: Span, title: impl Into<String>) -> Self {
        Self { table, span, title: title.into(), asked: Vec::new(), hidden: Vec::new() }
    }

    /// A table without keys, for what may be a table and is a string.
    pub(super) fn none(span: Span, title: impl Into<String>) -> Self {
        Self::new(&EMPTY, span, title)
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<&'t Node> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// Two spellings of one key; both at once is an error.
    pub(super) fn either(
        &mut self,
        check: &mut Check,
        key: &'static str,
        alias: &'static str,
    ) -> Option<(&'static str, &'t Node)> {
        match (self.get(key), self.get(alias)) {
            (Some(_), Some(node)) => {
                check.error(node.span, format!("`{alias}` is `{key}`, which is given too"), Some("remove one".into()));
                None
            }
            (Some(node), None) => Some((key, node)),
            (None, Some(node)) => Some((alias, node)),
            (None, None) => None,
        }
    }

    /// As [`Fields::get`]; absence is an error, and `example` is the right hand side that would do.
    pub(super) fn require(&mut self, check: &mut Check, key: &'static str, example: &str) -> Option<&'t Node> {
        let node = self.get(key);
        if node.is_none() {
            let message = format!("missing key `{key}` in {}", self.title);
            check.error(self.span, message, Some(format!("write `{key} = {example}`")));
        }
        node
    }

    /// A key that a later version serves. An empty value asks for nothing and passes.
    pub(super) fn not_yet(&mut self, check: &mut Check, key: &'static str, help: &str) {
        self.hidden.push(key);
        if let Some(entry) = self.table.entry(key).filter(|entry| !entry.node.is_empty()) {
            check.not_yet(entry.key_span, &format!("`{key}`"), help);
        }
    }

    pub(super) fn text(&mut self, check: &mut Check, key: &'static str) -> Option<&'t str> {
        let node = self.get(key)?;
        text(check, key, node)
    }

    pub(super) fn texts(&mut self, check: &mut Check, key: &'static str) -> Option<Vec<(String, Span)>> {
        let node = self.get(key)?;
        check.texts(key, node)
    }

    pub(super) fn u32(&mut self, check: &mut Check, key: &'static str, least: u32) -> Option<u32> {
        let node = self.get(key)?;
        whole(check, key, node, i64::from(least)..=i64::from(u32::MAX)).and_then(|number| number.try_into().ok())
    }

    pub(super) fn u64(&mut self, check: &mut Check, key: &'static str, least: i64) -> Option<u64> {
        let node = self.get(key)?;
        whole(check, key, node, least..=i64::MAX).and_then(|number| number.try_into().ok())
    }

    /// The table at `key`, to be read and finished by the caller.
    pub(super) fn table(
        &mut self,
        check: &mut Check,
        key: &'static str,
        title: impl Into<String>,
    ) -> Option<Fields<'t>> {
        let node = self.get(key)?;
        table(check, key, node, title)
    }

    /// Reports every key that was not asked for.
    pub(super) fn finish(self, check: &mut Check) {
        for entry in &self.table.entries {
            let key = entry.key.as_str();
            if !self.asked.contains(&key) && !self.hidden.contains(&key) {
                let known = self.asked.iter().chain(&self.hidden).copied();
                let help = match spelling::nearest(key, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if self.asked.is_empty() => format!("{} takes no keys", self.title),
                    None => format!("{} takes {}", self.title, spelling::list(&self.asked)),
                };
                check.error(entry.key_span, format!("unknown key `{key}`"), Some(help));
            }
        }
    }
}

/// The string in `node`.
pub(super) fn text<'t>(check: &mut Check, key: &str, node: &'t Node) -> Option<&'t str> {
    if node.text().is_none() {
        check.wrong_type(key, node, "a string", "\"...\"");
    }
    node.text()
}

/// The whole number in `node`, within `bounds`.
pub(super) fn whole(check: &mut Check, key: &str, node: &Node, bounds: RangeInclusive<i64>) -> Option<i64> {
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

fn out_of_range<T>(check: &mut Check, key: &str, span: Span, number: impl Display, least: i64, most: i64) -> Option<T> {
    let bounds = match most {
        i64::MAX => format!("of {least} or more"),
        most => format!("from {least} to {most}"),
    };
    check.error(span, format!("`{key}` is out of range: {number}"), Some(format!("write a whole number {bounds}")));
    None
}

/// The table in `node`, to be read and finished by the caller.
pub(super) fn table<'t>(check: &mut Check, key: &str, node: &'t Node, title: impl Into<String>) -> Option<Fields<'t>> {
    match &node.value {
        Value::Table(inner) => Some(Fields::new(inner, node.span, title)),
        _ => {
            check.wrong_type(key, node, "a table", "{ ... }");
            None
        }
    }
}
