//! Types: `type(x)`, `isinstance`, and making a value of a type.

use crate::error::{Result, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, has_special, native};
use crate::value::{
    Dict, IndexMap, Key, Layout, Native, Range, Slice, Slot, Value, builtin_class, is_subclass, repr, written,
};
use std::cell::Cell;
use std::cell::RefCell;
use std::rc::Rc;

/// A set of these elements.
pub(crate) fn set_of(items: Vec<Slot>, layout: Layout) -> Result<Value> {
    let mut set = IndexMap::default();
    for slot in items {
        set.entry(Key::of(&slot.value).map_err(|stop| stop.at(slot.place))?).or_insert(slot.value);
    }
    let set = Value::set(set);
    if let Value::Set(set) = &set {
        set.layout.set(layout);
    }
    Ok(set)
}

/// `type(value)`.
pub(crate) fn type_of(value: &Value) -> Value {
    match value {
        Value::Instance(instance) => Value::Class(Rc::clone(&instance.class)),
        Value::Exception(exception) => match &exception.class {
            Some(class) => Value::Class(Rc::clone(class)),
            None => Value::Native(Native::builtin(exception.builtin)),
        },
        Value::Dict(_) => native("builtins", "dict"),
        Value::Iterator(items) => native("types", items.try_borrow().map_or("generator", |items| items.type_name())),
        Value::View(view) => native("types", view.kind.type_name()),
        Value::None => native("types", "NoneType"),
        Value::Ellipsis => native("types", "ellipsis"),
        Value::Function(_) => native("types", "function"),
        Value::Method(_) => native("types", "method"),
        Value::Module(_) => native("types", "module"),
        Value::Object(object) if object.type_name() == "PosixPath" => native("types", "PosixPath"),
        other => super::builtins::NAMES
            .iter()
            .find(|name| **name == other.type_name())
            .map_or(native("builtins", "object"), |name| native("builtins", name)),
    }
}

/// `isinstance(value, class)`.
pub(super) fn is_instance(value: &Value, class: &Value) -> Result<bool> {
    Ok(match class {
        Value::Tuple(items) => {
            for slot in items.iter() {
                if is_instance(value, &slot.value)? {
                    return Ok(true);
                }
            }
            false
        }
        Value::Class(class) => match value {
            Value::Instance(instance) => instance.class.is_below(class),
            Value::Exception(exception) => exception.class.as_ref().is_some_and(|own| own.is_below(class)),
            _ => false,
        },
        Value::Native(native) => match (native.name, value) {
            ("object", _) => true,
            ("int", Value::Bool(_)) => true,
            ("type", Value::Class(_)) => true,
            (name, Value::Exception(exception)) => {
                builtin_class(name).is_some_and(|above| is_subclass(exception.builtin, above))
            }
            ("dict" | "Mapping" | "OrderedDict" | "Dict", Value::Dict(_)) => true,
            ("DatasetDict", Value::Dict(dict)) => dict.borrow().splits,
            ("Sequence", Value::List(_) | Value::Tuple(_) | Value::Text(_) | Value::Range(_) | Value::Bytes(_)) => true,
            (
                "Iterable",
                Value::List(_)
                | Value::Tuple(_)
                | Value::Text(_)
                | Value::Range(_)
                | Value::Bytes(_)
                | Value::Dict(_)
                | Value::Set(_)
                | Value::View(_)
                | Value::Iterator(_),
            ) => true,
            ("Iterator", Value::Iterator(_)) => true,
            ("Generator", value @ Value::Iterator(_)) => value.type_name() == "generator",
            ("Tuple", Value::Tuple(_)) => true,
            ("Set", Value::Set(_)) => true,
            ("List", Value::List(_)) => true,
            (name, value) => name == value.type_name(),
        },
        Value::Symbol(_) => false,
        other => {
            let text =
                format!("isinstance() arg 2 must be a type, a tuple of types, or a union, not {}", other.type_name());
            return Err(type_error(text));
        }
    })
}

