//! The sandbox on this machine, with real programs: what they get told, and what they cannot do.

mod files;
mod forged;
mod humaneval;
mod network;
mod processes;
mod resources;
mod support;
mod verdicts;
