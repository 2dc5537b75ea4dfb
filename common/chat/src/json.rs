//! `tojson` as transformers overrides it: Python's `json.dumps`, without Jinja's HTML escapes.

use compass_plan::prompt::template_limits;
use compass_pyfmt::{json_float, json_text};
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Error, ErrorKind, Value};

/// Maximum number of spaces per level of indentation.
const MAX_INDENT: usize = 256;

/// Layout of a document.
struct Layout {
    ensure_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sort_keys: bool,
}

/// The filter: `x | tojson(ensure_ascii=false, indent=none, separators=none, sort_keys=false)`.
pub(super) fn tojson(value: &Value, arguments: Kwargs) -> Result<Value, Error> {
    template_limits::value_fits(value)?;
    let indent: Option<Value> = arguments.get("indent")?;
    let indent = match indent {
        None => None,
        Some(value) if value.is_none() => None,
        Some(value) => Some(match value.as_str() {
            Some(text) => text.to_owned(),
            None => match usize::try_from(value).unwrap_or(0) {
                width if width > MAX_INDENT => {
                    let what = format!("tojson indents by at most {MAX_INDENT}, not by {width}");
                    return Err(Error::new(ErrorKind::InvalidOperation, what));
                }
                width => " ".repeat(width),
            },
        }),
    };
    let separators: Option<Value> = arguments.get("separators")?;
    let given = separators.filter(|value| !value.is_none()).map(|value| -> Result<(String, String), Error> {
        Ok((value.get_item_by_index(0)?.to_string(), value.get_item_by_index(1)?.to_string()))
    });
    let otherwise = || (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned());
    let (item_separator, key_separator) = given.transpose()?.unwrap_or_else(otherwise);
    let layout = Layout {
        ensure_ascii: arguments.get::<Option<bool>>("ensure_ascii")?.unwrap_or(false),
        indent,
        item_separator,
        key_separator,
        sort_keys: arguments.get::<Option<bool>>("sort_keys")?.unwrap_or(false),
    };
    arguments.assert_all_used()?;
    let mut out = String::new();
    layout.write(&mut out, value, 0)?;
    Ok(Value::from_safe_string(out))
}

impl Layout {
    fn write(&self, out: &mut String, value: &Value, depth: usize) -> Result<(), Error> {
        match value.kind() {
            ValueKind::None => out.push_str("null"),
            ValueKind::Bool => out.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => out.push_str(&number(value)?),
            ValueKind::String => self.write_text(out, value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items: Vec<Value> = value.try_iter()?.collect();
                self.write_items(out, ('[', ']'), depth, items, |out, item| self.write(out, &item, depth + 1))?;
            }
            ValueKind::Map => {
                let mut keys: Vec<Value> = value.try_iter()?.collect();
                if self.sort_keys {
                    keys.sort();
                }
                self.write_items(out, ('{', '}'), depth, keys, |out, key| {
                    self.write_key(out, &key)?;
                    out.push_str(&self.key_separator);
                    self.write(out, &value.get_item(&key)?, depth + 1)
                })?;
            }
            kind => {
                let what = format!("a value of kind {kind} is not JSON serializable");
                return Err(Error::new(ErrorKind::InvalidOperation, what));
            }
        }
        Ok(())
    }

    fn write_items(
        &self,
        out: &mut String,
        (open, close): (char, char),
        depth: usize,
        items: Vec<Value>,
        mut write: impl FnMut(&mut String, Value) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let line = |out: &mut String, depth: usize| {
            if let Some(indent) = &self.indent {
                out.push('\n');
                out.push_str(&indent.repeat(depth));
            }
        };
        out.push(open);
        let empty = items.is_empty();
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push_str(&self.item_separator);
            }
            line(out, depth + 1);
            write(out, item)?;
        }
        if !empty {
            line(out, depth);
        }
        out.push(close);
        Ok(())
    }

    /// Python converts keys to text.
    fn write_key(&self, out: &mut String, key: &Value) -> Result<(), Error> {
        match key.as_str() {
            Some(text) => self.write_text(out, text),
            None => {
                let mut text = String::new();
                self.write(&mut text, key, 0)?;
                self.write_text(out, &text);
            }
        }
        Ok(())
    }

    fn write_text(&self, out: &mut String, text: &str) {
        json_text(out, text, self.ensure_ascii);
    }
}

/// Formats a number as Python does: integers as they are, floats by `repr`.
pub(super) fn number(value: &Value) -> Result<String, Error> {
    if value.is_integer() {
        return Ok(value.to_string());
    }
    Ok(json_float(f64::try_from(value.clone())?))
}
