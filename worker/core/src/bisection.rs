//! Bisection for the sample that kills its engine.
//!
//! Pure. When an engine dies, the samples without a result are suspects: they are retried in batches of half the size,
//! down to one. A sample that kills its engine twice alone is given up. So a poison sample costs its neighbours one
//! batch per halving, and a death that no sample caused costs two batches in place of one.

use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;

/// Engine deaths in a batch of its own after which a sample is given up.
const DEATHS_ALONE: u32 = 2;

/// Bisection for poison samples of one grant.
#[derive(Clone, Debug, Default)]
pub struct PoisonBisection(BTreeMap<u32, Suspect>);

#[derive(Clone, Copy, Debug)]
struct Suspect {
    /// Suspects that may share a batch with it, itself included.
    batch_size: usize,
    /// Number of engine deaths with it alone.
    deaths: u32,
}

impl PoisonBisection {
    /// Samples that are given up when the engine dies on one of them alone once more.
    pub fn after_one_death(samples: &IntervalSet) -> Self {
        let suspect = Suspect { batch_size: 1, deaths: DEATHS_ALONE - 1 };
        Self(samples.iter().map(|sample| (sample, suspect)).collect())
    }

    /// Returns whether no sample is a suspect.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns how many suspects share a batch; `None` if the sample is not a suspect.
    pub fn batch_size(&self, sample: u32) -> Option<usize> {
        self.0.get(&sample).map(|suspect| suspect.batch_size)
    }

    /// Notes that the sample has a result.
    pub fn succeeded(&mut self, sample: u32) {
        self.0.remove(&sample);
    }

    /// Notes that the engine died on a batch of `submitted` samples before `unfinished` had results. Returns the
    /// samples that must not be retried.
    pub fn engine_died(&mut self, submitted: usize, unfinished: &[u32]) -> Vec<u32> {
        let mut given_up = Vec::new();
        let batch_size = unfinished.len().div_ceil(2).max(1);
        for &sample in unfinished {
            let suspect = self.0.entry(sample).or_insert(Suspect { batch_size, deaths: 0 });
            suspect.batch_size = batch_size;
            suspect.deaths += u32::from(submitted == 1);
            if suspect.deaths >= DEATHS_ALONE {
                given_up.push(sample);
                self.0.remove(&sample);
            }
        }
        given_up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs batches as the agent does, with an engine that dies at `poison`: the samples before it have results; with
    /// `at_once`, none has. Returns the finished samples, those given up, and the number of deaths.
    fn run(samples: &[u32], poison: &[u32], at_once: bool) -> (Vec<u32>, Vec<u32>, u32) {
        let (mut bisection, mut done, mut given_up, mut deaths) =
            (PoisonBisection::default(), Vec::new(), Vec::new(), 0);
        let mut batches = vec![samples.to_vec()];
        while let Some(batch) = batches.pop() {
            let alive = match batch.iter().position(|sample| poison.contains(sample)) {
                None => batch.len(),
                Some(_) if at_once => 0,
                Some(place) => place,
            };
            done.extend(&batch[..alive]);
            batch[..alive].iter().for_each(|&sample| bisection.succeeded(sample));
            if alive == batch.len() {
                continue;
            }
            deaths += 1;
            let ended = bisection.engine_died(batch.len(), &batch[alive..]);
            let again: Vec<u32> = batch[alive..].iter().copied().filter(|sample| !ended.contains(sample)).collect();
            let batch_size = again.first().and_then(|&sample| bisection.batch_size(sample)).unwrap_or(1);
            batches.extend(again.chunks(batch_size).map(<[u32]>::to_vec));
            given_up.extend(ended);
        }
        done.sort_unstable();
        given_up.sort_unstable();
        (done, given_up, deaths)
    }

    #[test]
    fn poison_samples_are_given_up_and_all_others_get_results() {
        let samples: Vec<u32> = (0..64).collect();
        for at_once in [false, true] {
            let (done, given_up, deaths) = run(&samples, &[3, 11], at_once);
            assert_eq!(given_up, [3, 11]);
            assert_eq!(done.len(), 62);
            // In batches of 64, 32, 16 and 8 or less; then each halves down to 1, twice.
            assert!(deaths <= 3 + 2 * (3 + 2), "{deaths}");
        }
    }

    #[test]
    fn poison_sample_alone_dies_twice() {
        assert_eq!(run(&[7], &[7], true), (vec![], vec![7], 2));
    }

    #[test]
    fn unrelated_death_gives_up_no_sample() {
        let mut bisection = PoisonBisection::default();
        assert!(bisection.engine_died(1, &[5]).is_empty());
        bisection.succeeded(5);
        assert!(bisection.engine_died(1, &[5]).is_empty());
    }
}
