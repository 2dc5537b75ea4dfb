//! `compass-master`: reads the command line, walks the stages, says what happened, and exits with its code.

use clap::Parser;
use compass_common::config::{self, Config};
use compass_common::ids::Digest;
use compass_master::cli::{Cli, Command, Mode, exit, not_yet};
use compass_master::core::Recorded;
use compass_master::launch::{Programs, speak_last_words};
use compass_master::ledger::LedgerError;
use compass_master::pipeline::{
    self, Ending, ExecuteError, FolderError, InferError, InferOptions, LiveWriting, PlanError, Planned, Reign,
    RunFolder, ScoreError,
};
use compass_master::screen::{print, say};
use compass_master::store::StoreError;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How a command ends: what to print, and the code.
struct Failure {
    code: u8,
    text: String,
}

/// Standard output takes no more.
#[derive(Debug, thiserror::Error)]
#[error("cannot write to standard output")]
struct OutputError(#[source] std::io::Error);

impl Failure {
    fn bad_input(text: impl Into<String>) -> Self {
        Self { code: exit::BAD_INPUT, text: text.into() }
    }

    /// `error: what: why: why`.
    fn of(code: u8, error: &dyn std::error::Error) -> Self {
        let mut text = format!("error: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        Self { code, text }
    }
}

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
        Some(Command::Datasets { name, data_dir }) => return list_datasets(name.as_deref(), data_dir.as_deref()),
        Some(Command::Models) => return show(pipeline::list_models()),
        None => {}
    }
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
        return dry_run(cli, &config).await.map(|()| exit::SCORED);
    }
    let (interrupt, interrupted) = watch::channel(None::<u8>);
    tokio::spawn(watch_signals(interrupt));
    let (folder, earlier) = open_run(cli, &config).await?;
    let (plan, digest, files) = pipeline::read_plan(&folder).map_err(|error| plan_failure(&error))?;
    let plan = Arc::new(plan);
    let (stop, stopped) = watch::channel(false);
    let mut signals = interrupted.clone();
    tokio::spawn(async move {
        if signals.wait_for(Option::is_some).await.is_ok() {
            let _ = stop.send(true);
            std::future::pending::<()>().await;
        }
    });
    let has_programs = pipeline::has_programs(&plan);
    let options = InferOptions {
        debug: cli.debug,
        predictions: match cli.mode {
            Mode::Infer => LiveWriting::UntilTheEnd,
            _ => LiveWriting::Meanwhile,
        },
        interrupted: stopped,
        stage: "infer",
        programs: Programs::None,
        workers_stay: has_programs && cli.mode == Mode::All,
        others_may_come: false,
    };
    let interruption = |folder: &RunFolder| Failure {
        code: (*interrupted.borrow()).unwrap_or(exit::INTERRUPTED),
        text: format!("stopped; every sample received is kept. {}", resume_hint(folder, cli)),
    };
    let (mut config, mut failures, mut reign) = (config, Vec::new(), None);
    let mut write = cli.mode != Mode::Viz;
    if matches!(cli.mode, Mode::All | Mode::Infer) {
        say(format!("run {}: {} samples, job {}", folder.shown(), plan.expected(), digest.short()));
        if cli.debug {
            say("Starting inference process");
        }
        let inferred = Box::pin(pipeline::infer(&config, &folder, plan.clone(), digest, files, options.clone())).await;
        let inferred = inferred.map_err(|error| infer_failure(&error, &folder, cli))?;
        if inferred.ending == Ending::EndedByAnother {
            say("the run was brought to its end by the master that led it");
            write = false;
        }
        if inferred.ending == Ending::Interrupted {
            hand_over(inferred.reign).await;
            return Err(interruption(&folder));
        }
        // Workers that came by themselves look for the next stage where they found this one.
        config.listen = inferred.address;
        (failures, reign) = (inferred.failures, inferred.reign);
    }
    if cli.mode == Mode::Infer {
        conclude(reign).await?;
        say(format!("predictions are in {}; score them with -m eval -r {}", folder.shown(), folder.name()));
        return Ok(if failures.is_empty() { exit::SCORED } else { exit::INCOMPLETE });
    }
    let recorded = pipeline::recorded_lengths(&config, &folder, digest, reign.as_ref()).await;
    let recorded = recorded.map_err(|error| store_failure(&error))?;
    let mut executions = pipeline::Executions::default();
    if has_programs {
        let source =
            pipeline::Source { folder: &folder, earlier: earlier.as_ref(), plan: &plan, digest, recorded: &recorded };
        let options = pipeline::execution_options(&config, cli.unsafe_local_exec, options);
        let options = write.then_some(options);
        let executed = Box::pin(pipeline::execute(&config, source, options)).await;
        let executed = executed.map_err(|error| execute_failure(&error, &folder, cli))?;
        if executed.ending == Ending::Interrupted {
            hand_over(reign).await;
            return Err(interruption(&folder));
        }
        executions = executed.executions;
    }
    let mut bar = pipeline::StageBar::new("eval", plan.expected());
    let write = write.then(|| cli.details());
    let evidence = pipeline::Evidence { recorded: &recorded, failures: &failures, executions };
    let advance = &mut |samples| bar.advance(samples);
    let scored = pipeline::score(&folder, &plan, digest, evidence, write, advance);
    bar.finish();
    let scored = scored.map_err(|error| score_failure(&error, cli))?.with_groups(&config.summary_groups);
    let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
    pipeline::summarize(&folder, &scored, &stamp).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let printed = print(format!("{}\n", scored.summary.text()));
    for notice in &scored.notices {
        say(notice);
    }
    say(format!("results, predictions and logs: {}", folder.shown()));
    conclude(reign).await?;
    // Last, so that everything else is written and said by now.
    printed.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)))?;
    Ok(if scored.complete { exit::SCORED } else { exit::INCOMPLETE })
}

