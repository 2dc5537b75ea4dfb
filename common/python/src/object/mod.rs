//! Objects that only library code makes: data sets, patterns, generators of random numbers, paths, wrapped methods.

mod column;
mod pattern;
mod table;
mod table_methods;

pub(crate) use pattern::{DOT_ALL, IGNORE_CASE, MULTI_LINE, Match, Pattern, UNICODE, compiled};
pub(crate) use table::Table;
pub(crate) use table_methods::{SPLITS_METHODS, call_splits, tables};

use crate::error::{Result, Stop, attribute_error, type_error};
use crate::evaluate::{Arguments, Interpreter};
use crate::place::Place;
use crate::value::{Class, Exception, Method, Slice, Slot, Value};
use compass_pyfmt::PythonRandom;
use std::cell::RefCell;
use std::rc::Rc;

/// An object without a literal.
#[derive(Debug)]
pub(crate) enum Object {
    /// `datasets.Dataset`.
    Table(Table),
    /// `re.compile(...)`.
    Pattern(Box<Pattern>),
    /// A match of a pattern.
    Match(Match),
    /// `random.Random(seed)`.
    Random(Box<RefCell<PythonRandom>>),
    /// `pathlib.Path`.
    Path(Rc<str>),
    StaticMethod(Value),
    ClassMethod(Value),
    Property(Value),
    /// `super()` of a method.
    Super {
        class: Rc<Class>,
        receiver: Value,
    },
    /// `BaseDataset.__init__` of the tree, as `super()` finds it: it loads, and leaves the rest.
    BaseInit(Value),
    /// `__init__` of a built-in exception, as `super()` finds it: it keeps its arguments.
    ExceptionInit(Rc<Exception>),
    /// A logger: its messages are dropped.
    Logger,
}

impl Object {
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Table(_) => "Dataset",
            Self::Pattern(_) => "re.Pattern",
            Self::Match(_) => "re.Match",
            Self::Random(_) => "Random",
            Self::Path(_) => "PosixPath",
            Self::StaticMethod(_) => "staticmethod",
            Self::ClassMethod(_) => "classmethod",
            Self::Property(_) => "property",
            Self::Super { .. } => "super",
            Self::BaseInit(_) | Self::ExceptionInit(_) => "method",
            Self::Logger => "Logger",
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        match self {
            Self::Table(table) => table.len() > 0,
            _ => true,
        }
    }

    /// Returns the result of `str`.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Path(path) => path.to_string(),
            _ => {
                let mut text = String::new();
                self.write_repr(&mut text);
                text
            }
        }
    }

    pub(crate) fn write_repr(&self, out: &mut String) {
        match self {
            Self::Path(path) => out.push_str(&format!("PosixPath({})", crate::value::repr(&Value::text(&**path)))),
            Self::Pattern(pattern) => out.push_str(&format!("re.compile({})", pattern.shown())),
            other => out.push_str(&format!("<{} object>", other.type_name())),
        }
    }

    /// The function that it wraps.
    pub(crate) fn function(&self) -> Option<&Value> {
        match self {
            Self::StaticMethod(function) | Self::ClassMethod(function) | Self::Property(function) => Some(function),
            _ => None,
        }
    }
}

