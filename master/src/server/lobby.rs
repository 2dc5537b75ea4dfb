//! The lobby: workers on their way to a job, and the jobs that wait for them. Carries out what the broker decides.

use crate::broker::{Ability, Broker, Decision, Demand, JobId, Need, Offer, Share, Terms};
use crate::core::{Attendance, ConnectionId, Event, Needed, Requires, Wanted};
use crate::launch::Situation;
use crate::pipeline::Desk;
use crate::rpc::{Answer, Inbound, PlanFiles, Reception};
use compass_common::ids::{Digest, WorkerId};
use compass_proto::{digest_from_wire, v1};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};

/// How often the broker is asked when nothing happens: turns end by themselves.
const TICK: Duration = Duration::from_millis(250);
/// Frames that wait for a job's driver.
const INBOUND: usize = 1024;

/// See the module.
#[derive(Debug)]
pub(super) struct Lobby {
    pub(super) files: PlanFiles,
    started: Instant,
    state: Mutex<State>,
    /// What launchers go by.
    situation: watch::Sender<Situation>,
}

#[derive(Debug, Default)]
struct State {
    broker: Broker,
    stages: BTreeMap<JobId, Stage>,
    /// Jobs that will have a stage soon, by the plan of it: who holds something of theirs waits for them.
    expected: BTreeMap<Digest, JobId>,
    visitors: BTreeMap<WorkerId, Visitor>,
    /// The job that a worker went to last, for as long as that has a stage.
    last_jobs: BTreeMap<WorkerId, JobId>,
    /// Said to everybody who is at the door, or comes there.
    closed: Option<&'static str>,
}

#[derive(Debug)]
struct Stage {
    plan: Digest,
    inbound: mpsc::Sender<Inbound>,
    desk: Desk,
    /// Whether every worker is its own.
    everyone: bool,
    /// Its workers, as it saw them last.
    attendance: BTreeMap<WorkerId, Attendance>,
}

#[derive(Debug)]
struct Visitor {
    connection: ConnectionId,
    session: String,
    offer: Offer,
    /// The plan of what it holds.
    plan: Option<Digest>,
    /// Where the answer goes, while it is at the door.
    door: Option<oneshot::Sender<Answer>>,
    job: Option<JobId>,
}

