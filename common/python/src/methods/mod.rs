//! The methods of built-in types, and how values are written into text.

mod dict;
mod format;
mod list;
mod set;
mod text;

pub(crate) use dict::entries as dict_entries;
pub(crate) use format::format;
pub(crate) use list::sort;
pub(crate) use set::combine as combine_sets;

use crate::error::{Result, attribute_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::value::Value;

/// Methods that CPython has and this evaluator has not: no `except AttributeError` may take them for missing there.
const NOT_EVALUATED: &[&str] = &[
    "as_integer_ratio",
    "conjugate",
    "from_bytes",
    "fromhex",
    "hex",
    "isascii",
    "isidentifier",
    "isprintable",
    "maketrans",
    "subtract",
    "elements",
    "to_bytes",
    "appendleft",
    "popleft",
    "extendleft",
    "rotate",
    "intersection_update",
    "difference_update",
    "symmetric_difference_update",
];

/// Whether values of this type have the method `name`.
pub(crate) fn has(value: &Value, name: &str) -> bool {
    names(value).contains(&name)
}

/// The methods of values of this type.
pub(crate) fn names(value: &Value) -> &'static [&'static str] {
    match value {
        Value::Text(_) => text::NAMES,
        Value::List(_) => list::NAMES,
        Value::Tuple(_) => &["count", "index"],
        Value::Dict(dict) if dict.borrow().config => dict::CONFIG_NAMES,
        Value::Dict(dict) if dict.borrow().splits => crate::object::SPLITS_METHODS,
        Value::Dict(_) => dict::NAMES,
        Value::Set(_) => set::NAMES,
        Value::Bytes(_) => &["decode"],
        Value::Float(_) => &["is_integer"],
        Value::Int(_) => &["bit_length"],
        _ => &[],
    }
}

/// Calls a method of a built-in type.
pub(crate) fn call(
    interpreter: &mut Interpreter<'_>,
    receiver: &Value,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    if !has(receiver, name) {
        let stop = attribute_error(format!("'{}' object has no attribute '{name}'", receiver.type_name()));
        if NOT_EVALUATED.contains(&name) {
            return Err(stop.finally());
        }
        return Err(match interpreter.near_attribute(receiver, name) {
            Some(help) => stop.with_help(help),
            None => stop,
        });
    }
    match receiver {
        Value::Text(text) => text::call(interpreter, text, name, arguments),
        Value::List(list) => list::call(interpreter, list, name, arguments),
        Value::Tuple(_) => list::search(interpreter, receiver, name, arguments),
        Value::Dict(dict) if dict.borrow().splits && !dict::NAMES.contains(&name) => {
            crate::object::call_splits(interpreter, dict, name, arguments)
        }
        Value::Dict(dict) => dict::call(interpreter, receiver, dict, name, arguments),
        Value::Set(set) => set::call(interpreter, receiver, set, name, arguments),
        Value::Bytes(bytes) => Ok(Value::text(String::from_utf8_lossy(bytes).as_ref())),
        Value::Float(float) => Ok(Value::Bool(float.is_finite() && float.fract() == 0.0)),
        Value::Int(int) => Ok(Value::Int(i128::from(128 - int.unsigned_abs().leading_zeros()))),
        other => Err(attribute_error(format!("'{}' object has no attribute '{name}'", other.type_name()))),
    }
}
