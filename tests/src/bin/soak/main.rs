//! `soak`: a server that takes in jobs while workers come and go, for `--minutes N`, and whether anything of it grows.
//!
//! `compass-master serve` with four workers of one slot; jobs of 121 samples are handed to it with `compass-master submit`, a few
//! at a time, each with an answer that no frame holds and that is uploaded. Every four seconds a worker is killed with `kill -9`
//! or asked to end with SIGTERM, and another one comes. Each job must end with exit code 0 and write what the first one wrote.
//!
//! The clock begins once the server has ended as many jobs as it remembers. At the end of the second and of
//! the last tenth of the time no job runs for four seconds, in which the idle processor time is taken; everything else is
//! measured once a second. A quantity grows if its mean over the last tenth is above that of the second by more than what its row
//! allows. Exit code 1 if one does.
//!
//! Uploads are held in the server's memory: one that leaked would add 0.25 MiB for each job.

mod growth;
mod server;
mod workers;

use compass_tests::{Table, open_files, processor_seconds, rss_mib};
use growth::{Series, TENTHS};
use server::Server;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use workers::Workers;

const USAGE: &str = "usage: soak [--minutes N]";
/// Jobs that a server remembers once they have ended; with a few more its memory is full.
const REMEMBERED: u32 = 110;
/// Jobs that run or wait at once.
const OPEN: usize = 12;
const LOOK: Duration = Duration::from_secs(1);
/// Pause from one worker that goes to the next. What a killed one held waits for its lease, half a minute: with more of them most jobs
/// would only wait.
const REPLACE: Duration = Duration::from_secs(4);
/// Time without a running job in which the idle processor time is taken.
const QUIET: Duration = Duration::from_secs(4);
/// The longest until all jobs have ended.
const TIMEOUT: Duration = Duration::from_secs(120);

fn minutes() -> Option<f64> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Some(3.0),
        ["--minutes", minutes] => minutes.parse().ok().filter(|minutes| (0.1..=10_000.0).contains(minutes)),
        _ => None,
    }
}

struct Soak {
    server: Server,
    workers: Workers,
    replaced_at: Instant,
    memory: Series,
    files: Series,
    state: Series,
    temporary: Series,
    processor: Series,
}

fn main() -> ExitCode {
    let Some(minutes) = minutes() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let server = Server::start();
    let workers = Workers::start(&server);
    let mut soak = Soak {
        server,
        workers,
        replaced_at: Instant::now(),
        memory: Series::new("memory of the server", "MiB", 0.10, 4.0),
        files: Series::new("open files of the server", "", 0.10, 4.0),
        state: Series::new("state folder", "KiB", 0.05, 256.0),
        temporary: Series::new("temporary folder", "KiB", 0.05, 256.0),
        processor: Series::new("idle processor time", "% of a core", 0.25, 1.0),
    };
    match soak.run(Duration::from_secs_f64(minutes * 60.0)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

impl Soak {
    fn run(&mut self, time: Duration) -> Result<bool, String> {
        let begun = Instant::now();
        while self.server.ended < REMEMBERED {
            self.work(None)?;
        }
        eprintln!("{} jobs in {:.0} s of warming up", self.server.ended, begun.elapsed().as_secs_f64());
        for tenth in 0..TENTHS {
            let until = Instant::now() + time / TENTHS as u32;
            while Instant::now() + QUIET < until {
                self.work(Some(tenth))?;
            }
            // The two that are compared: what a killed worker held keeps its job for half a minute, so each rest takes as long.
            if tenth == 1 || tenth == TENTHS - 1 {
                self.rest(tenth)?;
            }
        }
        let mut table = Table::new(&["quantity", "first", "last", "2nd tenth", "last tenth", "allowed", "outcome"]);
        let all = [&self.memory, &self.files, &self.state, &self.temporary, &self.processor];
        all.iter().for_each(|series| table.row(series.row()));
        println!(
            "{} jobs submitted, {} ended; workers killed {}, asked to end {}\n\n{table}",
            self.server.submitted(),
            self.server.ended,
            self.workers.killed,
            self.workers.asked
        );
        self.server.faults.iter().take(10).for_each(|fault| println!("WRONG  {fault}"));
        let (flat, right) = (all.iter().all(|series| series.is_flat()), self.server.faults.is_empty());
        println!("{}", if flat { "nothing grows" } else { "something grows" });
        println!("{}", if right { "every job ended well, with the same results" } else { "jobs went wrong" });
        Ok(flat && right)
    }

    /// A second in which jobs are submitted and workers replaced; `tenth` is when it is measured.
    fn work(&mut self, tenth: Option<usize>) -> Result<(), String> {
        let until = Instant::now() + LOOK;
        while Instant::now() < until {
            if self.server.open() < OPEN {
                self.server.submit()?;
            } else {
                std::thread::sleep(LOOK / 20);
                self.server.look();
            }
            if tenth.is_some() && self.replaced_at.elapsed() > REPLACE {
                self.workers.replace_one(&self.server);
                self.replaced_at = Instant::now();
            }
        }
        self.server.look();
        match tenth {
            Some(tenth) => self.measure(tenth),
            None => Ok(()),
        }
    }

    /// Waits until no job runs, and measures what the server does then.
    fn rest(&mut self, tenth: usize) -> Result<(), String> {
        let begun = Instant::now();
        while self.server.open() > 0 {
            if begun.elapsed() > TIMEOUT {
                return Err(format!("{} jobs do not end\n{}", self.server.open(), self.server.explain_open()));
            }
            std::thread::sleep(LOOK / 5);
            self.server.look();
        }
        let ended = || "the server has ended".to_owned();
        let pid = self.server.process.pid();
        let (before, at) = (processor_seconds(pid).ok_or_else(ended)?, Instant::now());
        std::thread::sleep(QUIET);
        let spent = processor_seconds(pid).ok_or_else(ended)? - before;
        self.processor.add(tenth, 100.0 * spent / at.elapsed().as_secs_f64());
        self.measure(tenth)
    }

    fn measure(&mut self, tenth: usize) -> Result<(), String> {
        let pid = self.server.process.pid();
        let (Some(memory), Some(files)) = (rss_mib(pid), open_files(pid)) else {
            return Err(format!("the server has ended\n{}", self.server.log()));
        };
        self.memory.add(tenth, memory);
        self.files.add(tenth, files as f64);
        self.state.add(tenth, kib(&self.server.job.path("state")));
        self.temporary.add(tenth, kib(&self.server.job.path("tmp")));
        Ok(())
    }
}

/// KiB of all files below a folder.
fn kib(folder: &Path) -> f64 {
    let mut bytes = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Files may go while they are looked at.
            let Ok(data) = entry.metadata() else { continue };
            if data.is_dir() { folders.push(entry.path()) } else { bytes += data.len() }
        }
    }
    bytes as f64 / 1024.0
}
