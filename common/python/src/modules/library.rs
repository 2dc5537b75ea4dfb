//! Known parts of the standard library: paths, numbers, copies, and names that only annotate.

use super::types;
use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, native};
use crate::library::FileKind;
use crate::methods;
use crate::value::{Partial, Slot, Value, deep_copy, str_of};
use std::rc::Rc;

/// Modules that are known, by their dotted names. Of every other module each name is a symbol.
pub(super) const MODULES: &[&str] = &[
    "__future__",
    "abc",
    "collections",
    "collections.abc",
    "copy",
    "functools",
    "itertools",
    "math",
    "mmengine.config",
    "os",
    "os.path",
    "re",
    "string",
    "sys",
    "typing",
    "warnings",
];

const OS_PATH: &[&str] = &[
    "abspath",
    "basename",
    "dirname",
    "exists",
    "expanduser",
    "isabs",
    "isdir",
    "isfile",
    "join",
    "normpath",
    "realpath",
    "split",
    "splitext",
];
const MATH: &[&str] = &["ceil", "exp", "fabs", "floor", "isnan", "log", "log10", "log2", "pow", "sqrt", "trunc"];
const ITERTOOLS: &[&str] = &["chain", "product"];
const COLLECTIONS: &[&str] = &["Counter", "OrderedDict", "defaultdict", "deque"];

