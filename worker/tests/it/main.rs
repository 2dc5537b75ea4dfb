//! The integration tests of compass-worker, in one program.

mod agent;
mod sandbox;
