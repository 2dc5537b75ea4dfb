//! The packs of a task: each of one part, those of a pack whose engine died in packs of half as many, as an agent does it.

use compass_agent::PoisonBisection;
use compass_plan::{DatasetPlan, PartRef};
use compass_types::intervals::IntervalSet;
use std::collections::VecDeque;

/// Samples of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pack {
    pub(super) part: PartRef,
    pub(super) samples: Vec<u32>,
}

/// What is left of the samples of one unit.
#[derive(Debug)]
pub(super) struct Packs {
    waiting: VecDeque<Pack>,
    bisection: PoisonBisection,
}

impl Packs {
    /// The samples in packs of at most `most`.
    pub(super) fn new(dataset: &DatasetPlan, samples: &IntervalSet, most: usize) -> Self {
        let mut waiting: VecDeque<Pack> = VecDeque::new();
        for index in samples.iter() {
            let Some(part) = dataset.part_of(index) else { continue };
            match waiting.back_mut().filter(|pack| pack.part == *part && pack.samples.len() < most) {
                Some(pack) => pack.samples.push(index),
                None => waiting.push_back(Pack { part: part.clone(), samples: vec![index] }),
            }
        }
        Self { waiting, bisection: PoisonBisection::default() }
    }

    /// The next pack.
    pub(super) fn next(&mut self) -> Option<Pack> {
        self.waiting.pop_front()
    }

    /// Notes that a sample has its result.
    pub(super) fn succeeded(&mut self, sample: u32) {
        self.bisection.succeeded(sample);
    }

    /// Notes that the engine died on `pack` before `unfinished` had results. Returns the samples that are not tried again.
    pub(super) fn died(&mut self, pack: &Pack, unfinished: &[u32]) -> Vec<u32> {
        let given_up = self.bisection.engine_died(pack.samples.len(), unfinished);
        let again: Vec<u32> = unfinished.iter().copied().filter(|sample| !given_up.contains(sample)).collect();
        let batch_size = again.first().and_then(|&sample| self.bisection.batch_size(sample)).unwrap_or(1);
        for samples in again.chunks(batch_size.max(1)).rev() {
            self.waiting.push_front(Pack { part: pack.part.clone(), samples: samples.to_vec() });
        }
        given_up
    }
}
