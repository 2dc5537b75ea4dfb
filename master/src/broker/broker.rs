//! See the module.

use super::demand::{Demand, JobId, Offer, Terms};
use super::share::Share;
use compass_common::ids::WorkerId;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How much more service than a job that waits another must have had until it gives up its last worker, in
/// slot-milliseconds by weight; and how long a worker stays with a job at least.
const TURN_MS: u64 = 20_000;
/// How long a worker may hold nothing before somebody else may have it.
const IDLE_MS: u64 = 1_000;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The worker at the door goes to this job.
    Attach { worker: WorkerId, job: JobId },
    /// The worker finishes what it has begun for this job and comes to the door again.
    Release { worker: WorkerId, job: JobId },
}

#[derive(Clone, Debug)]
struct Job {
    terms: Terms,
    demand: Demand,
    service: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Door,
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
    offer: Offer,
    place: Place,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Broker {
    turn_ms: u64,
    now: u64,
    jobs: BTreeMap<JobId, Job>,
    workers: BTreeMap<WorkerId, Worker>,
}

impl Default for Broker {
    fn default() -> Self {
        Self::new(TURN_MS)
    }
}

impl Broker {
    /// A broker without jobs and workers, whose turns are so long.
    pub fn new(turn_ms: u64) -> Self {
        Self { turn_ms, now: 0, jobs: BTreeMap::new(), workers: BTreeMap::new() }
    }

    /// Time passes: slots cost service.
    fn advance(&mut self, now: u64) {
        let elapsed = now.saturating_sub(self.now);
        self.now = self.now.max(now);
        let shares: Vec<(JobId, u32)> = self.jobs.keys().map(|id| (id.clone(), self.taken(id))).collect();
        for (id, slots) in shares {
            if let Some(job) = self.jobs.get_mut(&id) {
                job.service += elapsed * u64::from(slots) / u64::from(job.terms.weight.max(1));
            }
        }
    }

    /// A job comes, or has other terms from now on. A new one has had as much service as whoever had the least: it cannot
    /// claim the time before it came.
    pub fn job(&mut self, now: u64, id: JobId, terms: Terms) {
        self.advance(now);
        let least = self.jobs.values().map(|job| job.service).min().unwrap_or_default();
        match self.jobs.get_mut(&id) {
            Some(job) => job.terms = terms,
            None => drop(self.jobs.insert(id, Job { terms, demand: Demand::default(), service: least })),
        }
    }

    /// A job is over. Its workers come to the door by themselves.
    pub fn job_gone(&mut self, now: u64, id: &JobId) {
        self.advance(now);
        self.jobs.remove(id);
    }

    /// What a job could use has changed.
    pub fn demand(&mut self, now: u64, id: &JobId, demand: Demand) {
        self.advance(now);
        let Some(job) = self.jobs.get_mut(id) else { return };
        for (worker, state) in &mut self.workers {
            if let Place::With { job, idle_since, .. } = &mut state.place
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

    /// A worker is at the door.
    pub fn arrive(&mut self, now: u64, id: WorkerId, offer: Offer) {
        self.advance(now);
        self.workers.insert(id, Worker { offer, place: Place::Door });
    }

    /// A worker is gone.
    pub fn leave(&mut self, now: u64, id: &WorkerId) {
        self.advance(now);
        self.workers.remove(id);
    }

    /// Who goes where, as things stand.
    pub fn decide(&mut self, now: u64) -> Vec<Decision> {
        self.advance(now);
        let mut decisions = Vec::new();
        let door = self.workers.iter().filter(|(_, worker)| worker.place == Place::Door);
        for worker in door.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            if let Some(job) = self.choose(&worker) {
                self.set_place(&worker, Place::With { job: job.clone(), since: now, idle_since: None });
                decisions.push(Decision::Attach { worker, job });
            }
        }
        // Each move makes shares more even, so this ends; the bound is for a fault in that reasoning.
        for _ in 0..self.workers.len() {
            let Some((worker, job, next)) = self.best_move() else { break };
            self.set_place(&worker, Place::Leaving { job: job.clone(), next });
            decisions.push(Decision::Release { worker, job });
        }
        decisions
    }

    fn set_place(&mut self, worker: &WorkerId, place: Place) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.place = place;
        }
    }

    /// What a job has, and who is on the way to it.
    pub fn share(&self, id: &JobId) -> Share {
        let Some(job) = self.jobs.get(id) else { return Share::default() };
        let of = |worker: &Worker| match &worker.place {
            Place::With { job, .. } | Place::Leaving { next: job, .. } if job == id => worker.offer.slots,
            _ => 0,
        };
        let slots = self.workers.values().map(of).sum();
        Share { slots: capped(slots, &job.terms), weight: job.terms.weight, service: job.service }
    }

    /// The slots whose workers are attached to a job, whether or not they are about to leave: what its bound is about.
    fn taken(&self, id: &JobId) -> u32 {
        let Some(job) = self.jobs.get(id) else { return 0 };
        let of = |worker: &Worker| match &worker.place {
            Place::With { job, .. } | Place::Leaving { job, .. } if job == id => worker.offer.slots,
            _ => 0,
        };
        let slots: u32 = self.workers.values().map(of).sum();
        capped(slots.max(job.demand.taken), &job.terms)
    }

    /// Jobs with their shares of all that is here: for status and explanations.
    pub fn shares(&self) -> BTreeMap<JobId, Share> {
        self.jobs.keys().map(|id| (id.clone(), self.share(id))).collect()
    }

