//! What can be iterated over.

use super::{Arguments, Interpreter};
use crate::error::{Result, type_error};
use crate::place::Place;
use crate::value::{Range, Slot, Value};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// The elements of a value, one after the other.
pub(crate) enum Items {
    All(std::vec::IntoIter<Slot>),
    Range(Range, usize, Place),
    /// A list by index: what is appended within the loop is met by it, as in CPython.
    List(Rc<crate::value::List>, usize),
    Shared(Rc<RefCell<VecDeque<Slot>>>),
}

impl Items {
    pub(crate) fn next_slot(&mut self) -> Option<Slot> {
        match self {
            Self::All(items) => items.next(),
            Self::Range(range, at, place) => {
                let next = (*at < range.len()).then(|| Slot { value: Value::Int(range.get(*at)), place: *place });
                *at += 1;
                next
            }
            Self::List(list, at) => {
                let next = list.items.borrow().get(*at).cloned();
                *at += 1;
                next
            }
            Self::Shared(items) => items.borrow_mut().pop_front(),
        }
    }
}

/// Whether CPython goes through a set in an order that a program can rely on: texts are in another one in every run.
fn has_an_order(set: &crate::value::Set) -> bool {
    let items = set.items.borrow();
    items.len() > 1 && items.values().any(|value| !matches!(value, Value::Text(_)))
}

impl Interpreter<'_> {
    /// What a `for` goes through. `place` is what elements without a place of their own get.
    ///
    /// # Errors
    /// `TypeError` for what is not iterable.
    pub(crate) fn iterate(&mut self, value: &Value, place: Place) -> Result<Items> {
        Ok(match value {
            Value::List(list) => Items::List(Rc::clone(list), 0),
            Value::Range(range) => Items::Range(**range, 0, place),
            Value::Iterator(items) => Items::Shared(Rc::clone(items)),
            other => Items::All(self.items(other, place)?.into_iter()),
        })
    }

    /// All elements at once, for what gives the same in any order.
    pub(crate) fn unordered(&mut self, value: &Value, place: Place) -> Result<Vec<Slot>> {
        match value {
            Value::Set(set) => {
                Ok(set.items.borrow().values().map(|value| Slot { value: value.clone(), place }).collect())
            }
            other => self.items(other, place),
        }
    }

    /// All elements at once.
    pub(crate) fn items(&mut self, value: &Value, place: Place) -> Result<Vec<Slot>> {
        let count = match value {
            Value::List(list) => list.items.borrow().len(),
            Value::Tuple(items) | Value::View(items) => items.len(),
            Value::Dict(dict) => dict.borrow().len(),
            Value::Set(set) => set.items.borrow().len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.budget.make(count.saturating_mul(size_of::<Slot>()))?;
        Ok(match value {
            Value::List(list) => list.items.borrow().clone(),
            Value::Tuple(items) | Value::View(items) => items.to_vec(),
            Value::Dict(dict) => dict.borrow().iter().map(|entry| entry.key.clone()).collect(),
            Value::Set(set) if self.library.is_some() && has_an_order(set) => {
                let text =
                    "the order of a set of numbers is the order of CPython's table, which is not known here: sort it";
                return Err(crate::error::Stop::unsupported(text));
            }
            Value::Set(set) => set.items.borrow().values().map(|value| Slot { value: value.clone(), place }).collect(),
            Value::Text(text) => {
                self.budget.make(text.len() * size_of::<Slot>())?;
                let mut buffer = [0; 4];
                text.chars().map(|c| Slot { value: Value::text(&*c.encode_utf8(&mut buffer)), place }).collect()
            }
            Value::Bytes(bytes) => bytes.iter().map(|b| Slot { value: Value::Int(i128::from(*b)), place }).collect(),
            Value::Range(range) => {
                self.budget.make(range.len().saturating_mul(size_of::<Slot>()))?;
                (0..range.len()).map(|at| Slot { value: Value::Int(range.get(at)), place }).collect()
            }
            Value::Iterator(items) => items.borrow_mut().drain(..).collect(),
            Value::Instance(instance) if crate::modules::is_file(value) => crate::modules::file_lines(instance, place),
            Value::Instance(instance) if instance.class.member("__iter__").is_some() => {
                let items = self.call_method(value, "__iter__", Arguments::none(place))?;
                self.items(&items, place)?
            }
            Value::Object(object) => crate::object::items(self, object, place)?,
            Value::Symbol(symbol) if self.library.is_some() => {
                return Err(crate::library::not_evaluated(symbol.dotted()));
            }
            other => return Err(type_error(format!("'{}' object is not iterable", other.type_name()))),
        })
    }
}
