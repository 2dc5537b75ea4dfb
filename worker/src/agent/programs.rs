//! Model-written programs: run in the sandbox, beside the engines.
//!
//! One sample at a time per slot, so that no sample starts after the lease and a dying worker loses no more than these.
//! A program that fails is a result; a sandbox that fails is a failure of the task, which is retried.

use super::event::Event;
use super::options::ProgramPolicy;
use compass_agent::{BatchEnd, SlotEvent, SlotReport};
use compass_plan::engine::TokenCounters;
use compass_plan::{Body, Part, Program};
use compass_proto::v1;
use compass_sandbox::{Limits, Policy, ProgramOutcome, Sandbox, Stage};
use compass_types::result::{Execution, ExecutionClass, Outcome, PromptFit, SampleResult};
use rustix::process::Signal;
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Programs runner, with the result of the sandbox's detection.
#[derive(Debug)]
pub(crate) struct Programs {
    sandbox: Option<Sandbox>,
    /// For the hello; `None` if no sandbox was looked for.
    pub(super) found: Option<v1::Sandbox>,
    exit_request: ExitRequest,
}

/// Request to exit that this worker may receive. The same signal may reach every process of the job, programs included:
/// the outcome of a program that it ended does not count.
#[derive(Clone, Debug, Default)]
struct ExitRequest(CancellationToken);

/// Time after the end of a program within which the worker may receive the signal.
const SIGNAL_DELAY: Duration = Duration::from_secs(1);

impl ExitRequest {
    /// Returns whether the program was ended together with this worker, so that its outcome does not count.
    async fn ended(&self, outcome: &ProgramOutcome) -> bool {
        let asks_to_end = [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw);
        let ProgramOutcome::Killed { signal } = outcome else { return false };
        if !asks_to_end.contains(signal) {
            return false;
        }
        tokio::time::timeout(SIGNAL_DELAY, self.0.cancelled()).await.is_ok()
    }
}

impl Programs {
    /// Detects an isolation as far as `policy` allows; programs run in up to `slots` slots at once.
    pub(crate) async fn detect(policy: ProgramPolicy, slots: u32) -> Self {
        if policy == ProgramPolicy::Never {
            return Self { sandbox: None, found: None, exit_request: ExitRequest::default() };
        }
        let policy = Policy {
            unsafe_local_exec: policy == ProgramPolicy::Unsafe,
            concurrent: NonZeroUsize::new(slots as usize).unwrap_or(NonZeroUsize::MIN),
            ..Policy::default()
        };
        match Sandbox::detect(&policy).await {
            Ok(sandbox) => {
                let (isolation, python) = (sandbox.isolation().to_string(), sandbox.python_version().to_owned());
                tracing::info!(isolation, python, "model-written programs can run");
                let found = v1::Sandbox { refusal: String::new(), isolation, python };
                Self { sandbox: Some(sandbox), found: Some(found), exit_request: ExitRequest::default() }
            }
            Err(refusal) => {
                let refusal = refusal.to_string();
                tracing::info!(refusal, "model-written programs cannot run");
                let found = Some(v1::Sandbox { refusal, ..v1::Sandbox::default() });
                Self { sandbox: None, found, exit_request: ExitRequest::default() }
            }
        }
    }

    /// Runs the programs of the sample `index` of `part` and reports as the slot `slot`; `None` without a sandbox, or
    /// if the sample does not exist.
    pub(super) fn start(
        &self,
        slot: usize,
        batch: u64,
        part: &Part,
        index: u32,
        reports: mpsc::Sender<Event>,
    ) -> Option<ProgramRun> {
        let (sandbox, exit_request) = (self.sandbox.clone()?, self.exit_request.clone());
        let programs = programs_of(part, index)?.to_vec();
        Some(ProgramRun(tokio::spawn(async move {
            let report = |event| Event::Slot(SlotReport { slot, event });
            let end = match run_sample(&sandbox, index, &programs, &exit_request).await {
                Ok(result) => {
                    let _ = reports.send(report(SlotEvent::Result((&result).into()))).await;
                    BatchEnd::Done { tokens: TokenCounters::default(), notes: Vec::new(), prefix_segments: Vec::new() }
                }
                Err(detail) => BatchEnd::NeverStarted { message: format!("the sandbox failed: {detail}") },
            };
            let _ = reports.send(report(SlotEvent::Ended { batch, orders: 1, end })).await;
        })))
    }
}

impl Programs {
    /// Notes that the worker was asked to exit.
    pub(super) fn request_exit(&self) {
        self.exit_request.0.cancel();
    }

    /// Returns why no programs run here; `None` if they do.
    pub(crate) fn refusal(&self) -> Option<String> {
        match (&self.sandbox, &self.found) {
            (Some(_), _) => None,
            (None, Some(found)) => Some(found.refusal.clone()),
            (None, None) => Some("--no-sandbox forbids it".into()),
        }
    }

