//! Key by which a dict or a set finds its elements: Python's equality and hash. `1`, `1.0` and `True` are one key.

use super::{Symbol, Value};
use crate::error::{Result, Stop, type_error};
use crate::limits::look_at;
use indexmap::Equivalent;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A hashable value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    None,
    Ellipsis,
    Int(i128),
    /// The bits of a float that is not an integer; every NaN is one key, which CPython does only for one object.
    Float(u64),
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    Tuple(Vec<Key>),
    /// Sorted, so that the order of insertion does not matter.
    FrozenSet(Vec<String>),
    Symbol(Symbol),
    /// By address: functions, classes, instances.
    Object(usize),
    Named(&'static str, &'static str),
}

/// A text that is looked for as a key, without one being made of it.
#[derive(Debug)]
pub(crate) struct TextKey<'t>(pub(crate) &'t str);

/// Before what a text hashes: a key and a [`TextKey`] of one text hash alike.
const TEXT: u8 = 4;

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::None => state.write_u8(0),
            Self::Ellipsis => state.write_u8(1),
            Self::Int(value) => (2_u8, value).hash(state),
            Self::Float(bits) => (3_u8, bits).hash(state),
            Self::Text(text) => TextKey(text).hash(state),
            Self::Bytes(bytes) => (5_u8, bytes).hash(state),
            Self::Tuple(parts) => (6_u8, parts).hash(state),
            Self::FrozenSet(parts) => (7_u8, parts).hash(state),
            Self::Symbol(symbol) => (8_u8, symbol).hash(state),
            Self::Object(address) => (9_u8, address).hash(state),
            Self::Named(module, name) => (10_u8, module, name).hash(state),
        }
    }
}

impl Hash for TextKey<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (TEXT, self.0).hash(state);
    }
}

impl Equivalent<Key> for TextKey<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        matches!(key, Key::Text(text) if **text == *self.0)
    }
}

impl Key {
    /// # Errors
    /// `TypeError` for what is not hashable.
    pub(crate) fn of(value: &Value) -> Result<Self> {
        Ok(match value {
            Value::None => Self::None,
            Value::Ellipsis => Self::Ellipsis,
            Value::Bool(value) => Self::Int(i128::from(*value)),
            Value::Int(value) => Self::Int(*value),
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e37 => Self::Int(*value as i128),
            Value::Float(value) if value.is_nan() => Self::Float(f64::NAN.to_bits()),
            Value::Float(value) => Self::Float(value.to_bits()),
            Value::Text(text) => Self::Text(Rc::clone(text)),
            Value::Bytes(bytes) => Self::Bytes(Rc::clone(bytes)),
            // Each part is a key of its own.
            Value::Tuple(items) if !look_at(16 * items.len() as u64) => {
                return Err(Stop::new("MemoryError", "a key has too many parts"));
            }
            Value::Tuple(items) => Self::Tuple(items.iter().map(|slot| Self::of(&slot.value)).collect::<Result<_>>()?),
            Value::Set(set) if set.frozen.get() => {
                let mut keys: Vec<String> = set.items.borrow().keys().map(|key| format!("{key:?}")).collect();
                if keys.iter().map(String::len).sum::<usize>() > 1 << 20 {
                    return Err(Stop::unsupported("a set of sets this large is not evaluated here"));
                }
                keys.sort_unstable();
                Self::FrozenSet(keys)
            }
            Value::Symbol(symbol) => Self::Symbol(symbol.clone()),
            Value::Function(function) => Self::Object(Rc::as_ptr(function) as usize),
            Value::Class(class) => Self::Object(Rc::as_ptr(class) as usize),
            Value::Instance(instance) if instance.class.member("__hash__").is_some() => {
                return Err(Stop::unsupported("a key with a `__hash__` of its own is not evaluated here"));
            }
            Value::Instance(instance) if instance.class.member("__eq__").is_some() => {
                return Err(type_error(format!("unhashable type: '{}'", value.type_name())));
            }
            Value::Instance(instance) => Self::Object(Rc::as_ptr(instance) as usize),
            Value::Exception(exception) => Self::Object(Rc::as_ptr(exception) as usize),
            Value::Native(native) => Self::Named(native.module, native.name),
            Value::Module(name) => Self::Named("module", name),
            Value::Range(range) => {
                Self::Tuple(vec![Self::Int(range.start), Self::Int(range.stop), Self::Int(range.step)])
            }
            other => return Err(type_error(format!("unhashable type: '{}'", other.type_name()))),
        })
    }
}