/// `issubclass(class, above)`.
pub(super) fn is_below(class: &Value, above: &Value) -> Result<bool> {
    if let Value::Tuple(items) = above {
        for slot in items.iter() {
            if is_below(class, &slot.value)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    match (class, above) {
        (Value::Class(_) | Value::Native(_), Value::Native(above)) if above.name == "object" => Ok(true),
        (Value::Class(class), Value::Class(above)) => Ok(class.is_below(above)),
        (Value::Class(class), Value::Native(above)) => {
            let builtin = class.exception();
            Ok(builtin.zip(builtin_class(above.name)).is_some_and(|(own, above)| is_subclass(own, above)))
        }
        (Value::Native(class), Value::Native(above)) => {
            let exceptions = builtin_class(class.name).zip(builtin_class(above.name));
            Ok(class == above
                || (class.name, above.name) == ("bool", "int")
                || (above.name == "dict" && matches!(class.name, "OrderedDict" | "defaultdict" | "Counter"))
                || exceptions.is_some_and(|(own, above)| is_subclass(own, above)))
        }
        (Value::Native(_), Value::Class(_)) => Ok(false),
        (Value::Class(_) | Value::Native(_), Value::Symbol(_)) => Ok(false),
        (Value::Class(_) | Value::Native(_), _) => {
            Err(type_error("issubclass() arg 2 must be a class, a tuple of classes, or a union"))
        }
        _ => Err(type_error("issubclass() arg 1 must be a class")),
    }
}

/// Makes a value of a built-in type.
pub(super) fn make(interpreter: &mut Interpreter<'_>, name: &str, arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    match name {
        "dict" | "OrderedDict" => {
            let mut dict = Dict::default();
            for (key, slot) in crate::methods::dict_entries(interpreter, arguments)? {
                dict.insert(key, slot)?;
            }
            Ok(Value::dict(dict))
        }
        "defaultdict" => {
            let mut arguments = arguments;
            let factory =
                if arguments.positional.is_empty() { None } else { Some(arguments.positional.remove(0).value) };
            let mut dict = Dict::with_default(factory);
            for (key, slot) in crate::methods::dict_entries(interpreter, arguments)? {
                dict.insert(key, slot)?;
            }
            Ok(Value::dict(dict))
        }
        "Counter" => {
            let mut dict = Dict::with_default(Some(Value::Int(0)));
            for slot in arguments.positional {
                for item in interpreter.items(&slot.value, slot.place)? {
                    let count = dict.get(&item.value)?.and_then(|slot| slot.value.as_int()).unwrap_or(0);
                    dict.insert(item, Slot { value: Value::Int(count + 1), place })?;
                }
            }
            Ok(Value::dict(dict))
        }
        "list" | "tuple" | "set" | "frozenset" | "deque" => {
            let given = arguments.positional.into_iter().next();
            let layout = match &given {
                Some(Slot { value: Value::Set(_) | Value::Dict(_), .. }) => Layout::Unknown,
                _ => Layout::Added,
            };
            let items = match given {
                Some(slot) if matches!(name, "set" | "frozenset") => interpreter.unordered(&slot.value, slot.place)?,
                Some(slot) => interpreter.items(&slot.value, slot.place)?,
                None => Vec::new(),
            };
            interpreter.budget.make(items.len() * size_of::<Slot>())?;
            match name {
                "list" | "deque" => Ok(Value::list(items)),
                "tuple" => Ok(Value::Tuple(items.into())),
                _ => {
                    let set = set_of(items, layout)?;
                    if let Value::Set(set) = &set {
                        Cell::set(&set.frozen, name == "frozenset");
                    }
                    Ok(set)
                }
            }
        }
        "str" => {
            let [value, _, _] = arguments.bind("str", ["object", "encoding", "errors"], 0)?;
            let text = match &value {
                Some(value) => written(interpreter, value)?,
                None => String::new(),
            };
            interpreter.budget.make(text.len())?;
            Ok(Value::text(text))
        }
        "bool" => {
            let [value] = arguments.bind("bool", ["x"], 0)?;
            Ok(Value::Bool(interpreter.truth(&value.unwrap_or(Value::None))?))
        }
        "int" => int(interpreter, arguments),
        "float" => float(interpreter, arguments),
        "bytes" => {
            let Some(first) = arguments.positional.first().cloned() else { return Ok(Value::Bytes(Rc::from([]))) };
            match &first.value {
                Value::Text(_) if arguments.positional.len() == 1 && arguments.keywords.is_empty() => {
                    Err(type_error("string argument without an encoding"))
                }
                Value::Text(_) => {
                    let rest =
                        Arguments { positional: arguments.positional.into_iter().skip(1).collect(), ..arguments };
                    interpreter.call_method(&first.value, "encode", rest)
                }
                Value::Bytes(bytes) => Ok(Value::Bytes(Rc::clone(bytes))),
                Value::Int(length) => {
                    let length = usize::try_from(*length).map_err(|_| value_error("negative count"))?;
                    interpreter.budget.make(length)?;
                    Ok(Value::Bytes(vec![0; length].into()))
                }
                other => {
                    let items = interpreter.items(other, first.place)?;
                    let byte = |slot: Slot| {
                        let byte = slot.value.as_int().and_then(|byte| u8::try_from(byte).ok());
                        byte.ok_or_else(|| value_error("bytes must be in range(0, 256)"))
                    };
                    Ok(Value::Bytes(items.into_iter().map(byte).collect::<Result<Vec<u8>>>()?.into()))
                }
            }
        }
        "range" => range(arguments),
        "slice" => {
            let [a, b, c] = arguments.bind("slice", ["start", "stop", "step"], 1)?;
            let (lower, upper) = match b {
                Some(upper) => (a.unwrap_or(Value::None), upper),
                None => (Value::None, a.unwrap_or(Value::None)),
            };
            Ok(Value::Slice(Rc::new(Slice { lower, upper, step: c.unwrap_or(Value::None) })))
        }
        "type" => {
            let [value] = arguments.bind("type", ["object"], 1)?;
            Ok(type_of(&value.unwrap_or(Value::None)))
        }
        _ => Err(crate::error::Stop::unsupported(format!("`{name}(...)` is not evaluated here"))),
    }
}

fn int(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Value> {
    let [value, base] = arguments.bind("int", ["x", "base"], 0)?;
    let Some(value) = value else { return Ok(Value::Int(0)) };
    let base = base.and_then(|base| base.as_int()).unwrap_or(10);
    if base != 0 && !(2..=36).contains(&base) {
        return Err(value_error("int() base must be >= 2 and <= 36, or 0"));
    }
    for special in ["__int__", "__index__"] {
        if has_special(&value, special) {
            return interpreter.call_special(&value, special, &[]);
        }
    }
    match &value {
        Value::Float(float) => Value::whole(float.trunc()),
        Value::Text(text) => {
            let invalid = || {
                let shown: String = repr(&value).chars().take(200).collect();
                value_error(format!("invalid literal for int() with base {base}: {shown}"))
            };
            let stripped = compass_pyfmt::strip(text);
            if base == 10 && text.len() > 4_300 && stripped.bytes().all(|byte| byte.is_ascii_digit()) {
                let digits = stripped.len();
                return Err(value_error(format!(
                    "Exceeds the limit (4300 digits) for integer string conversion: value has {digits} digits; \
                     use sys.set_int_max_str_digits() to increase the limit"
                )));
            }
            if stripped.contains("__") || stripped.starts_with('_') || stripped.ends_with('_') {
                return Err(invalid());
            }
            let digits = stripped.replace('_', "");
            if let Some(rest) = digits.strip_prefix(['-', '+'])
                && rest.starts_with(['-', '+'])
            {
                return Err(invalid());
            }
            if base == 10
                && digits.len() > 38
                && digits.trim_start_matches(['-', '+']).bytes().all(|b| b.is_ascii_digit())
            {
                return digits.parse().map(Value::Int).map_err(|_| crate::evaluate::overflow());
            }
            let radix = u32::try_from(base).ok().filter(|radix| (2..=36).contains(radix)).ok_or_else(invalid)?;
            let (sign, magnitude) = match digits.strip_prefix('-') {
                Some(magnitude) => ("-", magnitude),
                None => ("", digits.strip_prefix('+').unwrap_or(&digits)),
            };
            let lower = magnitude.to_ascii_lowercase();
            let magnitude = match radix {
                16 => lower.strip_prefix("0x").unwrap_or(&lower),
                2 => lower.strip_prefix("0b").unwrap_or(&lower),
                8 => lower.strip_prefix("0o").unwrap_or(&lower),
                _ => &lower,
            };
            i128::from_str_radix(&format!("{sign}{magnitude}"), radix).map(Value::Int).map_err(|_| invalid())
        }
        other => other.as_int().map(Value::Int).ok_or_else(|| {
            let kind = other.type_name();
            type_error(format!("int() argument must be a string, a bytes-like object or a real number, not '{kind}'"))
        }),
    }
}

fn float(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Value> {
    let [value] = arguments.bind("float", ["x"], 0)?;
    if let Some(value) = &value
        && has_special(value, "__float__")
    {
        return interpreter.call_special(value, "__float__", &[]);
    }
    match value {
        None => Ok(Value::Float(0.0)),
        Some(Value::Text(text)) => compass_pyfmt::float(&text).map(Value::Float).ok_or_else(|| {
            value_error(format!("could not convert string to float: {}", repr(&Value::Text(Rc::clone(&text)))))
        }),
        Some(other) => other.as_float().map(Value::Float).ok_or_else(|| {
            type_error(format!("float() argument must be a string or a real number, not '{}'", other.type_name()))
        }),
    }
}

fn range(arguments: Arguments) -> Result<Value> {
    let mut numbers = Vec::new();
    for slot in &arguments.positional {
        let number = slot.value.as_int().ok_or_else(|| {
            type_error(format!("'{}' object cannot be interpreted as an integer", slot.value.type_name()))
                .at(slot.place)
        })?;
        numbers.push(number);
    }
    let (start, stop, step) = match numbers.as_slice() {
        [stop] => (0, *stop, 1),
        [start, stop] => (*start, *stop, 1),
        [start, stop, step] => (*start, *stop, *step),
        other => return Err(type_error(format!("range expected at least 1 argument, got {}", other.len()))),
    };
    if step == 0 {
        return Err(value_error("range() arg 3 must not be zero"));
    }
    Ok(Value::Range(Rc::new(Range { start, stop, step })))
}

/// `dict.fromkeys`, and methods taken from their type: `str.lower`.
pub(super) fn member(native: Native, name: &str) -> Option<Value> {
    if native.module == "datasets" || native.module == "pathlib" {
        return super::host::class_member(native, name);
    }
    if native.module == "itertools" && native.name == "chain" && name == "from_iterable" {
        return Some(crate::evaluate::native("itertools", "from_iterable"));
    }
    let sample = match native.name {
        "dict" | "OrderedDict" => Value::Dict(Rc::new(RefCell::default())),
        "str" => Value::text(""),
        "list" => Value::list(Vec::new()),
        "set" => Value::set(IndexMap::default()),
        _ => return None,
    };
    if name == "fromkeys" || name == "maketrans" && native.name == "str" {
        return Some(Value::Method(Rc::new(crate::value::Method {
            receiver: sample,
            name: name.into(),
            function: None,
        })));
    }
    if !crate::methods::has(&sample, name) {
        return None;
    }
    let function = crate::evaluate::native("methods", "of_type");
    let positional = vec![Slot { value: Value::text(name), place: Default::default() }];
    Some(Value::Partial(Rc::new(crate::value::Partial { function, positional, keywords: Vec::new() })))
}