    /// Slots that all jobs together could keep busy, each within its bound.
    pub fn open_slots(&self) -> u32 {
        let of =
            |job: &Job| capped(job.demand.usable.values().fold(0, |sum, slots| sum.saturating_add(*slots)), &job.terms);
        self.jobs.values().map(of).fold(0, u32::saturating_add)
    }

    /// Workers at the door, for whom nothing is to be done.
    pub fn at_the_door(&self) -> usize {
        self.workers.values().filter(|worker| worker.place == Place::Door).count()
    }

    /// The job that a worker at the door goes to.
    fn choose(&self, id: &WorkerId) -> Option<JobId> {
        let offer = &self.workers.get(id)?.offer;
        if let Some(job) = offer.holds_of.as_ref().filter(|job| self.jobs.contains_key(*job)) {
            return Some(job.clone());
        }
        let able = self.jobs.iter().filter(|(job, state)| self.has_room(job, offer) && state.could_use(offer) > 0);
        let wanting = able.filter(|(job, state)| {
            // Beyond what waits, samples that others have not begun can be had, one slot each at best.
            offer.part_of(&state.demand.waiting) > self.idle_slots(job)
                || self.share(job).slots < state.could_use(offer)
        });
        let key = |(job, state): &(&JobId, &Job)| {
            let share = self.share(job);
            let waits = offer.part_of(&state.demand.waiting) > self.idle_slots(job);
            let warm = state.terms.models.intersection(&offer.models).next().is_some();
            (Reverse(waits), share.slots > 0, share.with(offer.slots).ratio(), Reverse(warm), state.service)
        };
        wanting.min_by_key(key).map(|(job, _)| job.clone())
    }

    /// Whether the bound of a job leaves a slot, those included that are on their way.
    fn has_room(&self, id: &JobId, offer: &Offer) -> bool {
        let bound = self.jobs.get(id).and_then(|job| job.terms.bound);
        offer.slots > 0 && bound.is_none_or(|bound| self.taken(id).max(self.share(id).slots) < bound)
    }

    /// Slots of a job's workers that hold nothing yet, or nothing any more, and of those on their way to it.
    fn idle_slots(&self, id: &JobId) -> u32 {
        let Some(job) = self.jobs.get(id) else { return 0 };
        let idle = self.workers.iter().filter(|(worker, state)| match &state.place {
            Place::With { job: at, .. } => at == id && job.demand.held.get(*worker).copied().unwrap_or(0) == 0,
            Place::Leaving { next, .. } => next == id,
            Place::Door => false,
        });
        idle.map(|(_, state)| state.offer.slots).sum()
    }

    /// The move that helps most: the worker, the job it leaves and the one it is meant for.
    fn best_move(&self) -> Option<(WorkerId, JobId, JobId)> {
        let mut best = None;
        for (to, wanting) in &self.jobs {
            for (id, worker) in &self.workers {
                let Place::With { job: from, since, idle_since } = &worker.place else { continue };
                let waits = worker.offer.part_of(&wanting.demand.waiting) > self.idle_slots(to);
                if from == to || !waits || !self.has_room(to, &worker.offer) {
                    continue;
                }
                let Some(giving) = self.jobs.get(from) else { continue };
                let Some(urgency) = self.urgency(from, giving, to, worker, *since, *idle_since) else { continue };
                let warm = wanting.terms.models.intersection(&worker.offer.models).next().is_some();
                let held = giving.demand.held.get(id).copied().unwrap_or(0);
                let over = Reverse(self.share(from).ratio());
                let key =
                    (urgency, self.share(to).ratio(), wanting.service, over, Reverse(warm), held, Reverse(*since));
                if best.as_ref().is_none_or(|(known, _)| key < *known) {
                    best = Some((key, (id.clone(), from.clone(), to.clone())));
                }
            }
        }
        best.map(|(_, found)| found)
    }

    /// Why the worker should leave `from` for `to`, the most urgent reason first; `None` when it should not.
    fn urgency(
        &self,
        from: &JobId,
        giving: &Job,
        to: &JobId,
        worker: &Worker,
        since: u64,
        idle_since: Option<u64>,
    ) -> Option<Urgency> {
        let (giver, taker) = (self.share(from), self.share(to));
        let slots = worker.offer.slots;
        let rested = |since: Option<u64>| since.is_some_and(|since| self.now >= since + IDLE_MS);
        if worker.offer.part_of(&giving.demand.waiting) == 0 && rested(idle_since) {
            return Some(Urgency::Idle);
        }
        let keeps_some = giver.without(slots).slots > 0;
        if taker.slots == 0 && keeps_some {
            return Some(Urgency::Starving);
        }
        if taker.slots == 0 {
            let ahead = giver.service >= taker.service.saturating_add(self.turn_ms);
            return (ahead && self.now >= since + self.turn_ms).then_some(Urgency::Turn);
        }
        // The taker would still have less than the giver has now, and the giver does not become the next to starve.
        let more_even = giver.exceeds(taker.with(slots));
        (keeps_some && more_even).then_some(Urgency::Uneven)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// Nobody loses anything.
    Idle,
    Starving,
    Turn,
    Uneven,
}

impl Job {
    /// Slots that a worker like this could keep busy.
    fn could_use(&self, offer: &Offer) -> u32 {
        offer.part_of(&self.demand.usable)
    }
}

fn capped(slots: u32, terms: &Terms) -> u32 {
    terms.bound.map_or(slots, |bound| slots.min(bound))
}
