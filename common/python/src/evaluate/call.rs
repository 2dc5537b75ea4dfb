//! Calls of functions, methods and classes.

use super::statement::Flow;
use super::{Interpreter, Kind, Scope};
use crate::error::{Result, Stop, type_error};
use crate::place::Place;
use crate::value::{Body, Class, Exception, Function, Instance, Native, Slot, Symbol, Value, builtin_class};
use crate::{methods, modules};
use std::rc::Rc;

/// Arguments of a call.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    pub(crate) positional: Vec<Slot>,
    /// With the places of their names.
    pub(crate) keywords: Vec<(Rc<str>, Place, Slot)>,
    /// Place at which the call is written.
    pub(crate) place: Place,
}

impl Arguments {
    pub(crate) fn none(place: Place) -> Self {
        Self { positional: Vec::new(), keywords: Vec::new(), place }
    }

    pub(crate) fn of(positional: Vec<Slot>, place: Place) -> Self {
        Self { positional, keywords: Vec::new(), place }
    }

    /// Takes the keyword argument `name` out.
    pub(crate) fn take(&mut self, name: &str) -> Option<Slot> {
        let at = self.keywords.iter().position(|(known, _, _)| &**known == name)?;
        Some(self.keywords.remove(at).2)
    }

    /// Binds the arguments to the parameters of a built-in function, `least` of which must be there.
    ///
    /// # Errors
    /// `TypeError` for too few, too many, and unknown keywords.
    pub(crate) fn bind<const N: usize>(
        mut self,
        function: &str,
        names: [&str; N],
        least: usize,
    ) -> Result<[Option<Value>; N]> {
        let mut bound: [Option<Value>; N] = std::array::from_fn(|_| None);
        let given = self.positional.len();
        if given > N {
            let plural = if N == 1 { "" } else { "s" };
            let text = format!("{function}() takes at most {N} argument{plural} ({given} given)");
            return Err(type_error(text));
        }
        for (slot, place) in self.positional.drain(..).zip(&mut bound) {
            *place = Some(slot.value);
        }
        for (name, at, slot) in self.keywords {
            let Some(position) = names.iter().position(|known| *known == &*name) else {
                let text = format!("'{name}' is an invalid keyword argument for {function}()");
                return Err(type_error(text).at(at));
            };
            if let Some(place) = bound.get_mut(position) {
                *place = Some(slot.value);
            }
        }
        let missing = bound.iter().take(least).position(Option::is_none);
        if let Some(missing) = missing {
            let name = names.get(missing).copied().unwrap_or("");
            return Err(type_error(format!("{function}() missing required argument '{name}' (pos {})", missing + 1)));
        }
        Ok(bound)
    }
}

