//! Values that can be iterated over, and iterators: each element is computed when it is asked for, and several readers of one
//! iterator share its position, as in CPython.

use super::comprehension::GeneratorExpression;
use super::generator::Generator;
use super::{Arguments, Interpreter, equal};
use crate::error::{Result, Stop, type_error, value_error};
use crate::place::Place;
use crate::value::{DictCell, Instance, List, Range, Slot, Value, View, ViewKind};
use std::cell::RefCell;
use std::rc::Rc;

/// The elements of a value, one after the other.
#[derive(Debug)]
pub(crate) enum Items {
    All(std::vec::IntoIter<Slot>),
    Range(Range, usize, Place),
    /// A list by index: what is appended within the loop is met by it, as in CPython.
    List(Rc<List>, usize),
    /// A list from its end: how many elements are left.
    Backwards(Rc<List>, usize),
    Tuple(Rc<[Slot]>, usize),
    /// A text from a byte on.
    Text(Rc<str>, usize, Place),
    /// A dict by index, with the length that it must keep.
    Dict(Rc<DictCell>, ViewKind, usize, usize),
    /// The lines of an open file that are left.
    File(Rc<Instance>, Place),
    /// An iterator that others may read, too.
    Shared(Rc<RefCell<Items>>),
    Map(Value, Vec<Items>, Place),
    Filter(Value, Box<Items>, Place),
    /// With whether all must be of one length.
    Zip(Vec<Items>, bool, Place),
    Enumerate(Box<Items>, i128, Place),
    /// An iterator that `itertools` makes.
    Tool(Box<crate::modules::Tool>),
    Generator(Box<Generator>),
    Expression(Box<GeneratorExpression>),
    /// An object with `__next__`.
    Object(Value, Place),
    /// `iter(function, sentinel)`.
    Calls(Value, Value, Place),
    /// A generator that has returned this.
    Returned(Value),
    /// An iterator that computes its next element.
    Running,
}

impl Items {
    /// An iterator without elements.
    pub(crate) fn none() -> Self {
        Self::All(Vec::new().into_iter())
    }

    /// The name of its class, as messages have it.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::All(_) | Self::Calls(..) => "iterator",
            Self::Range(..) => "range_iterator",
            Self::List(..) => "list_iterator",
            Self::Backwards(..) => "list_reverseiterator",
            Self::Tuple(..) => "tuple_iterator",
            Self::Text(..) => "str_iterator",
            Self::Dict(_, kind, ..) => match kind {
                ViewKind::Keys => "dict_keyiterator",
                ViewKind::Values => "dict_valueiterator",
                ViewKind::Items => "dict_itemiterator",
            },
            Self::File(..) => "_io.TextIOWrapper",
            Self::Shared(shared) => shared.try_borrow().map_or("generator", |items| items.type_name()),
            Self::Map(..) => "map",
            Self::Filter(..) => "filter",
            Self::Zip(..) => "zip",
            Self::Enumerate(..) => "enumerate",
            Self::Tool(tool) => tool.type_name(),
            Self::Object(..) => "object",
            Self::Generator(_) | Self::Expression(_) | Self::Returned(_) | Self::Running => "generator",
        }
    }

    /// Returns whether it is over for good once it has given its last element.
    fn ends(&self) -> bool {
        !matches!(
            self,
            Self::Map(..)
                | Self::Filter(..)
                | Self::Zip(..)
                | Self::Enumerate(..)
                | Self::Object(..)
                | Self::File(..)
                | Self::Returned(_)
        )
    }
}

/// Returns whether CPython goes through a set in an order that a program can rely on: texts are in another one in every run.
fn has_an_order(set: &crate::value::Set) -> bool {
    let items = set.items.borrow();
    items.len() > 1 && items.values().any(|value| !matches!(value, Value::Text(_)))
}

