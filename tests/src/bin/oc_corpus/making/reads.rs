//! Reads of a loader's source in its data: which keys, of what, and as what kind of value.
//!
//! The result is a guess by the words of the source. What it misses, the loader's own errors say.

use super::tokens::Token;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Item,
}

/// A value that is read: of a document as a whole, or of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub(super) of_document: bool,
    pub(super) steps: Vec<Step>,
}

/// Use of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Any,
    Text,
    Number,
    Texts,
    Entries,
    WrittenList,
}

/// One read of a value.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) at: At,
    pub(super) used: Use,
    pub(super) line: usize,
}

/// Splits: the first key of a data set is one of them.
const SPLITS: [&str; 6] = ["train", "test", "validation", "val", "dev", "default"];
/// Names that are no data.
const OTHERS: [&str; 6] = ["environ", "kwargs", "os", "self", "cls", "re"];
const OF_TEXT: [&str; 13] = [
    "split",
    "strip",
    "rstrip",
    "lstrip",
    "replace",
    "lower",
    "upper",
    "startswith",
    "endswith",
    "splitlines",
    "find",
    "format",
    "encode",
];
const OF_ENTRIES: [&str; 3] = ["items", "keys", "values"];
const OF_NUMBER: [&str; 4] = ["int", "float", "chr", "round"];
const OF_LIST: [&str; 8] = ["enumerate", "len", "join", "sorted", "list", "zip", "shuffle", "sample"];
const OF_WRITTEN: [&str; 3] = ["loads", "literal_eval", "eval"];

/// Everything that is read.
pub(super) fn reads(tokens: &[Token]) -> Vec<Read> {
    let mut known = Names::default();
    // Comprehensions use a name before they say what it is.
    for _ in 0..2 {
        known.bind(tokens);
    }
    let mut found = Vec::new();
    let mut line = 0;
    let mut at = 0;
    while at < tokens.len() {
        if let Some(Token::Line(number)) = tokens.get(at) {
            line = *number;
        }
        let begins = tokens.get(at).is_some_and(|token| token.name().is_some());
        let after_dot = at > 0 && tokens.get(at - 1).is_some_and(|token| token.is('.'));
        match known.chain(tokens, at).filter(|_| begins && !after_dot) {
            Some(chain) if chain.end > at + 1 => {
                if !chain.is_written {
                    let used = chain.used.unwrap_or_else(|| around(tokens, at, chain.end));
                    found.push(Read { at: chain.at.clone(), used, line });
                }
                // Names in brackets are read too.
                at += 1;
            }
            _ => at += 1,
        }
    }
    found.retain(|read| !read.at.steps.is_empty());
    found
}

/// Meanings of names.
#[derive(Debug, Default)]
struct Names(BTreeMap<String, At>);

struct Chain {
    at: At,
    end: usize,
    used: Option<Use>,
    is_written: bool,
}

impl Names {
    /// Adds names that assignments and loops give.
    fn bind(&mut self, tokens: &[Token]) {
        for at in 0..tokens.len() {
            let sign = |offset: usize, sign: char| tokens.get(at + offset).is_some_and(|token| token.is(sign));
            let name = |offset: usize| tokens.get(at + offset).and_then(Token::name);
            let begins = matches!(tokens.get(at), Some(Token::Line(_)));
            if let (true, Some(target), true, false) = (begins, name(1), sign(2, '='), sign(3, '='))
                && let Some(chain) = self.chain(tokens, at + 3)
                && (!chain.at.steps.is_empty() || chain.at.of_document)
                && chain.used.is_none()
                && matches!(tokens.get(chain.end), Some(Token::Line(_)))
            {
                self.0.insert(target.to_owned(), chain.at);
            }
            if name(0) == Some("for") {
                self.bind_loop(tokens, at);
            }
        }
    }