impl Interpreter<'_> {
    /// Calls a value.
    pub(crate) fn call(&mut self, function: &Value, arguments: Arguments) -> Result<Value> {
        self.budget.step()?;
        self.budget.container()?;
        match function {
            Value::Function(function) => self.call_function(function, arguments),
            Value::Native(native) => match builtin_class(native.name).filter(|_| native.module == "builtins") {
                Some(class) => {
                    let values = arguments.positional.into_iter().map(|slot| slot.value).collect();
                    Ok(Value::Exception(Exception::builtin(class, values)))
                }
                None => modules::call(self, *native, arguments),
            },
            Value::Method(method) => match &method.function {
                Some(function) => {
                    let mut arguments = arguments;
                    let place = arguments.place;
                    arguments.positional.insert(0, Slot { value: method.receiver.clone(), place });
                    self.call_function(function, arguments)
                }
                None => self.call_method(&method.receiver, &method.name, arguments),
            },
            Value::Partial(partial) => {
                let mut all = Arguments::of(partial.positional.clone(), arguments.place);
                all.positional.extend(arguments.positional);
                for (name, slot) in &partial.keywords {
                    if !arguments.keywords.iter().any(|(given, _, _)| given == name) {
                        all.keywords.push((Rc::clone(name), slot.place, slot.clone()));
                    }
                }
                all.keywords.extend(arguments.keywords);
                self.call(&partial.function, all)
            }
            Value::Class(class) => self.construct(class, arguments),
            Value::Instance(instance) if instance.class.member("__call__").is_some() => {
                self.call_method(function, "__call__", arguments)
            }
            Value::Symbol(symbol) if self.library.is_some() => self.call_symbol(symbol, arguments),
            Value::Object(object) => crate::object::call(self, object, arguments),
            Value::Symbol(symbol) => {
                let text =
                    format!("`{}(...)` would have to run, and nothing but this file is run here", symbol.dotted());
                Err(Stop::new("", text).finally().with_help(remedy(symbol)))
            }
            other => Err(type_error(format!("'{}' object is not callable", other.type_name()))),
        }
    }

    /// Calls the method `name` of `receiver`.
    pub(crate) fn call_method(&mut self, receiver: &Value, name: &str, arguments: Arguments) -> Result<Value> {
        match receiver {
            Value::Object(object) => crate::object::call_method(self, object, name, arguments),
            Value::Module(_)
            | Value::Symbol(_)
            | Value::Class(_)
            | Value::Instance(_)
            | Value::Native(_)
            | Value::Exception(_) => {
                if let Value::Instance(_) = receiver
                    && modules::is_object_method(receiver, name)
                {
                    return modules::call_object_method(self, receiver, name, arguments);
                }
                let function = self.attribute(receiver, name)?;
                self.call(&function, arguments)
            }
            Value::Dict(dict) if dict.borrow().config && dict.borrow().get_text(name).is_some() => {
                let function = self.attribute(receiver, name)?;
                self.call(&function, arguments)
            }
            _ => methods::call(self, receiver, name, arguments),
        }
    }

    pub(crate) fn call_function(&mut self, function: &Rc<Function>, arguments: Arguments) -> Result<Value> {
        let scope = Scope::inside(&function.scope, Kind::Function, Rc::clone(&function.locals));
        bind_parameters(function, arguments, &scope)?;
        *scope.method.borrow_mut() = function.method();
        if function.is_generator {
            let generator = super::generator::Generator::new(function, scope);
            return Ok(Value::iterating(super::Items::Generator(Box::new(generator))));
        }
        self.deeper(|this| match &function.body {
            Body::Expression(expression) => this.evaluate(&scope, expression),
            Body::Statements(statements) => {
                let flow = this.block(&scope, statements)?;
                Ok(match flow {
                    Flow::Return(slot) => slot.value,
                    _ => Value::None,
                })
            }
        })
    }

    fn construct(&mut self, class: &Rc<Class>, arguments: Arguments) -> Result<Value> {
        if class.is_enum() {
            let [value] = arguments.bind(&class.name, ["value"], 1)?;
            return super::enumeration::by_value(class, &value.unwrap_or(Value::None));
        }
        if let [first, ..] = class.abstract_names.as_slice() {
            let (plural, names) = match class.abstract_names.len() {
                1 => ("", first.to_string()),
                _ => ("s", class.abstract_names.join(", ")),
            };
            let text = format!("Can't instantiate abstract class {} with abstract method{plural} {names}", class.name);
            return Err(type_error(text));
        }
        if let Some(special) = NOT_EVALUATED.iter().find(|name| class.member(name).is_some()) {
            return Err(Stop::unsupported(format!("a class with `{special}` ({}) is not evaluated here", class.name)));
        }
        if let Some(builtin) = class.exception() {
            let mut given = arguments.clone();
            let values = arguments.positional.into_iter().map(|slot| slot.value).collect();
            let exception = Exception {
                builtin,
                class: Some(Rc::clone(class)),
                arguments: std::cell::RefCell::new(values),
                attributes: Default::default(),
            };
            let exception = Value::Exception(Rc::new(exception));
            if let Some(Value::Function(init)) = class.member("__init__") {
                let place = given.place;
                given.positional.insert(0, Slot { value: exception.clone(), place });
                self.call_function(&init, given)?;
            }
            return Ok(exception);
        }
        let foreign = class.bases.iter().find(|base| matches!(base, Value::Symbol(_)));
        if let Some(Value::Symbol(base)) = foreign.filter(|_| class.member("__init__").is_none()) {
            let text = format!("`{}` stands on `{}`, which is not evaluated here", class.name, base.dotted());
            return Err(Stop::unsupported(text));
        }
        let instance = Instance { class: Rc::clone(class), attributes: Default::default() };
        let value = Value::Instance(Rc::new(instance));
        match class.member("__init__") {
            Some(Value::Function(init)) => {
                let mut arguments = arguments;
                let place = arguments.place;
                arguments.positional.insert(0, Slot { value: value.clone(), place });
                self.call_function(&init, arguments)?;
            }
            _ if arguments.positional.is_empty() && arguments.keywords.is_empty() => {}
            _ => return Err(type_error(format!("{}() takes no arguments", class.name))),
        }
        Ok(value)
    }
}

