//! Files of library code: `os.listdir`, `glob`, `pathlib`, and OpenCompass's `get_data_path`. Names come in order, where CPython
//! gives them in the order of the disk.

use super::host::{listed, text};
use crate::error::{Result, Stop, attribute_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::library::{FileFault, FileKind, Library};
use crate::object::{self, Object};
use crate::value::Value;
use std::path::Path;
use std::rc::Rc;

/// The world of library code.
///
/// # Errors
/// Configurations have none.
pub(super) fn library<'h>(interpreter: &Interpreter<'h>) -> Result<&'h dyn Library> {
    let tree = interpreter.library.as_ref();
    tree.map(|tree| tree.host).ok_or_else(|| Stop::unsupported("files are read by loaders alone"))
}

/// A fault as CPython's exception.
pub(super) fn raised(fault: FileFault) -> Stop {
    match fault {
        FileFault::Missing(path) => {
            let text = format!("[Errno 2] No such file or directory: '{}'", path.display());
            Stop::new("FileNotFoundError", text).with_help("put the data there, or name its folder with --data-dir")
        }
        FileFault::Refused(text) => Stop::new("PermissionError", text).finally(),
        FileFault::Other(text) => Stop::new("OSError", text).finally(),
    }
}

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    module: &'static str,
    name: &str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    match (module, name) {
        ("os", "listdir") => {
            let [path] = arguments.bind(name, ["path"], 0)?;
            let path = path.map_or(Ok(Rc::from(".")), |path| text(Some(path), "listdir"))?;
            let names = library(interpreter)?.list(Path::new(&*path)).map_err(raised)?;
            interpreter.budget.make(names.len() * 64)?;
            Ok(listed(names.into_iter().map(Value::text).collect(), place))
        }
        ("glob", _) => {
            if arguments.take("recursive").is_some_and(|slot| slot.value.is_true()) {
                return Err(Stop::unsupported("`glob` with `recursive`"));
            }
            let [pattern] = arguments.bind(name, ["pathname"], 1)?;
            let pattern = text(pattern, "glob")?;
            let found = glob(library(interpreter)?, &pattern)?;
            Ok(listed(found.into_iter().map(Value::text).collect(), place))
        }
        ("pathlib", _) => {
            let mut joined = String::new();
            for slot in &arguments.positional {
                let part = text(Some(slot.value.clone()), "Path")?;
                joined = join(&joined, &part);
            }
            Ok(object::value(Object::Path(plain(&joined).into())))
        }
        _ => Err(Stop::unsupported(format!("`{module}.{name}` is not evaluated here"))),
    }
}

/// `path / part` of `pathlib`; `None` where neither is a path.
pub(crate) fn path_joined(left: &Value, right: &Value) -> Option<Value> {
    let part = |value: &Value| match value {
        Value::Text(text) => Some((text.to_string(), false)),
        Value::Object(object) if matches!(&**object, Object::Path(_)) => Some((object.text(), true)),
        _ => None,
    };
    let ((folder, of_path), (name, by_path)) = (part(left)?, part(right)?);
    (of_path || by_path).then(|| object::value(Object::Path(plain(&join(&folder, &name)).into())))
}

/// `folder/part`.
pub(crate) fn join(folder: &str, part: &str) -> String {
    match (folder.is_empty() || part.starts_with('/'), folder.ends_with('/')) {
        (true, _) => part.to_owned(),
        (_, true) => format!("{folder}{part}"),
        _ => format!("{folder}/{part}"),
    }
}

/// A path as `pathlib` writes it.
fn plain(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    let joined = format!("{root}{}", parts.join("/"));
    if joined.is_empty() { ".".to_owned() } else { joined }
}

/// Files whose last part fits a pattern of `*` and `?`.
fn glob(library: &dyn Library, pattern: &str) -> Result<Vec<String>> {
    let (folder, last) = pattern.rsplit_once('/').map_or((".", pattern), |(folder, last)| (folder, last));
    if folder.contains(['*', '?', '[']) || last.contains('[') {
        return Err(Stop::unsupported("`glob` with a pattern of folders"));
    }
    let names = match library.list(Path::new(folder)) {
        Ok(names) => names,
        Err(FileFault::Missing(_)) => return Ok(Vec::new()),
        Err(fault) => return Err(raised(fault)),
    };
    let fits =
        |name: &String| (!name.starts_with('.') || last.starts_with('.')) && fits(last.as_bytes(), name.as_bytes());
    Ok(names
        .into_iter()
        .filter(fits)
        .map(|name| if pattern.contains('/') { join(folder, &name) } else { name })
        .collect())
}

