//! Copies: of an import (`ConfigDict`), of `copy.deepcopy`, and the plain tree that an evaluation leaves.

use super::{Dict, List, Slot, Value};
use crate::error::{Result, Stop};
use crate::limits::Budget;
use crate::node::{Node, Plain};
use crate::place::Place;
use foldhash::{HashMap, HashMapExt};
use std::cell::RefCell;
use std::rc::Rc;

/// Containers inside each other deeper than this are refused: one that holds itself has no end.
const DEEPEST: u32 = 1_000;

fn too_deep() -> Stop {
    Stop::new("RecursionError", "maximum recursion depth exceeded")
        .with_help("a list or a dict of it holds itself, or lies a thousand deep")
}

/// Copies an imported value as mmengine does: every dict becomes a `ConfigDict` of its own, every list and tuple a new one. Two
/// names no longer share what they shared.
pub(crate) fn config_copy(budget: &mut Budget, value: &Value, depth: u32) -> Result<Value> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    budget.step()?;
    let mut items = |items: &[Slot]| -> Result<Vec<Slot>> {
        let copied = items
            .iter()
            .map(|slot| Ok(Slot { value: config_copy(budget, &slot.value, depth + 1)?, place: slot.place }));
        copied.collect()
    };
    Ok(match value {
        Value::List(list) => Value::list(items(&list.items.borrow())?),
        Value::Tuple(tuple) => Value::Tuple(items(tuple)?.into()),
        Value::Dict(dict) => {
            let mut copy = Dict::config_for(dict.borrow().len());
            for entry in dict.borrow().iter() {
                let value = config_copy(budget, &entry.slot.value, depth + 1)?;
                copy.insert(entry.key.clone(), Slot { value, place: entry.slot.place })?;
            }
            Value::dict(copy)
        }
        other => other.clone(),
    })
}

/// Converts a value as a `ConfigDict` does that stores it: plain dicts become `ConfigDict`s, lists and tuples new ones; a
/// `ConfigDict` is stored as it is.
pub(crate) fn stored_in_config(budget: &mut Budget, value: &Value) -> Result<Value> {
    stored(budget, value, 0)
}

fn stored(budget: &mut Budget, value: &Value, depth: u32) -> Result<Value> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    budget.step()?;
    match value {
        Value::Dict(dict) if dict.borrow().config => Ok(value.clone()),
        Value::Dict(dict) => {
            let mut copy = Dict::config_for(dict.borrow().len());
            for entry in dict.borrow().iter() {
                let value = stored(budget, &entry.slot.value, depth + 1)?;
                copy.insert(entry.key.clone(), Slot { value, place: entry.slot.place })?;
            }
            Ok(Value::dict(copy))
        }
        Value::List(list) => {
            let items = list.items.borrow();
            let items: Result<Vec<Slot>> = items.iter().map(|slot| stored_slot(budget, slot, depth)).collect();
            Ok(Value::list(items?))
        }
        Value::Tuple(items) => {
            let items: Result<Vec<Slot>> = items.iter().map(|slot| stored_slot(budget, slot, depth)).collect();
            Ok(Value::Tuple(items?.into()))
        }
        other => Ok(other.clone()),
    }
}

fn stored_slot(budget: &mut Budget, slot: &Slot, depth: u32) -> Result<Slot> {
    Ok(Slot { value: stored(budget, &slot.value, depth + 1)?, place: slot.place })
}

/// `copy.deepcopy`: what is shared inside the value is shared inside the copy.
pub(crate) fn deep_copy(budget: &mut Budget, value: &Value) -> Result<Value> {
    deep(budget, &mut HashMap::new(), value, 0)
}

