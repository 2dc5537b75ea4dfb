//! A function with all the source that it can reach, and nothing else of its tree.
//!
//! The closure keeps the statements of every needed module that bind what is used, in their order; the rest of the tree may change
//! without a change of what the function is. Other packages than the tree and the modules known here are refused before
//! anything runs, by their place: a function that needs them would fail on some answers only.

use super::load::line_column;
use super::tree::inner;
use super::{LibraryFault, LibrarySource};
use crate::modules;
use compass_types::function::{FunctionSource, ModulePart};
use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Decorator, Expr, Stmt};
use ruff_text_size::Ranged;
use std::collections::{BTreeMap, BTreeSet};

/// The tree, as a function from the dotted name of a module to its file.
pub type Modules<'m> = &'m dyn Fn(&str) -> Option<LibrarySource>;

/// Most names that one function may reach.
const MOST_NAMES: usize = 4_000;
/// Modules that re-export a name, one from another.
const MOST_HOPS: usize = 16;

/// The function `dotted` of the tree.
///
/// # Errors
/// The tree does not have the function; it needs a package that is not read; a file is not Python.
pub fn trace_function(dotted: &str, tree: Modules<'_>) -> Result<FunctionSource, LibraryFault> {
    let mut closure = Closure { tree, modules: BTreeMap::new(), open: Vec::new() };
    let Some((module, name)) = dotted.rsplit_once('.') else {
        return Err(LibraryFault::plain(format!("`{dotted}` names no module")));
    };
    let (module, name) = closure.defined(module, name)?.ok_or_else(|| no_function(dotted))?;
    let body = &closure.modules[&module].body;
    if !body.iter().any(|statement| matches!(statement, Stmt::FunctionDef(function) if function.name.as_str() == name))
    {
        return Err(LibraryFault::plain(format!("`{dotted}` is not a function")));
    }
    closure.open.push((module.clone(), name.clone()));
    closure.run()?;
    Ok(FunctionSource { name: format!("{module}.{name}"), modules: closure.parts() })
}

fn no_function(dotted: &str) -> LibraryFault {
    LibraryFault {
        help: Some("name the tree with --opencompass DIR, the folder that holds the package `opencompass`".into()),
        ..LibraryFault::plain(format!("no OpenCompass tree that is known has a function `{dotted}`"))
    }
}

/// A module that was parsed, and what of it is kept.
struct Parsed {
    source: LibrarySource,
    body: Vec<Stmt>,
    kept: BTreeSet<usize>,
    /// Imports of single names, as statements.
    imports: BTreeSet<String>,
    names: BTreeSet<String>,
}

struct Closure<'m> {
    tree: Modules<'m>,
    modules: BTreeMap<String, Parsed>,
    /// Names that are needed and not yet looked at.
    open: Vec<(String, String)>,
}

