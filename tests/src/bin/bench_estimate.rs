//! `bench-estimate`: how far `--estimate` is from what a run takes.
//!
//! `--jobs N` (10) jobs of the demo's model, each with data sets of its own; each runs, is estimated, and runs again. Prints the time of
//! slots as it was estimated and as it was, and the median of the relative errors. Then twice as many jobs whose data sets never ran,
//! estimated by what others took of the same model: prints the interval of each, and how many hold the time that the job took. Exit
//! code 1 where the median is above 0.2, or fewer than 9 of 10 intervals hold.

use compass_tests::{Job, Table, copy_demo_model};
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitCode;

const MOST: f64 = 0.2;
const LEAST_HELD: f64 = 0.9;
/// Samples of a job's data sets are these times its number, and some.
const SAMPLES: u32 = 400;

/// Question of a data set.
#[derive(Clone, Copy, Debug)]
enum Asks {
    /// A choice of the likelier of two texts.
    Choice,
    /// Answers of at most this many tokens.
    Answer(u32),
}

/// A data set of rows whose questions are `words` words longer than the shortest.
#[derive(Clone, Copy, Debug)]
struct DataSet {
    asks: Asks,
    samples: u32,
    words: u32,
}

/// Seconds of slots.
#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    middle: f64,
    high: f64,
}

fn jobs() -> Option<u32> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [] => Some(10),
        [flag, number] if flag == "--jobs" => number.parse().ok().filter(|jobs| *jobs > 0),
        _ => None,
    }
}

