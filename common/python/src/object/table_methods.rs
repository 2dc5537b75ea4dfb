//! Methods of `datasets.Dataset` and of `DatasetDict`.

use super::{Object, Table, table_of, value};
use crate::error::{Result, Stop, type_error, value_error};
use crate::evaluate::{Arguments, Interpreter, equal};
use crate::place::Place;
use crate::value::{Dict, DictCell, Slot, Value};
use std::rc::Rc;

/// Methods of a `DatasetDict`: a dict's, and the methods of each of its data sets.
pub(crate) const SPLITS_METHODS: &[&str] = &[
    "add_column",
    "clear",
    "copy",
    "filter",
    "flatten_indices",
    "get",
    "items",
    "keys",
    "map",
    "pop",
    "remove_columns",
    "rename_column",
    "rename_columns",
    "select_columns",
    "setdefault",
    "sort",
    "update",
    "values",
];

/// Arguments of `map` and `filter` that change no row.
const IGNORED: &[&str] = &[
    "batch_size",
    "cache_file_name",
    "desc",
    "keep_in_memory",
    "load_from_cache_file",
    "num_proc",
    "writer_batch_size",
];

/// The method `name` of each data set of a `DatasetDict`.
pub(crate) fn call_splits(
    interpreter: &mut Interpreter<'_>,
    dict: &Rc<DictCell>,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    let mut made = Dict::of_splits();
    let entries: Vec<_> = dict.borrow().iter().cloned().collect();
    for entry in entries {
        let value = interpreter.call_method(&entry.slot.value, name, arguments.clone())?;
        made.insert(entry.key, Slot { value, place: entry.slot.place })?;
    }
    Ok(Value::dict(made))
}

pub(super) fn attribute(table: &Table, name: &str) -> Option<Value> {
    match name {
        "column_names" => {
            Some(Value::list_at(table.columns.iter().map(|name| Value::Text(Rc::clone(name))), Place::default()))
        }
        "num_rows" => Some(Value::Int(table.len() as i128)),
        _ => None,
    }
}

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    table: &Table,
    name: &str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    for ignored in IGNORED {
        arguments.take(ignored);
    }
    let made = match name {
        "map" => map(interpreter, table, arguments)?,
        "filter" => filter(interpreter, table, arguments)?,
        "select" => {
            let [indices] = arguments.bind("select", ["indices"], 1)?;
            let mut picked = Vec::new();
            for slot in interpreter.items(&indices.unwrap_or(Value::None), place)? {
                let at = slot.value.as_int().and_then(|at| usize::try_from(at).ok()).filter(|at| *at < table.len());
                let outside = || {
                    Stop::new(
                        "IndexError",
                        format!(
                            "Index {} out of range for dataset of size {}.",
                            crate::value::repr(&slot.value),
                            table.len()
                        ),
                    )
                };
                picked.push(at.ok_or_else(outside)?);
            }
            table.select(&picked)
        }
        "rename_column" => {
            let [from, to] = arguments.bind(name, ["original_column_name", "new_column_name"], 2)?;
            renamed(table, &[(text(from)?, text(to)?)])?
        }
        "rename_columns" => {
            let [names] = arguments.bind(name, ["column_mapping"], 1)?;
            let Some(Value::Dict(names)) = names else { return Err(type_error("column_mapping must be a dict")) };
            let pairs: Result<Vec<_>> = names
                .borrow()
                .iter()
                .map(|entry| Ok((text(Some(entry.key.value.clone()))?, text(Some(entry.slot.value.clone()))?)))
                .collect();
            renamed(table, &pairs?)?
        }
        "remove_columns" | "select_columns" => {
            let [names] = arguments.bind(name, ["column_names"], 1)?;
            let names = names_of(interpreter, names, place)?;
            let positions: Vec<usize> = names.iter().map(|name| table.expect(name)).collect::<Result<_>>()?;
            if name == "select_columns" {
                table.with_columns(&positions)
            } else {
                let left: Vec<usize> = (0..table.columns.len()).filter(|at| !positions.contains(at)).collect();
                table.with_columns(&left)
            }
        }
        "add_column" => {
            let [column, values] = arguments.bind(name, ["name", "column"], 2)?;
            let values = interpreter.items(&values.unwrap_or(Value::None), place)?;
            let mut parts = table.parts();
            parts.push((text(column)?, values.into_iter().map(|slot| slot.value).collect()));
            Table::of(&mut interpreter.budget, parts)?
        }
        "sort" => {
            let [column, reverse] = arguments.bind(name, ["column_names", "reverse"], 1)?;
            let at = table.expect(&text(column)?)?;
            let numbered = table.values(at).into_iter().enumerate();
            let pairs: Vec<Slot> = numbered
                .map(|(at, value)| Slot { value: Value::tuple_at([value, Value::Int(at as i128)], place), place })
                .collect();
            let first = crate::evaluate::native("compass", "first");
            let is_reversed = reverse.is_some_and(|reverse| reverse.is_true());
            if is_reversed {
                return Err(Stop::unsupported("`Dataset.sort` with `reverse`"));
            }
            let sorted = crate::methods::sort(interpreter, pairs, Some(&first), is_reversed, place)?;
            let order: Vec<usize> = sorted
                .iter()
                .filter_map(|slot| match &slot.value {
                    Value::Tuple(pair) => pair.get(1)?.value.as_int().and_then(|at| usize::try_from(at).ok()),
                    _ => None,
                })
                .collect();
            table.select(&order)
        }
        "unique" => {
            let [column] = arguments.bind(name, ["column"], 1)?;
            let at = table.expect(&text(column)?)?;
            let mut unique: Vec<Value> = Vec::new();
            for value in table.values(at) {
                interpreter.budget.step()?;
                if !unique.iter().any(|known| equal(known, &value)) {
                    unique.push(value);
                }
            }
            return Ok(Value::list_at(unique, place));
        }
        "to_list" => return Ok(Value::list(super::items(interpreter, &Rc::new(Object::Table(table.clone())), place)?)),
        "to_dict" => return table.to_dict(interpreter),
        "from_list" | "from_dict" => return crate::modules::from_class(interpreter, name, arguments),
        "flatten_indices" => table.clone(),
        "__len__" => return Ok(Value::Int(table.len() as i128)),
        _ => return Err(Stop::unsupported(format!("`Dataset.{name}` is not evaluated here"))),
    };
    Ok(value(Object::Table(made)))
}

