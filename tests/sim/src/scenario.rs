//! Sizes of a history, drawn from a seed; smaller ones made by shrinking. Faults, one by one, are in `fault.rs`.

use super::fault::{FAULTS_UNTIL, Fault, FaultKind, draw_kind, draw_untrue};
use super::kind::Kind;
use compass_types::seeded::Rng;

/// A job beside the first one, in the same server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherJob {
    /// Time at which it is submitted.
    pub begins: u64,
    /// Its share of the workers grows with it.
    pub weight: u32,
    /// As for the first job.
    pub units: Vec<u32>,
    pub kinds: Vec<u8>,
    pub task_samples: u32,
}

/// Sizes and faults of a history. Times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Seed of all delays within the history.
    pub seed: u64,
    pub masters: usize,
    /// Slots of each worker.
    pub workers: Vec<u32>,
    /// Samples of each unit.
    pub units: Vec<u32>,
    /// Number of distinct requests, where some samples ask the same: samples of the first two units do whose indices have one
    /// remainder by it.
    pub distinct: Option<u32>,
    /// Samples of a task at most.
    pub task_samples: u32,
    /// Set if tasks may be cut for workers that have nothing to do.
    pub split: bool,
    /// Duration of a sample.
    pub sample_ms: u64,
    /// Samples that an engine gives back together.
    pub burst: u32,
    /// Samples of a part of the plan at most: batches are no larger.
    pub part_samples: u32,
    /// Ways in which the units are asked and judged, by number.
    pub kinds: Vec<u8>,
    /// Set if texts are asked for several times, and an earlier run drew some of the answers to some samples.
    pub drawn: bool,
    /// Length of the long texts among the answers, in bytes.
    pub long_bytes: u32,
    /// Duration of a model's load.
    pub load_ms: u64,
    /// Set if partitions and delays meet the sessions alone: content travels on connections of its own.
    pub bulk_passes: bool,
    /// Workers that cannot load a model.
    pub unable: Vec<(usize, u32)>,
    /// Workers in whose memory a large sample has no room.
    pub small: Vec<usize>,
    /// Models behind an endpoint: one slot of one worker asks it at a time.
    pub endpoints: Vec<u32>,
    /// Requests of an endpoint, and sequences of an engine, at once; 0 where an engine does not say.
    pub at_once: u32,
    /// Characters that all samples of a unit begin with, as shots that they share.
    pub shared: u64,
    /// Workers of a pool that continues while it is cut off.
    pub far: Vec<usize>,
    /// A sample that no worker can run.
    pub poison: Option<(u32, u32)>,
    /// Set if results differ from worker to worker.
    pub unsteady: bool,
    pub faults: Vec<Fault>,
    /// Jobs that share the server with the first one, which all else is about.
    pub further: Vec<FurtherJob>,
    /// Pools of workers, where they name one.
    pub pools: Vec<(usize, &'static str)>,
    /// The pool where a model loads, where it is not any.
    pub places: Vec<(u32, &'static str)>,
    /// Most slots of the first job at once.
    pub bound: Option<u32>,
    /// A sample for which the model gives numbers that are not finite.
    pub not_finite: Option<(u32, u32)>,
    /// True if every worker's disk has room; else some are nearly full.
    pub roomy: bool,
    /// Workers that a script starts.
    pub late: Vec<usize>,
}

/// Ratio of all samples to large ones.
const LARGE_EVERY: u32 = 5;

impl Scenario {
    /// One worker and one master, a few samples, and nothing goes wrong.
    pub fn plain(seed: u64) -> Self {
        Self {
            seed,
            masters: 1,
            workers: vec![1],
            units: vec![10],
            distinct: None,
            task_samples: 5,
            split: true,
            sample_ms: 100,
            burst: 1,
            part_samples: 3,
            kinds: Vec::new(),
            drawn: false,
            long_bytes: 0,
            load_ms: 0,
            bulk_passes: false,
            unable: Vec::new(),
            small: Vec::new(),
            endpoints: Vec::new(),
            at_once: 0,
            shared: 0,
            far: Vec::new(),
            poison: None,
            unsteady: false,
            faults: Vec::new(),
            further: Vec::new(),
            pools: Vec::new(),
            places: Vec::new(),
            bound: None,
            not_finite: None,
            roomy: false,
            late: Vec::new(),
        }
    }

    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bd1_e995);
        if rng.chance(100) {
            return Self::late_and_lost(seed, &mut rng);
        }
        if rng.chance(30) {
            return Self::held_up_and_outlived(seed, &mut rng);
        }
        if rng.chance(30) {
            return Self::left_with_answers_on_the_way(seed, &mut rng);
        }
        if rng.chance(30) {
            return Self::queued_behind_others(seed, &mut rng);
        }
        let masters = rng.between(1, 2) as usize;
        let workers: Vec<u32> = (0..rng.between(1, 4)).map(|_| rng.between(1, 2) as u32).collect();
        let units: Vec<u32> = (0..rng.between(1, 3)).map(|_| rng.between(5, 45) as u32).collect();
        let poison = rng.chance(60).then(|| (0, rng.below(u64::from(units[0])) as u32));
        let count = if rng.chance(50) { 0 } else { rng.between(1, 8) };
        let mut faults: Vec<Fault> = (0..count)
            .map(|_| Fault { at: rng.below(FAULTS_UNTIL), kind: draw_kind(&mut rng, masters, workers.len()) })
            .collect();
        // What is late is the more often lost: deadlines are put to the test when the two come together.
        for late in faults.clone() {
            if let FaultKind::Lag { worker, .. } = late.kind
                && rng.chance(600)
            {
                let ms = rng.between(5_000, 14_000);
                let parted = rng.chance(600);
                let kind =
                    if parted { FaultKind::Partition { worker, ms } } else { FaultKind::WorkerPause { worker, ms } };
                faults.push(Fault { at: late.at + rng.below(3_000), kind });
            }
        }
        let (task_samples, sample_ms) = (rng.log_uniform(1, 30) as u32, rng.between(50, 1200));
        let unsteady = rng.chance(100);
        faults.extend(draw_untrue(&mut rng, workers.len()));
        faults.sort_by_key(|fault| fault.at);
        let distinct = rng.chance(150).then(|| rng.between(1, 15) as u32);
        let mut kinds: Vec<u8> = units.iter().map(|_| rng.below(Kind::COUNT) as u8).collect();
        if let Some(other) = kinds.get_mut(1).filter(|_| distinct.is_some()) {
            *other = 0;
            kinds[0] = 0;
        }
        let part_samples = rng.log_uniform(1, 20) as u32;
        let load_ms = if rng.chance(500) { 0 } else { rng.log_uniform(20, 8_000) };
        let drawn = Self {
            masters,
            workers,
            units,
            distinct,
            task_samples,
            sample_ms,
            part_samples,
            kinds,
            load_ms,
            bulk_passes: rng.chance(300),
            poison,
            unsteady,
            faults,
            ..Self::plain(seed)
        };
        drawn
            .with_bad_nodes(&mut rng)
            .with_long_texts(&mut rng)
            .at_size(&mut rng)
            .with_a_far_pool(&mut rng)
            .with_further_jobs()
            .with_small_workers()
            .with_endpoints()
            .with_shared_shots()
            .with_drawn_answers()
    }

    /// Perhaps with answers of an earlier run. Drawn apart.
    fn with_drawn_answers(mut self) -> Self {
        let mut rng = Rng::new(self.seed.wrapping_mul(0xa076_1d64_78bd_642f) ^ 0xe703_7ed1);
        self.drawn = rng.chance(200);
        self
    }

    /// Perhaps with models behind an endpoint, which leave all slots of a worker but one without an engine. Drawn apart.
    fn with_endpoints(mut self) -> Self {
        let mut rng = Rng::new(self.seed.wrapping_mul(0xc2b2_ae3d_27d4_eb4f) ^ 0x85eb_ca6b);
        if rng.chance(150) {
            self.endpoints = (0..self.models()).filter(|_| rng.chance(700)).collect();
            self.at_once = rng.log_uniform(1, 64) as u32;
        }
        self
    }

    /// Perhaps with shots that all samples of a unit share, and engines that say how many samples they run at once. Drawn
    /// apart.
    fn with_shared_shots(mut self) -> Self {
        let mut rng = Rng::new(self.seed.wrapping_mul(0x9ddf_ea08_eb38_2d69) ^ 0xc2b2_ae35);
        if rng.chance(250) {
            self.shared = rng.log_uniform(10, 100_000);
            if self.at_once == 0 && rng.chance(500) {
                self.at_once = rng.log_uniform(1, 64) as u32;
            }
        }
        self
    }

    /// Perhaps with workers of little memory, and at least one of more; often nothing else goes wrong then. Drawn apart.
    fn with_small_workers(mut self) -> Self {
        let mut rng = Rng::new(self.seed.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ 0x2545_f491);
        if rng.chance(100) && self.workers.len() > 1 {
            let large = rng.below(self.workers.len() as u64) as usize;
            self.small = (0..self.workers.len()).filter(|&worker| worker != large && rng.chance(700)).collect();
            if rng.chance(400) {
                (self.faults, self.unable, self.far) = (Vec::new(), Vec::new(), Vec::new());
            }
        }
        self
    }

    /// Perhaps with a pool whose workers go on without a master, and are cut off.
    fn with_a_far_pool(mut self, rng: &mut Rng) -> Self {
        if rng.chance(80) {
            self.far = (0..self.workers.len()).filter(|_| rng.chance(600)).collect();
            for worker in self.far.clone() {
                let (at, ms) = (rng.below(FAULTS_UNTIL), rng.between(6_000, 20_000));
                self.faults.push(Fault { at, kind: FaultKind::Partition { worker, ms } });
            }
            self.faults.sort_by_key(|fault| fault.at);
        }
        self
    }

    /// Perhaps with other jobs in the same server. Drawn apart, so that all else is what it would be without.
    fn with_further_jobs(mut self) -> Self {
        let mut rng = Rng::new(self.seed.wrapping_mul(0x9e6c_63d0_876a_68ee) ^ 0x1b87_3593);
        let count = match rng.below(1000) {
            0..100 => 2,
            100..400 => 1,
            _ => return self,
        };
        if rng.chance(100) {
            self = self.calm();
        }
        for _ in 0..count {
            let begins = if rng.chance(500) { 0 } else { rng.below(FAULTS_UNTIL) };
            let units: Vec<u32> = (0..rng.between(1, 2)).map(|_| rng.between(3, 30) as u32).collect();
            let kinds = units.iter().map(|_| rng.below(Kind::COUNT) as u8).collect();
            let kinds = if self.kinds.is_empty() { Vec::new() } else { kinds };
            let (weight, task_samples) = (rng.between(1, 3) as u32, rng.log_uniform(1, 20) as u32);
            self.further.push(FurtherJob { begins, weight, units, kinds, task_samples });
        }
        for fault in &mut self.faults {
            if let FaultKind::Cancel { job } = &mut fault.kind {
                *job = rng.below(count + 1) as usize;
            }
        }
        self
    }

    /// The same work where nothing goes wrong.
    fn calm(self) -> Self {
        Self {
            workers: self.workers,
            units: self.units,
            task_samples: self.task_samples.min(1_000),
            sample_ms: self.sample_ms,
            burst: self.burst,
            part_samples: self.part_samples,
            bulk_passes: self.bulk_passes,
            ..Self::plain(self.seed)
        }
    }

    /// The scenario as if this were its only job.
    pub(super) fn of_job(&self, number: usize) -> Self {
        let Some(further) = number.checked_sub(1).and_then(|at| self.further.get(at)) else { return self.clone() };
        Self {
            units: further.units.clone(),
            kinds: further.kinds.clone(),
            task_samples: further.task_samples,
            distinct: None,
            poison: None,
            unable: Vec::new(),
            not_finite: None,
            places: Vec::new(),
            bound: None,
            ..self.clone()
        }
    }

    /// The pool that a worker names; empty for none.
    pub(super) fn pool(&self, worker: usize) -> &'static str {
        self.pools.iter().find(|(at, _)| *at == worker).map_or("", |(_, pool)| pool)
    }

    /// Returns the number of jobs.
    pub(super) fn jobs(&self) -> usize {
        1 + self.further.len()
    }

    /// Returns the time at which a job is submitted.
    pub(super) fn begins(&self, job: usize) -> u64 {
        job.checked_sub(1).and_then(|at| self.further.get(at)).map_or(0, |further| further.begins)
    }

    /// Most slots of a job at once.
    pub(super) fn bound_of(&self, job: usize) -> Option<u32> {
        self.bound.filter(|_| job == 0)
    }

    /// The weight of a job beside the others.
    pub(super) fn weight(&self, job: usize) -> u32 {
        job.checked_sub(1).and_then(|at| self.further.get(at)).map_or(1, |further| further.weight)
    }

    /// Perhaps with workers that cannot load a model; seldom, none of them can.
    fn with_bad_nodes(mut self, rng: &mut Rng) -> Self {
        if rng.chance(120) {
            let model = rng.below(u64::from(self.models())) as u32;
            let count = self.workers.len() as u64;
            let spared = if rng.chance(100) { count } else { rng.below(count) };
            let bad = (0..self.workers.len())
                .filter(|&worker| worker as u64 != spared && (spared == count || rng.chance(700)));
            self.unable = bad.map(|worker| (worker, model)).collect();
        }
        self
    }

    /// Perhaps with answers that do not fit into a frame.
    fn with_long_texts(mut self, rng: &mut Rng) -> Self {
        if rng.chance(80) {
            self.long_bytes = rng.log_uniform(60_000, 600_000) as u32;
            self.kinds.iter_mut().for_each(|kind| *kind = 1);
        }
        self
    }

    /// Once in 500 histories, with as many samples as a user's job has.
    fn at_size(mut self, rng: &mut Rng) -> Self {
        if self.long_bytes == 0 && rng.chance(2) {
            let samples = rng.log_uniform(1_000, 100_000);
            self.units = vec![samples as u32];
            self.kinds.truncate(1);
            self.poison = None;
            self.task_samples = rng.log_uniform(1, samples) as u32;
            // No more tasks than can be told apart by a reader of the history.
            self.task_samples = self.task_samples.max(self.units[0] / 2_000);
            (self.part_samples, self.burst) = (512, (samples / 500).max(1) as u32);
            self.sample_ms = rng.between(20, 120);
        }
        self
    }

    /// Position of a unit's model: the first two units have one model, the others each their own.
    pub(super) fn model(&self, unit: usize) -> u32 {
        (unit as u32).saturating_sub(1)
    }

    fn models(&self) -> u32 {
        1 + self.model(self.units.len().saturating_sub(1))
    }

    pub(super) fn kind(&self, unit: usize) -> Kind {
        Kind::numbered(self.kinds.get(unit).copied().unwrap_or(0))
    }

    /// Returns the request of a sample: equal for samples with equal requests.
    pub(super) fn asked(&self, unit: usize, index: u32) -> (usize, u32) {
        match self.distinct {
            Some(distinct) if unit < 2 => (0, index % distinct.max(1)),
            _ => (unit, index),
        }
    }

    /// Returns whether the request of a sample has no room in the memory of a worker.
    pub(super) fn has_no_room(&self, worker: usize, (_, asked): (usize, u32)) -> bool {
        asked % LARGE_EVERY == 1 && self.small.contains(&worker)
    }

    /// Returns whether no worker that can load the models has room for the request of a sample, at some time.
    pub(super) fn may_lack_room(&self, asked: (usize, u32)) -> bool {
        let goes_right = self.faults.is_empty() && self.unable.is_empty();
        !goes_right && (0..self.workers.len()).any(|worker| self.has_no_room(worker, asked))
    }

    /// Returns whether no worker can load a model.
    pub(super) fn no_worker_can_load(&self, model: u32) -> bool {
        (0..self.workers.len()).all(|worker| self.unable.contains(&(worker, model)))
    }

    /// Returns whether some worker sends results that are not true.
    pub(super) fn has_untrue_workers(&self) -> bool {
        let is_untrue = |fault: &Fault| matches!(fault.kind, FaultKind::Garbles { .. } | FaultKind::Lies { .. });
        self.faults.iter().any(is_untrue)
    }

    /// Returns whether every result of a sample is the one that belongs to it: nothing fails, nothing lies.
    pub(super) fn is_plain(&self) -> bool {
        let breaks =
            |fault: &Fault| matches!(fault.kind, FaultKind::EngineBreaks { .. } | FaultKind::DeviceLost { .. });
        let bends = self.unsteady
            || self.poison.is_some()
            || self.not_finite.is_some()
            || !self.small.is_empty()
            || self.has_untrue_workers();
        !bends && !self.faults.iter().any(breaks)
    }
}

