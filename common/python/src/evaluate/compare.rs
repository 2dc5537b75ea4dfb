//! Comparisons.

use super::Interpreter;
use crate::error::{Result, type_error};
use crate::limits::look_at;
use crate::value::{Key, Slot, Value, ViewKind};
use ruff_python_ast::CmpOp;
use std::cmp::Ordering;

/// Containers inside each other deeper than this are taken for unequal: one that holds itself has no end.
const DEEPEST: u32 = 500;

impl Interpreter<'_> {
    pub(crate) fn compare(&mut self, left: &Value, op: CmpOp, right: &Value) -> Result<bool> {
        let symbol = match op {
            CmpOp::Eq => return Ok(equal(left, right)),
            CmpOp::NotEq => return Ok(!equal(left, right)),
            CmpOp::Is => return Ok(left.is(right)),
            CmpOp::IsNot => return Ok(!left.is(right)),
            CmpOp::In => return self.contains(right, left),
            CmpOp::NotIn => return Ok(!self.contains(right, left)?),
            CmpOp::Lt => "<",
            CmpOp::LtE => "<=",
            CmpOp::Gt => ">",
            CmpOp::GtE => ">=",
        };
        if matches!((left, right), (Value::Set(_) | Value::View(_), Value::Set(_) | Value::View(_)))
            && let (Some(a), Some(b)) = (as_keys(left), as_keys(right))
        {
            let (below, above) = (a.is_subset(&b), b.is_subset(&a));
            return Ok(match op {
                CmpOp::Lt => below && !above,
                CmpOp::LtE => below,
                CmpOp::Gt => above && !below,
                _ => above,
            });
        }
        let Some(ordering) = order(left, right)? else {
            let (left, right) = (left.type_name(), right.type_name());
            let text = format!("'{symbol}' not supported between instances of '{left}' and '{right}'");
            return Err(type_error(text));
        };
        Ok(match op {
            CmpOp::Lt => ordering == Some(Ordering::Less),
            CmpOp::LtE => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
            CmpOp::Gt => ordering == Some(Ordering::Greater),
            _ => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        })
    }

    /// `item in container`.
    pub(crate) fn contains(&mut self, container: &Value, item: &Value) -> Result<bool> {
        match container {
            Value::Text(text) => match item {
                Value::Text(part) => Ok(text.contains(part.as_ref())),
                other => {
                    let text = format!("'in <string>' requires string as left operand, not {}", other.type_name());
                    Err(type_error(text))
                }
            },
            Value::Dict(dict) => Ok(dict.borrow().get(item)?.is_some()),
            Value::Set(set) => Ok(set.items.borrow().contains_key(&Key::of(item)?)),
            Value::Range(range) => Ok(item.as_int().is_some_and(|int| {
                let offset = int.saturating_sub(range.start);
                offset % range.step == 0 && usize::try_from(offset / range.step).is_ok_and(|at| at < range.len())
            })),
            Value::List(list) => Ok(is_among(&list.items.borrow(), item)),
            Value::Tuple(items) => Ok(is_among(items, item)),
            Value::View(view) if view.kind == ViewKind::Keys => Ok(view.dict.borrow().get(item)?.is_some()),
            Value::View(view) => Ok(is_among(&view.slots(), item)),
            Value::Instance(instance) if instance.class.member("__contains__").is_some() => {
                let place = Default::default();
                let arguments = super::Arguments::of(vec![Slot { value: item.clone(), place }], place);
                let given = self.call_method(container, "__contains__", arguments)?;
                self.truth(&given)
            }
            other => {
                let mut items =
                    self.iterate(other, Default::default()).map_err(|stop| match stop.is_of("TypeError") {
                        true => type_error(format!("argument of type '{}' is not iterable", other.type_name())),
                        false => stop,
                    })?;
                // An iterator is read up to the element that is looked for, as in CPython.
                while let Some(slot) = self.next(&mut items)? {
                    if is_among(&[slot], item) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// The elements of a set, or of a view that is one.
fn as_keys(value: &Value) -> Option<foldhash::HashSet<Key>> {
    match value {
        Value::Set(set) => Some(set.items.borrow().keys().cloned().collect()),
        Value::View(view) if view.kind != ViewKind::Values => {
            view.slots().iter().map(|slot| Key::of(&slot.value).ok()).collect()
        }
        _ => None,
    }
}

fn is_among(items: &[Slot], item: &Value) -> bool {
    items.iter().any(|slot| slot.value.is(item) || equal(&slot.value, item))
}

/// `left == right`.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    same(left, right, 0)
}

fn same(left: &Value, right: &Value, depth: u32) -> bool {
    if depth > DEEPEST || !look_at(1) {
        return false;
    }
    let all = |a: &[Slot], b: &[Slot]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(&a.value, &b.value, depth + 1))
    };
    match (left, right) {
        (Value::List(a), Value::List(b)) => std::rc::Rc::ptr_eq(a, b) || all(&a.items.borrow(), &b.items.borrow()),
        (Value::Tuple(a), Value::Tuple(b)) => std::rc::Rc::ptr_eq(a, b) || all(a, b),
        (Value::View(_), Value::View(_) | Value::Set(_)) | (Value::Set(_), Value::View(_)) => {
            matches!((as_keys(left), as_keys(right)), (Some(a), Some(b)) if a.len() == b.len() && a.is_subset(&b))
        }
        (Value::Dict(a), Value::Dict(b)) => {
            if std::rc::Rc::ptr_eq(a, b) {
                return true;
            }
            let (a, b) = (a.borrow(), b.borrow());
            a.keys_match(&b)
                && a.pairs().all(|(key, entry)| {
                    b.entry(key).is_some_and(|other| same(&entry.slot.value, &other.slot.value, depth + 1))
                })
        }
        (Value::Set(a), Value::Set(b)) => {
            let (a, b) = (a.items.borrow(), b.items.borrow());
            a.len() == b.len() && a.keys().all(|key| b.contains_key(key))
        }
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Range(a), Value::Range(b)) => {
            a.len() == b.len() && (a.len() == 0 || a.start == b.start && a.step == b.step)
        }
        _ => match (left.as_int(), right.as_int()) {
            (Some(a), Some(b)) => a == b,
            _ => match (left.as_float(), right.as_float()) {
                (Some(a), Some(b)) => a == b,
                _ => left.is(right),
            },
        },
    }
}

