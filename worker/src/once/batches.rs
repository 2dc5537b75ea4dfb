//! The batches of a task: each has samples of one part; samples of a batch whose engine died are retried in batches of half
//! the size, as by an agent.

use compass_agent::PoisonBisection;
use compass_plan::{DatasetPlan, PartRef};
use compass_types::intervals::IntervalSet;
use std::collections::VecDeque;

/// Samples of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TaskBatch {
    pub(super) part: PartRef,
    pub(super) samples: Vec<u32>,
}

/// The remaining samples of one unit.
#[derive(Debug)]
pub(super) struct Batches {
    waiting: VecDeque<TaskBatch>,
    bisection: PoisonBisection,
}

impl Batches {
    /// Splits the samples into batches of at most `most`.
    pub(super) fn new(dataset: &DatasetPlan, samples: &IntervalSet, most: usize) -> Self {
        let mut waiting: VecDeque<TaskBatch> = VecDeque::new();
        for index in samples.iter() {
            let Some(part) = dataset.part_of(index) else { continue };
            match waiting.back_mut().filter(|batch| batch.part == *part && batch.samples.len() < most) {
                Some(batch) => batch.samples.push(index),
                None => waiting.push_back(TaskBatch { part: part.clone(), samples: vec![index] }),
            }
        }
        Self { waiting, bisection: PoisonBisection::default() }
    }

    /// Returns the next batch.
    pub(super) fn next(&mut self) -> Option<TaskBatch> {
        self.waiting.pop_front()
    }

    /// Notes that a sample has its result.
    pub(super) fn succeeded(&mut self, sample: u32) {
        self.bisection.succeeded(sample);
    }

    /// Notes that the engine died on `batch` before `unfinished` had results. Returns the samples that are not retried.
    pub(super) fn died(&mut self, batch: &TaskBatch, unfinished: &[u32]) -> Vec<u32> {
        let given_up = self.bisection.engine_died(batch.samples.len(), unfinished);
        let again: Vec<u32> = unfinished.iter().copied().filter(|sample| !given_up.contains(sample)).collect();
        let batch_size = again.first().and_then(|&sample| self.bisection.batch_size(sample)).unwrap_or(1);
        for samples in again.chunks(batch_size.max(1)).rev() {
            self.waiting.push_front(TaskBatch { part: batch.part.clone(), samples: samples.to_vec() });
        }
        given_up
    }
}
