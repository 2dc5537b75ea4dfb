//! Conversion of a column's values as the `datasets` library does it: one type for all of them, as Arrow infers it.
//!
//! Integers beside floats become floats, dicts get the keys of all, in the order of their first appearance, and tuples are
//! lists. Values of different types in one column are an error there, and here.

use crate::error::{Result, Stop, type_error, value_error};
use crate::limits::Budget;
use crate::value::{Dict, IndexMap, Slot, Value};
use std::rc::Rc;

/// Values inside each other deeper than this are refused.
const DEEPEST: u32 = 200;
/// The largest integer up to which a float holds all.
const EXACT: i128 = 1 << 53;

/// The type of a column.
#[derive(Debug, Default)]
enum Type {
    #[default]
    Null,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    List(Box<Type>),
    Struct(IndexMap<Rc<str>, Type>),
}

impl Type {
    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "boolean",
            Self::Int => "int64",
            Self::Float => "double",
            Self::Text => "string",
            Self::Bytes => "binary",
            Self::List(_) => "list",
            Self::Struct(_) => "struct",
        }
    }

    /// Widens the type by a value.
    fn widen(&mut self, value: &Value, depth: u32) -> Result<()> {
        if depth > DEEPEST {
            return Err(Stop::new("RecursionError", "a value of a column lies too deep"));
        }
        match value {
            Value::None => Ok(()),
            Value::Bool(_) => self.become_if(matches!(self, Self::Null | Self::Bool), || Self::Bool, value),
            Value::Int(int) => {
                if i64::try_from(*int).is_err() {
                    return Err(Stop::new("OverflowError", "Python int too large to convert to C long"));
                }
                if matches!(self, Self::Float) {
                    return Ok(());
                }
                self.become_if(matches!(self, Self::Null | Self::Int), || Self::Int, value)
            }
            Value::Float(_) => {
                self.become_if(matches!(self, Self::Null | Self::Int | Self::Float), || Self::Float, value)
            }
            Value::Text(_) => self.become_if(matches!(self, Self::Null | Self::Text), || Self::Text, value),
            Value::Bytes(_) => self.become_if(matches!(self, Self::Null | Self::Bytes), || Self::Bytes, value),
            Value::List(list) => self.widen_list(&list.items.borrow(), value, depth),
            Value::Tuple(items) => self.widen_list(items, value, depth),
            Value::Set(set) => {
                let items: Vec<Slot> = slots(set.items.borrow().values());
                if items.len() > 1 && items.iter().any(|slot| !matches!(slot.value, Value::Text(_))) {
                    return Err(Stop::unsupported("a set of numbers in a column: its order is not known here"));
                }
                self.widen_list(&items, value, depth)
            }
            Value::Dict(dict) => {
                if matches!(self, Self::Null) {
                    *self = Self::Struct(IndexMap::default());
                }
                let Self::Struct(fields) = self else { return Err(mixed(value, self)) };
                for entry in dict.borrow().iter() {
                    let Value::Text(key) = &entry.key.value else {
                        let text =
                            format!("Expected dict key of type str or bytes, got '{}'", entry.key.value.type_name());
                        return Err(type_error(text));
                    };
                    fields.entry(Rc::clone(key)).or_default().widen(&entry.slot.value, depth + 1)?;
                }
                Ok(())
            }
            other => Err(Stop::unsupported(format!("a `{}` in a column of a data set", other.type_name()))),
        }
    }

    fn become_if(&mut self, fits: bool, to: impl Fn() -> Self, value: &Value) -> Result<()> {
        if !fits {
            return Err(mixed(value, self));
        }
        *self = to();
        Ok(())
    }

    fn widen_list(&mut self, items: &[Slot], value: &Value, depth: u32) -> Result<()> {
        if matches!(self, Self::Null) {
            *self = Self::List(Box::default());
        }
        let Self::List(inner) = self else { return Err(mixed(value, self)) };
        items.iter().try_for_each(|slot| inner.widen(&slot.value, depth + 1))
    }

    /// The value as the column holds it.
    fn stored(&self, budget: &mut Budget, value: &Value) -> Result<Value> {
        budget.step()?;
        Ok(match (value, self) {
            (Value::None, _) => Value::None,
            (Value::Int(int), Self::Float) if int.abs() > EXACT => {
                let text = format!(
                    "Integer value {int} is outside of the range exactly representable by a IEEE 754 double precision value"
                );
                return Err(value_error(text));
            }
            (Value::Int(int), Self::Float) => Value::Float(*int as f64),
            (Value::List(list), Self::List(inner)) => inner.stored_list(budget, &list.items.borrow())?,
            (Value::Tuple(items), Self::List(inner)) => inner.stored_list(budget, items)?,
            (Value::Set(set), Self::List(inner)) => {
                let items = slots(set.items.borrow().values());
                inner.stored_list(budget, &items)?
            }
            (Value::Dict(dict), Self::Struct(fields)) => {
                let dict = dict.borrow();
                let mut stored = Dict::default();
                budget.make(fields.len() * size_of::<Slot>() * 2)?;
                for (name, inner) in fields {
                    let slot = dict.get_text(name);
                    let place = slot.map(|slot| slot.place).unwrap_or_default();
                    let value = slot.map_or(Ok(Value::None), |slot| inner.stored(budget, &slot.value))?;
                    stored.insert_text(name, place, Slot { value, place });
                }
                Value::dict(stored)
            }
            (other, _) => other.clone(),
        })
    }

    fn stored_list(&self, budget: &mut Budget, items: &[Slot]) -> Result<Value> {
        budget.make(size_of_val(items))?;
        let stored = items.iter().map(|slot| Ok(Slot { value: self.stored(budget, &slot.value)?, place: slot.place }));
        Ok(Value::list(stored.collect::<Result<_>>()?))
    }
}

fn mixed(value: &Value, known: &Type) -> Stop {
    let text = format!(
        "Could not convert {} with type {}: tried to convert to {}",
        shortened(&crate::value::repr(value)),
        value.type_name(),
        known.name()
    );
    value_error(text)
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 60 {
        text.to_owned()
    } else {
        format!("{}...", text.chars().take(60).collect::<String>())
    }
}

fn slots<'v>(values: impl Iterator<Item = &'v Value>) -> Vec<Slot> {
    values.map(|value| Slot { value: value.clone(), place: Default::default() }).collect()
}

/// The values of a column, all of one type.
///
/// # Errors
/// `ValueError` for values of different types.
pub(super) fn stored(budget: &mut Budget, name: &str, values: &[Value]) -> Result<Vec<Value>> {
    let mut kind = Type::default();
    for value in values {
        budget.step()?;
        kind.widen(value, 0).map_err(|stop| stop.with_help(format!("it is in the column `{name}` of a data set")))?;
    }
    values.iter().map(|value| kind.stored(budget, value)).collect()
}
