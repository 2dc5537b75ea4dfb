//! Methods of dicts, and of mmengine's `ConfigDict`, which differs: `update` merges, `pop` of a missing key gives `None`, what is
//! stored is copied.

use super::list::exactly;
use crate::error::{Result, Stop, type_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::place::Place;
use crate::value::{Dict, DictCell, Slot, Value, View, ViewKind, deep_copy, stored_in_config};
use std::rc::Rc;

pub(super) const NAMES: &[&str] = &[
    "clear",
    "copy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "most_common",
    "move_to_end",
    "pop",
    "popitem",
    "setdefault",
    "update",
    "values",
];

pub(super) const CONFIG_NAMES: &[&str] = &[
    "clear",
    "copy",
    "deepcopy",
    "fromkeys",
    "get",
    "items",
    "keys",
    "merge",
    "pop",
    "popitem",
    "setdefault",
    "to_dict",
    "update",
    "values",
];

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    receiver: &Value,
    dict: &Rc<DictCell>,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    let is_config = dict.borrow().config;
    match name {
        "items" | "keys" | "values" => {
            let kind = match name {
                "items" => ViewKind::Items,
                "keys" => ViewKind::Keys,
                _ => ViewKind::Values,
            };
            interpreter.budget.container()?;
            Ok(Value::View(Rc::new(View { dict: Rc::clone(dict), kind })))
        }
        "get" => {
            let [key, default] = arguments.bind("get", ["key", "default"], 1)?;
            let found = dict.borrow().get(&key.unwrap_or(Value::None))?.map(|slot| slot.value.clone());
            Ok(found.or(default).unwrap_or(Value::None))
        }
        "setdefault" => {
            let mut given = arguments.positional.into_iter();
            let key = given.next().ok_or_else(|| type_error("setdefault expected at least 1 argument, got 0"))?;
            if let Some(slot) = dict.borrow().get(&key.value)? {
                return Ok(slot.value.clone());
            }
            let slot = given.next().unwrap_or(Slot { value: Value::None, place });
            interpreter.set_item(receiver, key.clone(), slot)?;
            let stored = dict.borrow().get(&key.value)?.map(|slot| slot.value.clone());
            Ok(stored.unwrap_or(Value::None))
        }
        "pop" => {
            let [key, default] = arguments.bind("pop", ["key", "default"], 1)?;
            let key = key.unwrap_or(Value::None);
            match dict.borrow_mut().remove(&key)? {
                Some(entry) => Ok(entry.slot.value),
                None if is_config => Ok(default.unwrap_or(Value::None)),
                None => default.ok_or_else(|| crate::evaluate::key_error(&key)),
            }
        }
        "popitem" => {
            let entry = dict.borrow_mut().pop_last();
            let entry = entry.ok_or_else(|| Stop::new("KeyError", "popitem(): dictionary is empty"))?;
            Ok(Value::Tuple([entry.key, entry.slot].into()))
        }
        "clear" => {
            dict.borrow_mut().clear();
            Ok(Value::None)
        }
        "copy" => copied(interpreter, &dict.borrow()),
        "deepcopy" => deep_copy(&mut interpreter.budget, receiver),
        "to_dict" => {
            let mut plain = dict.borrow().clone();
            plain.config = false;
            Ok(Value::dict(plain))
        }
        "fromkeys" => {
            let mut given = arguments.positional.into_iter();
            let keys = given.next().ok_or_else(|| type_error("fromkeys expected at least 1 argument, got 0"))?;
            let slot = given.next().unwrap_or(Slot { value: Value::None, place });
            let mut made = Dict::default();
            for key in interpreter.items(&keys.value, keys.place)? {
                made.insert(key, slot.clone())?;
            }
            Ok(Value::dict(made))
        }
        "update" | "merge" => {
            update(interpreter, dict, arguments)?;
            Ok(Value::None)
        }
        "move_to_end" => {
            let [key] = exactly("move_to_end", arguments)?;
            let entry = dict.borrow_mut().remove(&key.value)?.ok_or_else(|| crate::evaluate::key_error(&key.value))?;
            dict.borrow_mut().insert(entry.key, entry.slot)?;
            Ok(Value::None)
        }
        _ => {
            let [most] = arguments.bind("most_common", ["n"], 0)?;
            most_common(interpreter, &dict.borrow(), most, place)
        }
    }
}