/// `module.name`.
pub(super) fn member(interpreter: &mut Interpreter<'_>, module: &'static str, name: &str) -> Option<Value> {
    let of = |names: &'static [&'static str], module: &'static str| {
        names.iter().find(|known| **known == name).map(|known| native(module, known))
    };
    match module {
        "os" => match name {
            "path" => Some(Value::Module("os.path")),
            "environ" => Some(Value::Module("os.environ")),
            "sep" => Some(Value::text("/")),
            _ => of(&["getenv", "getcwd"], "os"),
        },
        "os.path" => of(OS_PATH, "os.path"),
        "os.environ" => of(&["get", "setdefault"], "os.environ"),
        "math" => match name {
            "pi" => Some(Value::Float(std::f64::consts::PI)),
            "e" => Some(Value::Float(std::f64::consts::E)),
            "inf" => Some(Value::Float(f64::INFINITY)),
            "nan" => Some(Value::Float(f64::NAN)),
            _ => of(MATH, "math"),
        },
        "copy" => of(&["copy", "deepcopy"], "copy"),
        "functools" => of(&["partial", "reduce", "wraps", "update_wrapper", "lru_cache", "cache"], "functools"),
        "itertools" => of(ITERTOOLS, "itertools"),
        "collections" => of(COLLECTIONS, "builtins"),
        "string" => match name {
            "ascii_uppercase" => Some(Value::text("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
            "ascii_lowercase" => Some(Value::text("abcdefghijklmnopqrstuvwxyz")),
            "ascii_letters" => Some(Value::text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")),
            "digits" => Some(Value::text("0123456789")),
            "punctuation" => Some(Value::text("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")),
            _ => None,
        },
        "mmengine.config" => of(&["read_base"], "mmengine.config"),
        "sys" => match name {
            "argv" => {
                let program = interpreter.files.first().map(|file| Value::text(file.path.to_string_lossy().as_ref()));
                Some(Value::list_at(program, Default::default()))
            }
            _ => None,
        },
        "warnings" => of(&["warn", "filterwarnings"], "warnings"),
        // Names that annotate: what they are called on, or indexed by, changes nothing.
        "typing" | "abc" | "__future__" | "collections.abc" => {
            const ANNOTATIONS: &[&str] = &[
                "ABC",
                "Any",
                "Callable",
                "Dict",
                "Generator",
                "Iterable",
                "Iterator",
                "List",
                "Literal",
                "Mapping",
                "Optional",
                "Sequence",
                "Set",
                "TYPE_CHECKING",
                "Tuple",
                "Type",
                "Union",
                "abstractmethod",
                "annotations",
            ];
            if name == "TYPE_CHECKING" { Some(Value::Bool(false)) } else { of(ANNOTATIONS, "typing") }
        }
        // Patterns are not evaluated yet: the name is there, using it is an error at its place.
        "re" => of(&["compile", "escape", "findall", "fullmatch", "match", "search", "split", "sub"], "re"),
        _ => None,
    }
}

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    module: &'static str,
    name: &'static str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    match (module, name) {
        ("os.environ", "setdefault") => {
            let [key, value] = arguments.bind(name, ["key", "value"], 2)?;
            let (key, value) = (text(key.as_ref(), name)?, text(value.as_ref(), name)?);
            let value = interpreter.variable(&key).unwrap_or_else(|| value.to_string());
            interpreter.environment.insert(key.to_string(), value.clone());
            Ok(Value::text(value))
        }
        ("os", "getenv") | ("os.environ", "get") => {
            let [key, default] = arguments.bind(name, ["key", "default"], 1)?;
            let key = text(key.as_ref(), name)?;
            Ok(interpreter.variable(&key).map_or_else(|| default.unwrap_or(Value::None), Value::text))
        }
        ("os", "getcwd") => Ok(Value::text(current_folder(interpreter)?)),
        ("os.path", _) => path(interpreter, name, &arguments),
        ("math", _) => math(name, &arguments),
        ("copy", "deepcopy") => {
            let [value, _] = arguments.bind("deepcopy", ["x", "memo"], 1)?;
            deep_copy(&mut interpreter.budget, &value.unwrap_or(Value::None))
        }
        ("copy", _) => {
            let [value] = arguments.bind("copy", ["x"], 1)?;
            match value.unwrap_or(Value::None) {
                value @ (Value::List(_) | Value::Dict(_) | Value::Set(_)) => {
                    methods::call(interpreter, &value, "copy", Arguments::none(place))
                }
                value => Ok(value),
            }
        }
        ("functools", "partial") => {
            if arguments.positional.is_empty() {
                return Err(type_error("type 'partial' takes at least one argument"));
            }
            let function = arguments.positional.remove(0).value;
            let keywords = arguments.keywords.into_iter().map(|(name, _, slot)| (name, slot)).collect();
            Ok(Value::Partial(Rc::new(Partial { function, positional: arguments.positional, keywords })))
        }
        ("functools", "reduce") => {
            let [function, items, initial] = arguments.bind("reduce", ["function", "iterable", "initial"], 2)?;
            let function = function.unwrap_or(Value::None);
            let mut items = interpreter.items(&items.unwrap_or(Value::None), place)?.into_iter();
            let first = initial.or_else(|| items.next().map(|slot| slot.value));
            let mut total = first.ok_or_else(|| type_error("reduce() of empty iterable with no initial value"))?;
            for slot in items {
                let pair = vec![Slot { value: total, place }, slot];
                total = interpreter.call(&function, Arguments::of(pair, place))?;
            }
            Ok(total)
        }
        ("functools", "wraps") => {
            let [wrapped, _, _] = arguments.bind(name, ["wrapped", "assigned", "updated"], 1)?;
            let slot = Slot { value: wrapped.unwrap_or(Value::None), place };
            let function = native("functools", "update_wrapper");
            let keywords = vec![("wrapped".into(), slot)];
            Ok(Value::Partial(Rc::new(Partial { function, positional: Vec::new(), keywords })))
        }
        ("functools", "update_wrapper") => {
            let [wrapper, wrapped] = arguments.bind(name, ["wrapper", "wrapped"], 2)?;
            Ok(match (wrapper.unwrap_or(Value::None), wrapped) {
                (Value::Function(wrapper), Some(Value::Function(wrapped))) => {
                    Value::Function(Rc::new(wrapper.renamed(Rc::clone(&wrapped.name))))
                }
                (wrapper, _) => wrapper,
            })
        }
        ("typing", "abstractmethod") => {
            let [function] = arguments.bind(name, ["funcobj"], 1)?;
            if let Some(Value::Function(function)) = &function {
                function.is_abstract.set(true);
            }
            Ok(function.unwrap_or(Value::None))
        }
        // Decorators that change nothing of what a function gives.
        ("functools", _) | ("typing", _) => {
            let given = arguments.positional.into_iter().next().map(|slot| slot.value);
            Ok(match given {
                Some(function @ Value::Function(_)) => function,
                _ => native(module, name),
            })
        }
        ("itertools", "product") => product(interpreter, arguments),
        ("itertools", _) => super::itertools::call(interpreter, name, arguments),
        ("methods", _) => {
            // A method taken from its type: the first argument is its name, the second the object.
            if arguments.positional.len() < 2 {
                return Err(type_error("unbound method needs an argument"));
            }
            let name = str_of(&arguments.positional.remove(0).value);
            let receiver = arguments.positional.remove(0).value;
            interpreter.call_method(&receiver, &name, arguments)
        }
        ("warnings", _) => Ok(Value::None),
        ("mmengine.config", _) => {
            Err(Stop::unsupported("`read_base()` stands alone in `with read_base():` at the top of a file"))
        }
        ("re", _) => Err(Stop::unsupported(format!("`re.{name}` is not evaluated in configurations"))),
        _ => types::make(interpreter, name, arguments),
    }
}

