//! The sandbox on this machine, with real programs.

#![warn(clippy::disallowed_methods)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, in its fixtures too")]

mod files;
mod forged;
mod humaneval;
mod network;
mod outcomes;
mod processes;
mod resources;
mod support;