fn deep(budget: &mut Budget, seen: &mut HashMap<usize, Value>, value: &Value, depth: u32) -> Result<Value> {
    if depth > DEEPEST {
        return Err(too_deep());
    }
    budget.step()?;
    let address = match value {
        Value::List(list) => Rc::as_ptr(list) as usize,
        Value::Dict(dict) => Rc::as_ptr(dict) as usize,
        Value::Set(set) => {
            let copy = Value::set(set.items.borrow().clone());
            if let Value::Set(copy) = &copy {
                copy.frozen.set(set.frozen.get());
            }
            return Ok(copy);
        }
        Value::Tuple(items) => {
            let items: Result<Vec<Slot>> = items.iter().map(|slot| deep_slot(budget, seen, slot, depth)).collect();
            return Ok(Value::Tuple(items?.into()));
        }
        other => return Ok(other.clone()),
    };
    if let Some(copy) = seen.get(&address) {
        return Ok(copy.clone());
    }
    match value {
        Value::List(list) => {
            let copy = Rc::new(List::default());
            seen.insert(address, Value::List(Rc::clone(&copy)));
            for slot in list.items.borrow().iter() {
                let slot = deep_slot(budget, seen, slot, depth)?;
                copy.items.borrow_mut().push(slot);
            }
            Ok(Value::List(copy))
        }
        Value::Dict(dict) => {
            let dict = dict.borrow();
            let empty = dict.empty_like();
            let copy = Rc::new(RefCell::new(empty));
            seen.insert(address, Value::Dict(Rc::clone(&copy)));
            for entry in dict.iter() {
                let slot = deep_slot(budget, seen, &entry.slot, depth)?;
                copy.borrow_mut().insert(entry.key.clone(), slot)?;
            }
            Ok(Value::Dict(copy))
        }
        other => Ok(other.clone()),
    }
}

fn deep_slot(budget: &mut Budget, seen: &mut HashMap<usize, Value>, slot: &Slot, depth: u32) -> Result<Slot> {
    Ok(Slot { value: deep(budget, seen, &slot.value, depth + 1)?, place: slot.place })
}

/// The plain tree of a value.
pub(crate) fn to_node(budget: &mut Budget, value: &Value, place: Place, depth: u32) -> Result<Node> {
    if depth > DEEPEST {
        return Err(too_deep().at(place));
    }
    budget.step().map_err(|exhausted| Stop::from(exhausted).at(place))?;
    let mut items = |items: &[Slot]| -> Result<Vec<Node>> {
        items.iter().map(|slot| to_node(budget, &slot.value, slot.place, depth + 1)).collect()
    };
    let value = match value {
        Value::None => Plain::None,
        Value::Bool(value) => Plain::Bool(*value),
        Value::Int(value) => Plain::Int(*value),
        Value::Float(value) => Plain::Float(*value),
        Value::Text(text) => Plain::Text(text.to_string()),
        Value::List(list) => Plain::List(items(&list.items.borrow())?),
        Value::Tuple(tuple) => Plain::Tuple(items(tuple)?),
        Value::Dict(dict) => {
            let mut entries = Vec::with_capacity(dict.borrow().len());
            for entry in dict.borrow().iter() {
                let key = to_node(budget, &entry.key.value, entry.key.place, depth + 1)?;
                entries.push((key, to_node(budget, &entry.slot.value, entry.slot.place, depth + 1)?));
            }
            Plain::Dict(entries)
        }
        Value::Symbol(symbol) => Plain::Symbol(symbol.dotted().to_owned()),
        Value::Native(native) if native.is_type() => Plain::Symbol(format!("{}.{}", native.module, native.name)),
        Value::Ellipsis => Plain::Other("an ellipsis"),
        Value::Bytes(_) => Plain::Other("bytes"),
        Value::Set(_) => Plain::Other("a set"),
        Value::Range(_) => Plain::Other("a range"),
        Value::Slice(_) => Plain::Other("a slice"),
        Value::View(_) => Plain::Other("a view of a dict"),
        Value::Iterator(_) => Plain::Other("a generator"),
        Value::Function(_) | Value::Native(_) | Value::Method(_) | Value::Partial(_) => Plain::Other("a function"),
        Value::Class(_) => Plain::Other("a class"),
        Value::Instance(_) | Value::Exception(_) => Plain::Other("an object"),
        Value::Module(_) => Plain::Other("a module"),
        Value::Object(_) => Plain::Other("an object"),
    };
    Ok(Node { value, place })
}
