//! The integration tests of compass-watch, in one program.

#![warn(clippy::disallowed_methods)]

mod deciding;
mod files;
