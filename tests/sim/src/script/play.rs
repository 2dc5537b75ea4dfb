//! A play: the world of a script, step by step. From the first thing that is wrong on, nothing more happens in it.

use super::moment::Moment;
use crate::job::Job;
use crate::mutant::Mutant;
use crate::run::SimulatedRun;
use crate::scenario::Scenario;
use crate::tally::Tally;
use crate::world::World;
use compass_scheduler::invariants::P1;
use std::sync::Arc;

/// Id of a broken expectation of a script, in place of a rule's.
const SCRIPT: &str = "script";
/// Longest wait for a moment, and for the end.
const MOMENT_MS: u64 = 90_000;
const END_MS: u64 = 120_000;

/// A script that plays.
#[derive(Debug)]
pub(crate) struct Play {
    pub(super) world: World,
    /// Time of the moment before.
    pub(super) since: u64,
    bounds: Vec<Moment>,
}

impl Play {
    pub(super) fn new(scenario: &Scenario, mutant: Option<Mutant>, traces: bool) -> Self {
        let numbers = 0..scenario.jobs();
        // Plain data always serialises.
        let jobs: Vec<_> = numbers.filter_map(|number| Job::new(scenario, number).map(Arc::new)).collect();
        let mut world = World::new(scenario, jobs, mutant, traces);
        world.tally = Some(Tally::default());
        Self { world, since: 0, bounds: Vec::new() }
    }

    /// Returns true if nothing is wrong so far.
    pub(super) fn goes_on(&self) -> bool {
        self.world.oracle.violations.is_empty()
    }

    /// An expectation of the script is broken.
    pub(super) fn fails(&mut self, detail: String) {
        let now = self.world.now;
        self.world.oracle.violation(SCRIPT, format!("at {now} ms: {detail}"));
    }

    fn step(&mut self, until: u64) -> bool {
        let steps = self.goes_on() && self.world.step(until);
        for at in 0..self.bounds.len() {
            if !(self.bounds[at].holds)(&mut self.world) {
                let what = format!("it does not hold any more that {}", self.bounds[at].what);
                self.fails(what);
            }
        }
        steps && self.goes_on()
    }

    /// Plays on until a moment.
    pub(crate) fn until(mut self, moment: Moment) -> Self {
        let (from, until) = (self.since + moment.after, self.world.now + MOMENT_MS);
        while self.goes_on() && !(self.world.now >= from && (moment.holds)(&mut self.world)) {
            if !self.step(until) && self.goes_on() {
                self.fails(format!("the moment does not come that {}", moment.what));
            }
        }
        self.since = self.world.now;
        self
    }

    /// From now on this holds at every moment.
    pub(crate) fn always(mut self, bound: Moment) -> Self {
        self.bounds.push(bound);
        self
    }

    /// Plays on until every job is over.
    pub(crate) fn finish(mut self) -> Self {
        let until = self.world.now + END_MS;
        while self.goes_on() && self.world.over.iter().any(Option::is_none) {
            if !self.step(until) && self.goes_on() {
                let left = self.world.over.iter().position(Option::is_none).unwrap_or_default();
                self.world.oracle.violation(P1, format!("job {left} is not over after {until} ms"));
            }
        }
        self
    }

    /// Ends the play and returns its outcome.
    pub(crate) fn end(self) -> SimulatedRun {
        let (ended, oracle) = (self.world.now, self.world.oracle);
        let trace = oracle.trace.unwrap_or_default();
        SimulatedRun { violations: oracle.violations, seen: oracle.seen, trace, ended }
    }
}
