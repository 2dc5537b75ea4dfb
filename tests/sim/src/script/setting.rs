//! The setting of a script: masters, workers, jobs, and what is wrong with them from the beginning.

use super::moment::Moment;
use super::play::Play;
use crate::mutant::Mutant;
use crate::scenario::{FurtherJob, Scenario};

/// A script that has not begun: its setting. Times in milliseconds.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    scenario: Scenario,
    mutant: Option<Mutant>,
    traces: bool,
}

impl Script {
    /// One master, one worker of one slot, one job of 40 samples in tasks of 8, each sample 200 ms long. All delays are drawn
    /// from the seed.
    pub(crate) fn new(seed: u64) -> Self {
        let scenario = Scenario {
            units: vec![40],
            task_samples: 8,
            sample_ms: 200,
            part_samples: 8,
            roomy: true,
            ..Scenario::plain(seed)
        };
        Self { scenario, mutant: None, traces: false }
    }

    /// Under a protocol that leaves a rule out.
    #[must_use]
    pub(crate) fn under(self, mutant: Option<Mutant>) -> Self {
        Self { mutant, ..self }
    }

    /// Keeps the history in words.
    #[must_use]
    pub(crate) fn traced(self) -> Self {
        Self { traces: true, ..self }
    }

    /// The seed, for scripts whose sizes go with it.
    pub(crate) fn seed(&self) -> u64 {
        self.scenario.seed
    }

    fn with(mut self, change: impl FnOnce(&mut Scenario)) -> Self {
        change(&mut self.scenario);
        self
    }

    pub(crate) fn masters(self, masters: usize) -> Self {
        self.with(|scenario| scenario.masters = masters)
    }

    /// This many workers of one slot.
    pub(crate) fn workers(self, workers: usize) -> Self {
        self.with(|scenario| scenario.workers = vec![1; workers])
    }

    /// Slots of every worker.
    pub(crate) fn slots(self, slots: u32) -> Self {
        self.with(|scenario| scenario.workers.iter_mut().for_each(|worker| *worker = slots))
    }

    /// A worker that is started by the script.
    pub(crate) fn late(self, worker: usize) -> Self {
        self.with(|scenario| scenario.late.push(worker))
    }

    /// Samples of each unit of the first job. The first two have one model, the others one each.
    pub(crate) fn units(self, units: &[u32]) -> Self {
        self.with(|scenario| scenario.units = units.to_vec())
    }

    /// Samples of a task at most.
    pub(crate) fn tasks_of(self, samples: u32) -> Self {
        self.with(|scenario| scenario.task_samples = samples)
    }

    /// Tasks are not cut for workers that have nothing to do.
    pub(crate) fn whole_tasks(self) -> Self {
        self.with(|scenario| scenario.split = false)
    }

    pub(crate) fn sample_ms(self, ms: u64) -> Self {
        self.with(|scenario| scenario.sample_ms = ms)
    }

    /// Sets the duration of a model's load.
    pub(crate) fn load_ms(self, ms: u64) -> Self {
        self.with(|scenario| scenario.load_ms = ms)
    }

    /// A further job, submitted at the beginning.
    pub(crate) fn job(self, units: &[u32]) -> Self {
        self.submitted(units, 0)
    }

    /// A further job that the script submits.
    pub(crate) fn later_job(self, units: &[u32]) -> Self {
        self.submitted(units, u64::MAX)
    }

    fn submitted(self, units: &[u32], begins: u64) -> Self {
        let further = FurtherJob { begins, weight: 1, units: units.to_vec(), kinds: Vec::new(), task_samples: 8 };
        self.with(|scenario| scenario.further.push(further))
    }

    /// Most slots of the first job at once.
    pub(crate) fn bound(self, slots: u32) -> Self {
        self.with(|scenario| scenario.bound = Some(slots))
    }

    /// A worker of a pool.
    pub(crate) fn pool(self, worker: usize, pool: &'static str) -> Self {
        self.with(|scenario| scenario.pools.push((worker, pool)))
    }

    /// A model of the first job that loads in one pool.
    pub(crate) fn place(self, model: u32, pool: &'static str) -> Self {
        self.with(|scenario| scenario.places.push((model, pool)))
    }

    /// A worker of the pool that continues while it is cut off.
    pub(crate) fn far(self, worker: usize) -> Self {
        self.with(|scenario| scenario.far.push(worker))
    }

    /// A worker that cannot load a model of the first job.
    pub(crate) fn unable(self, worker: usize, model: u32) -> Self {
        self.with(|scenario| scenario.unable.push((worker, model)))
    }

    /// A worker in whose memory one sample in five has no room.
    pub(crate) fn small(self, worker: usize) -> Self {
        self.with(|scenario| scenario.small.push(worker))
    }

    /// A sample on which every engine dies.
    pub(crate) fn poison(self, unit: u32, index: u32) -> Self {
        self.with(|scenario| scenario.poison = Some((unit, index)))
    }

    /// A sample for which the model gives numbers that are not finite.
    pub(crate) fn not_finite(self, unit: u32, index: u32) -> Self {
        self.with(|scenario| scenario.not_finite = Some((unit, index)))
    }

    /// Samples of the first two units ask the same if their indices have one remainder by this number.
    pub(crate) fn distinct(self, requests: u32) -> Self {
        self.with(|scenario| scenario.distinct = Some(requests))
    }

    /// Results differ from worker to worker.
    pub(crate) fn unsteady(self) -> Self {
        self.with(|scenario| scenario.unsteady = true)
    }

    /// The play, at time 0.
    pub(crate) fn begin(self) -> Play {
        Play::new(&self.scenario, self.mutant, self.traces)
    }

    /// The play, at the first moment.
    pub(crate) fn until(self, moment: Moment) -> Play {
        self.begin().until(moment)
    }

    /// The play, at its end.
    pub(crate) fn finish(self) -> Play {
        self.begin().finish()
    }
}
