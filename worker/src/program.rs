//! The program: carries out a command line, from the first line to the exit code.

use crate::agent::{self, ExitReason};
use crate::cli::{Cli, Role};
use crate::engine_child::Decorate;
use crate::{engine_child, gpu_check, once, sandbox_command, serve_openai};
use clap::{CommandFactory, Parser};
use std::io::{self, Write};
use std::process::ExitCode;

/// Runs the role that the command line names; engine children have their engines as `decorate` leaves them.
pub fn run(decorate: Decorate) -> ExitCode {
    // Shards of the evaluation may judge by functions of the user's.
    compass_python::link_interpreter();
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
        Role::Engine(options) => engine_child::run(options, decorate),
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
