//! Common parts of both programs' command lines: exit codes, the width of the terminal and text within it, the version, completions
//! for shells, man pages.
//!
//! Not here: the flags and commands of a program, which its own package defines.

pub mod exit;
mod generated;
pub mod terminal;
mod version;
pub mod wrapping;

pub use generated::Generated;
pub use version::version;
