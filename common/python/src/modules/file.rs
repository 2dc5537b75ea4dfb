//! Files that `open` gives: their text, read at once through the host.

use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter};
use crate::place::Place;
use crate::value::{Class, Dict, Instance, Slot, Value};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

pub(super) const METHODS: &[&str] = &["close", "read", "readline", "readlines"];
const CLASS: &str = "TextIOWrapper";

/// Whether it is an open file.
pub(crate) fn is_file(value: &Value) -> bool {
    matches!(value, Value::Instance(instance) if &*instance.class.name == CLASS)
}

/// `open(path, mode)`: for reading only.
pub(super) fn open(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let [path, mode, _, _, _, _] =
        arguments.bind("open", ["file", "mode", "buffering", "encoding", "errors", "newline"], 1)?;
    let Some(Value::Text(path)) = path else {
        return Err(Stop::unsupported("`open` takes the path of a file here"));
    };
    if let Some(Value::Text(mode)) = mode
        && mode.contains(['w', 'a', 'x', '+', 'b'])
    {
        return Err(Stop::unsupported(format!("`open` with mode '{mode}' is not evaluated here: nothing is written")));
    }
    let text = interpreter.host.read(Path::new(&*path)).map_err(|reason| {
        Stop::new("OSError", reason).with_help("a path is relative to the folder where the command was started")
    })?;
    interpreter.budget.make(text.len())?;
    let mut attributes = Dict::default();
    attributes.insert_text("rest", place, Slot { value: Value::text(text), place });
    let class = Class { name: CLASS.into(), bases: Vec::new(), members: RefCell::default() };
    Ok(Value::Instance(Rc::new(Instance { class: Rc::new(class), attributes: RefCell::new(attributes) })))
}

fn take(file: &Instance) -> Rc<str> {
    let mut attributes = file.attributes.borrow_mut();
    let rest = attributes.get_text("rest").and_then(|slot| slot.value.as_text().cloned()).unwrap_or_else(|| "".into());
    let place = Place::default();
    attributes.insert_text("rest", place, Slot { value: Value::text(""), place });
    rest
}

/// The lines that are left, with their ends.
pub(crate) fn lines(file: &Instance, place: Place) -> Vec<Slot> {
    take(file).split_inclusive('\n').map(|line| Slot { value: Value::text(line), place }).collect()
}

pub(super) fn call(file: &Instance, name: &str, arguments: &Arguments) -> Result<Value> {
    Ok(match name {
        "read" => Value::Text(take(file)),
        "readlines" => Value::list(lines(file, arguments.place)),
        "readline" => {
            let rest = take(file);
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let place = arguments.place;
            let left = Slot { value: Value::text(&rest[end..]), place };
            file.attributes.borrow_mut().insert_text("rest", place, left);
            Value::text(&rest[..end])
        }
        _ => Value::None,
    })
}
