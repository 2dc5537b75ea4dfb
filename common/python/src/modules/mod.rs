//! Python's built-in names, and the parts of its standard library, that configurations use.

mod builtins;
mod csv;
mod file;
mod files;
mod host;
mod itertools;
mod json;
mod json_text;
mod library;
mod literal;
mod random;
mod tables;
mod types;

pub(crate) use file::{is_file, line as file_line};
pub(crate) use files::{attribute as path_attribute, call_path, path_joined};
pub(crate) use itertools::{Tool, next as next_of_tool};
pub(crate) use literal::literal_eval;
pub(crate) use random::call as call_random;
pub(crate) use tables::{from_class, from_json};
pub(crate) use types::{set_of, type_of};

use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter, native};
use crate::value::{Native, Value};

/// The module of library code that configurations use, too.
const JSON: &str = "json";

/// Modules whose further names configurations use, too.
const OF_CONFIGURATIONS: &[&str] = &[JSON, "itertools", "re"];

/// The value of a built-in name.
pub(crate) fn builtin(name: &str) -> Option<Value> {
    if let Some(class) = crate::value::builtin_class(name) {
        return Some(Value::Native(Native::builtin(class)));
    }
    builtins::NAMES.iter().find(|known| **known == name).map(|known| native("builtins", known))
}

/// Built-in names, without the names of exceptions.
pub(crate) fn builtin_names() -> &'static [&'static str] {
    builtins::NAMES
}

/// The module of this name, if it is known.
///
/// Modules of library code belong to data sets: nothing in a configuration has a use for them, but for `json`.
pub(crate) fn module(name: &str, of_library: bool) -> Option<&'static str> {
    let known = library::MODULES.iter().find(|known| **known == name);
    let is_known = |known: &&&str| **known == name && (of_library || name == JSON);
    known.or_else(|| host::MODULES.iter().find(is_known)).copied()
}

/// `module.name`.
pub(crate) fn member(interpreter: &mut Interpreter<'_>, module: &'static str, name: &str) -> Option<Value> {
    if (interpreter.library.is_some() || OF_CONFIGURATIONS.contains(&module))
        && let Some(value) = host::member(interpreter, module, name)
    {
        return Some(value);
    }
    library::member(interpreter, module, name)
}

/// `type.name`, for example `dict.fromkeys` and `str.join`.
pub(crate) fn type_member(native: Native, name: &str) -> Option<Value> {
    types::member(native, name)
}

/// Calls a function of the language.
pub(crate) fn call(interpreter: &mut Interpreter<'_>, function: Native, arguments: Arguments) -> Result<Value> {
    match function.module {
        "builtins" => builtins::call(interpreter, function.name, arguments),
        "compass" => {
            let [pair] = arguments.bind("first", ["pair"], 1)?;
            Ok(interpreter.item(&pair.unwrap_or(Value::None), &Value::Int(0))?.value)
        }
        module if host::has(module, function.name) => host::call(interpreter, module, function.name, arguments),
        module => library::call(interpreter, module, function.name, arguments),
    }
}

/// Returns whether `name` is a method of an object that the language made: a file.
pub(crate) fn is_object_method(object: &Value, name: &str) -> bool {
    is_file(object) && file::METHODS.contains(&name)
}

pub(crate) fn call_object_method(
    interpreter: &mut Interpreter<'_>,
    object: &Value,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    let _ = interpreter;
    match object {
        Value::Instance(instance) => file::call(instance, name, &arguments),
        _ => Err(Stop::unsupported(format!("`{name}` is not evaluated here"))),
    }
}