/// How the two stand: `None` where they have no order, `Some(None)` where one is NaN.
fn order(left: &Value, right: &Value) -> Result<Option<Option<Ordering>>> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return Ok(Some(Some(a.cmp(&b))));
    }
    if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
        return Ok(Some(a.partial_cmp(&b)));
    }
    let sequences = |a: &[Slot], b: &[Slot]| -> Result<Option<Option<Ordering>>> {
        for (a, b) in a.iter().zip(b) {
            if !equal(&a.value, &b.value) {
                return order(&a.value, &b.value);
            }
        }
        Ok(Some(Some(a.len().cmp(&b.len()))))
    };
    match (left, right) {
        // CPython compares code points, which is the order of UTF-8's bytes.
        (Value::Text(a), Value::Text(b)) => Ok(Some(Some(a.cmp(b)))),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Some(Some(a.cmp(b)))),
        (Value::List(a), Value::List(b)) => sequences(&a.items.borrow(), &b.items.borrow()),
        (Value::Tuple(a), Value::Tuple(b)) => sequences(a, b),
        _ => Ok(None),
    }
}

/// `left < right`, as sorting asks.
pub(crate) fn less_than(left: &Value, right: &Value) -> Result<bool> {
    match order(left, right)? {
        Some(ordering) => Ok(ordering == Some(Ordering::Less)),
        None => {
            let (left, right) = (left.type_name(), right.type_name());
            Err(type_error(format!("'<' not supported between instances of '{left}' and '{right}'")))
        }
    }
}