/// The data set that a value is.
pub(crate) fn table_of(value: &Value) -> Option<&Table> {
    match value {
        Value::Object(object) => match &**object {
            Object::Table(table) => Some(table),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn value(object: Object) -> Value {
    Value::Object(Rc::new(object))
}

/// `object(...)`.
pub(crate) fn call(interpreter: &mut Interpreter<'_>, object: &Rc<Object>, arguments: Arguments) -> Result<Value> {
    match &**object {
        Object::StaticMethod(function) => interpreter.call(function, arguments),
        Object::BaseInit(instance) => base_init(interpreter, instance, arguments),
        Object::ExceptionInit(exception) => {
            let values = arguments.positional.into_iter().map(|slot| slot.value).collect();
            *exception.arguments.borrow_mut() = values;
            Ok(Value::None)
        }
        Object::Logger => Ok(Value::None),
        other => Err(type_error(format!("'{}' object is not callable", other.type_name()))),
    }
}

/// `object.name(...)`.
pub(crate) fn call_method(
    interpreter: &mut Interpreter<'_>,
    object: &Rc<Object>,
    name: &str,
    arguments: Arguments,
) -> Result<Value> {
    match &**object {
        Object::Table(table) => table_methods::call(interpreter, table, name, arguments),
        Object::Pattern(pattern) => pattern::call(interpreter, object, pattern, name, arguments),
        Object::Match(found) => pattern::call_match(found, name, arguments),
        Object::Random(random) => crate::modules::call_random(interpreter, Some(random), name, arguments),
        Object::Path(path) => crate::modules::call_path(interpreter, path, name, arguments),
        Object::Logger => Ok(Value::None),
        Object::Super { .. } => {
            let function = attribute(interpreter, object, name)?;
            interpreter.call(&function, arguments)
        }
        other => Err(attribute_error(format!("'{}' object has no attribute '{name}'", other.type_name())).finally()),
    }
}

/// `object.name`.
pub(crate) fn attribute(interpreter: &mut Interpreter<'_>, object: &Rc<Object>, name: &str) -> Result<Value> {
    let bound = || {
        let receiver = Value::Object(Rc::clone(object));
        Ok(Value::Method(Rc::new(Method { receiver, name: name.into(), function: None })))
    };
    match &**object {
        Object::Table(table) => match table_methods::attribute(table, name) {
            Some(value) => Ok(value),
            None => bound(),
        },
        Object::Pattern(pattern) if name == "pattern" => Ok(Value::text(pattern.written())),
        Object::Match(found) => match found.attribute(name) {
            Some(value) => Ok(value),
            None => bound(),
        },
        Object::Path(path) => match crate::modules::path_attribute(path, name) {
            Some(value) => Ok(value),
            None => bound(),
        },
        Object::Super { class, receiver } => super_member(interpreter, class, receiver, name),
        _ => bound(),
    }
}

fn super_member(interpreter: &mut Interpreter<'_>, class: &Rc<Class>, receiver: &Value, name: &str) -> Result<Value> {
    let own = match receiver {
        Value::Instance(instance) => &instance.class,
        Value::Exception(exception) => exception.class.as_ref().unwrap_or(class),
        Value::Class(class) => class,
        _ => class,
    };
    let found = class.member_after(own, name);
    match found {
        Some(Value::Object(found)) => {
            let instance = matches!(receiver, Value::Instance(_)).then_some(receiver);
            interpreter.bound_member(&found, instance, own)
        }
        Some(Value::Function(function)) if name == "__init__" && function.is_of("BaseDataset") => {
            Ok(value(Object::BaseInit(receiver.clone())))
        }
        Some(Value::Function(function)) => Ok(Value::Method(Rc::new(Method {
            receiver: receiver.clone(),
            name: name.into(),
            function: Some(function),
        }))),
        Some(value) => Ok(value),
        None if name == "__init__"
            && let Value::Exception(exception) = receiver =>
        {
            Ok(value(Object::ExceptionInit(Rc::clone(exception))))
        }
        None if name == "__init__" && class.bases.iter().all(|base| !matches!(base, Value::Symbol(_))) => {
            Ok(value(Object::Logger))
        }
        None => {
            let text = format!("'super' object has no attribute '{name}'");
            Err(attribute_error(text).finally())
        }
    }
}

/// Does what OpenCompass's `BaseDataset.__init__` does before it makes a reader: the data set is an attribute of the instance.
pub(crate) fn base_init(
    interpreter: &mut Interpreter<'_>,
    instance: &Value,
    mut arguments: Arguments,
) -> Result<Value> {
    for own in ["reader_cfg", "k", "n", "abbr"] {
        arguments.take(own);
    }
    let place = arguments.place;
    let dataset = interpreter.call_method(instance, "load", arguments)?;
    if let Value::Instance(instance) = instance {
        instance.attributes.borrow_mut().insert_text("dataset", place, Slot { value: dataset, place });
    }
    Ok(Value::None)
}

/// `object[key]`.
pub(crate) fn item(interpreter: &mut Interpreter<'_>, object: &Rc<Object>, key: &Value) -> Result<Value> {
    match &**object {
        Object::Table(table) => match key {
            Value::Text(column) => table.column(interpreter, column),
            key => {
                let at = crate::evaluate::index(key, table.len(), "Dataset")?;
                table.row(interpreter, at, Place::default())
            }
        },
        Object::Match(found) => found.group(key),
        other => Err(type_error(format!("'{}' object is not subscriptable", other.type_name()))),
    }
}

/// `object[lower:upper]`.
pub(crate) fn slice(interpreter: &mut Interpreter<'_>, object: &Rc<Object>, slice: &Slice) -> Result<Value> {
    match &**object {
        Object::Table(table) => {
            let indices: Vec<usize> = crate::evaluate::slice_indices(slice, table.len())?.collect();
            table.select(&indices).to_dict(interpreter)
        }
        other => Err(type_error(format!("'{}' object is not subscriptable", other.type_name()))),
    }
}

/// Returns the items that a `for` goes through.
pub(crate) fn items(interpreter: &mut Interpreter<'_>, object: &Rc<Object>, place: Place) -> Result<Vec<Slot>> {
    match &**object {
        Object::Table(table) => {
            let mut rows = Vec::with_capacity(table.len());
            for at in 0..table.len() {
                rows.push(Slot { value: table.row(interpreter, at, place)?, place });
            }
            Ok(rows)
        }
        other => Err(type_error(format!("'{}' object is not iterable", other.type_name()))),
    }
}

impl Interpreter<'_> {
    /// A member of a class that is a wrapped function: bound as its wrapper says.
    pub(crate) fn bound_member(
        &mut self,
        member: &Rc<Object>,
        instance: Option<&Value>,
        class: &Rc<Class>,
    ) -> Result<Value> {
        match (&**member, instance) {
            (Object::StaticMethod(function), _) => Ok(function.clone()),
            (Object::ClassMethod(Value::Function(function)), _) => Ok(Value::Method(Rc::new(Method {
                receiver: Value::Class(Rc::clone(class)),
                name: Rc::clone(&function.name),
                function: Some(Rc::clone(function)),
            }))),
            (Object::Property(function), Some(instance)) => {
                let place = Place::default();
                self.call(function, Arguments::of(vec![Slot { value: instance.clone(), place }], place))
            }
            (Object::ClassMethod(_), _) => Err(Stop::unsupported("a class method that is not a plain function")),
            _ => Ok(Value::Object(Rc::clone(member))),
        }
    }

    /// `super()` in a method.
    pub(crate) fn super_of(&mut self, scope: &Rc<crate::evaluate::Scope>) -> Result<Value> {
        let mut scope = Some(scope);
        while let Some(inside) = scope {
            if let Some((class, first)) = inside.method.borrow().clone()
                && let Some(slot) = inside.own_value(&first)
            {
                return Ok(value(Object::Super { class, receiver: slot.value }));
            }
            scope = inside.parent.as_ref();
        }
        Err(Stop::new("RuntimeError", "super(): no arguments"))
    }
}
