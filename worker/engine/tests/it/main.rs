//! The integration tests of compass-engine, in one program.

#![warn(clippy::disallowed_methods)]

mod engine;
mod families;
mod memory;
mod tokenizer;
