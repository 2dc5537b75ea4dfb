//! The integration tests of compass-watch, in one program.

mod deciding;
mod files;
