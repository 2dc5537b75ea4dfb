//! The second stage of data sets whose answers are programs: they go to workers with a sandbox as tasks of kind `execute`.
//!
//! A run of its own below the run's folder, with a plan, a ledger and a lead: results are recorded exactly once by the same
//! protocol as answers. Programs that were run before, in this run or in the one that it goes on from, are not run again.

use super::drive::Ending;
use super::infer::{InferOptions, Inferred, infer};
use super::infer_error::InferError;
use super::launching::comes_by_itself;
use super::lead::{RunTerm, recorded_lengths_beside};
use super::live::LiveWriting;
use compass_common::status_output::print_status;
use compass_common::words::counted;
use compass_launch::Programs;
use compass_ledger::LedgerError;
use compass_plan::Plan;
use compass_planning::{CarriedOver, CarryOverError, EarlierRun, executing, import, plan_execution};
use compass_run_folder::{FolderError, PlanError, Planned, RunFolder, read_plan, write_plan};
use compass_scoring::{Answers, Executions, UnitEntries};
use compass_settings::Config;
use compass_store::{StoreError, StoreTimeouts};
use compass_types::ids::{Digest, UnitId};
use compass_types::result::SampleResult;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::task::block_in_place;

/// Reason for which the stage did not end.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error(transparent)]
    Infer(#[from] InferError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    CarryOver(#[from] CarryOverError),
}

/// Result of the stage.
#[derive(Debug)]
pub struct Executed {
    pub ending: Ending,
    pub executions: Executions,
}

/// The run that the programs come from.
#[derive(Debug)]
pub struct Source<'a> {
    pub folder: &'a RunFolder,
    /// Another run that it goes on from, whose results stand where programs are the same.
    pub earlier: Option<&'a RunFolder>,
    pub plan: &'a Plan,
    /// The answers that the programs are.
    pub answers: &'a Answers,
    /// The lead of that run, if this master has it.
    pub term: Option<&'a RunTerm>,
}

/// Runs the programs of every answer that has not been run, as `[eval.partitioner]` and `[eval.runner]` say. Without
/// `options` none are run: what was recorded before is read.
///
/// # Errors
/// See [`ExecuteError`]; whatever is durable stays, and the run can be resumed.
pub async fn execute(
    config: &Config,
    source: Source<'_>,
    options: Option<InferOptions>,
) -> Result<Executed, ExecuteError> {
    let (planned, known) = block_in_place(|| plan_execution(source.folder, source.plan, &source.answers.0))?;
    let digest = Digest::of(&planned.head);
    let folder = source.folder.execution(&digest);
    let ran = if let Some(options) = options {
        if !folder.plan().join("job.json").is_file() {
            begin(config, &source, &folder, &planned, known).await?;
        }
        run(config, &folder, digest, source.term, options).await?
    } else if !folder.plan().join("job.json").is_file() {
        return Ok(Executed {
            ending: Ending::Finished,
            executions: Executions(of_units(source.plan, BTreeMap::new())),
        });
    } else {
        let recorded = recorded_lengths_beside(config, &folder, digest, source.term).await?;
        let answers = block_in_place(|| Answers::read(&folder, digest, &recorded))?;
        Ran { ending: Ending::Finished, answers }
    };
    Ok(Executed { ending: ran.ending, executions: Executions(of_units(source.plan, ran.answers.0)) })
}

/// The entries of the second plan under the units of the first.
fn of_units(plan: &Plan, mut entries: BTreeMap<UnitId, UnitEntries>) -> BTreeMap<UnitId, UnitEntries> {
    let ids = executing(plan).enumerate();
    ids.map(|(at, unit)| (unit.id, entries.remove(&UnitId(at as u32)).unwrap_or_default())).collect()
}