fn text(value: Option<&Value>, function: &str) -> Result<Rc<str>> {
    match value {
        Some(Value::Text(text)) => Ok(Rc::clone(text)),
        Some(Value::Object(object)) if object.type_name() == "PosixPath" => Ok(object.text().into()),
        other => {
            let kind = other.map_or("NoneType", Value::type_name);
            Err(type_error(format!("{function}(): expected str, bytes or os.PathLike object, not {kind}")))
        }
    }
}

fn path(interpreter: &mut Interpreter<'_>, name: &str, arguments: &Arguments) -> Result<Value> {
    let place = arguments.place;
    let mut parts = Vec::new();
    for slot in &arguments.positional {
        parts.push(text(Some(&slot.value), name).map_err(|stop| stop.at(slot.place))?);
    }
    let Some(first) = parts.first().cloned() else {
        return Err(type_error(format!("{name}() missing 1 required positional argument")));
    };
    let cut = first.rfind('/').map_or(0, |at| at + 1);
    let (head, tail) = first.split_at(cut);
    let head = if head.trim_end_matches('/').is_empty() { head } else { head.trim_end_matches('/') };
    let stem = tail.trim_start_matches('.');
    let dot = stem.rfind('.').map_or(first.len(), |at| cut + (tail.len() - stem.len()) + at);
    Ok(match name {
        "join" => {
            let mut joined = first.to_string();
            for part in parts.iter().skip(1) {
                if part.starts_with('/') {
                    joined = part.to_string();
                } else {
                    if !joined.is_empty() && !joined.ends_with('/') {
                        joined.push('/');
                    }
                    joined.push_str(part);
                }
            }
            Value::text(joined)
        }
        "basename" => Value::text(tail),
        "dirname" => Value::text(head),
        "split" => Value::tuple_at([Value::text(head), Value::text(tail)], place),
        "splitext" => Value::tuple_at([Value::text(&first[..dot]), Value::text(&first[dot..])], place),
        "isabs" => Value::Bool(first.starts_with('/')),
        "expanduser" => match (first.strip_prefix("~/"), interpreter.variable("HOME")) {
            (Some(rest), Some(home)) => Value::text(format!("{home}/{rest}")),
            _ => Value::Text(first),
        },
        "normpath" => Value::text(normal(&first)),
        "abspath" | "realpath" if first.starts_with('/') || interpreter.library.is_some() => {
            Value::text(normal(&first))
        }
        "abspath" | "realpath" => Value::text(normal(&format!("{}/{first}", current_folder(interpreter)?))),
        _ => {
            let path = std::path::Path::new(&*first);
            let kind = match &interpreter.library {
                Some(tree) => tree.host.kind(path),
                None => interpreter.host.path_kind(path),
            };
            Value::Bool(match name {
                "exists" => kind.is_some(),
                "isfile" => kind == Some(FileKind::File),
                _ => kind == Some(FileKind::Folder),
            })
        }
    })
}

