//! Methods of sets.

use super::list::exactly;
use crate::error::Result;
use crate::evaluate::{Arguments, Interpreter};
use crate::value::{IndexMap, Key, Layout, Set, Slot, Value};
use std::rc::Rc;

pub(super) const NAMES: &[&str] = &[
    "add",
    "clear",
    "copy",
    "difference",
    "discard",
    "intersection",
    "isdisjoint",
    "issubset",
    "issuperset",
    "pop",
    "remove",
    "symmetric_difference",
    "union",
    "update",
];

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    receiver: &Value,
    set: &Rc<Set>,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    match name {
        "add" => {
            interpreter.budget.make(size_of::<Slot>())?;
            let [slot] = exactly("add", arguments)?;
            if set.layout.get() == Layout::Written {
                set.layout.set(Layout::Unknown);
            }
            set.items.borrow_mut().entry(Key::of(&slot.value)?).or_insert(slot.value);
        }
        "discard" | "remove" => {
            let [slot] = exactly(name, arguments)?;
            let removed = set.items.borrow_mut().shift_remove(&Key::of(&slot.value)?);
            if removed.is_some() {
                set.layout.set(Layout::Unknown);
            }
            if removed.is_none() && name == "remove" {
                return Err(crate::evaluate::key_error(&slot.value));
            }
        }
        "clear" => {
            set.items.borrow_mut().clear();
            set.layout.set(Layout::Added);
        }
        "pop" => {
            let first = interpreter.items(receiver, arguments.place)?.into_iter().next();
            let first = first.ok_or_else(|| crate::error::Stop::new("KeyError", "pop from an empty set"))?;
            set.items.borrow_mut().shift_remove(&Key::of(&first.value)?);
            set.layout.set(Layout::Unknown);
            return Ok(first.value);
        }
        "copy" => return Ok(Value::set(set.items.borrow().clone())),
        "update" => {
            for slot in arguments.positional {
                if set.layout.get() == Layout::Written || matches!(slot.value, Value::Set(_) | Value::Dict(_)) {
                    set.layout.set(Layout::Unknown);
                }
                for item in interpreter.unordered(&slot.value, slot.place)? {
                    set.items.borrow_mut().entry(Key::of(&item.value)?).or_insert(item.value);
                }
            }
        }
        _ => return combine(interpreter, receiver, name, &arguments.positional),
    }
    Ok(Value::None)
}

/// `union` and its like, of a set with anything that can be iterated over.
pub(crate) fn combine(interpreter: &mut Interpreter<'_>, left: &Value, name: &str, others: &[Slot]) -> Result<Value> {
    let mut keyed = |value: &Value| -> Result<IndexMap<Key, Value>> {
        let items = interpreter.unordered(value, Default::default())?;
        interpreter.budget.make(items.len() * size_of::<Slot>() * 2)?;
        items.into_iter().map(|slot| Ok((Key::of(&slot.value)?, slot.value))).collect()
    };
    let mut own = keyed(left)?;
    for other in others {
        let other = keyed(&other.value)?;
        match name {
            "union" => other.into_iter().for_each(|(key, value)| {
                own.entry(key).or_insert(value);
            }),
            "intersection" => own.retain(|key, _| other.contains_key(key)),
            "difference" => own.retain(|key, _| !other.contains_key(key)),
            "symmetric_difference" => {
                let added: Vec<_> = other.iter().filter(|(key, _)| !own.contains_key(*key)).map(cloned).collect();
                own.retain(|key, _| !other.contains_key(key));
                own.extend(added);
            }
            "issubset" => return Ok(Value::Bool(own.keys().all(|key| other.contains_key(key)))),
            "issuperset" => return Ok(Value::Bool(other.keys().all(|key| own.contains_key(key)))),
            _ => return Ok(Value::Bool(!own.keys().any(|key| other.contains_key(key)))),
        }
    }
    Ok(Value::set(own))
}

fn cloned((key, value): (&Key, &Value)) -> (Key, Value) {
    (key.clone(), value.clone())
}
