//! What a history is made of: sizes, and faults with their times. Drawn from a seed; smaller ones made by shrinking.

use super::plan::GARBLES;
use super::rng::Rng;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The worker's process is gone; another comes under its name after so long.
    WorkerCrash { worker: usize, back_after: u64 },
    /// The worker's process is stopped for so long.
    WorkerPause { worker: usize, ms: u64 },
    /// Samples take the worker so many times as long.
    WorkerSlow { worker: usize, times: u64, ms: u64 },
    /// The worker drains and goes; another comes under its name.
    WorkerDrain { worker: usize },
    /// Another job wants the worker: it leaves in good order, and comes back after so long elsewhere.
    Release { worker: usize, away: u64 },
    /// An engine of the worker breaks, and its grant is handed back.
    EngineBreaks { worker: usize },
    /// The worker hands in samples that it was never granted, then claims a whole unit in its next hello.
    Lies { worker: usize },
    /// So many of the worker's next results do not fit the plan, in one of several ways.
    Garbles { worker: usize, results: u32, way: u64 },
    /// The worker's connection breaks, with what is on it.
    Cut { worker: usize },
    /// Nothing gets through between the worker and the masters; what was sent comes afterwards, if it still can.
    Partition { worker: usize, ms: u64 },
    /// What the worker is told takes up to so much longer, and what it says too, unless only `answers` are late.
    Lag { worker: usize, by: u64, answers: bool, ms: u64 },
    /// Frames of the worker's come twice or in another order.
    Stutter { worker: usize, ms: u64 },
    /// The master's process is gone, with what was not synced; another comes after so long.
    MasterCrash { master: usize, back_after: u64 },
    /// The master's process is stopped for so long.
    MasterPause { master: usize, ms: u64 },
    /// The master does not reach the store; where `held`, what it asks gets there afterwards.
    Isolation { master: usize, ms: u64, held: bool },
    /// The store answers nobody and does nothing.
    StoreDown { ms: u64 },
    /// The store does what it is asked and its answers are lost.
    StoreDeaf { ms: u64 },
    /// The job is cancelled.
    Cancel,
}

/// A fault and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub at: u64,
    pub kind: FaultKind,
}

/// See the module. Times in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Of all delays within the history.
    pub seed: u64,
    pub masters: usize,
    /// Slots of each worker.
    pub workers: Vec<u32>,
    /// Samples of each unit.
    pub units: Vec<u32>,
    /// Where some samples ask the same: of the first two units those whose indices have one remainder by this number.
    pub distinct: Option<u32>,
    /// Samples of a task at most.
    pub task_samples: u32,
    /// How long a sample takes.
    pub sample_ms: u64,
    /// A sample that no worker can run.
    pub poison: Option<(u32, u32)>,
    /// Whether results differ from worker to worker.
    pub unsteady: bool,
    pub faults: Vec<Fault>,
}

/// Faults happen before this time.
pub(super) const FAULTS_UNTIL: u64 = 25_000;

impl Scenario {
    /// The scenario of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x5bd1_e995);
        if rng.chance(120) {
            return Self::late_and_lost(seed, &mut rng);
        }
        if rng.chance(30) {
            return Self::held_up_and_outlived(seed, &mut rng);
        }
        let masters = rng.between(1, 2) as usize;
        let workers: Vec<u32> = (0..rng.between(1, 4)).map(|_| rng.between(1, 2) as u32).collect();
        let units: Vec<u32> = (0..rng.between(1, 3)).map(|_| rng.between(5, 45) as u32).collect();
        let poison = rng.chance(60).then(|| (0, rng.below(u64::from(units[0])) as u32));
        let count = if rng.chance(50) { 0 } else { rng.between(1, 8) };
        let mut faults: Vec<Fault> = (0..count)
            .map(|_| Fault { at: rng.below(FAULTS_UNTIL), kind: kind(&mut rng, masters, workers.len()) })
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
        let (task_samples, sample_ms) = (rng.between(3, 30) as u32, rng.between(50, 1200));
        let unsteady = rng.chance(100);
        faults.extend(untrue(&mut rng, workers.len()));
        faults.sort_by_key(|fault| fault.at);
        // Of a generator of its own: without it the history of a seed is what it was.
        let mut equal = Rng::new(seed ^ 0x6c62_272e_07bb_0142);
        let distinct = equal.chance(150).then(|| equal.between(1, 15) as u32);
        Self { seed, masters, workers, units, distinct, task_samples, sample_ms, poison, unsteady, faults }
    }

    /// What a sample asks: equal for samples with equal requests.
    pub(super) fn asked(&self, unit: u32, index: u32) -> (u32, u32) {
        match self.distinct {
            Some(distinct) if unit < 2 => (0, index % distinct.max(1)),
            _ => (unit, index),
        }
    }
}

