//! Kills the leader of a run, again and again, and measures the consequences: `failover --runs 20`.
//!
//! Each run has an etcd, two masters and three workers that know both, on the echo engine. The leader is killed with
//! `kill -9` in mid-run. Its workers live on, so nothing that they hold may be run again; and nothing that it recorded may
//! be lost. The last line holds the worst of all runs. `failover --outage S` takes etcd away for S seconds instead:
//! workers continue with what they hold, the leader stays, and when etcd is back nothing is lost or run again.

mod outage;
mod takeover;

use std::process::ExitCode;
use takeover::{Measured, measure};

const USAGE: &str = "usage: failover [--runs N] | failover --outage SECONDS";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => take_overs(20),
        ["--runs", count] if count.parse::<u32>().is_ok() => take_overs(count.parse().unwrap_or(20)),
        ["--outage", seconds] if seconds.parse::<u64>().is_ok() => outage::run(seconds.parse().unwrap_or(60)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("failover: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether nothing was lost or run again; true as well where etcd is missing, which is reported.
fn take_overs(runs: u32) -> Result<bool, Box<dyn std::error::Error>> {
    let Some(Measured { seconds, lost, again }) = measure(runs)? else { return Ok(true) };
    println!(
        "runs: {runs}, slowest first new grant: {seconds:.2} s, lost commits: {lost}, \
         samples of live workers run again: {again}"
    );
    Ok(lost + again == 0)
}