/// Makes the stage's folder: what is known first, the plan's head last. A folder without a head was never begun.
async fn begin(
    config: &Config,
    source: &Source<'_>,
    folder: &RunFolder,
    planned: &Planned,
    known: Vec<(UnitId, SampleResult)>,
) -> Result<(), ExecuteError> {
    let failed = |source| FolderError::Io { action: "clear", path: folder.root().to_owned(), source };
    if folder.root().exists() {
        std::fs::remove_dir_all(folder.root()).map_err(failed)?;
    }
    folder.furnish()?;
    let mut kept: BTreeMap<(UnitId, u32), SampleResult> =
        known.into_iter().map(|(unit, result)| ((unit, result.index), result)).collect();
    let without_program = kept.len();
    let before =
        source.folder.executions().into_iter().chain(source.earlier.into_iter().flat_map(RunFolder::executions));
    for earlier in before {
        let (plan, digest, _) = block_in_place(|| read_plan(&earlier))?;
        let recorded = recorded_lengths_beside(config, &earlier, digest, source.term).await?;
        let run = block_in_place(|| EarlierRun::read(&earlier, plan, digest, &recorded))?;
        for (unit, result) in block_in_place(|| run.answers(planned))?.results {
            kept.entry((unit, result.index)).or_insert(result);
        }
    }
    if kept.len() > without_program {
        print_status(format!(
            "the results of {} programs are kept: they were run before",
            kept.len() - without_program
        ));
    }
    let results = kept.into_iter().map(|((unit, _), result)| (unit, result)).collect();
    let kept = CarriedOver { results, ..CarriedOver::default() };
    block_in_place(|| import(folder, Digest::of(&planned.head), "programs run before", &kept))?;
    block_in_place(|| write_plan(folder, planned))?;
    Ok(())
}

struct Ran {
    ending: Ending,
    /// Contents of its ledger, with the programs that failed.
    answers: Answers,
}

async fn run(
    config: &Config,
    folder: &RunFolder,
    digest: Digest,
    term: Option<&RunTerm>,
    options: InferOptions,
) -> Result<Ran, ExecuteError> {
    let (plan, _, files) = block_in_place(|| read_plan(folder))?;
    let recorded = recorded_lengths_beside(config, folder, digest, term).await?;
    let answers = block_in_place(|| Answers::read(folder, digest, &recorded))?;
    let done = answers.count();
    if done >= plan.expected() {
        return Ok(Ran { ending: Ending::Finished, answers });
    }
    drop(answers);
    let (programs, datasets) = (plan.expected() - done, plan.datasets.len() as u64);
    print_status(format!("running {} of {}", counted(programs, "program"), counted(datasets, "data set")));
    let config = stage_config(config);
    let Inferred { ending, failures, term, answers, .. } =
        Box::pin(infer(&config, folder, Arc::new(plan), digest, files, options)).await?;
    let mut answers = match answers {
        Some(answers) => answers,
        None => {
            let recorded = recorded_lengths_beside(&config, folder, digest, None).await?;
            block_in_place(|| Answers::read(folder, digest, &recorded))?
        }
    };
    answers.fail(&failures);
    match term {
        Some(term) if ending == Ending::Finished => term.conclude().await?,
        Some(term) => term.hand_over().await,
        None => {}
    }
    Ok(Ran { ending, answers })
}

/// The configuration of the second stage: `[eval]` in the place of `[infer]`, and no model that asks for a device.
pub(super) fn stage_config(config: &Config) -> Config {
    Config { infer: config.eval.clone(), models: Vec::new(), pools: Vec::new(), ..config.clone() }
}

/// Returns the options of the second stage: `unsafe_local_exec` lets local workers run programs that nothing contains,
/// `workers_stay` says that other jobs follow, for which workers are to stay.
pub fn execution_options(
    config: &Config,
    unsafe_local_exec: bool,
    workers_stay: bool,
    options: InferOptions,
) -> InferOptions {
    InferOptions {
        stage: STAGE,
        predictions: LiveWriting::Off,
        programs: if unsafe_local_exec { Programs::Unsafe } else { Programs::Contained },
        workers_stay,
        others_may_come: comes_by_itself(config),
        timeouts: StoreTimeouts::in_mid_run(),
        ..options
    }
}

/// Name of the stage on the screen.
const STAGE: &str = "execute";
