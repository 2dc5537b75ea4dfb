//! `MultiChoiceRegexFilter`: the letter of an option in parentheses, `(A)`.

use super::{FilterError, MultiChoice};
use crate::Pattern;
use compass_pyfmt::strip;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

impl MultiChoice {
    /// The letter that each response names.
    pub(super) fn apply(&self, items: &[Value], options: &[String]) -> Result<Vec<Value>, FilterError> {
        let pattern = |text: String| Pattern::new(text).map_err(|error| FilterError::Options(error.to_string()));
        let mut texts = Vec::new();
        let mut letter_of = HashMap::new();
        let letters: Vec<char> = ('A'..).take(options.len()).collect();
        for (option, letter) in options.iter().zip(&letters) {
            let text = self.without_ignored(strip(option))?;
            letter_of.insert(text.clone(), format!("({letter})"));
            texts.push(text);
        }
        // Longest first, so that an option that begins another does not hide it.
        texts.sort_by_key(|text| std::cmp::Reverse(regex::escape(text).chars().count()));
        let by_text = pattern(texts.iter().map(|text| regex::escape(text)).collect::<Vec<_>>().join("|"))?;
        let letters: Vec<String> = letters.iter().map(|letter| regex::escape(&letter.to_string())).collect();
        let by_letter = pattern(format!(r":[\s]*({})", letters.join("|")))?;
        items.iter().map(|item| self.letter(item, &by_text, &letter_of, &by_letter)).collect()
    }

    fn letter(
        &self,
        item: &Value,
        by_text: &Pattern,
        letter_of: &HashMap<String, String>,
        by_letter: &Pattern,
    ) -> Result<Value, FilterError> {
        let response = item.as_str().unwrap_or_default();
        let found = self.selector.find(&self.selector.pattern, response)?;
        if !found.is_empty() {
            return Ok(found.into());
        }
        let response_text = self.without_ignored(super::responses::text(item)?)?;
        let found = self.selector.find(by_text, &response_text)?;
        if !found.is_empty() {
            return Ok(letter_of.get(found).map_or(found, String::as_str).into());
        }
        let found = self.selector.find(by_letter, response)?;
        Ok(if found.is_empty() { self.selector.fallback.clone().into() } else { format!("({found})").into() })
    }

    fn without_ignored(&self, text: &str) -> Result<String, FilterError> {
        #[expect(clippy::expect_used, reason = "a constant pattern that every test compiles")]
        static PUNCTUATION: LazyLock<regex::Regex> =
            LazyLock::new(|| regex::Regex::new(r"\p{P}").expect("a valid pattern"));
        let mut text =
            self.regexes_to_ignore.iter().try_fold(text.to_owned(), |text, ignored| ignored.remove_all(&text))?;
        if self.ignore_case {
            text = text.to_lowercase();
        }
        if self.ignore_punctuation {
            text = PUNCTUATION.replace_all(&text, "").into_owned();
        }
        Ok(text)
    }
}
