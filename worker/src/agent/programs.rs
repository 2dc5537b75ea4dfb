//! Programs that a model wrote: run in the sandbox, beside the engines and without one.
//!
//! One sample at a time in a slot, so that none begins past the lease and a worker that dies loses no more than these. A
//! program that fails is a result; a sandbox that fails is a failure of the task, for another try.

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

/// What this worker found out about running programs, once.
#[derive(Debug)]
pub(crate) struct Programs {
    sandbox: Option<Sandbox>,
    /// For the hello; `None` when nobody looked.
    pub(super) found: Option<v1::Sandbox>,
    going: Going,
}

/// Whether this worker was told to go. Who tells it so may tell every process of the job, programs included: what such a
/// signal ended has no outcome.
#[derive(Clone, Debug, Default)]
struct Going(CancellationToken);

/// How much later than a program the worker may hear that all are to go.
const HEARSAY: Duration = Duration::from_secs(1);

impl Going {
    /// Whether the outcome says nothing of the program: it was ended as this worker was.
    async fn ended(&self, outcome: &ProgramOutcome) -> bool {
        let asks_to_end = [Signal::HUP, Signal::INT, Signal::TERM].map(Signal::as_raw);
        let ProgramOutcome::Killed { signal } = outcome else { return false };
        if !asks_to_end.contains(signal) {
            return false;
        }
        tokio::time::timeout(HEARSAY, self.0.cancelled()).await.is_ok()
    }
}

impl Programs {
    /// Looks for an isolation that holds, as far as `policy` allows; programs run in up to `slots` slots at once.
    pub(crate) async fn look(policy: ProgramPolicy, slots: u32) -> Self {
        if policy == ProgramPolicy::Never {
            return Self { sandbox: None, found: None, going: Going::default() };
        }
        let policy = Policy {
            unsafe_local_exec: policy == ProgramPolicy::Unsafe,
            concurrent: NonZeroUsize::new(slots as usize).unwrap_or(NonZeroUsize::MIN),
            ..Policy::default()
        };
        match Sandbox::detect(&policy).await {
            Ok(sandbox) => {
                let (isolation, python) = (sandbox.isolation().to_string(), sandbox.python_version().to_owned());
                tracing::info!(isolation, python, "programs that a model wrote can be run");
                let found = v1::Sandbox { refusal: String::new(), isolation, python };
                Self { sandbox: Some(sandbox), found: Some(found), going: Going::default() }
            }
            Err(refusal) => {
                let refusal = refusal.to_string();
                tracing::info!(refusal, "programs that a model wrote cannot be run");
                let found = Some(v1::Sandbox { refusal, ..v1::Sandbox::default() });
                Self { sandbox: None, found, going: Going::default() }
            }
        }
    }

    /// Runs the programs of the sample `index` of `part` and reports as the slot `slot`; `None` without a sandbox, or when
    /// there is no such sample.
    pub(super) fn start(
        &self,
        slot: usize,
        batch: u64,
        part: &Part,
        index: u32,
        reports: mpsc::Sender<Event>,
    ) -> Option<ProgramRun> {
        let (sandbox, going) = (self.sandbox.clone()?, self.going.clone());
        let programs = programs_of(part, index)?.to_vec();
        Some(ProgramRun(tokio::spawn(async move {
            let report = |event| Event::Slot(SlotReport { slot, event });
            let end = match run_sample(&sandbox, index, &programs, &going).await {
                Ok(result) => {
                    let _ = reports.send(report(SlotEvent::Result((&result).into()))).await;
                    BatchEnd::Done { tokens: TokenCounters::default(), notes: Vec::new(), prefix_segments: Vec::new() }
                }
                Err(detail) => BatchEnd::NeverStarted { message: format!("the sandbox failed: {detail}") },
            };
            let _ = reports.send(report(SlotEvent::Ended { batch, end })).await;
        })))
    }
}

impl Programs {
    /// The worker was told to go.
    pub(super) fn told_to_go(&self) {
        self.going.0.cancel();
    }

    /// Why no programs are run here; `None` when they are.
    pub(crate) fn refusal(&self) -> Option<String> {
        match (&self.sandbox, &self.found) {
            (Some(_), _) => None,
            (None, Some(found)) => Some(found.refusal.clone()),
            (None, None) => Some("--no-sandbox forbids it".into()),
        }
    }

    /// Runs the programs of the sample `index` of `part` here and now; `None` without a sandbox, or when there are none. The
    /// error is the sandbox's.
    pub(crate) async fn run(&self, part: &Part, index: u32) -> Option<Result<SampleResult, String>> {
        let sandbox = self.sandbox.as_ref()?;
        Some(run_sample(sandbox, index, programs_of(part, index)?, &self.going).await)
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
    going: &Going,
) -> Result<SampleResult, String> {
    let outcome = Outcome::Executed(run_all(sandbox, programs, going).await?);
    Ok(SampleResult { index, fit: PromptFit::default(), outcome })
}

/// Programs under way. Dropping it kills them.
#[derive(Debug)]
pub(super) struct ProgramRun(JoinHandle<()>);

impl ProgramRun {
    /// Kills them and waits until they are gone.
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

/// One after the other; the first failure of the sandbox ends it, with what it said.
async fn run_all(sandbox: &Sandbox, programs: &[Program], going: &Going) -> Result<Vec<Execution>, String> {
    let mut executions = Vec::with_capacity(programs.len());
    for program in programs {
        let outcome = sandbox.run(&contained(program)).await;
        if going.ended(&outcome).await {
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
        ProgramOutcome::Memory | ProgramOutcome::MemoryHeld { .. } => ExecutionClass::Memory,
        ProgramOutcome::OutputFlood => ExecutionClass::Output,
        ProgramOutcome::Killed { .. } => ExecutionClass::Killed,
        ProgramOutcome::SandboxError { detail } => return Err(detail.clone()),
    };
    Ok(Execution { class, result: without_addresses(&outcome.human_eval()), answer: String::new() })
}

/// Where an object lay in memory differs from run to run, and says nothing: `0x7f3a10` becomes `0x...`.
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
    fn addresses_do_not_differ_between_runs() {
        let text = "failed: <object at 0x7f3a1c2b4d90> is not 0xff, 0x";
        assert_eq!(without_addresses(text), "failed: <object at 0x...> is not 0xff, 0x");
        assert_eq!(without_addresses("passed"), "passed");
    }

    #[tokio::test]
    async fn what_ended_with_its_worker_has_no_outcome() {
        let term = ProgramOutcome::Killed { signal: 15 };
        let going = Going::default();
        assert!(!going.ended(&term).await, "nobody told the worker: the program did that itself");
        // The worker hears of it after the program's end.
        let (ended, ()) = tokio::join!(going.ended(&term), async { going.0.cancel() });
        assert!(ended && going.ended(&term).await);
        assert!(
            !going.ended(&ProgramOutcome::Killed { signal: 11 }).await && !going.ended(&ProgramOutcome::Passed).await
        );
    }

    #[test]
    fn a_sandbox_that_fails_is_no_outcome() {
        let error = execution(&ProgramOutcome::SandboxError { detail: "no room".into() });
        assert_eq!(error, Err("no room".into()));
        let wrong = ProgramOutcome::Failed { exception: "AssertionError".into(), message: "1".into(), assertion: true };
        let wrong = execution(&wrong).unwrap();
        assert_eq!((wrong.class, wrong.result.as_str()), (ExecutionClass::WrongAnswer, "failed: 1"));
    }
}
