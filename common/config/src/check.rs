//! Collecting what is wrong, all of it, with where it stands.

use super::missing_files::DataFiles;
use super::overrides::PythonWorld;
use super::source::{FileId, Preset, Reading, Shipped, Sources, Span};
use super::tree::{Node, Value};
use compass_diagnostic::{Diagnostic, Diagnostics, Severity};
use compass_postprocess::Postprocessor;
use compass_settings::{LeftOut, Remote, left_out_groups, left_out_line};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The state of one check of one configuration.
#[derive(Debug, Default)]
pub(super) struct Check {
    pub(super) sources: Sources,
    /// What `~` stands for.
    pub(super) home: Option<PathBuf>,
    /// The folders of the hub's local caches, where the environment names any.
    pub(super) hub_caches: Vec<PathBuf>,
    /// Finds what is in object stores and on the hub.
    pub(super) remote: Option<Remote>,
    /// Where configurations in Python find what they import.
    pub(super) python: PythonWorld,
    /// Where the paths of presets begin.
    pub(super) data_root: PathBuf,
    /// Prefixes of paths that pools have under another name: files there need not be here.
    pub(super) elsewhere: Vec<(String, String)>,
    /// Whether the tables being read are not part of this job: a team's base may define models whose files are
    /// elsewhere, or of a kind that is not yet served. Their keys and types are checked all the same.
    pub(super) unselected: bool,
    /// Whether nothing will be started: what a run would be refused for because it is not there is a note.
    pub(super) plans_only: bool,
    /// Whether only results that a run has are scored: what they were computed from need not be there.
    pub(super) scores_only: bool,
    /// What of the table being read is not there and is not needed, in words.
    pub(super) absent: Option<String>,
    /// How often everything that is generated runs, where the command line says so.
    pub(super) num_runs: Option<u32>,
    /// The folder of the data that the command line or the environment names.
    pub(super) flagged_dir: Option<PathBuf>,
    /// Presets that were read, by their files.
    pub(super) presets: BTreeMap<FileId, Preset>,
    /// The files with data that were looked for.
    pub(super) files: DataFiles,
    /// Whether what is not served is left out instead of stopping the job.
    pub(super) skip_unsupported: bool,
    /// What is left out.
    pub(super) left_out: Vec<LeftOut>,
    /// Where each of them stands.
    pub(super) left_out_at: Vec<Option<Span>>,
    /// Postprocessors of the user's OpenCompass by name and parameters, or why they are not evaluated; `None` where no tree has
    /// one of that name.
    pub(super) functions: BTreeMap<(String, String), Option<Result<Postprocessor, String>>>,
    /// The table that is being read.
    pub(super) reading: Option<Reading>,
    /// Keys of configurations in Python that are accepted and not needed here.
    unneeded: Vec<(String, Span)>,
    found: Vec<Found>,
}

/// A finding with its place.
#[derive(Debug, PartialEq)]
struct Found {
    span: Option<Span>,
    diagnostic: Diagnostic,
    /// Whether it is no mistake, but something that this program does not do.
    is_unserved: bool,
}

impl Check {
    pub(super) fn new(home: Option<PathBuf>) -> Self {
        Self { home, ..Self::default() }
    }

    /// Where repositories of the Hugging Face hub are looked for, the first that has one.
    pub(super) fn hub_caches(&self) -> Vec<PathBuf> {
        if !self.hub_caches.is_empty() {
            return self.hub_caches.clone();
        }
        self.home.as_ref().map(|home| home.join(".cache/huggingface/hub")).into_iter().collect()
    }

    /// Something is wrong; nothing will be started.
    pub(super) fn report(&mut self, span: Option<Span>, message: String, help: Option<String>) {
        self.push(Severity::Error, span, message, help);
    }

    /// Something that a run needs is not there: an error, a note where nothing will be started, or nothing at all where results
    /// are only scored. Whether the table is right without it.
    pub(super) fn needed(&mut self, span: Span, message: String, help: Option<String>) -> bool {
        if self.scores_only {
            self.absent.get_or_insert(message);
            return true;
        }
        if self.plans_only {
            self.push(Severity::Note, Some(span), format!("a run would be refused: {message}"), help);
        } else {
            self.error(span, message, help);
        }
        self.plans_only
    }

    /// As [`Check::report`], at a place in a file.
    pub(super) fn error(&mut self, span: Span, message: String, help: Option<String>) {
        self.report(Some(span), message, help);
    }

    /// Something to know; the run goes on.
    pub(super) fn note(&mut self, span: Span, message: String, help: &str) {
        if !self.unselected {
            self.push(Severity::Note, Some(span), message, Some(help.into()));
        }
    }