impl Scenario {
    /// A worker with much to do hears late, and then is heard no more: its own deadline is all that stops it. The others have
    /// nothing left to do when its lease runs out, and take what it holds at once. That all this meets by chance takes hundreds
    /// of seeds.
    fn late_and_lost(seed: u64, rng: &mut Rng) -> Self {
        let workers = vec![1; rng.between(3, 4) as usize];
        let worker = rng.below(workers.len() as u64) as usize;
        // Later than the slack of the deadline, sooner than the worker takes its master for gone.
        let (at, by) = (rng.between(3_000, 5_500), rng.between(2_200, 3_200));
        let lag = FaultKind::Lag { worker, by, answers: true, ms: rng.between(4_000, 8_000) };
        let parted = FaultKind::Partition { worker, ms: rng.between(8_000, 16_000) };
        let lost = at + rng.between(1_000, 4_000);
        // It gets slow as well, so that it has something left to begin when its deadline comes.
        let slow = FaultKind::WorkerSlow { worker, times: rng.between(3, 5), ms: 20_000 };
        let faults =
            vec![Fault { at, kind: lag }, Fault { at: lost, kind: parted }, Fault { at: lost + 10, kind: slow }];
        let sample_ms = rng.between(80, 160);
        // What all of them get through until then, a while after the last that was heard of it.
        let samples = workers.len() as u64 * (lost + rng.between(6_000, 9_000)) / sample_ms;
        let each = u32::try_from(samples / 3).unwrap_or(u32::MAX);
        Self {
            workers,
            // What is left to begin need not be fetched through the partition.
            bulk_passes: true,
            part_samples: 1,
            units: vec![each; 3],
            task_samples: rng.between(16, 40) as u32,
            sample_ms,
            faults,
            ..Self::plain(seed)
        }
    }
}

