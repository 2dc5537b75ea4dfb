//! `bench-makespan`: how long jobs take under each partitioner, against a bound that no schedule can beat.
//!
//! Simulated time, the real scheduler: 8 workers of hidden speeds from 1 to 4, samples of hidden durations, 25 ms for
//! every word between master and worker. `--jobs N` draws N jobs (20), from `--first-seed S` (0) on. A line for each
//! partitioner gives mean, 95th percentile and worst of makespan over bound, and for the worst job of `balanced` where its
//! time went: how long a sample takes is unknown before it is run, and what is begun last may be the longest. The last line
//! is `balanced: M of the bound`, the mean. Fails above 1.05.

mod job;
mod schedule;

use compass_plan::partition::{PartitionStrategy, PartitionerKind};
use job::{Job, WORKERS};
use schedule::{Batch, Played, play};
use std::process::ExitCode;

/// The most that `balanced` may take, over the bound.
const PROMISE: f64 = 1.05;

/// Reads the number of jobs, and the seed of the first.
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
    let mut mean = f64::INFINITY;
    for (name, kind) in kinds {
        let mut results = Vec::new();
        for (seed, job) in (first..).zip(&drawn) {
            let Some(played) = play(job, &kind) else {
                eprintln!("bench-makespan: job {seed} did not end under {name}");
                return ExitCode::FAILURE;
            };
            results.push((played.makespan_ms / job.bound_ms(), seed, job.bound_ms(), played));
        }
        results.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
        mean = results.iter().map(|(ratio, ..)| ratio).sum::<f64>() / results.len().max(1) as f64;
        let p95 = results.get(results.len() * 95 / 100).map_or(mean, |(ratio, ..)| *ratio);
        let Some((worst, seed, bound, played)) = results.last() else { return ExitCode::FAILURE };
        println!("{name:<11} mean {mean:.3}  p95 {p95:.3}  worst {worst:.3}");
        if kind == PartitionerKind::Balanced {
            let over = results.iter().filter(|(ratio, ..)| *ratio > PROMISE).count();
            println!(
                "{over} of {} jobs above {PROMISE}; the worst is job {seed}: {}",
                results.len(),
                why(played, *bound)
            );
        }
    }
    println!("balanced: {mean:.3} of the bound");
    if mean <= PROMISE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Describes the time beyond the bound, which is the sum of these three.
fn why(played: &Played, bound: f64) -> String {
    let share = |ms: f64| 100.0 * ms / bound;
    let Batch { worker, began_ms, ended_ms, samples, longest_ms } = &played.last;
    format!(
        "{:.1} % of the bound went into loading models, {:.1} % into waiting for grants, {:.1} % was idle at the end, when \
         worker {worker} ran {samples} samples for {:.0} s, the longest of them for {:.0} s",
        share(played.loading_ms),
        share(played.waiting_ms),
        share(played.tail_ms),
        (ended_ms - began_ms) as f64 / 1000.0,
        longest_ms / 1000.0
    )
}
