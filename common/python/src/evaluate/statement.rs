//! Statements.

use super::scope::{Body, Scope};
use super::{Interpreter, Kind};
use crate::error::{Raised, Result, Stop, type_error};
use crate::place::Place;
use crate::value::{Body as FunctionBody, builtin_class};
use crate::value::{Exception, Function, Slot, Value, is_subclass};
use ruff_python_ast::{ExceptHandler, Expr, Parameters, Stmt, StmtFunctionDef, StmtTry, StmtWith};
use ruff_text_size::Ranged;
use std::cell::RefCell;
use std::rc::Rc;

/// Way in which a block continues.
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
    Return(Slot),
}

impl Interpreter<'_> {
    pub(crate) fn block(&mut self, scope: &Rc<Scope>, statements: &[Stmt]) -> Result<Flow> {
        for statement in statements {
            let place = Place::of(scope.file, statement.range());
            let flow = self.nested(|this| this.statement(scope, statement)).map_err(|stop| stop.at(place))?;
            if !matches!(flow, Flow::Next) {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    pub(super) fn statement(&mut self, scope: &Rc<Scope>, statement: &Stmt) -> Result<Flow> {
        self.budget.step()?;
        match statement {
            Stmt::Expr(statement) => {
                self.evaluate(scope, &statement.value)?;
            }
            Stmt::Assign(assign) => {
                let slot = self.slot(scope, &assign.value)?;
                for target in &assign.targets {
                    self.assign(scope, target, slot.clone())?;
                }
            }
            Stmt::AugAssign(assign) => self.augment(scope, assign)?,
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    let slot = self.slot(scope, value)?;
                    self.assign(scope, &assign.target, slot)?;
                }
            }
            Stmt::For(statement) => return self.for_loop(scope, statement),
            Stmt::While(statement) => {
                while self.is_true(scope, &statement.test)? {
                    self.budget.step()?;
                    match self.block(scope, &statement.body)? {
                        Flow::Break => return Ok(Flow::Next),
                        Flow::Return(slot) => return Ok(Flow::Return(slot)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
                return self.block(scope, &statement.orelse);
            }
            Stmt::If(statement) => {
                let block = match self.branch(scope, statement)? {
                    Some(0) => &statement.body,
                    Some(at) if let Some(clause) = statement.elif_else_clauses.get(at - 1) => &clause.body,
                    _ => return Ok(Flow::Next),
                };
                return self.block(scope, block);
            }
            Stmt::With(with) => return self.with(scope, with),
            Stmt::Raise(raise) => return Err(self.raise(scope, raise.exc.as_deref())?),
            Stmt::Try(attempt) => return self.attempt(scope, attempt),
            Stmt::Assert(assert) => {
                if !self.is_true(scope, &assert.test)? {
                    let arguments = match &assert.msg {
                        Some(message) => vec![self.evaluate(scope, message)?],
                        None => Vec::new(),
                    };
                    return Err(Stop::raised(Exception::builtin("AssertionError", arguments)));
                }
            }
            Stmt::Import(import) => self.import(scope, import)?,
            Stmt::ImportFrom(import) => self.import_from(scope, import)?,
            Stmt::Global(global) => global.names.iter().for_each(|name| scope.declare_global(name.as_str())),
            Stmt::Nonlocal(nonlocal) => nonlocal.names.iter().for_each(|name| scope.declare_nonlocal(name.as_str())),
            Stmt::Delete(delete) => {
                for target in &delete.targets {
                    self.delete(scope, target)?;
                }
            }
            Stmt::FunctionDef(definition) => self.define(scope, definition)?,
            Stmt::ClassDef(definition) => self.define_class(scope, definition)?,
            Stmt::Return(statement) => {
                let slot = match &statement.value {
                    Some(value) => self.slot(scope, value)?,
                    None => Slot { value: Value::None, place: Place::of(scope.file, statement.range) },
                };
                return Ok(Flow::Return(slot));
            }
            Stmt::Pass(_) => {}
            Stmt::Break(_) => return Ok(Flow::Break),
            Stmt::Continue(_) => return Ok(Flow::Continue),
            Stmt::Match(matched) => {
                let case = self.case(scope, matched)?.and_then(|at| matched.cases.get(at));
                return case.map_or(Ok(Flow::Next), |case| self.block(scope, &case.body));
            }
            Stmt::TypeAlias(_) => return Err(Stop::unsupported("`type` aliases are not evaluated here")),
            Stmt::IpyEscapeCommand(_) => return Err(Stop::new("SyntaxError", "invalid syntax")),
        }
        Ok(Flow::Next)
    }

    fn for_loop(&mut self, scope: &Rc<Scope>, statement: &ruff_python_ast::StmtFor) -> Result<Flow> {
        let place = Place::of(scope.file, statement.iter.range());
        let iterated = self.evaluate(scope, &statement.iter)?;
        let mut items = self.iterate(&iterated, place).map_err(|stop| stop.at(place))?;
        while let Some(slot) = self.next(&mut items).map_err(|stop| stop.at(place))? {
            self.budget.step()?;
            self.assign(scope, &statement.target, slot)?;
            match self.block(scope, &statement.body)? {
                Flow::Break => return Ok(Flow::Next),
                Flow::Return(slot) => return Ok(Flow::Return(slot)),
                Flow::Next | Flow::Continue => {}
            }
        }
        self.block(scope, &statement.orelse)
    }

    /// The part of an `if` that is taken: 0 is its own, others are counted from its first `elif` or `else`.
    pub(super) fn branch(&mut self, scope: &Rc<Scope>, statement: &ruff_python_ast::StmtIf) -> Result<Option<usize>> {
        if self.is_true(scope, &statement.test)? {
            return Ok(Some(0));
        }
        for (at, clause) in statement.elif_else_clauses.iter().enumerate() {
            let is_taken = match &clause.test {
                Some(test) => self.is_true(scope, test)?,
                None => true,
            };
            if is_taken {
                return Ok(Some(at + 1));
            }
        }
        Ok(None)
    }

    /// `with read_base():`, which imports configurations, `with open(...) as f:`, and objects with `__enter__`.
    fn with(&mut self, scope: &Rc<Scope>, with: &StmtWith) -> Result<Flow> {
        if is_read_base(with) {
            // Its imports were bound before the first statement, as mmengine does.
            return Ok(Flow::Next);
        }
        let entered = self.enter(scope, with)?;
        let result = self.block(scope, &with.body);
        self.leave(entered, result)
    }

    /// Enters the objects of a `with`, and returns the objects to leave.
    pub(super) fn enter(&mut self, scope: &Rc<Scope>, with: &StmtWith) -> Result<Vec<Value>> {
        let mut entered = Vec::new();
        for item in &with.items {
            let place = Place::of(scope.file, item.context_expr.range());
            let value = self.evaluate(scope, &item.context_expr)?;
            let given = match &value {
                value if crate::modules::is_file(value) => value.clone(),
                Value::Instance(instance)
                    if instance.class.member("__enter__").is_some() && instance.class.member("__exit__").is_some() =>
                {
                    if let [_, _, ..] = with.items.as_slice() {
                        let text = "a `with` of several objects with `__enter__` is not evaluated here";
                        return Err(Stop::unsupported(text).at(place));
                    }
                    entered.push(value.clone());
                    self.call_method(&value, "__enter__", super::Arguments::none(place))
                        .map_err(|stop| stop.at(place))?
                }
                _ => {
                    let text = format!("'{}' object does not support the context manager protocol", value.type_name());
                    return Err(type_error(text).finally().at(place));
                }
            };
            if let Some(target) = &item.optional_vars {
                self.assign(scope, target, Slot { value: given, place })?;
            }
        }
        Ok(entered)
    }

    /// Leaves the objects of a `with`: an exception ends there if `__exit__` returns true.
    pub(super) fn leave(&mut self, entered: Vec<Value>, result: Result<Flow>) -> Result<Flow> {
        let mut result = result;
        for object in entered.into_iter().rev() {
            let exception = match &result {
                Ok(_) => None,
                Err(Stop::Raised(raised)) if !raised.is_final => Some(Rc::clone(&raised.exception)),
                Err(_) => return result,
            };
            let told = match exception {
                None => [Value::None, Value::None, Value::None],
                Some(exception) => {
                    let value = Value::Exception(exception);
                    [crate::modules::type_of(&value), value, Value::None]
                }
            };
            let place = Place::default();
            let slots = told.into_iter().map(|value| Slot { value, place }).collect();
            let given = self.call_method(&object, "__exit__", super::Arguments::of(slots, place))?;
            if result.is_err() && self.truth(&given)? {
                result = Ok(Flow::Next);
            }
        }
        result
    }

    fn raise(&mut self, scope: &Rc<Scope>, exception: Option<&Expr>) -> Result<Stop> {
        let Some(exception) = exception else {
            return Ok(Stop::new("RuntimeError", "No active exception to reraise"));
        };
        let value = self.evaluate(scope, exception)?;
        let place = Place::of(scope.file, exception.range());
        let value = match &value {
            Value::Native(_) | Value::Class(_) => self.call(&value, super::Arguments::none(place))?,
            _ => value,
        };
        Ok(match value {
            Value::Exception(exception) => Stop::raised(exception),
            _ => type_error("exceptions must derive from BaseException"),
        })
    }

    fn attempt(&mut self, scope: &Rc<Scope>, attempt: &StmtTry) -> Result<Flow> {
        let mut result = self.block(scope, &attempt.body);
        if let Err(Stop::Raised(raised)) = result {
            result = if raised.is_final { Err(Stop::Raised(raised)) } else { self.handle(scope, attempt, raised) };
        } else if matches!(result, Ok(Flow::Next)) {
            result = self.block(scope, &attempt.orelse);
        }
        match self.block(scope, &attempt.finalbody)? {
            Flow::Next => result,
            other => Ok(other),
        }
    }

    fn handle(&mut self, scope: &Rc<Scope>, attempt: &StmtTry, raised: Box<Raised>) -> Result<Flow> {
        let found = self.handler(scope, attempt, &raised)?.and_then(|at| attempt.handlers.get(at));
        let Some(ExceptHandler::ExceptHandler(handler)) = found else { return Err(Stop::Raised(raised)) };
        let flow = match self.block(scope, &handler.body) {
            // A bare `raise` raises what is being handled.
            Err(Stop::Raised(again)) if is_bare_raise(&again) => Err(Stop::Raised(raised)),
            other => other,
        };
        if let Some(name) = &handler.name {
            scope.unbind(name.as_str());
        }
        flow
    }

    /// The `except` that catches an exception; its name is bound.
    pub(super) fn handler(&mut self, scope: &Rc<Scope>, attempt: &StmtTry, raised: &Raised) -> Result<Option<usize>> {
        for (at, handler) in attempt.handlers.iter().enumerate() {
            let ExceptHandler::ExceptHandler(handler) = handler;
            let caught = match &handler.type_ {
                None => true,
                Some(classes) => {
                    let classes = self.evaluate(scope, classes)?;
                    catches(&classes, &raised.exception)
                }
            };
            if !caught {
                continue;
            }
            if let Some(name) = &handler.name {
                let place = Place::of(scope.file, name.range);
                scope.bind(name.as_str(), Slot { value: Value::Exception(Rc::clone(&raised.exception)), place });
            }
            return Ok(Some(at));
        }
        Ok(None)
    }

    fn define(&mut self, scope: &Rc<Scope>, definition: &StmtFunctionDef) -> Result<()> {
        let place = Place::of(scope.file, definition.range);
        self.budget.container()?;
        if definition.is_async {
            return Err(Stop::unsupported("`async def` is not evaluated here"));
        }
        let body = Body::of(&definition.body);
        let function = Function {
            name: definition.name.as_str().into(),
            parameters: Rc::new((*definition.parameters).clone()),
            defaults: self.defaults(scope, &definition.parameters)?,
            body: FunctionBody::Statements(definition.body.to_vec().into()),
            locals: Rc::new(with_parameters(body.assigned, &definition.parameters)),
            is_generator: body.yields,
            yielding: if body.yields { super::generator::Yielding::of(&definition.body) } else { Default::default() },
            scope: Rc::clone(scope),
            is_abstract: Default::default(),
            owner: RefCell::default(),
        };
        let mut value = Value::Function(Rc::new(function));
        for decorator in definition.decorator_list.iter().rev() {
            if self.is_foreign(scope, &decorator.expression) {
                continue;
            }
            let decorating = self.evaluate(scope, &decorator.expression)?;
            // Decorators of other packages register a class or a function, and give it back.
            if !matches!(&decorating, Value::Symbol(_)) {
                let arguments = super::Arguments::of(vec![Slot { value, place }], place);
                value = self.call(&decorating, arguments)?;
            }
        }
        let place = Place::of(scope.file, definition.name.range);
        scope.bind(definition.name.as_str(), Slot { value, place });
        Ok(())
    }

    pub(crate) fn defaults(&mut self, scope: &Rc<Scope>, parameters: &Parameters) -> Result<Vec<(Rc<str>, Slot)>> {
        let mut defaults = Vec::new();
        for parameter in parameters.iter_non_variadic_params() {
            if let Some(default) = &parameter.default {
                defaults.push((parameter.parameter.name.as_str().into(), self.slot(scope, default)?));
            }
        }
        Ok(defaults)
    }

    /// `class Name(bases):`.
    fn define_class(&mut self, scope: &Rc<Scope>, definition: &ruff_python_ast::StmtClassDef) -> Result<()> {
        let place = Place::of(scope.file, definition.range);
        // What a metaclass makes of the members is not known: read as written, a class would be another.
        for keyword in definition.arguments.as_deref().map_or(&[][..], |arguments| &arguments.keywords) {
            let last = keyword.value.as_attribute_expr().map(|attribute| attribute.attr.as_str());
            let value = last.or_else(|| keyword.value.as_name_expr().map(|name| name.id.as_str()));
            let keyword = keyword.arg.as_ref().map_or("**", |name| name.as_str());
            if (keyword, value) != ("metaclass", Some("ABCMeta")) {
                let value = value.unwrap_or("...");
                let what = format!("`class {}({keyword}={value})` is not evaluated here", definition.name);
                return Err(Stop::unsupported(what));
            }
        }
        let mut bases = Vec::new();
        for base in definition.arguments.as_deref().map_or(&[][..], |arguments| &arguments.args) {
            let at = Place::of(scope.file, base.range());
            let base = self.base_class(scope, base)?;
            check_base(&base).map_err(|stop| stop.at(at))?;
            bases.push(base);
        }
        let above = crate::value::Class::linearized(&bases).ok_or_else(|| inconsistent(&bases))?;
        let inside = Scope::inside(scope, Kind::Class, Rc::default());
        self.block(&inside, &definition.body)?;
        let mut members = crate::value::Dict::default();
        let mut own = inside.own();
        // In the order in which they are written.
        own.sort_by_key(|(_, slot)| slot.place.start);
        for (name, slot) in own {
            members.insert_text(&name, slot.place, slot);
        }
        let has_abstract_base = definition.arguments.as_deref().is_some_and(|arguments| !arguments.keywords.is_empty())
            || bases.iter().any(|base| matches!(base, Value::Native(native) if native.name == "ABC"))
            || above.iter().any(|class| {
                class.bases.iter().any(|base| matches!(base, Value::Native(native) if native.name == "ABC"))
            })
            || above.iter().any(|class| !class.abstract_names.is_empty());
        let abstract_names = if has_abstract_base { abstract_names(&members, &above) } else { Vec::new() };
        let kind = super::enumeration::kind(&bases)?;
        let class = crate::value::Class {
            name: definition.name.as_str().into(),
            bases,
            members: RefCell::new(members),
            above,
            abstract_names,
            enumerated: RefCell::default(),
        };
        let class = Rc::new(class);
        class.own_functions();
        if kind {
            super::enumeration::enumerate(&class)?;
        }
        let mut value = Value::Class(class);
        for decorator in definition.decorator_list.iter().rev() {
            if self.is_foreign(scope, &decorator.expression) {
                continue;
            }
            let decorating = self.evaluate(scope, &decorator.expression)?;
            if matches!(&decorating, Value::Function(_) | Value::Partial(_) | Value::Method(_) | Value::Instance(_)) {
                value = self.call(&decorating, super::Arguments::of(vec![Slot { value, place }], place))?;
            }
        }
        let place = Place::of(scope.file, definition.name.range);
        scope.bind(definition.name.as_str(), Slot { value, place });
        Ok(())
    }
}

/// Checks that a class may have this base.
fn check_base(base: &Value) -> Result<()> {
    match base {
        Value::Class(_) | Value::Symbol(_) | Value::Object(_) | Value::Module(_) => Ok(()),
        Value::Native(native) if native.name == "object" || native.module == "typing" => Ok(()),
        Value::Native(native) if builtin_class(native.name).is_some() => Ok(()),
        Value::Native(native) if native.module == "datasets" => Ok(()),
        Value::Native(native) => {
            Err(Stop::unsupported(format!("a class that stands on `{}` is not evaluated here", native.name)))
        }
        other => {
            let kind = other.type_name();
            Err(type_error(match other {
                Value::Int(_) | Value::Text(_) | Value::Float(_) | Value::List(_) | Value::Tuple(_) => {
                    format!(
                        "{kind}() takes at most {} arguments (3 given)",
                        if kind == "list" || kind == "tuple" { 1 } else { 2 }
                    )
                }
                _ => format!("cannot create '{kind}' instances"),
            }))
        }
    }
}

fn inconsistent(bases: &[Value]) -> Stop {
    let names: Vec<&str> = bases
        .iter()
        .filter_map(|base| match base {
            Value::Class(class) => Some(&*class.name),
            _ => None,
        })
        .collect();
    let text = format!("Cannot create a consistent method resolution\norder (MRO) for bases {}", names.join(", "));
    type_error(text)
}

/// Names of methods that are declared by `abstractmethod` and not defined, in order.
fn abstract_names(members: &crate::value::Dict, above: &[Rc<crate::value::Class>]) -> Vec<Rc<str>> {
    let is_abstract = |value: &Value| {
        let function = match value {
            Value::Object(object) => object.function(),
            other => Some(other),
        };
        matches!(function, Some(Value::Function(function)) if function.is_abstract.get())
    };
    let mut names: std::collections::BTreeMap<Rc<str>, bool> = std::collections::BTreeMap::new();
    let mut add = |members: &crate::value::Dict| {
        for entry in members.iter() {
            if let Value::Text(name) = &entry.key.value {
                names.entry(Rc::clone(name)).or_insert_with(|| is_abstract(&entry.slot.value));
            }
        }
    };
    add(members);
    above.iter().for_each(|class| add(&class.members.borrow()));
    names.into_iter().filter(|(_, is_abstract)| *is_abstract).map(|(name, _)| name).collect()
}

pub(crate) fn with_parameters(
    mut names: foldhash::HashSet<Rc<str>>,
    parameters: &Parameters,
) -> foldhash::HashSet<Rc<str>> {
    names.extend(parameters.iter().map(|parameter| Rc::from(parameter.name().as_str())));
    names
}

/// Returns whether it is `with read_base():`.
pub(crate) fn is_read_base(with: &StmtWith) -> bool {
    let [item] = with.items.as_slice() else { return false };
    let Expr::Call(call) = &item.context_expr else { return false };
    matches!(&*call.func, Expr::Name(name) if name.id == "read_base")
}

pub(super) fn is_bare_raise(raised: &Raised) -> bool {
    raised.exception.builtin == "RuntimeError" && raised.exception.text() == "No active exception to reraise"
}

/// Returns whether `except classes` catches it.
fn catches(classes: &Value, exception: &Exception) -> bool {
    match classes {
        Value::Native(native) => builtin_class(native.name).is_some_and(|above| is_subclass(exception.builtin, above)),
        Value::Class(class) => exception.class.as_ref().is_some_and(|own| own.is_below(class)),
        Value::Tuple(items) => items.iter().any(|slot| catches(&slot.value, exception)),
        _ => false,
    }
}