fn fits(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|at| fits(rest, &name[at..])),
        (Some((b'?', rest)), Some((_, name))) => fits(rest, name),
        (Some((a, rest)), Some((b, name))) => a == b && fits(rest, name),
        _ => false,
    }
}

/// `opencompass.utils.get_data_path`: nothing is downloaded.
pub(super) fn data_path(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Value> {
    let [id, local] = arguments.bind("get_data_path", ["dataset_id", "local_mode"], 1)?;
    let id = text(id, "get_data_path")?;
    if id.starts_with('/') {
        return Ok(Value::Text(id));
    }
    let mut path = id.to_string();
    if !local.is_some_and(|local| local.is_true())
        && let Some(Value::Dict(known)) = interpreter.resolve("opencompass.utils.datasets_info.DATASETS_MAPPING")?
        && let Some(slot) = known.borrow().get_text(&id)
        && let Value::Dict(sources) = &slot.value
        && let Some(Value::Text(local)) = sources.borrow().get_text("local").map(|slot| slot.value.clone())
    {
        path = local.to_string();
    }
    match library(interpreter)?.data(&path) {
        Ok(found) => Ok(Value::text(found.to_string_lossy().as_ref())),
        Err(fault) => Err(raised(fault).finally()),
    }
}

/// An attribute of a path that is not a method.
pub(crate) fn attribute(path: &str, name: &str) -> Option<Value> {
    let last = path.rsplit('/').next().unwrap_or(path);
    let dot = last.rfind('.').filter(|dot| *dot > 0 && *dot + 1 < last.len());
    Some(match name {
        "name" => Value::text(last),
        "stem" => Value::text(dot.map_or(last, |dot| &last[..dot])),
        "suffix" => Value::text(dot.map_or("", |dot| &last[dot..])),
        "parent" => {
            let folder = match path.rsplit_once('/') {
                Some(("", _)) => "/",
                Some((folder, _)) => folder,
                None => ".",
            };
            object::value(Object::Path(folder.into()))
        }
        _ => return None,
    })
}

pub(crate) fn call_path(
    interpreter: &mut Interpreter<'_>,
    path: &Rc<str>,
    name: &str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    match name {
        "exists" | "is_file" | "is_dir" => {
            let kind = library(interpreter)?.kind(Path::new(&**path));
            Ok(Value::Bool(match name {
                "exists" => kind.is_some(),
                "is_file" => kind == Some(FileKind::File),
                _ => kind == Some(FileKind::Folder),
            }))
        }
        "joinpath" | "__truediv__" => {
            let mut joined = path.to_string();
            for slot in &arguments.positional {
                joined = join(&joined, &text(Some(slot.value.clone()), name)?);
            }
            Ok(object::value(Object::Path(plain(&joined).into())))
        }
        "open" | "read_text" => {
            arguments.positional.insert(0, crate::value::Slot { value: Value::Text(Rc::clone(path)), place });
            if name == "read_text"
                && arguments.positional.len() == 1
                && arguments.keywords.iter().all(|(key, _, _)| &**key == "encoding")
            {
                let file = super::file::open(interpreter, arguments)?;
                return interpreter.call_method(&file, "read", Arguments::none(place));
            }
            super::file::open(interpreter, arguments)
        }
        "as_posix" | "__str__" => Ok(Value::Text(Rc::clone(path))),
        "iterdir" => {
            let names = library(interpreter)?.list(Path::new(&**path)).map_err(raised)?;
            let paths = names.into_iter().map(|child| object::value(Object::Path(plain(&join(path, &child)).into())));
            Ok(Value::iterator(paths.map(|value| crate::value::Slot { value, place }).collect::<Vec<_>>()))
        }
        "glob" => {
            let [pattern] = arguments.bind(name, ["pattern"], 1)?;
            let pattern = join(path, &text(pattern, name)?);
            let found = glob(library(interpreter)?, &pattern)?;
            let paths = found.into_iter().map(|found| object::value(Object::Path(plain(&found).into())));
            Ok(Value::iterator(paths.map(|value| crate::value::Slot { value, place }).collect::<Vec<_>>()))
        }
        _ => Err(attribute_error(format!("`Path.{name}` is not evaluated here")).finally()),
    }
}
