//! `container[key]` and slices.

use super::{Arguments, Interpreter};
use crate::error::{Result, Stop, type_error, value_error};
use crate::place::Place;
use crate::value::{Dict, Exception, Key, Slice, Slot, Value, slice_chars};

impl Interpreter<'_> {
    /// `container[key]`.
    pub(crate) fn item(&mut self, container: &Value, key: &Value) -> Result<Slot> {
        let plain = |value: Value| Slot { value, place: Place::default() };
        if let Value::Slice(slice) = key {
            return self.slice(container, slice).map(plain);
        }
        match container {
            Value::Dict(dict) => {
                if let Some(slot) = dict.borrow().get(key)? {
                    return Ok(slot.clone());
                }
                let default = dict.borrow().default.clone();
                let Some(default) = default.filter(|default| !matches!(default, Value::None)) else {
                    return Err(self.missing_key(&dict.borrow(), key));
                };
                let value = match &default {
                    // A Counter does not keep what it is asked for.
                    Value::Int(zero) => return Ok(plain(Value::Int(*zero))),
                    _ => self.call(&default, Arguments::none(Place::default()))?,
                };
                dict.borrow_mut().insert(plain(key.clone()), plain(value.clone()))?;
                Ok(plain(value))
            }
            Value::List(list) => {
                let items = list.items.borrow();
                let at = index(key, items.len(), "list")?;
                items.get(at).cloned().ok_or_else(|| out_of_range("list"))
            }
            Value::Tuple(items) => {
                let at = index(key, items.len(), "tuple")?;
                items.get(at).cloned().ok_or_else(|| out_of_range("tuple"))
            }
            Value::Text(text) => {
                let length = if text.is_ascii() { text.len() } else { text.chars().count() };
                let at = index(key, length, "string")?;
                Ok(plain(Value::text(slice_chars(text, std::iter::once(at)))))
            }
            Value::Bytes(bytes) => {
                let at = index(key, bytes.len(), "bytes")?;
                Ok(plain(Value::Int(bytes.get(at).map_or(0, |byte| i128::from(*byte)))))
            }
            Value::Range(range) => {
                let at = index(key, range.len(), "range object")?;
                Ok(plain(Value::Int(range.get(at))))
            }
            // `list[int]` and its like, in annotations.
            Value::Native(native) if native.is_type() || native.module == "typing" => Ok(plain(container.clone())),
            Value::Object(object) => crate::object::item(self, object, key).map(plain),
            Value::Module("os.environ") => {
                let name = key.as_text().cloned().unwrap_or_else(|| "".into());
                let value = self.variable(&name).ok_or_else(|| key_error(key))?;
                Ok(plain(Value::text(value)))
            }
            Value::Symbol(symbol) if self.library.is_some() => Err(crate::library::not_evaluated(symbol.dotted())),
            Value::Symbol(_) => Ok(plain(container.clone())),
            Value::Class(class) if class.is_enum() => super::enumeration::by_name(class, key).map(plain),
            Value::Instance(_) => {
                let arguments = Arguments::of(vec![plain(key.clone())], Place::default());
                self.call_method(container, "__getitem__", arguments).map(plain)
            }
            other => Err(type_error(format!("'{}' object is not subscriptable", other.type_name()))),
        }
    }

    /// `KeyError`, with the key that was meant, or what the host knows of the file that the dict was written in.
    pub(crate) fn missing_key(&mut self, dict: &Dict, key: &Value) -> Stop {
        let stop = key_error(key);
        let Value::Text(name) = key else { return stop };
        let known = dict.iter().filter_map(|entry| entry.key.value.as_text()).map(|text| &**text);
        let help = self.near(name, known).or_else(|| {
            let file = dict.iter().next()?.key.place.file;
            self.host.missing_key(self.path(file), name)
        });
        match help {
            Some(help) => stop.with_help(help),
            None => stop,
        }
    }

    fn slice(&mut self, container: &Value, slice: &Slice) -> Result<Value> {
        match container {
            Value::Object(object) => crate::object::slice(self, object, slice),
            Value::List(list) => {
                let items = list.items.borrow();
                let indices = slice_indices(slice, items.len())?;
                let items: Vec<Slot> = indices.filter_map(|at| items.get(at).cloned()).collect();
                self.budget.make(items.len() * size_of::<Slot>())?;
                Ok(Value::list(items))
            }
            Value::Tuple(items) => {
                let indices = slice_indices(slice, items.len())?;
                self.budget.make(items.len() * size_of::<Slot>())?;
                Ok(Value::Tuple(indices.filter_map(|at| items.get(at).cloned()).collect()))
            }
            Value::Text(text) => {
                let length = if text.is_ascii() { text.len() } else { text.chars().count() };
                let text = slice_chars(text, slice_indices(slice, length)?);
                self.budget.make(text.len())?;
                Ok(Value::text(text))
            }
            Value::Bytes(bytes) => {
                let indices = slice_indices(slice, bytes.len())?;
                Ok(Value::Bytes(indices.filter_map(|at| bytes.get(at).copied()).collect()))
            }
            Value::Range(range) => {
                let mut items = Vec::new();
                for at in slice_indices(slice, range.len())? {
                    self.budget.make(size_of::<Slot>())?;
                    items.push(Slot { value: Value::Int(range.get(at)), place: Place::default() });
                }
                Ok(Value::list(items))
            }
            other => Err(type_error(format!("'{}' object is not subscriptable", other.type_name()))),
        }
    }
}

