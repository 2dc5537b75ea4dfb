//! The integration tests of compass-python, in one program.

#![warn(clippy::disallowed_methods)]

mod configurations;
mod differential;
mod hostile;
mod mutations;
mod traced_functions;
