//! `chaos`: histories of real processes with everything going wrong: two masters, three workers, three members of etcd, and
//! a mean proxy on every way between them; or two servers whose jobs a real Slurm runs.
//!
//! `--runs N` plays that many (3), `--seed S` begins with that seed (1), `--model echo`, `demo` or `endpoint` runs the
//! echo engine, the demo's model on libtorch, or a scripted endpoint that is asked with shots, and `--model served` has servers;
//! by default every fifth history has servers, of the others every third the endpoint, and the rest echo; `--faults NAME,NAME`
//! draws from these alone. A seed draws faults and their times: processes killed and stopped, ways that delay, cut, or swallow,
//! members of etcd killed, two of three at times, a node without the model, false reports, a deleted segment, a folder moved
//! away, pipes in the place of files, an `sbatch` that lies, jobs of Slurm cancelled. Once they are over the run ends on its own,
//! or the history has failed. Its judge reads ledger and store: what was committed at any moment is committed at the end, with the
//! same bytes (C1), once (C2), and within what the store recorded (C3); `results/` and `predictions/` equal an undisturbed
//! run's. Of servers it asks more: every `submit --wait` ends with 0, Slurm's queue never holds more jobs than the
//! servers may have, no job is submitted without need, and none is left. Moments depend on the machine, so a seed names a family of
//! histories. The last line is `runs: N, differences: D`.

mod cluster;
mod faults;
mod history;
mod judge;
mod liar;
mod pipes;
mod served;

use cluster::{Cluster, Model};
use compass_tests::{Etcd, EtcdOptions, Slurm, Tree, undisturbed};
use compass_types::seeded::Rng;
use faults::{Faults, Kind};
use history::History;
use judge::Judge;
use served::Servers;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: chaos [--runs N] [--seed S] [--model echo|demo|endpoint|served] [--faults NAME,NAME]";

/// Subject of a history.
#[derive(Clone, Copy, Debug)]
enum Subject {
    /// Two masters of one run.
    Run(Model),
    /// Two servers whose jobs run under a Slurm.
    Served,
}

impl Subject {
    fn named(name: &str) -> Option<Self> {
        if name == "served" { Some(Self::Served) } else { Model::named(name).map(Self::Run) }
    }

    /// Returns the subject of a seed, where the command line names none.
    fn of(seed: u64) -> Self {
        match seed {
            seed if seed.is_multiple_of(5) => Self::Served,
            seed if seed.is_multiple_of(3) => Self::Run(Model::Endpoint),
            _ => Self::Run(Model::Echo),
        }
    }
}

struct Options {
    runs: u64,
    seed: u64,
    subject: Option<Subject>,
    faults: Faults,
}

fn options() -> Option<Options> {
    let mut options = Options { runs: 3, seed: 1, subject: None, faults: Faults::all() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--runs" => options.runs = value.parse().ok()?,
            "--seed" => options.seed = value.parse().ok()?,
            "--model" => options.subject = Some(Subject::named(&value)?),
            "--faults" => options.faults = Faults::named(&value)?,
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}\nfaults: {}", Faults::names());
        return ExitCode::from(2);
    };
    match play(&options) {
        Ok(Some(differences)) => {
            println!("runs: {}, differences: {differences}", options.runs);
            ExitCode::from(u8::from(differences > 0))
        }
        // The lack of etcd was reported.
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chaos: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play(options: &Options) -> Result<Option<u64>, Box<dyn Error>> {
    let Some(mut etcd) = Etcd::start("chaos", 3, EtcdOptions::default()) else { return Ok(None) };
    let mut lab = Lab::default();
    let mut differences = 0;
    for seed in options.seed..options.seed + options.runs {
        let begun = Instant::now();
        let (told, outcome) = match options.subject.unwrap_or_else(|| Subject::of(seed)) {
            Subject::Run(model) => run(model, seed, options, &mut etcd, &mut lab)?,
            Subject::Served => match served(seed, options, &mut etcd, &mut lab)? {
                Some(played) => played,
                // The lack of Slurm was reported.
                None => continue,
            },
        };
        let told = format!("seed {seed}, {told} ({:.1} s)", begun.elapsed().as_secs_f64());
        match outcome {
            Ok(found) => println!("{told}: {found}"),
            Err(difference) => {
                differences += 1;
                println!("{told}: {difference}");
            }
        }
    }
    Ok(Some(differences))
}

/// Resources that histories share, each begun when the first of them needs it.
#[derive(Default)]
struct Lab {
    slurm: Option<Slurm>,
    /// `results/` and `predictions/` of runs that nothing disturbed.
    expected: BTreeMap<Model, (Tree, Tree)>,
    served: Option<(Tree, Tree)>,
}

/// Events of a history, and its outcome: good in words, or a difference with the ends of all logs.
type Played = (String, Result<String, String>);

fn run(model: Model, seed: u64, options: &Options, etcd: &mut Etcd, lab: &mut Lab) -> Result<Played, Box<dyn Error>> {
    let expected = match lab.expected.entry(model) {
        Entry::Occupied(entry) => entry.into_mut(),
        Entry::Vacant(entry) => entry.insert(model.undisturbed()?),
    };
    let mut judge = Judge::default();
    let mut cluster = Cluster::start(model, etcd, &format!("chaos/{seed}"))?;
    let mut history = History::new(Rng::new(seed), options.faults.of(Kind::Run));
    let ended = history.play(&mut cluster, etcd, &mut judge);
    let outcome = ended.and_then(|()| judge.outcome(etcd, &cluster, expected));
    let told = format!("{model:?}: {}", history.told());
    let found = outcome.map(|looked| format!("same bytes, nothing committed was lost ({looked} looks meanwhile)"));
    Ok((told, found.map_err(|difference| format!("{difference}\n{}", cluster.logs()))))
}

fn served(seed: u64, options: &Options, etcd: &mut Etcd, lab: &mut Lab) -> Result<Option<Played>, Box<dyn Error>> {
    if lab.slurm.is_none() {
        lab.slurm = Slurm::start("chaos with servers", 2, 1);
    }
    let Some(slurm) = &lab.slurm else { return Ok(None) };
    let expected = lab.served.get_or_insert_with(undisturbed);
    let mut servers = Servers::start(slurm, etcd, seed, &options.faults.of(Kind::Served))?;
    let outcome = servers.play(expected);
    let found = outcome.map(|()| "same bytes, nothing submitted without need or left".to_owned());
    let found = found.map_err(|difference| format!("{difference}\n{}", servers.logs()));
    Ok(Some((format!("Served: {}", servers.told()), found)))
}
