//! The dispatcher: workers on their way to a job, and the jobs that wait for them. Carries out what the dispatcher decides.

use compass_proto::v1;
use compass_rpc::{Answer, Inbound, PlanFiles, WorkerRouter};
use compass_run::JobHandle;
use compass_scheduler::broker::{Dispatch, Dispatcher, FairShare, JobId, JobTerms, SchedulerSnapshot};
use compass_scheduler::{ConnectionId, Event, SlotDemand};
use compass_types::ids::{Digest, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Interval at which the broker is asked when nothing happens: turns end on their own.
const TICK: Duration = Duration::from_millis(250);
/// Frames that wait for a job's driver.
const INBOUND: usize = 1024;

/// Connected workers, the jobs that wait for them, and the channels between the two.
#[derive(Debug)]
pub(super) struct WorkerDispatcher {
    pub files: PlanFiles,
    started: Instant,
    state: Mutex<State>,
    /// Snapshot that launchers go by.
    snapshot: watch::Sender<SchedulerSnapshot>,
}

#[derive(Debug, Default)]
struct State {
    dispatcher: Dispatcher,
    stages: BTreeMap<JobId, StageChannels>,
    /// Channels for the answers to connections that wait for one.
    waiting: BTreeMap<ConnectionId, oneshot::Sender<Answer>>,
}

/// The ways to a stage.
#[derive(Debug)]
struct StageChannels {
    inbound: mpsc::Sender<Inbound>,
    job_handle: JobHandle,
}

impl WorkerDispatcher {
    pub(crate) fn new() -> Arc<Self> {
        let (files, snapshot) = (PlanFiles::default(), watch::Sender::new(SchedulerSnapshot::default()));
        Arc::new(Self { files, started: Instant::now(), state: Mutex::default(), snapshot })
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn with<T>(&self, act: impl FnOnce(&mut State, u64) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner), self.now())
    }

    /// Lets the dispatcher decide, and carries it out.
    fn dispatch(&self, act: impl FnOnce(&mut Dispatcher, u64, &mut Vec<Dispatch>)) {
        self.with(|state, now| state.dispatch(|dispatcher, out| act(dispatcher, now, out)));
    }

    /// JobCommands the broker again and again, until `stop` is cancelled.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            tokio::select! {
                _ = tick.tick() => self.look(),
                () = stop.cancelled() => return,
            }
        }
    }

    /// The broker is asked, and launchers hear how things stand.
    fn look(&self) {
        self.dispatch(Dispatcher::decide);
        self.snapshot.send_replace(self.with(|state, _| state.dispatcher.snapshot()));
    }

    /// Returns the snapshot that launchers go by: all jobs as one.
    pub(crate) fn snapshot(&self) -> watch::Receiver<SchedulerSnapshot> {
        self.snapshot.subscribe()
    }

    /// A job will have a stage of this plan: workers that hold something of it are kept for it.
    pub(crate) fn expect(&self, plan: Digest, job: JobId) {
        self.with(|state, _| state.dispatcher.expect(plan, job));
    }

    /// It will not, or no more.
    pub(crate) fn forget(&self, job: &JobId) {
        self.dispatch(|dispatcher, now, out| dispatcher.forget(now, job, out));
    }

    /// Slots of each job.
    pub(crate) fn shares(&self) -> BTreeMap<JobId, FairShare> {
        self.with(|state, _| state.dispatcher.shares())
    }

    /// Workers that are here, at work or not.
    pub(crate) fn connected(&self) -> BTreeSet<WorkerId> {
        self.with(|state, _| state.dispatcher.connected())
    }

    /// Slots of the workers that are here, at work or not.
    pub(super) fn connected_slots(&self) -> u32 {
        self.with(|state, _| state.dispatcher.connected_slots())
    }

    /// Workers for which there is nothing to do.
    pub(crate) fn idle(&self) -> Vec<WorkerId> {
        self.with(|state, _| state.dispatcher.idle())
    }

    /// A launcher saw a worker's process end: the job that it works for, or did last, hears of it.
    pub(super) async fn exited(&self, worker: WorkerId, wanted: bool) {
        let handles: Vec<JobHandle> = self.with(|state, _| {
            let concerned = state.dispatcher.concerned_by_exit(&worker);
            concerned.iter().filter_map(|job| Some(state.stages.get(job)?.job_handle.clone())).collect()
        });
        for job_handle in handles {
            job_handle.tell(Event::Exited { worker: worker.clone(), wanted }).await;
        }
    }

    /// Tells every worker that waits for a job to end.
    pub(crate) fn close(&self, reason: &'static str) {
        self.dispatch(|dispatcher, _, out| dispatcher.close(reason, out));
    }

    /// A stage of a job begins: its workers, as they come.
    pub(crate) fn enter(
        self: &Arc<Self>,
        (id, terms, job_handle): (&JobId, JobTerms, &JobHandle),
        plan: Digest,
        files: BTreeMap<Digest, PathBuf>,
        mut wanted: watch::Receiver<SlotDemand>,
    ) -> mpsc::Receiver<Inbound> {
        let (inbound, received) = mpsc::channel(INBOUND);
        self.files.add(plan, files);
        let (dispatcher, id) = (self.clone(), id.clone());
        self.with(|state, now| {
            state.stages.insert(id.clone(), StageChannels { inbound, job_handle: job_handle.clone() });
            state.dispatch(|dispatcher, out| dispatcher.enter(now, id.clone(), terms, plan, out));
        });
        tokio::spawn(async move {
            while wanted.changed().await.is_ok() {
                let wanted = wanted.borrow_and_update().clone();
                dispatcher.with(|state, now| state.dispatcher.demand(now, &id, &plan, wanted));
                dispatcher.look();
            }
        });
        received
    }

    /// The stage of this plan is over.
    pub(crate) fn leave(&self, job: &JobId, plan: &Digest) {
        self.files.remove(plan);
        self.with(|state, now| {
            state.stages.remove(job);
            state.dispatch(|dispatcher, out| dispatcher.leave(now, job, out));
        });
    }
}

