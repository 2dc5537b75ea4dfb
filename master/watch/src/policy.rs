//! A person's settings for a watch.

/// Selection of the checkpoints to evaluate, and their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Only steps that are multiples of it; names without a step are always taken.
    pub every: Option<u64>,
    /// The latest step first; otherwise the earliest.
    pub newest_first: bool,
    /// More that wait than this are skipped, the earliest first.
    pub backlog: Option<usize>,
    /// Time for which a checkpoint must not have changed.
    pub stable_ms: u64,
    /// Time between two looks at a checkpoint that rests.
    pub recheck_ms: u64,
    /// Most jobs at a time.
    pub jobs: usize,
}

impl Policy {
    /// Returns whether a step is evaluated at all.
    pub fn takes(&self, step: Option<u64>) -> bool {
        match (self.every, step) {
            (Some(every), Some(step)) => step % every.max(1) == 0,
            _ => true,
        }
    }
}
