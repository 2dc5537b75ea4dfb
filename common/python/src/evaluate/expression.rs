//! Expressions.

use super::scope::Found;
use super::{Arguments, Interpreter, Kind, Scope};
use crate::error::{Result, Stop, type_error};
use crate::methods::format;
use crate::modules;
use crate::place::Place;
use crate::value::{Body, Dict, Function, Layout, Slice, Slot, Value, written, written_repr};
use ruff_python_ast::{
    BoolOp, ConversionFlag, Expr, ExprDict, ExprFString, ExprLambda, FStringPart, InterpolatedStringElement, Number,
    UnaryOp,
};
use ruff_text_size::Ranged;
use std::rc::Rc;

impl Interpreter<'_> {
    /// The value of an expression with the place where it is written.
    pub(crate) fn slot(&mut self, scope: &Rc<Scope>, expression: &Expr) -> Result<Slot> {
        let place = Place::of(scope.file, expression.range());
        Ok(Slot { value: self.evaluate(scope, expression)?, place })
    }

    /// The value of an expression. An error carries the place of the innermost expression that failed.
    pub(crate) fn evaluate(&mut self, scope: &Rc<Scope>, expression: &Expr) -> Result<Value> {
        self.budget.step()?;
        self.nested(|this| this.expression(scope, expression))
            .map_err(|stop| stop.at(Place::of(scope.file, expression.range())))
    }

    /// Returns whether an expression is true.
    pub(crate) fn is_true(&mut self, scope: &Rc<Scope>, expression: &Expr) -> Result<bool> {
        let value = self.evaluate(scope, expression)?;
        self.truth(&value).map_err(|stop| stop.at(Place::of(scope.file, expression.range())))
    }

    fn expression(&mut self, scope: &Rc<Scope>, expression: &Expr) -> Result<Value> {
        match expression {
            Expr::Name(name) => self.name(scope, name.id.as_str()),
            Expr::StringLiteral(literal) => {
                let text = literal.value.to_str();
                self.budget.make(text.len())?;
                Ok(Value::text(text))
            }
            Expr::NumberLiteral(literal) => number(&literal.value),
            Expr::BooleanLiteral(literal) => Ok(Value::Bool(literal.value)),
            Expr::NoneLiteral(_) => Ok(Value::None),
            Expr::EllipsisLiteral(_) => Ok(Value::Ellipsis),
            Expr::BytesLiteral(literal) => Ok(Value::Bytes(literal.value.bytes().collect())),
            Expr::FString(literal) => self.fstring(scope, literal),
            Expr::List(list) => Ok(Value::list(self.elements(scope, &list.elts)?)),
            Expr::Tuple(tuple) => Ok(Value::Tuple(self.elements(scope, &tuple.elts)?.into())),
            Expr::Set(set) => {
                let items = self.elements(scope, &set.elts)?;
                let is_constant = |item: &Expr| item.is_literal_expr() && !item.is_string_literal_expr();
                let is_written = set.elts.len() > 2 && set.elts.iter().all(is_constant);
                modules::set_of(items, if is_written { Layout::Written } else { Layout::Added })
            }
            Expr::Dict(dict) => self.dict(scope, dict),
            Expr::Call(call) => self.call_expression(scope, call),
            Expr::Attribute(attribute) => {
                let object = self.evaluate(scope, &attribute.value)?;
                self.attribute(&object, attribute.attr.as_str())
            }
            Expr::Subscript(subscript) => {
                let container = self.evaluate(scope, &subscript.value)?;
                let key = self.evaluate(scope, &subscript.slice)?;
                Ok(self.item(&container, &key)?.value)
            }
            Expr::Slice(slice) => {
                let mut part = |part: &Option<Box<Expr>>| match part {
                    Some(part) => self.evaluate(scope, part),
                    None => Ok(Value::None),
                };
                let (lower, upper, step) = (part(&slice.lower)?, part(&slice.upper)?, part(&slice.step)?);
                Ok(Value::Slice(Rc::new(Slice { lower, upper, step })))
            }
            Expr::BinOp(operation) => {
                let left = self.evaluate(scope, &operation.left)?;
                let right = self.slot(scope, &operation.right)?;
                super::binary(self, &left, operation.op, &right.value, right.place)
            }
            Expr::UnaryOp(operation) => {
                let operand = self.evaluate(scope, &operation.operand)?;
                if operation.op == UnaryOp::Not {
                    return Ok(Value::Bool(!self.truth(&operand)?));
                }
                let special = match operation.op {
                    UnaryOp::USub => "__neg__",
                    UnaryOp::UAdd => "__pos__",
                    _ => "__invert__",
                };
                if super::has_special(&operand, special) {
                    return self.call_special(&operand, special, &[]);
                }
                unary(operation.op, &operand)
            }
            Expr::BoolOp(operation) => {
                let mut last = Value::None;
                for value in &operation.values {
                    last = self.evaluate(scope, value)?;
                    if self.truth(&last)? == (operation.op == BoolOp::Or) {
                        break;
                    }
                }
                Ok(last)
            }
            Expr::Compare(compare) => {
                let mut left = self.evaluate(scope, &compare.left)?;
                for (op, right) in compare.ops.iter().zip(&compare.comparators) {
                    let right = self.evaluate(scope, right)?;
                    if compare.ops.len() == 1
                        && (matches!(left, Value::Instance(_)) || matches!(right, Value::Instance(_)))
                        && let Some(given) = self.special_compare(&left, *op, &right)?
                    {
                        return Ok(given);
                    }
                    if !self.compare(&left, *op, &right)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Ok(Value::Bool(true))
            }
            Expr::If(choice) => {
                let taken = if self.is_true(scope, &choice.test)? { &choice.body } else { &choice.orelse };
                self.evaluate(scope, taken)
            }
            Expr::Named(named) => {
                let slot = self.slot(scope, &named.value)?;
                if let Expr::Name(name) = &*named.target {
                    scope.bind_outside(name.id.as_str(), slot.clone());
                }
                Ok(slot.value)
            }
            Expr::Lambda(lambda) => self.lambda(scope, lambda),
            Expr::ListComp(comprehension) => {
                Ok(Value::list(self.comprehend(scope, &comprehension.elt, &comprehension.generators)?))
            }
            Expr::Generator(comprehension) => self.generator_expression(scope, comprehension),
            Expr::SetComp(comprehension) => {
                let items = self.comprehend(scope, &comprehension.elt, &comprehension.generators)?;
                modules::set_of(items, Layout::Added)
            }
            Expr::DictComp(comprehension) => self.comprehend_dict(scope, comprehension),
            Expr::Starred(_) => Err(Stop::new("SyntaxError", "can't use starred expression here")),
            Expr::Yield(_) | Expr::YieldFrom(_) => Err(misplaced_yield(scope)),
            Expr::Await(_) => Err(Stop::unsupported("`await` is not evaluated here")),
            Expr::TString(_) => Err(Stop::unsupported("template strings are not evaluated here")),
            Expr::IpyEscapeCommand(_) => Err(Stop::new("SyntaxError", "invalid syntax")),
        }
    }

    fn name(&mut self, scope: &Rc<Scope>, name: &str) -> Result<Value> {
        match scope.look_up(name) {
            Found::Value(Slot { value: Value::Symbol(symbol), .. }) if self.library.is_some() => {
                return self.resolved(&symbol);
            }
            Found::Value(slot) => return Ok(slot.value),
            Found::Unbound => {
                let text = format!("cannot access local variable '{name}' where it is not associated with a value");
                return Err(Stop::new("UnboundLocalError", text));
            }
            Found::Nothing => {}
        }
        if let Some(value) = self.library_name(scope, name)? {
            return Ok(value);
        }
        if let Some(value) = modules::builtin(name) {
            return Ok(value);
        }
        if name == "__file__" {
            return Ok(Value::text(self.path(scope.file).to_string_lossy().as_ref()));
        }
        if name == "__name__" {
            // As mmengine runs a configuration, whose names have no `__name__` of their own.
            return Ok(Value::text("builtins"));
        }
        let stop = Stop::new("NameError", format!("name '{name}' is not defined"));
        Err(match self.near_name(scope, name) {
            Some(help) => stop.with_help(help),
            None => stop,
        })
    }

    /// The remedy that names what is bound here, in the module or built in and is near to `name`.
    fn near_name(&mut self, scope: &Rc<Scope>, name: &str) -> Option<String> {
        let mut known: Vec<Rc<str>> = Vec::new();
        let mut within = Some(scope);
        while let Some(scope) = within {
            known.extend(scope.own().into_iter().map(|(name, _)| name));
            within = scope.parent.as_ref();
        }
        known.extend(scope.globals.borrow().iter().filter_map(|entry| entry.key.value.as_text().cloned()));
        let known = known.iter().map(|name| &**name);
        self.near(name, known.chain(modules::builtin_names().iter().copied()))
    }

    /// Elements of a list, a tuple or a set, `*other` spread out.
    fn elements(&mut self, scope: &Rc<Scope>, expressions: &[Expr]) -> Result<Vec<Slot>> {
        let mut slots = Vec::with_capacity(expressions.len());
        self.budget.container()?;
        self.budget.make(expressions.len() * size_of::<Slot>())?;
        for expression in expressions {
            match expression {
                Expr::Starred(starred) => {
                    let slot = self.slot(scope, &starred.value)?;
                    let items = self.items(&slot.value, slot.place).map_err(|stop| {
                        let text = format!("Value after * must be an iterable, not {}", slot.value.type_name());
                        if stop.is_of("TypeError") { type_error(text).at(slot.place) } else { stop }
                    })?;
                    self.budget.make(items.len() * size_of::<Slot>())?;
                    slots.extend(items);
                }
                _ => slots.push(self.slot(scope, expression)?),
            }
        }
        Ok(slots)
    }

    fn dict(&mut self, scope: &Rc<Scope>, expression: &ExprDict) -> Result<Value> {
        let mut dict = Dict::default();
        self.budget.container()?;
        self.budget.make(expression.items.len() * size_of::<Slot>() * 2)?;
        for item in &expression.items {
            match &item.key {
                Some(key) => {
                    let key = self.slot(scope, key)?;
                    let value = self.slot(scope, &item.value)?;
                    let place = key.place;
                    dict.insert(key, value).map_err(|stop| stop.at(place))?;
                }
                None => {
                    let other = self.slot(scope, &item.value)?;
                    let Value::Dict(other_dict) = &other.value else {
                        let text = format!("'{}' object is not a mapping", other.value.type_name());
                        return Err(type_error(text).at(other.place));
                    };
                    let entries: Vec<_> = other_dict.borrow().iter().cloned().collect();
                    self.budget.make(entries.len() * size_of::<Slot>() * 2)?;
                    for entry in entries {
                        dict.insert(entry.key, entry.slot)?;
                    }
                }
            }
        }
        Ok(Value::dict(dict))
    }

    fn lambda(&mut self, scope: &Rc<Scope>, lambda: &ExprLambda) -> Result<Value> {
        self.budget.container()?;
        let parameters = lambda.parameters.as_deref().cloned().unwrap_or_default();
        let defaults = self.defaults(scope, &parameters)?;
        let locals = super::statement::with_parameters(Default::default(), &parameters);
        Ok(Value::Function(Rc::new(Function {
            name: "<lambda>".into(),
            parameters: Rc::new(parameters),
            defaults,
            body: Body::Expression(Rc::new((*lambda.body).clone())),
            locals: Rc::new(locals),
            is_generator: super::generator::Yielding::is_in(&lambda.body),
            yielding: Default::default(),
            scope: Rc::clone(scope),
            is_abstract: Default::default(),
            owner: Default::default(),
        })))
    }

    fn fstring(&mut self, scope: &Rc<Scope>, literal: &ExprFString) -> Result<Value> {
        let mut text = String::new();
        for part in literal.value.as_slice() {
            match part {
                FStringPart::Literal(literal) => text.push_str(&literal.value),
                FStringPart::FString(fstring) => self.interpolate(scope, &fstring.elements, &mut text)?,
            }
        }
        self.budget.make(text.len())?;
        Ok(Value::text(text))
    }

    fn interpolate<'e>(
        &mut self,
        scope: &Rc<Scope>,
        elements: impl IntoIterator<Item = &'e InterpolatedStringElement>,
        text: &mut String,
    ) -> Result<()> {
        for element in elements {
            match element {
                InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
                InterpolatedStringElement::Interpolation(element) => {
                    let value = self.evaluate(scope, &element.expression)?;
                    let mut spec = String::new();
                    if let Some(written) = &element.format_spec {
                        self.interpolate(scope, &written.elements, &mut spec)?;
                    }
                    let mut conversion = element.conversion;
                    if let Some(debug) = &element.debug_text {
                        text.push_str(debug.as_str());
                        if conversion == ConversionFlag::None && spec.is_empty() {
                            conversion = ConversionFlag::Repr;
                        }
                    }
                    let value = match conversion {
                        ConversionFlag::None => value,
                        ConversionFlag::Str => Value::text(written(self, &value)?),
                        ConversionFlag::Repr | ConversionFlag::Ascii => Value::text(written_repr(self, &value)?),
                    };
                    let place = Place::of(scope.file, element.range);
                    let shown = format(self, &value, &spec);
                    text.push_str(&shown.map_err(|stop| stop.at(place))?);
                }
            }
        }
        Ok(())
    }

    /// `function(arguments)`; a method is called without being made a value first.
    fn call_expression(&mut self, scope: &Rc<Scope>, call: &ruff_python_ast::ExprCall) -> Result<Value> {
        let place = Place::of(scope.file, call.range());
        if let Expr::Name(name) = &*call.func
            && let Some(names) = self.names_of(scope, name.id.as_str(), call.arguments.args.len())
        {
            return Ok(names);
        }
        if let (Expr::Name(name), [text], []) = (&*call.func, &*call.arguments.args, call.arguments.keywords.as_slice())
            && name.id == "eval"
            && matches!(scope.look_up("eval"), Found::Nothing)
        {
            return self.evaluate_text(scope, text, place);
        }
        if let Expr::Name(name) = &*call.func
            && name.id == "super"
            && matches!(scope.look_up("super"), Found::Nothing)
        {
            return match &*call.arguments.args {
                [] => self.super_of(scope).map_err(|stop| stop.at(place)),
                [class, receiver] => {
                    let (class, receiver) = (self.evaluate(scope, class)?, self.evaluate(scope, receiver)?);
                    let Value::Class(class) = class else {
                        return Err(type_error(format!(
                            "super() argument 1 must be a type, not {}",
                            class.type_name()
                        ))
                        .at(place));
                    };
                    Ok(crate::object::value(crate::object::Object::Super { class, receiver }))
                }
                _ => Err(Stop::unsupported("`super` with one argument is not evaluated here").at(place)),
            };
        }
        if let Expr::Attribute(attribute) = &*call.func {
            let receiver = self.evaluate(scope, &attribute.value)?;
            // As in CPython, what is called is looked up before its arguments are evaluated.
            if matches!(
                receiver,
                Value::Text(_) | Value::List(_) | Value::Tuple(_) | Value::Int(_) | Value::None | Value::Float(_)
            ) {
                self.attribute(&receiver, attribute.attr.as_str()).map_err(|stop| stop.at(place))?;
            }
            let arguments = self.arguments(scope, &call.arguments, place)?;
            return self
                .call_method(&receiver, attribute.attr.as_str(), arguments)
                .map_err(|stop| stop.at(place).through(place));
        }
        let function = self.evaluate(scope, &call.func)?;
        let arguments = self.arguments(scope, &call.arguments, place)?;
        self.call(&function, arguments).map_err(|stop| stop.at(place).through(place))
    }

    /// `eval(text)`: one expression, in the scope of the call.
    fn evaluate_text(&mut self, scope: &Rc<Scope>, text: &Expr, place: Place) -> Result<Value> {
        let value = self.evaluate(scope, text)?;
        if self.library.is_some() {
            return modules::literal_eval(&value, place);
        }
        let Value::Text(text) = &value else {
            return Err(type_error("eval() arg 1 must be a string, bytes or code object").at(place));
        };
        let (file, tree) = self.add_expression(text.trim_start()).map_err(|stop| stop.through(place))?;
        let inside = Scope::of_text(scope, file);
        self.deeper(|this| this.evaluate(&inside, &tree.body)).map_err(|stop| stop.through(place))
    }

    /// `globals()`, `locals()` and `vars()`, where those names are not the file's own.
    fn names_of(&self, scope: &Rc<Scope>, name: &str, arguments: usize) -> Option<Value> {
        if arguments > 0 || !matches!(name, "globals" | "locals" | "vars" | "dir") {
            return None;
        }
        if !matches!(scope.look_up(name), Found::Nothing) {
            return None;
        }
        let is_global = name == "globals" || scope.kind == Kind::Module;
        let dict = if is_global {
            Value::Dict(Rc::clone(&scope.globals))
        } else {
            let mut dict = Dict::default();
            for (name, slot) in scope.own() {
                dict.insert_text(&name, slot.place, slot);
            }
            Value::dict(dict)
        };
        if name != "dir" {
            return Some(dict);
        }
        let Value::Dict(dict) = dict else { return None };
        let mut names: Vec<Slot> = dict.borrow().iter().map(|entry| entry.key.clone()).collect();
        names.sort_by_key(|slot| slot.value.as_text().map(|text| text.to_string()));
        Some(Value::list(names))
    }

    pub(crate) fn arguments(
        &mut self,
        scope: &Rc<Scope>,
        written: &ruff_python_ast::Arguments,
        place: Place,
    ) -> Result<Arguments> {
        let mut arguments = Arguments::none(place);
        arguments.positional = self.elements(scope, &written.args)?;
        for keyword in &written.keywords {
            let slot = self.slot(scope, &keyword.value)?;
            match &keyword.arg {
                Some(name) => {
                    let at = Place::of(scope.file, name.range);
                    arguments.keywords.push((name.as_str().into(), at, slot));
                }
                None => {
                    let Value::Dict(dict) = &slot.value else {
                        let text = format!("argument after ** must be a mapping, not {}", slot.value.type_name());
                        return Err(type_error(text).at(slot.place));
                    };
                    for entry in dict.borrow().iter() {
                        let Value::Text(name) = &entry.key.value else {
                            return Err(type_error("keywords must be strings").at(slot.place));
                        };
                        arguments.keywords.push((Rc::clone(name), entry.key.place, entry.slot.clone()));
                    }
                }
            }
        }
        let mut seen = std::collections::HashSet::new();
        for (name, at, _) in &arguments.keywords {
            if !seen.insert(Rc::clone(name)) {
                let is_it = |keyword: &&ruff_python_ast::Keyword| {
                    keyword.arg.as_ref().is_some_and(|known| known.as_str() == &**name)
                };
                if written.keywords.iter().filter(is_it).count() > 1 {
                    let text = format!("keyword argument repeated: {name}");
                    return Err(Stop::new("SyntaxError", text).finally().at(*at));
                }
                return Err(type_error(format!("got multiple values for keyword argument '{name}'")).at(*at));
            }
        }
        Ok(arguments)
    }
}

