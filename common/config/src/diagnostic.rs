//! What a person reads when the configuration is wrong: where, what, and what to write instead.
//!
//! Messages are lowercase fragments; the help is the remedy. How positions are found is `source`'s business.

use std::fmt;
use std::path::PathBuf;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Nothing is started.
    Error,
    /// Worth saying; the run goes on.
    Note,
}

/// A place in a configuration file.
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

/// The line shown under a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Snippet {
    /// The line, or a window of a very long one.
    pub(super) text: String,
    /// Characters of `text` before the marked ones.
    pub(super) indent: usize,
    /// Characters marked, at least one.
    pub(super) width: usize,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// `None` for what the command line said, or for a file that could not be read at all.
    pub origin: Option<Origin>,
    /// A lowercase fragment.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    pub(super) snippet: Option<Snippet>,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Note => "note",
        };
        write!(f, "{severity}: {}", self.message)?;
        let mut gutter = String::from("  ");
        if let Some(origin) = &self.origin {
            let line = origin.line.to_string();
            gutter = " ".repeat(line.len() + 1);
            write!(f, "\n{gutter}--> {origin}")?;
            if let Some(snippet) = &self.snippet {
                // Tabs are repeated, so that the marks stand under what they mark whatever the terminal's tab stops are.
                let indent: String =
                    snippet.text.chars().take(snippet.indent).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                write!(f, "\n{gutter} |\n {line} | {}\n{gutter} | {indent}", snippet.text)?;
                f.write_str(&"^".repeat(snippet.width.max(1)))?;
            }
        }
        match &self.help {
            Some(help) => write!(f, "\n{gutter} = help: {help}"),
            None => Ok(()),
        }
    }
}

/// Every error of a configuration, by file and position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(pub(super) Vec<Diagnostic>);

impl Diagnostics {
    /// The errors in order; never empty.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// How many errors there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.0 {
            write!(f, "{diagnostic}\n\n")?;
        }
        let plural = if self.0.len() == 1 { "" } else { "s" };
        write!(f, "{} error{plural}; nothing was started", self.0.len())
    }
}

impl std::error::Error for Diagnostics {}
