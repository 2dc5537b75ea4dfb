//! Source of the gold answer of a row.

use super::format::Row;
use super::template::PromptConfig;
use compass_pyfmt::digits_beyond_64_bits;
use serde_json::Value;
use std::borrow::Cow;

/// A column, or a template that goes before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gold<'a> {
    pub(super) config: &'a PromptConfig,
    pub(super) column: Option<&'a str>,
}

impl Gold<'_> {
    /// Returns whether there is any.
    pub(super) fn is_given(&self) -> bool {
        self.config.gold.is_some() || self.column.is_some()
    }

    /// The gold answer of a row, a list where several are right. Of a template, digits alone are a number where there are
    /// options to count, as in lm-eval.
    ///
    /// # Errors
    /// In words, when no column is named or the row lacks it, or the template fails.
    pub(super) fn of<'r>(&self, row: &'r Row) -> Result<Cow<'r, Value>, String> {
        if let Some(text_template) = &self.config.gold {
            let number = |text: &str| self.config.options.as_ref().and_then(|_| text.parse::<u64>().ok());
            return Ok(Cow::Owned(match text_template.value(row)? {
                Value::String(text) => number(&text).map_or_else(|| Value::from(text), Value::from),
                value => match digits_beyond_64_bits(&value) {
                    Some(digits) => digits.into(),
                    None => value,
                },
            }));
        }
        let column = self.column.ok_or("has no gold answer: name the column in `reader_cfg.output_column`")?;
        let missing = || format!("has no column `{column}`, where `output_column` looks for the gold answer");
        let gold = row.get(column).ok_or_else(missing)?;
        // One such number is compared as the text that Python prints of it; within a list it stays a number.
        Ok(digits_beyond_64_bits(gold).map_or(Cow::Borrowed(gold), |digits| Cow::Owned(digits.into())))
    }
}
