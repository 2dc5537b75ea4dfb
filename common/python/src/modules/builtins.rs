//! Built-in functions.

use super::types;
use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, Items, binary, less_than};
use crate::methods;
use crate::value::{Exception, Value, written, written_repr};
use ruff_python_ast::Operator;
use std::rc::Rc;

pub(super) const NAMES: &[&str] = &[
    "abs",
    "all",
    "any",
    "ascii",
    "bool",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "dict",
    "divmod",
    "enumerate",
    "filter",
    "float",
    "format",
    "frozenset",
    "getattr",
    "hasattr",
    "hash",
    "hex",
    "id",
    "int",
    "isinstance",
    "issubclass",
    "iter",
    "len",
    "list",
    "map",
    "max",
    "min",
    "next",
    "object",
    "open",
    "ord",
    "pow",
    "print",
    "property",
    "range",
    "repr",
    "reversed",
    "round",
    "set",
    "setattr",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
];

/// `print(...)`: a configuration's text is kept for the screen, that of library code for nothing.
fn print(interpreter: &mut Interpreter<'_>, mut arguments: Arguments) -> Result<Value> {
    const MOST: usize = 20;
    const LONGEST: usize = 500;
    if interpreter.library.is_some() || interpreter.printed.len() > MOST {
        return Ok(Value::None);
    }
    if interpreter.printed.len() == MOST {
        interpreter.printed.push((arguments.place, "... (more is printed, and not shown)".to_owned()));
        return Ok(Value::None);
    }
    let separator = arguments.take("sep").and_then(|slot| slot.value.as_text().cloned()).unwrap_or_else(|| " ".into());
    let mut text = String::new();
    for (at, slot) in arguments.positional.iter().enumerate() {
        text.push_str(if at > 0 { &separator } else { "" });
        match written(&mut interpreter.budget, &slot.value) {
            Ok(shown) => text.push_str(&shown),
            Err(Stop::Raised(_)) => text.push_str("..."),
            Err(limit) => return Err(limit),
        }
    }
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push_str("...");
    }
    interpreter.printed.push((arguments.place, text));
    Ok(Value::None)
}

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    match name {
        "len" => {
            let [value] = arguments.bind("len", ["obj"], 1)?;
            length(&value.unwrap_or(Value::None))
        }
        "print" => print(interpreter, arguments),
        "open" => super::file::open(interpreter, arguments),
        "repr" | "ascii" => {
            let [value] = arguments.bind(name, ["obj"], 1)?;
            Ok(Value::text(written_repr(&mut interpreter.budget, &value.unwrap_or(Value::None))?))
        }
        "format" => {
            let [value, spec] = arguments.bind("format", ["value", "format_spec"], 1)?;
            let spec = spec.and_then(|spec| spec.as_text().cloned()).unwrap_or_else(|| "".into());
            let text = methods::format(&mut interpreter.budget, &value.unwrap_or(Value::None), &spec)?;
            Ok(Value::text(text))
        }
        "isinstance" => {
            let [value, class] = arguments.bind("isinstance", ["obj", "class_or_tuple"], 2)?;
            let (value, class) = (value.unwrap_or(Value::None), class.unwrap_or(Value::None));
            types::is_instance(&value, &class).map(Value::Bool)
        }
        "callable" => {
            let [value] = arguments.bind("callable", ["obj"], 1)?;
            let is_callable = matches!(
                value,
                Some(Value::Function(_) | Value::Native(_) | Value::Method(_) | Value::Partial(_) | Value::Class(_))
            );
            Ok(Value::Bool(is_callable))
        }
        "getattr" | "hasattr" => {
            let [object, attribute, default] = arguments.bind(name, ["object", "name", "default"], 2)?;
            let Some(Value::Text(attribute)) = attribute else {
                return Err(type_error(format!("{name}(): attribute name must be string")));
            };
            let found = interpreter.attribute(&object.unwrap_or(Value::None), &attribute);
            match (found, default) {
                (Ok(_), _) if name == "hasattr" => Ok(Value::Bool(true)),
                (Ok(value), _) => Ok(value),
                (Err(Stop::Raised(_)), _) if name == "hasattr" => Ok(Value::Bool(false)),
                (Err(Stop::Raised(_)), Some(default)) => Ok(default),
                (Err(stop), _) => Err(stop),
            }
        }
        "sum" => {
            let [items, start] = arguments.bind("sum", ["iterable", "start"], 1)?;
            let mut total = start.unwrap_or(Value::Int(0));
            if matches!(total, Value::Text(_)) {
                return Err(type_error("sum() can't sum strings [use ''.join(seq) instead]"));
            }
            for slot in interpreter.unordered(&items.unwrap_or(Value::None), place)? {
                interpreter.budget.step()?;
                total = binary(interpreter, &total, Operator::Add, &slot.value, slot.place)?;
            }
            Ok(total)
        }
        "any" | "all" => {
            let [items] = arguments.bind(name, ["iterable"], 1)?;
            let items = items.unwrap_or(Value::None);
            let mut items = match &items {
                Value::Set(_) => Items::All(interpreter.unordered(&items, place)?.into_iter()),
                items => interpreter.iterate(items, place)?,
            };
            let is_any = name == "any";
            while let Some(slot) = interpreter.next(&mut items)? {
                if interpreter.truth(&slot.value)? == is_any {
                    return Ok(Value::Bool(is_any));
                }
            }
            Ok(Value::Bool(!is_any))
        }
        "min" | "max" => extreme(interpreter, name, arguments),
        "sorted" => {
            let key = arguments.take("key").map(|slot| slot.value);
            let is_reversed = arguments.take("reverse").is_some_and(|slot| slot.value.is_true());
            let [items] = arguments.bind("sorted", ["iterable"], 1)?;
            let items = interpreter.unordered(&items.unwrap_or(Value::None), place)?;
            Ok(Value::list(methods::sort(interpreter, items, key.as_ref(), is_reversed, place)?))
        }
        "reversed" => {
            let [items] = arguments.bind("reversed", ["sequence"], 1)?;
            let items = items.unwrap_or(Value::None);
            match &items {
                Value::List(list) => {
                    let length = list.items.borrow().len();
                    Ok(Value::iterating(Items::Backwards(Rc::clone(list), length)))
                }
                Value::Instance(instance) if instance.class.member("__reversed__").is_some() => {
                    interpreter.call_method(&items, "__reversed__", Arguments::none(place))
                }
                Value::Set(_) | Value::Iterator(_) => {
                    Err(type_error(format!("'{}' object is not reversible", items.type_name())))
                }
                items => {
                    let mut items = interpreter.items(items, place)?;
                    items.reverse();
                    Ok(Value::iterator(items))
                }
            }
        }
        "enumerate" => {
            let [items, start] = arguments.bind("enumerate", ["iterable", "start"], 1)?;
            let start = start.and_then(|start| start.as_int()).unwrap_or(0);
            let items = interpreter.iterate(&items.unwrap_or(Value::None), place)?;
            Ok(Value::iterating(Items::Enumerate(Box::new(items), start, place)))
        }
        "zip" => zip(interpreter, arguments),
        "map" | "filter" => map(interpreter, name, arguments),
        "iter" => {
            let [items, sentinel] = arguments.bind("iter", ["object", "sentinel"], 1)?;
            let items = items.unwrap_or(Value::None);
            match sentinel {
                Some(sentinel) => Ok(Value::iterating(Items::Calls(items, sentinel, place))),
                None => interpreter.iterator(&items, place),
            }
        }
        "next" => {
            let [items, default] = arguments.bind("next", ["iterator", "default"], 1)?;
            match (interpreter.next_of(&items.unwrap_or(Value::None), place), default) {
                (Ok(Ok(value)), _) => Ok(value),
                (Ok(Err(_)), Some(default)) => Ok(default),
                (Ok(Err(returned)), None) => {
                    let arguments = if matches!(returned, Value::None) { Vec::new() } else { vec![returned] };
                    Err(Stop::raised(Exception::builtin("StopIteration", arguments)))
                }
                (Err(stop), Some(default)) if stop.is_of("StopIteration") => Ok(default),
                (Err(stop), _) => Err(stop),
            }
        }
        "abs" => {
            let [value] = arguments.bind("abs", ["x"], 1)?;
            match value {
                Some(Value::Float(float)) => Ok(Value::Float(float.abs())),
                Some(value) if value.as_int().is_some() => {
                    let magnitude = value.as_int().unwrap_or(0).checked_abs();
                    magnitude.map(Value::Int).ok_or_else(crate::evaluate::overflow)
                }
                other => {
                    let kind = other.as_ref().map_or("NoneType", Value::type_name);
                    Err(type_error(format!("bad operand type for abs(): '{kind}'")))
                }
            }
        }
        "round" => round(arguments),
        "pow" => {
            let [base, exponent] = arguments.bind("pow", ["base", "exp"], 2)?;
            let (base, exponent) = (base.unwrap_or(Value::None), exponent.unwrap_or(Value::None));
            binary(interpreter, &base, Operator::Pow, &exponent, place)
        }
        "divmod" => {
            let [a, b] = arguments.bind("divmod", ["x", "y"], 2)?;
            let (a, b) = (a.unwrap_or(Value::None), b.unwrap_or(Value::None));
            if a.as_float().is_none() || b.as_float().is_none() {
                let (a, b) = (a.type_name(), b.type_name());
                return Err(type_error(format!("unsupported operand type(s) for divmod(): '{a}' and '{b}'")));
            }
            let quotient = binary(interpreter, &a, Operator::FloorDiv, &b, place)?;
            Ok(Value::tuple_at([quotient, binary(interpreter, &a, Operator::Mod, &b, place)?], place))
        }
        "chr" => {
            let [value] = arguments.bind("chr", ["i"], 1)?;
            let code = value.and_then(|value| value.as_int()).and_then(|code| u32::try_from(code).ok());
            let c = code.and_then(char::from_u32).ok_or_else(|| value_error("chr() arg not in range(0x110000)"))?;
            Ok(Value::text(c.to_string()))
        }
        "ord" => {
            let [value] = arguments.bind("ord", ["c"], 1)?;
            let Some(Value::Text(text)) = value else { return Err(type_error("ord() expected string of length 1")) };
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(c), None) => Ok(Value::Int(i128::from(u32::from(c)))),
                _ => {
                    let length = text.chars().count();
                    Err(type_error(format!("ord() expected a character, but string of length {length} found")))
                }
            }
        }
        "hex" => {
            let [value] = arguments.bind("hex", ["number"], 1)?;
            methods::format(&mut interpreter.budget, &value.unwrap_or(Value::None), "#x").map(Value::text)
        }
        "hash" | "id" | "issubclass" | "setattr" => Err(Stop::unsupported(format!("`{name}` is not evaluated here"))),
        "staticmethod" | "classmethod" | "property" => {
            super::host::call(interpreter, "builtins", native_name(name), arguments)
        }
        _ => types::make(interpreter, name, arguments),
    }
}

