//! What a partitioner sees and what it returns.

use crate::ids::UnitId;
use crate::intervals::IntervalSet;

/// One (model, data set) pair and how much of it is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitSize {
    pub id: UnitId,
    /// Position of the model; a task never mixes two.
    pub model: usize,
    /// The data set's name: decides only on the families of long answers (see `size`).
    pub abbr: String,
    /// Samples still to do; a fresh run has all of them.
    pub remaining: IntervalSet,
    /// Samples of the unit, done or not.
    pub samples: u32,
    /// Number of labels where the template is a label map or has options; `None` for generation and plain texts.
    pub factor_labels: Option<u32>,
    /// Whether samples are continued by the model, not only scored.
    pub generates: bool,
    /// Unicode characters of all prompts of all samples, all options counted.
    pub characters: u64,
}

/// How much dearer a character is where the model goes on writing after it: a prior until workers have reported.
const GENERATION_WEIGHT: u64 = 8;
/// Characters that every sample costs beside its text.
const SAMPLE_OVERHEAD: u64 = 64;

impl UnitSize {
    /// Estimated cost of one sample, in characters to prefill.
    pub fn sample_cost(&self) -> u64 {
        let weight = if self.generates { GENERATION_WEIGHT } else { 1 };
        (self.characters / u64::from(self.samples.max(1))).saturating_add(SAMPLE_OVERHEAD).saturating_mul(weight)
    }
}

/// Work to be leased as one: pieces of one or more units of one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSpec {
    /// Units in the order in which to run them, each once, with a set that is not empty.
    pub pieces: Vec<(UnitId, IntervalSet)>,
}

impl TaskSpec {
    /// Samples of all pieces.
    pub fn samples(&self) -> u64 {
        self.pieces.iter().map(|(_, set)| u64::from(set.len())).sum()
    }
}

/// Why nothing can be cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// A setting that must be positive is 0.
    #[error("`{0}` is 0: it must be at least 1")]
    Zero(&'static str),
    /// The same unit was given twice; its samples would be run twice.
    #[error("unit {0} is given twice")]
    Twice(UnitId),
    /// A unit holds a sample that its data set does not have.
    #[error("unit {unit} asks for sample {sample}, but its data set has {samples} samples")]
    BeyondEnd { unit: UnitId, sample: u32, samples: u32 },
}
