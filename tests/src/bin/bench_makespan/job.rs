//! Jobs and workers from a seed: what the scheduler is told of them, and what is true.

use compass_plan::partition::UnitSize;
use compass_types::ids::UnitId;
use compass_types::intervals::IntervalSet;
use compass_types::seeded::Rng;

/// Workers of every job.
pub(crate) const WORKERS: usize = 8;
/// Duration of the job if no worker ever idled and none waited, in milliseconds.
const BOUND_MS: f64 = 1_000_000.0;

/// A job, its workers, and the truth about both.
#[derive(Debug)]
pub(crate) struct Job {
    /// Units as the partitioners see them.
    pub(crate) units: Vec<UnitSize>,
    /// Milliseconds of each sample of each unit on a worker of speed 1: unknown to the scheduler.
    pub(crate) durations: Vec<Vec<f64>>,
    /// From 1 to 4: unknown to the scheduler.
    pub(crate) speeds: Vec<f64>,
}

impl Job {
    /// The job of a seed: one model or two, 5 to 25 data sets of very different sizes, some of them generated, with
    /// durations that characters predict badly (a hidden factor of each data set, and noise of each sample).
    pub(crate) fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9) + 1);
        let models = rng.between(1, 2) as usize;
        let datasets = rng.between(5, 25) as usize;
        let (mut units, mut durations) = (Vec::new(), Vec::new());
        let shapes: Vec<(u32, u64, bool, f64)> = (0..datasets)
            .map(|_| {
                let samples = (100.0 * 60f64.powf(rng.unit())) as u32;
                let each = (200.0 * 15f64.powf(rng.unit())) as u64;
                (samples, each, rng.chance(300), 0.4 * 6f64.powf(rng.unit()))
            })
            .collect();
        for model in 0..models {
            for (at, &(samples, each, generates, hidden)) in shapes.iter().enumerate() {
                let id = UnitId((model * datasets + at) as u32);
                let weight = if generates { 8.0 } else { 1.0 };
                let spread = if generates { 0.7 } else { 0.3 };
                let drawn = (0..samples).map(|_| each as f64 * weight * hidden * (spread * normal(&mut rng)).exp());
                durations.push(drawn.collect());
                units.push(UnitSize {
                    id,
                    model,
                    abbr: format!("d{at}"),
                    remaining: IntervalSet::range(0, samples),
                    samples,
                    factor_labels: (!generates).then_some(4),
                    generates,
                    characters: each * u64::from(samples),
                    prefix_runs: Vec::new(),
                });
            }
        }
        let mut speeds: Vec<f64> = (0..WORKERS).map(|_| 1.0 + 3.0 * rng.unit()).collect();
        (speeds[0], speeds[1]) = (1.0, 4.0);
        let mut job = Self { units, durations, speeds };
        let scale = BOUND_MS / job.bound_ms();
        job.durations.iter_mut().flatten().for_each(|duration| *duration *= scale);
        job
    }

    /// No schedule ends before all work is done at the speed of all workers, nor before the longest sample is.
    pub(crate) fn bound_ms(&self) -> f64 {
        let work: f64 = self.durations.iter().flatten().sum();
        let longest = self.durations.iter().flatten().copied().fold(0.0, f64::max);
        let (all, fastest) = (self.speeds.iter().sum::<f64>(), self.speeds.iter().copied().fold(0.0, f64::max));
        (work / all).max(longest / fastest)
    }
}

/// Standard normal, by Box and Muller.
fn normal(rng: &mut Rng) -> f64 {
    let (u, v) = (1.0 - rng.unit(), rng.unit());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}
