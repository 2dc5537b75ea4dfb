//! A loader class, from its name to rows.

use super::tree::Tree;
use super::{Library, LibrarySource};
use crate::error::{PythonError, Result, Stop};
use crate::evaluate::{Arguments, Interpreter};
use crate::limits::{Budget, Limits};
use crate::modules::from_json;
use crate::object::{Table, table_of};
use crate::place::Place;
use crate::value::{Class, Slot, Value};
use compass_pyfmt::{float_text, json_text};
use std::path::PathBuf;
use std::rc::Rc;

/// Stack size of the thread that evaluates, as for configurations.
const STACK: usize = 1 << 30;

/// Class that is to load data, and its parameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LibraryCall {
    /// `opencompass.datasets.CMRCDataset`.
    pub class: String,
    /// Arguments of `load`, by name.
    pub parameters: serde_json::Map<String, serde_json::Value>,
}

/// The rows of a split, as lines of JSON whose keys are in the order of the columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedSplit {
    /// Its name; `None` where the class gives one data set for every split.
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub lines: Vec<String>,
}

/// Reason why there are no rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.line())]
pub struct LibraryFault {
    /// File, line and column, both from 1, in the source that was evaluated.
    pub place: Option<(PathBuf, usize, usize)>,
    /// CPython's class: `FileNotFoundError`.
    pub class: String,
    pub text: String,
    pub help: Option<String>,
}

/// Outcome of a class's `load`.
#[derive(Clone, Debug)]
pub struct LibraryLoad {
    /// Files of the tree that were evaluated, in order.
    pub files: Vec<(PathBuf, String)>,
    /// Place at which `load` is written.
    pub place: Option<(PathBuf, usize)>,
    pub result: Result<Vec<LoadedSplit>, LibraryFault>,
}

impl LibraryFault {
    fn line(&self) -> String {
        let said = if self.class.is_empty() || self.class == "NotImplementedError" {
            self.text.clone()
        } else {
            format!("{}: {}", self.class, self.text)
        };
        match &self.place {
            Some((path, line, column)) => {
                let name = path.file_name().unwrap_or_default().display();
                format!("{name}:{line}:{column}: {said}")
            }
            None => said,
        }
    }

