//! `compass-master`: reads the command line, does what it asks for, and exits with the code that says how that went.

use clap::CommandFactory;
use compass_cli::exit;
use compass_cli::terminal::terminal_width;
use compass_common::status_output::{OutputError, print, print_status, report};
use compass_config::{DataCache, Overrides};
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_jobs::job::{self, check_http};
use compass_jobs::{About, Failure, JobRequest, Mode, Submission, control};
use compass_master::cli::{
    Cli, Command, Explain, JobArguments, StateArguments, TokenArguments, data_cache, not_yet, without_flags,
};
use compass_master::signals::watch_signals;
use compass_master::token_command::{self, TokenCommandError};
use compass_master::{convert_command, listing, view_command, viz_command, watch};
use compass_planning::{SpeedStore, Wishes, estimate};
use compass_recorded::{NameFilter, compare};
use compass_run_folder::RunFolder;
use compass_server::run_alone;
use compass_settings::{Base, Config, DatasetConfig, WrittenConfig};
use compass_types::ids::Digest;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    // A plan that is resumed or served is judged without its configuration being read.
    compass_python::link_interpreter();
    if let Err(error) = compass_common::telemetry::init("warn") {
        report(Diagnostic::of(&error));
        return ExitCode::from(exit::BAD_INPUT);
    }
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(message) = not_yet(&arguments) {
        report(message);
        return ExitCode::from(exit::BAD_INPUT);
    }
    let cli = Cli::of_process();
    compass_common::descriptors::raise_limit();
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            report(Diagnostic::error(format!("cannot start the runtime: {error}")));
            return ExitCode::from(exit::INFRASTRUCTURE);
        }
    };
    match runtime.block_on(run(&cli)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report(failure.diagnostics);
            ExitCode::from(failure.code)
        }
    }
}

async fn run(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Some(Command::Datasets { names, data_dir }) => {
            let cache = || Some(DataCache::of(&data_cache()?).folder);
            list_datasets(names, data_dir.clone().or_else(cache).as_deref())
        }
        Some(Command::Convert { job, output }) => convert_command::run(job, output.as_deref()),
        Some(Command::Models { filters }) => {
            let listed = listing::list_models(filters, NameFilter::matches, terminal_width());
            show(listed.map_err(Failure::bad_input)?)
        }
        Some(Command::Compare(arguments)) => compare::run(arguments, dataset_of_run),
        Some(Command::Gate(arguments)) => {
            let policy = compass_config::load_gate(&arguments.policy).map_err(Failure::bad_input)?;
            compare::gate(arguments, policy, dataset_of_run)
        }
        Some(Command::Leaderboard(arguments)) => compare::leaderboard(arguments),
        Some(Command::View(arguments)) => view_command::run(arguments, watch_signals()).await,
        Some(Command::Why(arguments)) => compass_recorded::why::run(arguments),
        Some(Command::Viz(arguments)) => viz_command::run(arguments, without_flags),
        Some(Command::Token(arguments)) => token(arguments).await,
        Some(Command::Serve { config, status_file }) => {
            let served =
                async { compass_server::serve(base(config.as_deref())?, status_file.clone(), watch_signals()).await };
            Box::pin(compass_server::with_status_file(status_file.as_deref(), "serve", served)).await
        }
        Some(Command::Submit { job, priority, wait, state_dir }) => {
            Box::pin(submit(job, *priority, *wait, state_dir.clone())).await
        }
        Some(Command::Watch(arguments)) => {
            let order = arguments.order().map_err(Failure::bad_input)?;
            Box::pin(watch::watch(order, watch_signals())).await
        }
        Some(Command::Status { job, json, place }) => control::status(&state_dir(place)?, job.as_deref(), *json).await,
        Some(Command::Cancel { job, reason, place }) => {
            control::cancel(&state_dir(place)?, job.as_deref(), reason.clone()).await
        }
        Some(Command::Explain { about, place }) => explain(about.as_ref(), place).await,
        Some(Command::Generated(generated)) => {
            let written = generated.write(Cli::command());
            written.map(|()| exit::SCORED).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))
        }
        None => {
            // What only looks leaves the file as it is.
            let told = cli.job.status_file.as_deref().filter(|_| !cli.job.dry_run && !cli.job.estimate);
            Box::pin(compass_server::with_status_file(told, "run", run_job(&cli.job))).await
        }
    }
}

