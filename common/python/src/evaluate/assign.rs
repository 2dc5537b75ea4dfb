//! Assignments to names, parts of containers and attributes, `del`, and `x += y`.

use super::{Interpreter, Scope};
use crate::error::{Result, Stop, attribute_error, type_error, value_error};
use crate::place::Place;
use crate::value::{Slot, Value, stored_in_config};
use ruff_python_ast::{Expr, StmtAugAssign};
use ruff_text_size::Ranged;
use std::rc::Rc;

impl Interpreter<'_> {
    pub(crate) fn assign(&mut self, scope: &Rc<Scope>, target: &Expr, slot: Slot) -> Result<()> {
        let place = Place::of(scope.file, target.range());
        match target {
            Expr::Name(name) => {
                scope.bind(name.id.as_str(), slot);
                Ok(())
            }
            Expr::Tuple(tuple) => self.unpack(scope, &tuple.elts, &slot, place),
            Expr::List(list) => self.unpack(scope, &list.elts, &slot, place),
            Expr::Subscript(subscript) => {
                let container = self.evaluate(scope, &subscript.value)?;
                let key = self.slot(scope, &subscript.slice)?;
                self.set_item(&container, key, slot).map_err(|stop| stop.at(place))
            }
            Expr::Attribute(attribute) => {
                let object = self.evaluate(scope, &attribute.value)?;
                let at = Place::of(scope.file, attribute.attr.range);
                self.set_attribute(&object, attribute.attr.as_str(), at, slot).map_err(|stop| stop.at(place))
            }
            Expr::Starred(_) => Err(Stop::new("SyntaxError", "starred assignment target must be in a list or tuple")),
            _ => Err(Stop::new("SyntaxError", "cannot assign to this expression").at(place)),
        }
    }

    fn unpack(&mut self, scope: &Rc<Scope>, targets: &[Expr], slot: &Slot, place: Place) -> Result<()> {
        let star = targets.iter().position(|target| matches!(target, Expr::Starred(_)));
        let items = match (&slot.value, star) {
            // An iterator is read one element past the last name, as in CPython.
            (Value::Iterator(shared), None) => {
                let mut items = Vec::with_capacity(targets.len());
                while items.len() <= targets.len()
                    && let Some(item) = self.advance(shared).map_err(|stop| stop.at(place))?
                {
                    items.push(item);
                }
                Ok(items)
            }
            _ => self.items(&slot.value, slot.place),
        };
        let items = items.map_err(|stop| match stop {
            Stop::Raised(raised) if raised.exception.builtin == "TypeError" => {
                type_error(format!("cannot unpack non-iterable {} object", slot.value.type_name())).at(place)
            }
            other => other,
        })?;
        let Some(star) = star else {
            if items.len() > targets.len() {
                return Err(value_error(format!("too many values to unpack (expected {})", targets.len())).at(place));
            }
            if items.len() < targets.len() {
                let text = format!("not enough values to unpack (expected {}, got {})", targets.len(), items.len());
                return Err(value_error(text).at(place));
            }
            for (target, slot) in targets.iter().zip(items) {
                self.assign(scope, target, slot)?;
            }
            return Ok(());
        };
        let after = targets.len() - star - 1;
        if items.len() < star + after {
            let text = format!("not enough values to unpack (expected at least {}, got {})", star + after, items.len());
            return Err(value_error(text).at(place));
        }
        let last = items.len() - after;
        for (target, slot) in targets.iter().zip(&items).take(star) {
            self.assign(scope, target, slot.clone())?;
        }
        if let Some(Expr::Starred(starred)) = targets.get(star) {
            let middle = items.get(star..last).unwrap_or_default().to_vec();
            self.assign(scope, &starred.value, Slot { value: Value::list(middle), place: slot.place })?;
        }
        for (target, slot) in targets.iter().skip(star + 1).zip(items.iter().skip(last)) {
            self.assign(scope, target, slot.clone())?;
        }
        Ok(())
    }

    /// `container[key] = slot`.
    pub(crate) fn set_item(&mut self, container: &Value, key: Slot, slot: Slot) -> Result<()> {
        self.budget.make(size_of::<Slot>() * 2)?;
        match container {
            Value::Dict(dict) => {
                let is_config = dict.borrow().config;
                let slot = if is_config { self.stored(slot)? } else { slot };
                dict.borrow_mut().insert(key, slot)
            }
            Value::List(list) => {
                if let Value::Slice(slice) = &key.value {
                    let length = list.items.borrow().len();
                    let range = super::subscript::plain_range(slice, length)?;
                    let items = self.items(&slot.value, slot.place)?;
                    list.items.borrow_mut().splice(range, items);
                    return Ok(());
                }
                let mut items = list.items.borrow_mut();
                let at = super::subscript::index(&key.value, items.len(), "list")
                    .map_err(|stop| renamed(stop, "list index out of range", "list assignment index out of range"))?;
                if let Some(item) = items.get_mut(at) {
                    *item = slot;
                }
                Ok(())
            }
            Value::Module("os.environ") => match (&key.value, &slot.value) {
                (Value::Text(name), Value::Text(value)) => {
                    self.environment.insert(name.to_string(), value.to_string());
                    Ok(())
                }
                (Value::Text(_), other) | (other, _) => {
                    Err(type_error(format!("str expected, not {}", other.type_name())))
                }
            },
            Value::Instance(_) => {
                let place = slot.place;
                let arguments = super::Arguments::of(vec![key, slot], place);
                self.call_method(container, "__setitem__", arguments).map(drop)
            }
            other => Err(type_error(format!("'{}' object does not support item assignment", other.type_name()))),
        }
    }

    fn stored(&mut self, slot: Slot) -> Result<Slot> {
        Ok(Slot { value: stored_in_config(&mut self.budget, &slot.value)?, place: slot.place })
    }

    pub(crate) fn set_attribute(&mut self, object: &Value, name: &str, at: Place, slot: Slot) -> Result<()> {
        match object {
            Value::Dict(dict) if dict.borrow().config => {
                let slot = self.stored(slot)?;
                dict.borrow_mut().insert_text(name, at, slot);
                Ok(())
            }
            Value::Instance(instance) => {
                if let Some(Value::Object(member)) = instance.class.member(name)
                    && matches!(&*member, crate::object::Object::Property(_))
                {
                    return Err(attribute_error(format!(
                        "property '{name}' of '{}' object has no setter",
                        instance.class.name
                    )));
                }
                if instance.class.is_enum() {
                    return Err(crate::error::Stop::unsupported("attributes of a member of an enumeration"));
                }
                instance.attributes.borrow_mut().insert_text(name, at, slot);
                Ok(())
            }
            Value::Exception(exception) => {
                exception.attributes.borrow_mut().insert_text(name, at, slot);
                Ok(())
            }
            Value::Class(class) => {
                class.members.borrow_mut().insert_text(name, at, slot);
                Ok(())
            }
            Value::Function(_) => Ok(()),
            other => Err(attribute_error(format!("'{}' object has no attribute '{name}'", other.type_name()))),
        }
    }

    pub(crate) fn delete(&mut self, scope: &Rc<Scope>, target: &Expr) -> Result<()> {
        let place = Place::of(scope.file, target.range());
        match target {
            Expr::Name(name) => {
                if scope.unbind(name.id.as_str()) {
                    return Ok(());
                }
                Err(Stop::new("NameError", format!("name '{}' is not defined", name.id)).at(place))
            }
            Expr::Tuple(tuple) => tuple.elts.iter().try_for_each(|target| self.delete(scope, target)),
            Expr::List(list) => list.elts.iter().try_for_each(|target| self.delete(scope, target)),
            Expr::Subscript(subscript) => {
                let container = self.evaluate(scope, &subscript.value)?;
                let key = self.evaluate(scope, &subscript.slice)?;
                self.delete_item(&container, &key).map_err(|stop| stop.at(place))
            }
            Expr::Attribute(attribute) => {
                let object = self.evaluate(scope, &attribute.value)?;
                let name = attribute.attr.as_str();
                let removed = match &object {
                    Value::Dict(dict) if dict.borrow().config => dict.borrow_mut().remove_text(name),
                    Value::Instance(instance) => instance.attributes.borrow_mut().remove_text(name),
                    _ => None,
                };
                removed.map(drop).ok_or_else(|| attribute_error(name).at(place))
            }
            _ => Err(Stop::new("SyntaxError", "cannot delete this expression").at(place)),
        }
    }

    fn delete_item(&mut self, container: &Value, key: &Value) -> Result<()> {
        match container {
            Value::Dict(dict) => match dict.borrow_mut().remove(key)? {
                Some(_) => Ok(()),
                None => Err(super::subscript::key_error(key)),
            },
            Value::List(list) => {
                let mut items = list.items.borrow_mut();
                let range = match key {
                    Value::Slice(slice) => super::subscript::plain_range(slice, items.len())?,
                    key => {
                        let at = super::subscript::index(key, items.len(), "list").map_err(|stop| {
                            renamed(stop, "list index out of range", "list assignment index out of range")
                        })?;
                        at..at + 1
                    }
                };
                items.drain(range);
                Ok(())
            }
            Value::Instance(instance) if instance.class.member("__delitem__").is_some() => {
                self.call_special(container, "__delitem__", &[key]).map(drop)
            }
            other => Err(type_error(format!("'{}' object doesn't support item deletion", other.type_name()))),
        }
    }

    /// `target op= value`: lists and dicts are changed in place, as in CPython.
    pub(crate) fn augment(&mut self, scope: &Rc<Scope>, assign: &StmtAugAssign) -> Result<()> {
        let place = Place::of(scope.file, assign.range);
        let (container, key) = match &*assign.target {
            Expr::Subscript(subscript) => {
                let container = self.evaluate(scope, &subscript.value)?;
                (Some(container), Some(self.slot(scope, &subscript.slice)?))
            }
            _ => (None, None),
        };
        let current = match (&container, &key) {
            (Some(container), Some(key)) => self.item(container, &key.value)?.value,
            _ => self.evaluate(scope, &assign.target)?,
        };
        let right = self.slot(scope, &assign.value)?;
        let value = self.augmented(&current, assign.op, &right).map_err(|stop| stop.at(place))?;
        let slot = Slot { value, place: right.place };
        match (container, key) {
            (Some(container), Some(key)) => self.set_item(&container, key, slot).map_err(|stop| stop.at(place)),
            _ => self.assign(scope, &assign.target, slot),
        }
    }

    fn augmented(&mut self, current: &Value, op: ruff_python_ast::Operator, right: &Slot) -> Result<Value> {
        use ruff_python_ast::Operator;
        match (current, op) {
            (Value::List(list), Operator::Add) => {
                let items = self.items(&right.value, right.place)?;
                self.budget.make(items.len() * size_of::<Slot>())?;
                list.items.borrow_mut().extend(items);
                Ok(current.clone())
            }
            (Value::Dict(_), Operator::BitOr) => {
                let arguments = super::Arguments::of(vec![right.clone()], right.place);
                self.call_method(current, "update", arguments)?;
                Ok(current.clone())
            }
            (Value::Set(_), Operator::BitOr) => {
                let arguments = super::Arguments::of(vec![right.clone()], right.place);
                self.call_method(current, "update", arguments)?;
                Ok(current.clone())
            }
            (Value::Instance(_), _) if let Some(value) = self.special_in_place(current, op, &right.value)? => Ok(value),
            _ => super::binary(self, current, op, &right.value, right.place).map_err(|stop| {
                let plain = format!("for {}:", op.as_str());
                renamed(stop, &plain, &format!("for {}=:", op.as_str()))
            }),
        }
    }
}

/// The same error with one expression of its text replaced.
fn renamed(stop: Stop, from: &str, to: &str) -> Stop {
    if let Stop::Raised(raised) = &stop
        && let Some(Value::Text(text)) = raised.exception.arguments.borrow_mut().first_mut()
    {
        *text = text.replace(from, to).into();
    }
    stop
}
