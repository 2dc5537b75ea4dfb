//! Callable values: functions of the file, functions of the language, methods, classes.

use super::{Dict, Slot, Value};
use foldhash::HashSet;
use ruff_python_ast::{Expr, Parameters, Stmt};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A `def` or a `lambda`.
pub(crate) struct Function {
    pub(crate) name: Rc<str>,
    pub(crate) parameters: Rc<Parameters>,
    /// Defaults of the parameters that have one, in order, positional before keyword-only.
    pub(crate) defaults: Vec<(Rc<str>, Slot)>,
    pub(crate) body: Body,
    /// Names that the body assigns: its own, unless declared `global` or `nonlocal`.
    pub(crate) locals: Rc<HashSet<Rc<str>>>,
    /// Set if it has a `yield`: a call makes a generator.
    pub(crate) is_generator: bool,
    /// Places in the text of the statements that have a `yield` in them.
    pub(crate) yielding: BTreeSet<u32>,
    pub(crate) scope: Rc<crate::evaluate::Scope>,
    /// Set if it is decorated with `abstractmethod`.
    pub(crate) is_abstract: Cell<bool>,
    /// The class that defines it, for `super()`.
    pub(crate) owner: RefCell<std::rc::Weak<Class>>,
}

impl Function {
    /// The same function under another name.
    pub(crate) fn renamed(&self, name: Rc<str>) -> Self {
        Self {
            name,
            parameters: Rc::clone(&self.parameters),
            defaults: self.defaults.clone(),
            body: self.body.clone(),
            locals: Rc::clone(&self.locals),
            is_generator: self.is_generator,
            yielding: self.yielding.clone(),
            scope: Rc::clone(&self.scope),
            is_abstract: self.is_abstract.clone(),
            owner: self.owner.clone(),
        }
    }

    /// Returns whether a class of this name defines it.
    pub(crate) fn is_of(&self, class: &str) -> bool {
        self.owner.borrow().upgrade().is_some_and(|owner| &*owner.name == class)
    }

    /// Its class and the name of its first parameter.
    pub(crate) fn method(&self) -> Option<(Rc<Class>, Rc<str>)> {
        let class = self.owner.borrow().upgrade()?;
        let mut parameters = self.parameters.posonlyargs.iter().chain(&self.parameters.args);
        parameters.next().map(|first| (class, first.parameter.name.as_str().into()))
    }
}

/// Body of a function.
#[derive(Clone)]
pub(crate) enum Body {
    Statements(Rc<[Stmt]>),
    Expression(Rc<Expr>),
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<function {}>", self.name)
    }
}

/// A function or a type of the language or of its standard library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Native {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
}

impl Native {
    pub(crate) const fn builtin(name: &'static str) -> Self {
        Self { module: "builtins", name }
    }

    /// Returns whether it is a class.
    pub(crate) fn is_type(self) -> bool {
        const TYPES: &[&str] = &[
            "bool",
            "bytes",
            "dict",
            "float",
            "frozenset",
            "int",
            "list",
            "object",
            "range",
            "set",
            "slice",
            "str",
            "tuple",
            "type",
            "OrderedDict",
            "defaultdict",
            "Counter",
            "NoneType",
            "function",
            "partial",
            "Random",
            "deque",
            "Dataset",
            "Path",
        ];
        TYPES.contains(&self.name) || super::exception::builtin_class(self.name).is_some()
    }
}

/// A method of an object, bound to it.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) receiver: Value,
    pub(crate) name: Rc<str>,
    /// A function of a class that the file defines; `None` is a method of a built-in type.
    pub(crate) function: Option<Rc<Function>>,
}

/// `functools.partial(...)`.
#[derive(Debug)]
pub(crate) struct Partial {
    pub(crate) function: Value,
    pub(crate) positional: Vec<Slot>,
    pub(crate) keywords: Vec<(Rc<str>, Slot)>,
}

/// A class that the file defines.
#[derive(Debug)]
pub(crate) struct Class {
    pub(crate) name: Rc<str>,
    pub(crate) bases: Vec<Value>,
    pub(crate) members: RefCell<Dict>,
    /// The classes above it in the order in which members are looked for.
    pub(crate) above: Vec<Rc<Class>>,
    /// Methods that are declared and not defined, by their names in order: no object of the class can be made.
    pub(crate) abstract_names: Vec<Rc<str>>,
    /// Members of an enumeration, in their order.
    pub(crate) enumerated: RefCell<Option<Vec<Value>>>,
}