impl Lobby {
    pub(super) fn new() -> Arc<Self> {
        let (files, situation) = (PlanFiles::default(), watch::Sender::new(Situation::default()));
        Arc::new(Self { files, started: Instant::now(), state: Mutex::default(), situation })
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn with<T>(&self, act: impl FnOnce(&mut State, u64) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), self.now())
    }

    /// Asks the broker again and again, until `stop` turns true.
    pub(super) async fn run(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                _ = tick.tick() => self.look(),
                () = crate::stop::raised(&mut stop) => return,
            }
        }
    }

    /// The broker is asked, and launchers hear how things stand.
    fn look(&self) {
        self.situation.send_replace(self.with(|state, now| {
            state.settle(now);
            state.situation()
        }));
    }

    /// What launchers go by: all jobs as one.
    pub(super) fn situation(&self) -> watch::Receiver<Situation> {
        self.situation.subscribe()
    }

    /// A job will have a stage of this plan: who holds something of it is kept for it.
    pub(super) fn expect(&self, plan: Digest, job: JobId) {
        self.with(|state, _| drop(state.expected.insert(plan, job)));
    }

    /// It will not, or no more.
    pub(super) fn forget(&self, job: &JobId) {
        self.with(|state, now| {
            state.expected.retain(|_, expected| expected != job);
            state.welcome_those_who_waited(now);
            state.settle(now);
        });
    }

    /// Slots of each job.
    pub(super) fn shares(&self) -> BTreeMap<JobId, Share> {
        self.with(|state, _| state.broker.shares())
    }

    /// Workers that are here, at work or not.
    pub(super) fn connected(&self) -> BTreeSet<WorkerId> {
        self.with(|state, _| state.visitors.keys().cloned().collect())
    }

    /// Workers for which there is nothing to do.
    pub(super) fn idle(&self) -> Vec<WorkerId> {
        self.with(|state, _| state.broker.at_the_door())
    }

    /// A launcher saw a worker's process end: whoever it works for, or did last, hears of it.
    pub(super) async fn exited(&self, worker: WorkerId, wanted: bool) {
        let desks: Vec<Desk> = self.with(|state, _| {
            let job = state.visitors.get(&worker).and_then(|visitor| visitor.job.as_ref());
            let job = job.or_else(|| state.last_jobs.get(&worker)).cloned();
            let concerned = state.stages.iter().filter(|(id, stage)| stage.everyone || job.as_ref() == Some(*id));
            concerned.map(|(_, stage)| stage.desk.clone()).collect()
        });
        for desk in desks {
            desk.tell(Event::Exited { worker: worker.clone(), wanted }).await;
        }
    }

    /// Tells everybody at the door to end.
    pub(super) fn close(&self, reason: &'static str) {
        self.with(|state, _| {
            state.closed = Some(reason);
            for door in state.visitors.values_mut().filter_map(|visitor| visitor.door.take()) {
                // Gone already.
                let _ = door.send(Answer::Shutdown(reason));
            }
        });
    }

    /// A stage of a job begins: its workers, as they come.
    pub(super) fn enter(
        self: &Arc<Self>,
        (id, terms, desk): (&JobId, Terms, &Desk),
        plan: Digest,
        files: BTreeMap<Digest, PathBuf>,
        mut wanted: watch::Receiver<Wanted>,
    ) -> mpsc::Receiver<Inbound> {
        let (inbound, received) = mpsc::channel(INBOUND);
        self.files.add(plan, files);
        let (lobby, id, everyone) = (self.clone(), id.clone(), terms.everyone);
        self.with(|state, now| {
            state.broker.job(now, id.clone(), terms);
            let stage = Stage { plan, inbound, desk: desk.clone(), everyone, attendance: BTreeMap::new() };
            state.stages.insert(id.clone(), stage);
            state.expected.remove(&plan);
            state.welcome_those_who_waited(now);
            state.settle(now);
        });
        tokio::spawn(async move {
            while wanted.changed().await.is_ok() {
                let (demand, attendance) = demand(wanted.borrow_and_update().clone());
                lobby.with(|state, now| {
                    state.broker.demand(now, &id, demand);
                    if let Some(stage) = state.stages.get_mut(&id).filter(|stage| stage.plan == plan) {
                        stage.attendance = attendance;
                    }
                });
                lobby.look();
            }
        });
        received
    }

    /// The stage of this plan is over.
    pub(super) fn leave(&self, job: &JobId, plan: &Digest) {
        self.files.remove(plan);
        self.with(|state, now| {
            state.stages.remove(job);
            state.last_jobs.retain(|_, last| last != job);
            state.broker.job_gone(now, job);
            state.settle(now);
        });
    }
}

fn ability(requires: Requires) -> Ability {
    match requires {
        Requires::Echo => Ability::Any,
        Requires::Engine => Ability::Engine,
        Requires::Sandbox => Ability::Sandbox,
    }
}

/// What a job asks for, and how its workers are.
fn demand(wanted: Wanted) -> (Demand, BTreeMap<WorkerId, Attendance>) {
    let need = |Needed { requires, pools }| Need { ability: ability(requires), pools };
    let needs = |of: BTreeMap<Needed, u32>| of.into_iter().map(|(what, count)| (need(what), count)).collect();
    let (waiting, usable) = (needs(wanted.waiting), needs(wanted.usable));
    (Demand { waiting, usable, held: wanted.held, taken: wanted.slots, open: wanted.open }, wanted.attendance)
}

impl State {
    /// Carries out what the broker decides.
    fn settle(&mut self, now: u64) {
        for decision in self.broker.decide(now) {
            match decision {
                Decision::Attach { worker, job } => {
                    let Some(visitor) = self.visitors.get_mut(&worker) else { continue };
                    let Some(stage) = self.stages.get(&job) else { continue };
                    if let Some(door) = visitor.door.take() {
                        tracing::debug!(%worker, %job, "a worker goes to a job");
                        // One that has gone is reported as such.
                        let _ = door.send(Answer::TakenIn(stage.inbound.clone()));
                        visitor.job = Some(job.clone());
                        self.last_jobs.insert(worker, job);
                    }
                }
                Decision::Release { worker, job } => {
                    if let Some(desk) = self.stages.get(&job).map(|stage| stage.desk.clone()) {
                        tracing::info!(%worker, %job, "a worker is to leave for another job");
                        tokio::spawn(async move { desk.tell(Event::Release { worker }).await });
                    }
                }
            }
        }
    }

