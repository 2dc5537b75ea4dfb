//! `bench-endpoint`: how much of an endpoint's limit a job uses, and how many of its requests are refused.
//!
//! The endpoint takes `--rate R` (50) requests a second and refuses others with 429. `--samples N` (10000) are asked; the
//! first `--skip S` (30) seconds, in which the pace is found, do not count. The last lines are `used X` and `refused X`, as
//! shares of the limit and of the requests. Exit code 1 where less than 0.9 is used or more than 0.02 refused.

use compass_mirrors::openai::{Endpoint, Script};
use compass_tests::{endpoint_job, endpoint_score};
use std::process::ExitCode;
use std::time::Duration;

const USAGE: &str = "usage: bench-endpoint [--rate R] [--samples N] [--skip S]";
const LATENCY: Duration = Duration::from_millis(20);
/// Requests that the endpoint takes at once beside its rate.
const BURST: f64 = 5.0;
const LEAST_USED: f64 = 0.9;
const MOST_REFUSED: f64 = 0.02;

fn options() -> Option<(f64, u32, u64)> {
    let (mut rate, mut samples, mut skip) = (50.0, 10_000, 30);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--rate" => rate = value.parse().ok()?,
            "--samples" => samples = value.parse().ok()?,
            "--skip" => skip = value.parse().ok()?,
            _ => return None,
        }
    }
    Some((rate, samples, skip))
}

fn main() -> ExitCode {
    let Some((rate, samples, skip)) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let script = Script { latency: LATENCY, limit: Some((rate, BURST)), retry_after: Some(1), ..Script::default() };
    let endpoint = match Endpoint::start(script) {
        Ok(endpoint) => endpoint,
        Err(error) => {
            eprintln!("bench-endpoint: cannot start the endpoint: {error}");
            return ExitCode::FAILURE;
        }
    };
    let job = endpoint_job(&endpoint.url(), ", max_concurrency = 64", samples);
    job.run(&["--max-num-workers", "1"]).expect(0);
    let seen = endpoint.seen();
    let (Some(first), Some(last), Some(100.0)) = (seen.first(), seen.last(), endpoint_score(&job)) else {
        eprintln!("bench-endpoint: not every sample was answered");
        return ExitCode::FAILURE;
    };
    let begin = first.at + Duration::from_secs(skip);
    let after: Vec<_> = seen.iter().filter(|seen| seen.at >= begin).collect();
    let taken = after.iter().filter(|seen| seen.status == 200).count();
    let used = taken as f64 / (rate * last.at.saturating_sub(begin).as_secs_f64());
    let refused = (after.len() - taken) as f64 / after.len().max(1) as f64;
    println!("{samples} samples, {} requests, {} of them after {skip} s", seen.len(), after.len());
    println!("used {used:.3}\nrefused {refused:.4}");
    match used >= LEAST_USED && refused <= MOST_REFUSED {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
