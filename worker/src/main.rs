//! `compass-worker`: the agent; with the hidden subcommand `engine` one of its children; with `sandbox` a test of the
//! isolations on this machine, with `gpu-check` one of its GPU.

use clap::{CommandFactory, Parser};
use compass_worker::agent::{self, ExitReason};
use compass_worker::cli::{Cli, Role};
use compass_worker::{engine_child, gpu_check, once, sandbox_command, serve_openai};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let role = Cli::parse().role();
    if let Err(error) = compass_common::telemetry::init(if matches!(role, Role::Sandbox(_) | Role::GpuCheck(_)) {
        "warn"
    } else {
        "info"
    }) {
        let _ = writeln!(io::stderr(), "compass-worker: {error}");
        return ExitCode::from(2);
    }
    match role {
        Role::Engine(options) => engine_child::run(options),
        Role::Sandbox(options) => sandbox_command::run(options),
        Role::GpuCheck(options) => gpu_check::run(options),
        Role::ServeOpenai(options) => serve_openai::run(options),
        Role::Once(options) => once::run(options),
        Role::Generated(generated) => match generated.write(Cli::command()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(io::stderr(), "compass-worker: {error}");
                ExitCode::FAILURE
            }
        },
        Role::Agent(options) => {
            let ending = agent::run(options);
            if !matches!(ending, ExitReason::Shutdown { .. } | ExitReason::ParentGone) {
                let _ = writeln!(io::stderr(), "compass-worker: {ending}");
            }
            ExitCode::from(ending.exit_code())
        }
    }
}
