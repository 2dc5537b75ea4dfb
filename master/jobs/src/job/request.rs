//! The options that a person gives a job beside its configuration.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use compass_eval::report::Details;
use compass_run_folder::RunFolder;
use compass_settings::WrittenConfig;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// Stages to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Inference, then scores and the table.
    All,
    /// Inference alone.
    Infer,
    /// Scores and the table of a run that has its results (-r).
    Eval,
    /// The table of a run that has its results (-r).
    Viz,
}

impl ValueEnum for Mode {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::All, Self::Infer, Self::Eval, Self::Viz]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self {
            Self::All => ("all", "Inference, then scores and the table"),
            Self::Infer => ("infer", "Inference alone"),
            Self::Eval => ("eval", "Scores and the table of a run that has its results (-r)"),
            Self::Viz => ("viz", "The table of a run that has its results (-r)"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

/// Options of a job beside its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRequest {
    /// Stages to run.
    pub mode: Mode,
    /// The run to go on with: its name, or `latest`; `None` begins one.
    pub reuse: Option<String>,
    /// Contents of results documents.
    pub details: Details,
    /// One slot, with the worker's output on this terminal.
    pub debug: bool,
    /// Set if programs that a model wrote may run as plain processes where no sandbox works.
    pub unsafe_local_exec: bool,
    /// Set if a server runs it, with workers of its own.
    pub served: bool,
    /// The configuration as the run keeps it; `None` for a job of a server's book, whose folder has it.
    pub written: Option<Arc<WrittenConfig>>,
    /// Path of the file with its state, for programs that watch over it.
    pub status_file: Option<PathBuf>,
    /// The command line that was typed, without `-r`, as a shell takes it: with it, a run that was stopped goes on.
    pub command: String,
}

impl JobRequest {
    /// Returns whether the job runs samples, rather than to score those that were run.
    pub fn infers(&self) -> bool {
        matches!(self.mode, Mode::All | Mode::Infer)
    }

    /// Describes how a run that was stopped continues, or says that it cannot.
    pub fn resume_hint(&self, folder: &RunFolder) -> String {
        if RunFolder::at(folder.root()).is_none() {
            return format!("nothing of the run is left in {}; start it again with: {}", folder.shown(), self.command);
        }
        // A watch finds its runs itself.
        if self.command.starts_with("compass-master watch ") {
            return format!("resume with: {}", self.command);
        }
        format!("resume with: {} -r {}", self.command, folder.name())
    }
}
