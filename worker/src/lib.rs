//! Runs tasks: an agent that holds a session with the master, and engine children that compute.
//!
//! Both are one executable and share only the messages of `engine.proto`: an engine that crashed, or that a CUDA fault
//! left unusable, is a dead process that the agent replaces. The agent itself never touches a tensor.

pub mod agent;
pub mod cli;
pub mod dial;
mod duration;
pub mod echo;
pub mod engine_child;
pub mod engine_link;
pub mod gpu_check;
pub mod once;
mod parent;
pub mod program;
pub mod sandbox_command;
pub mod serve_openai;
mod slurm;