fn native_name(name: &str) -> &'static str {
    NAMES.iter().find(|known| **known == name).copied().unwrap_or("")
}

fn length(value: &Value) -> Result<Value> {
    let length = match value {
        Value::Text(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.items.borrow().len(),
        Value::Tuple(items) => items.len(),
        Value::View(view) => view.dict.borrow().len(),
        Value::Dict(dict) => dict.borrow().len(),
        Value::Set(set) => set.items.borrow().len(),
        Value::Range(range) => range.len(),
        Value::Object(object) if let crate::object::Object::Table(table) = &**object => table.len(),
        other => return Err(type_error(format!("object of type '{}' has no len()", other.type_name()))),
    };
    Ok(Value::Int(length as i128))
}

fn extreme(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let key = arguments.take("key").map(|slot| slot.value).filter(|key| !matches!(key, Value::None));
    let default = arguments.take("default");
    let items = match arguments.positional.as_slice() {
        [one] => interpreter.unordered(&one.value, one.place)?,
        many => many.to_vec(),
    };
    let mut best: Option<(Value, Value)> = None;
    for slot in items {
        let by = match &key {
            Some(key) => interpreter.call(key, Arguments::of(vec![slot.clone()], place))?,
            None => slot.value.clone(),
        };
        let is_better = match &best {
            None => true,
            Some((known, _)) if name == "min" => less_than(&by, known)?,
            Some((known, _)) => less_than(known, &by)?,
        };
        if is_better {
            best = Some((by, slot.value));
        }
    }
    match (best, default) {
        (Some((_, value)), _) => Ok(value),
        (None, Some(default)) => Ok(default.value),
        (None, None) => Err(value_error(format!("{name}() arg is an empty sequence"))),
    }
}

fn zip(interpreter: &mut Interpreter<'_>, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let is_strict = match arguments.take("strict") {
        Some(slot) => interpreter.truth(&slot.value)?,
        None => false,
    };
    refuse_keywords("zip", &arguments)?;
    let mut columns = Vec::new();
    for slot in &arguments.positional {
        columns.push(interpreter.iterate(&slot.value, slot.place)?);
    }
    Ok(Value::iterating(Items::Zip(columns, is_strict, place)))
}

