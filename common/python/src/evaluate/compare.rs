//! Comparisons.

use super::{Interpreter, has_special};
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
            CmpOp::Eq => return self.equal(left, right),
            CmpOp::NotEq if has_special(left, "__ne__") => {
                let given = self.special_compare(left, op, right)?;
                return given.map_or(Ok(!left.is(right)), |given| self.truth(&given));
            }
            CmpOp::NotEq => return Ok(!self.equal(left, right)?),
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
        if (matches!(left, Value::Instance(_)) || matches!(right, Value::Instance(_)))
            && let Some(given) = self.special_compare(left, op, right)?
        {
            return self.truth(&given);
        }
        if let Some(first) = self.first_difference(left, right)? {
            return match first {
                Ok((left, right)) => self.compare(&left, op, &right),
                Err(lengths) => Ok(match op {
                    CmpOp::Lt => lengths.is_lt(),
                    CmpOp::LtE => lengths.is_le(),
                    CmpOp::Gt => lengths.is_gt(),
                    _ => lengths.is_ge(),
                }),
            };
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

    /// Returns the first two elements of sequences that differ, or the order of their lengths; `None` where no object with a method of
    /// its own for comparisons is among the elements.
    fn first_difference(&mut self, left: &Value, right: &Value) -> Result<Option<Result<(Value, Value), Ordering>>> {
        let (a, b) = match (left, right) {
            (Value::Tuple(a), Value::Tuple(b)) if holds_objects(a) || holds_objects(b) => (a.to_vec(), b.to_vec()),
            (Value::List(a), Value::List(b))
                if holds_objects(&a.items.borrow()) || holds_objects(&b.items.borrow()) =>
            {
                (a.items.borrow().clone(), b.items.borrow().clone())
            }
            _ => return Ok(None),
        };
        for (a, b) in a.iter().zip(&b) {
            if !self.equal(&a.value, &b.value)? {
                return Ok(Some(Ok((a.value.clone(), b.value.clone()))));
            }
        }
        Ok(Some(Err(a.len().cmp(&b.len()))))
    }

    /// `left == right`, by `__eq__` of objects that have it.
    pub(crate) fn equal(&mut self, left: &Value, right: &Value) -> Result<bool> {
        match compared(left, right, 0) {
            Some(is_equal) => Ok(is_equal),
            None => self.nested(|this| this.equal_by_methods(left, right)),
        }
    }

    /// `left == right` where an object with `__eq__` is in one of the two.
    fn equal_by_methods(&mut self, left: &Value, right: &Value) -> Result<bool> {
        self.budget.step()?;
        let (a, b) = match (left, right) {
            (Value::Instance(_), _) | (_, Value::Instance(_)) => {
                let given = self.special_compare(left, CmpOp::Eq, right)?;
                return given.map_or(Ok(left.is(right)), |given| self.truth(&given));
            }
            (Value::Tuple(a), Value::Tuple(b)) => (a.to_vec(), b.to_vec()),
            (Value::List(a), Value::List(b)) => (a.items.borrow().clone(), b.items.borrow().clone()),
            (Value::Dict(a), Value::Dict(b)) => {
                if !a.borrow().keys_match(&b.borrow()) {
                    return Ok(false);
                }
                let pairs: Vec<(Slot, Slot)> = a
                    .borrow()
                    .pairs()
                    .filter_map(|(key, entry)| Some((entry.slot.clone(), b.borrow().entry(key)?.slot.clone())))
                    .collect();
                pairs.into_iter().unzip()
            }
            _ => return Ok(equal(left, right)),
        };
        if a.len() != b.len() {
            return Ok(false);
        }
        for (a, b) in a.iter().zip(&b) {
            if !a.value.is(&b.value) && !self.equal(&a.value, &b.value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether one of the elements is the item, or equal to it.
    pub(crate) fn is_among(&mut self, items: &[Slot], item: &Value) -> Result<bool> {
        for slot in items {
            if slot.value.is(item) || self.equal(&slot.value, item)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// `left < right`, as sorting asks.
    pub(crate) fn less_than(&mut self, left: &Value, right: &Value) -> Result<bool> {
        match (left, right) {
            (Value::Int(a), Value::Int(b)) => Ok(a < b),
            (Value::Text(a), Value::Text(b)) => Ok(a < b),
            _ => self.compare(left, CmpOp::Lt, right),
        }
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
            Value::List(list) => {
                let is_there = list.items.borrow().iter().any(|slot| slot.value.is(item));
                if is_there {
                    return Ok(true);
                }
                let quick: Option<bool> = list
                    .items
                    .borrow()
                    .iter()
                    .try_fold(false, |found, slot| Some(found || compared(&slot.value, item, 0)?));
                match quick {
                    Some(found) => Ok(found),
                    None => {
                        let items = list.items.borrow().clone();
                        self.is_among(&items, item)
                    }
                }
            }
            Value::Tuple(items) => self.is_among(items, item),
            Value::Module("os.environ") => {
                let name = item.as_text().cloned().unwrap_or_else(|| "".into());
                Ok(self.variable(&name).is_some())
            }
            Value::View(view) if view.kind == ViewKind::Keys => Ok(view.dict.borrow().get(item)?.is_some()),
            Value::View(view) => self.is_among(&view.slots(), item),
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
                    if self.is_among(&[slot], item)? {
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

/// Returns whether an object with a method of its own for comparisons may be in these.
fn holds_objects(items: &[Slot]) -> bool {
    items.iter().any(|slot| match &slot.value {
        Value::Instance(_) => true,
        Value::Tuple(items) => items.iter().any(|slot| matches!(slot.value, Value::Instance(_) | Value::Tuple(_))),
        _ => false,
    })
}

/// `left == right`, objects by their identity alone.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    compared(left, right, 0).unwrap_or_else(|| left.is(right))
}

/// `left == right`; `None` where an object with `__eq__` decides it.
fn compared(left: &Value, right: &Value, depth: u32) -> Option<bool> {
    if depth > DEEPEST || !look_at(1) {
        return Some(false);
    }
    let all = |a: &[Slot], b: &[Slot]| {
        if a.len() != b.len() {
            return Some(false);
        }
        for (a, b) in a.iter().zip(b) {
            if !compared(&a.value, &b.value, depth + 1)? {
                return Some(false);
            }
        }
        Some(true)
    };
    Some(match (left, right) {
        (Value::Instance(_), _) | (_, Value::Instance(_))
            if has_special(left, "__eq__") || has_special(right, "__eq__") =>
        {
            return None;
        }
        (Value::List(a), Value::List(b)) if !std::rc::Rc::ptr_eq(a, b) => {
            return all(&a.items.borrow(), &b.items.borrow());
        }
        (Value::Tuple(a), Value::Tuple(b)) if !std::rc::Rc::ptr_eq(a, b) => return all(a, b),
        (Value::Dict(a), Value::Dict(b)) if !std::rc::Rc::ptr_eq(a, b) => {
            let (a, b) = (a.borrow(), b.borrow());
            if !a.keys_match(&b) {
                return Some(false);
            }
            for (key, entry) in a.pairs() {
                let Some(other) = b.entry(key) else { return Some(false) };
                if !compared(&entry.slot.value, &other.slot.value, depth + 1)? {
                    return Some(false);
                }
            }
            true
        }
        (Value::View(_), Value::View(_) | Value::Set(_)) | (Value::Set(_), Value::View(_)) => {
            matches!((as_keys(left), as_keys(right)), (Some(a), Some(b)) if a.len() == b.len() && a.is_subset(&b))
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
    })
}

/// Compares the two: `None` where they have no order, `Some(None)` where one is NaN.
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
