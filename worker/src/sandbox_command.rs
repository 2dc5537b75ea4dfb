//! `compass-worker sandbox`: lists the isolations that work on this machine, or runs one program in the best of them.

use crate::duration::parse_duration;
use clap::{Args, Subcommand};
use compass_common::regular_file;
use compass_sandbox::{Isolation, Limits, Policy, Program, ProgramOutcome, Refusal, Sandbox};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const EXAMPLES: &str = "\
Exit codes:
  0  an isolation works; the program passed
  1  the program did not pass
  2  wrong usage
  3  no isolation works here; the program could not be run";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true, args_conflicts_with_subcommands = true)]
pub struct SandboxArgs {
    /// Test every isolation with a program that tries to escape; list the ones that contain it and how they limit
    /// memory
    #[arg(long)]
    check: bool,
    #[command(subcommand)]
    run: Option<RunCommand>,
}

#[derive(Debug, Subcommand)]
enum RunCommand {
    /// Run a Python program and print its outcome
    Run(RunArgs),
}

#[derive(Debug, Args)]
struct RunArgs {
    /// The program; - reads standard input
    file: PathBuf,
    /// How long it may run, such as 3s or 1m
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    timeout: Duration,
    /// The interpreter [default: the first python3 that works]
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
    /// Where no isolation works, run the program as a plain process
    #[arg(long)]
    unsafe_local_exec: bool,
}

/// Action of the command.
#[derive(Debug)]
pub enum SandboxOptions {
    Check,
    Run { file: PathBuf, limits: Limits, policy: Policy },
}

impl SandboxArgs {
    /// Returns the parsed options; without `run` it is the check.
    pub(crate) fn options(self) -> SandboxOptions {
        let Some(RunCommand::Run(args)) = self.run else { return SandboxOptions::Check };
        SandboxOptions::Run {
            file: args.file,
            limits: Limits { wall: args.timeout, ..Limits::default() },
            policy: Policy { python: args.python, unsafe_local_exec: args.unsafe_local_exec, ..Policy::default() },
        }
    }
}

/// Runs the command and returns the process's exit code.
pub fn run(options: SandboxOptions) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime.and_then(|runtime| {
        runtime.block_on(async {
            match options {
                SandboxOptions::Check => check().await,
                SandboxOptions::Run { file, limits, policy } => run_file(&file, limits, &policy).await,
            }
        })
    });
    done.unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "compass-worker: {error}");
        ExitCode::from(2)
    })
}

async fn check() -> io::Result<ExitCode> {
    let (mut out, mut works) = (io::stdout(), false);
    for isolation in Isolation::SAFE {
        let policy = Policy { isolations: vec![isolation], ..Policy::default() };
        match Sandbox::detect(&policy).await {
            Ok(sandbox) => {
                let chosen = if works { "" } else { " [used]" };
                writeln!(out, "works    {isolation}, {}{chosen}", sandbox.python().display())?;
                writeln!(out, "         memory and processes: {}", sandbox.bound())?;
                works = true;
            }
            Err(Refusal::NoIsolation { tried }) => tried.iter().try_for_each(|why| writeln!(out, "refused  {why}"))?,
            Err(refusal) => writeln!(out, "refused  {refusal}")?,
        }
    }
    Ok(ExitCode::from(if works { 0 } else { 3 }))
}

async fn run_file(file: &Path, limits: Limits, policy: &Policy) -> io::Result<ExitCode> {
    let source = read(file).map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
    let sandbox = match Sandbox::detect(policy).await {
        Ok(sandbox) => sandbox,
        Err(refusal) => {
            writeln!(io::stderr(), "compass-worker: {refusal}")?;
            return Ok(ExitCode::from(3));
        }
    };
    let outcome = sandbox.run(&Program::new(source).within(limits)).await;
    writeln!(io::stdout(), "{}", printable(&outcome.to_string()))?;
    Ok(ExitCode::from(match outcome {
        ProgramOutcome::Passed => 0,
        ProgramOutcome::SandboxError { .. } => 3,
        _ => 1,
    }))
}

/// Escapes control characters: an exception's message comes from the program and must not control the terminal.
fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

fn read(file: &Path) -> io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    regular_file::read_text(file, regular_file::SMALL)
}
