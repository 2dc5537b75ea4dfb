//! Scopes in which names are looked up: the module, functions and comprehensions inside each other, classes.

use crate::place::FileId;
use crate::value::{Class, DictCell, Slot};
use foldhash::{HashMap, HashSet};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, ExprContext, Stmt};
use std::cell::RefCell;
use std::rc::Rc;

/// Kind of code that a scope belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Module,
    Function,
    Comprehension,
    Class,
    /// The text of an `eval`.
    Text,
}

/// A scope. The names of a module are a dict, which `globals()` gives.
#[derive(Debug)]
pub(crate) struct Scope {
    pub(crate) kind: Kind,
    pub(crate) file: FileId,
    pub(crate) globals: Rc<DictCell>,
    pub(crate) parent: Option<Rc<Scope>>,
    names: RefCell<HashMap<Rc<str>, Slot>>,
    /// Names that a function assigns, in its scope.
    locals: Rc<HashSet<Rc<str>>>,
    /// Declared `global`, or `nonlocal`.
    global: RefCell<HashSet<Rc<str>>>,
    nonlocal: RefCell<HashSet<Rc<str>>>,
    /// Class that defines a method, and the name of its first parameter, for `super()`, in its scope.
    pub(crate) method: RefCell<Option<(Rc<Class>, Rc<str>)>>,
}

/// Result of a look-up.
pub(crate) enum Found {
    Value(Slot),
    /// A name of this function that has no value yet.
    Unbound,
    Nothing,
}

impl Scope {
    pub(crate) fn module(file: FileId, globals: Rc<DictCell>) -> Rc<Self> {
        Rc::new(Self::new(Kind::Module, file, globals, None, Rc::default()))
    }

    pub(crate) fn inside(parent: &Rc<Self>, kind: Kind, locals: Rc<HashSet<Rc<str>>>) -> Rc<Self> {
        Rc::new(Self::new(kind, parent.file, Rc::clone(&parent.globals), Some(Rc::clone(parent)), locals))
    }

    /// A scope of a text that is evaluated within `parent`: `eval`.
    pub(crate) fn of_text(parent: &Rc<Self>, file: FileId) -> Rc<Self> {
        let globals = Rc::clone(&parent.globals);
        Rc::new(Self::new(Kind::Text, file, globals, Some(Rc::clone(parent)), Rc::default()))
    }

    fn new(
        kind: Kind,
        file: FileId,
        globals: Rc<DictCell>,
        parent: Option<Rc<Self>>,
        locals: Rc<HashSet<Rc<str>>>,
    ) -> Self {
        Self {
            kind,
            file,
            globals,
            parent,
            names: RefCell::default(),
            locals,
            global: RefCell::default(),
            nonlocal: RefCell::default(),
            method: RefCell::default(),
        }
    }

    /// The value of `name` as this scope sees it.
    pub(crate) fn look_up(&self, name: &str) -> Found {
        if self.kind == Kind::Module || self.global.borrow().contains(name) {
            return self.in_module(name);
        }
        if let Some(slot) = self.names.borrow().get(name) {
            return Found::Value(slot.clone());
        }
        if self.locals.contains(name) && !self.nonlocal.borrow().contains(name) {
            return Found::Unbound;
        }
        let mut above = self.parent.as_ref();
        while let Some(scope) = above {
            match scope.kind {
                Kind::Module => return scope.in_module(name),
                // Methods and comprehensions do not see the names of their class.
                Kind::Class if self.kind != Kind::Text => {}
                _ => {
                    if let Some(slot) = scope.names.borrow().get(name) {
                        return Found::Value(slot.clone());
                    }
                    if scope.global.borrow().contains(name) {
                        return scope.in_module(name);
                    }
                }
            }
            above = scope.parent.as_ref();
        }
        self.in_module(name)
    }

    fn in_module(&self, name: &str) -> Found {
        self.globals.borrow().get_text(name).map_or(Found::Nothing, |slot| Found::Value(slot.clone()))
    }

