//! Reads the plan of a run folder. Every file is verified against its name.

use compass_common::regular_file;
use compass_plan::partition::{TaskList, TaskName, TaskNameError};
use compass_plan::{ModelKind, PLAN_FORMAT, Part, PartRef, Plan, found_part, head_path, read_plan_file, tasks_path};
use compass_types::ids::{Digest, UnitId};
use compass_types::intervals::IntervalSet;
use std::io;
use std::path::{Path, PathBuf};

/// Reason why a task cannot run here; no engine was started.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("{run} is not a run folder, as it has no plan/job.json; give a run's folder <work_dir>/YYYYmmdd_HHMMSS")]
    NoRun { run: PathBuf },
    #[error("the plan is damaged: {path}: {reason}; restore the file from a copy of the run")]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "the run's plan has format {found}, this worker reads format {PLAN_FORMAT}; use the version that started the run"
    )]
    Format { found: u32 },
    #[error(
        "the run has no task list ({path}), which its master writes at the start; give samples instead: \
         --task 'model/dataset[0..5]'"
    )]
    NoList { path: PathBuf },
    #[error(transparent)]
    Task(#[from] TaskNameError),
    #[error(
        "model `{model}` is missing on this machine: the plan's path is {path}; run this where the path is mounted"
    )]
    NoModel { model: String, path: PathBuf },
    #[error("model `{model}` needs libtorch, but this worker was built without it")]
    NoEngine { model: String },
}

/// The plan of a run folder.
#[derive(Debug)]
pub(super) struct PlanFolder {
    run: PathBuf,
    pub(super) plan: Plan,
    digest: Digest,
}

/// A part, raw for the engine and parsed.
#[derive(Debug)]
pub(super) struct ReadPart {
    pub(super) digest: Digest,
    pub(super) bytes: Vec<u8>,
    pub(super) part: Part,
}

impl PlanFolder {
    /// Reads the plan's head.
    pub(super) fn open(run: &Path) -> Result<Self, ReadError> {
        let path = head_path(run);
        let bytes = match regular_file::read(&path, regular_file::LARGE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ReadError::NoRun { run: run.into() }),
            read => read.map_err(|error| damaged(&path, error))?,
        };
        let value: serde_json::Value = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error))?;
        let found = value.get("format").and_then(serde_json::Value::as_u64).unwrap_or_default() as u32;
        if found != PLAN_FORMAT {
            return Err(ReadError::Format { found });
        }
        let plan = serde_json::from_value(value).map_err(|error| damaged(&path, error))?;
        Ok(Self { run: run.into(), plan, digest: Digest::of(&bytes) })
    }

    /// Returns the samples of a task, and checks that their models are on this machine.
    pub(super) fn task(&self, task: &TaskName, has_engine: bool) -> Result<Vec<(UnitId, IntervalSet)>, ReadError> {
        let list = match task {
            TaskName::Number(_) => Some(self.list()?),
            TaskName::Samples { .. } => None,
        };
        let pieces = task.pieces(&self.plan, &self.digest, list.as_ref())?;
        for unit in pieces.iter().filter_map(|(unit, _)| self.plan.unit(*unit)) {
            if matches!(unit.model.kind, ModelKind::Endpoint | ModelKind::Echo | ModelKind::Sandbox) {
                continue;
            }
            let (model, path) = (unit.model.abbr.clone(), PathBuf::from(&unit.model.path));
            if !has_engine {
                return Err(ReadError::NoEngine { model });
            }
            if !path.exists() {
                return Err(ReadError::NoModel { model, path });
            }
        }
        Ok(pieces)
    }

    fn list(&self) -> Result<TaskList, ReadError> {
        let path = tasks_path(&self.run);
        match regular_file::read(&path, regular_file::LARGE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ReadError::NoList { path }),
            Err(error) => Err(damaged(&path, error)),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error)),
        }
    }

    /// Reads a part.
    pub(super) fn part(&self, part: &PartRef) -> Result<ReadPart, ReadError> {
        let path = found_part(&self.run, &part.digest);
        let bytes = read_plan_file(&path, &part.digest).map_err(|error| damaged(&path, error))?;
        let read = serde_json::from_slice(&bytes).map_err(|error| damaged(&path, error))?;
        Ok(ReadPart { digest: part.digest, bytes, part: read })
    }
}

fn damaged(path: &Path, reason: impl ToString) -> ReadError {
    ReadError::Damaged { path: path.into(), reason: reason.to_string() }
}
