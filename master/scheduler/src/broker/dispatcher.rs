//! Hands connected workers to jobs as the [`Broker`] decides. Pure: connections are numbers, and what is to be done with them
//! comes out; the server's shell and the simulation carry it out.
//!
//! A worker is *waiting* from its hello until a job takes it. One that holds grants or results of a job waits for that job
//! as long as the job is expected to have a stage, whatever else there is to do.

use super::SchedulerSnapshot;
use super::broker::{Broker, Decision};
use super::demand::{Capability, Demand, JobId, JobTerms, Requirement, WorkerSpec};
use super::share::FairShare;
use crate::{Attendance, ConnectionId, Needed, Requires, SlotDemand};
use compass_proto::{digest_from_wire, v1};
use compass_types::ids::{Digest, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// Actions to be done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// The job's leader gets the hello of this connection, and all that follows on it.
    Attach { connection: ConnectionId, worker: WorkerId, job: JobId },
    /// The worker is refused for good, for this reason.
    Refuse { connection: ConnectionId, reason: String },
    /// The worker is told to end.
    Shutdown { connection: ConnectionId, reason: &'static str },
    /// A later connection of the worker has replaced this one, which was waiting.
    Replaced { connection: ConnectionId },
    /// The job's leader is told to let the worker go.
    Release { worker: WorkerId, job: JobId },
}

/// The connected workers of a server, and the stages of its jobs that take them.
#[derive(Debug, Default)]
pub struct Dispatcher {
    broker: Broker,
    stages: BTreeMap<JobId, StageEntry>,
    /// Jobs that will have a stage soon, by its plan: workers that hold something of it wait for it.
    expected: BTreeMap<Digest, JobId>,
    workers: BTreeMap<WorkerId, PooledWorker>,
    /// The job that a worker went to last, for as long as that job has a stage.
    last_jobs: BTreeMap<WorkerId, JobId>,
    /// Told to every worker that waits, or comes from now on.
    closed: Option<&'static str>,
}

/// A stage that takes workers.
#[derive(Debug)]
struct StageEntry {
    plan: Digest,
    /// Set if every worker is its own.
    everyone: bool,
    /// Its workers, as it saw them last.
    attendance: BTreeMap<WorkerId, Attendance>,
}

/// A connected worker.
#[derive(Debug)]
struct PooledWorker {
    connection: ConnectionId,
    session: String,
    spec: WorkerSpec,
    /// The plan of what it holds.
    plan: Option<Digest>,
    /// Set if no job has taken it yet.
    is_waiting: bool,
    job: Option<JobId>,
}

fn capability(requires: Requires) -> Capability {
    match requires {
        Requires::Echo => Capability::Any,
        Requires::Engine => Capability::Engine,
        Requires::Sandbox => Capability::Sandbox,
    }
}

fn capabilities(hello: &v1::Hello) -> BTreeSet<Capability> {
    let sandbox = hello.sandbox.as_ref().is_some_and(|sandbox| sandbox.refusal.is_empty());
    let has = [(hello.has_engine, Capability::Engine), (sandbox, Capability::Sandbox)];
    has.into_iter().filter_map(|(has, capability)| has.then_some(capability)).collect()
}

/// Splits `wanted` into the demand of a job and the state of its workers.
fn demand(wanted: SlotDemand) -> (Demand, BTreeMap<WorkerId, Attendance>) {
    let need = |Needed { requires, pools }| Requirement { capability: capability(requires), pools };
    let needs = |of: BTreeMap<Needed, u32>| of.into_iter().map(|(what, count)| (need(what), count)).collect();
    let (waiting, usable) = (needs(wanted.waiting), needs(wanted.usable));
    let is_useless = |seen: &Attendance| seen.useless || seen.cramped;
    let useless =
        wanted.attendance.iter().filter(|(_, seen)| is_useless(seen)).map(|(worker, _)| worker.clone()).collect();
    let (held, taken, open) = (wanted.held, wanted.slots, wanted.open);
    (Demand { waiting, usable, held, useless, taken, open }, wanted.attendance)
}

impl Dispatcher {
    /// Expects the job to have a stage of this plan: workers that hold something of it wait.
    pub fn expect(&mut self, plan: Digest, job: JobId) {
        self.expected.insert(plan, job);
    }

    /// Expects the job no more.
    pub fn forget(&mut self, now: u64, job: &JobId, out: &mut Vec<Dispatch>) {
        self.expected.retain(|_, expected| expected != job);
        self.offer_waiting(now);
        self.decide(now, out);
    }

    /// A stage of a job begins.
    pub fn enter(&mut self, now: u64, job: JobId, terms: JobTerms, plan: Digest, out: &mut Vec<Dispatch>) {
        let stage = StageEntry { plan, everyone: terms.everyone, attendance: BTreeMap::new() };
        self.broker.job(now, job.clone(), terms);
        self.stages.insert(job, stage);
        self.expected.remove(&plan);
        self.offer_waiting(now);
        self.decide(now, out);
    }

    /// The stage of a job is over.
    pub fn leave(&mut self, now: u64, job: &JobId, out: &mut Vec<Dispatch>) {
        self.stages.remove(job);
        self.last_jobs.retain(|_, last| last != job);
        self.broker.job_gone(now, job);
        self.decide(now, out);
    }

    /// Notes that what the job's stage of this plan could use has changed. Decides nothing.
    pub fn demand(&mut self, now: u64, job: &JobId, plan: &Digest, wanted: SlotDemand) {
        let (demand, attendance) = demand(wanted);
        self.broker.demand(now, job, demand);
        if let Some(stage) = self.stages.get_mut(job).filter(|stage| stage.plan == *plan) {
            stage.attendance = attendance;
        }
    }

    /// A worker has connected.
    pub fn arrive(&mut self, now: u64, connection: ConnectionId, hello: &v1::Hello, out: &mut Vec<Dispatch>) {
        let worker = WorkerId(hello.worker.clone());
        if let Some(reason) = self.closed {
            out.push(Dispatch::Shutdown { connection, reason });
            return;
        }
        // Were the newcomer let in, the two would throw each other out indefinitely.
        if self.workers.get(&worker).is_some_and(|known| known.session != hello.session) {
            let reason = format!("a worker named {worker} is connected already; give this one another --name");
            out.push(Dispatch::Refuse { connection, reason });
            return;
        }
        let digests = |all: &[Vec<u8>]| all.iter().filter_map(|digest| digest_from_wire(digest).ok()).collect();
        let plan = digest_from_wire(&hello.plan).ok().filter(|_| !hello.held.is_empty());
        let spec = WorkerSpec {
            slots: hello.slots,
            capabilities: capabilities(hello),
            models: digests(&hello.models),
            pool: hello.pool.clone(),
            holds_of: None,
        };
        self.broker.leave(now, &worker);
        let session = hello.session.clone();
        let pooled = PooledWorker { connection, session, spec, plan, is_waiting: true, job: None };
        if let Some(before) = self.workers.insert(worker.clone(), pooled).filter(|before| before.is_waiting) {
            out.push(Dispatch::Replaced { connection: before.connection });
        }
        self.spec(now, &worker);
        self.decide(now, out);
    }

    /// A connection is down.
    pub fn left(&mut self, now: u64, worker: &WorkerId, connection: ConnectionId, out: &mut Vec<Dispatch>) {
        if self.workers.get(worker).is_some_and(|known| known.connection == connection) {
            self.workers.remove(worker);
            self.broker.leave(now, worker);
            self.decide(now, out);
        }
    }

    /// Tells every worker that waits, or comes from now on, to end.
    pub fn close(&mut self, reason: &'static str, out: &mut Vec<Dispatch>) {
        self.closed = Some(reason);
        for worker in self.workers.values_mut().filter(|worker| worker.is_waiting) {
            worker.is_waiting = false;
            out.push(Dispatch::Shutdown { connection: worker.connection, reason });
        }
    }

    /// Asks the broker who goes where. To be called now and then, since turns end by the passing of time.
    pub fn decide(&mut self, now: u64, out: &mut Vec<Dispatch>) {
        for decision in self.broker.decide(now) {
            match decision {
                Decision::Attach { worker, job } => {
                    let Some(known) = self.workers.get_mut(&worker) else { continue };
                    if !self.stages.contains_key(&job) || !std::mem::take(&mut known.is_waiting) {
                        continue;
                    }
                    known.job = Some(job.clone());
                    self.last_jobs.insert(worker.clone(), job.clone());
                    out.push(Dispatch::Attach { connection: known.connection, worker, job });
                }
                Decision::Release { worker, job } => out.push(Dispatch::Release { worker, job }),
            }
        }
    }

    /// Offers a worker to the broker, unless the job that it holds something of is expected.
    fn spec(&mut self, now: u64, worker: &WorkerId) {
        let Some(known) = self.workers.get(worker) else { return };
        if !known.is_waiting || known.plan.is_some_and(|plan| self.expected.contains_key(&plan)) {
            return;
        }
        let holds_of = known.plan.and_then(|plan| self.job_of(&plan));
        self.broker.arrive(now, worker.clone(), WorkerSpec { holds_of, ..known.spec.clone() });
    }

    /// Offers the waiting workers that hold something: what they wait for may have changed.
    fn offer_waiting(&mut self, now: u64) {
        let waiting = self.workers.iter().filter(|(_, worker)| worker.is_waiting && worker.plan.is_some());
        for worker in waiting.map(|(worker, _)| worker.clone()).collect::<Vec<_>>() {
            self.spec(now, &worker);
        }
    }

    /// The job of a plan, where it has a stage.
    fn job_of(&self, plan: &Digest) -> Option<JobId> {
        self.stages.iter().find(|(_, stage)| stage.plan == *plan).map(|(job, _)| job.clone())
    }

    /// The jobs that are to hear of the end of a worker's process: the one that it works for, or did last, and those to
    /// which every worker belongs.
    pub fn concerned_by_exit(&self, worker: &WorkerId) -> Vec<JobId> {
        let job = self.workers.get(worker).and_then(|worker| worker.job.as_ref());
        let job = job.or_else(|| self.last_jobs.get(worker));
        let concerned = self.stages.iter().filter(|(id, stage)| stage.everyone || job == Some(*id));
        concerned.map(|(id, _)| id.clone()).collect()
    }

    /// Slots of each job.
    pub fn shares(&self) -> BTreeMap<JobId, FairShare> {
        self.broker.shares()
    }

    /// Workers that are connected, whatever they do.
    pub fn connected(&self) -> BTreeSet<WorkerId> {
        self.workers.keys().cloned().collect()
    }

    /// Slots of the workers that are connected, whatever they do.
    pub fn connected_slots(&self) -> u32 {
        self.workers.values().fold(0, |sum, worker| sum.saturating_add(worker.spec.slots))
    }

    /// Workers that no job has anything for.
    pub fn idle(&self) -> Vec<WorkerId> {
        self.broker.at_the_door()
    }

    /// Returns the demand of all jobs, and the workers that are there to meet it: for launchers.
    pub fn snapshot(&self) -> SchedulerSnapshot {
        let demand = self.broker.open_slots();
        let attendance = |(id, worker): (&WorkerId, &PooledWorker)| {
            let slots = worker.spec.slots;
            let seen = worker.job.as_ref().map(|job| {
                let seen = self.stages.get(job).and_then(|stage| stage.attendance.get(id));
                // One that the job has not heard of yet is about to be busy.
                seen.copied().unwrap_or(Attendance { slots, busy: true, ..Attendance::default() })
            });
            let idle = Attendance { slots, busy: !demand.is_empty(), ..Attendance::default() };
            (id.clone(), seen.unwrap_or(idle))
        };
        SchedulerSnapshot { workers: self.workers.iter().map(attendance).collect(), demand }
    }
}

#[cfg(test)]
#[path = "dispatcher_tests.rs"]
mod tests;
