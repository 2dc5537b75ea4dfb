//! `oc-corpus TREE`: what of an OpenCompass tree is planned and scored here, without Python, over small data that is made up.
//!
//! TREE holds the package `opencompass`. Every file of data sets is imported by a script of its own, its data files are made
//! ([`making`]), every prompt is rendered as a run does, and made-up answers are scored. The count is printed, and the files
//! that are refused, grouped by reason. `--list` prints the files that are served, `--only A,B` takes files whose name holds one of these,
//! `--keep FOLDER` works in a folder that stays (data that exists already is not made).
//!
//! `--peer PYTHON` runs OpenCompass itself over the same data (`tests/peers/opencompass_corpus.py`) and compares: every prompt of
//! every model byte for byte, gold answers, and what its evaluators say of the same answers to the last digit ([`peer`]).
//! `--compare` compares with what is in the kept folder. `--entries N` is how many data sets of a file OpenCompass runs.

mod asked;
mod corpus;
mod loader;
mod making;
mod options;
mod peer;
mod refusals;
mod scoring;
mod served;

use compass_run_folder::Planned;
use making::Sources;
use options::Options;
use refusals::Refusals;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn main() -> ExitCode {
    let Some(options) = Options::read(std::env::args().skip(1)) else {
        eprintln!("{}", options::USAGE);
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("oc-corpus: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> std::io::Result<bool> {
    let begun = std::time::Instant::now();
    let folder = tempfile::tempdir()?;
    let work = options.keep.clone().unwrap_or_else(|| folder.path().to_owned());
    let files = corpus::files(&options.tree, options.only.as_deref());
    let mut refusals = Refusals::new(options.reports.clone());
    let (mut planned, mut scored) = (0_u32, 0_u32);
    let mut kept = Vec::new();
    for (file, served) in files.iter().zip(all_served(options, &work, &files)) {
        match served {
            Err(reason) => refusals.add(&file.name, &reason),
            Ok(one) => {
                if options.list {
                    println!("{}", file.name);
                }
                planned += 1;
                match one.scored {
                    Ok(()) => scored += 1,
                    Err(reason) => refusals.add(&file.name, &format!("planned, not scored: {reason}")),
                }
                kept.extend(one.plan.map(|plan| (file, plan)));
            }
        }
    }
    refusals.print(options.all);
    println!(
        "{scored} of {} files that define data sets are planned and scored, {} planned; {:.1} s",
        files.len(),
        planned,
        begun.elapsed().as_secs_f64()
    );
    if let Some(python) = &options.peer {
        let files: Vec<&corpus::File> = kept.iter().map(|(file, _)| *file).collect();
        peer::run(python, options, &work, &files)?;
    }
    if options.peer.is_some() || options.compare {
        let mut comparison = peer::Comparison::default();
        for (file, one) in &kept {
            comparison.compare(&work, file, one);
        }
        return Ok(comparison.print());
    }
    Ok(true)
}

/// A file that is planned.
struct Served {
    scored: Result<(), String>,
    /// Kept only where it is compared: the plans of all files take gigabytes.
    plan: Option<Planned>,
}

/// Returns the outcome of every file, in their order. Files have nothing in common, so each processor takes the next one.
fn all_served(options: &Options, work: &Path, files: &[corpus::File]) -> Vec<Result<Served, String>> {
    let sources = Arc::new(Sources::new(&options.tree));
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<usize, Result<Served, String>>> = Mutex::default();
    let one = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(at) else { return };
            let folder = work.join(&file.name);
            let served = served::serve(options, &sources, &folder, file).map(|plan| Served {
                scored: scoring::score_all(&plan),
                plan: (options.peer.is_some() || options.compare).then_some(plan),
            });
            if options.keep.is_none() {
                // What is left behind is removed with the folder above.
                let _ = std::fs::remove_dir_all(&folder);
            }
            if let Ok(mut done) = done.lock() {
                done.insert(at, served);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(one);
        }
    });
    done.into_inner().map(|done| done.into_values().collect()).unwrap_or_default()
}
