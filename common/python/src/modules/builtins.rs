//! Built-in functions.

use super::types;
use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, Items, binary, has_special};
use crate::methods;
use crate::value::{Exception, Slot, Value, written, written_repr};
use ruff_python_ast::Operator;
use std::rc::Rc;

pub(super) const NAMES: &[&str] = &[
    "NotImplemented",
    "abs",
    "all",
    "any",
    "ascii",
    "bin",
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
    "oct",
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
    let separator = printed_part(&mut arguments, "sep", " ")?;
    let end = printed_part(&mut arguments, "end", "\n")?;
    for known in ["file", "flush"] {
        arguments.take(known);
    }
    refuse_keywords("print", &arguments)?;
    if interpreter.library.is_some() || interpreter.printed.len() > MOST {
        return Ok(Value::None);
    }
    if interpreter.printed.len() == MOST {
        interpreter.printed.push((arguments.place, "... (more is printed, and not shown)".to_owned()));
        return Ok(Value::None);
    }
    let mut text = String::new();
    for (at, slot) in arguments.positional.iter().enumerate() {
        text.push_str(if at > 0 { &separator } else { "" });
        match written(interpreter, &slot.value) {
            Ok(shown) => text.push_str(&shown),
            Err(Stop::Raised(_)) => text.push_str("..."),
            Err(limit) => return Err(limit),
        }
    }
    if let Some((end, _)) = text.char_indices().nth(LONGEST) {
        text.truncate(end);
        text.push_str("...");
    }
    // A text without its end of line and the one that follows it are one line.
    let is_continued = interpreter.printed_end.as_deref().is_some_and(|end| end != "\n");
    let ended = interpreter.printed_end.replace(end);
    match interpreter.printed.last_mut() {
        Some((_, line)) if is_continued && line.chars().count() < LONGEST => {
            line.push_str(&ended.unwrap_or_default());
            line.push_str(&text);
        }
        _ => interpreter.printed.push((arguments.place, text)),
    }
    Ok(Value::None)
}

/// The text of `sep` or `end`.
fn printed_part(arguments: &mut Arguments, name: &str, usual: &str) -> Result<Rc<str>> {
    match arguments.take(name).map(|slot| slot.value) {
        None | Some(Value::None) => Ok(usual.into()),
        Some(Value::Text(text)) => Ok(text),
        Some(other) => Err(type_error(format!("{name} must be None or a string, not {}", other.type_name()))),
    }
}

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    match name {
        "len" => {
            let [value] = arguments.bind("len", ["obj"], 1)?;
            let value = value.unwrap_or(Value::None);
            match &value {
                value if has_special(value, "__len__") => interpreter.length_of(value).map(Value::Int),
                Value::Class(class) if class.is_enum() => Ok(Value::Int(class.enum_members().len() as i128)),
                value => length(value),
            }
        }
        "print" => print(interpreter, arguments),
        "open" => super::file::open(interpreter, arguments),
        "repr" | "ascii" => {
            let [value] = arguments.bind(name, ["obj"], 1)?;
            let text = written_repr(interpreter, &value.unwrap_or(Value::None))?;
            let is_kept = name == "repr" || text.is_ascii();
            if !is_kept {
                return Err(Stop::unsupported("`ascii` of other characters is not evaluated here"));
            }
            Ok(Value::text(text))
        }
        "format" => {
            let [value, spec] = arguments.bind("format", ["value", "format_spec"], 1)?;
            let spec = spec.and_then(|spec| spec.as_text().cloned()).unwrap_or_else(|| "".into());
            let text = methods::format(interpreter, &value.unwrap_or(Value::None), &spec)?;
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
            ) || value.is_some_and(|value| has_special(&value, "__call__"));
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
                (Err(stop), _) if name == "hasattr" && is_missing(&stop) => Ok(Value::Bool(false)),
                (Err(stop), Some(default)) if is_missing(&stop) => Ok(default),
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
        "round" => round(interpreter, arguments),
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
        "hex" | "bin" | "oct" => {
            let [value] = arguments.bind(name, ["number"], 1)?;
            let value = value.unwrap_or(Value::None);
            let Some(int) = value.as_int() else {
                return Err(type_error(format!("'{}' object cannot be interpreted as an integer", value.type_name())));
            };
            let spec = match name {
                "hex" => "#x",
                "bin" => "#b",
                _ => "#o",
            };
            methods::format(interpreter, &Value::Int(int), spec).map(Value::text)
        }
        "setattr" => {
            let [object, attribute, value] = arguments.bind(name, ["object", "name", "value"], 3)?;
            let Some(Value::Text(attribute)) = attribute else {
                return Err(type_error("attribute name must be string"));
            };
            let slot = Slot { value: value.unwrap_or(Value::None), place };
            interpreter.set_attribute(&object.unwrap_or(Value::None), &attribute, place, slot)?;
            Ok(Value::None)
        }
        "issubclass" => {
            let [class, above] = arguments.bind(name, ["cls", "class_or_tuple"], 2)?;
            types::is_below(&class.unwrap_or(Value::None), &above.unwrap_or(Value::None)).map(Value::Bool)
        }
        "hash" | "id" => Err(Stop::unsupported(format!("`{name}` is not evaluated here"))),
        "staticmethod" | "classmethod" | "property" => {
            super::host::call(interpreter, "builtins", native_name(name), arguments)
        }
        _ => types::make(interpreter, name, arguments),
    }
}

