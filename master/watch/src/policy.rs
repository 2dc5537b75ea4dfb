//! What a person asks of a watch.

/// Which checkpoints are evaluated, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Only steps that are multiples of it; names without a step are always taken.
    pub every: Option<u64>,
    /// The latest step first; otherwise the earliest.
    pub newest_first: bool,
    /// More that wait than this are skipped, the earliest first.
    pub backlog: Option<usize>,
    /// A checkpoint must not have changed for so long.
    pub stable_ms: u64,
    /// How long a checkpoint that rests is left alone between two looks.
    pub recheck_ms: u64,
    /// Most jobs at a time.
    pub jobs: usize,
}

impl Policy {
    /// Whether a step is evaluated at all.
    pub fn takes(&self, step: Option<u64>) -> bool {
        match (self.every, step) {
            (Some(every), Some(step)) => step % every.max(1) == 0,
            _ => true,
        }
    }
}
