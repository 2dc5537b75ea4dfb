//! Many findings, in order, with the sentence that closes them.

use super::diagnostic::Diagnostic;

/// Findings in order, and a closing sentence after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostics {
    pub(crate) findings: Vec<Diagnostic>,
    pub(crate) closing: Option<String>,
}

impl Diagnostics {
    /// Errors for which nothing is started, which the closing sentence states.
    pub fn nothing_started(errors: Vec<Diagnostic>) -> Self {
        let plural = if errors.len() == 1 { "" } else { "s" };
        let closing = format!("{} error{plural}; nothing was started", errors.len());
        Self { findings: errors, closing: Some(closing) }
    }

    /// A sentence without a severity.
    pub fn sentence(text: impl Into<String>) -> Self {
        Self::default().with_closing(text)
    }

    /// Sets the closing sentence.
    #[must_use]
    pub fn with_closing(mut self, text: impl Into<String>) -> Self {
        self.closing = Some(text.into());
        self
    }

    /// The findings in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.findings.iter()
    }

    /// Returns the number of findings.
    pub fn count(&self) -> usize {
        self.findings.len()
    }

    /// Returns the message without severities, places and remedies: a line for each finding, and the closing sentence.
    pub fn message(&self) -> String {
        let messages = self.findings.iter().map(|finding| finding.message.as_str()).chain(self.closing.as_deref());
        messages.collect::<Vec<_>>().join("\n")
    }

    /// The first remedy.
    pub fn help(&self) -> Option<&str> {
        self.findings.iter().find_map(|finding| finding.help.as_deref())
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(only: Diagnostic) -> Self {
        Self::from(vec![only])
    }
}

impl From<&Diagnostic> for Diagnostics {
    fn from(only: &Diagnostic) -> Self {
        only.clone().into()
    }
}

impl From<Vec<Diagnostic>> for Diagnostics {
    fn from(findings: Vec<Diagnostic>) -> Self {
        Self { findings, closing: None }
    }
}

impl std::error::Error for Diagnostics {}
