//! Input and output of a partitioner.

use crate::prompt::PrefixRun;
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;

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
    /// Set if samples are continued by the model, not only scored.
    pub generates: bool,
    /// Unicode characters that are the samples' own, see [`crate::prompt::workload`].
    pub characters: u64,
    /// Runs of neighbouring samples that begin alike; empty where they have nothing in common.
    pub prefix_runs: Vec<PrefixRun>,
}

/// Factor on the cost of a character where the model continues to write after it: a prior until workers have reported.
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

impl UnitSize {
    /// Returns what remains, in runs of samples that begin alike, each with the characters of that beginning: a worker that
    /// runs any of them computes it once.
    pub fn runs(&self) -> Vec<(IntervalSet, u64)> {
        let mut runs = Vec::new();
        let mut rest = self.remaining.clone();
        for beginning in &self.prefix_runs {
            let after = rest.minus(&IntervalSet::range(0, beginning.end));
            let run = rest.minus(&after);
            if !run.is_empty() {
                runs.push((run, beginning.characters));
            }
            rest = after;
        }
        if !rest.is_empty() {
            runs.push((rest, 0));
        }
        runs
    }

    /// The longest beginning of any of the samples: what it costs at most, in characters, to run some of them elsewhere.
    pub fn shared_cost(&self, samples: &IntervalSet) -> u64 {
        let mut start = 0;
        let mut most = 0;
        for beginning in &self.prefix_runs {
            let (first, end) = (std::mem::replace(&mut start, beginning.end), beginning.end);
            if beginning.characters > most && samples.pairs().iter().any(|&(from, to)| from < end && first < to) {
                most = beginning.characters;
            }
        }
        most
    }

    /// Estimated cost of all that remains, in characters to prefill.
    pub fn cost(&self) -> u64 {
        let shared = self.runs().iter().fold(0, |sum: u64, (_, shared)| sum.saturating_add(*shared));
        self.sample_cost().saturating_mul(u64::from(self.remaining.len())).saturating_add(shared)
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

/// Reason that nothing can be cut.
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
