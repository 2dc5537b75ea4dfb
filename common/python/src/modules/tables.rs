//! `datasets`: data sets from lists and from files. What a file holds is read by the program's own readers, through the host.

use super::files::{library, raised};
use super::host::text;
use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::library::TableRequest;
use crate::limits::Budget;
use crate::object::{Table, tables};
use crate::place::Place;
use crate::value::{Dict, IndexMap, Slot, Value};
use compass_pyfmt::digits_beyond_64_bits;
use serde_json::Value as Json;
use std::rc::Rc;

/// Arguments of `load_dataset` that change no row.
const IGNORED: &[&str] = &[
    "cache_dir",
    "download_mode",
    "keep_in_memory",
    "num_proc",
    "token",
    "trust_remote_code",
    "use_auth_token",
    "verification_mode",
];

pub(super) fn call(interpreter: &mut Interpreter<'_>, name: &str, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    let table = match name {
        "Dataset.from_list" => {
            let [rows, _, _, _] = arguments.bind("from_list", ["mapping", "features", "info", "split"], 1)?;
            let rows = interpreter.items(&rows.unwrap_or(Value::None), place)?;
            Table::of_dicts(&mut interpreter.budget, &rows)?
        }
        "Dataset.from_dict" => {
            let [columns, features, _, _] = arguments.bind("from_dict", ["mapping", "features", "info", "split"], 1)?;
            if features.is_some_and(|features| !matches!(features, Value::None)) {
                return Err(Stop::unsupported("`Dataset.from_dict` with `features`"));
            }
            let Some(Value::Dict(columns)) = columns else { return Err(type_error("from_dict() takes a dict")) };
            let entries: Vec<_> = columns.borrow().iter().cloned().collect();
            let mut parts = Vec::new();
            for entry in entries {
                let values = interpreter.items(&entry.slot.value, entry.slot.place)?;
                let name = text(Some(entry.key.value), "from_dict")?;
                parts.push((name, values.into_iter().map(|slot| slot.value).collect()));
            }
            Table::of(&mut interpreter.budget, parts)?
        }
        "Dataset.from_generator" => {
            let keywords = arguments.take("gen_kwargs").map(|slot| slot.value);
            let [generator] = arguments.bind("from_generator", ["generator"], 1)?;
            let mut given = Arguments::none(place);
            if let Some(Value::Dict(keywords)) = keywords {
                for entry in keywords.borrow().iter() {
                    if let Value::Text(name) = &entry.key.value {
                        given.keywords.push((Rc::clone(name), place, entry.slot.clone()));
                    }
                }
            }
            let rows = interpreter.call(&generator.unwrap_or(Value::None), given)?;
            let rows = interpreter.items(&rows, place)?;
            Table::of_dicts(&mut interpreter.budget, &rows)?
        }
        "DatasetDict" => {
            let mut dict = Dict::of_splits();
            for (key, slot) in crate::methods::dict_entries(interpreter, arguments)? {
                dict.insert(key, slot)?;
            }
            return Ok(Value::dict(dict));
        }
        "concatenate_datasets" => {
            for ignored in ["info", "split", "axis"] {
                if arguments.take(ignored).is_some_and(|slot| slot.value.is_true()) {
                    return Err(Stop::unsupported(format!("`concatenate_datasets` with `{ignored}`")));
                }
            }
            let [parts] = arguments.bind(name, ["dsets"], 1)?;
            let parts = interpreter.items(&parts.unwrap_or(Value::None), place)?;
            Table::concatenate(&mut interpreter.budget, &tables(&parts)?)?
        }
        "load_dataset" => return load(interpreter, arguments),
        _ => return Err(Stop::unsupported(format!("`datasets.{name}` is not evaluated here"))),
    };
    Ok(table.into_value())
}

/// `Dataset.from_list` and `from_dict`, called on a data set.
pub(crate) fn from_class(interpreter: &mut Interpreter<'_>, name: &str, arguments: Arguments) -> Result<Value> {
    call(interpreter, &format!("Dataset.{name}"), arguments)
}