    fn bind_loop(&mut self, tokens: &[Token], at: usize) {
        let Some(length) = tokens.iter().skip(at).take(12).position(|token| token.name() == Some("in")) else { return };
        let targets: Vec<&str> = tokens.iter().skip(at + 1).take(length - 1).filter_map(Token::name).collect();
        let mut begin = at + length + 1;
        let called = |word: &str| {
            tokens.get(begin).and_then(Token::name) == Some(word)
                && tokens.get(begin + 1).is_some_and(|next| next.is('('))
        };
        let counts = called("enumerate");
        if counts || called("tqdm") {
            begin += 2;
        }
        let Some(chain) = self.chain(tokens, begin) else { return };
        let target = if counts { targets.get(1) } else { targets.last() };
        let Some(target) = target else { return };
        let mut of = chain.at;
        if of.steps.is_empty() && !of.of_document {
            self.0.remove(*target);
            return;
        }
        of.steps.push(Step::Item);
        self.0.insert((*target).to_owned(), of);
    }

    /// The value that the words from `at` on name.
    fn chain(&self, tokens: &[Token], at: usize) -> Option<Chain> {
        let base = tokens.get(at)?.name().filter(|base| !OTHERS.contains(base))?;
        let mut found = self.0.get(base).cloned().unwrap_or_default();
        let mut end = at + 1;
        if base == "json" && tokens.get(at + 2).and_then(Token::name) == Some("load") {
            found = At { of_document: true, steps: Vec::new() };
            end = closed(tokens, at + 3);
        }
        let mut used = None;
        // `dataset[split]['answers'][i]`: columns before rows.
        let mut by_column = false;
        loop {
            let next = |offset: usize| tokens.get(end + offset);
            let sign = |offset: usize, sign: char| next(offset).is_some_and(|token| token.is(sign));
            if sign(0, '[') && sign(2, ']') {
                match next(1) {
                    Some(Token::Text(key)) => {
                        let is_split = found.steps.is_empty() && SPLITS.contains(&key.as_str());
                        by_column |= is_split;
                        if !is_split {
                            found.steps.push(Step::Key(key.clone()));
                        }
                    }
                    Some(Token::Name(name)) if found.steps.is_empty() => by_column |= name.contains("split"),
                    Some(Token::Number(_) | Token::Name(_)) if by_column => by_column = false,
                    Some(Token::Number(_) | Token::Name(_)) if !found.steps.is_empty() => found.steps.push(Step::Item),
                    Some(Token::Number(_) | Token::Name(_)) => {}
                    _ => break,
                }
                end += 3;
                continue;
            }
            let method = next(1).and_then(Token::name).filter(|_| sign(0, '.') && sign(2, '('));
            match (method, next(3)) {
                (Some("get" | "pop"), Some(Token::Text(key))) => {
                    found.steps.push(Step::Key(key.clone()));
                    end = closed(tokens, end + 2);
                    continue;
                }
                (Some(method), _) if OF_TEXT.contains(&method) => used = Some(Use::Text),
                (Some(method), _) if OF_ENTRIES.contains(&method) => {
                    used = Some(Use::Entries);
                    if found.of_document {
                        end += 4;
                    }
                }
                _ => {}
            }
            break;
        }
        // A list that is indexed is one only if nothing else is known of its items.
        let assigned = tokens.get(end).is_some_and(|token| token.is('='))
            && !tokens.get(end + 1).is_some_and(|token| token.is('='));
        let is_written = assigned && at > 0 && matches!(tokens.get(at - 1), Some(Token::Line(_)));
        Some(Chain { at: found, end, used, is_written })
    }
}

