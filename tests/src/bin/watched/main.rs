//! `watched`: a trainer writes checkpoints in slow chunks, renames, removes and overwrites them, beside a watch that is killed
//! again and again; then every number is compared with an undisturbed run's.
//!
//! `--checkpoints N` writes N (20), `--full` 200; `--runs N` and `--seed S` play several. The last line is
//! `runs: N, wrong: D`.

use compass_tests::training::play;
use std::process::ExitCode;

const USAGE: &str = "usage: watched [--checkpoints N | --full] [--runs N] [--seed S]";

fn options() -> Option<(u64, u64, u64)> {
    let (mut checkpoints, mut runs, mut seed) = (20, 1, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--full" => checkpoints = 200,
            "--checkpoints" => checkpoints = words.next()?.parse().ok()?,
            "--runs" => runs = words.next()?.parse().ok()?,
            "--seed" => seed = words.next()?.parse().ok()?,
            _ => return None,
        }
    }
    Some((checkpoints, runs, seed))
}

fn main() -> ExitCode {
    let Some((checkpoints, runs, first)) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut wrong = 0;
    for seed in first..first + runs {
        match play(checkpoints, seed) {
            Ok(run) => println!(
                "seed {seed}: {} checkpoints with {} contents: {} evaluated whole and once, {} with weights gone meanwhile, {} gone \
                 before; the watch was killed {} times, the server {} times ({:.0} s)",
                run.checkpoints,
                run.contents,
                run.comparison.whole,
                run.comparison.weights_gone,
                run.comparison.never,
                run.kills,
                run.server_kills,
                run.seconds
            ),
            Err(error) => {
                wrong += 1;
                println!("seed {seed}: {error}");
            }
        }
    }
    println!("runs: {runs}, wrong: {wrong}");
    ExitCode::from(u8::from(wrong > 0))
}
