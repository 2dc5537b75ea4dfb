//! Output of `{{ value }}`: Python's `str`, where minijinja would print its own `none`, `true` and JSON.

use super::json::number;
use compass_plan::prompt::template_limits;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Output, State, Value};

/// The formatter of the environment.
pub(super) fn write(out: &mut Output<'_>, state: &State<'_, '_>, value: &Value) -> Result<(), Error> {
    let text = python_str(value)?;
    template_limits::printed(state, text.len())?;
    out.write_str(&text).map_err(|_| Error::new(ErrorKind::WriteFailure, "cannot write the text"))
}

/// `str(value)`; nothing for an undefined one.
pub(super) fn python_str(value: &Value) -> Result<String, Error> {
    match value.kind() {
        ValueKind::Undefined => Ok(String::new()),
        ValueKind::String => Ok(value.as_str().unwrap_or_default().to_owned()),
        _ => {
            template_limits::value_fits(value)?;
            repr(value)
        }
    }
}

/// `repr(value)`.
pub(super) fn repr(value: &Value) -> Result<String, Error> {
    Ok(match value.kind() {
        ValueKind::None => "None".into(),
        ValueKind::Undefined => "Undefined".into(),
        ValueKind::Bool => if value.is_true() { "True" } else { "False" }.into(),
        ValueKind::Number => match number(value)?.as_str() {
            "NaN" => "nan".into(),
            "Infinity" => "inf".into(),
            "-Infinity" => "-inf".into(),
            finite => finite.into(),
        },
        ValueKind::String => compass_pyfmt::python_repr(&serde_json::Value::from(value.as_str().unwrap_or_default())),
        ValueKind::Seq | ValueKind::Iterable => {
            let items: Vec<String> = value.try_iter()?.map(|item| repr(&item)).collect::<Result<_, _>>()?;
            format!("[{}]", items.join(", "))
        }
        ValueKind::Map => {
            let entry = |key: Value| Ok(format!("{}: {}", repr(&key)?, repr(&value.get_item(&key)?)?));
            let entries: Vec<String> = value.try_iter()?.map(entry).collect::<Result<_, Error>>()?;
            format!("{{{}}}", entries.join(", "))
        }
        _ => value.to_string(),
    })
}
