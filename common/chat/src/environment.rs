//! The Jinja environment of transformers (`_compile_jinja_template` in chat_template_utils.py) on minijinja.

use super::json::tojson;
use super::python_output;
use compass_plan::prompt::{add_python, template_limits};
use jiff::civil::DateTime;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

/// Creates an environment whose `strftime_now` is always `now`, so that a prompt does not depend on the clock.
pub(super) fn environment(now: DateTime) -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Lenient);
    environment.set_unknown_method_callback(|state, value, name, arguments| {
        if let Some(text) = value.as_str() {
            template_limits::method_fits(text, name, arguments)?;
        }
        minijinja_contrib::pycompat::unknown_method_callback(state, value, name, arguments)
    });
    environment.set_formatter(python_output::write);
    environment.add_filter("tojson", |value: Value, arguments| tojson(&value, arguments));
    environment.add_filter("string", |value: Value| python_output::python_str(&value));
    // Jinja's text filters accept anything and start with `str`.
    environment.add_filter("trim", trim);
    environment.add_filter("upper", |value: Value| python_output::python_str(&value).map(|text| text.to_uppercase()));
    environment.add_filter("lower", |value: Value| python_output::python_str(&value).map(|text| text.to_lowercase()));
    template_limits::limit(&mut environment);
    add_python(&mut environment, python_output::python_str, python_output::repr);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", move |format: String| strftime(now, &format));
    // Python's strings and mappings can be indexed and have a length: Jinja calls them sequences.
    environment.add_test("sequence", |value: Value| {
        matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable | ValueKind::String | ValueKind::Map)
    });
    environment.add_test("iterable", |value: Value| {
        matches!(
            value.kind(),
            ValueKind::Seq | ValueKind::Iterable | ValueKind::String | ValueKind::Map | ValueKind::Undefined
        )
    });
    environment
}

/// The error kind of a template's own rejection, to distinguish it from its faults.
pub(super) const REFUSED: ErrorKind = ErrorKind::InvalidOperation;

/// Prefix of the message of a rejection.
pub(super) const REFUSAL: &str = "raise_exception: ";

fn trim(value: &Value, chars: Option<String>) -> Result<String, Error> {
    let text = python_output::python_str(value)?;
    let trimmed = match chars {
        Some(chars) => text.trim_matches(|c| chars.contains(c)),
        None => text.trim_matches(is_python_space),
    };
    Ok(trimmed.to_owned())
}

/// Returns whether Python's `str.strip` strips the character: Unicode whitespace and the four information separators.
pub(super) fn is_python_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn raise_exception(message: &str) -> Result<String, Error> {
    Err(Error::new(REFUSED, format!("{REFUSAL}{message}")))
}

fn strftime(now: DateTime, format: &str) -> Result<String, Error> {
    let text = jiff::fmt::strtime::format(format, now);
    text.map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {error}")))
}