    /// A key that is accepted and not needed here: `message` and `help` say it of a file in TOML. Of configurations in Python,
    /// which run as they are, one note names all of them.
    pub(super) fn unneeded(&mut self, span: Span, what: &str, message: String, help: &str) {
        let is_python = self.sources.path(span.file).extension().is_some_and(|kind| kind.eq_ignore_ascii_case("py"));
        match (is_python, self.unselected) {
            (true, false) => self.unneeded.push((what.to_owned(), span)),
            (true, true) => {}
            (false, _) => self.note(span, message, help),
        }
    }

    /// The contract names it; a later version serves it.
    pub(super) fn not_yet(&mut self, span: Span, what: &str, help: &str) {
        if !self.unselected {
            self.error(span, format!("{what} is not yet supported"), Some(help.into()));
            self.last_is_unserved();
        }
    }

    /// A name that is not known. In Python it is that of a class or a function, which was imported: no misspelling as a rule.
    pub(super) fn unknown_class(&mut self, span: Span, message: String, help: String) {
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
    pub(super) fn value_not_yet(&mut self, key: &str, node: &Node, help: &str) {
        let what = self.quoted(key, node);
        self.not_yet(node.span, &what, help);
    }

    /// `key` does not hold what it takes; `takes` has an article, `example` is a right hand side.
    pub(super) fn wrong_type(&mut self, key: &str, node: &Node, takes: &str, example: &str) {
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
    pub(super) fn texts(&mut self, key: &str, node: &Node) -> Option<Vec<(String, Span)>> {
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
    pub(super) fn quoted(&self, key: &str, node: &Node) -> String {
        let source = self.sources.slice(node.span);
        let short = !source.is_empty() && source.chars().count() <= 60 && !source.contains('\n');
        if short && !source.starts_with('[') { format!("`{key} = {source}`") } else { format!("`{key}`") }
    }

    pub(super) fn has_errors(&self) -> bool {
        self.files.lacks_any() || self.found.iter().any(|found| found.diagnostic.is_error())
    }

    /// As [`Check::note`], of what stands in no file.
    pub(super) fn tell(&mut self, message: String, help: &str) {
        self.tell_at(None, message, help);
    }

    /// As [`Check::tell`], at a place where there is one.
    pub(super) fn tell_at(&mut self, span: Option<Span>, message: String, help: &str) {
        self.push(Severity::Note, span, message, Some(help.into()));
    }

    /// How many findings there are.
    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// The errors beyond the first `before` findings, and whether each is of something that is not served.
    pub(super) fn errors_since(&self, before: usize) -> impl Iterator<Item = (&Diagnostic, bool)> {
        let since = self.found.iter().skip(before).filter(|found| found.diagnostic.is_error());
        since.map(|found| (&found.diagnostic, found.is_unserved))
    }

    /// Drops these errors.
    pub(super) fn forget_errors_since(&mut self, before: usize) {
        let since = self.found.split_off(before);
        self.found.extend(since.into_iter().filter(|found| !found.diagnostic.is_error()));
    }

    /// Drops all of these findings.
    pub(super) fn forget_since(&mut self, before: usize) {
        self.found.truncate(before);
    }

    /// Drops all of these findings but errors of what is not served.
    pub(super) fn keep_unserved_since(&mut self, before: usize) {
        let since = self.found.split_off(before);
        self.found.extend(since.into_iter().filter(|found| found.diagnostic.is_error() && found.is_unserved));
    }

    /// Adds a remedy to these errors, where they are in Python.
    pub(super) fn add_help_since(&mut self, before: usize, help: &str) {
        for found in self.found.iter_mut().skip(before).filter(|found| found.diagnostic.is_error()) {
            let path = found.span.map(|span| self.sources.path(span.file));
            if path.and_then(std::path::Path::extension).is_some_and(|kind| kind.eq_ignore_ascii_case("py")) {
                let before = found.diagnostic.help.take().map_or(String::new(), |before| before + "; ");
                found.diagnostic.help = Some(before + help);
            }
        }
    }

    /// The notes, or the errors when there are any; by file and position, each once.
    pub(super) fn finish(mut self) -> Result<Vec<Diagnostic>, Diagnostics> {
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

    /// What the user knows a place of the program's own files by.
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

/// Where a part was written, for a comment.
pub(crate) fn comment(check: &Check, span: Span) -> String {
    let shown = |path: &Path| path.display().to_string().replace(char::is_control, "\u{fffd}");
    let path = check.sources.path(span.file);
    match check.sources.is_preset(span.file) {
        true => format!("{}, which comes with the program", shown(Path::new(path.file_stem().unwrap_or_default()))),
        false => format!("{}:{}", shown(path), check.sources.origin(span).line),
    }
}