    pub(super) fn plain(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Evaluates the `load` of a class of the tree.
pub fn load_rows(call: &LibraryCall, host: &dyn Library, limits: Limits) -> LibraryLoad {
    let thread = std::thread::Builder::new().name("loader".into()).stack_size(STACK);
    std::thread::scope(|scope| {
        let spawned = thread.spawn_scoped(scope, || run(call, host, limits));
        let loaded = spawned.map_err(|error| error.to_string());
        let ended = loaded.and_then(|handle| handle.join().map_err(|_| "the evaluation broke off".to_owned()));
        ended.unwrap_or_else(|reason| LibraryLoad {
            files: Vec::new(),
            place: None,
            result: Err(LibraryFault::plain(format!("cannot evaluate `{}`: {reason}", call.class))),
        })
    })
}

/// A host that is asked by the walk as a configuration asks.
fn run(call: &LibraryCall, host: &dyn Library, limits: Limits) -> LibraryLoad {
    let mut interpreter = Interpreter::new(host, limits);
    interpreter.library = Some(Box::new(Tree::new(host)));
    let mut place = None;
    let result = rows(&mut interpreter, call, &mut place);
    let result = result.map_err(|stop| fault(&interpreter, stop.told()));
    let evaluated = interpreter.library.as_ref().map(|tree| tree.evaluated()).unwrap_or_default();
    let file = |id: crate::place::FileId| interpreter.files.get(id.index());
    let files = evaluated.into_iter().filter_map(file).map(|file| (file.path.clone(), file.text.clone())).collect();
    let place = place.and_then(|place: Place| {
        let file = file(place.file)?;
        Some((file.path.clone(), line_column(&file.text, place.start).0))
    });
    LibraryLoad { files, place, result }
}

pub(super) fn line_column(text: &str, at: u32) -> (usize, usize) {
    let before = text.get(..at as usize).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}

pub(super) fn fault(interpreter: &Interpreter<'_>, error: PythonError) -> LibraryFault {
    let place = error.place.or_else(|| error.trace.first().copied()).and_then(|place| {
        let file = interpreter.files.get(place.file.index())?;
        let (line, column) = line_column(&file.text, place.start);
        Some((file.path.clone(), line, column))
    });
    LibraryFault { place, class: error.class, text: error.text, help: error.help }
}

fn rows(interpreter: &mut Interpreter<'_>, call: &LibraryCall, place: &mut Option<Place>) -> Result<Vec<LoadedSplit>> {
    let class = class(interpreter, &call.class)?;
    let value = Value::Class(Rc::clone(&class));
    let at = Place::default();
    let (definer, load) = member(&class, "load").ok_or_else(|| no_load(&class))?;
    let has_init = member(&class, "__init__").is_some_and(|(other, _)| &*other != "BaseDataset");
    if &*definer == "BaseDataset" {
        return Err(no_load(&class));
    }
    *place = Some(load.place);
    let instance = crate::value::Instance { class: Rc::clone(&class), attributes: Default::default() };
    let instance = Rc::new(instance);
    let receiver = if has_init || matches!(load.value, Value::Function(_)) {
        Value::Instance(Rc::clone(&instance))
    } else {
        value
    };
    let mut arguments = Arguments::none(load.place);
    for (name, value) in &call.parameters {
        let value = from_json(&mut interpreter.budget, value.clone(), at)?;
        arguments.keywords.push((name.as_str().into(), load.place, Slot { value, place: load.place }));
    }
    // Draws that were seeded while modules were imported depend on all of them.
    if let Some(tree) = &mut interpreter.library {
        tree.random = None;
    }
    let entry = if has_init { "__init__" } else { "load" };
    let mut loaded = interpreter.call_method(&receiver, entry, arguments).map_err(|stop| stop.at(load.place))?;
    if has_init {
        let dataset = instance.attributes.borrow().get_text("dataset").map(|slot| slot.value.clone());
        loaded = dataset.ok_or_else(|| {
            Stop::unsupported(format!("the `__init__` of `{}` leaves no data set", class.name)).at(load.place)
        })?;
    }
    if let Some(table) = table_of(&loaded) {
        return Ok(vec![split(&mut interpreter.budget, None, table).map_err(|stop| stop.at(load.place))?]);
    }
    let Value::Dict(splits) = &loaded else {
        let text = format!("`load` gives a {}, not a data set", loaded.type_name());
        return Err(Stop::unsupported(text).at(load.place));
    };
    let mut made = Vec::new();
    for entry in splits.borrow().iter() {
        let name = crate::value::str_of(&entry.key.value);
        let Some(table) = table_of(&entry.slot.value) else {
            let text = format!("`load` gives a {} as its split `{name}`, not a data set", entry.slot.value.type_name());
            return Err(Stop::unsupported(text).at(load.place));
        };
        made.push(split(&mut interpreter.budget, Some(name), table).map_err(|stop| stop.at(load.place))?);
    }
    Ok(made)
}

fn no_load(class: &Class) -> Stop {
    Stop::unsupported(format!("`{}` has no `load` that is read", class.name))
}

/// The class of a name; a name without a module is one that a registry knows.
fn class(interpreter: &mut Interpreter<'_>, dotted: &str) -> Result<Rc<Class>> {
    let last = dotted.rsplit('.').next().unwrap_or(dotted);
    let named = if dotted.contains('.') { dotted.to_owned() } else { format!("opencompass.datasets.{dotted}") };
    match interpreter.resolve(&named)? {
        Some(Value::Class(class)) => Ok(class),
        Some(other) => Err(Stop::unsupported(format!("`{dotted}` is a {}, not a class", other.type_name()))),
        None => {
            let known = |source: Option<LibrarySource>| source.is_some();
            let has_tree =
                interpreter.library.as_ref().is_some_and(|tree| known(tree.host.module("opencompass.datasets")));
            let text = match has_tree {
                true => format!("the OpenCompass tree has no class `{last}`"),
                false => "no OpenCompass tree is known, so there is no source of it to read".to_owned(),
            };
            let help = "name the tree with --opencompass DIR, the folder that holds the package `opencompass`";
            Err(Stop::new("", text).with_help(help))
        }
    }
}

/// The member of a class and the name of the class that defines it.
fn member(class: &Rc<Class>, name: &str) -> Option<(Rc<str>, Slot)> {
    if let Some(slot) = class.members.borrow().get_text(name) {
        return Some((Rc::clone(&class.name), slot.clone()));
    }
    class.bases.iter().find_map(|base| match base {
        Value::Class(base) => member(base, name),
        _ => None,
    })
}

fn split(budget: &mut Budget, name: Option<String>, table: &Table) -> Result<LoadedSplit> {
    let mut lines = Vec::with_capacity(table.len());
    for (at, row) in table.rows.iter().enumerate() {
        let mut line = String::from("{");
        for (position, (column, value)) in table.columns.iter().zip(row.iter()).enumerate() {
            line.push_str(if position > 0 { ", " } else { "" });
            json_text(&mut line, column, false);
            line.push_str(": ");
            json(budget, &mut line, value)
                .map_err(|stop| stop.with_help(format!("row {at} (from 0), column `{column}`")))?;
        }
        line.push('}');
        budget.make(line.len())?;
        lines.push(line);
    }
    Ok(LoadedSplit { name, columns: table.columns.iter().map(|column| column.to_string()).collect(), lines })
}

fn json(budget: &mut Budget, out: &mut String, value: &Value) -> Result<()> {
    budget.step()?;
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) if value.is_finite() => out.push_str(&float_text(*value)),
        Value::Float(_) => return Err(Stop::unsupported("a value that is not a finite number has no place in rows")),
        Value::Text(value) => json_text(out, value, false),
        Value::List(list) => {
            out.push('[');
            for (at, slot) in list.items.borrow().iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                json(budget, out, &slot.value)?;
            }
            out.push(']');
        }
        Value::Dict(dict) => {
            out.push('{');
            for (at, entry) in dict.borrow().iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                json_text(out, &crate::value::str_of(&entry.key.value), false);
                out.push_str(": ");
                json(budget, out, &entry.slot.value)?;
            }
            out.push('}');
        }
        other => return Err(Stop::unsupported(format!("a `{}` has no place in rows", other.type_name()))),
    }
    Ok(())
}