/// `copy()`: a `ConfigDict` stores what it copies, so that lists in it are new and dicts are shared.
fn copied(interpreter: &mut Interpreter<'_>, dict: &Dict) -> Result<Value> {
    let mut copy = dict.empty_like();
    interpreter.budget.make(dict.len() * size_of::<Slot>() * 2)?;
    for entry in dict.iter() {
        let value = if dict.config {
            stored_in_config(&mut interpreter.budget, &entry.slot.value)?
        } else {
            entry.slot.value.clone()
        };
        copy.insert(entry.key.clone(), Slot { value, place: entry.slot.place })?;
    }
    Ok(Value::dict(copy))
}

/// Entries of a mapping or of pairs, and of keywords.
pub(crate) fn entries(interpreter: &mut Interpreter<'_>, arguments: Arguments) -> Result<Vec<(Slot, Slot)>> {
    let mut entries = Vec::new();
    if arguments.positional.len() > 1 {
        let text = format!("expected at most 1 argument, got {}", arguments.positional.len());
        return Err(type_error(text));
    }
    for slot in arguments.positional {
        match &slot.value {
            Value::Dict(other) => {
                entries.extend(other.borrow().iter().map(|entry| (entry.key.clone(), entry.slot.clone())));
            }
            other => {
                for (at, pair) in interpreter.items(other, slot.place)?.into_iter().enumerate() {
                    let items = interpreter.items(&pair.value, pair.place).map_err(|_| {
                        let text = format!("cannot convert dictionary update sequence element #{at} to a sequence");
                        type_error(text).at(pair.place)
                    })?;
                    let [key, value] = <[Slot; 2]>::try_from(items).map_err(|items| {
                        let length = items.len();
                        let text =
                            format!("dictionary update sequence element #{at} has length {length}; 2 is required");
                        crate::error::value_error(text).at(pair.place)
                    })?;
                    entries.push((key, value));
                }
            }
        }
    }
    for (name, at, slot) in arguments.keywords {
        entries.push((Slot { value: Value::Text(name), place: at }, slot));
    }
    interpreter.budget.make(entries.len() * size_of::<Slot>() * 2)?;
    Ok(entries)
}

fn update(interpreter: &mut Interpreter<'_>, dict: &Rc<DictCell>, arguments: Arguments) -> Result<()> {
    let is_config = dict.borrow().config;
    for (key, slot) in entries(interpreter, arguments)? {
        if !is_config {
            dict.borrow_mut().insert(key, slot)?;
            continue;
        }
        let current = dict.borrow().get(&key.value)?.map(|slot| slot.value.clone());
        match (current, &slot.value) {
            (Some(Value::Dict(inner)), Value::Dict(_)) => {
                let arguments = Arguments::of(vec![slot], Place::default());
                // One that holds itself has no end.
                interpreter.nested(|this| update(this, &inner, arguments))?;
            }
            _ => {
                let value = stored_in_config(&mut interpreter.budget, &slot.value)?;
                dict.borrow_mut().insert(key, Slot { value, place: slot.place })?;
            }
        }
    }
    Ok(())
}

fn most_common(interpreter: &mut Interpreter<'_>, dict: &Dict, most: Option<Value>, place: Place) -> Result<Value> {
    let pairs: Vec<Slot> = dict
        .iter()
        .map(|entry| Slot { value: Value::Tuple([entry.slot.clone(), entry.key.clone()].into()), place })
        .collect();
    let by_count = crate::evaluate::native("compass", "first");
    let sorted = super::sort(interpreter, pairs, Some(&by_count), true, place)?;
    let most = most.and_then(|most| most.as_int()).map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(0));
    let pairs = sorted.into_iter().take(most).map(|slot| match slot.value {
        Value::Tuple(pair) => Slot { value: Value::Tuple(pair.iter().rev().cloned().collect()), place },
        value => Slot { value, place },
    });
    Ok(Value::list(pairs.collect()))
}
