//! Decides which worker goes to which job, and which is to leave one for another.

use super::demand::{Demand, JobId, JobTerms, WorkerSpec};
use super::share::FairShare;
use crate::PoolChoice;
use compass_types::ids::WorkerId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Lead in service over a waiting job at which a job gives up its last worker, in slot-milliseconds by weight; also the
/// least time that a worker stays with a job.
const TURN_MS: u64 = 20_000;
/// Longest time that a worker may hold nothing before another job may have it.
const IDLE_MS: u64 = 1_000;
/// Time that a worker that left a job counts as one that could load none of its models: other tasks may wait by then.
const USELESS_MS: u64 = 60_000;
/// Workers that are sent away in one go: with many, each look takes its time.
const MOVES_AT_ONCE: usize = 64;

/// Move of a worker that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The idle worker goes to this job.
    Attach { worker: WorkerId, job: JobId },
    /// The worker finishes what it has begun for this job and becomes idle again.
    Release { worker: WorkerId, job: JobId },
}

#[derive(Clone, Debug)]
struct Job {
    terms: JobTerms,
    demand: Demand,
    /// Workers that could load none of the models that its tasks wait for, and when it last said so.
    useless: BTreeMap<WorkerId, u64>,
    service: u64,
    /// Number of jobs that came before it: among equals the oldest comes first.
    order: u64,
}

impl Job {
    /// Returns whether the worker could load none of the models that tasks wait for.
    fn has_no_use_for(&self, worker: &WorkerId, now: u64) -> bool {
        self.useless.get(worker).is_some_and(|seen| now < *seen + USELESS_MS)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum WorkerState {
    Idle,
    With {
        job: JobId,
        since: u64,
        idle_since: Option<u64>,
    },
    /// On its way from a job, meant for another.
    Leaving {
        job: JobId,
        next: JobId,
    },
}

#[derive(Clone, Debug)]
struct Worker {
    spec: WorkerSpec,
    place: WorkerState,
}

/// Demands of the jobs and the workers among them.
#[derive(Clone, Debug)]
pub struct Broker {
    turn_ms: u64,
    now: u64,
    jobs: BTreeMap<JobId, Job>,
    workers: BTreeMap<WorkerId, Worker>,
    /// Jobs that have come so far.
    came: u64,
}

impl Default for Broker {
    fn default() -> Self {
        Self::new(TURN_MS)
    }
}

impl Broker {
    /// A broker without jobs and workers, whose turns are so long.
    pub fn new(turn_ms: u64) -> Self {
        Self { turn_ms, now: 0, jobs: BTreeMap::new(), workers: BTreeMap::new(), came: 0 }
    }

    /// Time passes: slots cost service.
    fn advance(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.now);
        self.now = self.now.max(now);
        if elapsed == 0 {
            return;
        }
        for (id, tally) in self.tallies() {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.service += elapsed * 1000 * u64::from(tally.taken) / u64::from(job.terms.weight.max(1));
            }
        }
    }

    /// A job comes, or has other terms from now on. A new one has had as much service as the job that had the least: it cannot
    /// claim the time before it came.
    pub fn job(&mut self, now: u64, id: JobId, terms: JobTerms) {
        self.advance(now);
        let least = self.jobs.values().map(|job| job.service).min().unwrap_or_default();
        match self.jobs.get_mut(&id) {
            Some(job) => job.terms = terms,
            None => {
                self.came += 1;
                let (demand, useless) = (Demand::default(), BTreeMap::new());
                self.jobs.insert(id, Job { terms, demand, useless, service: least, order: self.came });
            }
        }
    }

    /// A job is over. Its workers become idle on their own.
    pub fn job_gone(&mut self, now: u64, id: &JobId) {
        self.advance(now);
        self.jobs.remove(id);
    }

