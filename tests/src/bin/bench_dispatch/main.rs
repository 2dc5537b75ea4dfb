//! `bench-dispatch`: how many tasks a master grants, hears of and makes durable in a second, and how long a worker waits
//! for its next grant.
//!
//! The master's half runs in a process of its own: the leader, driver, committer, ledger, store and worker service of
//! production, over made-up tasks, without a plan. This process is its workers: sessions that answer every grant at once
//! (or after `--pace` ms) with results of a single option, many of them over one HTTP/2 connection on loopback, which real
//! workers do not share. A task has one sample unless `--samples` says more. A latency runs from when a worker hands
//! something in (or announces its credit) until it hears of a grant in its place, and so holds the wait for both
//! processes' turn on the processors.
//!
//! The last line is `tasks/s: T, p99 ms: L, rss MiB: R`; with `--compare` it is the master's processor time per task with 64
//! workers and with many, and their ratio. Processor time counts from the first credit, so that attaching is not part of it.

mod clients;
mod disk;
mod master;
mod options;
mod session;

use clients::Measured;
use options::{Options, Role, USAGE};
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let done = match options.role {
        Role::Master => master::run(&options),
        Role::Bench => bench(&options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-dispatch: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.compare > 0 {
        return compare(options);
    }
    measure(options).map(|_| ())
}

/// Few workers and many in turn, at equal credit: what the number of workers costs.
fn compare(options: &Options) -> Result<(), Box<dyn Error>> {
    let counts = [options::FEW, options.workers];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..options.compare {
        for (workers, times) in counts.into_iter().zip(&mut times) {
            let Some(time) = measure(&Options { workers, ..options.clone() })? else { return Ok(()) };
            times.push(time);
        }
    }
    let [few, many] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!(
        "master's processor time per task at credit {}: {few:.1} us with {} workers, {many:.1} us with {}, ratio {:.2} \
         (medians of {} runs each)",
        options.credit,
        counts[0],
        counts[1],
        many / few,
        options.compare
    );
    Ok(())
}

/// One run; the master's processor time per task in microseconds, `None` where the store is missing.
fn measure(options: &Options) -> Result<Option<f64>, Box<dyn Error>> {
    let place = master::MasterFolder::prepare(options)?;
    let Some(place) = place else { return Ok(None) };
    let fsync = disk::fsync_times(place.folder())?;
    println!(
        "{} tasks of {} samples, {} workers over {} connections, credit {}, {} store",
        options.tasks,
        options.samples,
        options.workers,
        options.connections(),
        options.credit,
        options.store.name()
    );
    println!("this disk's fdatasync after 4 KiB: median {:.3} ms, p99 {:.3} ms", fsync.median_ms, fsync.p99_ms);
    let mut master = place.start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(options.threads).enable_all().build()?;
    let measured: Measured = runtime.block_on(clients::run(options, master.address(), master.process()))?;
    let rss_mib = master.finish()?;
    println!("{} workers attached in {:.2} s", options.workers, measured.attached_s);
    let rate = f64::from(options.tasks) / measured.seconds;
    println!("{} tasks durable in {:.2} s: {rate:.0} tasks/s", options.tasks, measured.seconds);
    let of_master = measured.master_cpu_s * 1e6 / f64::from(options.tasks);
    println!(
        "processor time per task: master {of_master:.1} us, workers {:.1} us",
        measured.cpu_s * 1e6 / f64::from(options.tasks)
    );
    println!(
        "grant latency: p50 {:.2} ms, p99 {:.2} ms, most {:.2} ms",
        measured.latency_ms(0.5),
        measured.latency_ms(0.99),
        measured.latency_ms(1.0)
    );
    if let Some(vanished) = measured.vanished_s {
        println!("a vanished worker's tasks were granted to others after {vanished:.1} s");
    }
    println!("tasks/s: {rate:.0}, p99 ms: {:.2}, rss MiB: {:.0}", measured.latency_ms(0.99), rss_mib);
    Ok(Some(of_master))
}