impl Class {
    /// The member of this class, or of the first base that has it.
    pub(crate) fn member(&self, name: &str) -> Option<Value> {
        if let Some(slot) = self.members.borrow().get_text(name) {
            return Some(slot.value.clone());
        }
        self.above.iter().find_map(|class| class.members.borrow().get_text(name).map(|slot| slot.value.clone()))
    }

    /// A class without bases and members.
    pub(crate) fn plain(name: &str) -> Self {
        Self {
            name: name.into(),
            bases: Vec::new(),
            members: RefCell::default(),
            above: Vec::new(),
            abstract_names: Vec::new(),
            enumerated: RefCell::default(),
        }
    }

    /// The classes above one with these bases: CPython's C3 linearization; `None` where no consistent order exists.
    pub(crate) fn linearized(bases: &[Value]) -> Option<Vec<Rc<Class>>> {
        let bases: Vec<Rc<Class>> = bases
            .iter()
            .filter_map(|base| match base {
                Value::Class(class) => Some(Rc::clone(class)),
                _ => None,
            })
            .collect();
        let mut lists: Vec<Vec<Rc<Class>>> = bases
            .iter()
            .map(|base| std::iter::once(Rc::clone(base)).chain(base.above.iter().cloned()).collect())
            .collect();
        lists.push(bases);
        let mut above = Vec::new();
        loop {
            lists.retain(|list| !list.is_empty());
            if lists.is_empty() {
                return Some(above);
            }
            let is_later =
                |class: &Rc<Class>| lists.iter().any(|list| list.iter().skip(1).any(|other| Rc::ptr_eq(other, class)));
            let next = lists.iter().filter_map(|list| list.first()).find(|class| !is_later(class)).cloned()?;
            for list in &mut lists {
                list.retain(|class| !Rc::ptr_eq(class, &next));
            }
            above.push(next);
        }
    }

    /// The member of the first class after `self` in the order of `of`, for `super()`.
    pub(crate) fn member_after(self: &Rc<Self>, of: &Rc<Self>, name: &str) -> Option<Value> {
        let after: &[Rc<Self>] = if Rc::ptr_eq(self, of) {
            &of.above
        } else {
            let at = of.above.iter().position(|class| Rc::ptr_eq(class, self));
            at.map_or(&self.above[..], |at| of.above.get(at + 1..).unwrap_or_default())
        };
        after.iter().find_map(|class| class.members.borrow().get_text(name).map(|slot| slot.value.clone()))
    }

    /// Returns whether it is an enumeration.
    pub(crate) fn is_enum(&self) -> bool {
        self.enumerated.borrow().is_some()
    }

    /// The members of an enumeration.
    pub(crate) fn enum_members(&self) -> Vec<Value> {
        self.enumerated.borrow().clone().unwrap_or_default()
    }

    /// Tells its functions whose they are.
    pub(crate) fn own_functions(self: &Rc<Self>) {
        for entry in self.members.borrow().iter() {
            let function = match &entry.slot.value {
                Value::Object(object) => object.function(),
                other => Some(other),
            };
            if let Some(Value::Function(function)) = function {
                *function.owner.borrow_mut() = Rc::downgrade(self);
            }
        }
    }

    /// The built-in class of exceptions from which it derives.
    pub(crate) fn exception(&self) -> Option<&'static str> {
        self.bases.iter().find_map(|base| match base {
            Value::Class(class) => class.exception(),
            Value::Native(native) => super::exception::builtin_class(native.name),
            _ => None,
        })
    }

    /// Returns whether it is `other`, or below it.
    pub(crate) fn is_below(self: &Rc<Self>, other: &Rc<Self>) -> bool {
        Rc::ptr_eq(self, other) || self.above.iter().any(|class| Rc::ptr_eq(class, other))
    }
}

/// An object of a class that the file defines.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) class: Rc<Class>,
    pub(crate) attributes: RefCell<Dict>,
}

impl Instance {
    /// The name of a member of an enumeration.
    pub(crate) fn enum_name(&self) -> Option<Rc<str>> {
        if !self.class.is_enum() {
            return None;
        }
        self.attributes.borrow().get_text("name").and_then(|slot| slot.value.as_text().cloned())
    }
}
