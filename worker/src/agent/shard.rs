//! What the worker makes of its own results of one grant: counts, token counters, seconds, and the evaluator's state.

use super::grants::GrantKey;
use crate::engine_link::PackEnd;
use compass_common::engine::{Stretch, TokenCounters};
use compass_common::evaluator::Accumulator;
use compass_common::ids::UnitId;
use compass_common::intervals::IntervalSet;
use compass_common::plan::{EvalSpec, Part};
use compass_common::result::SampleResult;
use compass_proto::{intervals_to_wire, v1};

/// Stretches in one report at most, so that it fits into a frame.
const MOST_STRETCHES: usize = 8192;

/// Accumulates while a grant runs.
#[derive(Clone, Debug)]
pub(super) struct Shard {
    evaluator: Accumulator,
    tokens: TokenCounters,
    seconds: f64,
    notes: Vec<String>,
    stretches: Vec<Stretch>,
}

impl Shard {
    /// An empty shard of a data set that is evaluated as `eval` says.
    pub(super) fn new(eval: &EvalSpec) -> Self {
        Self {
            evaluator: Accumulator::new(eval),
            tokens: TokenCounters::default(),
            seconds: 0.0,
            notes: Vec::new(),
            stretches: Vec::new(),
        }
    }

    /// One result of a sample of `part`, which holds its gold answer. A result that makes no sense is not counted, so
    /// that the master's check of the report finds it.
    pub(super) fn observe(&mut self, part: &Part, result: &v1::SampleResult) {
        let Some(sample) = part.sample(result.index) else { return };
        match SampleResult::try_from(result.clone()) {
            Ok(result) => {
                self.evaluator.observe(sample, &result);
            }
            Err(error) => tracing::error!(index = result.index, %error, "the engine gave a result that makes no sense"),
        }
    }

    /// A pack took so long. Tokens and notes are known only of packs that ended well.
    pub(super) fn pack_ended(&mut self, end: &PackEnd, seconds: f64) {
        self.seconds += seconds;
        if let PackEnd::Done { tokens, notes, stretches } = end {
            let room = MOST_STRETCHES.saturating_sub(self.stretches.len());
            self.stretches.extend(stretches.iter().take(room));
            self.tokens.add(tokens);
            self.notes.extend(notes.iter().filter(|note| !self.notes.contains(note)).cloned().collect::<Vec<_>>());
        }
    }

    /// The report after the last sample.
    pub(super) fn report(&self, grant: GrantKey, unit: UnitId, samples: &IntervalSet) -> v1::ShardReport {
        let counts = self.evaluator.counts();
        v1::ShardReport {
            task: grant.task.0,
            attempt: grant.attempt.0,
            unit: unit.0,
            samples: intervals_to_wire(samples),
            scored: u32::try_from(counts.scored).unwrap_or(u32::MAX),
            failed: u32::try_from(counts.failed).unwrap_or(u32::MAX),
            tokens: Some(self.tokens.into()),
            seconds: self.seconds,
            // A state that cannot be written shows as a disagreement; it is a struct of numbers and always can.
            evaluator: serde_json::to_vec(&self.evaluator).unwrap_or_default(),
            epoch: grant.epoch.0,
            notes: self.notes.clone(),
            stretches: self.stretches.iter().map(|&stretch| stretch.into()).collect(),
        }
    }
}
