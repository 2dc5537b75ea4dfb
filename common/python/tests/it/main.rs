//! The integration tests of compass-python, in one program.

#![warn(clippy::disallowed_methods)]

mod differential;