fn text(value: Option<Value>) -> Result<Rc<str>> {
    match value {
        Some(Value::Text(text)) => Ok(text),
        other => Err(type_error(format!(
            "a column is named by a text, not by {}",
            other.as_ref().map_or("None", Value::type_name)
        ))),
    }
}

fn names_of(interpreter: &mut Interpreter<'_>, names: Option<Value>, place: Place) -> Result<Vec<Rc<str>>> {
    match names {
        None | Some(Value::None) => Ok(Vec::new()),
        Some(Value::Text(name)) => Ok(vec![name]),
        Some(many) => interpreter.items(&many, place)?.into_iter().map(|slot| text(Some(slot.value))).collect(),
    }
}

fn renamed(table: &Table, names: &[(Rc<str>, Rc<str>)]) -> Result<Table> {
    let mut columns: Vec<Rc<str>> = table.columns.to_vec();
    for (from, to) in names {
        let at = table.expect(from)?;
        if table.position(to).is_some() {
            return Err(value_error(format!("New column name {to} already in the dataset.")));
        }
        if let Some(column) = columns.get_mut(at) {
            *column = Rc::clone(to);
        }
    }
    Ok(Table { columns: columns.into(), rows: Rc::clone(&table.rows) })
}

/// Function that `map` and `filter` call, and its arguments beside the row.
struct Function {
    function: Value,
    with_indices: bool,
    input_columns: Vec<Rc<str>>,
    keywords: Vec<(Rc<str>, Place, Slot)>,
}

fn function(interpreter: &mut Interpreter<'_>, arguments: &mut Arguments, name: &str) -> Result<Function> {
    let place = arguments.place;
    let with_indices = arguments.take("with_indices").is_some_and(|slot| slot.value.is_true());
    if arguments.take("batched").is_some_and(|slot| slot.value.is_true()) {
        return Err(Stop::unsupported(format!("`Dataset.{name}` of batches")));
    }
    let input_columns = arguments.take("input_columns").map(|slot| slot.value);
    let input_columns = names_of(interpreter, input_columns, place)?;
    let keywords = match arguments.take("fn_kwargs").map(|slot| slot.value) {
        Some(Value::Dict(dict)) => {
            let named =
                |entry: &crate::value::Entry| Some((entry.key.value.as_text()?.clone(), place, entry.slot.clone()));
            dict.borrow().iter().filter_map(named).collect()
        }
        _ => Vec::new(),
    };
    let function = match arguments.take("function") {
        Some(slot) => slot.value,
        None if arguments.positional.is_empty() => return Err(type_error(format!("{name}() needs a function"))),
        None => arguments.positional.remove(0).value,
    };
    if let Some((keyword, at, _)) = arguments.keywords.first().filter(|(name, _, _)| &**name != "remove_columns") {
        return Err(Stop::unsupported(format!("`{keyword}` of `Dataset.{name}`")).at(*at));
    }
    if !arguments.positional.is_empty() {
        return Err(Stop::unsupported(format!("further arguments of `Dataset.{name}` by position")));
    }
    Ok(Function { function, with_indices, input_columns, keywords })
}

