//! Progress of the job: for the screen and `logs/run.json`.

/// Counters of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Samples recorded, of all epochs.
    pub recorded: u64,
    /// Tasks that are neither done nor failed.
    pub open_tasks: u32,
    /// Tasks granted now.
    pub granted: u32,
    /// Workers whose stream is up.
    pub workers: u32,
    /// Their slots.
    pub slots: u32,
    /// Grants that followed a failed or lost one of the same task.
    pub retries: u64,
    /// Results that came a second time.
    pub repeats: u64,
    /// Results that came a second time and differed.
    pub divergences: u64,
    /// Results that do not fit the plan.
    pub misfits: u64,
    /// Grants that a worker kept from an older leader, or from before it was given up.
    pub adopted: u64,
    /// Times that samples went over from a busy worker to an idle one.
    pub stolen: u64,
    /// Models that slots have loaded.
    pub loads: u64,
}
