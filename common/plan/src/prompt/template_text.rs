//! A short template beside the prompt's own: a description, a target, a gold answer. Columns in braces, or Jinja.

use super::format::{Row, fill};
use super::jinja;
use compass_pyfmt::literal;
use compass_pyfmt::python_str;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A template of one text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TemplateText {
    /// `{column}` is replaced, as in OpenCompass.
    Text(String),
    /// Jinja over the columns, as in lm-eval.
    Jinja(String),
}

impl TemplateText {
    /// The text of a row, `blank` taken as an empty column.
    ///
    /// # Errors
    /// In words: what the Jinja template does not find or cannot do.
    pub(super) fn of(&self, row: &Row, blank: Option<&str>) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(fill(text, row, blank)),
            Self::Jinja(source) => jinja::text(source, row),
        }
    }

    /// Returns what it means: the value of a column where it is nothing but a column, the list that Jinja prints as Python
    /// would write it (lm-eval's `ast.literal_eval`), else the text. For one expression that is a text, this is that text
    /// whatever it looks like, where lm-eval makes a list of it.
    ///
    /// # Errors
    /// As [`TemplateText::of`]; and when the row lacks the column.
    pub(super) fn value(&self, row: &Row) -> Result<Value, String> {
        if let Some(column) = self.column() {
            return row
                .get(column)
                .cloned()
                .ok_or_else(|| format!("has no column `{column}`, which the template puts in"));
        }
        let text = self.of(row, None)?;
        let Self::Jinja(source) = self else { return Ok(text.into()) };
        let is_list = text.starts_with('[') && text.ends_with(']') && !jinja::is_text(source, row)?;
        let list = is_list.then(|| literal::parse(&text).ok()).flatten().filter(Value::is_array);
        Ok(list.unwrap_or(Value::String(text)))
    }

    /// The text that a shot shows; of a list the first (lm-eval's `a[0]`).
    ///
    /// # Errors
    /// As [`TemplateText::value`]; and for an empty list.
    pub(super) fn shown(&self, row: &Row) -> Result<String, String> {
        match self.value(row)? {
            Value::Array(items) => {
                let first =
                    items.first().ok_or("has an empty list where the shot's answer is: there is none to show")?;
                Ok(python_str(first))
            }
            value => Ok(python_str(&value)),
        }
    }

    /// The column that it is nothing but: `{column}` or `{{ column }}`.
    pub fn column(&self) -> Option<&str> {
        let name = match self {
            Self::Text(text) => text.strip_prefix('{')?.strip_suffix('}')?,
            Self::Jinja(source) => source.strip_prefix("{{")?.strip_suffix("}}")?.trim(),
        };
        let is_name =
            name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !name.starts_with(|c: char| c.is_numeric());
        (is_name && !name.is_empty()).then_some(name)
    }

    /// Its text where placeholders are in braces.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Jinja(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row() -> Row {
        json!({"right": [0, 2], "names": ["Rex", "the dog"], "label": 1, "none": []}).as_object().unwrap().clone()
    }

    #[test]
    fn a_column_alone_keeps_its_type_and_jinja_may_print_a_list() {
        let text = |text: &str| TemplateText::Text(text.into()).value(&row());
        let jinja = |source: &str| TemplateText::Jinja(source.into()).value(&row());
        assert_eq!(text("{right}"), Ok(json!([0, 2])));
        assert_eq!(text("is {right}"), Ok(json!("is [0, 2]")));
        assert_eq!(jinja("{{ label }}"), Ok(json!(1)));
        assert_eq!(jinja("[{% for at in right %}{{at}},{% endfor %}]"), Ok(json!([0, 2])));
        assert_eq!(jinja("[{{label}}"), Ok(json!("[1")));
        assert_eq!(jinja("{{ right + [3] }}"), Ok(json!([0, 2, 3])));
        assert!(text("{left}").unwrap_err().contains("no column `left`"));
    }

    #[test]
    fn a_text_that_looks_like_a_list_is_a_text() {
        let row = json!({"t": "[1, 2, 3]", "n": [1, 2]}).as_object().unwrap().clone();
        let jinja = |source: &str| TemplateText::Jinja(source.into()).value(&row);
        for source in ["{{ t | string }}", "{{ t.strip() }}", " {{ t }} ".trim(), "{{ n | string }}"] {
            assert!(jinja(source).unwrap().is_string(), "{source}");
        }
        assert_eq!(TemplateText::Jinja("{{ t | string }}".into()).shown(&row), Ok("[1, 2, 3]".into()));
        assert_eq!(jinja("{{ n[:1] }}"), Ok(json!([1])));
    }

    #[test]
    fn a_shot_shows_the_first_of_several_answers() {
        let shown = |text: &str| TemplateText::Text(text.into()).shown(&row());
        assert_eq!(shown("{names}"), Ok("Rex".into()));
        assert_eq!(shown("{label}!"), Ok("1!".into()));
        assert!(shown("{none}").unwrap_err().contains("empty list"));
        assert_eq!(TemplateText::Jinja("{{names[1:]}}".into()).shown(&row()), Ok("the dog".into()));
    }
}
