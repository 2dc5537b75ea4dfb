//! The modules of a tree: found by their dotted names, evaluated lazily, their imports followed.

use super::{Library, LibrarySource};
use crate::error::{Result, Stop};
use crate::evaluate::{Arguments, Interpreter, Scope, native};
use crate::object::{self, Object};
use crate::place::{FileId, Place};
use crate::value::{Dict, DictCell, Symbol, Value};
use compass_pyfmt::PythonRandom;
use ruff_python_ast::{Expr, Stmt};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// State that an evaluation of library code holds beside the walk.
pub(crate) struct Tree<'h> {
    pub(crate) host: &'h dyn Library,
    sources: HashMap<String, Option<LibrarySource>>,
    modules: HashMap<String, Rc<Module>>,
    of_file: HashMap<usize, Rc<Module>>,
    resolved: HashMap<String, Option<Value>>,
    resolving: HashSet<String>,
    /// The generator of the module `random`, once `load` has seeded it.
    pub(crate) random: Option<PythonRandom>,
    pub(crate) patterns: HashMap<(Rc<str>, i128), Rc<Object>>,
}

/// A module that was evaluated, or is.
pub(crate) struct Module {
    name: String,
    is_package: bool,
    pub(crate) file: FileId,
    globals: Rc<DictCell>,
    /// Modules whose names it takes all, in order.
    stars: RefCell<Vec<String>>,
    /// Names whose statement could not be evaluated, with the reason.
    broken: RefCell<HashMap<String, (String, Option<Place>)>>,
}

/// Functions of the tree that are the program's own here.
const OWN: &[(&str, &str, &str)] = &[
    ("opencompass.utils.", "get_data_path", "get_data_path"),
    ("opencompass.utils.", "get_logger", "get_logger"),
    ("mmengine.", "get_logger", "get_logger"),
];

/// The error of a name that is used and has no value here.
pub(crate) fn not_evaluated(dotted: &str) -> Stop {
    let package = dotted.split('.').next().unwrap_or(dotted);
    Stop::unsupported(format!("`{dotted}` is not evaluated here: `{package}` is a package that has to be run"))
}

impl<'h> Tree<'h> {
    pub(crate) fn new(host: &'h dyn Library) -> Self {
        Self {
            host,
            sources: HashMap::new(),
            modules: HashMap::new(),
            of_file: HashMap::new(),
            resolved: HashMap::new(),
            resolving: HashSet::new(),
            random: None,
            patterns: HashMap::new(),
        }
    }

    fn source(&mut self, dotted: &str) -> Option<LibrarySource> {
        if let Some(known) = self.sources.get(dotted) {
            return known.clone();
        }
        let source = self.host.module(dotted);
        self.sources.insert(dotted.to_owned(), source.clone());
        source
    }

    /// Forgets every value: later requests evaluate the modules again.
    pub(super) fn forget(&mut self) {
        self.modules.clear();
        self.of_file.clear();
        self.resolved.clear();
        self.resolving.clear();
        self.random = None;
    }

    /// Files of the modules that were evaluated.
    pub(crate) fn evaluated(&self) -> Vec<FileId> {
        let mut files: Vec<FileId> = self.modules.values().map(|module| module.file).collect();
        files.sort_by_key(|file| file.index());
        files
    }
}