/// Workers that lie, or whose memory is broken: never so many that none is left that is not barred.
fn untrue(rng: &mut Rng, workers: usize) -> Vec<Fault> {
    let mut faults = Vec::new();
    if rng.chance(150) {
        let worker = rng.below(workers as u64) as usize;
        faults.extend(
            (0..rng.between(1, 3)).map(|_| Fault { at: rng.below(FAULTS_UNTIL / 2), kind: FaultKind::Lies { worker } }),
        );
    }
    if rng.chance(150) {
        let worker = rng.below(workers as u64) as usize;
        let most = if worker == 0 && workers > 1 { 9 } else { 2 };
        let (results, way) = (rng.between(1, most) as u32, rng.below(GARBLES));
        faults.push(Fault { at: rng.below(FAULTS_UNTIL / 2), kind: FaultKind::Garbles { worker, results, way } });
    }
    faults
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
            seed,
            masters: 1,
            workers,
            units: vec![each; 3],
            distinct: None,
            task_samples: rng.between(16, 40) as u32,
            sample_ms,
            poison: None,
            unsteady: false,
            faults,
        }
    }
}

impl Scenario {
    /// What the leader asks the store is held up on its way until another leads: only the fence tells the two apart.
    fn held_up_and_outlived(seed: u64, rng: &mut Rng) -> Self {
        let kind = FaultKind::Isolation { master: 0, ms: rng.between(4_000, 12_000), held: true };
        Self {
            seed,
            // The first leads: it is there before the other.
            masters: 2,
            workers: vec![1; rng.between(2, 4) as usize],
            units: (0..2).map(|_| rng.between(25, 45) as u32).collect(),
            distinct: None,
            task_samples: rng.between(3, 12) as u32,
            sample_ms: rng.between(300, 900),
            poison: None,
            unsteady: false,
            faults: vec![Fault { at: rng.between(3_500, 7_000), kind }],
        }
    }
}

fn kind(rng: &mut Rng, masters: usize, workers: usize) -> FaultKind {
    let (worker, master) = (rng.below(workers as u64) as usize, rng.below(masters as u64) as usize);
    let ms = if rng.chance(500) { rng.between(200, 3_000) } else { rng.between(3_000, 16_000) };
    match rng.below(46) {
        0..=3 => FaultKind::WorkerCrash { worker, back_after: ms },
        4..=7 => FaultKind::WorkerPause { worker, ms },
        8..=9 => FaultKind::WorkerSlow { worker, times: rng.between(2, 8), ms },
        10 => FaultKind::WorkerDrain { worker },
        11..=12 => FaultKind::EngineBreaks { worker },
        13..=16 => FaultKind::Cut { worker },
        17..=20 => FaultKind::Partition { worker, ms },
        21..=22 => FaultKind::Lag { worker, by: rng.between(50, 4_500), answers: rng.chance(600), ms },
        23..=24 => FaultKind::Stutter { worker, ms },
        25..=29 => FaultKind::MasterCrash { master, back_after: ms },
        30..=33 => FaultKind::MasterPause { master, ms },
        34..=36 => FaultKind::Isolation { master, ms, held: rng.chance(500) },
        37..=38 => FaultKind::StoreDown { ms: ms.min(6_000) },
        39..=41 => FaultKind::StoreDeaf { ms: ms.min(6_000) },
        42..=44 => FaultKind::Release { worker, away: ms },
        _ => FaultKind::Cancel,
    }
}
