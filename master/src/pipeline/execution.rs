//! The second stage of data sets whose answers are programs: they go to workers with a sandbox as tasks of kind `execute`.
//!
//! A run of its own below the run's folder, with a plan, a ledger and a lead: verdicts are recorded exactly once by the same
//! protocol as answers. Programs that were run before, in this run or in the one that it goes on from, are not run again.

use super::carry_over::{CarryOverError, carry_over};
use super::drive::Ending;
use super::execution_plan::{executing, plan_execution};
use super::folder::{FolderError, RunFolder};
use super::import::import;
use super::infer::{InferError, InferOptions, Inferred, infer};
use super::launching::comes_by_itself;
use super::lead::recorded_lengths;
use super::live::LiveWriting;
use super::planner::{PlanError, Planned, read_plan, write_plan};
use super::score::{Executions, UnitEntries, load_units};
use crate::launch::Programs;
use crate::ledger::LedgerError;
use crate::screen::say;
use crate::store::StoreError;
use compass_common::config::Config;
use compass_common::ids::{Digest, UnitId};
use compass_common::plan::Plan;
use compass_common::result::SampleResult;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why the stage did not end.
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

/// What the stage leaves behind.
#[derive(Debug)]
pub struct Executed {
    pub ending: Ending,
    pub executions: Executions,
}

/// The run that the programs come from.
#[derive(Debug)]
pub struct Source<'a> {
    pub folder: &'a RunFolder,
    /// Another run that it goes on from, whose verdicts stand where programs are the same.
    pub earlier: Option<&'a RunFolder>,
    pub plan: &'a Plan,
    pub digest: Digest,
    /// As for [`crate::ledger::Ledger::load`].
    pub recorded: &'a BTreeMap<String, u64>,
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
    let units = load_units(source.folder, source.digest, source.recorded, &[])?;
    let (planned, known) = plan_execution(source.folder, source.plan, &units)?;
    let digest = Digest::of(&planned.head);
    let folder = source.folder.execution(&digest);
    let mut ran = Ran { ending: Ending::Finished, failures: Vec::new() };
    if let Some(options) = options {
        if !folder.plan().join("job.json").is_file() {
            begin(config, &source, &folder, &planned, known).await?;
        }
        ran = run(config, &folder, digest, options).await?;
    } else if !folder.plan().join("job.json").is_file() {
        return Ok(Executed {
            ending: Ending::Finished,
            executions: Executions(of_units(source.plan, BTreeMap::new())),
        });
    }
    let recorded = recorded_lengths(config, &folder, digest, None).await?;
    let entries = load_units(&folder, digest, &recorded, &ran.failures)?;
    Ok(Executed { ending: ran.ending, executions: Executions(of_units(source.plan, entries)) })
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
        let (plan, digest, _) = read_plan(&earlier)?;
        let recorded = recorded_lengths(config, &earlier, digest, None).await?;
        for (unit, result) in carry_over(&earlier, &plan, digest, &recorded, planned)? {
            kept.entry((unit, result.index)).or_insert(result);
        }
    }
    if kept.len() > without_program {
        say(format!("the verdicts of {} programs are kept: they were run before", kept.len() - without_program));
    }
    let kept: Vec<(UnitId, SampleResult)> = kept.into_iter().map(|((unit, _), result)| (unit, result)).collect();
    import(folder, Digest::of(&planned.head), "programs run before", &kept)?;
    write_plan(folder, planned)?;
    Ok(())
}

struct Ran {
    ending: Ending,
    failures: Vec<(UnitId, compass_common::intervals::IntervalSet, String)>,
}

async fn run(config: &Config, folder: &RunFolder, digest: Digest, options: InferOptions) -> Result<Ran, ExecuteError> {
    let (plan, _, files) = read_plan(folder)?;
    let recorded = recorded_lengths(config, folder, digest, None).await?;
    let done: u64 = load_units(folder, digest, &recorded, &[])?.values().map(|unit| unit.results.len() as u64).sum();
    if done >= plan.expected() {
        return Ok(Ran { ending: Ending::Finished, failures: Vec::new() });
    }
    say(format!("running {} programs of {} data sets", plan.expected() - done, plan.datasets.len()));
    let config = stage_config(config);
    let Inferred { ending, failures, reign, .. } =
        Box::pin(infer(&config, folder, Arc::new(plan), digest, files, options)).await?;
    if let Some(reign) = reign {
        reign.hand_over().await;
    }
    Ok(Ran { ending, failures })
}

/// Whether any data set's answers are programs.
pub fn has_programs(plan: &Plan) -> bool {
    executing(plan).next().is_some()
}

/// The configuration of the second stage: `[eval]` in the place of `[infer]`, and no model that asks for a device.
pub(super) fn stage_config(config: &Config) -> Config {
    Config { infer: config.eval.clone(), models: Vec::new(), pools: Vec::new(), ..config.clone() }
}

/// How the second stage runs: `unsafe_local_exec` lets local workers run programs that nothing contains.
pub fn execution_options(config: &Config, unsafe_local_exec: bool, options: InferOptions) -> InferOptions {
    InferOptions {
        stage: STAGE,
        predictions: LiveWriting::Off,
        programs: if unsafe_local_exec { Programs::Unsafe } else { Programs::Contained },
        workers_stay: options.floor.is_some(),
        others_may_come: comes_by_itself(config),
        ..options
    }
}

/// What the stage is called on the screen.
const STAGE: &str = "execute";
