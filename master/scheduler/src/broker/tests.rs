//! Vectors, and random histories against a model of jobs whose tasks take their time.

use super::*;
use compass_types::ids::{Digest, WorkerId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const TURN: u64 = 2_000;
const STEP: u64 = 250;
/// Longest task, in steps.
const LONGEST: u32 = 6;

fn job(name: &str) -> JobId {
    JobId(name.into())
}

fn worker(name: &str) -> WorkerId {
    WorkerId(name.into())
}

fn terms(weight: u32, bound: Option<u32>) -> JobTerms {
    JobTerms { weight, bound, models: BTreeSet::new(), everyone: false }
}

fn spec(slots: u32) -> WorkerSpec {
    WorkerSpec { slots, ..WorkerSpec::default() }
}

/// Work for so many slots, none of it begun.
fn work(tasks: u32, held: &[(&str, u32)]) -> Demand {
    Demand {
        waiting: [(Capability::Any.into(), tasks)].into(),
        usable: [(Capability::Any.into(), tasks * 4)].into(),
        held: held.iter().map(|(name, held)| (worker(name), *held)).collect(),
        ..Demand::default()
    }
}

/// A broker with jobs that have plenty to do, and workers of one slot each that work for the first of them.
fn settled(jobs: &[(&str, u32)], workers: &[&str]) -> Broker {
    let mut broker = Broker::new(TURN);
    for (at, (name, weight)) in jobs.iter().enumerate() {
        broker.job(0, job(name), terms(*weight, None));
        let held: Vec<_> = if at == 0 { workers.iter().map(|name| (*name, 1)).collect() } else { Vec::new() };
        broker.demand(0, &job(name), work(50, &held));
        if at == 0 {
            workers.iter().for_each(|name| broker.arrive(0, worker(name), spec(1)));
            broker.decide(0);
        }
    }
    broker
}

fn released(decisions: &[Decision]) -> Vec<&str> {
    let names = decisions.iter().filter_map(|decision| match decision {
        Decision::Release { worker, .. } => Some(worker.0.as_str()),
        Decision::Attach { .. } => None,
    });
    names.collect()
}

#[test]
fn a_worker_that_can_load_no_model_of_what_waits_keeps_no_able_one_from_the_job() {
    let mut broker = Broker::new(TURN);
    broker.job(0, job("a"), terms(1, None));
    let waiting = |useless: &[&str]| Demand {
        useless: useless.iter().map(|name| worker(name)).collect(),
        usable: [(Capability::Any.into(), 1)].into(),
        ..work(1, &useless.iter().map(|name| (*name, 0)).collect::<Vec<_>>())
    };
    broker.demand(0, &job("a"), waiting(&[]));
    broker.arrive(0, worker("bad"), spec(1));
    broker.arrive(0, worker("good"), spec(1));
    let attach = |name: &str, to: &str| Decision::Attach { worker: worker(name), job: job(to) };
    assert_eq!(broker.decide(0)[0], attach("bad", "a"));
    broker.leave(1, &worker("good"));
    broker.demand(1, &job("a"), waiting(&["bad"]));
    broker.arrive(2, worker("good"), spec(1));
    assert_eq!(broker.decide(2), [attach("good", "a")]);
    broker.leave(3, &worker("good"));
    broker.job(3, job("b"), terms(1, None));
    broker.demand(3, &job("b"), work(9, &[]));
    assert_eq!(released(&broker.decide(2_000)), ["bad"], "it has nothing to do there");
    broker.arrive(2_010, worker("bad"), spec(1));
    assert_eq!(broker.decide(2_010), [attach("bad", "b")]);
    broker.demand(9_000, &job("b"), work(0, &[("bad", 0)]));
    assert_eq!(broker.decide(12_000), [], "nor is it called back at once");
    broker.demand(70_000, &job("b"), work(0, &[("bad", 0)]));
    assert_eq!(released(&broker.decide(70_000)), ["bad"], "something else may wait by now");
}

#[test]
fn a_second_job_gets_half_of_the_workers_and_then_nothing_moves() {
    let mut broker = settled(&[("a", 1), ("b", 1)], &["w1", "w2", "w3", "w4"]);
    let moves = broker.decide(10);
    assert_eq!(released(&moves).len(), 2, "{moves:?}");
    for name in released(&moves) {
        broker.leave(20, &worker(name));
        broker.arrive(20, worker(name), spec(1));
    }
    let attached = broker.decide(20);
    assert!(attached.iter().all(|decision| matches!(decision, Decision::Attach { job, .. } if job.0 == "b")));
    broker.demand(20, &job("b"), work(50, &[("w1", 1), ("w2", 1), ("w3", 1), ("w4", 1)]));
    assert_eq!(broker.decide(100_000), []);
    assert_eq!((broker.share(&job("a")).slots, broker.share(&job("b")).slots), (2, 2));
}

#[test]
fn weights_divide_the_slots() {
    let names = ["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"];
    let mut broker = settled(&[("a", 1), ("b", 3)], &names);
    broker.decide(10);
    assert_eq!((broker.share(&job("a")).slots, broker.share(&job("b")).slots), (2, 6));
}

#[test]
fn one_worker_takes_turns_and_never_before_its_turn_is_over() {
    let mut broker = settled(&[("a", 1), ("b", 1)], &["w"]);
    assert_eq!(broker.decide(TURN - 1), []);
    assert_eq!(released(&broker.decide(TURN)), ["w"]);
}

#[test]
fn of_two_jobs_that_are_equal_the_one_whose_model_is_here_comes_first() {
    let model = Digest([7; 32]);
    for warm in ["a", "b"] {
        let mut broker = Broker::new(TURN);
        for name in ["a", "b"] {
            let models = if name == warm { [model].into() } else { BTreeSet::new() };
            broker.job(0, job(name), JobTerms { weight: 1, bound: None, models, everyone: false });
            broker.demand(0, &job(name), work(9, &[]));
        }
        broker.arrive(0, worker("w"), WorkerSpec { slots: 1, models: [model].into(), ..WorkerSpec::default() });
        assert_eq!(broker.decide(0), [Decision::Attach { worker: worker("w"), job: job(warm) }]);
    }
}

#[test]
fn a_worker_that_holds_something_goes_back_to_whom_it_belongs() {
    let mut broker = settled(&[("a", 1), ("b", 1)], &["w1"]);
    broker.arrive(5, worker("w2"), WorkerSpec { slots: 1, holds_of: Some(job("a")), ..WorkerSpec::default() });
    assert_eq!(broker.decide(5)[0], Decision::Attach { worker: worker("w2"), job: job("a") });
    broker.arrive(6, worker("w3"), WorkerSpec { slots: 1, holds_of: Some(job("gone")), ..WorkerSpec::default() });
    assert_eq!(broker.decide(6)[0], Decision::Attach { worker: worker("w3"), job: job("b") });
}

#[test]
fn nobody_is_sent_to_work_that_he_cannot_do() {
    let mut broker = Broker::new(TURN);
    broker.job(0, job("a"), terms(1, None));
    let needs = |capability: Capability| {
        let slots = BTreeMap::from([(capability.into(), 5)]);
        Demand { waiting: slots.clone(), usable: slots, ..Demand::default() }
    };
    broker.demand(0, &job("a"), needs(Capability::Sandbox));
    broker.arrive(0, worker("w"), spec(1));
    assert_eq!((broker.decide(0), broker.at_the_door().len()), (vec![], 1));
    broker.demand(1, &job("a"), needs(Capability::Any));
    assert_eq!(broker.decide(1).len(), 1);
}

#[test]
fn nobody_is_sent_where_his_pool_does_not_count() {
    let mut broker = Broker::new(TURN);
    let bound_to = |pools: &[&str]| {
        let pools = Some(pools.iter().map(|pool| (*pool).to_owned()).collect());
        let slots = BTreeMap::from([(Requirement { capability: Capability::Any, pools }, 5)]);
        Demand { waiting: slots.clone(), usable: slots, ..Demand::default() }
    };
    let of = |pool: &str| WorkerSpec { slots: 1, pool: pool.into(), ..WorkerSpec::default() };
    broker.job(0, job("a"), terms(1, None));
    broker.demand(0, &job("a"), bound_to(&["left", "far"]));
    for (name, pool) in [("stray", "right"), ("none", ""), ("good", "left")] {
        broker.arrive(0, worker(name), of(pool));
    }
    assert_eq!(broker.decide(0), [Decision::Attach { worker: worker("good"), job: job("a") }]);
    // Nor is one taken from a job that can use it.
    broker.job(1, job("b"), terms(1, None));
    broker.demand(1, &job("b"), work(9, &[]));
    let to_b = |decision: &Decision| matches!(decision, Decision::Attach { job: id, .. } if *id == job("b"));
    let decisions = broker.decide(1);
    assert!(decisions.len() == 2 && decisions.iter().all(to_b), "{decisions:?}");
    let either = Some(["left", "far"].map(str::to_owned).into());
    assert_eq!(broker.open_slots(), [(None, 36), (either, 5)].into());
}

#[test]
fn everybody_goes_to_the_job_of_a_master_that_ends_with_it() {
    let mut broker = Broker::new(TURN);
    for (name, slots) in [("able", 2), ("lame", 0), ("too many", 9)] {
        broker.arrive(0, worker(name), spec(slots));
    }
    assert_eq!(broker.decide(0), [], "its stage has not begun");
    broker.job(1, job("a"), JobTerms { everyone: true, ..terms(1, Some(1)) });
    assert_eq!(broker.decide(1).len(), 3);
    let open = [(None, 7)].into();
    broker.demand(2, &job("a"), Demand { open, ..work(5, &[]) });
    assert_eq!((broker.decide(2), broker.open_slots()), (vec![], [(None, 1)].into()), "one task each at best");
}

#[test]
fn a_lease_that_goes_on_keeps_its_slots() {
    let mut broker = Broker::new(TURN);
    broker.job(0, job("a"), terms(1, Some(1)));
    broker.demand(0, &job("a"), Demand { taken: 1, ..work(5, &[("gone", 1)]) });
    broker.arrive(0, worker("w"), spec(1));
    assert_eq!(broker.decide(0), []);
    broker.demand(1, &job("a"), work(5, &[]));
    assert_eq!(broker.decide(1).len(), 1);
}

/// A job of the model: tasks of different lengths, pending ones among them.
#[derive(Clone, Debug)]
struct ModelJob {
    terms: JobTerms,
    capability: Capability,
    starts: u64,
    waiting: Vec<u32>,
}

#[derive(Clone, Debug)]
struct ModelWorker {
    spec: WorkerSpec,
    at: Option<JobId>,
    leaving: bool,
    /// Steps left of each task that it runs.
    runs: Vec<u32>,
}

#[derive(Clone, Debug)]
struct World {
    broker: Broker,
    now: u64,
    jobs: BTreeMap<JobId, ModelJob>,
    workers: BTreeMap<WorkerId, ModelWorker>,
    moves: usize,
}

impl World {
    fn step(&mut self) {
        self.now += STEP;
        for (id, state) in &self.jobs {
            if state.starts <= self.now && state.starts + STEP > self.now {
                self.broker.job(self.now, id.clone(), state.terms.clone());
            }
        }
        for (id, state) in &mut self.workers {
            state.runs.iter_mut().for_each(|left| *left -= 1);
            state.runs.retain(|left| *left > 0);
            let Some(at) = state.at.clone() else { continue };
            let room = self.jobs.get(&at).and_then(|job| job.terms.bound).unwrap_or(u32::MAX).min(state.spec.slots);
            while let Some(job) = self.jobs.get_mut(&at).filter(|_| !state.leaving)
                && (state.runs.len() as u32) < room
                && let Some(task) = job.waiting.pop()
            {
                state.runs.push(task);
            }
            let over = !self.jobs.contains_key(&at);
            if over || (state.leaving && state.runs.is_empty()) {
                (state.at, state.leaving) = (None, false);
                self.broker.leave(self.now, id);
                self.broker.arrive(self.now, id.clone(), state.spec.clone());
            }
        }
        let done: Vec<JobId> =
            self.jobs.iter().filter(|(id, job)| self.is_over(id, job)).map(|(id, _)| id.clone()).collect();
        for id in done {
            self.jobs.remove(&id);
            self.broker.job_gone(self.now, &id);
        }
        for (id, state) in self.jobs.iter().filter(|(_, state)| state.starts <= self.now) {
            let at = || self.workers.iter().filter(|(_, worker)| worker.at.as_ref() == Some(id));
            let running: usize = at().map(|(_, worker)| worker.runs.len()).sum();
            let demand = Demand {
                waiting: [(state.capability.into(), state.waiting.len() as u32)].into(),
                usable: [(state.capability.into(), (state.waiting.len() + running) as u32)].into(),
                held: at().map(|(id, worker)| (id.clone(), worker.runs.len() as u32)).collect(),
                ..Demand::default()
            };
            self.broker.demand(self.now, id, demand);
        }
        for decision in self.broker.decide(self.now) {
            match decision {
                Decision::Attach { worker, job } => {
                    let state = self.workers.get_mut(&worker).unwrap();
                    assert!(state.at.is_none() && state.spec.can(&self.jobs[&job].capability.into()), "B2");
                    state.at = Some(job);
                }
                Decision::Release { worker, job } => {
                    let state = self.workers.get_mut(&worker).unwrap();
                    assert!(state.at == Some(job) && !state.leaving);
                    state.leaving = true;
                    self.moves += 1;
                }
            }
        }
        for (id, job) in &self.jobs {
            let at = self.workers.values().filter(|worker| worker.at.as_ref() == Some(id));
            let beside: u32 = at.map(|worker| worker.spec.slots).sum();
            let largest = self.workers.values().map(|worker| worker.spec.slots).max().unwrap_or(0);
            // The last worker of a job may have more slots than it gets.
            assert!(job.terms.bound.is_none_or(|bound| beside < bound + largest), "B1: {beside} for {job:?}");
        }
    }

    fn is_over(&self, id: &JobId, job: &ModelJob) -> bool {
        job.waiting.is_empty()
            && !self.workers.values().any(|worker| worker.at.as_ref() == Some(id) && !worker.runs.is_empty())
    }

    /// Returns whether any worker can do the work of a job.
    fn is_possible(&self, job: &ModelJob) -> bool {
        self.workers.values().any(|worker| worker.spec.can(&job.capability.into()))
    }
}

fn a_job() -> impl Strategy<Value = ModelJob> {
    let capability = prop_oneof![3 => Just(Capability::Any), 1 => Just(Capability::Engine)];
    let tasks = prop::collection::vec(1..LONGEST, 1..60);
    (1u32..5, prop::option::of(1u32..4), capability, 0u64..20, tasks).prop_map(
        |(weight, bound, capability, at, waiting)| ModelJob {
            terms: terms(weight, bound),
            capability,
            starts: (1 + at) * STEP * 4,
            waiting,
        },
    )
}

fn a_worker() -> impl Strategy<Value = WorkerSpec> {
    (1u32..4, any::<bool>()).prop_map(|(slots, engine)| WorkerSpec {
        slots,
        capabilities: engine.then_some(Capability::Engine).into_iter().collect(),
        ..WorkerSpec::default()
    })
}

fn world(jobs: Vec<ModelJob>, specs: Vec<WorkerSpec>) -> World {
    let mut broker = Broker::new(TURN);
    let named = |at: usize, spec: WorkerSpec| {
        let worker = ModelWorker { spec, at: None, leaving: false, runs: Vec::new() };
        (WorkerId(format!("w{at}")), worker)
    };
    let workers: BTreeMap<_, _> = specs.into_iter().enumerate().map(|(at, spec)| named(at, spec)).collect();
    workers.iter().for_each(|(id, worker)| broker.arrive(0, id.clone(), worker.spec.clone()));
    let jobs = jobs.into_iter().enumerate().map(|(at, state)| (JobId(format!("j{at}")), state)).collect();
    World { broker, now: 0, jobs, workers, moves: 0 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_job_that_can_be_done_is_done(
        jobs in prop::collection::vec(a_job(), 1..7),
        specs in prop::collection::vec(a_worker(), 1..6),
    ) {
        let mut world = world(jobs, specs);
        let work: usize = world.jobs.values().map(|job| job.waiting.len()).sum();
        // All of it one after the other on one slot, with a change of jobs at every task.
        let most = 200 + work * (LONGEST as usize + TURN as usize / STEP as usize + 8);
        for _ in 0..most {
            world.step();
            if world.jobs.values().all(|job| !world.is_possible(job)) {
                return Ok(());
            }
        }
        prop_assert!(false, "B3: never done: {:?}", world.jobs);
    }

    #[test]
    fn shares_come_to_rest_where_they_are_even(
        weights in prop::collection::vec(1u32..4, 1..5),
        more in 0usize..8,
    ) {
        let endless = |weight| ModelJob {
            terms: terms(weight, None),
            capability: Capability::Any,
            starts: STEP,
            waiting: vec![2; 20_000],
        };
        let workers = weights.len() + more;
        let mut world = world(weights.iter().map(|weight| endless(*weight)).collect(), vec![spec(1); workers]);
        (0..200).for_each(|_| world.step());
        let moves = world.moves;
        (0..400).for_each(|_| world.step());
        prop_assert_eq!(world.moves, moves, "B4: nothing changed, and workers still move");
        let shares: Vec<FairShare> = world.broker.shares().into_values().collect();
        for a in &shares {
            prop_assert!(a.slots > 0, "{:?}", shares);
            for b in &shares {
                let gains = FairShare { slots: b.slots + 1, ..*b };
                let fair = a.slots == 1 || u64::from(a.slots) * u64::from(b.weight) <= u64::from(gains.slots) * u64::from(a.weight);
                prop_assert!(fair, "one slot from {a:?} to {b:?} would be more even: {shares:?}");
            }
        }
    }

    #[test]
    fn where_workers_are_few_service_follows_the_weights(weights in prop::collection::vec(1u32..4, 2..5)) {
        let endless = |weight| ModelJob {
            terms: terms(weight, None),
            capability: Capability::Any,
            starts: STEP,
            waiting: vec![1; 20_000],
        };
        let mut world = world(weights.iter().map(|weight| endless(*weight)).collect(), vec![spec(1)]);
        (0..3_000).for_each(|_| world.step());
        let service: Vec<u64> = world.broker.shares().into_values().map(|share| share.service).collect();
        let (least, most) = (*service.iter().min().unwrap(), *service.iter().max().unwrap());
        // Every job's turn once more, and what it takes to finish a task.
        prop_assert!(most - least <= 1000 * (2 * TURN + 8 * STEP), "{service:?}");
    }
}