/// The error of a `yield` that no generator runs.
fn misplaced_yield(scope: &Rc<Scope>) -> Stop {
    match scope.kind {
        Kind::Module | Kind::Class => Stop::new("SyntaxError", "'yield' outside function").finally(),
        Kind::Comprehension => Stop::new("SyntaxError", "'yield' inside list comprehension").finally(),
        _ => super::generator::within_an_expression(),
    }
}

fn number(number: &Number) -> Result<Value> {
    match number {
        Number::Int(int) => match int.as_u64() {
            Some(small) => Ok(Value::Int(i128::from(small))),
            None => int
                .to_string()
                .replace('_', "")
                .parse()
                .map(Value::Int)
                .map_err(|_| Stop::unsupported("integers beyond 128 bits are not evaluated here")),
        },
        Number::Float(float) => Ok(Value::Float(*float)),
        Number::Complex { .. } => Err(Stop::unsupported("complex numbers are not evaluated here")),
    }
}

fn unary(op: UnaryOp, operand: &Value) -> Result<Value> {
    let sign = match op {
        UnaryOp::Not => return Ok(Value::Bool(!operand.is_true())),
        UnaryOp::USub => "-",
        UnaryOp::UAdd => "+",
        UnaryOp::Invert => "~",
    };
    match (op, operand.as_int(), operand) {
        (UnaryOp::USub, Some(int), _) => Ok(Value::Int(int.checked_neg().ok_or_else(super::operator::overflow)?)),
        (UnaryOp::UAdd, Some(int), _) => Ok(Value::Int(int)),
        (UnaryOp::Invert, Some(int), _) => Ok(Value::Int(!int)),
        (UnaryOp::USub, None, Value::Float(float)) => Ok(Value::Float(-float)),
        (UnaryOp::UAdd, None, Value::Float(float)) => Ok(Value::Float(*float)),
        _ => Err(type_error(format!("bad operand type for unary {sign}: '{}'", operand.type_name()))),
    }
}