/// The job `number` of these data sets. What its runs take is kept in the folder `speeds`, or in one of its own.
fn job(number: u32, datasets: &[DataSet], speeds: Option<&Path>) -> io::Result<Job> {
    let mut config = String::new();
    config.push_str("[[model]]\nabbr = \"demo\"\npath = \"model\"\n");
    for (at, dataset) in datasets.iter().enumerate() {
        let (infer, evaluator) = match dataset.asks {
            Asks::Choice => {
                (r#"inferencer = "ppl", prompt_template = { 0 = "{q} more", 1 = "{q} less" }"#.to_owned(), "acc")
            }
            Asks::Answer(tokens) => (
                format!(r#"inferencer = {{ type = "gen", max_out_len = {tokens} }}, prompt_template = "{{q}} ""#),
                "em",
            ),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            config,
            "[[dataset]]\nabbr = \"d{number}_{at}\"\nreader_cfg = {{ input_columns = [\"q\"], output_column = \"label\" }}\n\
             test = {{ path = \"rows{at}.jsonl\" }}\ninfer_cfg = {{ {infer} }}\neval_cfg = {{ evaluator = \"{evaluator}\" }}"
        );
    }
    let job = Job::new(&config);
    copy_demo_model(&job.path("model"))?;
    if let Some(speeds) = speeds {
        std::fs::create_dir_all(job.path("state"))?;
        std::os::unix::fs::symlink(speeds, job.path("state/speeds"))?;
    }
    for (at, dataset) in datasets.iter().enumerate() {
        let mut rows = String::new();
        for row in 0..dataset.samples {
            let question = format!("In case {number} of {row}, are there{}", " very".repeat(dataset.words as usize));
            let _ = writeln!(rows, r#"{{"q": "{question}", "label": {}}}"#, row % 2);
        }
        job.write(&format!("rows{at}.jsonl"), &rows);
    }
    Ok(job)
}

/// Seconds of slots of the latest run.
fn busy(job: &Job) -> f64 {
    let facts = job.facts();
    let workers = facts["workers"].as_object().into_iter().flat_map(|workers| workers.values());
    workers.filter_map(|worker| worker["busy_seconds"].as_f64()).sum()
}

/// Seconds that a text says, as `2m 05s`.
fn seconds(text: &str) -> Option<f64> {
    let seconds = text.split(' ').map(|word| {
        let (number, unit) = word.split_at(word.len().checked_sub(1)?);
        let unit = match unit {
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            _ => return None,
        };
        Some(number.parse::<f64>().ok()? * unit)
    });
    seconds.sum()
}

/// The interval that an estimate says, as `2m 05s (1m 50s to 2m 20s)`.
fn estimated(said: &str) -> Option<Interval> {
    let (middle, rest) = said.split_once("once weights are loaded: ")?.1.split_once(" (")?;
    let (low, high) = rest.split_once(')')?.0.split_once(" to ")?;
    Some(Interval { low: seconds(low)?, middle: seconds(middle)?, high: seconds(high)? })
}

fn run(job: &Job, flags: &[&str]) -> String {
    let one_slot = ["--max-num-workers", "1"];
    job.run(&[&one_slot, flags].concat()).expect(0).stdout
}

/// Jobs that ran once: their relative errors, sorted.
fn repeated(jobs: u32) -> io::Result<Vec<f64>> {
    let mut table = Table::new(&["job", "first s", "estimated s", "second s", "error"]);
    let mut errors = Vec::new();
    for number in 0..jobs {
        let dataset = |asks| DataSet { asks, samples: SAMPLES + 50 * number, words: number };
        let job = job(number, &[Asks::Choice, Asks::Answer(16)].map(dataset), None)?;
        run(&job, &[]);
        let first = busy(&job);
        let said = run(&job, &["--estimate"]);
        assert!(said.contains("a run on cpu"), "{said}");
        run(&job, &[]);
        let second = busy(&job);
        let estimated = estimated(&said).ok_or_else(|| io::Error::other(format!("no time in {said}")))?.middle;
        let error = (estimated - second).abs() / second;
        errors.push(error);
        table.row([
            number.to_string(),
            format!("{first:.2}"),
            format!("{estimated:.0}"),
            format!("{second:.2}"),
            format!("{error:.3}"),
        ]);
    }
    print!("{table}");
    errors.sort_by(f64::total_cmp);
    Ok(errors)
}

/// Jobs that never ran, after one that did: the share of the intervals that hold the time.
fn unseen(jobs: u32) -> io::Result<f64> {
    let speeds = tempfile::tempdir()?;
    let teaching = [Asks::Choice, Asks::Answer(16)].map(|asks| DataSet { asks, samples: SAMPLES, words: 2 });
    run(&job(0, &teaching, Some(speeds.path()))?, &[]);
    let mut table = Table::new(&["job", "data sets", "low s", "estimated s", "high s", "took s", "held"]);
    let mut held = 0_u32;
    for number in 1..=jobs {
        let (choices, answers) = (number % 3 != 1, number % 3 != 2);
        let sized = |asks| DataSet { asks, samples: 200 + 173 * number % 1_900, words: 7 * number % 23 };
        let datasets = [choices.then_some(Asks::Choice), answers.then_some(Asks::Answer(8 << (number % 4)))];
        let datasets: Vec<DataSet> = datasets.into_iter().flatten().map(sized).collect();
        let job = job(number, &datasets, Some(speeds.path()))?;
        let said = run(&job, &["--estimate"]);
        assert!(said.contains("other data sets on cpu"), "{said}");
        run(&job, &[]);
        let took = busy(&job);
        let interval = estimated(&said).ok_or_else(|| io::Error::other(format!("no time in {said}")))?;
        // The text has whole seconds.
        let is_held = (interval.low..=interval.high).contains(&took) || (interval.middle - took).abs() <= 0.5;
        held += u32::from(is_held);
        table.row([
            number.to_string(),
            datasets
                .iter()
                .map(|dataset| format!("{:?} x {}", dataset.asks, dataset.samples))
                .collect::<Vec<_>>()
                .join(", "),
            format!("{:.1}", interval.low),
            format!("{:.1}", interval.middle),
            format!("{:.1}", interval.high),
            format!("{took:.2}"),
            if is_held { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    print!("\n{table}");
    Ok(f64::from(held) / f64::from(jobs))
}

fn main() -> ExitCode {
    let Some(jobs) = jobs() else {
        eprintln!("usage: bench-estimate [--jobs N]");
        return ExitCode::from(2);
    };
    let measured = repeated(jobs).and_then(|errors| Ok((errors[errors.len() / 2], unseen(2 * jobs)?)));
    match measured {
        Ok((median, held)) => {
            println!("\nof jobs that ran before: median error {median:.3}");
            println!("of jobs that never ran: {:.0} % of the intervals hold the time", 100.0 * held);
            if median <= MOST && held >= LEAST_HELD { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("bench-estimate: {error}");
            ExitCode::FAILURE
        }
    }
}
