//! `sim`: plays histories of the control plane, seed by seed, and looks for one that breaks a rule.
//!
//! `--seeds N` plays that many (2000), `--from S` begins with another seed than 0, `--seed S` plays one and prints its
//! whole history (with `--mutant NAME` under a fault of the protocol, with `--script NAME` of a script), `--mutants` shows after
//! how many seeds each fault of the protocol is found, and in how many of them; with `--mutant NAME` that one. A
//! history that breaks a rule is shrunk and printed. The last line is `seeds: N, violations: V`.

use compass_sim::{Moved, Mutant, SCRIPTS, Scenario, run, shrink};
use std::collections::BTreeMap;
use std::process::ExitCode;

const USAGE: &str = "usage: sim [--seeds N] [--from S] [--seed S] [--mutants] [--mutant NAME] [--script NAME]";
/// Lines of a broken history that are printed.
const TAIL: usize = 60;

#[derive(Debug, Default)]
struct Options {
    seeds: Option<u64>,
    from: u64,
    one: Option<u64>,
    mutants: bool,
    mutant: Option<Mutant>,
    script: Option<&'static Moved>,
}

fn options() -> Option<Options> {
    let mut options = Options::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse().ok();
        match word.as_str() {
            "--seeds" => options.seeds = Some(number()?),
            "--from" => options.from = number()?,
            "--seed" => options.one = Some(number()?),
            "--mutant" => options.mutant = Some(Mutant::named(&words.next()?)?),
            "--script" => {
                let name = words.next()?;
                options.script = Some(SCRIPTS.into_iter().flatten().find(|script| script.name == name)?);
            }
            "--mutants" => options.mutants = true,
            _ => return None,
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    if let Some(seed) = options.one {
        let outcome = match options.script {
            Some(script) => script.run(seed, options.mutant, true),
            None => {
                println!("{:#?}", Scenario::draw(seed));
                run(&Scenario::draw(seed), options.mutant, true)
            }
        };
        outcome.trace.iter().for_each(|line| println!("{line}"));
        println!(
            "ended at {} ms: {:?}\nseeds: 1, violations: {}",
            outcome.ended,
            outcome.violations,
            outcome.violations.len()
        );
        return if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let seeds = options.from..options.from + options.seeds.unwrap_or(2000);
    if options.mutants {
        for mutant in Mutant::ALL.into_iter().filter(|mutant| options.mutant.is_none_or(|only| only == *mutant)) {
            let breaks = |seed: &u64| !run(&Scenario::draw(*seed), Some(mutant), false).violations.is_empty();
            let found: Vec<u64> = seeds.clone().filter(breaks).collect();
            match found.first() {
                Some(first) => {
                    let (after, all) = (first - seeds.start + 1, seeds.end - seeds.start);
                    println!("{mutant:?}: found after {after} seeds, in {} of {all} histories", found.len());
                }
                None => println!("{mutant:?}: not found"),
            }
        }
    }
    let (mut violations, mut seen) = (0u64, BTreeMap::<&str, u64>::new());
    for seed in seeds.clone() {
        let scenario = Scenario::draw(seed);
        let outcome = run(&scenario, None, false);
        for what in outcome.seen.keys() {
            *seen.entry(what).or_default() += 1;
        }
        if !outcome.violations.is_empty() {
            violations += 1;
            report(seed, &scenario);
        }
    }
    println!("in how many histories:");
    seen.iter().for_each(|(what, count)| println!("{count:>8}  {what}"));
    println!("seeds: {}, violations: {violations}", seeds.end - seeds.start);
    if violations == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The smallest history that was found of those that break a rule as this one does.
fn report(seed: u64, scenario: &Scenario) {
    let small = shrink(scenario, None);
    let outcome = run(&small, None, true);
    println!("seed {seed} breaks a rule; smaller:\n{small:#?}");
    let from = outcome.trace.len().saturating_sub(TAIL);
    outcome.trace.iter().skip(from).for_each(|line| println!("{line}"));
    for violation in outcome.violations {
        println!("{}: {}", violation.id, violation.detail);
    }
}
