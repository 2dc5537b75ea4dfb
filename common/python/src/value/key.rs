//! What a dict or a set finds its elements by: Python's equality and hash. `1`, `1.0` and `True` are one key.

use super::{Symbol, Value};
use crate::error::{Result, Stop, type_error};
use crate::limits::look_at;
use std::rc::Rc;

/// A hashable value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    None,
    Ellipsis,
    Int(i128),
    /// The bits of a float that is no integer; every NaN is one key, which CPython does only for one object.
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
