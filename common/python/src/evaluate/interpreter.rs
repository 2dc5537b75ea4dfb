//! One evaluation: its files, its budget, and how deep it is.

use crate::error::{Result, Stop};
use crate::host::Host;
use crate::limits::{Budget, Limits, MOST_NESTED};
use crate::place::{FileId, Place, SourceFile};
use compass_diagnostic::spelling;
use foldhash::{HashMap, HashMapExt};
use ruff_python_ast::{ExprGenerator, ModExpression, ModModule};
use ruff_text_size::Ranged;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Most searches for a near name in one evaluation.
const SUGGESTIONS: u32 = 200;

/// State that the walk carries with it.
pub(crate) struct Interpreter<'h> {
    pub(crate) host: &'h dyn Host,
    pub(crate) budget: Budget,
    pub(crate) files: Vec<SourceFile>,
    /// The trees of the files, which are parsed once and evaluated at every import.
    trees: Vec<Rc<ModModule>>,
    /// Generator expressions that were evaluated, by where they are written.
    expressions: HashMap<Place, Rc<ExprGenerator>>,
    /// Files whose evaluation has begun and not ended.
    pub(crate) importing: Vec<FileId>,
    calls: u32,
    nested: u32,
    /// Number of searches for a near name that are left.
    suggestions: u32,
    /// Texts that `print` was given in configurations.
    pub(crate) printed: Vec<(Place, String)>,
    /// Variables of the environment that the evaluation has set for itself.
    pub(crate) environment: HashMap<String, String>,
    /// The end of what was printed last.
    pub(crate) printed_end: Option<Rc<str>>,
    /// With it, library code is evaluated: modules of a tree are followed.
    pub(crate) library: Option<Box<crate::library::Tree<'h>>>,
}

impl<'h> Interpreter<'h> {
    pub(crate) fn new(host: &'h dyn Host, limits: Limits) -> Self {
        Self {
            host,
            budget: Budget::new(limits),
            files: Vec::new(),
            trees: Vec::new(),
            expressions: HashMap::new(),
            importing: Vec::new(),
            calls: 0,
            nested: 0,
            suggestions: SUGGESTIONS,
            printed: Vec::new(),
            printed_end: None,
            environment: HashMap::new(),
            library: None,
        }
    }

    /// Parses a file, or finds it again.
    ///
    /// # Errors
    /// `SyntaxError` with its place.
    pub(crate) fn add(&mut self, path: PathBuf, text: String) -> Result<(FileId, Rc<ModModule>)> {
        if let Some(at) = self.files.iter().position(|file| file.path == path && file.path != Path::new("<eval>"))
            && let Some(tree) = self.trees.get(at)
        {
            return Ok((FileId(at as u32), Rc::clone(tree)));
        }
        let file = FileId(self.files.len() as u32);
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        let most = self.budget.limits().file_bytes;
        let refused = too_long(&path, text.len(), most).or_else(|| refused(&text, file));
        self.files.push(SourceFile { path, text });
        if let Some(refused) = refused {
            // Keeps the two lists alike.
            self.trees.push(Rc::new(empty_tree()));
            return Err(refused);
        }
        let text = &self.files[file.index()].text;
        match ruff_python_parser::parse_module(text) {
            Ok(parsed) => {
                let tree = Rc::new(parsed.into_syntax());
                let misplaced =
                    || crate::misplaced::misplaced(&tree.body).map(|(range, text)| (range, text.to_owned()));
                if let Some((range, text)) = crate::symbols::refused(&tree.body).or_else(misplaced) {
                    self.trees.push(Rc::new(empty_tree()));
                    return Err(Stop::new("SyntaxError", text).at(Place::of(file, range)));
                }
                self.trees.push(Rc::clone(&tree));
                Ok((file, tree))
            }
            Err(error) => {
                let (class, told, range) = crate::syntax::placed(&error, text);
                self.trees.push(Rc::new(empty_tree()));
                Err(Stop::new(class, told).at(Place::of(file, range)))
            }
        }
    }

