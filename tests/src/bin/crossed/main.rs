//! Features crossed with one another: `crossed --near 2` runs every job that differs from the defaults in at most two factors.
//!
//! Faults live where features meet: a few-shot job against an endpoint once hung although each half had its tests. A job here
//! is one value of each factor (model, inferencer, shots, partitioner, runner, server, what happens to it, number of models and
//! data sets). It must end in time with exit code 0, write `predictions/` and `results/` byte-equal to a plain run's of the
//! same samples (one local worker, nothing killed), and leave no process behind. `--pairs` and `--triples` run a covering array
//! instead, in which every pair or triple of values occurs in some job.

mod crossing;
mod factors;
mod options;
mod served;

use crossing::Lab;
use factors::{covering, near};
use options::{Choice, Options};
use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(what) => {
            eprintln!("crossed: {what}");
            return ExitCode::from(2);
        }
    };
    let jobs = match options.choice {
        Choice::Near(distance) => near(distance),
        Choice::Covering(strength) => covering(strength, options.seed),
    };
    let chosen: Vec<usize> = match options.only.as_slice() {
        [] => (0..jobs.len()).collect(),
        only => only.to_vec(),
    };
    println!("{} jobs, {} of them run", jobs.len(), chosen.len());
    if options.list {
        jobs.iter().enumerate().for_each(|(number, job)| println!("{number:3} {job}"));
        return ExitCode::SUCCESS;
    }
    let Some(lab) = Lab::open(&options) else { return ExitCode::FAILURE };
    let (mut failed, mut skipped) = (0, 0);
    let mut plain = BTreeMap::new();
    for (number, job) in chosen.iter().filter_map(|number| Some((*number, jobs.get(*number)?))) {
        if !lab.offers(job) {
            skipped += 1;
            continue;
        }
        let expected = plain.entry(job.samples()).or_insert_with(|| lab.run(&job.plain()));
        let faults = match expected {
            Err(faults) => faults.iter().map(|fault| format!("its plain run: {fault}")).collect(),
            Ok(expected) => lab.run(job).map_or_else(|faults| faults, |files| expected.differences(&files)),
        };
        failed += usize::from(!faults.is_empty());
        println!("{number:3} {} {job}", if faults.is_empty() { "ok  " } else { "FAIL" });
        faults.iter().for_each(|fault| println!("       {fault}"));
    }
    println!("jobs: {}, skipped: {skipped}, failed: {failed}", chosen.len());
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
