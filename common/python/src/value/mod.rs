//! The values of Python that configurations hold, with Python's identity: two names of one list are one list.

mod convert;
mod dict;
mod exception;
mod function;
mod key;
mod set;
mod show;
mod symbol;
mod text;

pub(crate) use convert::{config_copy, deep_copy, stored_in_config, to_node};
pub(crate) use dict::{Dict, DictCell, Entry, View, ViewKind};
pub(crate) use exception::{Exception, builtin_class, is_subclass};
pub(crate) use function::{Body, Class, Function, Instance, Method, Native, Partial};
pub(crate) use key::Key;
pub(crate) use set::{Layout, Set};
pub(crate) use show::{repr, str_of, written, written_repr};
pub(crate) use symbol::Symbol;
pub(crate) use text::{find_char, slice_chars};

use crate::error::{Result, Stop, value_error};
use crate::evaluate::Items;
use crate::object::Object;
use crate::place::Place;
use std::cell::RefCell;
use std::rc::Rc;

/// A value of Python. Cloning it makes another name of the same object.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    None,
    Ellipsis,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    List(Rc<List>),
    Tuple(Rc<[Slot]>),
    Dict(Rc<DictCell>),
    Set(Rc<Set>),
    Range(Rc<Range>),
    Slice(Rc<Slice>),
    /// A result of `items()`, `keys()` or `values()` of a dict: it shows the dict as it is.
    View(Rc<View>),
    Iterator(Rc<RefCell<Items>>),
    Function(Rc<Function>),
    Native(Native),
    Method(Rc<Method>),
    Partial(Rc<Partial>),
    Class(Rc<Class>),
    Instance(Rc<Instance>),
    Exception(Rc<Exception>),
    Symbol(Symbol),
    /// A module of the standard library, by its name.
    Module(&'static str),
    /// An object that only library code makes: data sets, patterns, generators of random numbers, ...
    Object(Rc<Object>),
}

/// A map in the order of insertion, hashed fast and with a seed of its own.
pub(crate) type IndexMap<K, V> = indexmap::IndexMap<K, V, foldhash::fast::RandomState>;

/// An element of a container, and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// A list, and whether it is being iterated over or sorted is not watched: growth within a loop is met by the limits.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) items: RefCell<Vec<Slot>>,
}

/// `range(start, stop, step)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: i128,
    pub(crate) stop: i128,
    pub(crate) step: i128,
}

/// `lower:upper:step`.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) lower: Value,
    pub(crate) upper: Value,
    pub(crate) step: Value,
}

