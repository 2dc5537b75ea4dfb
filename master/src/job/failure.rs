//! Why a job ended without a table, for the screen, and the exit code that says so to scripts.

use super::request::JobRequest;
use super::request::Mode;
use crate::descriptors::is_caused_by_exhaustion;
use crate::exit;
use crate::pipeline::{ExecuteError, FolderError, InferError, PlanError, RunFolder, ScoreError};
use compass_ledger::LedgerError;
use compass_store::StoreError;

/// What a person can do where descriptors are lacking.
const OPEN_FILES_HELP: &str =
    "\n  = help: raise the limit of open files (`ulimit -n`, or LimitNOFILE of the service) and try again";

/// How a command ends that did not do what it was asked for: what to say, and the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u8,
    pub text: String,
}

impl Failure {
    /// Nothing was started.
    pub fn bad_input(text: impl Into<String>) -> Self {
        Self { code: exit::BAD_INPUT, text: text.into() }
    }

    /// `error: what: why: why`. Whatever failed for lack of file descriptors is trouble of the host, not of the input.
    pub fn of(code: u8, error: &(dyn std::error::Error + 'static)) -> Self {
        let lacks_descriptors = is_caused_by_exhaustion(error);
        let code = if lacks_descriptors && code == exit::BAD_INPUT { exit::INFRASTRUCTURE } else { code };
        let mut text = format!("error: {error}");
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        if lacks_descriptors {
            text.push_str(OPEN_FILES_HELP);
        }
        Self { code, text }
    }

    /// The plan cannot be made or read.
    pub fn of_plan(error: &PlanError) -> Self {
        match error {
            PlanError::Host { .. } => Self::of(exit::INFRASTRUCTURE, error),
            PlanError::DataWithoutDescriptors(faults) => {
                Self { code: exit::INFRASTRUCTURE, text: faults.join("\n") + OPEN_FILES_HELP }
            }
            PlanError::Data(faults) => {
                let count = faults.len();
                let plural = if count == 1 { "error" } else { "errors" };
                Self::bad_input(format!("{}\n{count} {plural}; nothing was started", faults.join("\n")))
            }
            PlanError::Folder(error) => Self::of_folder(error),
            PlanError::Damaged { .. } | PlanError::Format { .. } | PlanError::Encode(_) => {
                Self::of(exit::BAD_INPUT, error)
            }
        }
    }

    /// No worker can be launched; nothing was started.
    pub(super) fn of_launchers(error: &InferError) -> Self {
        let is_infrastructure = matches!(error, InferError::Launch(error) if error.is_infrastructure());
        Self::of(if is_infrastructure { exit::INFRASTRUCTURE } else { exit::BAD_INPUT }, error)
    }

    /// A folder cannot be used.
    pub fn of_folder(error: &FolderError) -> Self {
        Self::of(if error.is_bad_input() { exit::BAD_INPUT } else { exit::INFRASTRUCTURE }, error)
    }

    /// The store fails.
    pub fn of_store(error: &StoreError) -> Self {
        let code = match error {
            StoreError::Fenced(_) => exit::LEADERSHIP_LOST,
            error if error.is_bad_input() => exit::BAD_INPUT,
            _ => exit::INFRASTRUCTURE,
        };
        Self::of(code, error)
    }

    pub(super) fn of_score(error: &ScoreError, folder: &RunFolder, request: &JobRequest) -> Self {
        let damaged = matches!(
            error,
            ScoreError::Ledger(
                LedgerError::Corrupt { .. }
                    | LedgerError::Seal { .. }
                    | LedgerError::ForeignPlan { .. }
                    | LedgerError::ImpossibleEpoch { .. }
            ) | ScoreError::Plan(PlanError::Damaged { .. })
        );
        // A stage that ran before may not be called nothing.
        let only_scores = matches!(request.mode, Mode::Eval | Mode::Viz);
        let mut failure = Self::of(if damaged && only_scores { exit::BAD_INPUT } else { exit::INFRASTRUCTURE }, error);
        if !only_scores {
            failure.text.push_str(&format!("\n{}", request.resume_hint(folder)));
        }
        failure
    }

    pub(super) fn of_inference(error: &InferError, folder: &RunFolder, request: &JobRequest) -> Self {
        let code = match error {
            error if error.is_leadership_lost() => exit::LEADERSHIP_LOST,
            InferError::Store(error) if error.is_bad_input() => exit::BAD_INPUT,
            InferError::Partition(_) | InferError::PortsRefused(_) | InferError::Elsewhere { .. } => exit::BAD_INPUT,
            // Another try would find the same: somebody must put the file right first. Nothing was started.
            InferError::Ledger(
                LedgerError::Corrupt { .. }
                | LedgerError::Seal { .. }
                | LedgerError::ForeignPlan { .. }
                | LedgerError::ImpossibleEpoch { .. },
            )
            | InferError::Plan(PlanError::Damaged { .. }) => exit::BAD_INPUT,
            _ => exit::INFRASTRUCTURE,
        };
        let mut failure = Self::of(code, error);
        failure.text.push_str(&format!("\n{}", request.resume_hint(folder)));
        failure
    }

    pub(super) fn of_execution(error: &ExecuteError, folder: &RunFolder, request: &JobRequest) -> Self {
        match error {
            ExecuteError::Infer(error) => Self::of_inference(error, folder, request),
            ExecuteError::Store(error) => Self::of_store(error),
            ExecuteError::Plan(error) => Self::of_plan(error),
            ExecuteError::Folder(error) => Self::of_folder(error),
            ExecuteError::Ledger(_) | ExecuteError::CarryOver(_) => Self::of(exit::INFRASTRUCTURE, error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn too_many_open_files_is_infrastructure_whatever_needed_the_file() {
        let exhausted = || io::Error::from_raw_os_error(24);
        let secret = StoreError::Secret { key: "ca", path: "ca.pem".into(), source: exhausted() };
        let plan = PlanError::unreadable("plan/job.json".as_ref(), exhausted());
        for failure in [Failure::of_store(&secret), Failure::of_plan(&plan)] {
            assert_eq!(failure.code, exit::INFRASTRUCTURE, "{}", failure.text);
            assert!(failure.text.contains("Too many open files") && failure.text.contains("ulimit -n"));
        }
        let gone = PlanError::unreadable("plan/job.json".as_ref(), io::ErrorKind::NotFound.into());
        assert_eq!(Failure::of_plan(&gone).code, exit::BAD_INPUT, "a file that is not there is bad input still");
    }
}
