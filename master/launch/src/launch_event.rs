//! Events that pools tell of their launches.

use compass_types::ids::WorkerId;

/// Events that the launchers report.
#[derive(Debug)]
pub enum LaunchEvent {
    /// The agent of this name ended in the middle of the run. `is_death` unless somebody wanted it so.
    Exited { worker: WorkerId, is_death: bool },
    /// No agent will be started any more.
    GaveUp { reason: String },
}