fn load(interpreter: &mut Interpreter<'_>, mut arguments: Arguments) -> Result<Value> {
    let place = arguments.place;
    for ignored in IGNORED {
        arguments.take(ignored);
    }
    let streaming = arguments.take("streaming").is_some_and(|slot| slot.value.is_true());
    if streaming {
        return Err(Stop::unsupported("`load_dataset` with `streaming`"));
    }
    let known = ["path", "name", "data_dir", "data_files", "split", "revision"];
    if let Some((other, at, _)) = arguments.keywords.iter().find(|(name, _, _)| !known.contains(&&**name)) {
        return Err(Stop::unsupported(format!("`load_dataset` with `{other}`")).at(*at));
    }
    let [path, name, data_dir, files, split, revision] = arguments.bind("load_dataset", known, 1)?;
    let optional = |value: Option<Value>| match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => text(Some(value), "load_dataset").map(|text| Some(text.to_string())),
    };
    let mut request = TableRequest {
        path: text(path, "load_dataset")?.to_string(),
        name: optional(name)?,
        data_dir: optional(data_dir)?,
        revision: optional(revision)?,
        files: Vec::new(),
    };
    match files {
        None | Some(Value::None) => {}
        Some(Value::Dict(of_splits)) => {
            let entries: Vec<_> = of_splits.borrow().iter().cloned().collect();
            for entry in entries {
                let split = text(Some(entry.key.value), "data_files")?.to_string();
                request.files.push((split, paths(interpreter, entry.slot.value, place)?));
            }
        }
        Some(files) => request.files.push(("train".to_owned(), paths(interpreter, files, place)?)),
    }
    let split = optional(split)?;
    let wanted = split.as_deref().map(|split| split.split('[').next().unwrap_or(split).trim());
    if wanted.is_some_and(|wanted| wanted.contains('+')) {
        return Err(Stop::unsupported("`load_dataset` of several splits at once"));
    }
    let loaded = library(interpreter)?.tables(&request, wanted).map_err(raised)?;
    let mut dict = Dict::of_splits();
    for (split, rows) in loaded {
        let table = table_of_json(&mut interpreter.budget, rows, place)?;
        dict.insert_text(&split, place, Slot { value: table.into_value(), place });
    }
    let (Some(split), Some(wanted)) = (&split, wanted) else { return Ok(Value::dict(dict)) };
    let Some(found) = dict.get_text(wanted).map(|slot| slot.value.clone()) else {
        let names: Vec<String> = dict.iter().map(|entry| crate::value::repr(&entry.key.value)).collect();
        return Err(value_error(format!("Unknown split \"{wanted}\". Should be one of [{}].", names.join(", "))));
    };
    if split == wanted {
        return Ok(found);
    }
    sliced(interpreter, &found, &split[wanted.len()..])
}

/// `[a:b]` behind the name of a split.
fn sliced(interpreter: &mut Interpreter<'_>, table: &Value, written: &str) -> Result<Value> {
    let refused = || Stop::unsupported(format!("`load_dataset` of the part `{written}` of a split"));
    let inner = written.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).ok_or_else(refused)?;
    let (lower, upper) = inner.split_once(':').ok_or_else(refused)?;
    let bound = |text: &str| match text.trim() {
        "" => Ok(Value::None),
        number => number.parse().map(Value::Int).map_err(|_| refused()),
    };
    let slice = crate::value::Slice { lower: bound(lower)?, upper: bound(upper)?, step: Value::None };
    let Some(table) = crate::object::table_of(table) else { return Err(refused()) };
    let indices: Vec<usize> = crate::evaluate::slice_indices(&slice, table.len())?.collect();
    let _ = interpreter;
    Ok(table.select(&indices).into_value())
}

fn paths(interpreter: &mut Interpreter<'_>, files: Value, place: Place) -> Result<Vec<String>> {
    match files {
        Value::Text(path) => Ok(vec![path.to_string()]),
        many => {
            let items = interpreter.items(&many, place)?;
            items.into_iter().map(|slot| text(Some(slot.value), "data_files").map(|path| path.to_string())).collect()
        }
    }
}

/// A table of rows as a file has them: the columns of all rows, in the order in which they appear.
fn table_of_json(budget: &mut Budget, rows: Vec<serde_json::Map<String, Json>>, place: Place) -> Result<Table> {
    let mut columns: IndexMap<Rc<str>, Vec<Value>> = IndexMap::default();
    for (at, row) in rows.into_iter().enumerate() {
        for (name, value) in row {
            let values = columns.entry(name.into()).or_default();
            values.resize(at, Value::None);
            values.push(from_json(budget, value, place)?);
        }
        for values in columns.values_mut() {
            values.resize(at + 1, Value::None);
        }
    }
    Table::of(budget, columns.into_iter().collect())
}

/// A value of JSON.
pub(crate) fn from_json(budget: &mut Budget, value: Json, place: Place) -> Result<Value> {
    budget.step()?;
    budget.make(size_of::<Slot>())?;
    if let Some(digits) = digits_beyond_64_bits(&value) {
        // A number of more digits than this evaluator counts with is their text.
        return Ok(digits.parse().map_or_else(|_| Value::text(digits), Value::Int));
    }
    Ok(match value {
        Json::Null => Value::None,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Value::Int(int.into()),
            (None, Some(int)) => Value::Int(int.into()),
            _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => {
            budget.make(text.len())?;
            Value::text(text)
        }
        Json::Array(items) => {
            let slots = items.into_iter().map(|item| Ok(Slot { value: from_json(budget, item, place)?, place }));
            Value::list(slots.collect::<Result<_>>()?)
        }
        Json::Object(entries) => {
            let mut dict = Dict::default();
            for (key, value) in entries {
                let value = from_json(budget, value, place)?;
                dict.insert_text(&key, place, Slot { value, place });
            }
            Value::dict(dict)
        }
    })
}
