//! `chaos`: histories of real processes with everything going wrong: two masters, three workers, three members of etcd, and
//! a mean proxy on every way between them.
//!
//! `--runs N` plays that many (3), `--seed S` begins with that seed (1), `--model echo`, `demo` or `endpoint` runs the
//! echo engine, the demo's model on libtorch, or a scripted endpoint that is asked with shots; by default every third history has
//! the endpoint and the others echo; `--faults NAME,NAME` draws from these alone. A seed draws faults and their times: processes
//! killed and stopped, ways that delay, cut, or swallow, members of etcd killed, two of three at times, a node without the
//! model, false reports, a deleted segment, a folder moved away. Once they are over the run ends on its own, or the history has
//! failed. Its judge reads ledger and store: what was committed at any moment is committed at the end, with the same bytes
//! (C1), once (C2), and within what the store recorded (C3); `results/` and `predictions/` are those of a run that nothing
//! disturbed. Moments depend on the machine, so a seed names a family of histories. The last line is
//! `runs: N, differences: D`.

mod cluster;
mod faults;
mod history;
mod judge;
mod liar;

use cluster::{Cluster, Model};
use compass_tests::{Etcd, EtcdOptions};
use compass_types::seeded::Rng;
use faults::Faults;
use history::History;
use judge::Judge;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

const USAGE: &str = "usage: chaos [--runs N] [--seed S] [--model echo|demo|endpoint] [--faults NAME,NAME]";

fn options() -> Option<(u64, u64, Option<Model>, Faults)> {
    let (mut runs, mut seed, mut model, mut faults) = (3, 1, None, Faults::all());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next()?;
        match word.as_str() {
            "--runs" => runs = value.parse().ok()?,
            "--seed" => seed = value.parse().ok()?,
            "--model" => model = Some(Model::named(&value)?),
            "--faults" => faults = Faults::named(&value)?,
            _ => return None,
        }
    }
    Some((runs, seed, model, faults))
}

fn main() -> ExitCode {
    let Some((runs, seed, model, faults)) = options() else {
        eprintln!("{USAGE}\nfaults: {}", Faults::names());
        return ExitCode::from(2);
    };
    match play(runs, seed, model, &faults) {
        Ok(Some(differences)) => {
            println!("runs: {runs}, differences: {differences}");
            ExitCode::from(u8::from(differences > 0))
        }
        // It was said that etcd is missing.
        Ok(None) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("chaos: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Model of the history of a seed, where the command line names none.
fn model_of(seed: u64) -> Model {
    if seed.is_multiple_of(3) { Model::Endpoint } else { Model::Echo }
}

fn play(runs: u64, first: u64, model: Option<Model>, faults: &Faults) -> Result<Option<u64>, Box<dyn Error>> {
    let Some(mut etcd) = Etcd::start("chaos", 3, EtcdOptions::default()) else { return Ok(None) };
    let mut expected = BTreeMap::new();
    let mut differences = 0;
    for seed in first..first + runs {
        let model = model.unwrap_or_else(|| model_of(seed));
        let expected = match expected.entry(model) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(model.undisturbed()?),
        };
        let begun = Instant::now();
        let mut judge = Judge::default();
        let mut cluster = Cluster::start(model, &etcd, &format!("chaos/{seed}"))?;
        let mut history = History::new(Rng::new(seed), faults.clone());
        let ended = history.play(&mut cluster, &mut etcd, &mut judge);
        let outcome = ended.and_then(|()| judge.outcome(&etcd, &cluster, expected));
        let told = format!("seed {seed}, {model:?}: {} ({:.1} s)", history.told(), begun.elapsed().as_secs_f64());
        match outcome {
            Ok(looked) => println!("{told}: same bytes, nothing committed was lost ({looked} looks meanwhile)"),
            Err(difference) => {
                differences += 1;
                println!("{told}: {difference}\n{}", cluster.logs());
            }
        }
    }
    Ok(Some(differences))
}