    /// Notes that what a job could use has changed.
    pub fn demand(&mut self, now: u64, id: &JobId, demand: Demand) {
        self.advance(now);
        let Some(job) = self.jobs.get_mut(id) else { return };
        for (worker, state) in &mut self.workers {
            if let WorkerState::With { job, idle_since, .. } = &mut state.place
                && job == id
            {
                match demand.held.get(worker) {
                    Some(0) => drop(idle_since.get_or_insert(now)),
                    Some(_) => *idle_since = None,
                    // Not heard of by the job yet.
                    None => {}
                }
            }
        }
        job.useless.retain(|worker, seen| !demand.held.contains_key(worker) && now < *seen + USELESS_MS);
        job.useless.extend(demand.useless.iter().map(|worker| (worker.clone(), now)));
        let had_work = !job.demand.usable.is_empty();
        job.demand = demand;
        if !had_work {
            // Nor can a job claim the time in which it had nothing to do.
            let least = self.jobs.iter().filter(|(other, _)| *other != id).map(|(_, job)| job.service).min();
            if let (Some(job), Some(least)) = (self.jobs.get_mut(id), least) {
                job.service = job.service.max(least);
            }
        }
    }

    /// A worker waits for assignment.
    pub fn arrive(&mut self, now: u64, id: WorkerId, spec: WorkerSpec) {
        self.advance(now);
        self.workers.insert(id, Worker { spec, place: WorkerState::Idle });
    }

    /// A worker is gone.
    pub fn leave(&mut self, now: u64, id: &WorkerId) {
        self.advance(now);
        self.workers.remove(id);
    }

    /// Decides which worker goes to which job, given the present state.
    pub fn decide(&mut self, now: u64) -> Vec<Decision> {
        self.advance(now);
        if let Some(job) = self.jobs.iter().find(|(_, job)| job.terms.everyone).map(|(id, _)| id.clone()) {
            return self.all_go_to(&job);
        }
        let mut decisions = Vec::new();
        let mut tallies = self.tallies();
        for worker in self.at_the_door() {
            if let Some(job) = self.choose(&worker, &tallies) {
                self.set_place(&worker, WorkerState::With { job: job.clone(), since: now, idle_since: None });
                tallies = self.tallies();
                decisions.push(Decision::Attach { worker, job });
            }
        }
        // Each move makes shares more even, so this ends; what is beyond the bound is for the next time.
        for _ in 0..MOVES_AT_ONCE {
            let Some((worker, job, next)) = self.best_move(&tallies) else { break };
            self.set_place(&worker, WorkerState::Leaving { job: job.clone(), next });
            tallies = self.tallies();
            decisions.push(Decision::Release { worker, job });
        }
        decisions
    }

    /// Every idle worker goes to this job.
    fn all_go_to(&mut self, job: &JobId) -> Vec<Decision> {
        let (since, waiting) = (self.now, self.at_the_door());
        let attach = |worker: WorkerId| {
            self.set_place(&worker, WorkerState::With { job: job.clone(), since, idle_since: None });
            Decision::Attach { worker, job: job.clone() }
        };
        waiting.into_iter().map(attach).collect()
    }