impl Scenario {
    /// A worker with short grants waits so long for answers that it leaves the connection, on which grants are under way to it:
    /// they arrive when others have them.
    fn left_with_answers_on_the_way(seed: u64, rng: &mut Rng) -> Self {
        let (by, ms) = (rng.between(6_000, 9_000), rng.between(4_000, 6_000));
        let kind = FaultKind::Lag { worker: 0, by, answers: true, ms };
        Self {
            workers: vec![1; rng.between(2, 4) as usize],
            units: vec![rng.between(25, 45) as u32; 3],
            task_samples: rng.between(1, 4) as u32,
            sample_ms: rng.between(150, 500),
            bulk_passes: true,
            faults: vec![Fault { at: rng.between(3_000, 6_000), kind }],
            ..Self::plain(seed)
        }
    }

    /// A leader's requests to the store are held up on their way until another leads: only the fence tells the two apart.
    fn held_up_and_outlived(seed: u64, rng: &mut Rng) -> Self {
        let kind = FaultKind::Isolation { master: 0, ms: rng.between(4_000, 12_000), held: true };
        Self {
            // The first leads: it is there before the other.
            masters: 2,
            workers: vec![1; rng.between(2, 4) as usize],
            units: (0..2).map(|_| rng.between(25, 45) as u32).collect(),
            task_samples: rng.between(3, 12) as u32,
            sample_ms: rng.between(300, 900),
            faults: vec![Fault { at: rng.between(3_500, 7_000), kind }],
            ..Self::plain(seed)
        }
    }
}

