//! One function, called with a text again and again.
//!
//! Every call begins with modules that were just evaluated: what a function gives depends on its text alone, not on the texts
//! before it. Values of Python stay on one thread, so the function has a thread of its own, on which calls wait for each other.

use super::load::{LibraryFault, fault};
use super::tree::Tree;
use super::{FileFault, FileKind, Library, LibrarySource, TableRequest, Tables};
use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter};
use crate::host::{Host, Imported};
use crate::limits::{Budget, Limits};
use crate::modules::from_json;
use crate::place::Place;
use crate::value::{Slot, Value, str_of};
use compass_types::function::{self, FunctionFault, FunctionSource, FunctionValue};
use serde_json::{Map, Value as Json};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Stack size of its thread, as for configurations.
const STACK: usize = 1 << 30;

type Given = std::result::Result<FunctionValue, FunctionFault>;

/// Links this interpreter to the process: functions that a plan holds are called by it from now on.
pub fn link_interpreter() {
    function::link(|source, parameters, limits| Ok(Box::new(Function::start(source, parameters, limits)?)));
}

/// A function on its thread.
#[derive(Debug)]
struct Function {
    calls: Mutex<Calls>,
}

#[derive(Debug)]
struct Calls {
    texts: Sender<String>,
    given: Receiver<Given>,
}

impl Function {
    /// Starts the thread; the source is evaluated by the first call.
    fn start(
        source: FunctionSource,
        parameters: Map<String, Json>,
        limits: Limits,
    ) -> std::result::Result<Self, FunctionFault> {
        let (texts, asked) = channel::<String>();
        let (answer, given) = channel();
        let thread = std::thread::Builder::new().name("function".into()).stack_size(STACK);
        let run = move || serve(&source, &parameters, limits, &asked, &answer);
        thread.spawn(run).map_err(|error| plain(format!("no thread for a function: {error}")))?;
        Ok(Self { calls: Mutex::new(Calls { texts, given }) })
    }
}

impl function::Function for Function {
    fn call(&self, text: &str) -> Given {
        let broken = || plain("the evaluation broke off".to_owned());
        let calls = self.calls.lock().map_err(|_| broken())?;
        calls.texts.send(text.to_owned()).map_err(|_| broken())?;
        calls.given.recv().map_err(|_| broken())?
    }
}

fn plain(text: String) -> FunctionFault {
    LibraryFault::plain(text).into()
}

impl From<LibraryFault> for FunctionFault {
    fn from(fault: LibraryFault) -> Self {
        let line = fault.to_string();
        Self { class: fault.class, text: fault.text, line }
    }
}

fn serve(
    source: &FunctionSource,
    parameters: &Map<String, Json>,
    limits: Limits,
    texts: &Receiver<String>,
    answer: &Sender<Given>,
) {
    let host = SourceAlone(source);
    let mut interpreter = Interpreter::new(&host, limits);
    interpreter.library = Some(Box::new(Tree::new(&host)));
    while let Ok(text) = texts.recv() {
        interpreter.budget = Budget::new(limits);
        if let Some(tree) = &mut interpreter.library {
            tree.forget();
        }
        let given = value(&mut interpreter, &source.name, parameters, text);
        let given = given.map_err(|stop| fault(&interpreter, stop.told()).into());
        interpreter.forget_expressions();
        if answer.send(given).is_err() {
            return;
        }
    }
}

fn value(
    interpreter: &mut Interpreter<'_>,
    name: &str,
    parameters: &Map<String, Json>,
    text: String,
) -> Result<FunctionValue> {
    let place = Place::default();
    let Some(function @ Value::Function(_)) = interpreter.resolve(name)? else {
        return Err(Stop::unsupported(format!("`{name}` is not a function")));
    };
    // Draws that were seeded while modules were evaluated are not the function's.
    if let Some(tree) = &mut interpreter.library {
        tree.random = None;
    }
    let mut arguments = Arguments::none(place);
    arguments.positional.push(Slot { value: Value::Text(text.into()), place });
    for (name, value) in parameters {
        let value = from_json(&mut interpreter.budget, value.clone(), place)?;
        arguments.keywords.push((name.as_str().into(), place, Slot { value, place }));
    }
    let given = interpreter.call(&function, arguments)?;
    Ok(match &given {
        Value::None => FunctionValue::None,
        Value::Text(text) => FunctionValue::Text(text.to_string()),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) => FunctionValue::Plain(str_of(&given)),
        other => FunctionValue::Other(other.type_name().to_owned()),
    })
}

/// A world in which there is the function's source and nothing else.
struct SourceAlone<'s>(&'s FunctionSource);

const NO_FILES: &str = "a function that is given a text reads no files";

impl Host for SourceAlone<'_> {
    fn base(&self, _: &Path, _: u32, module: &str) -> Imported {
        Imported::Missing { reason: format!("No module named '{module}'"), help: None }
    }

    fn read(&self, _: &Path) -> std::result::Result<String, String> {
        Err(NO_FILES.into())
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

impl Library for SourceAlone<'_> {
    fn module(&self, dotted: &str) -> Option<LibrarySource> {
        let part = self.0.modules.iter().find(|part| part.name == dotted)?;
        let path = PathBuf::from(format!("{dotted}.py"));
        Some(LibrarySource { path, text: part.text.clone(), is_package: part.is_package })
    }

    fn bytes(&self, _: &Path) -> std::result::Result<Vec<u8>, FileFault> {
        Err(FileFault::Refused(NO_FILES.into()))
    }

    fn kind(&self, _: &Path) -> Option<FileKind> {
        None
    }

    fn list(&self, _: &Path) -> std::result::Result<Vec<String>, FileFault> {
        Err(FileFault::Refused(NO_FILES.into()))
    }

    fn data(&self, _: &str) -> std::result::Result<PathBuf, FileFault> {
        Err(FileFault::Refused(NO_FILES.into()))
    }

    fn tables(&self, _: &TableRequest, _: Option<&str>) -> std::result::Result<Tables, FileFault> {
        Err(FileFault::Refused(NO_FILES.into()))
    }
}
