//! Expectations on the end of a script.

use super::play::Play;
use crate::job::{SampleKey, has_failed};
use crate::tally::{JobEnd, Tally};
use prost::Message as _;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::RangeBounds;

impl Play {
    fn ledger(&mut self, job: usize) -> BTreeMap<SampleKey, Vec<u8>> {
        let entries = self.world.recorded();
        let found = self.world.read_ledger(job, &entries);
        self.world.oracle.loaded(job, &found);
        found
    }

    /// Every sample of every job has its own result, once; samples of a cancelled job, if they have any.
    pub(crate) fn same_results(self) -> Self {
        self.same_results_but(|_| false)
    }

    /// Samples of the first job that `fail` have none or are recorded as failed, all others have their own results.
    pub(crate) fn same_results_but(mut self, fail: impl Fn(SampleKey) -> bool) -> Self {
        for number in (0..self.world.jobs.len()).filter(|_| self.goes_on()).collect::<Vec<_>>() {
            let (job, found) = (self.world.jobs[number].clone(), self.ledger(number));
            let wrong = job.samples().find_map(|key| {
                let own = job.result(key, 0).encode_to_vec();
                let may_lack = self.world.cancelled[number];
                match (found.get(&key), number == 0 && fail(key)) {
                    (Some(result), false) if *result == own => None,
                    (None, false) if may_lack => None,
                    (None, true) => None,
                    (Some(result), true) if has_failed(result) => None,
                    (Some(_), false) => Some(format!("sample {key:?} of job {number} has another result")),
                    (None, false) => Some(format!("sample {key:?} of job {number} has no result")),
                    (Some(_), true) => Some(format!("sample {key:?} of job {number} has a result")),
                }
            });
            wrong.into_iter().for_each(|wrong| self.fails(wrong));
        }
        self
    }

    /// Every sample has a result, whichever worker gave it.
    pub(crate) fn all_recorded(mut self) -> Self {
        for job in 0..self.world.jobs.len() {
            let (all, found) = (self.world.jobs[job].samples().count(), self.ledger(job).len());
            if self.goes_on() && found != all {
                self.fails(format!("{found} of {all} samples of job {job} are recorded"));
            }
        }
        self
    }

    fn count(mut self, what: &str, found: u64, expected: impl RangeBounds<u64> + Debug) -> Self {
        if self.goes_on() && !expected.contains(&found) {
            self.fails(format!("{what}: {found}, where {expected:?} is expected"));
        }
        self
    }

    fn counted(&self, count: impl Fn(&Tally) -> u64) -> u64 {
        self.world.tally.as_ref().map_or(0, count)
    }

    /// A count of the first job's last leader.
    fn of_the_end(&self, count: impl Fn(&JobEnd) -> u64) -> u64 {
        self.counted(|tally| tally.end(0).map_or(0, &count))
    }

    /// The epoch in which a job ended.
    pub(crate) fn ended_in_epoch(mut self, job: usize, epoch: u64) -> Self {
        let found = self.world.latest_epoch(job).0;
        self.count("epoch", found, epoch..=epoch)
    }

    /// Samples that a job has recorded.
    pub(crate) fn recorded(self, job: usize, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.world.oracle.recorded(job) as u64;
        self.count("recorded", found, expected)
    }

    /// Results that engines gave.
    pub(crate) fn computed(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.counted(Tally::all_computed);
        self.count("computed", found, expected)
    }

    /// Results that engines gave beyond the first of each sample.
    pub(crate) fn ran_again(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.counted(Tally::computed_again);
        self.count("ran again", found, expected)
    }

    /// Results that a worker's engines gave.
    pub(crate) fn computed_by(self, worker: usize, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.counted(|tally| tally.computed(worker));
        self.count(&format!("computed by w{worker}"), found, expected)
    }

    /// Samples of a job that a worker's engines gave results of.
    pub(crate) fn recorded_from(self, job: usize, worker: usize, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.counted(|tally| tally.computed_by(worker).filter(|key| key.0 == job).count() as u64);
        self.count(&format!("samples of job {job} from w{worker}"), found, expected)
    }

    /// Samples that a worker has begun, as many as its engines gave results of.
    pub(crate) fn finishes_what_it_begins(self, worker: usize) -> Self {
        let begun = self.counted(|tally| tally.begun(worker));
        self.computed_by(worker, begun..=begun)
    }

    /// Loads of models.
    pub(crate) fn loads(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.counted(|tally| tally.loads);
        self.count("loads", found, expected)
    }

    /// Grants that workers kept from an older leader.
    pub(crate) fn adopted(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.progress.adopted);
        self.count("adopted", found, expected)
    }

    /// Grants that followed a failed or lost one of the same task.
    pub(crate) fn retries(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.progress.retries);
        self.count("retries", found, expected)
    }

    /// Results that came a second time, to the last leader.
    pub(crate) fn repeats(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.progress.repeats);
        self.count("repeats", found, expected)
    }

    /// Results that came a second time and differed.
    pub(crate) fn divergences(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.progress.divergences);
        self.count("divergences", found, expected)
    }

    /// Results that do not fit the plan.
    pub(crate) fn misfits(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.progress.misfits);
        self.count("misfits", found, expected)
    }

    /// Results that were refused, since they were never granted.
    pub(crate) fn refused(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.refused);
        self.count("refused", found, expected)
    }

    /// Claims of a hello without a proof.
    pub(crate) fn void_claims(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.of_the_end(|end| end.void_claims);
        self.count("void claims", found, expected)
    }

    /// Samples of the first job that were given up.
    pub(crate) fn given_up(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.world.over[0].as_ref().map_or(0, |samples| samples.len() as u64);
        self.count("given up", found, expected)
    }

    /// Workers that are barred from a model, or from the first job.
    pub(crate) fn barred(mut self, workers: &[usize]) -> Self {
        let end = self.world.tally.as_ref().and_then(|tally| tally.end(0));
        let found: BTreeSet<String> = end.into_iter().flat_map(|end| end.barred.clone()).collect();
        let expected = workers.iter().map(|worker| format!("w{worker}")).collect::<BTreeSet<_>>();
        if self.goes_on() && found != expected {
            self.fails(format!("barred: {found:?}, where {expected:?} are expected"));
        }
        self
    }

    /// Checks the number of times that something worth seeing happened.
    pub(crate) fn saw(self, what: &str, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.world.oracle.seen.get(what).copied().unwrap_or(0);
        self.count(what, found, expected)
    }

    /// Milliseconds from the last moment to the end.
    pub(crate) fn took(self, expected: impl RangeBounds<u64> + Debug) -> Self {
        let found = self.world.now - self.since;
        self.count("milliseconds", found, expected)
    }
}