impl Function {
    fn call(&self, interpreter: &mut Interpreter<'_>, row: &Value, at: usize, place: Place) -> Result<Value> {
        let mut positional = Vec::new();
        if self.input_columns.is_empty() {
            positional.push(Slot { value: row.clone(), place });
        }
        for column in &self.input_columns {
            positional.push(interpreter.item(row, &Value::Text(Rc::clone(column)))?);
        }
        if self.with_indices {
            positional.push(Slot { value: Value::Int(at as i128), place });
        }
        let arguments = Arguments { positional, keywords: self.keywords.clone(), place };
        interpreter.call(&self.function, arguments)
    }
}

/// `map`: what the function gives is put over the row; the keys of the first row are the columns.
fn map(interpreter: &mut Interpreter<'_>, table: &Table, mut arguments: Arguments) -> Result<Table> {
    let place = arguments.place;
    let removed = arguments.take("remove_columns").map(|slot| slot.value);
    let removed = names_of(interpreter, removed, place)?;
    let function = function(interpreter, &mut arguments, "map")?;
    let mut columns: Vec<(Rc<str>, Vec<Value>)> = Vec::new();
    for at in 0..table.len() {
        let row = table.row(interpreter, at, place)?;
        let result = function.call(interpreter, &row, at, place)?;
        let (Value::Dict(given), Value::Dict(row)) = (&result, &row) else {
            if matches!(result, Value::None) && at == 0 {
                return Ok(table.clone());
            }
            let text = format!(
                "Provided `function` which is applied to all elements of table returns a variable of type {}.",
                result.type_name()
            );
            return Err(type_error(text));
        };
        if Rc::ptr_eq(given, row) && !removed.is_empty() {
            return Err(Stop::unsupported(
                "`Dataset.map` with `remove_columns` and a function that gives its row back",
            ));
        }
        let mut merged = Dict::default();
        for entry in
            row.borrow().iter().filter(|entry| entry.key.value.as_text().is_none_or(|name| !removed.contains(name)))
        {
            merged.insert(entry.key.clone(), entry.slot.clone())?;
        }
        for entry in given.borrow().iter() {
            merged.insert(entry.key.clone(), entry.slot.clone())?;
        }
        if at == 0 {
            let names = merged.iter().filter_map(|entry| entry.key.value.as_text().cloned());
            columns = names.map(|name| (name, Vec::with_capacity(table.len()))).collect();
        }
        for (name, values) in &mut columns {
            let slot =
                merged.get_text(name).ok_or_else(|| crate::evaluate::key_error(&Value::Text(Rc::clone(name))))?;
            values.push(slot.value.clone());
        }
    }
    if table.len() == 0 {
        return Ok(table.clone());
    }
    Table::of(&mut interpreter.budget, columns)
}

fn filter(interpreter: &mut Interpreter<'_>, table: &Table, mut arguments: Arguments) -> Result<Table> {
    let place = arguments.place;
    let function = function(interpreter, &mut arguments, "filter")?;
    let mut kept = Vec::new();
    for at in 0..table.len() {
        let row = table.row(interpreter, at, place)?;
        if function.call(interpreter, &row, at, place)?.is_true() {
            kept.push(at);
        }
    }
    Ok(table.select(&kept))
}

/// The data sets of a list.
pub(crate) fn tables(items: &[Slot]) -> Result<Vec<&Table>> {
    let table = |slot: &'_ Slot| table_of(&slot.value).is_some();
    if let Some(other) = items.iter().find(|slot| !table(slot)) {
        return Err(type_error(format!(
            "Expected a list of Dataset objects, but one is a {}",
            other.value.type_name()
        )));
    }
    Ok(items.iter().filter_map(|slot| table_of(&slot.value)).collect())
}
