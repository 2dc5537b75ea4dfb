//! The integration tests of compass-python, in one program.

mod differential;
