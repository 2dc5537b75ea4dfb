//! `compass-worker`: the agent; with the hidden subcommand `engine` one of its children; with `sandbox` a test of the
//! isolations on this machine, with `gpu-check` one of its GPU.

use compass_worker::engine_child::as_loaded;
use std::process::ExitCode;

fn main() -> ExitCode {
    compass_worker::program::run(as_loaded)
}
