//! Names that were imported and are not evaluated.

use std::fmt;
use std::rc::Rc;

/// A dotted name: `opencompass.models.HuggingFaceBaseModel`. It is compared by that name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Symbol(Rc<str>);

impl Symbol {
    pub(crate) fn new(dotted: impl Into<Rc<str>>) -> Self {
        Self(dotted.into())
    }

    pub(crate) fn member(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0).into())
    }

    pub(crate) fn dotted(&self) -> &str {
        &self.0
    }

    /// The last part of the name.
    pub(crate) fn last(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or(&self.0)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
