//! Runs tasks: an agent that talks to the master, and engine children that compute.
//!
//! The two live in one executable and share nothing but the messages of `engine.proto`: an engine that crashes, or that a
//! CUDA fault leaves unusable, is a dead process that the agent replaces. The agent itself never touches a tensor.

pub mod agent;
pub mod cli;
pub mod dial;
pub mod echo;
pub mod engine_child;
pub mod engine_link;
pub mod once;
mod parent;
pub mod sandbox_command;
mod slurm;
