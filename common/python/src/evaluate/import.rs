//! Imports. `with read_base():` evaluates another configuration and copies what it names, as mmengine does; modules of the
//! standard library are known by name; everything else is a symbol.

use super::scope::first_part;
use super::statement::is_read_base;
use super::{Interpreter, Scope};
use crate::error::{Result, Stop};
use crate::host::Imported;
use crate::modules;
use crate::place::{FileId, Place};
use crate::value::{Dict, DictCell, Slot, Symbol, Value, config_copy};
use ruff_python_ast::{ModModule, Stmt, StmtImport, StmtImportFrom};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

impl Interpreter<'_> {
    /// Evaluates a file and gives its names.
    pub(crate) fn module(&mut self, file: FileId, tree: &ModModule) -> Result<Rc<DictCell>> {
        let globals = Rc::new(RefCell::new(Dict::default()));
        let scope = Scope::module(file, Rc::clone(&globals));
        self.importing.push(file);
        // mmengine binds what is imported from other configurations before it runs the first statement.
        let result = self.bases(&scope, tree).and_then(|()| self.block(&scope, &tree.body).map(drop));
        self.importing.pop();
        result.map(|()| globals)
    }

    fn bases(&mut self, scope: &Rc<Scope>, tree: &ModModule) -> Result<()> {
        for statement in &tree.body {
            let Stmt::With(with) = statement else { continue };
            if !is_read_base(with) {
                continue;
            }
            for statement in &with.body {
                match statement {
                    Stmt::ImportFrom(import) => self.base(scope, import)?,
                    Stmt::Pass(_) => {}
                    other => {
                        let place = Place::of(scope.file, ruff_text_size::Ranged::range(other));
                        return Err(not_an_import().at(place));
                    }
                }
            }
        }
        Ok(())
    }

    /// `from .module import names` inside `with read_base():`.
    fn base(&mut self, scope: &Rc<Scope>, import: &StmtImportFrom) -> Result<()> {
        let place = Place::of(scope.file, import.range);
        let Some(module) = &import.module else {
            let stop = Stop::new("ImportError", "`from . import x` has no configuration to read");
            return Err(stop.with_help("write `from .file import name`").at(place));
        };
        let module_place = Place::of(scope.file, module.range);
        let from = self.path(scope.file).to_owned();
        let (globals, stand_in) = match self.host.base(&from, import.level, module.as_str()) {
            Imported::Source { path, text } => (self.imported(place, path, text)?, None),
            Imported::Value { path, text, name } => (self.imported(place, path, text)?, Some(name)),
            Imported::Missing { reason, help } => {
                let stop = Stop::new("ModuleNotFoundError", reason);
                let stop = match help {
                    Some(help) => stop.with_help(help),
                    None => stop,
                };
                return Err(stop.at(module_place));
            }
        };
        // What two names of one import share is copied for each.
        for alias in &import.names {
            let at = Place::of(scope.file, alias.range);
            if alias.name.as_str() == "*" {
                let entries: Vec<_> = globals.borrow().iter().cloned().collect();
                for entry in entries {
                    let Value::Text(name) = &entry.key.value else { continue };
                    if !name.starts_with("__") {
                        let value = config_copy(&mut self.budget, &entry.slot.value, 0).map_err(|stop| stop.at(at))?;
                        scope.bind(name, Slot { value, place: entry.slot.place });
                    }
                }
                continue;
            }
            let wanted = stand_in.as_deref().unwrap_or(alias.name.as_str());
            let slot = globals.borrow().get_text(wanted).cloned();
            let Some(slot) = slot else {
                return Err(missing_name(&globals.borrow(), alias.name.as_str(), module.as_str()).at(at));
            };
            let value = config_copy(&mut self.budget, &slot.value, 0).map_err(|stop| stop.at(at))?;
            let name = alias.asname.as_ref().unwrap_or(&alias.name);
            scope.bind(name.as_str(), Slot { value, place: slot.place });
        }
        Ok(())
    }

    /// The names of a file that is imported at `place`.
    fn imported(&mut self, place: Place, path: PathBuf, text: String) -> Result<Rc<DictCell>> {
        let (file, tree) = self.add(path, text).map_err(|stop| stop.through(place))?;
        if self.importing.contains(&file) {
            let stop = Stop::new("ImportError", format!("{} imports itself", self.path(file).display()));
            return Err(stop.at(place));
        }
        self.deeper(|this| this.module(file, &tree)).map_err(|stop| stop.at(place).through(place))
    }

    pub(crate) fn import(&mut self, scope: &Rc<Scope>, import: &StmtImport) -> Result<()> {
        for alias in &import.names {
            let place = Place::of(scope.file, alias.range);
            let dotted = alias.name.as_str();
            let (name, module) = match &alias.asname {
                Some(name) => (name.as_str(), dotted),
                None => (first_part(dotted), first_part(dotted)),
            };
            let value = match modules::module(module, self.library.is_some()) {
                Some(known) => Value::Module(known),
                None => Value::Symbol(Symbol::new(module)),
            };
            scope.bind(name, Slot { value, place });
        }
        Ok(())
    }

    pub(crate) fn import_from(&mut self, scope: &Rc<Scope>, import: &StmtImportFrom) -> Result<()> {
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        let absolute = self.absolute(scope.file, import.level, module);
        for alias in &import.names {
            let place = Place::of(scope.file, alias.range);
            let name = alias.name.as_str();
            let known = if import.level == 0 { modules::module(module, self.library.is_some()) } else { None };
            let value = match known {
                Some(known) if self.library.is_some() => modules::member(self, known, name)
                    .unwrap_or_else(|| Value::Symbol(Symbol::new(format!("{module}.{name}")))),
                Some(known) => modules::member(self, known, name).ok_or_else(|| {
                    Stop::new("ImportError", format!("cannot import name '{name}' from '{module}'"))
                        .with_help("only a part of the standard library is known to configurations")
                        .at(place)
                })?,
                None if name == "*" && self.library.is_some() => {
                    self.star(scope.file, absolute.as_deref().unwrap_or(module));
                    continue;
                }
                None if name == "*" => {
                    let stop = Stop::new("ImportError", format!("`from {module} import *` has no names here"));
                    let help = "other packages are not read; configurations are imported inside `with read_base():`";
                    return Err(stop.with_help(help).at(place));
                }
                None if let Some(absolute) = &absolute => Value::Symbol(Symbol::new(format!("{absolute}.{name}"))),
                None => {
                    let dots = ".".repeat(import.level as usize);
                    Value::Symbol(Symbol::new(format!("{dots}{module}.{name}")))
                }
            };
            scope.bind(alias.asname.as_ref().unwrap_or(&alias.name).as_str(), Slot { value, place });
        }
        Ok(())
    }
}

fn not_an_import() -> Stop {
    Stop::new("", "only `from ... import ...` may stand inside `with read_base():`")
        .with_help("move this statement out of the block")
}

fn missing_name(globals: &Dict, name: &str, module: &str) -> Stop {
    let mut lists: Vec<String> = globals
        .iter()
        .filter(|entry| matches!(entry.slot.value, Value::List(_) | Value::Dict(_)))
        .filter_map(|entry| entry.key.value.as_text().map(|name| format!("`{name}`")))
        .filter(|name| !name.starts_with("`_"))
        .collect();
    lists.truncate(8);
    let stop = Stop::new("ImportError", format!("cannot import name '{name}' from '{module}'"));
    if lists.is_empty() { stop } else { stop.with_help(format!("it defines {}", lists.join(", "))) }
}
