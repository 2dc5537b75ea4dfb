//! `scale`: jobs of real size from configuration to table, with real processes, held against stated bounds.
//!
//! - `units`: a million samples in 40 units on the echo engine, every evaluator that keeps an item per sample among them, under
//!   each partitioner with 1, 8 and 64 agents (processes of one slot). Counts, scores that follow from the rows, the same bytes
//!   in `results/` of all runs, every prompt run once by the engines' own trace, the master's memory, and how long a finished run
//!   takes to open with `-r`.
//! - `models`: 60 models on 20 data sets.
//! - `generations`: 20,000 with the demo's model, twice, since the echo engine hides what only a model's answers show.
//! - `grants`: waits for grants of 64 sessions that take a second for a task, at a master with the million samples.
//! - `pages`: the same with and without ten open pages of the job, in alternating pairs.
//!
//! A table, then a line for each bound with the worst case; exit code 1 where one is broken. The machine also runs the agents,
//! which the times include.

mod bounds;
mod generations;
mod grants;
mod options;
mod pages;
mod run;

use bounds::{Bounds, COMPUTED_PER_DISTINCT, GRANT_P99_MS, GRANT_P99_WITH_PAGES, MASTER_MIB, OPEN_S};
use compass_tests::{Job, RealSize, RunFindings, Table, folder_digest, join_token_file, peak_rss_mib, told_address};
use compass_types::ids::Digest;
use grants::Waits;
use options::{Options, Part, USAGE};
use pages::Pages;
use run::{Opened, Watched, open_again, run, start};
use std::process::ExitCode;
use std::time::Instant;

/// Data sets of the part `models`, and rows of each.
const MODELS_DATA_SETS: usize = 20;
const MODELS_ROWS: u32 = 50;
/// Sessions that wait for grants, and samples of their tasks.
const SESSIONS: usize = 64;
const TASK_SAMPLES: u32 = 250;
/// Pages that are open at once, and pairs of runs with and without them.
const PAGES: usize = 10;
const PAIRS: usize = 5;
/// The same for the part `pages`: more grants, so that one of a hundred is no single one.
const PAGES_TASK_SAMPLES: u32 = 60;
/// Samples that a continued sample counts as, under the partitioner `size`.
const GENERATION_COST: u32 = 20;

const HEADING: [&str; 14] = [
    "case",
    "agents",
    "samples",
    "plan s",
    "wall s",
    "samples/s",
    "master MiB",
    "agent MiB",
    "computed/distinct",
    "run again",
    "violations",
    "-r opens s",
    "-r whole s",
    "counts",
];

struct Scale {
    options: Options,
    table: Table,
    bounds: Bounds,
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    let mut scale = Scale { options, table: Table::new(&HEADING), bounds: Bounds::default() };
    for part in scale.options.parts.clone() {
        match part {
            Part::Units => scale.units(),
            Part::Models => scale.models(),
            Part::Generations => scale.generations(),
            Part::Grants => scale.grants(),
            Part::Pages => scale.pages(),
        }
    }
    println!("\n{}", scale.table);
    let holds = scale.bounds.outcome();
    println!("{:.0} s in all", begun.elapsed().as_secs_f64());
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The tables of `[infer]`; workers are started by the benchmark.
fn infer(partitioner: &str, agents: usize) -> String {
    let workers = if partitioner == "num_worker" { format!("num_worker = {agents}\n") } else { String::new() };
    format!("[infer.runner]\ntype = \"none\"\n[infer.partitioner]\ntype = \"{partitioner}\"\n{workers}")
}

const LISTEN: &str = "listen = \"127.0.0.1:0\"";

impl Scale {
    fn units(&mut self) {
        let size = RealSize { models: 1, data_sets: 40, rows: self.options.samples / 40 };
        let mut first = None;
        for partitioner in self.options.partitioners.clone() {
            for (at, agents) in self.options.agents.clone().into_iter().enumerate() {
                self.echo(&format!("units {partitioner}"), size, partitioner, agents, at == 0, &mut first);
            }
        }
    }

