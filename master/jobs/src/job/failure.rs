//! The reason why a job ended without a table, for the screen, and the exit code that says so to scripts.

use super::request::{JobRequest, Mode};
use crate::http::secrets::HttpSecretsError;
use compass_cli::exit;
use compass_common::descriptors::is_caused_by_exhaustion;
use compass_diagnostic::{Diagnostic, Diagnostics};
use compass_ledger::LedgerError;
use compass_run::{ExecuteError, InferError};
use compass_run_folder::{FolderError, PlanError, RunFolder};
use compass_scoring::ScoreError;
use compass_store::StoreError;

/// Advice to a person where descriptors are lacking.
const OPEN_FILES_HELP: &str =
    "raise the limit of open files (`ulimit -n`, or LimitNOFILE of the service) and try again";

/// End of a command that did not do what it was asked for: its message, and the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u8,
    pub diagnostics: Diagnostics,
}

impl Failure {
    pub fn new(code: u8, diagnostics: impl Into<Diagnostics>) -> Self {
        Self { code, diagnostics: diagnostics.into() }
    }

    /// Nothing was started.
    pub fn bad_input(diagnostics: impl Into<Diagnostics>) -> Self {
        Self::new(exit::BAD_INPUT, diagnostics)
    }

    /// `what: why: why`. Whatever failed for lack of file descriptors is trouble of the host, not of the input.
    pub fn of(code: u8, error: &(dyn std::error::Error + 'static)) -> Self {
        let lacks_descriptors = is_caused_by_exhaustion(error);
        let code = if lacks_descriptors && code == exit::BAD_INPUT { exit::INFRASTRUCTURE } else { code };
        let mut diagnostic = Diagnostic::of(error);
        diagnostic.help = lacks_descriptors.then(|| OPEN_FILES_HELP.into());
        Self::new(code, diagnostic)
    }

    /// With a sentence after what is wrong.
    fn with_closing(self, text: String) -> Self {
        Self { diagnostics: self.diagnostics.with_closing(text), ..self }
    }

    /// The plan cannot be made or read.
    pub fn of_plan(error: &PlanError) -> Self {
        match error {
            PlanError::Host { .. } | PlanError::Compress(_) => Self::of(exit::INFRASTRUCTURE, error),
            PlanError::DataWithoutDescriptors(faults) => {
                let mut faults = faults.clone();
                faults.last_mut().into_iter().for_each(|last| last.help = Some(OPEN_FILES_HELP.into()));
                Self::new(exit::INFRASTRUCTURE, faults)
            }
            PlanError::Data(faults) => Self::bad_input(Diagnostics::nothing_started(faults.clone())),
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

    /// The secrets of the HTTP port cannot be used; nothing was started.
    pub(super) fn of_http(error: &HttpSecretsError) -> Self {
        Self::of(exit::BAD_INPUT, error).with_closing("1 error; nothing was started".into())
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
        let failure = Self::of(if damaged && only_scores { exit::BAD_INPUT } else { exit::INFRASTRUCTURE }, error);
        if only_scores { failure } else { failure.with_closing(request.resume_hint(folder)) }
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
        Self::of(code, error).with_closing(request.resume_hint(folder))
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
            let text = failure.diagnostics.to_string();
            assert_eq!(failure.code, exit::INFRASTRUCTURE, "{text}");
            assert!(text.contains("Too many open files") && text.contains("ulimit -n"), "{text}");
        }
        let gone = PlanError::unreadable("plan/job.json".as_ref(), io::ErrorKind::NotFound.into());
        assert_eq!(Failure::of_plan(&gone).code, exit::BAD_INPUT, "a file that is not there is bad input still");
    }
}