pub(crate) fn key_error(key: &Value) -> Stop {
    Stop::raised(Exception::builtin("KeyError", vec![key.clone()]))
}

fn out_of_range(kind: &str) -> Stop {
    Stop::new("IndexError", format!("{kind} index out of range"))
}

/// The place in a sequence of `length` that `key` names, counted from the end where it is negative.
pub(crate) fn index(key: &Value, length: usize, kind: &str) -> Result<usize> {
    let Some(at) = key.as_int() else {
        let text = format!("{kind} indices must be integers or slices, not {}", key.type_name());
        return Err(if Key::of(key).is_err() && kind == "dict" {
            type_error("unhashable type")
        } else {
            type_error(text)
        });
    };
    let from_start = if at < 0 { at + length as i128 } else { at };
    usize::try_from(from_start).ok().filter(|at| *at < length).ok_or_else(|| out_of_range(kind))
}

/// The places that a slice takes of a sequence of `length`, in its order.
pub(crate) fn slice_indices(slice: &Slice, length: usize) -> Result<Box<dyn Iterator<Item = usize>>> {
    let length = length as i128;
    let part = |value: &Value| match value {
        Value::None => Ok(None),
        other => other
            .as_int()
            .map(Some)
            .ok_or_else(|| type_error("slice indices must be integers or None or have an __index__ method")),
    };
    let step = part(&slice.step)?.unwrap_or(1);
    if step == 0 {
        return Err(value_error("slice step cannot be zero"));
    }
    let (least, most) = if step > 0 { (0, length) } else { (-1, length - 1) };
    let bound = |value: Option<i128>, default: i128| {
        value.map_or(default, |at| (if at < 0 { at.saturating_add(length) } else { at }).clamp(least, most))
    };
    let (lower, upper) = if step > 0 { (0, length) } else { (length - 1, -1) };
    let (start, stop) = (bound(part(&slice.lower)?, lower), bound(part(&slice.upper)?, upper));
    let range = crate::value::Range { start, stop, step };
    let count = range.len();
    Ok(Box::new((0..count).filter_map(move |at| usize::try_from(range.get(at)).ok())))
}

/// The range of a slice without a step, as assignments take it.
pub(crate) fn plain_range(slice: &Slice, length: usize) -> Result<std::ops::Range<usize>> {
    if !matches!(slice.step, Value::None | Value::Int(1)) {
        return Err(Stop::unsupported("assigning to a slice with a step is not evaluated here"));
    }
    let bound = |value: &Value, default: usize| -> Result<usize> {
        let Some(at) = value.as_int() else { return Ok(default) };
        let at = if at < 0 { at + length as i128 } else { at };
        Ok(usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(length))
    };
    let (start, stop) = (bound(&slice.lower, 0)?, bound(&slice.upper, length)?);
    Ok(start..stop.max(start))
}