/// Returns whether an attribute is missing; what is not evaluated here is no answer.
fn is_missing(stop: &Stop) -> bool {
    stop.is_of("AttributeError")
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
        [] => return Err(type_error(format!("{name} expected at least 1 argument, got 0"))),
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
            Some((known, _)) if name == "min" => interpreter.less_than(&by, known)?,
            Some((known, _)) => interpreter.less_than(known, &by)?,
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
fn round(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Value> {
    let [value, digits] = arguments.bind("round", ["number", "ndigits"], 1)?;
    let value = value.unwrap_or(Value::None);
    if has_special(&value, "__round__") {
        return interpreter.call_special(&value, "__round__", &digits.iter().collect::<Vec<_>>());
    }
    if value.as_float().is_none() {
        return Err(type_error(format!("type {} doesn't define __round__ method", value.type_name())));
    }
    let digits = match digits.filter(|digits| !matches!(digits, Value::None)) {
        None => None,
        Some(digits) => Some(digits.as_int().ok_or_else(|| {
            type_error(format!("'{}' object cannot be interpreted as an integer", digits.type_name()))
        })?),
    };
    match (&value, digits) {
        (Value::Float(float), None) => Value::whole(float.round_ties_even()),
        (Value::Float(float), Some(digits)) => rounded(*float, digits).map(Value::Float),
        (value, digits) => {
            let whole = value.as_int().unwrap_or(0);
            let power = match digits {
                Some(digits @ ..0) => u32::try_from(-digits).ok().and_then(|digits| 10_i128.checked_pow(digits)),
                _ => return Ok(Value::Int(whole)),
            };
            // A power beyond 128 bits is more than twice any integer here.
            let Some(power) = power else { return Ok(Value::Int(0)) };
            let rest = whole.rem_euclid(power);
            let below = whole - rest;
            let is_up = match rest.cmp(&(power - rest)) {
                std::cmp::Ordering::Equal => (below / power) % 2 != 0,
                ordering => ordering.is_gt(),
            };
            let above = if is_up { below.checked_add(power) } else { Some(below) };
            above.map(Value::Int).ok_or_else(crate::evaluate::overflow)
        }
    }
}

/// Rounds a float to this many digits after its point, or zeros before it.
fn rounded(float: f64, digits: i128) -> Result<f64> {
    if !float.is_finite() || float == 0.0 || digits > 323 {
        return Ok(float);
    }
    if digits < -308 {
        return Ok(0.0_f64.copysign(float));
    }
    if let Ok(digits) = usize::try_from(digits) {
        // Writing a float with this many digits rounds its exact value, halves to even.
        return Ok(format!("{float:.digits$}").parse().unwrap_or(float));
    }
    // The exact decimal value, cut before the digits that go: what is left decides.
    let written = format!("{:.1075}", float.abs());
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    let zeros = usize::try_from(-digits).unwrap_or(0);
    let whole = format!("{}{whole}", "0".repeat((zeros + 1).saturating_sub(whole.len())));
    let (kept, gone) = whole.split_at(whole.len() - zeros);
    let gone = format!("{gone}{fraction}");
    let is_half = gone.starts_with('5') && gone.get(1..).unwrap_or_default().bytes().all(|digit| digit == b'0');
    let is_odd = kept.ends_with(['1', '3', '5', '7', '9']);
    let is_up = gone.as_bytes().first().is_some_and(|digit| *digit >= b'5') && (!is_half || is_odd);
    let mut digits: Vec<u8> = kept.bytes().collect();
    if is_up {
        let nines = digits.iter().rev().take_while(|digit| **digit == b'9').count();
        let length = digits.len();
        digits.iter_mut().skip(length - nines).for_each(|digit| *digit = b'0');
        match length.checked_sub(nines + 1).and_then(|at| digits.get_mut(at)) {
            Some(digit) => *digit += 1,
            None => digits.insert(0, b'1'),
        }
    }
    let text = format!("{}{}", String::from_utf8_lossy(&digits), "0".repeat(zeros));
    let rounded: f64 = text.parse().unwrap_or(float);
    if rounded.is_infinite() {
        return Err(Stop::new("OverflowError", "rounded value too large to represent"));
    }
    Ok(rounded.copysign(float))
}