    fn set_place(&mut self, worker: &WorkerId, place: WorkerState) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.place = place;
        }
    }

    /// Tallies what every job has, in one pass over the workers.
    fn tallies(&self) -> BTreeMap<JobId, Tally> {
        let empty = |(id, job): (&JobId, &Job)| {
            let share = FairShare { slots: 0, weight: job.terms.weight, service: job.service };
            (id.clone(), Tally { share, taken: 0, idle: 0 })
        };
        let mut tallies: BTreeMap<JobId, Tally> = self.jobs.iter().map(empty).collect();
        for (id, worker) in &self.workers {
            let slots = worker.spec.slots;
            let (at, next) = match &worker.place {
                WorkerState::Idle => continue,
                WorkerState::With { job, .. } => (job, job),
                WorkerState::Leaving { job, next } => (job, next),
            };
            if let Some(tally) = tallies.get_mut(at) {
                tally.taken = tally.taken.saturating_add(slots);
            }
            if let Some(tally) = tallies.get_mut(next) {
                tally.share.slots = tally.share.slots.saturating_add(slots);
                let holds = self.jobs.get(next).and_then(|job| job.demand.held.get(id)).copied().unwrap_or(0);
                let is_useless = self.jobs.get(next).is_some_and(|job| job.has_no_use_for(id, self.now));
                if (at != next || holds == 0) && !is_useless {
                    tally.idle = tally.idle.saturating_add(slots);
                }
            }
        }
        for (id, tally) in &mut tallies {
            if let Some(job) = self.jobs.get(id) {
                tally.share.slots = capped(tally.share.slots, &job.terms);
                tally.taken = capped(tally.taken.max(job.demand.taken), &job.terms);
            }
        }
        tallies
    }

    /// Returns the share of a job, workers on the way to it included.
    pub fn share(&self, id: &JobId) -> FairShare {
        self.shares().get(id).copied().unwrap_or_default()
    }

    /// Jobs with their shares of all that is here: for status and explanations.
    pub fn shares(&self) -> BTreeMap<JobId, FairShare> {
        self.tallies().into_iter().map(|(id, tally)| (id, tally.share)).collect()
    }

    /// Slots that launchers are to have, by the pools where they must be: what all jobs together could keep busy, each
    /// within its bound.
    pub fn open_slots(&self) -> BTreeMap<PoolChoice, u32> {
        let mut all: BTreeMap<PoolChoice, u32> = BTreeMap::new();
        for Job { terms, demand, .. } in self.jobs.values() {
            let mut left = terms.bound.unwrap_or(u32::MAX);
            let usable = demand.usable.iter().map(|(need, slots)| (&need.pools, slots));
            // Launchers of a job's own have as many slots as there are tasks at best: those that are split later are for
            // workers that are here already.
            let wanted: Vec<(&PoolChoice, &u32)> =
                if terms.everyone { demand.open.iter().collect() } else { usable.collect() };
            for (choice, slots) in wanted {
                let slots = (*slots).min(left);
                left -= slots;
                let sum = all.entry(choice.clone()).or_default();
                *sum = sum.saturating_add(slots);
            }
        }
        all.retain(|_, slots| *slots > 0);
        all
    }

    /// Idle workers, for which nothing is to be done.
    pub fn at_the_door(&self) -> Vec<WorkerId> {
        let waiting = self.workers.iter().filter(|(_, worker)| worker.place == WorkerState::Idle);
        waiting.map(|(id, _)| id.clone()).collect()
    }

    /// The job that an idle worker goes to.
    fn choose(&self, id: &WorkerId, tallies: &BTreeMap<JobId, Tally>) -> Option<JobId> {
        let worker = id;
        let spec = &self.workers.get(id)?.spec;
        if let Some(job) = spec.holds_of.as_ref().filter(|job| self.jobs.contains_key(*job)) {
            return Some(job.clone());
        }
        let mut best = None;
        for (id, job) in &self.jobs {
            let Some(tally) = tallies.get(id).filter(|tally| tally.has_room(&job.terms, spec)) else { continue };
            let waits = tally.waits(job, spec);
            // Beyond what waits, samples that others have not begun can be had, one slot each at best.
            if !waits && tally.share.slots >= spec.part_of(&job.demand.usable) {
                continue;
            }
            let warm = job.terms.models.intersection(&spec.models).next().is_some();
            let after = tally.share.with(spec.slots).ratio();
            // Of those that have nothing the one comes first that has had least, in whole turns: within one, it is better
            // that no model need be loaded.
            let has_some = tally.share.slots > 0;
            let order = if has_some { after } else { job.service / (self.turn_ms * 1000).max(1) };
            // Where it could load nothing it goes last.
            let useless = job.has_no_use_for(worker, self.now);
            let key = (useless, Reverse(waits), has_some, order, Reverse(warm), after, job.service, job.order);
            if best.as_ref().is_none_or(|(known, _)| key < *known) {
                best = Some((key, id));
            }
        }
        best.map(|(_, id)| id.clone())
    }

    /// The move that helps most: the worker, the job it leaves and the one it is meant for.
    fn best_move(&self, tallies: &BTreeMap<JobId, Tally>) -> Option<(WorkerId, JobId, JobId)> {
        let mut best = None;
        for (to, wanting) in &self.jobs {
            let Some(taker) = tallies.get(to) else { continue };
            for (id, worker) in &self.workers {
                let WorkerState::With { job: from, since, idle_since } = &worker.place else { continue };
                if from == to
                    || wanting.has_no_use_for(id, self.now)
                    || !taker.waits(wanting, &worker.spec)
                    || !taker.has_room(&wanting.terms, &worker.spec)
                {
                    continue;
                }
                let (Some(giving), Some(giver)) = (self.jobs.get(from), tallies.get(from)) else { continue };
                let finds_nothing =
                    worker.spec.part_of(&giving.demand.waiting) == 0 || giving.has_no_use_for(id, self.now);
                let idle = finds_nothing && idle_since.is_some_and(|since| self.now >= since + IDLE_MS);
                let rested = self.now >= since + self.turn_ms;
                let urgency = match idle {
                    true => Some(Urgency::Idle),
                    false => self.urgency(giver.share, taker.share, worker.spec.slots, rested),
                };
                let Some(urgency) = urgency else { continue };
                let warm = wanting.terms.models.intersection(&worker.spec.models).next().is_some();
                let held = giving.demand.held.get(id).copied().unwrap_or(0);
                let (has, over) = (taker.share.ratio(), Reverse(giver.share.ratio()));
                let key = (urgency, has, wanting.service, wanting.order, over, Reverse(warm), held, Reverse(*since));
                if best.as_ref().is_none_or(|(known, _)| key < *known) {
                    best = Some((key, (id.clone(), from.clone(), to.clone())));
                }
            }
        }
        best.map(|(_, found)| found)
    }

    /// Returns the reason why a worker with `slots` slots should leave the giver for the taker; `None` when it should not.
    /// `rested` says whether it has been with the giver for a turn.
    fn urgency(&self, giver: FairShare, taker: FairShare, slots: u32, rested: bool) -> Option<Urgency> {
        let keeps_some = giver.without(slots).slots > 0;
        if taker.slots == 0 && keeps_some {
            return Some(Urgency::Starving);
        }
        if taker.slots == 0 {
            let ahead = giver.service >= taker.service.saturating_add(self.turn_ms * 1000);
            return (ahead && rested).then_some(Urgency::Turn);
        }
        // The taker would still have less than the giver has now, and the giver does not become the next to starve.
        let more_even = giver.exceeds(taker.with(slots));
        (keeps_some && more_even).then_some(Urgency::Uneven)
    }
}

/// Slots that a job has.
#[derive(Clone, Copy, Debug)]
struct Tally {
    /// With the slots of workers on their way to it, without those that leave it.
    share: FairShare,
    /// Slots of workers that are attached, about to leave or not: what its bound is about.
    taken: u32,
    /// Slots of workers that hold nothing yet, or nothing any more, and of those on their way; without workers that can
    /// do nothing of what waits.
    idle: u32,
}

impl Tally {
    /// Returns whether the bound leaves a slot, slots on their way included.
    fn has_room(&self, terms: &JobTerms, spec: &WorkerSpec) -> bool {
        spec.slots > 0 && terms.bound.is_none_or(|bound| self.taken.max(self.share.slots) < bound)
    }

    /// Returns whether tasks wait that a worker of this kind can do, beyond the tasks that idle slots will take.
    fn waits(&self, job: &Job, spec: &WorkerSpec) -> bool {
        spec.part_of(&job.demand.waiting) > self.idle
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// No job loses anything.
    Idle,
    Starving,
    Turn,
    Uneven,
}

fn capped(slots: u32, terms: &JobTerms) -> u32 {
    terms.bound.map_or(slots, |bound| slots.min(bound))
}
