//! `bench-watch`: what it costs to watch a folder of many checkpoints in which nothing happens.
//!
//! `--checkpoints N` (1000), `--seconds S` (60). The checkpoints are links to the files of one, so that one evaluation serves
//! all. Prints the processor time of the watch per minute once everything rests.

use compass_tests::training::{Variant, watched_job};
use compass_tests::{processor_seconds, rss_mib};
use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

fn options() -> Option<(u64, u64)> {
    let (mut checkpoints, mut seconds) = (1000, 60);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?.parse().ok()?;
        match word.as_str() {
            "--checkpoints" => checkpoints = value,
            "--seconds" => seconds = value,
            _ => return None,
        }
    }
    Some((checkpoints, seconds))
}

fn main() -> ExitCode {
    let Some((checkpoints, seconds)) = options() else {
        eprintln!("usage: bench-watch [--checkpoints N] [--seconds S]");
        return ExitCode::from(2);
    };
    match measure(checkpoints, seconds) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-watch: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(checkpoints: u64, seconds: u64) -> Result<(), Box<dyn Error>> {
    let job = watched_job(&[("tiny".into(), "${checkpoint}".into())]);
    let whole = job.path("whole");
    Variant { number: 1, sharded: true }.write(&whole)?;
    for step in 0..checkpoints {
        let place = job.path("checkpoints").join(format!("step_{step}"));
        fs::create_dir_all(&place)?;
        for entry in fs::read_dir(&whole)? {
            let entry = entry?;
            fs::hard_link(entry.path(), place.join(entry.file_name()))?;
        }
    }
    let line = ["watch", "checkpoints", "--config", "eval.toml", "--here"];
    let begun = Instant::now();
    let mut watch = job.command_line(&line).spawn_logged(&job.path("watch.log"));
    let pid = watch.pid();
    while job.log("watch.log").matches("has the content of").count() as u64 + 1 < checkpoints
        || !job.log("watch.log").contains("choices accuracy")
    {
        if watch.has_ended() || begun.elapsed() > Duration::from_secs(300) {
            return Err(job.log("watch.log").into());
        }
        sleep(Duration::from_millis(200));
    }
    let known = begun.elapsed().as_secs_f64();
    let spent = processor_seconds(pid).unwrap_or_default();
    println!("{checkpoints} checkpoints of 7 files: all known after {known:.1} s, {spent:.2} s of processor time");
    sleep(Duration::from_secs(seconds));
    let used = (processor_seconds(pid).unwrap_or_default() - spent) * 1000.0 * 60.0 / seconds as f64;
    println!("at rest: {used:.0} ms of processor time a minute, {:.0} MiB of memory", rss_mib(pid).unwrap_or_default());
    Ok(())
}
