//! `object.name`.

use super::Interpreter;
use crate::error::{Result, attribute_error};
use crate::value::{Class, Dict, Method, Slot, Value};
use crate::{methods, modules};
use std::rc::Rc;

impl Interpreter<'_> {
    /// `object.name`. Where it is missing, the error names what is near to it.
    pub(crate) fn attribute(&mut self, object: &Value, name: &str) -> Result<Value> {
        let found = self.found(object, name);
        match found {
            Err(stop) if stop.is_of("AttributeError") => Err(match self.near_attribute(object, name) {
                Some(help) => stop.with_help(help),
                None => stop,
            }),
            found => found,
        }
    }

    /// The remedy that names what the object has and is near to `name`.
    pub(crate) fn near_attribute(&mut self, object: &Value, name: &str) -> Option<String> {
        let mut known: Vec<Rc<str>> = methods::names(object).iter().map(|name| Rc::from(*name)).collect();
        let mut add = |dict: &Dict| known.extend(dict.iter().filter_map(|entry| entry.key.value.as_text().cloned()));
        match object {
            Value::Dict(dict) if dict.borrow().config => add(&dict.borrow()),
            Value::Instance(instance) => {
                add(&instance.attributes.borrow());
                add(&instance.class.members.borrow());
            }
            Value::Class(class) => add(&class.members.borrow()),
            _ => {}
        }
        self.near(name, known.iter().map(|name| &**name))
    }

    fn found(&mut self, object: &Value, name: &str) -> Result<Value> {
        let missing = || {
            let stop = match object {
                Value::Module(module) => attribute_error(format!("module '{module}' has no attribute '{name}'"))
                    .finally()
                    .with_help("nothing is run here: only a part of the standard library is known to configurations"),
                Value::Class(class) => {
                    attribute_error(format!("type object '{}' has no attribute '{name}'", class.name))
                }
                Value::Native(native) if native.is_type() => {
                    attribute_error(format!("type object '{}' has no attribute '{name}'", native.name))
                }
                other => attribute_error(format!("'{}' object has no attribute '{name}'", other.type_name())),
            };
            Err(stop)
        };
        let bound = || Value::Method(Rc::new(Method { receiver: object.clone(), name: name.into(), function: None }));
        match object {
            Value::Symbol(symbol) if self.library.is_some() => self.resolved(&symbol.member(name)),
            Value::Symbol(symbol) => Ok(Value::Symbol(symbol.member(name))),
            Value::Object(known) => crate::object::attribute(self, known, name),
            Value::Module(module) => match modules::member(self, module, name) {
                Some(value) => Ok(value),
                None => missing(),
            },
            Value::Dict(dict) => {
                if dict.borrow().config
                    && let Some(slot) = dict.borrow().get_text(name)
                {
                    return Ok(slot.value.clone());
                }
                if methods::has(object, name) { Ok(bound()) } else { missing() }
            }
            Value::Instance(instance) => {
                if let Some(slot) = instance.attributes.borrow().get_text(name) {
                    return Ok(slot.value.clone());
                }
                match instance.class.member(name) {
                    Some(Value::Function(function)) => Ok(Value::Method(Rc::new(Method {
                        receiver: object.clone(),
                        name: name.into(),
                        function: Some(function),
                    }))),
                    Some(Value::Object(found)) => self.bound_member(&found, Some(object), &instance.class),
                    Some(value) => Ok(value),
                    None if name == "__class__" => Ok(Value::Class(Rc::clone(&instance.class))),
                    None if modules::is_object_method(object, name) => Ok(bound()),
                    None if let Some(getter) = instance.class.member("__getattr__") => {
                        let place = Default::default();
                        let slots = [object.clone(), Value::text(name)].map(|value| Slot { value, place });
                        self.call(&getter, super::Arguments::of(slots.into(), place))
                    }
                    None => missing(),
                }
            }
            Value::Class(class) => match class_attribute(class, name) {
                Some(Value::Object(found)) => self.bound_member(&found, None, class),
                Some(value) => Ok(value),
                None => missing(),
            },
            Value::Native(native) if name == "__name__" => Ok(Value::text(native.name)),
            Value::Native(native) => match modules::type_member(*native, name) {
                Some(value) => Ok(value),
                None => missing(),
            },
            Value::Function(function) if matches!(name, "__name__" | "__qualname__") => {
                Ok(Value::text(Rc::clone(&function.name)))
            }
            Value::Partial(partial) if name == "func" => Ok(partial.function.clone()),
            Value::Exception(exception) if name == "args" => {
                Ok(Value::tuple_at(exception.arguments.borrow().iter().cloned(), Default::default()))
            }
            Value::Exception(exception) if name == "value" && exception.builtin == "StopIteration" => {
                Ok(exception.arguments.borrow().first().cloned().unwrap_or(Value::None))
            }
            Value::Exception(exception) => {
                if let Some(slot) = exception.attributes.borrow().get_text(name) {
                    return Ok(slot.value.clone());
                }
                match exception.class.as_ref().and_then(|class| Some((class, class.member(name)?))) {
                    Some((_, Value::Function(function))) => Ok(Value::Method(Rc::new(Method {
                        receiver: object.clone(),
                        name: name.into(),
                        function: Some(function),
                    }))),
                    Some((class, Value::Object(found))) => self.bound_member(&found, Some(object), class),
                    Some((_, value)) => Ok(value),
                    None if name == "__class__" => Ok(modules::type_of(object)),
                    None => missing(),
                }
            }
            Value::Slice(slice) => match name {
                "start" => Ok(slice.lower.clone()),
                "stop" => Ok(slice.upper.clone()),
                "step" => Ok(slice.step.clone()),
                _ => missing(),
            },
            _ if name == "__class__" => Ok(modules::type_of(object)),
            _ if methods::has(object, name) => Ok(bound()),
            _ => missing(),
        }
    }
}

fn class_attribute(class: &Rc<Class>, name: &str) -> Option<Value> {
    match name {
        "__name__" | "__qualname__" => Some(Value::text(Rc::clone(&class.name))),
        "__mro__" => {
            let above = class.above.iter().map(|class| Value::Class(Rc::clone(class)));
            let classes = std::iter::once(Value::Class(Rc::clone(class))).chain(above);
            let object = Value::Native(crate::value::Native::builtin("object"));
            Some(Value::tuple_at(classes.chain([object]), Default::default()))
        }
        "__members__" if class.is_enum() => None,
        _ => class.member(name),
    }
}