    /// Binds `name` here.
    pub(crate) fn bind(&self, name: &str, slot: Slot) {
        if self.kind == Kind::Module || self.global.borrow().contains(name) {
            let place = slot.place;
            return self.globals.borrow_mut().insert_text(name, place, slot);
        }
        if self.nonlocal.borrow().contains(name) {
            let mut above = self.parent.as_ref();
            while let Some(scope) = above {
                if scope.kind == Kind::Function && scope.names.borrow().contains_key(name) {
                    scope.names.borrow_mut().insert(name.into(), slot);
                    return;
                }
                above = scope.parent.as_ref();
            }
            return;
        }
        self.names.borrow_mut().insert(name.into(), slot);
    }

    /// Binds the target of `:=`, which belongs to the scope around a comprehension.
    pub(crate) fn bind_outside(&self, name: &str, slot: Slot) {
        match &self.parent {
            Some(parent) if matches!(self.kind, Kind::Comprehension | Kind::Text) => parent.bind_outside(name, slot),
            _ => self.bind(name, slot),
        }
    }

    /// Takes `name` away; `false` where it was not bound.
    pub(crate) fn unbind(&self, name: &str) -> bool {
        if self.kind == Kind::Module || self.global.borrow().contains(name) {
            return self.globals.borrow_mut().remove_text(name).is_some();
        }
        self.names.borrow_mut().remove(name).is_some()
    }

    pub(crate) fn declare_global(&self, name: &str) {
        self.global.borrow_mut().insert(name.into());
    }

    pub(crate) fn declare_nonlocal(&self, name: &str) {
        self.nonlocal.borrow_mut().insert(name.into());
    }

    /// The value of a name that is bound here.
    pub(crate) fn own_value(&self, name: &str) -> Option<Slot> {
        self.names.borrow().get(name).cloned()
    }

    /// The names bound here, in no order.
    pub(crate) fn own(&self) -> Vec<(Rc<str>, Slot)> {
        let mut own: Vec<_> = self.names.borrow().iter().map(|(name, slot)| (Rc::clone(name), slot.clone())).collect();
        own.sort_by(|a, b| a.0.cmp(&b.0));
        own
    }
}

/// The names that statements bind, functions and classes included.
pub(crate) fn assigned(statements: &[Stmt]) -> HashSet<Rc<str>> {
    Body::of(statements).assigned
}

/// Facts that the body of a function tells of itself before it runs.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) assigned: HashSet<Rc<str>>,
    pub(crate) yields: bool,
}

impl Body {
    pub(crate) fn of(statements: &[Stmt]) -> Self {
        let mut body = Self::default();
        body.visit_body(statements);
        body
    }
}

impl<'a> Visitor<'a> for Body {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(inner) => {
                self.assigned.insert(inner.name.as_str().into());
            }
            Stmt::ClassDef(inner) => {
                self.assigned.insert(inner.name.as_str().into());
            }
            Stmt::Import(import) => {
                for alias in &import.names {
                    let name =
                        alias.asname.as_ref().map_or_else(|| first_part(alias.name.as_str()), |name| name.as_str());
                    self.assigned.insert(name.into());
                }
            }
            Stmt::ImportFrom(import) => {
                for alias in &import.names {
                    self.assigned.insert(alias.asname.as_ref().unwrap_or(&alias.name).as_str().into());
                }
            }
            Stmt::Global(global) => {
                visitor::walk_stmt(self, statement);
                for name in &global.names {
                    self.assigned.remove(name.as_str());
                }
            }
            Stmt::Try(attempt) => {
                for handler in &attempt.handlers {
                    let ruff_python_ast::ExceptHandler::ExceptHandler(handler) = handler;
                    if let Some(name) = &handler.name {
                        self.assigned.insert(name.as_str().into());
                    }
                }
                visitor::walk_stmt(self, statement);
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx == ExprContext::Store => {
                self.assigned.insert(name.id.as_str().into());
            }
            Expr::Yield(_) | Expr::YieldFrom(_) => {
                self.yields = true;
                visitor::walk_expr(self, expression);
            }
            // Their names are their own.
            Expr::Lambda(_) => {}
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {}
            _ => visitor::walk_expr(self, expression),
        }
    }
}

/// `a` of `a.b.c`.
pub(crate) fn first_part(dotted: &str) -> &str {
    dotted.split('.').next().unwrap_or(dotted)
}