impl Scenario {
    /// Tasks may not be cut, and short ones wait at workers that are at long ones: somebody else has to take them.
    fn queued_behind_others(seed: u64, rng: &mut Rng) -> Self {
        let workers = vec![1; rng.between(2, 4) as usize];
        let (task_samples, sample_ms) = (rng.between(20, 40) as u32, rng.between(400, 900));
        let long = rng.between(1, workers.len() as u64 - 1) as usize;
        let short = workers.len() * 2 - long;
        let units = (0..long).map(|_| task_samples).chain((0..short).map(|at| 2 + at as u32 % 3)).collect();
        Self { workers, units, task_samples, split: false, sample_ms, ..Self::plain(seed) }
    }

    /// Returns whether nothing goes wrong, and any worker may take any task at once.
    pub(super) fn is_quiet(&self) -> bool {
        let goes_right =
            self.faults.is_empty() && self.unable.is_empty() && self.small.is_empty() && self.poison.is_none();
        let goes_anywhere = self.places.is_empty() && self.bound.is_none();
        let shares_nothing = self.endpoints.is_empty() && self.shared == 0;
        let goes_right = goes_right && goes_anywhere && shares_nothing;
        goes_right && self.kinds.is_empty() && self.load_ms == 0 && self.task_samples <= 1_000
    }
}