    /// Runs the programs of the sample `index` of `part` and waits for them; `None` without a sandbox, or if the sample has
    /// none. The error is the sandbox's.
    pub(crate) async fn run(&self, part: &Part, index: u32) -> Option<Result<SampleResult, String>> {
        let sandbox = self.sandbox.as_ref()?;
        Some(run_sample(sandbox, index, programs_of(part, index)?, &self.exit_request).await)
    }
}

fn programs_of(part: &Part, index: u32) -> Option<&[Program]> {
    match &part.sample(index)?.body {
        Body::Execute { programs } => Some(programs),
        _ => None,
    }
}

async fn run_sample(
    sandbox: &Sandbox,
    index: u32,
    programs: &[Program],
    exit_request: &ExitRequest,
) -> Result<SampleResult, String> {
    let outcome = Outcome::Executed(run_all(sandbox, programs, exit_request).await?);
    Ok(SampleResult { index, fit: PromptFit::default(), outcome })
}

/// Running programs. Dropping it kills them.
#[derive(Debug)]
pub(super) struct ProgramRun(JoinHandle<()>);

impl ProgramRun {
    /// Kills them and waits until they have ended.
    pub(super) async fn stop(mut self) {
        self.0.abort();
        let _ = (&mut self.0).await;
    }
}

impl Drop for ProgramRun {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs programs in order until the sandbox fails, and returns its error.
async fn run_all(
    sandbox: &Sandbox,
    programs: &[Program],
    exit_request: &ExitRequest,
) -> Result<Vec<Execution>, String> {
    let mut executions = Vec::with_capacity(programs.len());
    for program in programs {
        let outcome = sandbox.run(&contained(program)).await;
        if exit_request.ended(&outcome).await {
            return Err("the program was ended with its worker".into());
        }
        executions.push(execution(&outcome)?);
    }
    Ok(executions)
}

fn contained(program: &Program) -> compass_sandbox::Program {
    let stages = program.stages.iter();
    let stages = stages.map(|stage| Stage { source: stage.source.clone(), type_aware: stage.type_aware }).collect();
    let limits = Limits { wall: Duration::from_millis(program.wall_ms.into()), ..Limits::default() };
    compass_sandbox::Program { stages, limits }
}

fn execution(outcome: &ProgramOutcome) -> Result<Execution, String> {
    let class = match outcome {
        ProgramOutcome::Passed => ExecutionClass::Passed,
        ProgramOutcome::Failed { assertion: true, .. } => ExecutionClass::WrongAnswer,
        ProgramOutcome::Failed { .. } => ExecutionClass::Failed,
        ProgramOutcome::Timeout => ExecutionClass::Timeout,
        ProgramOutcome::Memory | ProgramOutcome::TotalMemory { .. } => ExecutionClass::Memory,
        ProgramOutcome::OutputFlood => ExecutionClass::Output,
        ProgramOutcome::Killed { .. } => ExecutionClass::Killed,
        ProgramOutcome::SandboxError { detail } => return Err(detail.clone()),
    };
    Ok(Execution { class, result: without_addresses(&outcome.human_eval()), answer: String::new() })
}

/// Replaces addresses of objects, which differ between runs: `0x7f3a10` becomes `0x...`.
fn without_addresses(text: &str) -> String {
    const SHORTEST: usize = 6;
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("0x") {
        let (before, after) = rest.split_at(at + 2);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len();
        shown.push_str(before);
        if digits >= SHORTEST {
            shown.push_str("...");
            rest = &after[digits..];
        } else {
            rest = after;
        }
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_masked() {
        let text = "failed: <object at 0x7f3a1c2b4d90> is not 0xff, 0x";
        assert_eq!(without_addresses(text), "failed: <object at 0x...> is not 0xff, 0x");
        assert_eq!(without_addresses("passed"), "passed");
    }

    #[tokio::test]
    async fn outcome_of_a_program_ended_with_its_worker_does_not_count() {
        let term = ProgramOutcome::Killed { signal: 15 };
        let exit_request = ExitRequest::default();
        assert!(!exit_request.ended(&term).await, "the worker got no signal: the program killed itself");
        // The worker receives the signal after the program's end.
        let (ended, ()) = tokio::join!(exit_request.ended(&term), async { exit_request.0.cancel() });
        assert!(ended && exit_request.ended(&term).await);
        assert!(
            !exit_request.ended(&ProgramOutcome::Killed { signal: 11 }).await
                && !exit_request.ended(&ProgramOutcome::Passed).await
        );
    }

    #[test]
    fn sandbox_error_is_not_an_outcome() {
        let error = execution(&ProgramOutcome::SandboxError { detail: "no namespaces".into() });
        assert_eq!(error, Err("no namespaces".into()));
        let wrong = ProgramOutcome::Failed { exception: "AssertionError".into(), message: "1".into(), assertion: true };
        let wrong = execution(&wrong).unwrap();
        assert_eq!((wrong.class, wrong.result.as_str()), (ExecutionClass::WrongAnswer, "failed: 1"));
    }
}
