//! One history from beginning to end, and what is asked of the end.

use super::fault::{FAULTS_UNTIL, Fault, FaultKind};
use super::job::{Job, has_failed};
use super::mutant::Mutant;
use super::scenario::Scenario;
use super::world::World;
use compass_scheduler::invariants::{C4, P1, Violation};
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Outcome of a history.
#[derive(Debug)]
pub struct SimulatedRun {
    /// The first rules that were broken; empty when all is well.
    pub violations: Vec<Violation>,
    /// Number of times that each thing worth seeing happened.
    pub seen: BTreeMap<&'static str, u64>,
    /// The history in words, if it was asked for.
    pub trace: Vec<String>,
    /// Its end, in simulated milliseconds.
    pub ended: u64,
}

/// Returns the time by which a job with fair workers must be over: the last fault's end, leases and windows, and the work itself, slowly.
fn deadline(scenario: &Scenario) -> u64 {
    let longest = scenario.faults.iter().map(|fault| match fault.kind {
        FaultKind::WorkerCrash { back_after: ms, .. }
        | FaultKind::MasterCrash { back_after: ms, .. }
        | FaultKind::WorkerPause { ms, .. }
        | FaultKind::MasterPause { ms, .. }
        | FaultKind::Partition { ms, .. }
        | FaultKind::Isolation { ms, .. }
        | FaultKind::Lag { ms, .. }
        | FaultKind::Stutter { ms, .. }
        | FaultKind::StoreDown { ms }
        | FaultKind::Choke { ms, .. }
        | FaultKind::StoreDeaf { ms } => ms,
        FaultKind::WorkerSlow { times, ms, .. } => ms + times * 5 * scenario.sample_ms,
        _ => 0,
    });
    let units = scenario.units.iter().chain(scenario.further.iter().flat_map(|job| &job.units));
    let work = units.map(|&samples| u64::from(samples)).sum::<u64>() * scenario.sample_ms * 2;
    // Jobs that wait for their turn, or for what another has begun.
    let turns = 60_000 * scenario.further.len() as u64;
    FAULTS_UNTIL + longest.max().unwrap_or(0) * 2 + work + turns + 180_000
}

/// Plays a scenario; with `mutant`, under a protocol that leaves a rule out.
pub fn run(scenario: &Scenario, mutant: Option<Mutant>, trace: bool) -> SimulatedRun {
    let jobs: Option<Vec<_>> = (0..scenario.jobs()).map(|number| Job::new(scenario, number).map(Arc::new)).collect();
    let Some(jobs) = jobs else {
        let violation = Violation { id: P1, detail: "the job cannot be written".into() };
        return SimulatedRun { violations: vec![violation], seen: BTreeMap::new(), trace: Vec::new(), ended: 0 };
    };
    let mut world = World::new(scenario, jobs, mutant, trace);
    let until = deadline(scenario);
    while world.oracle.violations.is_empty() && world.over.iter().any(Option::is_none) && world.step(until) {}
    if world.oracle.violations.is_empty() {
        (0..scenario.jobs()).for_each(|job| judge_the_end(&mut world, job, until));
    }
    let ended = world.now;
    let oracle = world.oracle;
    SimulatedRun { violations: oracle.violations, seen: oracle.seen, trace: oracle.trace.unwrap_or_default(), ended }
}

fn judge_the_end(world: &mut World, number: usize, until: u64) {
    let Some(given_up) = world.over[number].take() else {
        let epoch = world.latest_epoch(number);
        world.oracle.violation(P1, format!("job {number} is not over after {until} ms, in epoch {epoch}"));
        return;
    };
    let entries = world.recorded();
    let found = world.read_ledger(number, &entries);
    world.oracle.loaded(number, &found);
    let job = world.jobs[number].clone();
    let scenario = &job.shape;
    let garbles = |fault: &Fault| matches!(fault.kind, FaultKind::Garbles { .. });
    let may_give_up = |unit: u32| {
        world.cancelled[number] || scenario.no_worker_can_load(job.model(unit)) || scenario.faults.iter().any(garbles)
    };
    let mut broken = Vec::new();
    for key in job.samples() {
        let fitting = job.result(key, 0).encode_to_vec();
        let is_large = (0..scenario.workers.len()).any(|worker| scenario.has_no_room(worker, job.asked(key)));
        if is_large && found.contains_key(&key) {
            world.oracle.saw("a sample that had no room got a result");
        }
        match found.get(&key) {
            Some(result) if *result == fitting || scenario.unsteady => {}
            Some(result) if world.oracle.may_fail(number, key) && has_failed(result) => {}
            Some(_) => broken.push(format!("sample {key:?} of job {number} has another's result")),
            None if given_up.contains(&key) && (may_give_up(key.0) || scenario.may_lack_room(job.asked(key))) => {}
            None => broken.push(format!("sample {key:?} of job {number} is missing from the report")),
        }
    }
    if given_up.iter().any(|(unit, _)| scenario.no_worker_can_load(job.model(*unit))) {
        world.oracle.saw("a model that no worker can load was given up");
    }
    broken.into_iter().for_each(|detail| world.oracle.violation(C4, detail));
}