    /// Parses the text of an `eval`, which becomes a file of its own.
    pub(crate) fn add_expression(&mut self, text: &str) -> Result<(FileId, ModExpression)> {
        let file = FileId(self.files.len() as u32);
        let refused = too_long(Path::new("<eval>"), text.len(), self.budget.limits().file_bytes);
        if let Some(refused) = refused.or_else(|| self::refused(text, file)) {
            return Err(refused);
        }
        self.budget.make(text.len())?;
        self.files.push(SourceFile { path: "<eval>".into(), text: text.to_owned() });
        self.trees.push(Rc::new(empty_tree()));
        match ruff_python_parser::parse_expression(text) {
            Ok(parsed) => Ok((file, parsed.into_syntax())),
            Err(error) => {
                let (class, told, range) = crate::syntax::placed(&error, text);
                Err(Stop::new(class, told).at(Place::of(file, range)))
            }
        }
    }

    /// Forgets the texts of `eval` that were added last.
    pub(crate) fn forget_expressions(&mut self) {
        while self.files.last().is_some_and(|file| file.path == Path::new("<eval>")) {
            self.files.pop();
            self.trees.pop();
        }
        let files = self.files.len();
        self.expressions.retain(|place, _| place.file.index() < files);
    }

    /// A generator expression apart from its file: it may be asked for elements when its statement is over.
    pub(crate) fn kept_expression(&mut self, file: FileId, written: &ExprGenerator) -> Rc<ExprGenerator> {
        let place = Place::of(file, written.range());
        Rc::clone(self.expressions.entry(place).or_insert_with(|| Rc::new(written.clone())))
    }

    pub(crate) fn path(&self, file: FileId) -> &Path {
        self.files.get(file.index()).map_or(Path::new(""), |file| &file.path)
    }

    /// A remedy that names the one of `known` that `name` is near to. Library code is not asked, and a configuration so often: what
    /// it raises may be caught in a loop.
    pub(crate) fn near<'k>(&mut self, name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
        const LONGEST: usize = 100;
        const MOST: usize = 1_000;
        if self.library.is_some() || name.len() > LONGEST || name.chars().count() < 3 {
            return None;
        }
        self.suggestions = self.suggestions.checked_sub(1)?;
        let known = known.into_iter().filter(|known| known.len() <= LONGEST && !known.starts_with("__")).take(MOST);
        spelling::nearest(name, known).map(|near| format!("did you mean `{near}`?"))
    }

    /// A variable of the environment, as the evaluation sees it.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).cloned().or_else(|| self.host.variable(name))
    }

    /// Runs `body` one call, or one import, deeper.
    pub(crate) fn deeper<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.calls >= self.budget.limits().depth {
            return Err(Stop::new("RecursionError", "maximum recursion depth exceeded"));
        }
        self.calls += 1;
        let result = body(self);
        self.calls -= 1;
        result
    }

    /// Runs `body` one expression, or one block, deeper in the tree.
    pub(crate) fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nested >= MOST_NESTED {
            return Err(Stop::new("RecursionError", "expressions lie too deep inside each other"));
        }
        self.nested += 1;
        let result = body(self);
        self.nested -= 1;
        result
    }
}

fn empty_tree() -> ModModule {
    ModModule { node_index: Default::default(), range: Default::default(), body: Default::default() }
}

fn too_long(path: &Path, bytes: usize, most: usize) -> Option<Stop> {
    let text = format!("{} has {bytes} bytes, and at most {most} are read of a configuration", path.display());
    (bytes > most).then(|| Stop::new("ValueError", text))
}

/// Refuses what is not even parsed.
fn refused(text: &str, file: FileId) -> Option<Stop> {
    let place = |range: std::ops::Range<usize>| {
        let bound = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Place { file, start: bound(range.start), end: bound(range.end) }
    };
    if let Some(at) = text.find('\0') {
        let stop = Stop::new("SyntaxError", "source code cannot contain null bytes");
        return Some(stop.at(place(at..at + 1)));
    }
    let (range, why) = crate::nesting::too_deep(text)?;
    Some(Stop::new(if why.starts_with("too many") { "SyntaxError" } else { "RecursionError" }, why).at(place(range)))
}
