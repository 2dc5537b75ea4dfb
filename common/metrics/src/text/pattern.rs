//! Constant patterns.

use regex::Regex;
use std::ops::Deref;
use std::sync::OnceLock;

/// A constant pattern, compiled on its first use.
///
/// The `regex` crate's `\w` counts combining marks in where Python's does not: write `[\p{L}\p{N}_]`; and for `\s`
/// `[\s\x1c-\x1f]`, which are white space to Python alone.
pub(crate) struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    /// The pattern `source`, in the syntax of the `regex` crate.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    #[expect(clippy::expect_used, reason = "constant patterns, each of which a test uses")]
    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.source).expect("a valid pattern"))
    }
}