/// The run to work on: an old one that was planned from the same configuration, or a new one with its plan and with what
/// an old one has of it; and that old one, where it is another.
async fn open_run(cli: &Cli, config: &Config) -> Result<(RunFolder, Option<RunFolder>), Failure> {
    let Some(name) = &cli.reuse else {
        let planned = pipeline::plan(config).map_err(|error| plan_failure(&error))?;
        return match running(config, &planned).await? {
            Some(folder) => Ok((folder, None)),
            None => new_run(cli, config, &planned).await.map(|folder| (folder, None)),
        };
    };
    if let Some(folder) = RunFolder::foreign(&config.work_dir, name) {
        return adopt(&folder, config).map(|()| (folder, None));
    }
    let folder = RunFolder::find(&config.work_dir, Some(name));
    let folder = folder.map_err(|error| folder_failure(&error))?;
    let (plan, digest, _) = pipeline::read_plan(&folder).map_err(|error| plan_failure(&error))?;
    if plan.config == config::digest(config) {
        return Ok((folder, None));
    }
    // Another configuration: what it asks for again is kept, the rest is run.
    let planned = pipeline::plan(config).map_err(|error| plan_failure(&error))?;
    let recorded = pipeline::recorded_lengths(config, &folder, digest, None).await;
    let recorded = recorded.map_err(|error| store_failure(&error))?;
    let kept = pipeline::carry_over(&folder, &plan, digest, &recorded, &planned);
    let kept = kept.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    let new = new_run(cli, config, &planned).await?;
    pipeline::import(&new, Digest::of(&planned.head), &folder.name(), &kept)
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    let (kept, expected) = (kept.len(), planned.plan.expected());
    say(format!(
        "the configuration is not that of {}: {kept} of {expected} samples are the same and kept, in {}",
        folder.name(),
        new.shown()
    ));
    Ok((new, Some(folder)))
}