impl Interpreter<'_> {
    /// Returns the items that a `for` goes through. Elements without a place of their own get `place`.
    ///
    /// # Errors
    /// `TypeError` for what is not iterable.
    pub(crate) fn iterate(&mut self, value: &Value, place: Place) -> Result<Items> {
        Ok(match value {
            Value::List(list) => Items::List(Rc::clone(list), 0),
            Value::Tuple(items) => Items::Tuple(Rc::clone(items), 0),
            Value::Range(range) => Items::Range(**range, 0, place),
            Value::Text(text) => Items::Text(Rc::clone(text), 0, place),
            Value::Dict(dict) => Items::Dict(Rc::clone(dict), ViewKind::Keys, 0, dict.borrow().len()),
            Value::View(view) => Items::Dict(Rc::clone(&view.dict), view.kind, 0, view.dict.borrow().len()),
            Value::Iterator(items) => Items::Shared(Rc::clone(items)),
            Value::Instance(instance) if crate::modules::is_file(value) => Items::File(Rc::clone(instance), place),
            Value::Instance(instance) if instance.class.member("__iter__").is_some() => {
                let given = self.call_method(value, "__iter__", Arguments::none(place))?;
                match &given {
                    Value::Instance(given_to) if given_to.class.member("__next__").is_some() => {
                        Items::Object(given, place)
                    }
                    Value::Iterator(items) => Items::Shared(Rc::clone(items)),
                    other => {
                        let text = format!("iter() returned non-iterator of type '{}'", other.type_name());
                        return Err(type_error(text));
                    }
                }
            }
            other => Items::All(self.items(other, place)?.into_iter()),
        })
    }

    /// Returns the next element; `None` at the end.
    pub(crate) fn next(&mut self, items: &mut Items) -> Result<Option<Slot>> {
        Ok(match items {
            Items::All(items) => items.next(),
            Items::Range(range, at, place) => {
                let next = (*at < range.len()).then(|| Slot { value: Value::Int(range.get(*at)), place: *place });
                *at += 1;
                next
            }
            Items::List(list, at) => {
                let next = list.items.borrow().get(*at).cloned();
                *at += 1;
                next
            }
            Items::Backwards(list, left) => {
                let next = left.checked_sub(1).and_then(|at| list.items.borrow().get(at).cloned());
                *left = left.saturating_sub(1);
                next
            }
            Items::Tuple(items, at) => {
                let next = items.get(*at).cloned();
                *at += 1;
                next
            }
            Items::Text(text, at, place) => {
                let Some(c) = text.get(*at..).and_then(|rest| rest.chars().next()) else { return Ok(None) };
                *at += c.len_utf8();
                self.budget.make(size_of::<Slot>())?;
                Some(Slot { value: Value::text(&*c.encode_utf8(&mut [0; 4])), place: *place })
            }
            Items::Dict(dict, kind, at, length) => {
                let dict = dict.borrow();
                if dict.len() != *length {
                    return Err(Stop::new("RuntimeError", "dictionary changed size during iteration"));
                }
                let next = dict.nth(*at).map(|entry| kind.of(entry));
                *at += 1;
                if next.is_some() && *kind == ViewKind::Items {
                    self.budget.make(size_of::<Slot>() * 3)?;
                }
                next
            }
            Items::File(file, place) => crate::modules::file_line(file, *place),
            Items::Shared(shared) => return self.advance(shared),
            Items::Returned(_) => None,
            Items::Running => return Err(value_error("generator already executing")),
            other => {
                self.budget.step()?;
                self.budget.make(size_of::<Slot>())?;
                return self.computed(other);
            }
        })
    }

    /// The next element of what computes its elements.
    fn computed(&mut self, items: &mut Items) -> Result<Option<Slot>> {
        match items {
            Items::Map(function, columns, place) => {
                let Some(row) = self.row(columns, false)? else { return Ok(None) };
                let at = row.first().map_or(*place, |slot| slot.place);
                let value = self.call(function, Arguments::of(row, *place))?;
                Ok(Some(Slot { value, place: at }))
            }
            Items::Filter(function, items, place) => {
                while let Some(slot) = self.next(items)? {
                    self.budget.step()?;
                    let is_kept = match &*function {
                        Value::None => self.truth(&slot.value)?,
                        function => {
                            let given = self.call(function, Arguments::of(vec![slot.clone()], *place))?;
                            self.truth(&given)?
                        }
                    };
                    if is_kept {
                        return Ok(Some(slot));
                    }
                }
                Ok(None)
            }
            Items::Zip(columns, is_strict, place) => {
                self.budget.make(size_of::<Slot>() * columns.len())?;
                let Some(row) = self.row(columns, *is_strict)? else { return Ok(None) };
                let at = row.first().map_or(*place, |slot| slot.place);
                Ok(Some(Slot { value: Value::Tuple(row.into()), place: at }))
            }
            Items::Enumerate(items, number, place) => {
                let Some(slot) = self.next(items)? else { return Ok(None) };
                self.budget.make(size_of::<Slot>() * 2)?;
                let at = slot.place;
                let pair = [Slot { value: Value::Int(*number), place: *place }, slot];
                *number = number.checked_add(1).ok_or_else(super::overflow)?;
                Ok(Some(Slot { value: Value::Tuple(pair.into()), place: at }))
            }
            Items::Tool(tool) => crate::modules::next_of_tool(self, tool),
            Items::Generator(generator) => {
                let step = self.resume(generator)?;
                if let Err(returned) = step {
                    *items = Items::Returned(returned);
                    return Ok(None);
                }
                Ok(step.ok())
            }
            Items::Expression(expression) => self.next_of_expression(expression),
            Items::Object(object, place) => match self.call_method(object, "__next__", Arguments::none(*place)) {
                Ok(value) => Ok(Some(Slot { value, place: *place })),
                Err(stop) if stop.is_of("StopIteration") => Ok(None),
                Err(stop) => Err(stop),
            },
            Items::Calls(function, sentinel, place) => {
                let value = self.call(function, Arguments::none(*place))?;
                Ok((!equal(&value, sentinel)).then_some(Slot { value, place: *place }))
            }
            _ => Ok(None),
        }
    }

    /// One element of each column, in their order: the columns before the one that is at its end have given theirs, as in CPython.
    fn row(&mut self, columns: &mut [Items], is_strict: bool) -> Result<Option<Vec<Slot>>> {
        let mut row = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter_mut().enumerate() {
            match self.next(column)? {
                Some(slot) => row.push(slot),
                None if is_strict && at > 0 => return Err(unequal(at, "shorter")),
                None if is_strict => break,
                None => return Ok(None),
            }
        }
        if row.is_empty() && is_strict {
            for (at, column) in columns.iter_mut().enumerate().skip(1) {
                if self.next(column)?.is_some() {
                    return Err(unequal(at, "longer"));
                }
            }
        }
        Ok((!row.is_empty()).then_some(row))
    }

    /// The next element of an iterator that others may read, too.
    pub(crate) fn advance(&mut self, shared: &Rc<RefCell<Items>>) -> Result<Option<Slot>> {
        let mut items = shared.replace(Items::Running);
        let is_running = matches!(items, Items::Running);
        let next = self.nested(|this| this.next(&mut items));
        let is_over = match &next {
            Ok(Some(_)) => false,
            Ok(None) => items.ends(),
            Err(_) => matches!(items, Items::Generator(_) | Items::Expression(_)),
        };
        *shared.borrow_mut() = if is_over && !is_running { Items::none() } else { items };
        next
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
            Value::Tuple(items) => items.len(),
            Value::View(view) => view.dict.borrow().len() * if view.kind == ViewKind::Items { 3 } else { 1 },
            Value::Dict(dict) => dict.borrow().len(),
            Value::Set(set) => set.items.borrow().len(),
            Value::Bytes(bytes) => bytes.len(),
            _ => 0,
        };
        self.budget.make(count.saturating_mul(size_of::<Slot>()))?;
        Ok(match value {
            Value::List(list) => list.items.borrow().clone(),
            Value::Tuple(items) => items.to_vec(),
            Value::View(view) => view.slots(),
            Value::Dict(dict) => dict.borrow().iter().map(|entry| entry.key.clone()).collect(),
            Value::Set(set)
                if has_an_order(set)
                    && let Some(ordered) = set.ordered() =>
            {
                ordered.into_iter().map(|value| Slot { value, place }).collect()
            }
            Value::Set(set) if has_an_order(set) => {
                let text =
                    "the order of a set of numbers is the order of CPython's table, which is not known here: sort it";
                return Err(Stop::unsupported(text));
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
            Value::Iterator(_) => self.drained(value, place)?,
            Value::Instance(_) if crate::modules::is_file(value) => self.drained(value, place)?,
            Value::Instance(instance) if instance.class.member("__iter__").is_some() => self.drained(value, place)?,
            Value::Class(class) if class.is_enum() => {
                class.enum_members().into_iter().map(|value| Slot { value, place }).collect()
            }
            Value::Object(object) => crate::object::items(self, object, place)?,
            Value::Symbol(symbol) if self.library.is_some() => {
                return Err(crate::library::not_evaluated(symbol.dotted()));
            }
            other => return Err(type_error(format!("'{}' object is not iterable", other.type_name()))),
        })
    }

    /// Every element that is left.
    fn drained(&mut self, value: &Value, place: Place) -> Result<Vec<Slot>> {
        let mut items = self.iterate(value, place)?;
        let mut slots = Vec::new();
        while let Some(slot) = self.next(&mut items)? {
            self.budget.make(size_of::<Slot>())?;
            slots.push(slot);
        }
        Ok(slots)
    }

    /// `iter(value)`.
    pub(crate) fn iterator(&mut self, value: &Value, place: Place) -> Result<Value> {
        if let Value::Iterator(_) = value {
            return Ok(value.clone());
        }
        if crate::modules::is_file(value) {
            return Ok(value.clone());
        }
        Ok(match self.iterate(value, place)? {
            Items::Object(object, _) => object,
            Items::Shared(shared) => Value::Iterator(shared),
            items => Value::iterating(items),
        })
    }

    /// `next(iterator)`; `None` where it is at its end, with what a generator has returned.
    pub(crate) fn next_of(&mut self, iterator: &Value, place: Place) -> Result<Result<Value, Value>> {
        match iterator {
            Value::Iterator(shared) => match self.advance(shared)? {
                Some(slot) => Ok(Ok(slot.value)),
                None => Ok(Err(returned(shared))),
            },
            Value::Instance(_) if crate::modules::is_file(iterator) => {
                let mut items = self.iterate(iterator, place)?;
                Ok(self.next(&mut items)?.map(|slot| slot.value).ok_or(Value::None))
            }
            Value::Instance(instance) if instance.class.member("__next__").is_some() => {
                self.call_method(iterator, "__next__", Arguments::none(place)).map(Ok)
            }
            other => Err(type_error(format!("'{}' object is not an iterator", other.type_name()))),
        }
    }
}

/// Returns the value that a generator has returned, which it gives once.
pub(super) fn returned(shared: &Rc<RefCell<Items>>) -> Value {
    if !matches!(&*shared.borrow(), Items::Returned(_)) {
        return Value::None;
    }
    match shared.replace(Items::none()) {
        Items::Returned(value) => value,
        _ => Value::None,
    }
}

fn unequal(at: usize, how: &str) -> Stop {
    let before = if at == 1 { " 1".to_owned() } else { format!("s 1-{at}") };
    value_error(format!("zip() argument {} is {how} than argument{before}", at + 1))
}

impl View {
    /// Its elements as they are now.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.dict.borrow().iter().map(|entry| self.kind.of(entry)).collect()
    }
}
