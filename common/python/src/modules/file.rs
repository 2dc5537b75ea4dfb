//! Files that `open` gives: their text, read at once through the host, and how far a program has read it.

use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter};
use crate::place::Place;
use crate::value::{Class, Dict, Instance, Slot, Value};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

pub(super) const METHODS: &[&str] = &["close", "read", "readline", "readlines"];
const CLASS: &str = "TextIOWrapper";
const MISSING: &str = "No such file or directory";

/// Returns whether it is an open file.
pub(crate) fn is_file(value: &Value) -> bool {
    matches!(value, Value::Instance(instance) if &*instance.class.name == CLASS)
}

/// `open(path, mode)`: for reading only.
pub(super) fn open(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let [path, mode, _, encoding, errors, newline] =
        arguments.bind("open", ["file", "mode", "buffering", "encoding", "errors", "newline"], 1)?;
    let path = match path {
        Some(Value::Text(path)) => path,
        Some(Value::Object(object)) if object.type_name() == "PosixPath" => object.text().into(),
        _ => return Err(Stop::unsupported("`open` takes the path of a file here")),
    };
    if let Some(Value::Text(mode)) = mode
        && mode.contains(['w', 'a', 'x', '+', 'b'])
    {
        return Err(Stop::unsupported(format!("`open` with mode '{mode}' is not evaluated here: nothing is written")));
    }
    let given = |value: Option<Value>| value.as_ref().and_then(Value::as_text).cloned();
    let text = if interpreter.library.is_some() {
        let bytes = super::files::library(interpreter)?.bytes(Path::new(&*path)).map_err(super::files::raised)?;
        interpreter.budget.make(bytes.len())?;
        decoded(bytes, given(encoding), given(errors), given(newline), &path)?
    } else {
        interpreter.host.read(Path::new(&*path)).map_err(|reason| {
            let is_folder = interpreter.host.path_kind(Path::new(&*path)) == Some(crate::library::FileKind::Folder);
            let stop = match reason.contains(MISSING) {
                _ if is_folder => Stop::new("IsADirectoryError", format!("[Errno 21] Is a directory: '{path}'")),
                true => Stop::new("FileNotFoundError", format!("[Errno 2] {MISSING}: '{path}'")),
                false => Stop::new("OSError", reason),
            };
            stop.with_help("a path is relative to the folder where the command was started")
        })?
    };
    interpreter.budget.make(text.len())?;
    let mut attributes = Dict::default();
    attributes.insert_text("rest", place, Slot { value: Value::text(text), place });
    let class = Class::plain(CLASS);
    Ok(Value::Instance(Rc::new(Instance { class: Rc::new(class), attributes: RefCell::new(attributes) })))
}

/// The text of a file as its encoding and its ends of lines say.
fn decoded(
    bytes: Vec<u8>,
    encoding: Option<Rc<str>>,
    errors: Option<Rc<str>>,
    newline: Option<Rc<str>>,
    path: &str,
) -> Result<String> {
    let name = encoding.as_deref().unwrap_or("utf-8").to_ascii_lowercase().replace('_', "-");
    let bytes = match (name.as_str(), bytes.strip_prefix(b"\xef\xbb\xbf")) {
        ("utf-8" | "utf8" | "ascii", _) => bytes,
        ("utf-8-sig" | "utf8-sig", rest) => rest.map(<[u8]>::to_vec).unwrap_or(bytes),
        _ => return Err(Stop::unsupported(format!("a file in the encoding {name}"))),
    };
    if name == "ascii" && !bytes.is_ascii() {
        return Err(Stop::new("UnicodeDecodeError", format!("'ascii' codec can't decode '{path}'")));
    }
    let text = match (String::from_utf8(bytes), errors.as_deref()) {
        (Ok(text), _) => text,
        (Err(error), Some("ignore")) => error.as_bytes().utf8_chunks().map(|chunk| chunk.valid()).collect(),
        (Err(error), Some("replace")) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        (Err(error), _) => {
            let at = error.utf8_error().valid_up_to();
            let text = format!("'utf-8' codec can't decode '{path}': invalid bytes in position {at}");
            return Err(Stop::new("UnicodeDecodeError", text));
        }
    };
    match newline.as_deref() {
        // Every end of a line becomes a newline.
        None if text.contains('\r') => Ok(text.replace("\r\n", "\n").replace('\r', "\n")),
        None | Some("" | "\n") => Ok(text),
        Some(_) => Err(Stop::unsupported("`open` with this `newline`")),
    }
}

/// The text of a file, and the byte that is read next.
fn rest(file: &Instance) -> (Rc<str>, usize) {
    let attributes = file.attributes.borrow();
    let text = attributes.get_text("rest").and_then(|slot| slot.value.as_text().cloned());
    let at = attributes.get_text("at").and_then(|slot| slot.value.as_int());
    (text.unwrap_or_else(|| "".into()), at.and_then(|at| usize::try_from(at).ok()).unwrap_or(0))
}

fn move_to(file: &Instance, at: usize) {
    let place = Place::default();
    file.attributes.borrow_mut().insert_text("at", place, Slot { value: Value::Int(at as i128), place });
}

/// The next line with its end; `None` where all is read.
pub(crate) fn line(file: &Instance, place: Place) -> Option<Slot> {
    let (text, at) = rest(file);
    let left = text.get(at..).filter(|left| !left.is_empty())?;
    let end = left.find('\n').map_or(left.len(), |end| end + 1);
    move_to(file, at + end);
    Some(Slot { value: Value::text(left.get(..end).unwrap_or(left)), place })
}

pub(super) fn call(file: &Instance, name: &str, arguments: &Arguments) -> Result<Value> {
    let place = arguments.place;
    let size = arguments.positional.first().map(|slot| &slot.value).filter(|size| !matches!(size, Value::None));
    let size = match size.map(Value::as_int) {
        Some(Some(size)) => usize::try_from(size).ok(),
        Some(None) => return Err(Stop::unsupported(format!("`{name}` of a part of a file is not evaluated here"))),
        None => None,
    };
    if size.is_some() && name != "read" {
        return Err(Stop::unsupported(format!("`{name}` of a part of a file is not evaluated here")));
    }
    Ok(match name {
        "read" => {
            let (text, at) = rest(file);
            let left = text.get(at..).unwrap_or_default();
            // The size counts characters, not bytes.
            let end = size.and_then(|size| left.char_indices().nth(size)).map_or(left.len(), |(end, _)| end);
            move_to(file, at + end);
            Value::text(left.get(..end).unwrap_or(left))
        }
        "readlines" => Value::list(std::iter::from_fn(|| line(file, place)).collect()),
        "readline" => line(file, place).map_or_else(|| Value::text(""), |slot| slot.value),
        _ => Value::None,
    })
}