/// The folder of a run of this very job that another master leads.
async fn running(config: &Config, planned: &Planned) -> Result<Option<RunFolder>, Failure> {
    let found = pipeline::running_elsewhere(config, &Digest::of(&planned.head)).await;
    let Some((holder, path)) = found.map_err(|error| store_failure(&error))? else { return Ok(None) };
    match RunFolder::at(&path) {
        Some(folder) => Ok(Some(folder)),
        None => Err(Failure::bad_input(format!(
            "error: {holder} works on this very job in {}, which this host does not see; masters of one job share its \
             work_dir",
            path.display()
        ))),
    }
}

/// Gives the lead back at the end of a run.
async fn conclude(reign: Option<Reign>) -> Result<(), Failure> {
    match reign {
        Some(reign) => reign.conclude().await.map_err(|error| store_failure(&error)),
        None => Ok(()),
    }
}

/// Gives the lead back in the middle of a run.
async fn hand_over(reign: Option<Reign>) {
    if let Some(reign) = reign {
        reign.hand_over().await;
    }
}

/// Takes over the predictions of another evaluator, in the folder where they lie.
fn adopt(folder: &RunFolder, config: &Config) -> Result<(), Failure> {
    let planned = pipeline::plan(config).map_err(|error| plan_failure(&error))?;
    let adopted = pipeline::adopt(folder, &planned).map_err(|faults| plan_failure(&PlanError::Data(faults)))?;
    folder.furnish().map_err(|error| folder_failure(&error))?;
    let digest = Digest::of(&planned.head);
    pipeline::import_adopted(folder, digest, &adopted.results)
        .map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    pipeline::write_plan(folder, &planned).map_err(|error| plan_failure(&error))?;
    let (taken, expected) = (adopted.results.len(), planned.plan.expected());
    say(format!("took over the predictions of {taken} of {expected} samples in {}", folder.shown()));
    if !adopted.without.is_empty() {
        say(format!("note: no predictions of {}", adopted.without.join(", ")));
    }
    Ok(())
}

/// A run folder with its plan.
async fn new_run(cli: &Cli, config: &Config, planned: &Planned) -> Result<RunFolder, Failure> {
    if matches!(cli.mode, Mode::All | Mode::Infer) {
        // Whoever cannot launch a worker should hear it before anything is written.
        pipeline::check_launcher(config).await.map_err(|error| Failure::of(exit::BAD_INPUT, &error))?;
    }
    // The state first: where it cannot be kept, no run folder is left behind.
    for (key, folder) in [("state_dir", &config.state_dir), ("work_dir", &config.work_dir)] {
        pipeline::check_writable(key, folder).map_err(|error| folder_failure(&error))?;
    }
    let stamp = jiff::Zoned::now().strftime("%Y%m%d_%H%M%S").to_string();
    let folder = RunFolder::create(&config.work_dir, &stamp);
    let folder = folder.map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    pipeline::write_plan(&folder, planned).map_err(|error| plan_failure(&error))?;
    pipeline::keep_config(&folder, config, &stamp).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &error))?;
    Ok(folder)
}

fn plan_failure(error: &PlanError) -> Failure {
    match error {
        PlanError::Data(faults) => {
            let count = faults.len();
            let plural = if count == 1 { "error" } else { "errors" };
            Failure::bad_input(format!("{}\n{count} {plural}; nothing was started", faults.join("\n")))
        }
        PlanError::Folder(error) => folder_failure(error),
        PlanError::Damaged { .. } | PlanError::Format { .. } => Failure::of(exit::BAD_INPUT, error),
    }
}

fn folder_failure(error: &FolderError) -> Failure {
    Failure::of(if error.is_bad_input() { exit::BAD_INPUT } else { exit::INFRASTRUCTURE }, error)
}

fn score_failure(error: &ScoreError, cli: &Cli) -> Failure {
    let damaged = matches!(
        error,
        ScoreError::Ledger(LedgerError::Corrupt { .. } | LedgerError::ForeignPlan { .. })
            | ScoreError::Plan(PlanError::Damaged { .. })
    );
    // A stage that ran before may not be called nothing.
    let only_scores = matches!(cli.mode, Mode::Eval | Mode::Viz);
    Failure::of(if damaged && only_scores { exit::BAD_INPUT } else { exit::INFRASTRUCTURE }, error)
}

