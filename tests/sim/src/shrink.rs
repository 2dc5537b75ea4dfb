//! From a history that breaks a rule to a smaller one that does: fewer jobs, faults, masters, workers, samples.

use super::mutant::Mutant;
use super::run::run;
use super::scenario::Scenario;

/// Histories that are tried at most.
const TRIES: u32 = 400;

/// The smallest scenario found that still breaks a rule.
pub fn shrink(scenario: &Scenario, mutant: Option<Mutant>) -> Scenario {
    let mut best = scenario.clone();
    let mut tries = 0;
    loop {
        let smaller = candidates(&best).into_iter().find(|smaller| {
            tries += 1;
            tries <= TRIES && !run(smaller, mutant, false).violations.is_empty()
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

fn candidates(scenario: &Scenario) -> Vec<Scenario> {
    let mut all = Vec::new();
    let mut push = |change: &dyn Fn(&mut Scenario)| {
        let mut smaller = scenario.clone();
        change(&mut smaller);
        if smaller != *scenario {
            all.push(smaller);
        }
    };
    push(&|smaller| smaller.further.clear());
    for at in 0..scenario.further.len() {
        push(&|smaller| {
            smaller.further.remove(at);
        });
    }
    for at in 0..scenario.faults.len() {
        push(&|smaller| {
            smaller.faults.remove(at);
        });
    }
    if scenario.units.len() > 1 {
        push(&|smaller| smaller.units.truncate(1));
    }
    push(&|smaller| smaller.poison = None);
    push(&|smaller| smaller.unsteady = false);
    push(&|smaller| smaller.unable.clear());
    push(&|smaller| smaller.small.clear());
    push(&|smaller| smaller.endpoints.clear());
    push(&|smaller| (smaller.shared, smaller.at_once) = (0, 0));
    push(&|smaller| smaller.far.clear());
    push(&|smaller| (smaller.long_bytes, smaller.kinds) = (0, Vec::new()));
    push(&|smaller| smaller.load_ms = 0);
    push(&|smaller| smaller.distinct = None);
    push(&|smaller| smaller.drawn = false);
    for at in 0..scenario.units.len() {
        push(&|smaller| smaller.units[at] = (smaller.units[at] / 2).max(1));
        push(&|smaller| smaller.units[at] = smaller.units[at].saturating_sub(1).max(1));
    }
    for at in 0..scenario.further.len() {
        push(&|smaller| smaller.further[at].begins = 0);
        push(&|smaller| smaller.further[at].units.truncate(1));
        push(&|smaller| {
            let units = &mut smaller.further[at].units;
            units.iter_mut().for_each(|samples| *samples = (*samples / 2).max(1));
        });
    }
    push(&|smaller| smaller.workers.iter_mut().for_each(|slots| *slots = 1));
    all
}