/// Keyword arguments that a built-in function does not have.
fn refuse_keywords(function: &str, arguments: &Arguments) -> Result<()> {
    match arguments.keywords.first() {
        Some((name, at, _)) => {
            Err(type_error(format!("'{name}' is an invalid keyword argument for {function}()")).at(*at))
        }
        None => Ok(()),
    }
}

fn map(interpreter: &mut Interpreter<'_>, name: &str, arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    refuse_keywords(name, &arguments)?;
    let mut given = arguments.positional.into_iter();
    let function = given.next().map(|slot| slot.value);
    let mut columns = Vec::new();
    for slot in given {
        columns.push(interpreter.iterate(&slot.value, slot.place)?);
    }
    match (function, name, columns.len()) {
        (Some(function), "map", 1..) => Ok(Value::iterating(Items::Map(function, columns, place))),
        (Some(function), "filter", 1) => {
            let items = columns.pop().unwrap_or(Items::none());
            Ok(Value::iterating(Items::Filter(function, Box::new(items), place)))
        }
        (_, "map", _) => Err(type_error("map() must have at least two arguments.")),
        (function, _, count) => {
            let count = count + usize::from(function.is_some());
            Err(type_error(format!("filter expected 2 arguments, got {count}")))
        }
    }
}

/// `round`: halves go to the even neighbour, by the exact value of the float.
fn round(arguments: Arguments) -> Result<Value> {
    let [value, digits] = arguments.bind("round", ["number", "ndigits"], 1)?;
    let value = value.unwrap_or(Value::None);
    let digits = digits.filter(|digits| !matches!(digits, Value::None)).and_then(|digits| digits.as_int());
    match (&value, digits) {
        (Value::Float(float), None) => Value::whole(float.round_ties_even()),
        (Value::Float(float), Some(digits)) if digits >= 0 => {
            let digits = usize::try_from(digits).unwrap_or(0).min(400);
            // Writing a float with so many digits rounds its exact value, halves to even.
            Ok(Value::Float(format!("{float:.digits$}").parse().unwrap_or(*float)))
        }
        (Value::Float(float), Some(digits)) => {
            let scale = 10_f64.powi(i32::try_from(-digits).unwrap_or(400));
            Ok(Value::Float((float / scale).round_ties_even() * scale))
        }
        _ => value
            .as_int()
            .map(Value::Int)
            .ok_or_else(|| type_error(format!("type {} doesn't define __round__ method", value.type_name()))),
    }
}
