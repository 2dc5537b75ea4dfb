//! Messages for a person when something is wrong: the severity, the finding, its place, and the remedy.
//!
//! Severities, places and remedies are values until the text is put on a screen: no other package writes `error:` or
//! `= help:` into a text, and none reads them out of one.

mod diagnostic;
mod diagnostics;
#[cfg(test)]
mod only_here;
mod render;
pub mod spelling;

pub use diagnostic::{Diagnostic, Origin, Severity, Snippet};
pub use diagnostics::Diagnostics;
pub use render::Colour;
