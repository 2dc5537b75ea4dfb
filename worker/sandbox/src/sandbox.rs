//! The public interface of the sandbox.

use crate::detect::{self, Refusal};
use crate::launch::Setup;
use crate::outcome::ProgramOutcome;
use crate::policy::{Isolation, Policy};
use crate::program::Program;
use crate::run::run;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Runs programs. Clones share the limit on concurrent programs.
#[derive(Clone, Debug)]
pub struct Sandbox {
    setup: Arc<Setup>,
    slots: Arc<Semaphore>,
}

impl Sandbox {
    /// Chooses an isolation and an interpreter, and tests them with a program that tries to escape. Takes as long as a
    /// few starts of the interpreter.
    ///
    /// # Errors
    /// None works, and the policy requires one.
    pub async fn detect(policy: &Policy) -> Result<Self, Refusal> {
        let setup = detect::detect(policy).await?;
        let sandbox = Self { setup: Arc::new(setup), slots: Arc::new(Semaphore::new(policy.concurrent.get())) };
        let python = sandbox.python().display();
        tracing::info!(isolation = %sandbox.isolation(), bound = sandbox.bound(), %python, "sandbox");
        Ok(sandbox)
    }

    /// Returns the isolation in use.
    pub fn isolation(&self) -> Isolation {
        self.setup.isolation
    }

    /// Describes the limits on a program's total memory and processes.
    pub fn bound(&self) -> String {
        match &self.setup.groups {
            Ok(groups) => format!("by control groups in {}, and counted", groups.home().display()),
            Err(why) => format!("counted 50 times a second; no control group: {why}"),
        }
    }

    /// Returns the interpreter's path.
    pub fn python(&self) -> &Path {
        &self.setup.python.executable
    }

    /// Returns the interpreter's version, such as `3.11.2`.
    pub fn python_version(&self) -> &str {
        &self.setup.python.version
    }

    /// Runs one program once a slot is free. On return all its processes have ended; dropping the future kills the
    /// program.
    pub async fn run(&self, program: &Program) -> ProgramOutcome {
        let Ok(_slot) = self.slots.acquire().await else {
            return ProgramOutcome::SandboxError { detail: "the sandbox is closed".into() };
        };
        run(&self.setup, program).await
    }

    /// Runs programs concurrently and returns their outcomes in order.
    pub async fn execute(&self, programs: Vec<Program>) -> Vec<ProgramOutcome> {
        let lost = || ProgramOutcome::SandboxError { detail: "the run was abandoned".into() };
        let mut outcomes: Vec<ProgramOutcome> = programs.iter().map(|_| lost()).collect();
        let mut running = JoinSet::new();
        for (at, program) in programs.into_iter().enumerate() {
            let sandbox = self.clone();
            running.spawn(async move { (at, sandbox.run(&program).await) });
        }
        while let Some(ended) = running.join_next().await {
            if let Ok((at, outcome)) = ended {
                outcomes[at] = outcome;
            }
        }
        outcomes
    }
}