/// The word behind the bracket that closes the one at `open`.
fn closed(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns the use that the words around a value make of it.
fn around(tokens: &[Token], begin: usize, end: usize) -> Use {
    let before = |back: usize| begin.checked_sub(back).and_then(|at| tokens.get(at));
    let called = before(1).filter(|token| token.is('(')).and(before(2)).and_then(Token::name);
    let number_after = matches!(tokens.get(end), Some(Token::Sign('+' | '-' | '<' | '>')))
        && matches!(tokens.get(end + 1), Some(Token::Number(_)));
    let equals_number = tokens.get(end).is_some_and(|token| token.is('='))
        && tokens.get(end + 1).is_some_and(|token| token.is('='))
        && matches!(tokens.get(end + 2), Some(Token::Number(_)));
    match called {
        Some(word) if OF_NUMBER.contains(&word) => Use::Number,
        Some(word) if OF_WRITTEN.contains(&word) => Use::WrittenList,
        Some(word) if OF_LIST.contains(&word) => Use::Texts,
        _ if number_after || equals_number => Use::Number,
        _ if before(1).and_then(Token::name) == Some("in") => Use::Texts,
        // An index of a list or of a text: `'ABCD'[row['label']]`.
        _ if before(1).is_some_and(|token| token.is('['))
            && matches!(before(2), Some(Token::Name(_) | Token::Text(_) | Token::Sign(']'))) =>
        {
            Use::Number
        }
        _ => Use::Any,
    }
}

/// The shape of a value of this name and use.
fn leaf(name: &str, used: Use) -> Value {
    let lower = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    match used {
        Use::Number => "$int:0:3".into(),
        Use::Texts => "$texts".into(),
        Use::Entries => json!({"A": "$text", "B": "$text", "C": "$text", "D": "$text"}),
        Use::WrittenList => "$list".into(),
        Use::Text => "$text".into(),
        Use::Any if has(&["options", "choices", "answers", "references", "turns", "classes"]) => "$texts".into(),
        Use::Any if ["idx", "index"].contains(&lower.as_str()) => "$int:0:3".into(),
        Use::Any if has(&["answer", "label", "gold", "target", "correct"]) => "$letter".into(),
        Use::Any => "$text".into(),
    }
}

/// Rows behind a key of a document.
pub(super) fn put_rows(document: &mut Value, key: &str) {
    if document.is_null() {
        *document = Value::Object(Map::new());
    }
    if let Some(map) = document.as_object_mut() {
        map.entry(key).or_insert_with(|| "$rows".into());
    }
}

/// Puts what is read into the shape of a row or of a document.
pub(super) fn put(shape: &mut Value, steps: &[Step], used: Use) {
    put_named(shape, steps, used, "");
}

fn put_named(shape: &mut Value, steps: &[Step], used: Use, name: &str) {
    match steps.split_first() {
        None => {
            let open = shape.is_null() || shape == "$absent" || (shape.is_string() && used != Use::Any);
            if open && !(shape == "$texts" && used == Use::Text) {
                *shape = leaf(name, used);
            }
        }
        Some((Step::Key(key), rest)) => {
            if !shape.is_object() {
                match shape {
                    Value::Array(items) => {
                        if let Some(first) = items.first_mut() {
                            return put_named(first, steps, used, name);
                        }
                    }
                    _ => *shape = Value::Object(Map::new()),
                }
            }
            if let Some(map) = shape.as_object_mut() {
                put_named(map.entry(key.clone()).or_insert(Value::Null), rest, used, key);
            }
        }
        Some((Step::Item, rest)) => {
            if rest.is_empty() {
                // Items of which nothing is asked are texts; a text may be indexed too.
                if shape.is_null() || shape.is_string() {
                    *shape = if used == Use::Number { json!(["$int:0:3"]) } else { "$texts".into() };
                }
                return;
            }
            if !shape.is_array() && !shape.is_object() {
                *shape = json!([null]);
            }
            match shape {
                Value::Array(items) => {
                    if let Some(first) = items.first_mut() {
                        put_named(first, rest, used, name);
                    }
                }
                // `for entry in x.values()`.
                Value::Object(map) => {
                    for inner in map.values_mut() {
                        put_named(inner, rest, used, name);
                    }
                }
                _ => {}
            }
        }
    }
}