/// Special methods that change what an object of a class is, and are not evaluated here.
const NOT_EVALUATED: &[&str] = &["__new__", "__setattr__", "__delattr__", "__getattribute__", "__init_subclass__"];

/// Says what to write in place of a call of something that is not evaluated: a class is named, a function is called for its value.
fn remedy(symbol: &Symbol) -> String {
    let last = symbol.last();
    if last.starts_with(char::is_uppercase) {
        return format!("configurations name what is to be used, they do not call it: write `dict(type={last}, ...)`");
    }
    let module = symbol.dotted().rsplit_once('.').map_or(last, |(module, _)| module);
    format!(
        "only a part of the standard library is known here, and `{module}` is not, so that its names stand for themselves: \
         write the value in place of the call, or name a Python that evaluates the file: --python PATH"
    )
}

/// Gives every parameter of `function` its value.
fn bind_parameters(function: &Function, arguments: Arguments, scope: &Scope) -> Result<()> {
    let parameters = &function.parameters;
    let name = &function.name;
    let mut positional = arguments.positional.into_iter();
    let mut keywords = arguments.keywords;
    let mut missing = Vec::new();
    let default =
        |name: &str| function.defaults.iter().find(|(known, _)| &**known == name).map(|(_, slot)| slot.clone());
    let accepted = parameters.posonlyargs.len() + parameters.args.len();
    let given = positional.len();
    for (at, parameter) in parameters.posonlyargs.iter().chain(&parameters.args).enumerate() {
        let own = parameter.parameter.name.as_str();
        let keyword = (at >= parameters.posonlyargs.len())
            .then(|| keywords.iter().position(|(known, _, _)| &**known == own))
            .flatten();
        let slot = match (positional.next(), keyword) {
            (Some(_), Some(_)) => return Err(type_error(format!("{name}() got multiple values for argument '{own}'"))),
            (Some(slot), None) => Some(slot),
            (None, Some(at)) => Some(keywords.remove(at).2),
            (None, None) => default(own),
        };
        match slot {
            Some(slot) => scope.bind(own, slot),
            None => missing.push(format!("'{own}'")),
        }
    }
    let rest: Vec<Slot> = positional.collect();
    match &parameters.vararg {
        Some(vararg) => {
            let slot = Slot { value: Value::Tuple(rest.into()), place: arguments.place };
            scope.bind(vararg.name.as_str(), slot);
        }
        None if !rest.is_empty() => {
            let plural = if accepted == 1 { "" } else { "s" };
            let were = if given == 1 { "was" } else { "were" };
            let has_none = |parameter: &&ruff_python_ast::ParameterWithDefault| parameter.default.is_none();
            let least = parameters.posonlyargs.iter().chain(&parameters.args).filter(has_none).count();
            let takes = match least == accepted {
                true => format!("{accepted}"),
                false => format!("from {least} to {accepted}"),
            };
            let text = format!("{name}() takes {takes} positional argument{plural} but {given} {were} given");
            return Err(type_error(text));
        }
        None => {}
    }
    for parameter in &parameters.kwonlyargs {
        let own = parameter.parameter.name.as_str();
        let keyword = keywords.iter().position(|(known, _, _)| &**known == own);
        match keyword.map(|at| keywords.remove(at).2).or_else(|| default(own)) {
            Some(slot) => scope.bind(own, slot),
            None => missing.push(format!("'{own}'")),
        }
    }
    match &parameters.kwarg {
        Some(kwarg) => {
            let mut dict = crate::value::Dict::default();
            for (key, at, slot) in keywords {
                dict.insert_text(&key, at, slot);
            }
            scope.bind(kwarg.name.as_str(), Slot { value: Value::dict(dict), place: arguments.place });
        }
        None => {
            if let Some((keyword, at, _)) = keywords.first() {
                return Err(type_error(format!("{name}() got an unexpected keyword argument '{keyword}'")).at(*at));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let plural = if missing.len() == 1 { "" } else { "s" };
    let listed = match missing.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => missing.concat(),
    };
    let text = format!("{name}() missing {} required positional argument{plural}: {listed}", missing.len());
    Err(type_error(text))
}

/// A built-in function as a value.
pub(crate) const fn native(module: &'static str, name: &'static str) -> Value {
    Value::Native(Native { module, name })
}
