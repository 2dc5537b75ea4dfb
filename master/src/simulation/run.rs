//! One history from beginning to end, and what is asked of the end.

use super::mutant::Mutant;
use super::plan;
use super::scenario::{FAULTS_UNTIL, Fault, FaultKind, Scenario};
use super::world::World;
use crate::core::invariants::{C4, P1, Violation};
use prost::Message as _;
use std::collections::BTreeMap;

/// What came of a history.
#[derive(Debug)]
pub struct Outcome {
    /// The first rules that were broken; empty when all is well.
    pub violations: Vec<Violation>,
    /// How often each thing worth seeing happened.
    pub seen: BTreeMap<&'static str, u64>,
    /// The history in words, if it was asked for.
    pub trace: Vec<String>,
    /// When it ended, in simulated milliseconds.
    pub ended: u64,
}

/// When a job with fair workers must be over: the last fault's end, leases and windows, and the work itself, slowly.
fn patience(scenario: &Scenario) -> u64 {
    let longest = scenario.faults.iter().map(|fault| match fault.kind {
        FaultKind::WorkerCrash { back_after: ms, .. }
        | FaultKind::MasterCrash { back_after: ms, .. }
        | FaultKind::Release { away: ms, .. }
        | FaultKind::WorkerPause { ms, .. }
        | FaultKind::MasterPause { ms, .. }
        | FaultKind::Partition { ms, .. }
        | FaultKind::Isolation { ms, .. }
        | FaultKind::Lag { ms, .. }
        | FaultKind::Stutter { ms, .. }
        | FaultKind::StoreDown { ms }
        | FaultKind::StoreDeaf { ms } => ms,
        FaultKind::WorkerSlow { times, ms, .. } => ms + times * 5 * scenario.sample_ms,
        _ => 0,
    });
    let work = scenario.units.iter().map(|&samples| u64::from(samples)).sum::<u64>() * scenario.sample_ms * 2;
    FAULTS_UNTIL + longest.max().unwrap_or(0) * 2 + work + 60_000
}

/// Plays a scenario; with `mutant`, under a protocol that leaves a rule out.
pub fn run(scenario: &Scenario, mutant: Option<Mutant>, trace: bool) -> Outcome {
    let mut world = World::new(scenario, mutant, trace);
    let until = patience(scenario);
    while world.oracle.violations.is_empty() && world.over.is_none() && world.step(until) {}
    if world.oracle.violations.is_empty() {
        judge_the_end(&mut world, until);
    }
    let ended = world.now;
    let oracle = world.oracle;
    Outcome { violations: oracle.violations, seen: oracle.seen, trace: oracle.trace.unwrap_or_default(), ended }
}

fn judge_the_end(world: &mut World, until: u64) {
    let Some(given_up) = world.over.take() else {
        let epoch = world.latest_epoch();
        world.oracle.violation(P1, format!("not over after {until} ms, in epoch {epoch}"));
        return;
    };
    let entries = world.store.entries.clone();
    let found = world.read_ledger(&entries);
    world.oracle.loaded(&found);
    let scenario = world.scenario.clone();
    let garbles = |fault: &Fault| matches!(fault.kind, FaultKind::Garbles { .. });
    let may_give_up = world.cancelled || scenario.poison.is_some() || scenario.faults.iter().any(garbles);
    for (unit, &samples) in scenario.units.iter().enumerate() {
        for index in 0..samples {
            let key = (unit as u32, index);
            match found.get(&key) {
                Some(result) if !scenario.unsteady => {
                    if *result != plan::result(&scenario, key, 0).encode_to_vec() {
                        world.oracle.violation(C4, format!("sample {key:?} has another's result"));
                    }
                }
                Some(_) => {}
                None if given_up.contains(&key) && may_give_up => {}
                None => world.oracle.violation(C4, format!("sample {key:?} is missing from the report")),
            }
        }
    }
}
