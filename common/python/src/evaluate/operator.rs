//! `a + b` and its like.

use super::Interpreter;
use crate::error::{Result, Stop, type_error, value_error};
use crate::methods::format;
use crate::place::Place;
use crate::value::{Dict, Key, Slot, Value, written, written_repr};
use ruff_python_ast::Operator;
use std::rc::Rc;

pub(crate) fn overflow() -> Stop {
    Stop::unsupported("integers beyond 128 bits are not evaluated here")
}

/// `left op right`; `place` is where `right` is written.
pub(crate) fn binary(
    interpreter: &mut Interpreter<'_>,
    left: &Value,
    op: Operator,
    right: &Value,
    place: Place,
) -> Result<Value> {
    if let Some(result) = numbers(left, op, right) {
        return result;
    }
    if let Some(result) = containers(interpreter, left, op, right, place) {
        return result;
    }
    if (matches!(left, Value::Instance(_)) || matches!(right, Value::Instance(_)))
        && let Some(value) = interpreter.special_binary(left, op, right)?
    {
        return Ok(value);
    }
    if op == Operator::Add && matches!((left, right), (Value::Text(_), _)) {
        return Err(type_error(format!("can only concatenate str (not \"{}\") to str", right.type_name())));
    }
    if op == Operator::Add && matches!((left, right), (Value::List(_), _)) {
        return Err(type_error(format!("can only concatenate list (not \"{}\") to list", right.type_name())));
    }
    let is_sequence =
        |value: &Value| matches!(value, Value::Text(_) | Value::List(_) | Value::Tuple(_) | Value::Bytes(_));
    if op == Operator::Mult && (is_sequence(left) || is_sequence(right)) {
        let other = if is_sequence(left) { right } else { left };
        return Err(type_error(format!("can't multiply sequence by non-int of type '{}'", other.type_name())));
    }
    let name = if op == Operator::Pow { "** or pow()" } else { op.as_str() };
    let (left, right) = (left.type_name(), right.type_name());
    Err(type_error(format!("unsupported operand type(s) for {name}: '{left}' and '{right}'")))
}

fn numbers(left: &Value, op: Operator, right: &Value) -> Option<Result<Value>> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        if let (Value::Bool(a), Value::Bool(b)) = (left, right) {
            match op {
                Operator::BitAnd => return Some(Ok(Value::Bool(*a & *b))),
                Operator::BitOr => return Some(Ok(Value::Bool(*a | *b))),
                Operator::BitXor => return Some(Ok(Value::Bool(*a ^ *b))),
                _ => {}
            }
        }
        return integers(a, op, b);
    }
    let (a, b) = (left.as_float()?, right.as_float()?);
    let zero = |text: &str| Some(Err(Stop::new("ZeroDivisionError", text)));
    Some(Ok(Value::Float(match op {
        Operator::Add => a + b,
        Operator::Sub => a - b,
        Operator::Mult => a * b,
        Operator::Div if b == 0.0 => return zero("float division by zero"),
        Operator::Div => a / b,
        Operator::FloorDiv if b == 0.0 => return zero("float floor division by zero"),
        Operator::FloorDiv => (a / b).floor(),
        Operator::Mod if b == 0.0 => return zero("float modulo"),
        Operator::Mod => float_modulo(a, b),
        Operator::Pow if a == 0.0 && b < 0.0 => return zero("0.0 cannot be raised to a negative power"),
        Operator::Pow if a < 0.0 && b.is_finite() && b.fract() != 0.0 => {
            return Some(Err(Stop::unsupported("complex numbers are not evaluated here")));
        }
        Operator::Pow if a.is_finite() && b.is_finite() && a.powf(b).is_infinite() => {
            return Some(Err(Stop::new("OverflowError", "(34, 'Numerical result out of range')")));
        }
        Operator::Pow => a.powf(b),
        _ => return None,
    })))
}

