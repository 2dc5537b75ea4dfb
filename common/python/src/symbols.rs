//! Names that CPython's compiler refuses before it runs the first line: parameters of one name, `global` and `nonlocal` that come
//! too late or lead nowhere, stars of imports in functions.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Comprehension, Expr, ExprContext, Parameters, Stmt};
use ruff_text_size::{Ranged, TextRange};
use std::collections::HashMap;

/// Returns the first refused name, and CPython's message about it.
pub(crate) fn refused(module: &[Stmt]) -> Option<(TextRange, String)> {
    let mut symbols = Symbols::default();
    symbols.scopes.push(Names { is_module: true, ..Names::default() });
    symbols.visit_body(module);
    symbols.refused
}

/// Uses of a name in a scope so far.
#[derive(Clone, Copy, Default)]
struct Seen {
    is_parameter: bool,
    is_used: bool,
    is_bound: bool,
}

#[derive(Default)]
struct Names {
    is_module: bool,
    is_function: bool,
    seen: HashMap<String, Seen>,
    /// All names that a function binds.
    bound: Vec<String>,
}

#[derive(Default)]
struct Symbols {
    scopes: Vec<Names>,
    refused: Option<(TextRange, String)>,
}

impl Symbols {
    fn refuse(&mut self, range: TextRange, text: String) {
        self.refused.get_or_insert((range, text));
    }

    fn see(&mut self, name: &str, with: impl FnOnce(&mut Seen)) {
        if let Some(names) = self.scopes.last_mut() {
            with(names.seen.entry(name.to_owned()).or_default());
        }
    }

    fn inside(&mut self, names: Names, body: impl FnOnce(&mut Self)) {
        self.scopes.push(names);
        body(self);
        self.scopes.pop();
    }

    fn declared(&mut self, name: &str, range: TextRange, how: &str) {
        let seen = self.scopes.last().and_then(|names| names.seen.get(name)).copied().unwrap_or_default();
        if seen.is_parameter {
            self.refuse(range, format!("name '{name}' is parameter and {how}"));
        } else if seen.is_used {
            self.refuse(range, format!("name '{name}' is used prior to {how} declaration"));
        } else if seen.is_bound {
            self.refuse(range, format!("name '{name}' is assigned to before {how} declaration"));
        }
    }

    fn function(&self, parameters: &Parameters, body: &[Stmt]) -> Names {
        let mut names = Names { is_function: true, ..Names::default() };
        for parameter in parameters.iter() {
            let name = parameter.name().as_str().to_owned();
            names.bound.push(name.clone());
            names.seen.insert(name, Seen { is_parameter: true, ..Seen::default() });
        }
        names.bound.extend(crate::evaluate::assigned(body).iter().map(|name| name.to_string()));
        names
    }

    fn comprehension<'a>(&mut self, generators: &'a [Comprehension], elements: &[&'a Expr]) {
        let Some((first, rest)) = generators.split_first() else { return };
        self.visit_expr(&first.iter);
        self.inside(Names::default(), |this| {
            this.visit_expr(&first.target);
            first.ifs.iter().for_each(|condition| this.visit_expr(condition));
            rest.iter().for_each(|generator| this.visit_comprehension(generator));
            elements.iter().for_each(|element| this.visit_expr(element));
        });
    }
}

impl<'a> Visitor<'a> for Symbols {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(definition) => {
                self.see(definition.name.as_str(), |seen| seen.is_bound = true);
                definition.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                self.visit_parameters(&definition.parameters);
                let names = self.function(&definition.parameters, &definition.body);
                self.inside(names, |this| this.visit_body(&definition.body));
            }
            Stmt::ClassDef(definition) => {
                self.see(definition.name.as_str(), |seen| seen.is_bound = true);
                definition.decorator_list.iter().for_each(|decorator| self.visit_decorator(decorator));
                if let Some(arguments) = &definition.arguments {
                    self.visit_arguments(arguments);
                }
                self.inside(Names::default(), |this| this.visit_body(&definition.body));
            }
            Stmt::Global(global) => {
                for name in &global.names {
                    self.declared(name.as_str(), global.range, "global");
                }
            }
            Stmt::Nonlocal(nonlocal) => {
                if self.scopes.last().is_some_and(|names| names.is_module) {
                    return self.refuse(nonlocal.range, "nonlocal declaration not allowed at module level".to_owned());
                }
                for name in &nonlocal.names {
                    self.declared(name.as_str(), nonlocal.range, "nonlocal");
                    let around = self.scopes.iter().rev().skip(1).filter(|names| names.is_function);
                    let is_bound =
                        around.into_iter().any(|names| names.bound.iter().any(|bound| bound == name.as_str()));
                    if !is_bound {
                        self.refuse(nonlocal.range, format!("no binding for nonlocal '{name}' found"));
                    }
                }
            }
            Stmt::ImportFrom(import) => {
                let is_module = self.scopes.last().is_some_and(|names| names.is_module);
                if !is_module && import.names.iter().any(|alias| alias.name.as_str() == "*") {
                    self.refuse(import.range, "import * only allowed at module level".to_owned());
                }
                for alias in &import.names {
                    let name = alias.asname.as_ref().unwrap_or(&alias.name);
                    self.see(name.as_str(), |seen| seen.is_bound = true);
                }
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.see(name.id.as_str(), |seen| match name.ctx {
                ExprContext::Load => seen.is_used = true,
                _ => seen.is_bound = true,
            }),
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.visit_parameters(parameters);
                    let names = self.function(parameters, &[]);
                    self.inside(names, |this| this.visit_expr(&lambda.body));
                } else {
                    self.inside(Names { is_function: true, ..Names::default() }, |this| this.visit_expr(&lambda.body));
                }
            }
            Expr::ListComp(comprehension) => self.comprehension(&comprehension.generators, &[&comprehension.elt]),
            Expr::SetComp(comprehension) => self.comprehension(&comprehension.generators, &[&comprehension.elt]),
            Expr::Generator(comprehension) => self.comprehension(&comprehension.generators, &[&comprehension.elt]),
            Expr::DictComp(comprehension) => {
                let mut elements: Vec<&Expr> = comprehension.key.iter().map(|key| &**key).collect();
                elements.push(&comprehension.value);
                self.comprehension(&comprehension.generators, &elements);
            }
            _ => visitor::walk_expr(self, expression),
        }
    }

    fn visit_parameters(&mut self, parameters: &'a Parameters) {
        let mut known: Vec<&str> = Vec::new();
        for parameter in parameters.iter() {
            let name = parameter.name().as_str();
            if known.contains(&name) {
                self.refuse(parameter.range(), format!("duplicate argument '{name}' in function definition"));
            }
            known.push(name);
        }
        visitor::walk_parameters(self, parameters);
    }

    /// Annotations name nothing that a function may not declare.
    fn visit_annotation(&mut self, _: &'a Expr) {}
}