impl Interpreter<'_> {
    /// The name that an import of `level` dots means in `file`.
    pub(crate) fn absolute(&self, file: FileId, level: u32, module: &str) -> Option<String> {
        let tree = self.library.as_ref()?;
        if level == 0 {
            return Some(module.to_owned());
        }
        let own = tree.of_file.get(&file.index())?;
        inner(&own.name, own.is_package, level, module)
    }

    /// `from module import *`.
    pub(crate) fn star(&mut self, file: FileId, module: &str) {
        let own = self.library.as_ref().and_then(|tree| tree.of_file.get(&file.index()));
        if let Some(own) = own {
            own.stars.borrow_mut().push(module.to_owned());
        }
    }

    /// A name that the module of `scope` has by a star, or whose statement failed.
    pub(crate) fn library_name(&mut self, scope: &Rc<Scope>, name: &str) -> Result<Option<Value>> {
        let own = self.library.as_ref().and_then(|tree| tree.of_file.get(&scope.file.index()).cloned());
        match own {
            Some(own) => self.beyond(&own, name),
            None => Ok(None),
        }
    }

    /// Returns the value of a symbol, or the symbol itself.
    pub(crate) fn resolved(&mut self, symbol: &Symbol) -> Result<Value> {
        Ok(self.resolve(symbol.dotted())?.unwrap_or_else(|| Value::Symbol(symbol.clone())))
    }

    /// The value of a dotted name of the tree.
    pub(crate) fn resolve(&mut self, dotted: &str) -> Result<Option<Value>> {
        let Some(tree) = &mut self.library else { return Ok(None) };
        if let Some(known) = tree.resolved.get(dotted) {
            return Ok(known.clone());
        }
        let last = dotted.rsplit('.').next().unwrap_or(dotted);
        if let Some((_, _, own)) = OWN.iter().find(|(package, name, _)| dotted.starts_with(package) && *name == last) {
            return Ok(Some(native("opencompass", own)));
        }
        if !dotted.starts_with("opencompass.") || !tree.resolving.insert(dotted.to_owned()) {
            return Ok(None);
        }
        let found = self.find(dotted);
        if let Some(tree) = &mut self.library {
            tree.resolving.remove(dotted);
            if let Ok(found) = &found {
                tree.resolved.insert(dotted.to_owned(), found.clone());
            }
        }
        found
    }

    fn find(&mut self, dotted: &str) -> Result<Option<Value>> {
        let parts: Vec<&str> = dotted.split('.').collect();
        for cut in (1..parts.len()).rev() {
            let Some(module) = self.library_module(&parts[..cut].join("."))? else { continue };
            let Some(mut value) = parts.get(cut).map_or(Ok(None), |name| self.member_of(&module, name))? else {
                return Ok(None);
            };
            for name in parts.iter().skip(cut + 1) {
                value = self.attribute(&value, name)?;
            }
            return Ok(Some(value));
        }
        Ok(None)
    }

    /// A name of a module.
    fn member_of(&mut self, module: &Rc<Module>, name: &str) -> Result<Option<Value>> {
        let slot = module.globals.borrow().get_text(name).cloned();
        match slot.map(|slot| slot.value) {
            Some(Value::Symbol(symbol)) => self.resolved(&symbol).map(Some),
            Some(value) => Ok(Some(value)),
            None => self.beyond(module, name),
        }
    }

    fn beyond(&mut self, module: &Rc<Module>, name: &str) -> Result<Option<Value>> {
        if let Some((reason, place)) = module.broken.borrow().get(name) {
            let stop = Stop::unsupported(format!("`{name}` has no value here: {reason}"));
            return Err(match place {
                Some(place) => stop.at(*place),
                None => stop,
            });
        }
        if name.starts_with('_') {
            return Ok(None);
        }
        let stars: Vec<String> = module.stars.borrow().iter().rev().cloned().collect();
        for star in stars {
            if self.defines(&star, name, 0)?
                && let Some(module) = self.library_module(&star)?
                && let Some(value) = self.member_of(&module, name)?
            {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// Returns whether a module has `name`, by its text alone.
    fn defines(&mut self, dotted: &str, name: &str, depth: u32) -> Result<bool> {
        let Some(source) = self.library.as_mut().and_then(|tree| tree.source(dotted)) else { return Ok(false) };
        if depth > 8 {
            return Ok(false);
        }
        let has_stars = source.text.contains("import *");
        if !source.text.contains(name) && !has_stars {
            return Ok(false);
        }
        let Ok((_, tree)) = self.add(source.path, source.text) else { return Ok(false) };
        let mut stars = Vec::new();
        for statement in &tree.body {
            let is_it = match statement {
                Stmt::ClassDef(class) => class.name.as_str() == name,
                Stmt::FunctionDef(function) => function.name.as_str() == name,
                Stmt::Assign(assign) => {
                    assign.targets.iter().any(|target| matches!(target, Expr::Name(known) if known.id == name))
                }
                Stmt::AnnAssign(assign) => matches!(&*assign.target, Expr::Name(known) if known.id == name),
                Stmt::ImportFrom(import) if import.names.iter().any(|alias| alias.name.as_str() == "*") => {
                    let module = import.module.as_ref().map_or("", |module| module.as_str());
                    stars.push(inner(dotted, source.is_package, import.level, module));
                    false
                }
                Stmt::ImportFrom(import) => {
                    import.names.iter().any(|alias| alias.asname.as_ref().unwrap_or(&alias.name).as_str() == name)
                }
                _ => false,
            };
            if is_it {
                return Ok(true);
            }
        }
        for star in stars.into_iter().flatten() {
            if self.defines(&star, name, depth + 1)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A module, evaluated.
    ///
    /// # Errors
    /// A limit, or a file that is not Python.
    pub(crate) fn library_module(&mut self, dotted: &str) -> Result<Option<Rc<Module>>> {
        let Some(tree) = &mut self.library else { return Ok(None) };
        if let Some(module) = tree.modules.get(dotted) {
            return Ok(Some(Rc::clone(module)));
        }
        let Some(source) = tree.source(dotted) else { return Ok(None) };
        let is_package = source.is_package;
        let (file, syntax) = self.add(source.path, source.text)?;
        let module = Rc::new(Module {
            name: dotted.to_owned(),
            is_package,
            file,
            globals: Rc::new(RefCell::new(Dict::default())),
            stars: RefCell::default(),
            broken: RefCell::default(),
        });
        if let Some(tree) = &mut self.library {
            tree.modules.insert(dotted.to_owned(), Rc::clone(&module));
            tree.of_file.insert(file.index(), Rc::clone(&module));
        }
        let scope = Scope::module(file, Rc::clone(&module.globals));
        for statement in &syntax.body {
            let run = self.deeper(|this| this.block(&scope, std::slice::from_ref(statement)));
            match run {
                Ok(_) => {}
                Err(Stop::Raised(raised)) => {
                    let place = raised.place;
                    let reason = Stop::Raised(raised).told().line();
                    for name in crate::evaluate::assigned(std::slice::from_ref(statement)) {
                        module.globals.borrow_mut().remove_text(&name);
                        module.broken.borrow_mut().insert(name.to_string(), (reason.clone(), place));
                    }
                }
                Err(limit) => return Err(limit),
            }
        }
        Ok(Some(module))
    }

    /// Returns whether a decorator is of another package, or of a registry: it gives back what it is given.
    pub(crate) fn is_foreign(&self, scope: &Rc<Scope>, decorator: &Expr) -> bool {
        if self.library.is_none() {
            return false;
        }
        let mut expression = decorator;
        loop {
            match expression {
                Expr::Call(call) => expression = &call.func,
                Expr::Attribute(attribute) => expression = &attribute.value,
                Expr::Name(name) => {
                    return matches!(
                        scope.look_up(name.id.as_str()),
                        crate::evaluate::Found::Value(slot) if matches!(slot.value, Value::Symbol(_))
                    );
                }
                _ => return false,
            }
        }
    }

    /// The base of a class: evaluated where it is a loader's, a symbol where it is of another part of the package.
    pub(crate) fn base_class(&mut self, scope: &Rc<Scope>, base: &Expr) -> Result<Value> {
        if self.library.is_some()
            && let Expr::Name(name) = base
            && let crate::evaluate::Found::Value(slot) = scope.look_up(name.id.as_str())
            && let Value::Symbol(symbol) = &slot.value
            && !symbol.dotted().starts_with("opencompass.datasets")
        {
            return Ok(slot.value);
        }
        self.evaluate(scope, base)
    }

    /// Calls a name of another package.
    pub(crate) fn call_symbol(&mut self, symbol: &Symbol, arguments: Arguments) -> Result<Value> {
        let dotted = symbol.dotted();
        match self.resolve(dotted)? {
            Some(Value::Symbol(_)) | None => {}
            Some(value) => return self.call(&value, arguments),
        }
        // Loggers are configured by their own methods.
        if dotted.ends_with(".getLogger") || dotted.ends_with("get_logger") {
            return Ok(object::value(Object::Logger));
        }
        Err(not_evaluated(dotted))
    }
}

/// The module that an import of `level` dots means in the module `own`.
pub(super) fn inner(own: &str, is_package: bool, level: u32, module: &str) -> Option<String> {
    if level == 0 {
        return Some(module.to_owned());
    }
    let mut parts: Vec<&str> = own.split('.').collect();
    let up = if is_package { level - 1 } else { level };
    for _ in 0..up {
        parts.pop()?;
    }
    if !module.is_empty() {
        parts.push(module);
    }
    Some(parts.join("."))
}
