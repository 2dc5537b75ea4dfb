//! An evaluation from its file to its names.

use crate::error::{PythonError, Stop};
use crate::evaluate::Interpreter;
use crate::host::Host;
use crate::limits::Limits;
use crate::node::{Node, Plain};
use crate::place::{Place, SourceFile};
use crate::value::{Value, to_node};
use std::path::Path;

/// Stack size of the thread that evaluates: the deepest tree that fits a file needs it to be parsed, walked and freed. Only the used
/// part of it takes memory.
const STACK: usize = 1 << 30;

/// Outcome of a file.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Every file that was read, the one asked for first.
    pub files: Vec<SourceFile>,
    /// Texts that `print` was given, with the places of the calls, as far as a person would read them.
    pub printed: Vec<(Place, String)>,
    /// The names of the module in the order in which they were bound, imported modules and functions left out; or what is
    /// wrong.
    pub result: Result<Vec<(String, Node)>, PythonError>,
}

/// Evaluates the configuration `text`, which is in the file `path`.
pub fn evaluate(path: &Path, text: String, host: &(dyn Host + Sync), limits: Limits) -> Evaluation {
    let thread = std::thread::Builder::new().name("python".into()).stack_size(STACK);
    std::thread::scope(|scope| {
        let spawned = thread.spawn_scoped(scope, || run(path, text, host, limits));
        let evaluation = spawned.map_err(|error| error.to_string());
        let ended = evaluation.and_then(|handle| handle.join().map_err(|_| "the evaluation broke off".to_owned()));
        ended.unwrap_or_else(|reason| Evaluation {
            files: Vec::new(),
            printed: Vec::new(),
            result: Err(broken(path, &reason)),
        })
    })
}

fn broken(path: &Path, reason: &str) -> PythonError {
    PythonError {
        place: None,
        trace: Vec::new(),
        class: String::new(),
        text: format!("cannot evaluate {}: {reason}", path.display()),
        help: None,
    }
}

fn run(path: &Path, text: String, host: &dyn Host, limits: Limits) -> Evaluation {
    let mut interpreter = Interpreter::new(host, limits);
    let result = names(&mut interpreter, path, text).map_err(Stop::told);
    let (files, printed) = (std::mem::take(&mut interpreter.files), std::mem::take(&mut interpreter.printed));
    Evaluation { files, printed, result }
}

fn names(interpreter: &mut Interpreter<'_>, path: &Path, text: String) -> Result<Vec<(String, Node)>, Stop> {
    let (file, tree) = interpreter.add(path.to_owned(), text)?;
    let globals = interpreter.module(file, &tree)?;
    let mut names = Vec::new();
    for entry in globals.borrow().iter() {
        let Value::Text(name) = &entry.key.value else { continue };
        let is_value = !matches!(
            entry.slot.value,
            Value::Function(_)
                | Value::Native(_)
                | Value::Method(_)
                | Value::Class(_)
                | Value::Module(_)
                | Value::Symbol(_)
        );
        if is_value && !name.starts_with("__") {
            let node = to_node(&mut interpreter.budget, &entry.slot.value, entry.slot.place, 0)?;
            if !matches!(node.value, Plain::Other(_)) {
                names.push((name.to_string(), node));
            }
        }
    }
    Ok(names)
}