fn store_failure(error: &StoreError) -> Failure {
    let code = match error {
        StoreError::Fenced(_) => exit::LEADERSHIP_LOST,
        error if error.is_bad_input() => exit::BAD_INPUT,
        _ => exit::INFRASTRUCTURE,
    };
    Failure::of(code, error)
}

fn infer_failure(error: &InferError, folder: &RunFolder, cli: &Cli) -> Failure {
    let code = match error {
        error if error.is_leadership_lost() => exit::LEADERSHIP_LOST,
        InferError::Store(error) if error.is_bad_input() => exit::BAD_INPUT,
        InferError::Partition(_) | InferError::Access(_) | InferError::Elsewhere { .. } => exit::BAD_INPUT,
        // Another try would find the same: somebody must put the file right first. Nothing was started.
        InferError::Ledger(LedgerError::Corrupt { .. } | LedgerError::ForeignPlan { .. }) => exit::BAD_INPUT,
        _ => exit::INFRASTRUCTURE,
    };
    let mut failure = Failure::of(code, error);
    failure.text.push_str(&format!("\n{}", resume_hint(folder, cli)));
    failure
}

fn execute_failure(error: &ExecuteError, folder: &RunFolder, cli: &Cli) -> Failure {
    match error {
        ExecuteError::Infer(error) => infer_failure(error, folder, cli),
        ExecuteError::Store(error) => store_failure(error),
        ExecuteError::Plan(error) => plan_failure(error),
        ExecuteError::Folder(error) => folder_failure(error),
        ExecuteError::Ledger(_) | ExecuteError::CarryOver(_) => Failure::of(exit::INFRASTRUCTURE, error),
    }
}

fn resume_hint(folder: &RunFolder, cli: &Cli) -> String {
    let config = cli.config.as_ref().map_or("<the same flags>".into(), |path| format!("--config {}", path.display()));
    format!("resume with: compass-master {config} -r {}", folder.name())
}

/// The tasks, and the commands that would be launched; of a run that has begun, its tasks and how they stand.
async fn dry_run(cli: &Cli, config: &Config) -> Result<(), Failure> {
    if let Some(name) = &cli.reuse {
        let folder = RunFolder::find(&config.work_dir, Some(name)).map_err(|error| folder_failure(&error))?;
        let (plan, digest, _) = pipeline::read_plan(&folder).map_err(|error| plan_failure(&error))?;
        let recorded = pipeline::recorded_lengths(config, &folder, digest, None).await;
        let recorded = recorded.map_err(|error| store_failure(&error))?;
        let tasks = pipeline::recorded_tasks(&folder, &plan, digest, &recorded);
        if let Some(listing) = tasks.map_err(|error| Failure::of(exit::BAD_INPUT, &error))? {
            return print(listing).map_err(|error| Failure::of(exit::INFRASTRUCTURE, &OutputError(error)));
        }
    }
    let planned = pipeline::plan(config).map_err(|error| plan_failure(&error))?;
    let listing = pipeline::dry_run(config, &planned.plan, &Recorded::default(), cli.unsafe_local_exec);
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

/// The first signal asks to stop, the second one does not ask.
async fn watch_signals(interrupt: watch::Sender<Option<u8>>) {
    let (Ok(mut int), Ok(mut term)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) else {
        return;
    };
    loop {
        let code = tokio::select! {
            _ = int.recv() => exit::INTERRUPTED,
            _ = term.recv() => exit::TERMINATED,
        };
        if interrupt.borrow().is_some() {
            speak_last_words();
            std::process::exit(i32::from(code));
        }
        say("stopping; once more to stop at once");
        let _ = interrupt.send(Some(code));
    }
}
