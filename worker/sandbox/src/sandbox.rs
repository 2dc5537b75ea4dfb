//! The sandbox as its users see it.

use crate::detect::{self, Refusal};
use crate::launch::Ground;
use crate::outcome::ProgramOutcome;
use crate::policy::{Isolation, Policy};
use crate::program::Program;
use crate::run::run;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Runs programs. Clones share the bound on how many run at once.
#[derive(Clone, Debug)]
pub struct Sandbox {
    ground: Arc<Ground>,
    slots: Arc<Semaphore>,
}

impl Sandbox {
    /// Chooses an isolation and an interpreter and proves on a program that tries to get out that they contain it. Takes
    /// the time of a few runs of the interpreter.
    ///
    /// # Errors
    /// When none works and the policy does not allow to go without.
    pub async fn detect(policy: &Policy) -> Result<Self, Refusal> {
        let ground = detect::detect(policy).await?;
        let sandbox = Self { ground: Arc::new(ground), slots: Arc::new(Semaphore::new(policy.concurrent.get())) };
        let python = sandbox.python().display();
        tracing::info!(isolation = %sandbox.isolation(), bound = sandbox.bound(), %python, "sandbox");
        Ok(sandbox)
    }

    /// What keeps programs in.
    pub fn isolation(&self) -> Isolation {
        self.ground.isolation
    }

    /// What bounds the memory and the processes that a program has in all, for people.
    pub fn bound(&self) -> String {
        match &self.ground.groups {
            Ok(groups) => format!("by control groups in {}, and counted", groups.home().display()),
            Err(why) => format!("counted 50 times a second; no control group: {why}"),
        }
    }

    /// What runs them.
    pub fn python(&self) -> &Path {
        &self.ground.python.executable
    }

    /// Its version, such as `3.11.2`.
    pub fn python_version(&self) -> &str {
        &self.ground.python.version
    }

    /// Runs one program, after others where all slots are taken. When this returns nothing of the program is left; when
    /// the future is dropped, the program is killed.
    pub async fn run(&self, program: &Program) -> ProgramOutcome {
        let Ok(_slot) = self.slots.acquire().await else {
            return ProgramOutcome::SandboxError { detail: "the sandbox is closed".into() };
        };
        run(&self.ground, program).await
    }

    /// Runs programs side by side and returns their outcomes in their order.
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
