//! Modules that library code uses in addition to configurations' modules: readers of files, and the `datasets` package.

use super::{csv, files, json, literal, random, tables};
use crate::error::{Result, Stop, type_error};
use crate::evaluate::{Arguments, Interpreter, native};
use crate::object::{self, Object};
use crate::value::{Native, Slot, Value};
use std::rc::Rc;

pub(super) const MODULES: &[&str] = &["ast", "csv", "datasets", "glob", "json", "logging", "pathlib", "random", "tqdm"];

/// Functions and classes of each module; of others a name is a symbol.
const NAMES: &[(&str, &[&str])] = &[
    ("ast", &["literal_eval"]),
    ("csv", &["DictReader", "reader"]),
    ("datasets", &["Dataset", "DatasetDict", "concatenate_datasets", "load_dataset"]),
    ("glob", &["glob"]),
    ("json", &["dumps", "load", "loads"]),
    ("logging", &["getLogger"]),
    ("os", &["listdir"]),
    ("pathlib", &["Path"]),
    ("random", random::NAMES),
    ("re", &["compile", "escape", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"]),
    ("tqdm", &["tqdm", "trange"]),
    (
        "itertools",
        &[
            "accumulate",
            "combinations",
            "count",
            "cycle",
            "dropwhile",
            "islice",
            "permutations",
            "repeat",
            "starmap",
            "takewhile",
            "zip_longest",
        ],
    ),
];

/// Static methods of `datasets.Dataset` and `pathlib.Path`.
const CLASS_MEMBERS: &[(&str, &str, &str)] = &[
    ("Dataset", "from_list", "Dataset.from_list"),
    ("Dataset", "from_dict", "Dataset.from_dict"),
    ("Dataset", "from_generator", "Dataset.from_generator"),
];

pub(super) fn member(_: &mut Interpreter<'_>, module: &'static str, name: &str) -> Option<Value> {
    match (module, name) {
        ("json", "JSONDecodeError") => Some(Value::Native(Native::builtin("JSONDecodeError"))),
        ("json", "decoder") => Some(Value::Module("json")),
        ("tqdm", "auto") => Some(Value::Module("tqdm")),
        ("re", _) if flag(name).is_some() => flag(name).map(Value::Int),
        _ => {
            let (module, names) = NAMES.iter().find(|(known, _)| *known == module)?;
            names.iter().find(|known| **known == name).map(|name| native(module, name))
        }
    }
}

/// `Dataset.from_list` and its like.
pub(super) fn class_member(class: Native, name: &str) -> Option<Value> {
    let found = CLASS_MEMBERS.iter().find(|(known, member, _)| *known == class.name && *member == name);
    found.map(|(_, _, full)| native("datasets", full))
}

/// Returns whether `module.name` is one of these functions.
pub(super) fn has(module: &str, name: &str) -> bool {
    module == "opencompass"
        || NAMES.iter().any(|(known, names)| *known == module && names.contains(&name))
        || CLASS_MEMBERS.iter().any(|(_, _, full)| *full == name)
        || matches!(name, "staticmethod" | "classmethod" | "property")
}

fn flag(name: &str) -> Option<i128> {
    Some(match name {
        "I" | "IGNORECASE" => object::IGNORE_CASE,
        "M" | "MULTILINE" => object::MULTI_LINE,
        "S" | "DOTALL" => object::DOT_ALL,
        "U" | "UNICODE" => object::UNICODE,
        "X" | "VERBOSE" => 64,
        "A" | "ASCII" => 256,
        _ => return None,
    })
}

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    module: &'static str,
    name: &'static str,
    arguments: Arguments,
) -> Result<Value> {
    match (module, name) {
        ("json", _) => json::call(interpreter, name, arguments),
        ("csv", _) => csv::call(interpreter, name, arguments),
        ("random", "Random") => random::make(arguments),
        ("random", _) => random::call(interpreter, None, name, arguments),
        ("re", _) => patterns(interpreter, name, arguments),
        ("os" | "glob" | "pathlib", _) => files::call(interpreter, module, name, arguments),
        ("ast", _) => {
            let place = arguments.place;
            let [value] = arguments.bind(name, ["node_or_string"], 1)?;
            literal::literal_eval(&value.unwrap_or(Value::None), place)
        }
        ("datasets", _) => tables::call(interpreter, name, arguments),
        ("itertools", _) => super::itertools::call(interpreter, name, arguments),
        ("tqdm", "tqdm") => {
            let mut given = arguments;
            let iterable = given.take("iterable").or_else(|| given.positional.into_iter().next());
            iterable.map(|slot| slot.value).ok_or_else(|| type_error("tqdm() needs something to go through"))
        }
        ("tqdm", _) => super::call(interpreter, Native::builtin("range"), arguments),
        ("logging", _) | ("opencompass", "get_logger") => Ok(object::value(Object::Logger)),
        ("opencompass", "get_data_path") => files::data_path(interpreter, arguments),
        (_, "staticmethod" | "classmethod" | "property") => {
            let [function] = arguments.bind(name, ["function"], 1)?;
            let function = function.unwrap_or(Value::None);
            Ok(object::value(match name {
                "staticmethod" => Object::StaticMethod(function),
                "classmethod" => Object::ClassMethod(function),
                _ => Object::Property(function),
            }))
        }
        _ => Err(Stop::unsupported(format!("`{module}.{name}` is not evaluated here"))),
    }
}

/// `re.search(pattern, text, flags)` and its like.
fn patterns(interpreter: &mut Interpreter<'_>, name: &'static str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    if name == "escape" {
        let [text] = arguments.bind(name, ["pattern"], 1)?;
        let Some(Value::Text(text)) = text else { return Err(type_error("re.escape() takes a text")) };
        let mut out = String::with_capacity(text.len() * 2);
        for c in text.chars() {
            // What CPython escapes since 3.7.
            if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(c) {
                out.push('\\');
            }
            out.push(c);
        }
        return Ok(Value::text(out));
    }
    let by_position = match name {
        "sub" | "subn" => 4,
        "split" => 3,
        "compile" => 1,
        _ => 2,
    };
    let flags = match arguments.take("flags") {
        Some(slot) => Some(slot.value),
        None if arguments.positional.len() > by_position => Some(arguments.positional.remove(by_position).value),
        None => None,
    };
    let flags = flags.and_then(|flags| flags.as_int()).unwrap_or(0);
    let pattern = match arguments.take("pattern") {
        Some(slot) => slot,
        None if arguments.positional.is_empty() => return Err(type_error(format!("re.{name}() needs a pattern"))),
        None => arguments.positional.remove(0),
    };
    let compiled = object::compiled(interpreter, &pattern.value, flags)?;
    if name == "compile" {
        return Ok(Value::Object(compiled));
    }
    object::call_method(interpreter, &compiled, name, Arguments { place, ..arguments })
}

/// Binds an iterable of values at one place.
pub(super) fn listed(values: Vec<Value>, place: crate::place::Place) -> Value {
    Value::list(values.into_iter().map(|value| Slot { value, place }).collect())
}

/// A text argument.
pub(super) fn text(value: Option<Value>, function: &str) -> Result<Rc<str>> {
    match value {
        Some(Value::Text(text)) => Ok(text),
        Some(Value::Object(object)) if matches!(&*object, Object::Path(_)) => Ok(object.text().into()),
        other => {
            let kind = other.as_ref().map_or("NoneType", Value::type_name);
            Err(type_error(format!("{function}: expected str, bytes or os.PathLike object, not {kind}")))
        }
    }
}