impl Range {
    pub(crate) fn len(&self) -> usize {
        let (start, stop, step) = (self.start, self.stop, self.step);
        let count = match step {
            1.. => stop.saturating_sub(start).max(0).saturating_add(step - 1) / step,
            _ => {
                let down = step.saturating_neg();
                start.saturating_sub(stop).max(0).saturating_add(down - 1) / down
            }
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// The element at `at`, which is below the length.
    pub(crate) fn get(&self, at: usize) -> i128 {
        self.start.saturating_add(self.step.saturating_mul(at as i128))
    }
}

impl Value {
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn list(items: Vec<Slot>) -> Self {
        Self::List(Rc::new(List { items: RefCell::new(items) }))
    }

    /// A list of values that were all written at one place.
    pub(crate) fn list_at(values: impl IntoIterator<Item = Value>, place: Place) -> Self {
        Self::list(values.into_iter().map(|value| Slot { value, place }).collect())
    }

    pub(crate) fn tuple_at(values: impl IntoIterator<Item = Value>, place: Place) -> Self {
        Self::Tuple(values.into_iter().map(|value| Slot { value, place }).collect())
    }

    pub(crate) fn dict(dict: Dict) -> Self {
        Self::Dict(Rc::new(RefCell::new(dict)))
    }

    pub(crate) fn iterator(items: impl IntoIterator<Item = Slot>) -> Self {
        Self::iterating(Items::All(items.into_iter().collect::<Vec<_>>().into_iter()))
    }

    pub(crate) fn iterating(items: Items) -> Self {
        Self::Iterator(Rc::new(RefCell::new(items)))
    }

    pub(crate) fn set(items: IndexMap<Key, Value>) -> Self {
        Self::Set(Rc::new(Set { items: RefCell::new(items), ..Set::default() }))
    }

    /// The name of its class, as messages have it.
    pub(crate) fn type_name(&self) -> &str {
        match self {
            Self::None => "NoneType",
            Self::Ellipsis => "ellipsis",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Text(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(dict) if dict.borrow().config => "ConfigDict",
            Self::Dict(dict) if dict.borrow().splits => "DatasetDict",
            Self::Dict(_) => "dict",
            Self::Set(set) if set.frozen.get() => "frozenset",
            Self::Set(_) => "set",
            Self::Range(_) => "range",
            Self::Slice(_) => "slice",
            Self::View(view) => view.kind.type_name(),
            Self::Iterator(items) => items.try_borrow().map_or("generator", |items| items.type_name()),
            Self::Function(_) => "function",
            Self::Native(native) if native.is_type() => "type",
            Self::Native(_) | Self::Method(_) => "builtin_function_or_method",
            Self::Partial(_) => "functools.partial",
            Self::Class(_) => "type",
            Self::Instance(instance) => &instance.class.name,
            Self::Exception(exception) => exception.short_class(),
            Self::Symbol(_) => "LazyObject",
            Self::Module(_) => "module",
            Self::Object(object) => object.type_name(),
        }
    }

    /// Python's truth.
    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::List(list) => !list.items.borrow().is_empty(),
            Self::Tuple(items) => !items.is_empty(),
            Self::View(view) => !view.dict.borrow().is_empty(),
            Self::Dict(dict) => !dict.borrow().is_empty(),
            Self::Set(set) => !set.items.borrow().is_empty(),
            Self::Range(range) => range.len() > 0,
            Self::Object(object) => object.is_true(),
            _ => true,
        }
    }

    /// As an integer: bools are integers.
    pub(crate) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Bool(value) => Some(i128::from(*value)),
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The integer of a float that is whole.
    ///
    /// # Errors
    /// NaN and infinity, as in CPython; integers beyond 128 bits, which are not evaluated here.
    pub(crate) fn whole(float: f64) -> Result<Self> {
        if float.is_nan() {
            return Err(value_error("cannot convert float NaN to integer"));
        }
        if float.is_infinite() {
            return Err(Stop::new("OverflowError", "cannot convert float infinity to integer"));
        }
        if float.abs() >= 1.7e38 { Err(crate::evaluate::overflow()) } else { Ok(Self::Int(float as i128)) }
    }

    /// As a float: integers and bools are numbers.
    pub(crate) fn as_float(&self) -> Option<f64> {
        match self {
            Self::Float(value) => Some(*value),
            _ => self.as_int().map(|value| value as f64),
        }
    }

    pub(crate) fn as_text(&self) -> Option<&Rc<str>> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns whether the two are one object (`is`).
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) | (Self::Ellipsis, Self::Ellipsis) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => Rc::ptr_eq(a, b),
            (Self::Tuple(a), Self::Tuple(b)) => Rc::ptr_eq(a, b),
            (Self::Dict(a), Self::Dict(b)) => Rc::ptr_eq(a, b),
            (Self::Set(a), Self::Set(b)) => Rc::ptr_eq(a, b),
            (Self::Iterator(a), Self::Iterator(b)) => Rc::ptr_eq(a, b),
            (Self::Function(a), Self::Function(b)) => Rc::ptr_eq(a, b),
            (Self::Class(a), Self::Class(b)) => Rc::ptr_eq(a, b),
            (Self::Instance(a), Self::Instance(b)) => Rc::ptr_eq(a, b),
            (Self::Exception(a), Self::Exception(b)) => Rc::ptr_eq(a, b),
            (Self::Native(a), Self::Native(b)) => a == b,
            (Self::Symbol(a), Self::Symbol(b)) => a == b,
            (Self::Module(a), Self::Module(b)) => a == b,
            (Self::Object(a), Self::Object(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }
}
