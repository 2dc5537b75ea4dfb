//! `oc-corpus TREE`: what of an OpenCompass tree is planned and scored here, without Python, over small data that is made up.
//!
//! TREE holds the package `opencompass`. Every file of data sets is imported by a script of its own, its data files are made
//! ([`making`]), every prompt is rendered as a run does, and made-up answers are scored. The count is printed, and the files
//! that are refused, grouped by reason. `--list` prints the files that are served, `--only TEXT` takes files whose name holds it,
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

use options::Options;
use refusals::Refusals;
use std::process::ExitCode;

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
    std::fs::create_dir_all(work.join("data"))?;
    let files = corpus::files(&options.tree, options.only.as_deref());
    let mut refusals = Refusals::default();
    let (mut planned, mut scored) = (Vec::new(), 0_u32);
    for file in &files {
        match served::serve(options, &work, file) {
            Err(reason) => refusals.add(&file.name, &reason),
            Ok(one) => {
                if options.list {
                    println!("{}", file.name);
                }
                match scoring::score_all(&one) {
                    Ok(()) => scored += 1,
                    Err(reason) => refusals.add(&file.name, &format!("planned, not scored: {reason}")),
                }
                planned.push((file, one));
            }
        }
    }
    refusals.print(options.all);
    println!(
        "{scored} of {} files that define data sets are planned and scored, {} planned; {:.1} s",
        files.len(),
        planned.len(),
        begun.elapsed().as_secs_f64()
    );
    if let Some(python) = &options.peer {
        let files: Vec<&corpus::File> = planned.iter().map(|(file, _)| *file).collect();
        peer::run(python, options, &work, &files)?;
    }
    if options.peer.is_some() || options.compare {
        let mut comparison = peer::Comparison::default();
        for (file, one) in &planned {
            comparison.compare(&work, file, one);
        }
        return Ok(comparison.print());
    }
    Ok(true)
}
