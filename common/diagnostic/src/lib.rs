//! What a person reads when something is wrong: how bad it is, what, where, and what to do instead.
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
