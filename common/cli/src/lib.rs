//! What the command lines of both programs share: the version, completions for shells, man pages.
//!
//! Not here: the flags and commands of a program, which its own package defines.

mod generated;
mod version;

pub use generated::Generated;
pub use version::version;
