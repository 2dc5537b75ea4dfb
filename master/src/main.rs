//! `compass-master`: reads the command line, does what it asks for, and exits with the code that says how that went.

use clap::Parser;
use compass_common::config::{self, Config};
use compass_master::cli::{Cli, Command, Mode, exit, not_yet};
use compass_master::core::Recorded;
use compass_master::job::{self, Failure};
use compass_master::pipeline;
use compass_master::screen::{OutputError, print, say};
use compass_master::signals::watch_signals;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Err(error) = compass_common::telemetry::init("warn") {
        say(format!("error: {error}"));
        return ExitCode::from(exit::BAD_INPUT);
    }
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(message) = not_yet(&arguments) {
        say(message);
        return ExitCode::from(exit::BAD_INPUT);
    }
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(format!("error: cannot start the runtime: {error}"));
            return ExitCode::from(exit::INFRASTRUCTURE);
        }
    };
    match runtime.block_on(run(&cli)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            say(failure.text);
            ExitCode::from(failure.code)
        }
    }
}

async fn run(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Some(Command::Datasets { name, data_dir }) => list_datasets(name.as_deref(), data_dir.as_deref()),
        Some(Command::Models) => show(pipeline::list_models()),
        None => run_job(cli).await,
    }
}

/// One job, from its configuration to its table.
async fn run_job(cli: &Cli) -> Result<u8, Failure> {
    let loaded = config::load(cli.config.as_deref(), &cli.overrides());
    let loaded = loaded.map_err(|diagnostics| Failure::bad_input(diagnostics.to_string()))?;
    for note in &loaded.notes {
        say(note);
    }
    let config = loaded.config;
    if matches!(cli.mode, Mode::Eval | Mode::Viz) && cli.reuse.is_none() {
        return Err(Failure::bad_input(
            "error: -m eval and -m viz score a run that exists; name it with -r, or say -r alone for the latest",
        ));
    }
    if cli.dry_run {
        return dry_run(&config, cli.unsafe_local_exec).map(|()| exit::SCORED);
    }
    let interrupted = watch_signals();
    let request = cli.request();
    let opened = job::open_run(&config, &request).await?;
    Box::pin(job::run(config, &request, &opened, interrupted)).await
}

/// The tasks, and the commands that would be launched.
fn dry_run(config: &Config, unsafe_local_exec: bool) -> Result<(), Failure> {
    let planned = pipeline::plan(config).map_err(|error| Failure::of_plan(&error))?;
    let listing = pipeline::dry_run(config, &planned.plan, &Recorded::default(), unsafe_local_exec);
    let listing = listing.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    print(listing).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))
}

/// The presets, or one of them with what it needs and a sample.
fn list_datasets(name: Option<&str>, data_dir: Option<&Path>) -> Result<u8, Failure> {
    let text = match name {
        None => pipeline::list_presets(),
        Some(name) => pipeline::show_preset(name, data_dir).map_err(Failure::bad_input)?,
    };
    show(text)
}

/// A text that was asked for, on standard output.
fn show(text: String) -> Result<u8, Failure> {
    print(text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}