/// A data set of the configuration that a run keeps.
fn dataset_of_run(resolved: &Path, abbr: &str) -> Result<Option<DatasetConfig>, Diagnostics> {
    Ok(compass_config::load_datasets(resolved, |known| known == abbr)?.pop())
}

/// Reads what a master that stays takes from a file.
fn base(path: Option<&Path>) -> Result<Base, Failure> {
    let loaded = compass_config::load_base(path, std::env::home_dir());
    let (base, notes) = loaded.map_err(Failure::bad_input)?;
    for note in &notes {
        report(note);
    }
    Ok(base)
}

/// The state folder of the masters that are meant.
fn state_dir(place: &StateArguments) -> Result<PathBuf, Failure> {
    match &place.state_dir {
        Some(folder) => Ok(folder.clone()),
        None => Ok(base(place.config.as_deref())?.state_dir),
    }
}

async fn explain(about: Option<&Explain>, place: &StateArguments) -> Result<u8, Failure> {
    let (place, about) = match about {
        None => (place, About::Job(None)),
        Some(Explain::Job { job, place }) => (place, About::Job(job.clone())),
        Some(Explain::Task { task, job, place }) => (place, About::Task { task: *task, job: job.clone() }),
        Some(Explain::Worker { worker, place }) => (place, About::Worker(worker.clone())),
    };
    control::explain(&state_dir(place)?, about).await
}

async fn submit(job: &JobArguments, priority: u32, wait: bool, state_dir: Option<PathBuf>) -> Result<u8, Failure> {
    let here = [
        (job.debug, "--debug", "it is for a run on this terminal: compass-master --config ... --debug"),
        (job.dry_run, "--dry-run", "it starts nothing: compass-master --config ... --dry-run"),
        (
            job.status_file.is_some(),
            "--status-file",
            "it is a flag of the server: compass-master serve --status-file FILE",
        ),
        (job.unsafe_local_exec, "--unsafe-local-exec", "it is a flag of the workers"),
    ];
    let launching = job.launching_flags().map(|flag| {
        (true, flag, "the server launches the workers, by its own configuration: compass-master serve --config FILE")
    });
    let here = here.into_iter().chain(launching).collect::<Vec<_>>();
    if let Some((_, flag, help)) = here.iter().find(|(given, ..)| *given) {
        let refusal = Diagnostic::error(format!("`{flag}` is not for `submit`")).with_help(*help);
        return Err(Failure::bad_input(refusal));
    }
    let (mut config, written) = load(job, true)?;
    // What the server keeps of its runs is where the server is.
    config.state_dir = state_dir.unwrap_or(config.state_dir);
    if job.estimate {
        let server = control::ServerCapacity::of(&config.state_dir).await?;
        let slots = config.infer.runner.max_num_workers.unwrap_or(u32::MAX).min(server.slots);
        let place = Place { slots, cores: None, server: Some(server) };
        return Box::pin(estimate(job, &config, place)).await.map(|()| exit::SCORED);
    }
    let request = JobRequest { served: true, written: Some(written), ..job.request() };
    control::submit(&config, Submission { request, priority, wait }).await
}

/// The configuration of a job.
fn load(job: &JobArguments, served: bool) -> Result<(Config, Arc<WrittenConfig>), Failure> {
    let loaded = compass_config::load(job.config(), &Overrides { served, ..job.overrides() });
    let loaded = loaded.map_err(Failure::bad_input)?;
    for note in &loaded.notes {
        report(note);
    }
    Ok((loaded.config, Arc::new(loaded.written)))
}

/// One job, from its configuration to its table.
async fn run_job(cli: &JobArguments) -> Result<u8, Failure> {
    let (config, written) = load(cli, false)?;
    if matches!(cli.mode, Mode::Eval | Mode::Viz) && cli.reuse.is_none() {
        return Err(Failure::bad_input(Diagnostic::error(
            "-m eval and -m viz score a run that exists; name it with -r, or say -r alone for the latest",
        )));
    }
    if cli.dry_run {
        return dry_run(cli, &config).await.map(|()| exit::SCORED);
    }
    if cli.estimate {
        let slots = compass_run::planned_slots(&config, cli.debug);
        let place = Place { slots, cores: compass_run::shared_cores(&config), server: None };
        return Box::pin(estimate(cli, &config, place)).await.map(|()| exit::SCORED);
    }
    let interrupted = watch_signals();
    let request = JobRequest { written: Some(written), ..cli.request() };
    let led = async |plan: &Digest| job::led_elsewhere(&config, plan).await;
    let planning = request.infers().then(|| control::announce_planning(&config.state_dir));
    let opened = Box::pin(job::open_run(&config, &request, led)).await?;
    drop(planning);
    Box::pin(run_alone(config, request, opened, interrupted)).await
}