/// CPython's `%` of floats: the sign of the divisor.
fn float_modulo(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

fn integers(a: i128, op: Operator, b: i128) -> Option<Result<Value>> {
    let int = |value: Option<i128>| Some(value.map(Value::Int).ok_or_else(overflow));
    let zero = |text: &str| Some(Err(Stop::new("ZeroDivisionError", text)));
    match op {
        Operator::Add => int(a.checked_add(b)),
        Operator::Sub => int(a.checked_sub(b)),
        Operator::Mult => int(a.checked_mul(b)),
        Operator::Div if b == 0 => zero("division by zero"),
        Operator::Div => Some(Ok(Value::Float(a as f64 / b as f64))),
        Operator::FloorDiv if b == 0 => zero("integer division or modulo by zero"),
        Operator::Mod if b == 0 => zero("integer modulo by zero"),
        Operator::FloorDiv => {
            int(a.checked_div(b).map(|quotient| quotient - i128::from(a % b != 0 && (a < 0) != (b < 0))))
        }
        Operator::Mod => {
            let rest = a.checked_rem(b).unwrap_or(0);
            int(Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
        }
        Operator::Pow if b < 0 && a == 0 => zero("0.0 cannot be raised to a negative power"),
        Operator::Pow if b < 0 => Some(Ok(Value::Float((a as f64).powf(b as f64)))),
        Operator::Pow => int(u32::try_from(b).ok().and_then(|b| a.checked_pow(b))),
        Operator::LShift => {
            let by = u32::try_from(b).ok().filter(|by| *by < 127);
            int(by.and_then(|by| a.checked_mul(1_i128 << by)))
        }
        Operator::RShift => int(Some(a >> u32::try_from(b).unwrap_or(127).min(127))),
        Operator::BitAnd => int(Some(a & b)),
        Operator::BitOr => int(Some(a | b)),
        Operator::BitXor => int(Some(a ^ b)),
        Operator::MatMult => None,
    }
}

fn containers(
    interpreter: &mut Interpreter<'_>,
    left: &Value,
    op: Operator,
    right: &Value,
    place: Place,
) -> Option<Result<Value>> {
    match (left, op, right) {
        (Value::Object(_), Operator::Div, Value::Text(_) | Value::Object(_)) | (Value::Text(_), Operator::Div, _) => {
            crate::modules::path_joined(left, right).map(Ok)
        }
        (Value::Text(a), Operator::Add, Value::Text(b)) => Some(made(interpreter, a.len() + b.len()).map(|()| {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Value::text(text)
        })),
        (Value::List(a), Operator::Add, Value::List(b)) => {
            let items: Vec<Slot> = a.items.borrow().iter().chain(b.items.borrow().iter()).cloned().collect();
            Some(made(interpreter, items.len() * size_of::<Slot>()).map(|()| Value::list(items)))
        }
        (Value::Tuple(a), Operator::Add, Value::Tuple(b)) => {
            let items: Rc<[Slot]> = a.iter().chain(b.iter()).cloned().collect();
            Some(made(interpreter, items.len() * size_of::<Slot>()).map(|()| Value::Tuple(items)))
        }
        (Value::Text(_) | Value::List(_) | Value::Tuple(_), Operator::Mult, count) if count.as_int().is_some() => {
            Some(repeated(interpreter, left, count.as_int().unwrap_or(0)))
        }
        (count, Operator::Mult, Value::Text(_) | Value::List(_) | Value::Tuple(_)) if count.as_int().is_some() => {
            Some(repeated(interpreter, right, count.as_int().unwrap_or(0)))
        }
        (Value::Text(text), Operator::Mod, _) => Some(percent_format(interpreter, text, right).map(Value::text)),
        (Value::Dict(a), Operator::BitOr, Value::Dict(b)) => Some(merged(&a.borrow(), &b.borrow())),
        (
            Value::Set(_) | Value::View(_),
            Operator::BitOr | Operator::BitAnd | Operator::Sub | Operator::BitXor,
            other,
        ) => {
            let name = match op {
                Operator::BitOr => "union",
                Operator::BitAnd => "intersection",
                Operator::Sub => "difference",
                _ => "symmetric_difference",
            };
            if matches!(left, Value::Set(_)) && !matches!(other, Value::Set(_) | Value::View(_)) {
                return None;
            }
            Some(crate::methods::combine_sets(interpreter, left, name, &[Slot { value: other.clone(), place }]))
        }
        _ => None,
    }
}

fn made(interpreter: &mut Interpreter<'_>, bytes: usize) -> Result<()> {
    Ok(interpreter.budget.make(bytes)?)
}

fn repeated(interpreter: &mut Interpreter<'_>, value: &Value, count: i128) -> Result<Value> {
    let count = usize::try_from(count).unwrap_or(if count < 0 { 0 } else { usize::MAX });
    let mut slots = |items: &[Slot]| -> Result<Vec<Slot>> {
        made(interpreter, items.len().saturating_mul(size_of::<Slot>()).saturating_mul(count))?;
        let mut all = Vec::with_capacity(items.len() * count);
        (0..count).for_each(|_| all.extend_from_slice(items));
        Ok(all)
    };
    Ok(match value {
        Value::Text(text) => {
            made(interpreter, text.len().saturating_mul(count))?;
            Value::text(text.repeat(count))
        }
        Value::List(list) => Value::list(slots(&list.items.borrow())?),
        Value::Tuple(items) => Value::Tuple(slots(items)?.into()),
        other => other.clone(),
    })
}

fn merged(left: &Dict, right: &Dict) -> Result<Value> {
    let mut both = left.clone();
    for entry in right.iter() {
        both.insert(entry.key.clone(), entry.slot.clone())?;
    }
    Ok(Value::dict(both))
}

/// `"%s of %d" % (a, b)`.
pub(crate) fn percent_format(interpreter: &mut Interpreter<'_>, text: &str, right: &Value) -> Result<String> {
    interpreter.budget.make(text.len())?;
    let mut values: std::collections::VecDeque<Value> = match right {
        Value::Tuple(items) => items.iter().map(|slot| slot.value.clone()).collect(),
        Value::Dict(_) => Default::default(),
        other => [other.clone()].into(),
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let named = match rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            Some((name, after)) => {
                rest = after;
                let Value::Dict(dict) = right else { return Err(type_error("format requires a mapping")) };
                let dict = dict.borrow();
                let slot = dict.entry(&Key::Text(name.into()));
                Some(
                    slot.map(|entry| entry.slot.value.clone())
                        .ok_or_else(|| super::subscript::key_error(&Value::text(name)))?,
                )
            }
            None => None,
        };
        let end = rest.find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+' | ' ' | '#'));
        let (flags, after) = rest.split_at(end.unwrap_or(rest.len()));
        let Some(kind) = after.chars().next() else { return Err(value_error("incomplete format")) };
        rest = &after[kind.len_utf8()..];
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match named {
            Some(value) => value,
            None => values.pop_front().ok_or_else(|| type_error("not enough arguments for format string"))?,
        };
        let aligned = match flags.strip_prefix('-') {
            Some(flags) => format!("<{flags}"),
            None if matches!(kind, 's' | 'r') && !flags.is_empty() => format!(">{flags}"),
            None => flags.to_owned(),
        };
        out.push_str(&match kind {
            's' => {
                let text = Value::text(written(interpreter, &value)?);
                format(interpreter, &text, &aligned)?
            }
            'r' => {
                let text = Value::text(written_repr(interpreter, &value)?);
                format(interpreter, &text, &aligned)?
            }
            'd' | 'i' | 'u' => {
                let whole = value.as_float().ok_or_else(|| {
                    type_error(format!("%{kind} format: a real number is required, not {}", value.type_name()))
                })?;
                let whole = match value.as_int() {
                    Some(whole) => Value::Int(whole),
                    None => Value::whole(whole.trunc())?,
                };
                format(interpreter, &whole, &(aligned + "d"))?
            }
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' => {
                let number = value
                    .as_float()
                    .ok_or_else(|| type_error(format!("must be real number, not {}", value.type_name())))?;
                format(interpreter, &Value::Float(number), &format!("{aligned}{kind}"))?
            }
            'x' | 'X' | 'o' if value.as_int().is_none() => {
                let text = format!("%{kind} format: an integer is required, not {}", value.type_name());
                return Err(type_error(text));
            }
            'x' | 'X' | 'o' => format(interpreter, &value, &format!("{aligned}{kind}"))?,
            other => return Err(value_error(format!("unsupported format character '{other}'"))),
        });
    }
    out.push_str(rest);
    if !values.is_empty() && !matches!(right, Value::Dict(_)) {
        return Err(type_error("not all arguments converted during string formatting"));
    }
    Ok(out)
}
