//! The server that a job would be submitted to, as an estimate needs it: its slots, and what its runs took.

use super::client::Master;
use crate::job::Failure;
use compass_common::status_output::report;
use compass_diagnostic::Diagnostic;
use compass_plan::Plan;
use compass_planning::Speeds;
use std::path::Path;

/// A server with the slots that it has now.
#[derive(Debug)]
pub struct ServerCapacity {
    server: Master,
    /// Slots of its workers, at work or not; 1 where none is connected, which is said.
    pub slots: u32,
}

impl ServerCapacity {
    /// Asks the server of a state folder.
    ///
    /// # Errors
    /// No server answers.
    pub async fn of(state_dir: &Path) -> Result<Self, Failure> {
        let mut server = Master::server(state_dir).await?;
        let slots = server.status().await?.slots;
        if slots == 0 {
            report(Diagnostic::note("no worker is connected to the server now: times are those on one slot"));
        }
        Ok(Self { server, slots: slots.max(1) })
    }

    /// Asks for the speeds of the architectures of `plan`, as the server's store has them.
    ///
    /// # Errors
    /// The server or its store fails.
    pub async fn speeds(mut self, plan: &Plan) -> Result<Speeds, Failure> {
        self.server.speeds(plan).await
    }
}
