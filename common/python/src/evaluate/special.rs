//! Special methods of the classes that a file defines: truth, operators, comparisons.

use super::{Arguments, Interpreter};
use crate::error::{Result, type_error};
use crate::place::Place;
use crate::value::{Instance, Slot, Value};
use ruff_python_ast::{CmpOp, Operator};

/// Returns whether a value is an object whose class has this method.
pub(crate) fn has(value: &Value, name: &str) -> bool {
    matches!(value, Value::Instance(instance) if instance.class.member(name).is_some())
}

/// The methods of an operator: of its left operand, of its right one, and for `op=`.
fn methods(op: Operator) -> (&'static str, &'static str, &'static str) {
    match op {
        Operator::Add => ("__add__", "__radd__", "__iadd__"),
        Operator::Sub => ("__sub__", "__rsub__", "__isub__"),
        Operator::Mult => ("__mul__", "__rmul__", "__imul__"),
        Operator::MatMult => ("__matmul__", "__rmatmul__", "__imatmul__"),
        Operator::Div => ("__truediv__", "__rtruediv__", "__itruediv__"),
        Operator::Mod => ("__mod__", "__rmod__", "__imod__"),
        Operator::Pow => ("__pow__", "__rpow__", "__ipow__"),
        Operator::LShift => ("__lshift__", "__rlshift__", "__ilshift__"),
        Operator::RShift => ("__rshift__", "__rrshift__", "__irshift__"),
        Operator::BitOr => ("__or__", "__ror__", "__ior__"),
        Operator::BitXor => ("__xor__", "__rxor__", "__ixor__"),
        Operator::BitAnd => ("__and__", "__rand__", "__iand__"),
        Operator::FloorDiv => ("__floordiv__", "__rfloordiv__", "__ifloordiv__"),
    }
}

/// Returns whether it is `NotImplemented`.
fn is_declined(value: &Value) -> bool {
    matches!(value, Value::Native(native) if native.name == "NotImplemented")
}

impl Interpreter<'_> {
    /// Python's truth, by `__bool__` or `__len__` of an object that has them.
    pub(crate) fn truth(&mut self, value: &Value) -> Result<bool> {
        match value {
            Value::Instance(instance) => self.truth_of(value, instance),
            other => Ok(other.is_true()),
        }
    }

    fn truth_of(&mut self, value: &Value, instance: &Instance) -> Result<bool> {
        if instance.class.member("__bool__").is_some() {
            return match self.call_special(value, "__bool__", &[])? {
                Value::Bool(truth) => Ok(truth),
                other => Err(type_error(format!("__bool__ should return bool, returned {}", other.type_name()))),
            };
        }
        if instance.class.member("__len__").is_some() {
            return Ok(self.length_of(value)? != 0);
        }
        Ok(true)
    }

    /// Returns the result of `__len__`.
    pub(crate) fn length_of(&mut self, value: &Value) -> Result<i128> {
        let length = self.call_special(value, "__len__", &[])?;
        let length = length.as_int().ok_or_else(|| {
            type_error(format!("'{}' object cannot be interpreted as an integer", length.type_name()))
        })?;
        if length < 0 { Err(crate::error::value_error("__len__() should return >= 0")) } else { Ok(length) }
    }

    /// Calls a special method, which is looked up on the class.
    pub(crate) fn call_special(&mut self, receiver: &Value, name: &str, given: &[&Value]) -> Result<Value> {
        let place = Place::default();
        let positional = given.iter().map(|value| Slot { value: (*value).clone(), place }).collect();
        let Value::Instance(instance) = receiver else {
            return self.call_method(receiver, name, Arguments::of(positional, place));
        };
        let mut arguments = Arguments::of(positional, place);
        match instance.class.member(name) {
            Some(function @ Value::Function(_)) => {
                arguments.positional.insert(0, Slot { value: receiver.clone(), place });
                self.call(&function, arguments)
            }
            Some(Value::None) | None => Err(type_error(format!("'{}' object has no `{name}`", receiver.type_name()))),
            Some(_) => self.call_method(receiver, name, arguments),
        }
    }

    /// `left op right` by a method of one of the two; `None` where neither has it.
    pub(super) fn special_binary(&mut self, left: &Value, op: Operator, right: &Value) -> Result<Option<Value>> {
        let (own, reflected, _) = methods(op);
        let is_below = match (left, right) {
            (Value::Instance(a), Value::Instance(b)) => {
                !std::rc::Rc::ptr_eq(&a.class, &b.class) && b.class.is_below(&a.class)
            }
            _ => false,
        };
        let mut order = [(left, own, right), (right, reflected, left)];
        if is_below && has(right, reflected) {
            order.reverse();
        }
        for (receiver, name, other) in order {
            if has(receiver, name) {
                let given = self.call_special(receiver, name, &[other])?;
                if !is_declined(&given) {
                    return Ok(Some(given));
                }
            }
        }
        Ok(None)
    }

    /// `left op= right` by a method of its own.
    pub(super) fn special_in_place(&mut self, left: &Value, op: Operator, right: &Value) -> Result<Option<Value>> {
        let (_, _, in_place) = methods(op);
        if !has(left, in_place) {
            return Ok(None);
        }
        let given = self.call_special(left, in_place, &[right])?;
        Ok((!is_declined(&given)).then_some(given))
    }

    /// A comparison by a method of one of the two; `None` where neither has it.
    pub(super) fn special_compare(&mut self, left: &Value, op: CmpOp, right: &Value) -> Result<Option<Value>> {
        let (own, reflected) = match op {
            CmpOp::Eq => ("__eq__", "__eq__"),
            CmpOp::NotEq => ("__ne__", "__ne__"),
            CmpOp::Lt => ("__lt__", "__gt__"),
            CmpOp::LtE => ("__le__", "__ge__"),
            CmpOp::Gt => ("__gt__", "__lt__"),
            CmpOp::GtE => ("__ge__", "__le__"),
            _ => return Ok(None),
        };
        for (receiver, name, other) in [(left, own, right), (right, reflected, left)] {
            if has(receiver, name) {
                let given = self.call_special(receiver, name, &[other])?;
                if !is_declined(&given) {
                    return Ok(Some(given));
                }
            }
        }
        // Where a class has `__eq__` alone, `!=` is its opposite.
        if op == CmpOp::NotEq && (has(left, "__eq__") || has(right, "__eq__")) {
            let equal = self.special_compare(left, CmpOp::Eq, right)?;
            return match equal {
                Some(equal) => Ok(Some(Value::Bool(!self.truth(&equal)?))),
                None => Ok(None),
            };
        }
        Ok(None)
    }
}
