//! Methods of lists and tuples.

use crate::error::{Result, Stop, value_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::value::{List, Slot, Value, repr};
use std::rc::Rc;

pub(super) const NAMES: &[&str] =
    &["append", "clear", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"];

pub(super) fn call(
    interpreter: &mut Interpreter<'_>,
    list: &Rc<List>,
    name: &str,
    mut arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    match name {
        "append" => {
            interpreter.budget.make(size_of::<Slot>())?;
            let [slot] = exactly("append", arguments)?;
            list.items.borrow_mut().push(slot);
        }
        "extend" => {
            let [slot] = exactly("extend", arguments)?;
            let items = interpreter.items(&slot.value, slot.place)?;
            interpreter.budget.make(items.len() * size_of::<Slot>())?;
            list.items.borrow_mut().extend(items);
        }
        "insert" => {
            interpreter.budget.make(size_of::<Slot>())?;
            let [at, slot] = exactly("insert", arguments)?;
            let at = at.value.as_int().unwrap_or(0);
            let mut items = list.items.borrow_mut();
            let length = items.len() as i128;
            let at = if at < 0 { (at + length).max(0) } else { at.min(length) };
            items.insert(usize::try_from(at).unwrap_or(0), slot);
        }
        "pop" => {
            let [at] = arguments.bind("pop", ["index"], 0)?;
            let mut items = list.items.borrow_mut();
            if items.is_empty() {
                return Err(Stop::new("IndexError", "pop from empty list"));
            }
            let at = at.and_then(|at| at.as_int()).unwrap_or(-1);
            let from_start = if at < 0 { at + items.len() as i128 } else { at };
            let found = usize::try_from(from_start).ok().filter(|at| *at < items.len());
            let at = found.ok_or_else(|| Stop::new("IndexError", "pop index out of range"))?;
            return Ok(items.remove(at).value);
        }
        "remove" => {
            let [slot] = exactly("remove", arguments)?;
            // The list may be compared with itself.
            let items = list.items.borrow().clone();
            let at = position(interpreter, &items, &slot.value)?;
            let at = at.ok_or_else(|| value_error("list.remove(x): x not in list"))?;
            let removed = list.items.borrow_mut().remove(at);
            drop(removed);
        }
        "clear" => list.items.borrow_mut().clear(),
        "copy" => return Ok(Value::list(interpreter.items(&Value::List(Rc::clone(list)), place)?)),
        "reverse" => list.items.borrow_mut().reverse(),
        "sort" => {
            let key = arguments.take("key").map(|slot| slot.value);
            let is_reversed = arguments.take("reverse").is_some_and(|slot| slot.value.is_true());
            let items = list.items.borrow().clone();
            let sorted = sort(interpreter, items, key.as_ref(), is_reversed, place)?;
            *list.items.borrow_mut() = sorted;
        }
        _ => return search(interpreter, &Value::List(Rc::clone(list)), name, arguments),
    }
    Ok(Value::None)
}

/// `index` and `count`, which tuples have as well.
pub(super) fn search(
    interpreter: &mut Interpreter<'_>,
    sequence: &Value,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    let place = arguments.place;
    let items = interpreter.items(sequence, place)?;
    if name == "count" {
        let [slot] = exactly("count", arguments)?;
        let mut count = 0;
        for item in &items {
            count += usize::from(item.value.is(&slot.value) || interpreter.equal(&item.value, &slot.value)?);
        }
        return Ok(Value::Int(count as i128));
    }
    let [wanted, start, stop] = arguments.bind("index", ["value", "start", "stop"], 1)?;
    let wanted = wanted.unwrap_or(Value::None);
    let bound = |value: Option<Value>, default: usize| {
        let at = value.and_then(|value| value.as_int()).unwrap_or(default as i128);
        usize::try_from(if at < 0 { at + items.len() as i128 } else { at }).unwrap_or(0)
    };
    let (start, stop) = (bound(start, 0), bound(stop, items.len()));
    let within = items.get(start.min(items.len())..stop.min(items.len())).unwrap_or_default();
    match position(interpreter, within, &wanted)? {
        Some(at) => Ok(Value::Int((start + at) as i128)),
        None => Err(value_error(format!("{} is not in {}", repr(&wanted), sequence.type_name()))),
    }
}

/// Returns the position of the first element that is the value, or equal to it.
fn position(interpreter: &mut Interpreter<'_>, items: &[Slot], value: &Value) -> Result<Option<usize>> {
    for (at, item) in items.iter().enumerate() {
        if item.value.is(value) || interpreter.equal(&item.value, value)? {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Exactly `N` positional arguments.
pub(super) fn exactly<const N: usize>(function: &str, arguments: Arguments) -> Result<[Slot; N]> {
    let given = arguments.positional.len();
    arguments.positional.try_into().map_err(|_| {
        let plural = if N == 1 { "" } else { "s" };
        let expected = if N == 1 { "exactly one".to_owned() } else { N.to_string() };
        crate::error::type_error(format!("{function}() takes {expected} argument{plural} ({given} given)"))
    })
}

/// Sorts as CPython does: stable, by `<` alone, and an element that is not comparable is an error.
pub(crate) fn sort(
    interpreter: &mut Interpreter<'_>,
    items: Vec<Slot>,
    key: Option<&Value>,
    is_reversed: bool,
    place: crate::place::Place,
) -> Result<Vec<Slot>> {
    let mut keyed = Vec::with_capacity(items.len());
    for slot in items {
        let sorted_by = match key {
            None | Some(Value::None) => slot.value.clone(),
            Some(key) => interpreter.call(key, Arguments::of(vec![slot.clone()], place))?,
        };
        keyed.push((sorted_by, slot));
    }
    if is_reversed {
        keyed.reverse();
    }
    let mut failed = None;
    let mut merged = merge_sort(keyed, &mut |a, b| match interpreter.less_than(a, b) {
        Ok(less) => less,
        Err(stop) => {
            failed.get_or_insert(stop);
            false
        }
    });
    if let Some(stop) = failed {
        return Err(stop);
    }
    if is_reversed {
        merged.reverse();
    }
    Ok(merged.into_iter().map(|(_, slot)| slot).collect())
}

/// A stable sort for an order that may contradict itself (NaN), which the standard library's may refuse with a panic.
fn merge_sort(mut items: Vec<(Value, Slot)>, less: &mut dyn FnMut(&Value, &Value) -> bool) -> Vec<(Value, Slot)> {
    if items.len() < 2 {
        return items;
    }
    let right = merge_sort(items.split_off(items.len() / 2), less);
    let left = merge_sort(items, less);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if less(&b.0, &a.0) { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}
