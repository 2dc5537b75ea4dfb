//! A choice by name, `retriever = "zero"`, or by name with parameters, `retriever = { type = "fix_k", ids = [0] }`.
//!
//! Names of OpenCompass's classes are understood too: `ZeroRetriever` is `zero`, `gsm8k_postprocess` is `gsm8k`.

use super::fields::{Fields, text};
use crate::keys::TableKeys;
use crate::keys::vocabulary::{Choices, bare_class};
use crate::report::check::Check;
use crate::syntax::tree::{Node, Value};
use compass_diagnostic::spelling;

impl<T: Clone> Choices<'_, T> {
    /// Picks what the string in `node`, the value of `key`, names; anything else is reported.
    pub(crate) fn pick(&self, check: &mut Check, key: &str, node: &Node) -> Option<T> {
        self.named(check, key, key, node)
    }

    /// As [`Choices::pick`] for a string or a table with `type`; the fields are the table's others.
    pub(crate) fn tagged<'t>(
        &self,
        check: &mut Check,
        key: &str,
        node: &'t Node,
        keys: &'static TableKeys,
    ) -> Option<(T, Fields<'t>)> {
        match &node.value {
            Value::String(_) => {
                let choice = self.pick(check, key, node)?;
                let mut fields = Fields::none(node.span, keys);
                fields.get("type");
                Some((choice, fields))
            }
            Value::Table(table) => {
                let mut fields = Fields::new(table, node.span, keys);
                let tag = fields.require(check, "type", &format!("\"{}\"", self.example()))?;
                Some((self.named(check, key, "type", tag)?, fields))
            }
            _ => {
                let example = format!("{{ type = \"{}\" }}", self.example());
                check.wrong_type(key, node, "a string or a table with `type`", &example);
                None
            }
        }
    }

    /// As [`Choices::pick`], where a person would not call the thing by its key.
    pub(crate) fn named(&self, check: &mut Check, what: &str, key: &str, node: &Node) -> Option<T> {
        // A class may be named with its package, as OpenCompass's configurations write it.
        let written = bare_class(text(check, key, node)?);
        let short = self.suffix.map_or(String::new(), |suffix| short_name(written, suffix));
        let named = self.now.iter().chain(self.aliases).find(|(name, _)| *name == written || *name == short);
        if let Some((_, value)) = named {
            return Some(value.clone());
        }
        if self.later.iter().any(|name| *name == written || *name == short) {
            check.value_not_yet(key, node, self.meanwhile);
            return None;
        }
        let now: Vec<&str> = self.now.iter().map(|(name, _)| *name).collect();
        let known = now.iter().chain(self.later).copied();
        let near = spelling::nearest(written, known).map(|near| format!("did you mean `{near}`? "));
        let help = format!("{}served are {}", near.unwrap_or_default(), spelling::list(&now));
        let message = format!("unknown {what} `{written}`");
        match self.suffix {
            Some(_) => check.unknown_class(node.span, message, help),
            None => check.error(node.span, message, Some(help)),
        }
        None
    }

    /// Returns `true` if the name, or the class of that name, is served.
    pub(crate) fn serves(&self, written: &str) -> bool {
        let written = bare_class(written);
        let short = self.suffix.map_or(String::new(), |suffix| short_name(written, suffix));
        self.now.iter().chain(self.aliases).any(|(name, _)| *name == written || *name == short)
    }

    fn example(&self) -> &str {
        self.now.first().map_or("", |(name, _)| name)
    }
}

/// `FixKRetriever` without `Retriever`, in snake case: `fix_k`.
fn short_name(written: &str, suffix: &str) -> String {
    let Some(stem) = written.strip_suffix(suffix).filter(|stem| !stem.is_empty()) else { return String::new() };
    let letters: Vec<char> = stem.chars().collect();
    let mut name = String::with_capacity(stem.len() + 2);
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at));
        let after = letters.get(at + 1);
        let starts_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() && *before != '_'
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if starts_word {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_names_become_short_names() {
        for (class, suffix, expected) in [
            ("FixKRetriever", "Retriever", "fix_k"),
            ("BM25Retriever", "Retriever", "bm25"),
            ("PPLOnlyInferencer", "Inferencer", "ppl_only"),
            ("EMEvaluator", "Evaluator", "em"),
            ("Gsm8kEvaluator", "Evaluator", "gsm8k"),
            ("NumWorkerPartitioner", "Partitioner", "num_worker"),
            ("gsm8k_dataset_postprocess", "_postprocess", "gsm8k_dataset"),
            ("Retriever", "Retriever", ""),
            ("acc", "Evaluator", ""),
        ] {
            assert_eq!(short_name(class, suffix), expected);
        }
    }
}