impl State {
    fn dispatch(&mut self, act: impl FnOnce(&mut Dispatcher, &mut Vec<Dispatch>)) {
        let mut out = Vec::new();
        act(&mut self.dispatcher, &mut out);
        out.into_iter().for_each(|dispatch| self.carry_out(dispatch));
    }

    fn carry_out(&mut self, dispatch: Dispatch) {
        match dispatch {
            Dispatch::Attach { connection, worker, job } => {
                if let Some(stage) = self.stages.get(&job) {
                    tracing::debug!(%worker, %job, "a worker goes to a job");
                    let inbound = stage.inbound.clone();
                    self.answer(connection, Answer::TakenIn(inbound));
                }
            }
            Dispatch::Refuse { connection, reason } => self.answer(connection, Answer::Refused(reason)),
            Dispatch::Shutdown { connection, reason } => self.answer(connection, Answer::Shutdown(reason)),
            Dispatch::Replaced { connection } => drop(self.waiting.remove(&connection)),
            Dispatch::Release { worker, job } => {
                if let Some(job_handle) = self.stages.get(&job).map(|stage| stage.job_handle.clone()) {
                    tracing::info!(%worker, %job, "a worker is to leave for another job");
                    tokio::spawn(async move { job_handle.tell(Event::Release { worker }).await });
                }
            }
        }
    }

    fn answer(&mut self, connection: ConnectionId, answer: Answer) {
        if let Some(waiting) = self.waiting.remove(&connection) {
            // A connection that is down is reported as such.
            let _ = waiting.send(answer);
        }
    }
}

impl WorkerRouter for WorkerDispatcher {
    fn arrive(&self, connection: ConnectionId, hello: &v1::Hello) -> oneshot::Receiver<Answer> {
        let (waiting, answered) = oneshot::channel();
        self.with(|state, now| {
            state.waiting.insert(connection, waiting);
            state.dispatch(|dispatcher, out| dispatcher.arrive(now, connection, hello, out));
        });
        answered
    }

    fn left(&self, worker: &WorkerId, connection: ConnectionId) {
        self.with(|state, now| {
            state.waiting.remove(&connection);
            state.dispatch(|dispatcher, out| dispatcher.left(now, worker, connection, out));
        });
    }
}