    /// What there is to do for all jobs, and who is there to do it.
    fn situation(&self) -> Situation {
        let demand = self.broker.open_slots();
        let attendance = |(worker, visitor): (&WorkerId, &Visitor)| {
            let slots = visitor.offer.slots;
            let seen = visitor.job.as_ref().map(|job| {
                let seen = self.stages.get(job).and_then(|stage| stage.attendance.get(worker));
                // One that the job has not heard of yet is about to be busy.
                seen.copied().unwrap_or(Attendance { slots, busy: true, useless: false })
            });
            let idle = Attendance { slots, busy: !demand.is_empty(), useless: false };
            (worker.clone(), seen.unwrap_or(idle))
        };
        Situation { workers: self.visitors.iter().map(attendance).collect(), demand }
    }

    /// The job of a plan, when it has a stage.
    fn job_of(&self, plan: &Digest) -> Option<JobId> {
        self.stages.iter().find(|(_, stage)| stage.plan == *plan).map(|(job, _)| job.clone())
    }

    /// Takes a visitor to the broker, unless the job that it holds something of will be there soon.
    fn introduce(&mut self, now: u64, worker: &WorkerId) {
        let Some(visitor) = self.visitors.get(worker) else { return };
        if visitor.door.is_none() || visitor.plan.is_some_and(|plan| self.expected.contains_key(&plan)) {
            return;
        }
        let holds_of = visitor.plan.and_then(|plan| self.job_of(&plan));
        self.broker.arrive(now, worker.clone(), Offer { holds_of, ..visitor.offer.clone() });
    }

    fn welcome_those_who_waited(&mut self, now: u64) {
        let waited = self.visitors.iter().filter(|(_, visitor)| visitor.door.is_some() && visitor.plan.is_some());
        for worker in waited.map(|(worker, _)| worker.clone()).collect::<Vec<_>>() {
            self.introduce(now, &worker);
        }
    }
}

impl Reception for Lobby {
    fn arrive(&self, connection: ConnectionId, hello: &v1::Hello) -> oneshot::Receiver<Answer> {
        let (door, answered) = oneshot::channel();
        let worker = WorkerId(hello.worker.clone());
        self.with(|state, now| {
            if let Some(reason) = state.closed {
                let _ = door.send(Answer::Shutdown(reason));
                return;
            }
            // Were the newcomer let in, the two would throw each other out for ever.
            if state.visitors.get(&worker).is_some_and(|known| known.session != hello.session) {
                let text = format!("a worker named {worker} is connected already; give this one another --name");
                let _ = door.send(Answer::Refused(text));
                return;
            }
            let digests = |all: &[Vec<u8>]| all.iter().filter_map(|digest| digest_from_wire(digest).ok()).collect();
            let plan = digest_from_wire(&hello.plan).ok().filter(|_| !hello.held.is_empty());
            let (connection, session) = (connection, hello.session.clone());
            let offer = Offer {
                slots: hello.slots,
                abilities: abilities(hello),
                models: digests(&hello.models),
                pool: hello.pool.clone(),
                holds_of: None,
            };
            state.broker.leave(now, &worker);
            let visitor = Visitor { connection, session, offer, plan, door: Some(door), job: None };
            state.visitors.insert(worker.clone(), visitor);
            state.introduce(now, &worker);
            state.settle(now);
        });
        answered
    }

    fn left(&self, worker: &WorkerId, connection: ConnectionId) {
        self.with(|state, now| {
            if state.visitors.get(worker).is_some_and(|visitor| visitor.connection == connection) {
                state.visitors.remove(worker);
                state.broker.leave(now, worker);
                state.settle(now);
            }
        });
    }
}

fn abilities(hello: &v1::Hello) -> BTreeSet<Ability> {
    let sandbox = hello.sandbox.as_ref().is_some_and(|sandbox| sandbox.refusal.is_empty());
    let has = [(hello.has_engine, Ability::Engine), (sandbox, Ability::Sandbox)];
    has.into_iter().filter_map(|(has, ability)| has.then_some(ability)).collect()
}