    fn models(&mut self) {
        let size = RealSize { models: self.options.models, data_sets: MODELS_DATA_SETS, rows: MODELS_ROWS };
        let mut first = None;
        for (partitioner, agents) in [("balanced", 8), ("naive", 2)] {
            self.echo(&format!("models {partitioner}"), size, partitioner, agents, false, &mut first);
        }
    }

    /// One run on the echo engine; `first` is the digest of the results of those before it.
    fn echo(
        &mut self,
        case: &str,
        size: RealSize,
        partitioner: &str,
        agents: usize,
        again: bool,
        first: &mut Option<Digest>,
    ) {
        let case = format!("{case}, {agents} agents");
        eprintln!("{case}: {} samples in {} units", size.samples(), size.units());
        let job = size.job(LISTEN, &infer(partitioner, agents));
        let trace = job.path("trace");
        let watched = match run(&job, agents, Some(&trace)) {
            Ok(watched) => watched,
            Err(error) => return self.bounds.fault(&case, &error),
        };
        let outcome = RunFindings::read(&size, &job, Some(&trace));
        outcome.faults.iter().take(5).for_each(|fault| self.bounds.fault(&case, fault));
        let results = outcome.results;
        if *first.get_or_insert(results.unwrap_or(Digest([0; 32]))) != results.unwrap_or(Digest([0; 32])) {
            self.bounds.fault(&case, "results/ differ from those of the first run");
        }
        let opened = if again { self.open(&case, &job, results) } else { None };
        self.record(&case, agents, size.samples(), watched, &outcome, opened);
    }

    /// Opens a finished run once more; its results must stay as they are.
    fn open(&mut self, case: &str, job: &Job, results: Option<Digest>) -> Option<Opened> {
        match open_again(job) {
            Ok(opened) => {
                if results != Some(folder_digest(&job.latest().join("results"))) {
                    self.bounds.fault(case, "results/ differ once the run is opened again");
                }
                self.bounds.measure("seconds until -r opens a finished run", OPEN_S, opened.open_s, case);
                self.bounds.measure("MiB of a master", MASTER_MIB, opened.master_mib, &format!("{case}, -r"));
                Some(opened)
            }
            Err(error) => {
                self.bounds.fault(case, &error);
                None
            }
        }
    }

    fn record(
        &mut self,
        case: &str,
        agents: usize,
        samples: u64,
        run: Watched,
        outcome: &RunFindings,
        opened: Option<Opened>,
    ) {
        let (name, _) = case.split_once(',').unwrap_or((case, ""));
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
        self.bounds.measure("MiB of a master", MASTER_MIB, run.master_mib, case);
        let ratio = outcome.computed_per_distinct;
        self.bounds.measure("computed tokens per distinct one", COMPUTED_PER_DISTINCT, ratio, case);
        let row = [
            name.to_owned(),
            agents.to_string(),
            samples.to_string(),
            format!("{:.1}", run.plan_s),
            format!("{:.1}", run.wall_s),
            format!("{:.0}", samples as f64 / run.wall_s),
            format!("{:.0}", run.master_mib),
            format!("{:.0}", run.agent_mib),
            format!("{ratio:.3}"),
            or_dash(outcome.run.map(|_| outcome.run_again.to_string())),
            outcome.violations.to_string(),
            or_dash(opened.map(|opened| format!("{:.1}", opened.open_s))),
            or_dash(opened.map(|opened| format!("{:.1}", opened.wall_s))),
            if outcome.faults.is_empty() { "right".into() } else { "WRONG".into() },
        ];
        eprintln!("  {}", row.join("  "));
        self.table.row(row);
    }

    fn generations(&mut self) {
        let count = self.options.generations;
        let mut first = None;
        for (partitioner, agents) in [("balanced", 2), ("size", 1)] {
            let case = format!("generations {partitioner}, {agents} agents");
            eprintln!("{case}: {count} by the demo's model");
            let job = generations::job(count, partitioner);
            let watched = match run(&job, agents, None) {
                Ok(watched) => watched,
                Err(error) => {
                    self.bounds.fault(&case, &error);
                    continue;
                }
            };
            let outcome = generations::outcome(&job, count);
            outcome.faults.iter().for_each(|fault| self.bounds.fault(&case, fault));
            let written = (outcome.results, folder_digest(&job.latest().join("predictions")));
            if *first.get_or_insert(written) != written {
                self.bounds.fault(&case, "results/ or predictions/ differ from those of the first run");
            }
            self.record(&case, agents, count.into(), watched, &outcome, None);
        }
    }