/// The tasks, and the commands that would be launched; of a run that has begun, its tasks and how they stand.
async fn dry_run(job: &JobArguments, config: &Config) -> Result<(), Failure> {
    check_http(config)?;
    if let Some(name) = &job.reuse {
        let folder = RunFolder::find(&config.work_dir, Some(name)).map_err(|error| Failure::of_folder(&error))?;
        let (plan, digest, _) = compass_run_folder::read_plan(&folder).map_err(|error| Failure::of_plan(&error))?;
        let recorded = compass_run::recorded_lengths(config, &folder, digest, None).await;
        let recorded = recorded.map_err(|error| Failure::of_store(&error))?;
        let tasks = compass_run::recorded_tasks(&folder, &plan, digest, &recorded);
        if let Some(listing) = tasks.map_err(|error| Failure::of(exit::BAD_INPUT, &error))? {
            return print(listing).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)));
        }
    }
    let planned = compass_planning::plan(config).map_err(|error| Failure::of_plan(&error))?;
    let listing = compass_run::dry_run(config, &planned, job.unsafe_local_exec, job.debug);
    let listing = listing.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    print(listing).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))
}

/// Slots and store of a job that is estimated.
struct Place {
    slots: u32,
    /// Cores that all slots share; `None` where they may be on several hosts.
    cores: Option<u32>,
    /// The server that would run it; `None` for a master of its own.
    server: Option<control::ServerCapacity>,
}

/// Estimates what the job will take, or what is left of it where a run is named.
async fn estimate(job: &JobArguments, config: &Config, place: Place) -> Result<(), Failure> {
    let planned = compass_planning::plan(config).map_err(|error| Failure::of_plan(&error))?;
    let Place { slots, cores, server } = place;
    let kept = match &job.reuse {
        Some(name) => Some(Box::pin(job::kept_of(config, name, &planned)).await?),
        None => None,
    };
    let speeds = match server {
        Some(server) => server.speeds(&planned.plan).await?,
        None => {
            let speeds = SpeedStore::of(&config.store, &config.state_dir).speeds(&planned.plan).await;
            speeds.map_err(|error| Failure::of_store(&error))?
        }
    };
    let estimate = estimate::estimate(&planned, config, &speeds, kept.as_ref());
    let wishes = Wishes { gpus: job.gpus, slots, cores, deadline: job.deadline };
    let text = estimate::shown(&estimate, wishes, terminal_width());
    print(text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))
}

/// The presets, those of filters, or the one of a name with what it needs and a sample.
fn list_datasets(names: &[NameFilter], data_dir: Option<&Path>) -> Result<u8, Failure> {
    let one = match names {
        [name] => listing::show_preset(name.as_ref(), data_dir, terminal_width()),
        _ => None,
    };
    let listed = || listing::list_presets(names, NameFilter::matches, terminal_width());
    show(one.map_or_else(listed, Ok).map_err(Failure::bad_input)?)
}

/// Join tokens.
async fn token(arguments: &TokenArguments) -> Result<u8, Failure> {
    let said = token_command::run(arguments, std::env::home_dir()).await;
    let said = said.map_err(|error| match &error {
        TokenCommandError::Config(diagnostics) => Failure::bad_input(diagnostics.clone()),
        error => Failure::of(if error.is_bad_input() { exit::BAD_INPUT } else { exit::INFRASTRUCTURE }, error),
    })?;
    let code = show(said.stdout)?;
    if !said.stderr.is_empty() {
        print_status(said.stderr.trim_end());
    }
    Ok(code)
}

/// A text that was asked for, on standard output.
fn show(text: String) -> Result<u8, Failure> {
    print(text).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(exit::SCORED)
}
