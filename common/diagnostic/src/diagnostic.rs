//! One finding. Messages are lowercase fragments; the help is the remedy.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The request is not carried out, or a number is not to be trusted.
    Error,
    /// Something is probably not what was meant.
    Warning,
    /// Worth saying; everything continues.
    Note,
}

/// A place in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file as the command line or an `include` named it.
    pub file: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file.display(), self.line, self.column)
    }
}

/// The line of a file that is shown under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    /// The whole line without its end, however long it is.
    pub line: String,
    /// Bytes of `line` that are marked.
    pub marked: Range<usize>,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// A lowercase fragment.
    pub message: String,
    /// `None` for an argument of the command line, or for a file that could not be read at all.
    pub(crate) place: Option<Box<(Origin, Snippet)>>,
    /// The remedy.
    pub help: Option<String>,
    /// Further facts, each with the word that is put before it.
    pub facts: Vec<(Cow<'static, str>, String)>,
}

impl Diagnostic {
    /// A finding of `severity` without a place and without a remedy.
    pub fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self { severity, message: message.into(), place: None, help: None, facts: Vec::new() }
    }

    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    pub fn note(message: impl Into<String>) -> Self {
        Self::new(Severity::Note, message)
    }

    /// An error that says `what: why: why`: `error` and everything that caused it.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let causes = std::iter::successors(Some(error), |&error| error.source());
        Self::error(causes.map(ToString::to_string).collect::<Vec<_>>().join(": "))
    }

    /// Sets the remedy.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a fact that `label` introduces.
    #[must_use]
    pub fn with_fact(mut self, label: impl Into<Cow<'static, str>>, text: impl Into<String>) -> Self {
        self.facts.push((label.into(), text.into()));
        self
    }

    /// Sets the place, and the line to show of it.
    #[must_use]
    pub fn at(mut self, origin: Origin, snippet: Snippet) -> Self {
        self.place = Some(Box::new((origin, snippet)));
        self
    }

    /// The place, where it is known.
    pub fn origin(&self) -> Option<&Origin> {
        self.place.as_deref().map(|(origin, _)| origin)
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl Error for Diagnostic {}