    fn grants(&mut self) {
        let case = format!("grants size, {SESSIONS} sessions");
        match self.waits(&case, TASK_SAMPLES, 0) {
            Ok((p99, master_mib)) => {
                self.bounds.measure("ms for a grant (p99)", GRANT_P99_MS, p99, &case);
                self.bounds.measure("MiB of a master", MASTER_MIB, master_mib, &case);
            }
            Err(error) => self.bounds.fault(&case, &error),
        }
    }

    fn pages(&mut self) {
        let case = format!("pages, {PAGES} open");
        let mut ratios = Vec::with_capacity(PAIRS);
        for pair in 0..PAIRS {
            // Which comes first alternates, so that a machine that slows down favours neither.
            let order = if pair % 2 == 0 { [0, PAGES] } else { [PAGES, 0] };
            let mut p99 = [f64::NAN; 2];
            for pages in order {
                match self.waits(&format!("{case}, pair {pair}, {pages} pages"), PAGES_TASK_SAMPLES, pages) {
                    Ok((wait, _)) => p99[usize::from(pages > 0)] = wait,
                    Err(error) => return self.bounds.fault(&case, &error),
                }
            }
            ratios.push(p99[1] / p99[0]);
        }
        ratios.sort_by(f64::total_cmp);
        println!("{case}: p99 with them over p99 without: {ratios:.3?}");
        self.bounds.measure(
            "p99 of a grant with open pages over without (median)",
            GRANT_P99_WITH_PAGES,
            ratios[PAIRS / 2],
            &case,
        );
    }

    /// Runs the sessions on tasks of `task_samples` samples at a master of which `pages` pages are open; returns the wait of 99 in
    /// 100, in milliseconds, and the master's memory in MiB.
    fn waits(&self, case: &str, task_samples: u32, pages: usize) -> Result<(f64, f64), String> {
        let size = RealSize { models: 1, data_sets: 40, rows: self.options.samples / 40 };
        eprintln!("{case}: {} samples, a second for a task", size.samples());
        let cost = task_samples * GENERATION_COST;
        let partitioner = format!("{}max_task_size = {cost}\ngen_task_coef = {GENERATION_COST}\n", infer("size", 0));
        let shown = format!("{LISTEN}\nhttp = \"127.0.0.1:0\"");
        let job = size.job(if pages > 0 { &shown } else { LISTEN }, &partitioner);
        let begun = Instant::now();
        let master = start(&job, &[], "master.log");
        let address = told_address(&job, "master.log");
        let plan_s = begun.elapsed().as_secs_f64();
        let open = if pages > 0 { Some(Pages::open(&job, "master.log", pages)) } else { None };
        let open = open.transpose().map_err(|error| error.to_string())?;
        let place = grants::SessionTarget { address, token: join_token_file(&job), size };
        let waits = grants::waits(place, SESSIONS).map_err(|error| error.to_string())?;
        let [grants, timers] = [&waits.grants, &waits.timers];
        let p99 = Waits::at(grants, 0.99);
        let (wall_s, master_mib) = (begun.elapsed().as_secs_f64(), peak_rss_mib(master.pid()).unwrap_or(f64::NAN));
        let events = match open {
            Some(open) => {
                // Pages are closed with the master.
                format!(", {} events on {pages} pages", open.closed())
            }
            None => String::new(),
        };
        println!(
            "{case}: {} grants in {wall_s:.0} s (plan {plan_s:.0} s), p50 {:.2} ms, p99 {p99:.2} ms, most {:.2} ms; timers of this \
             process late by {:.2} ms (p99); master {master_mib:.0} MiB{events}",
            grants.len(),
            Waits::at(grants, 0.5),
            Waits::at(grants, 1.0),
            Waits::at(timers, 0.99),
        );
        Ok((p99, master_mib))
    }
}
