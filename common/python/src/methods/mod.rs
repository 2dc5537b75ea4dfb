//! The methods of built-in types, and how values are written into text.

mod codec;
mod dict;
mod format;
mod list;
mod set;
mod text;

pub(crate) use dict::entries as dict_entries;
pub(crate) use format::format;
pub(crate) use list::sort;
pub(crate) use set::combine as combine_sets;

use crate::error::{Result, Stop, attribute_error, type_error};
use crate::evaluate::{Arguments, Interpreter, Items};
use crate::value::{Slot, Value};
use std::cell::RefCell;
use std::rc::Rc;

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

/// Returns whether values of this type have the method `name`.
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
        Value::Iterator(_) => &["__next__", "close", "send"],
        _ => &[],
    }
}

/// The encoding, and what to do where it does not fit.
fn codec_names(encoding: Option<&Value>, errors: Option<&Value>) -> Result<(String, String)> {
    let name = |value: Option<&Value>, usual: &str, argument: &str| match value {
        None => Ok(usual.to_owned()),
        Some(Value::Text(text)) => Ok(text.to_string()),
        Some(other) => Err(type_error(format!("argument '{argument}' must be str, not {}", other.type_name()))),
    };
    Ok((name(encoding, "utf-8", "encoding")?, name(errors, "strict", "errors")?))
}

/// `send`, `close` and `__next__`, of generators.
fn iterator_method(
    interpreter: &mut Interpreter<'_>,
    items: &Rc<RefCell<Items>>,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    let is_generator = matches!(&*items.borrow(), Items::Generator(_) | Items::Expression(_) | Items::Returned(_));
    if name == "__next__" || name == "send" {
        if name == "send" {
            let [value] = arguments.bind(name, ["value"], 1)?;
            let value = value.unwrap_or(Value::None);
            if let Items::Generator(generator) = &mut *items.borrow_mut() {
                if generator.is_new() && !matches!(value, Value::None) {
                    return Err(type_error("can't send non-None value to a just-started generator"));
                }
                generator.send(value);
            }
        }
        let next = crate::evaluate::native("builtins", "next");
        let slot = Slot { value: Value::Iterator(Rc::clone(items)), place };
        return interpreter.call(&next, Arguments::of(vec![slot], place));
    }
    let has_cleanup = matches!(&*items.borrow(), Items::Generator(generator) if generator.has_cleanup());
    if has_cleanup || !is_generator && !matches!(&*items.borrow(), Items::All(_)) {
        return Err(Stop::unsupported("`close` of an iterator within a `try` is not evaluated here"));
    }
    *items.borrow_mut() = Items::none();
    Ok(Value::None)
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
        Value::Bytes(bytes) => {
            let [encoding, errors] = arguments.bind("decode", ["encoding", "errors"], 0)?;
            let (encoding, errors) = codec_names(encoding.as_ref(), errors.as_ref())?;
            interpreter.budget.make(bytes.len())?;
            codec::decode(bytes, &encoding, &errors).map(Value::text)
        }
        Value::Iterator(items) => iterator_method(interpreter, items, name, arguments),
        Value::Float(float) => Ok(Value::Bool(float.is_finite() && float.fract() == 0.0)),
        Value::Int(int) => Ok(Value::Int(i128::from(128 - int.unsigned_abs().leading_zeros()))),
        other => Err(attribute_error(format!("'{}' object has no attribute '{name}'", other.type_name()))),
    }
}