/// The folder that relative paths begin at. Loaders read their data wherever that is, and have none.
fn current_folder(interpreter: &Interpreter<'_>) -> Result<String> {
    if interpreter.library.is_some() {
        return Ok(".".to_owned());
    }
    let folder = interpreter.host.current_folder();
    let folder = folder.ok_or_else(|| Stop::unsupported("the folder of the command is not known here"))?;
    Ok(folder.to_string_lossy().into_owned())
}

fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if path.starts_with('/') => {}
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (path.starts_with('/'), joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

fn math(name: &str, arguments: &Arguments) -> Result<Value> {
    let mut numbers = Vec::new();
    for slot in &arguments.positional {
        let number = slot
            .value
            .as_float()
            .ok_or_else(|| type_error(format!("must be real number, not {}", slot.value.type_name())).at(slot.place))?;
        numbers.push(number);
    }
    let Some(&x) = numbers.first() else {
        return Err(type_error(format!("math.{name}() takes at least one argument (0 given)")));
    };
    let exact = arguments.positional.first().and_then(|slot| slot.value.as_int());
    let domain = || value_error("math domain error");
    Ok(match name {
        "ceil" | "floor" | "trunc" if exact.is_some() => Value::Int(exact.unwrap_or(0)),
        "ceil" => return Value::whole(x.ceil()),
        "floor" => return Value::whole(x.floor()),
        "trunc" => return Value::whole(x.trunc()),
        "exp" if x.is_finite() && x.exp().is_infinite() => return Err(Stop::new("OverflowError", "math range error")),
        "isnan" => Value::Bool(x.is_nan()),
        "fabs" => Value::Float(x.abs()),
        "exp" => Value::Float(x.exp()),
        "sqrt" if x < 0.0 => return Err(domain()),
        "sqrt" => Value::Float(x.sqrt()),
        "log" | "log2" | "log10" if x <= 0.0 => return Err(domain()),
        "log2" => Value::Float(x.log2()),
        "log10" => Value::Float(x.log10()),
        "log" => Value::Float(numbers.get(1).map_or(x.ln(), |base| x.ln() / base.ln())),
        _ => Value::Float(x.powf(numbers.get(1).copied().unwrap_or(1.0))),
    })
}

/// `itertools.product(*iterables, repeat=1)`.
fn product(interpreter: &mut Interpreter<'_>, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let repeat = arguments.take("repeat").and_then(|slot| slot.value.as_int()).unwrap_or(1);
    let mut columns = Vec::new();
    for slot in &arguments.positional {
        columns.push(interpreter.items(&slot.value, slot.place)?);
    }
    let once = columns.clone();
    for _ in 1..repeat {
        interpreter.budget.step()?;
        columns.extend(once.iter().cloned());
    }
    let mut rows: Vec<Vec<Slot>> = vec![Vec::new()];
    for column in &columns {
        interpreter
            .budget
            .make(rows.len().saturating_mul(column.len()).saturating_mul(size_of::<Slot>() * columns.len()))?;
        rows = rows
            .iter()
            .flat_map(|row| column.iter().map(move |slot| row.iter().cloned().chain([slot.clone()]).collect()))
            .collect();
    }
    let rows = rows.into_iter().map(|row| Slot { value: Value::Tuple(row.into()), place });
    Ok(Value::iterator(rows))
}
