//! Collecting what is wrong, all of it, with where it stands.

use super::environment::Environment;
use super::missing_files::DataFiles;
use crate::syntax::source::{FileId, Preset, Reading, Shipped, Sources, Span};
use crate::syntax::tree::{Node, Value};
use compass_diagnostic::{Diagnostic, Diagnostics, Severity};
use compass_postprocess::Postprocessor;
use compass_settings::{LeftOut, left_out_groups, left_out_line};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The state of one check of one configuration.
#[derive(Debug, Default)]
pub(crate) struct Check {
    pub(crate) sources: Sources,
    pub(crate) environment: Environment,
    /// Set if the tables being read are not part of this job: a team's base may define models whose files are
    /// elsewhere, or of a kind that is not yet served. Their keys and types are checked all the same.
    pub(crate) unselected: bool,
    /// Part of the table being read that is not there and is not needed, in words.
    pub(crate) absent: Option<String>,
    /// Presets that were read, by their files.
    pub(crate) presets: BTreeMap<FileId, Preset>,
    /// The files with data that were looked for.
    pub(crate) files: DataFiles,
    /// Everything that is left out.
    pub(crate) left_out: Vec<LeftOut>,
    /// Place of each of them.
    pub(crate) left_out_at: Vec<Option<Span>>,
    /// Postprocessors of the user's OpenCompass by name and parameters, or why they are not evaluated; `None` where no tree has
    /// one of that name.
    pub(crate) functions: BTreeMap<(String, String), Option<Result<Postprocessor, String>>>,
    /// The table that is being read.
    pub(crate) reading: Option<Reading>,
    /// Keys of configurations in Python that are accepted and not needed here.
    unneeded: Vec<(String, Span)>,
    found: Vec<Found>,
}

/// A finding with its place.
#[derive(Debug, PartialEq)]
struct Found {
    span: Option<Span>,
    diagnostic: Diagnostic,
    /// Set if it is no mistake, but something that this program does not do.
    is_unserved: bool,
}

impl Check {
    pub(crate) fn new(home: Option<PathBuf>) -> Self {
        Self { environment: Environment { home, ..Environment::default() }, ..Self::default() }
    }

    /// Something is wrong; nothing will be started.
    pub(crate) fn report(&mut self, span: Option<Span>, message: String, help: Option<String>) {
        self.push(Severity::Error, span, message, help);
    }

    /// Something that a run needs is not there: an error, a note where nothing will be started, or nothing at all where results
    /// are only scored. Whether the table is right without it.
    pub(crate) fn needed(&mut self, span: Span, message: String, help: Option<String>) -> bool {
        if self.environment.scores_only {
            self.absent.get_or_insert(message);
            return true;
        }
        if self.environment.plans_only {
            self.push(Severity::Note, Some(span), format!("a run would be refused: {message}"), help);
        } else {
            self.error(span, message, help);
        }
        self.environment.plans_only
    }

    /// As [`Check::report`], at a place in a file.
    pub(crate) fn error(&mut self, span: Span, message: String, help: Option<String>) {
        self.report(Some(span), message, help);
    }

    /// Something to know; the run goes on.
    pub(crate) fn note(&mut self, span: Span, message: String, help: &str) {
        if !self.unselected {
            self.push(Severity::Note, Some(span), message, Some(help.into()));
        }
    }

    /// A key that is accepted and not needed here: `message` and `help` say it of a file in TOML. Of configurations in Python,
    /// which run as they are, one note names all of them.
    pub(crate) fn unneeded(&mut self, span: Span, what: &str, message: String, help: &str) {
        let is_python = self.sources.path(span.file).extension().is_some_and(|kind| kind.eq_ignore_ascii_case("py"));
        match (is_python, self.unselected) {
            (true, false) => self.unneeded.push((what.to_owned(), span)),
            (true, true) => {}
            (false, _) => self.note(span, message, help),
        }
    }

    /// The contract names it; a later version serves it.
    pub(crate) fn not_yet(&mut self, span: Span, what: &str, help: &str) {
        if !self.unselected {
            self.error(span, format!("{what} is not yet supported"), Some(help.into()));
            self.last_is_unserved();
        }
    }

    /// A name that is not known. In Python it is that of a class or a function, which was imported: no misspelling as a rule.
    pub(crate) fn unknown_class(&mut self, span: Span, message: String, help: String) {
        self.error(span, message, Some(help));
        let is_python = self.sources.path(span.file).extension().is_some_and(|kind| kind.eq_ignore_ascii_case("py"));
        if is_python && !self.sources.is_preset(span.file) {
            self.last_is_unserved();
        }
    }

