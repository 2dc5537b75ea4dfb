//! The integration tests of compass-engine, in one program.

mod engine;
mod families;
mod memory;
mod tokenizer;
