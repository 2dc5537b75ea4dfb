//! `bench-makespan`: how long jobs take under each partitioner, against a bound that no schedule can beat.
//!
//! Simulated time, the real scheduler: 8 workers of hidden speeds from 1 to 4, samples of hidden durations, 25 ms for
//! every word between master and worker. `--jobs N` draws so many jobs (20), from `--first-seed S` (0) on. A line for each
//! partitioner gives the mean and the worst of makespan over bound; the last line is `balanced: W of the bound at worst`.
//! Fails above 1.05.

mod job;
mod schedule;

use compass_common::partition::{PartitionStrategy, PartitionerKind};
use job::{Job, WORKERS};
use schedule::makespan_ms;
use std::process::ExitCode;

/// The most that `balanced` may take, over the bound.
const PROMISE: f64 = 1.05;

/// How many jobs, and the seed of the first.
fn options() -> Option<(u64, u64)> {
    let (mut jobs, mut first) = (20, 0);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?.parse().ok()?;
        match word.as_str() {
            "--jobs" => jobs = value,
            "--first-seed" => first = value,
            _ => return None,
        }
    }
    Some((jobs, first))
}

fn main() -> ExitCode {
    let Some((jobs, first)) = options() else {
        eprintln!("usage: bench-makespan [--jobs N] [--first-seed S]");
        return ExitCode::from(2);
    };
    let strategy = PartitionStrategy::Heuristic;
    let size = PartitionerKind::Size { max_task_size: 2_000, gen_task_coef: 20, strategy };
    let num_worker =
        PartitionerKind::NumWorker { num_worker: WORKERS as u32, num_split: None, min_task_size: 16, strategy };
    let kinds = [("naive", PartitionerKind::Naive), ("size", size), ("num_worker", num_worker)];
    let kinds = kinds.into_iter().chain([("balanced", PartitionerKind::Balanced)]);
    let drawn: Vec<Job> = (first..first + jobs).map(Job::draw).collect();
    let samples: usize = drawn.iter().flat_map(|job| &job.durations).map(Vec::len).sum();
    println!(
        "{jobs} jobs, {} samples each on average, {WORKERS} workers of speeds 1 to 4",
        samples as u64 / jobs.max(1)
    );
    if let Some(job) = drawn.first() {
        println!("lower bound: {:.0} s (all work at the speed of all workers)", job.bound_ms() / 1000.0);
    }
    let mut last = f64::INFINITY;
    for (name, kind) in kinds {
        let ratios: Option<Vec<f64>> =
            drawn.iter().map(|job| Some(makespan_ms(job, &kind)? / job.bound_ms())).collect();
        let Some(ratios) = ratios else {
            eprintln!("bench-makespan: a job did not end under {name}");
            return ExitCode::FAILURE;
        };
        let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
        last = ratios.into_iter().fold(0.0, f64::max);
        println!("{name:<11} mean {mean:.3}  worst {last:.3}");
    }
    println!("balanced: {last:.3} of the bound at worst");
    if last <= PROMISE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