    fn last_is_unserved(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.is_unserved = true;
        }
    }

    /// As [`Check::not_yet`] for the value of `key`, which is quoted as written.
    pub(crate) fn value_not_yet(&mut self, key: &str, node: &Node, help: &str) {
        let what = self.quoted(key, node);
        self.not_yet(node.span, &what, help);
    }

    /// `key` does not hold what it takes; `takes` has an article, `example` is a right hand side.
    pub(crate) fn wrong_type(&mut self, key: &str, node: &Node, takes: &str, example: &str) {
        let source = self.sources.slice(node.span).to_owned();
        let bare = source.trim_matches(['"', '\'']);
        let help = match &node.value {
            Value::Integer(_) | Value::Float(_) | Value::Boolean(_) if takes == "a string" => {
                format!("write `{key} = \"{source}\"`, in quotes")
            }
            Value::String(text) if takes.contains("whole number") && bare == text && text.parse::<i64>().is_ok() => {
                format!("write `{key} = {text}`, without quotes")
            }
            // A whole number as Python writes a float.
            Value::Float(number) if takes.contains("whole number") && number.fract() == 0.0 && number.abs() < 1e15 => {
                format!("write `{key} = {number:.0}`")
            }
            Value::String(text) if takes.contains("boolean") && (text == "true" || text == "false") => {
                format!("write `{key} = {text}`, without quotes")
            }
            Value::String(_) if takes == "an array of strings" => format!("write `{key} = [{source}]`"),
            _ => format!("write `{key} = {example}`"),
        };
        self.error(node.span, format!("`{key}` takes {takes}, found {}", node.kind()), Some(help));
    }

    /// An array of strings, each with its place; `None` when it is none, which is reported.
    pub(crate) fn texts(&mut self, key: &str, node: &Node) -> Option<Vec<(String, Span)>> {
        let Value::Array(items) = &node.value else {
            self.wrong_type(key, node, "an array of strings", "[\"...\"]");
            return None;
        };
        let mut texts = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match item.text() {
                Some(text) => texts.push((text.to_owned(), item.span)),
                None => {
                    let message = format!("`{key}[{at}]` takes a string, found {}", item.kind());
                    self.error(item.span, message, Some(format!("write `{key} = [\"...\"]`, each in quotes")));
                }
            }
        }
        (texts.len() == items.len()).then_some(texts)
    }

    /// `key = value` in backquotes as written, or the key alone when the value is long.
    pub(crate) fn quoted(&self, key: &str, node: &Node) -> String {
        let source = self.sources.slice(node.span);
        let short = !source.is_empty() && source.chars().count() <= 60 && !source.contains('\n');
        if short && !source.starts_with('[') { format!("`{key} = {source}`") } else { format!("`{key}`") }
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.files.lacks_any() || self.found.iter().any(|found| found.diagnostic.is_error())
    }

    /// As [`Check::note`], of what stands in no file.
    pub(crate) fn tell(&mut self, message: String, help: &str) {
        self.tell_at(None, message, help);
    }

    /// As [`Check::tell`], at a place where there is one.
    pub(crate) fn tell_at(&mut self, span: Option<Span>, message: String, help: &str) {
        self.push(Severity::Note, span, message, Some(help.into()));
    }

    /// Returns the number of findings.
    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    /// The errors beyond the first `before` findings, and whether each is of something that is not served.
    pub(crate) fn errors_since(&self, before: usize) -> impl Iterator<Item = (&Diagnostic, bool)> {
        let since = self.found.iter().skip(before).filter(|found| found.diagnostic.is_error());
        since.map(|found| (&found.diagnostic, found.is_unserved))
    }

    /// Drops these errors.
    pub(crate) fn forget_errors_since(&mut self, before: usize) {
        let since = self.found.split_off(before);
        self.found.extend(since.into_iter().filter(|found| !found.diagnostic.is_error()));
    }

    /// Drops all of these findings.
    pub(crate) fn forget_since(&mut self, before: usize) {
        self.found.truncate(before);
    }

    /// Drops all of these findings but errors of what is not served.
    pub(crate) fn keep_unserved_since(&mut self, before: usize) {
        let since = self.found.split_off(before);
        self.found.extend(since.into_iter().filter(|found| found.diagnostic.is_error() && found.is_unserved));
    }

    /// Adds a remedy to these errors, where they are in Python.
    pub(crate) fn add_help_since(&mut self, before: usize, help: &str) {
        for found in self.found.iter_mut().skip(before).filter(|found| found.diagnostic.is_error()) {
            let path = found.span.map(|span| self.sources.path(span.file));
            if path.and_then(std::path::Path::extension).is_some_and(|kind| kind.eq_ignore_ascii_case("py")) {
                let before = found.diagnostic.help.take().map_or(String::new(), |before| before + "; ");
                found.diagnostic.help = Some(before + help);
            }
        }
    }

    /// The notes, or the errors when there are any; by file and position, each once.
    pub(crate) fn finish(mut self) -> Result<Vec<Diagnostic>, Diagnostics> {
        self.tell_left_out();
        self.tell_unneeded();
        for file in std::mem::take(&mut self.files).each() {
            self.reading = file.reading;
            self.report(Some(file.span), file.message, Some(file.help));
        }
        self.reading = None;
        self.found.sort_by_key(|found| (found.span.is_none(), found.span));
        self.found.dedup();
        let (errors, notes): (Vec<_>, Vec<_>) =
            self.found.into_iter().map(|found| found.diagnostic).partition(Diagnostic::is_error);
        if errors.is_empty() { Ok(notes) } else { Err(Diagnostics::nothing_started(errors)) }
    }

    fn tell_left_out(&mut self) {
        let places = std::mem::take(&mut self.left_out_at);
        let left_out = std::mem::take(&mut self.left_out);
        for group in left_out_groups(&left_out) {
            let span = group.first().and_then(|(at, _)| places.get(*at).copied().flatten());
            let them = if group.len() == 1 { "it" } else { "them" };
            self.tell_at(span, left_out_line(&group), &format!("the job runs without {them}, and its exit code is 1"));
        }
    }

    fn tell_unneeded(&mut self) {
        let unneeded = std::mem::take(&mut self.unneeded);
        let Some((_, first)) = unneeded.first() else { return };
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in &unneeded {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let (are, they) = if names.len() == 1 { ("is", "it") } else { ("are", "they") };
        let help = format!(
            "{they} may stay in the file: no answer and no score depends on {}",
            if they == "it" { "it" } else { "them" }
        );
        self.tell_at(Some(*first), format!("{} {are} not needed here", names.join(", ")), &help);
    }

    /// Returns the name by which the user knows a place of the program's own files.
    fn named_shipped(&self, shipped: &Shipped, span: Span) -> Option<String> {
        let reading = self.reading.as_ref().map(|reading| reading.name.as_str()).filter(|name| !name.is_empty());
        Some(match (shipped, reading) {
            (Shipped::Preset(name), _) => format!("`{name}`, which comes with the program"),
            (Shipped::Loaders, Some(name)) => format!("what is known of the loader of `{name}`"),
            (Shipped::Loaders, None) => "what is known of OpenCompass's loaders".to_owned(),
            (Shipped::Models, Some(name)) => format!("the model `{name}`, which comes with the program"),
            (Shipped::Models, None) => "the models that come with the program".to_owned(),
            (Shipped::Flags, _) => match self.sources.line(span) {
                "" => return None,
                line => format!("the command line, which stands for `{line}`"),
            },
        })
    }

    /// The user's own place that asked for what comes with the program, where it is known.
    fn asked_at(&self, shipped: &Shipped) -> Option<Span> {
        let is_theirs = |span: &Span| self.sources.shipped(span.file).is_none();
        let table = self.reading.as_ref().map(|reading| reading.span).filter(is_theirs);
        match shipped {
            Shipped::Preset(name) => table.or_else(|| self.sources.import_of(name)),
            Shipped::Loaders | Shipped::Models => table,
            Shipped::Flags => None,
        }
    }

    fn push(&mut self, severity: Severity, span: Option<Span>, message: String, help: Option<String>) {
        // A name that is quoted may hold what a terminal would obey.
        let visible = |text: String| match text.contains(char::is_control) {
            true => text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect(),
            false => text,
        };
        let (message, help) = (visible(message), help.map(visible));
        let mut diagnostic = Diagnostic::new(severity, message);
        diagnostic.help = help;
        let shipped = span.and_then(|span| Some((span, self.sources.shipped(span.file)?)));
        let span = match shipped {
            None => span,
            Some((span, shipped)) => {
                if let Some(from) = self.named_shipped(&shipped, span) {
                    diagnostic = diagnostic.with_fact("from", from);
                }
                self.asked_at(&shipped)
            }
        };
        if let Some(span) = span {
            diagnostic = diagnostic.at(self.sources.origin(span), self.sources.snippet(span));
        }
        self.found.push(Found { span, diagnostic, is_unserved: false });
    }
}

/// Describes the place where a part was written, for a comment.
pub(crate) fn comment(check: &Check, span: Span) -> String {
    let shown = |path: &Path| path.display().to_string().replace(char::is_control, "\u{fffd}");
    let path = check.sources.path(span.file);
    if !check.sources.is_preset(span.file) {
        return format!("{}:{}", shown(path), check.sources.origin(span).line);
    }
    let name = match check.presets.get(&span.file) {
        Some(preset) => preset.name.clone(),
        None => shown(Path::new(path.file_stem().unwrap_or_default())),
    };
    format!("{name}, which comes with the program")
}