impl Closure<'_> {
    /// Returns whether the tree has this module; it is parsed then.
    fn has(&mut self, dotted: &str) -> Result<bool, LibraryFault> {
        if self.modules.contains_key(dotted) {
            return Ok(true);
        }
        let Some(source) = (self.tree)(dotted) else { return Ok(false) };
        let text = source.text.trim_start_matches('\u{feff}').to_owned();
        if let Some((_, why)) = crate::nesting::too_deep(&text) {
            return Err(LibraryFault::plain(format!("{}: {why}", source.path.display())));
        }
        let parsed = ruff_python_parser::parse_module(&text).map_err(|error| LibraryFault {
            place: Some({
                let (line, column) = line_column(&text, error.location.start().to_u32());
                (source.path.clone(), line, column)
            }),
            class: "SyntaxError".into(),
            ..LibraryFault::plain(error.error.to_string())
        })?;
        let body = parsed.into_syntax().body.into_iter().collect();
        let source = LibrarySource { text, ..source };
        let parsed = Parsed { source, body, kept: BTreeSet::new(), imports: BTreeSet::new(), names: BTreeSet::new() };
        self.modules.insert(dotted.to_owned(), parsed);
        Ok(true)
    }

    /// Finds where a name of a module is defined: there, or where it is re-exported from.
    fn defined(&mut self, module: &str, name: &str) -> Result<Option<(String, String)>, LibraryFault> {
        let (mut module, mut name) = (module.to_owned(), name.to_owned());
        for _ in 0..MOST_HOPS {
            if !self.has(&module)? {
                return Ok(None);
            }
            match self.binding(&module, &name)? {
                Some(Binding::Here) => return Ok(Some((module, name))),
                Some(Binding::Import { module: from, name: Some(imported) }) => (module, name) = (from, imported),
                Some(Binding::Import { .. }) | None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Finds what binds `name` at the level of a module: the last statement that does, else a star.
    fn binding(&mut self, module: &str, name: &str) -> Result<Option<Binding>, LibraryFault> {
        self.binding_beyond(module, name, &mut BTreeSet::new())
    }

    /// The same; modules in `seen` take all names of each other, and are not asked again.
    fn binding_beyond(
        &mut self,
        module: &str,
        name: &str,
        seen: &mut BTreeSet<String>,
    ) -> Result<Option<Binding>, LibraryFault> {
        if !seen.insert(module.to_owned()) {
            return Ok(None);
        }
        let Some(parsed) = self.modules.get(module) else { return Ok(None) };
        let (is_package, mut stars) = (parsed.source.is_package, Vec::new());
        let mut found = None;
        for statement in &parsed.body {
            match statement {
                Stmt::ImportFrom(import) => {
                    let from = import.module.as_ref().map_or("", |module| module.as_str());
                    let Some(from) = inner(module, is_package, import.level, from) else { continue };
                    for alias in &import.names {
                        if alias.name.as_str() == "*" {
                            stars.push(from.clone());
                        } else if alias.asname.as_ref().unwrap_or(&alias.name).as_str() == name {
                            found = Some(Binding::Import { module: from.clone(), name: Some(alias.name.to_string()) });
                        }
                    }
                }
                Stmt::Import(import) => {
                    for alias in &import.names {
                        let dotted = alias.name.as_str();
                        let (bound, meant) = match &alias.asname {
                            Some(bound) => (bound.as_str(), dotted),
                            None => {
                                let first = dotted.split('.').next().unwrap_or(dotted);
                                (first, first)
                            }
                        };
                        if bound == name {
                            found = Some(Binding::Import { module: meant.to_owned(), name: None });
                        }
                    }
                }
                other if binds(other, name) => found = Some(Binding::Here),
                _ => {}
            }
        }
        if found.is_none() {
            for star in stars.into_iter().rev() {
                if !star.starts_with(TREE) || !self.has(&star)? {
                    continue;
                }
                if self.binding_beyond(&star, name, seen)?.is_some() {
                    return Ok(Some(Binding::Import { module: star, name: Some(name.to_owned()) }));
                }
            }
        }
        Ok(found)
    }

    fn run(&mut self) -> Result<(), LibraryFault> {
        let mut count = 0;
        while let Some((module, name)) = self.open.pop() {
            let parsed = self.modules.get_mut(&module);
            if !parsed.is_some_and(|parsed| parsed.names.insert(name.clone())) {
                continue;
            }
            count += 1;
            if count > MOST_NAMES {
                return Err(LibraryFault::plain(format!("it reaches more than {MOST_NAMES} names")));
            }
            match self.binding(&module, &name)? {
                // A built-in function, or a name of a function's own.
                None => {}
                Some(Binding::Here) => self.keep(&module, &name)?,
                Some(Binding::Import { module: from, name: imported }) => {
                    self.import(&module, &name, &from, imported.as_deref())?;
                }
            }
        }
        Ok(())
    }

    /// Keeps the statements that bind `name`, and those that change it, with all that they mention.
    fn keep(&mut self, module: &str, name: &str) -> Result<(), LibraryFault> {
        let Some(parsed) = self.modules.get_mut(module) else { return Ok(()) };
        let mut mentions = Mentions::default();
        for (at, statement) in parsed.body.iter().enumerate() {
            let is_part = binds(statement, name) || changes(statement, name);
            if is_part && parsed.kept.insert(at) {
                mentions.visit_stmt(statement);
            }
        }
        let is_package = parsed.source.is_package;
        if let Some(run) = RUN.iter().find(|run| mentions.used.contains(**run)) {
            return Err(LibraryFault::plain(format!("it runs what an answer says (`{run}`)")));
        }
        self.open.extend(mentions.used.into_iter().map(|used| (module.to_owned(), used)));
        for foreign in mentions.foreign {
            // Decorators register, and annotations say: neither is run.
            if let Some(Binding::Import { module: from, name }) = self.binding(module, &foreign)?
                && let Some(parsed) = self.modules.get_mut(module)
            {
                parsed.imports.insert(import_line(&foreign, &from, name.as_deref()));
            }
        }
        for (level, from, name) in mentions.imported {
            let Some(from) = inner(module, is_package, level, &from) else { continue };
            self.follow(module, &from, name.as_deref())?;
        }
        Ok(())
    }

    /// Keeps an import of one name, and what it names.
    fn import(&mut self, module: &str, bound: &str, from: &str, name: Option<&str>) -> Result<(), LibraryFault> {
        if let Some(parsed) = self.modules.get_mut(module) {
            parsed.imports.insert(import_line(bound, from, name));
        }
        self.follow(module, from, name)
    }

    /// Follows an import to what it names: a known module, or a part of the tree.
    fn follow(&mut self, module: &str, from: &str, name: Option<&str>) -> Result<(), LibraryFault> {
        let reads_files = FILES.contains(&from);
        if name == Some("get_logger") || !reads_files && modules::module(from, true).is_some() {
            return Ok(());
        }
        if reads_files || name == Some("get_data_path") {
            return Err(LibraryFault::plain(format!("it reads files with `{}`", name.unwrap_or(from))));
        }
        if !from.starts_with(TREE) {
            let package = from.split('.').next().unwrap_or(from);
            let what = name.map_or_else(|| from.to_owned(), |name| format!("{from}.{name}"));
            let file = self.modules.get(module).map(|parsed| parsed.source.path.clone()).unwrap_or_default();
            let file = file.file_name().unwrap_or_default().display().to_string();
            let text = format!("it needs `{what}` ({file}): `{package}` is a package that has to be run");
            return Err(LibraryFault::plain(text));
        }
        if let Some(name) = name
            && self.has(from)?
            && self.binding(from, name)?.is_some()
        {
            self.open.push((from.to_owned(), name.to_owned()));
            return Ok(());
        }
        let whole = name.map_or_else(|| from.to_owned(), |name| format!("{from}.{name}"));
        if self.has(&whole)? {
            let names: Vec<String> = self.modules[&whole].body.iter().flat_map(bound_names).collect();
            self.open.extend(names.into_iter().map(|name| (whole.clone(), name)));
            return Ok(());
        }
        Err(LibraryFault::plain(format!("the tree has no `{whole}`, which it needs")))
    }

    fn parts(self) -> Vec<ModulePart> {
        let part = |(name, parsed): (String, Parsed)| {
            let statements = parsed.kept.iter().filter_map(|at| parsed.body.get(*at));
            let statements = statements.filter_map(|statement| parsed.source.text.get(whole_range(statement)));
            let lines: Vec<&str> = parsed.imports.iter().map(String::as_str).chain(statements).collect();
            let text = lines.join("\n");
            (!text.is_empty()).then(|| ModulePart { name, is_package: parsed.source.is_package, text: text + "\n" })
        };
        self.modules.into_iter().filter_map(part).collect()
    }
}

/// The package whose modules are followed.
const TREE: &str = "opencompass.";

/// Modules of files: an answer is judged by its text alone.
const FILES: &[&str] = &["csv", "datasets", "glob", "pathlib"];

/// Functions that run a text.
const RUN: &[&str] = &["eval", "exec"];

enum Binding {
    /// By a statement of the module.
    Here,
    /// By an import; without a name, of the module itself.
    Import { module: String, name: Option<String> },
}

/// With its decorators, which a definition's own range has not.
fn whole_range(statement: &Stmt) -> std::ops::Range<usize> {
    let range = statement.range();
    let decorators = match statement {
        Stmt::FunctionDef(function) => &function.decorator_list,
        Stmt::ClassDef(class) => &class.decorator_list,
        _ => return range.start().to_usize()..range.end().to_usize(),
    };
    let start = decorators.first().map_or(range.start(), |first| first.range().start().min(range.start()));
    start.to_usize()..range.end().to_usize()
}

fn import_line(bound: &str, from: &str, name: Option<&str>) -> String {
    match name {
        Some(name) if name == bound => format!("from {from} import {name}"),
        Some(name) => format!("from {from} import {name} as {bound}"),
        None if from == bound => format!("import {from}"),
        None => format!("import {from} as {bound}"),
    }
}

fn bound_names(statement: &Stmt) -> Vec<String> {
    match statement {
        Stmt::FunctionDef(function) => vec![function.name.to_string()],
        Stmt::ClassDef(class) => vec![class.name.to_string()],
        other => crate::evaluate::assigned(std::slice::from_ref(other)).iter().map(|name| name.to_string()).collect(),
    }
}

/// Returns whether a statement that is not an import binds `name`.
fn binds(statement: &Stmt, name: &str) -> bool {
    match statement {
        Stmt::FunctionDef(function) => function.name.as_str() == name,
        Stmt::ClassDef(class) => class.name.as_str() == name,
        Stmt::Import(_) | Stmt::ImportFrom(_) => false,
        other => crate::evaluate::assigned(std::slice::from_ref(other)).contains(name),
    }
}

/// Returns whether a statement may change the value of `name`: `X.append(1)`, `X["a"] = 1`, a loop that fills it.
fn changes(statement: &Stmt, name: &str) -> bool {
    let mut mentions = Mentions::default();
    match statement {
        Stmt::FunctionDef(_) | Stmt::ClassDef(_) | Stmt::Import(_) | Stmt::ImportFrom(_) => return false,
        Stmt::Assign(assign) => assign.targets.iter().for_each(|target| mentions.visit_expr(target)),
        Stmt::AnnAssign(_) => return false,
        other => mentions.visit_stmt(other),
    }
    // What runs only when the file is a program.
    mentions.used.contains(name) && !mentions.used.contains("__name__")
}

/// The names that a statement mentions.
#[derive(Default)]
struct Mentions {
    used: BTreeSet<String>,
    /// Names of decorators and annotations.
    foreign: BTreeSet<String>,
    /// Imports inside of functions: level, module, name.
    imported: Vec<(u32, String, Option<String>)>,
}

impl<'a> Visitor<'a> for Mentions {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    self.imported.push((0, alias.name.to_string(), None));
                }
            }
            Stmt::ImportFrom(import) => {
                let module = import.module.as_ref().map(|module| module.to_string()).unwrap_or_default();
                for alias in &import.names {
                    self.imported.push((import.level, module.clone(), Some(alias.name.to_string())));
                }
            }
            _ => visitor::walk_stmt(self, statement),
        }
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        if let Expr::Name(name) = expression {
            self.used.insert(name.id.to_string());
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_annotation(&mut self, expression: &'a Expr) {
        let mut inner = Self::default();
        visitor::walk_expr(&mut inner, expression);
        if let Expr::Name(name) = expression {
            self.foreign.insert(name.id.to_string());
        }
        self.foreign.extend(inner.used);
    }

    fn visit_decorator(&mut self, decorator: &'a Decorator) {
        let mut inner = Self::default();
        inner.visit_expr(&decorator.expression);
        self.foreign.extend(inner.used);
    }
}
