//! Counts of what was refused of a worker.

use serde::{Deserialize, Serialize};

/// Counts of what was refused of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Results of samples that were never granted to it, or of another plan.
    #[serde(default)]
    pub not_granted: u64,
    /// Results that do not fit the plan: another kind of request, missing options, numbers that are not finite.
    #[serde(default)]
    pub misfits: u64,
    /// Grants that it claimed to hold without a proof that verifies.
    #[serde(default)]
    pub void_claims: u64,
    /// Shard reports of grants that were never made to it.
    #[serde(default)]
    pub void_reports: u64,
    /// Times that such results or reports came.
    #[serde(default)]
    pub times: u64,
}
