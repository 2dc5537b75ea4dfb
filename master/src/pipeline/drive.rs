//! The driver: the one owner of the scheduler. Turns frames into events and effects into frames and records.
//!
//! What waits for a record to be durable waits here, in order: nothing observable leaves before.

use super::clock::AttentiveClock;
use super::facts::RunFacts;
use super::progress::{ProgressBoard, Snapshot};
use crate::core::{Capabilities, Core, Effect, Event, GrantRef, HeldGrant, Message, Record, Seq};
use crate::launch::LaunchEvent;
use crate::ledger::{CommitError, Committed, Committer, Entry, Kind, Submission};
use crate::rpc::{Inbound, Parsed, Session, Terms, Uploads, parse_frame, refuse};
use crate::stop::raised;
use crate::store::{AnyStore, Keys, Op};
use compass_common::ids::{Attempt, Epoch, TaskId, UnitId, WorkerId};
use compass_proto::{intervals_from_wire, v1};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

const TICK: Duration = Duration::from_millis(250);
/// Records that wait for a place in the committer's queue before the driver stops listening.
const MOST_WAITING: usize = 100_000;
/// How long workers may take to hear that the run is over.
const FAREWELL: Duration = Duration::from_millis(500);

/// Why a run stopped before its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    #[error("nothing more can be made durable")]
    Commit(#[source] Arc<CommitError>),
    #[error("the worker service ended")]
    ServiceEnded,
    #[error("no worker is left: {reason}")]
    NoWorkers { reason: String },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every task is done or failed.
    Finished,
    /// A signal asked to stop; everything received is durable.
    Interrupted,
    /// Another master led, and brought the run to its end.
    EndedByAnother,
}

/// What a driver leaves behind.
pub struct Driven {
    pub ending: Ending,
    pub core: Core,
    pub facts: RunFacts,
    /// The store, unless the committer's thread died.
    pub store: Option<AnyStore>,
}

/// What a driver works with.
pub struct Setup {
    pub core: Core,
    pub terms: Terms,
    pub keys: Keys,
    pub committer: Committer,
    pub durability: watch::Receiver<Committed>,
    pub inbound: mpsc::Receiver<Inbound>,
    pub uploads: Uploads,
    pub launched: mpsc::Receiver<LaunchEvent>,
    pub interrupted: watch::Receiver<bool>,
    pub board: ProgressBoard,
    pub facts: RunFacts,
}

enum Gated {
    Send { worker: WorkerId, nonce: String, message: Message },
    Acknowledge { worker: WorkerId, nonce: String, seq: u64 },
}

/// Why the committer takes nothing more.
fn commit_error(durability: &watch::Receiver<Committed>) -> DriveError {
    durability.borrow().failure.clone().map_or(DriveError::ServiceEnded, DriveError::Commit)
}

/// See the module.
pub struct Driver {
    setup: Setup,
    sessions: BTreeMap<WorkerId, Session>,
    gated: VecDeque<(Seq, Gated)>,
    /// What the committer's queue has no place for, while the store is away.
    waiting: VecDeque<Submission>,
    durable: Seq,
    started: Instant,
    clock: AttentiveClock,
    /// Why no local agent will be started any more.
    gave_up: Option<String>,
    effects: Vec<Effect>,
}

impl Driver {
    /// A driver that has not begun.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            sessions: BTreeMap::new(),
            gated: VecDeque::new(),
            waiting: VecDeque::new(),
            durable: Seq(0),
            started: Instant::now(),
            clock: AttentiveClock::start(Instant::now()),
            gave_up: None,
            effects: Vec::new(),
        }
    }

    /// Runs to the end.
    ///
    /// # Errors
    /// The ledger or the store failed, or nobody is left to work. What is durable stays so: the run can be resumed.
    pub async fn run(mut self) -> Result<Driven, DriveError> {
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut launcher_open = true;
        // Tasks may all be done already: a resumed run then ends at once.
        self.apply(Event::Tick).await?;
        let ending = loop {
            if self.setup.core.is_finished() && self.gated.is_empty() && self.durable >= self.setup.core.last_seq() {
                break Ending::Finished;
            }
            tokio::select! {
                // Workers that nobody reads from hold their results back: the bound on what waits here.
                inbound = self.setup.inbound.recv(), if self.waiting.len() < MOST_WAITING => {
                    let inbound = inbound.ok_or(DriveError::ServiceEnded)?;
                    self.take(inbound).await?;
                }
                changed = self.setup.durability.changed() => {
                    let committed = self.setup.durability.borrow_and_update().clone();
                    if let Some(error) = committed.failure {
                        return Err(DriveError::Commit(error));
                    }
                    if changed.is_err() {
                        return Err(DriveError::ServiceEnded);
                    }
                    self.release(committed.up_to);
                }
                () = self.setup.committer.ready(), if !self.waiting.is_empty() => self.submit_waiting()?,
                event = self.setup.launched.recv(), if launcher_open => match event {
                    Some(event) => self.launched(event).await?,
                    None => launcher_open = false,
                },
                _ = tick.tick() => {
                    self.apply(Event::Tick).await?;
                    if let Some(reason) = self.gave_up.clone().filter(|_| !self.setup.core.has_workers()) {
                        return Err(DriveError::NoWorkers { reason });
                    }
                }
                () = raised(&mut self.setup.interrupted) => break Ending::Interrupted,
            }
            self.publish();
        };
        self.publish();
        self.farewell(ending).await;
        let Setup { core, committer, mut facts, .. } = self.setup;
        for submission in self.waiting {
            // An error is told by the report below.
            let _ = committer.submit(submission).await;
        }
        let store = committer.finish().await;
        let committed = self.setup.durability.borrow().clone();
        if let Some(error) = committed.failure {
            return Err(DriveError::Commit(error));
        }
        facts.progress(&core.progress(), self.started.elapsed());
        Ok(Driven { ending, core, facts, store })
    }

    async fn take(&mut self, inbound: Inbound) -> Result<(), DriveError> {
        match inbound {
            Inbound::Hello { connection, hello, outbound } => {
                let worker = WorkerId(hello.worker);
                // Were the newcomer let in, the two would throw each other out for ever and finish nothing.
                if self.sessions.get(&worker).is_some_and(|session| session.belongs_to_another(&hello.session)) {
                    let text = format!("a worker named {worker} is connected already; give this one another --name");
                    tracing::warn!(%worker, "refused a worker whose name another one has");
                    refuse(&outbound, text);
                    return Ok(());
                }
                let session =
                    self.sessions.entry(worker.clone()).or_insert_with(|| Session::new(hello.session.clone()));
                if session.nonce != hello.session {
                    *session = Session::new(hello.session.clone());
                }
                let core = &self.setup.core;
                session.keep_grants(|grant| core.is_live(&worker, grant));
                session.connect(connection, outbound, hello.last_ack);
                let capabilities =
                    Capabilities { session: hello.session, slots: hello.slots, has_engine: hello.has_engine };
                let held = hello.held.into_iter().map(|held| HeldGrant {
                    grant: GrantRef {
                        epoch: Epoch(held.epoch),
                        task: TaskId(held.task),
                        attempt: Attempt(held.attempt),
                    },
                    unit: UnitId(held.unit),
                    samples: intervals_from_wire(&held.samples),
                });
                self.setup.facts.attached(&worker, hello.slots, &hello.device);
                let held = held.collect();
                self.apply(Event::Attached { worker, connection, capabilities, held }).await
            }
            Inbound::Closed { worker, connection } => {
                if let Some(session) = self.sessions.get_mut(&worker) {
                    session.disconnect(connection);
                }
                self.apply(Event::Detached { worker, connection }).await
            }
            Inbound::Frame { worker, connection, frame } => self.frame(worker, connection, frame).await,
        }
    }

    async fn frame(
        &mut self,
        worker: WorkerId,
        connection: crate::core::ConnectionId,
        frame: v1::WorkerFrame,
    ) -> Result<(), DriveError> {
        let Some(session) = self.sessions.get_mut(&worker).filter(|session| session.is_current(connection)) else {
            return Ok(());
        };
        session.acknowledged(frame.ack);
        if !session.is_new(frame.seq) {
            self.setup.uploads.discard(&frame);
            return Ok(());
        }
        match parse_frame(&worker, frame.body, &self.setup.terms.plan, &self.setup.uploads) {
            Err(error) => {
                tracing::warn!(%worker, %error, "cut off a worker that sent a malformed frame");
                session.disconnect(connection);
                return self.apply(Event::Detached { worker, connection }).await;
            }
            Ok(Parsed::Nothing) => {}
            Ok(Parsed::Facts { model, facts }) => self.setup.facts.model(model, &facts),
            Ok(Parsed::Heartbeat { sent_ms }) => {
                session.heartbeat(sent_ms);
                self.apply(Event::Heartbeat { worker: worker.clone() }).await?;
            }
            Ok(Parsed::Event(event)) => {
                self.note(&worker, &event);
                self.apply(event).await?;
            }
        }
        if frame.seq > 0
            && let Some(session) = self.sessions.get_mut(&worker)
        {
            session.handled(frame.seq);
            let nonce = session.nonce.clone();
            let after = self.setup.core.last_seq();
            self.gated.push_back((after, Gated::Acknowledge { worker, nonce, seq: frame.seq }));
            self.release(self.durable);
        }
        Ok(())
    }

    /// Facts of the run and the live metrics, beside the scheduler's business.
    fn note(&mut self, worker: &WorkerId, event: &Event) {
        match event {
            Event::Results { samples, .. } => self.setup.facts.results(worker, samples.len() as u64),
            Event::Report { unit, report, .. } => {
                self.setup.facts.report(worker, report);
                self.setup.board.report(*unit, report);
            }
            _ => {}
        }
    }

    async fn launched(&mut self, event: LaunchEvent) -> Result<(), DriveError> {
        match event {
            LaunchEvent::Exited { worker, status } => {
                tracing::warn!(worker, status, "a worker process ended");
                self.setup.facts.ended(&WorkerId(worker.clone()));
                self.apply(Event::Exited { worker: WorkerId(worker) }).await
            }
            // Others may have joined by hand: the next tick looks.
            LaunchEvent::GaveUp { reason } => {
                tracing::warn!(reason, "no more workers are launched");
                self.gave_up = Some(reason);
                Ok(())
            }
        }
    }

    async fn apply(&mut self, event: Event) -> Result<(), DriveError> {
        let now = self.clock.now_ms(Instant::now());
        let mut effects = std::mem::take(&mut self.effects);
        self.setup.core.apply(now, event, &mut effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Persist { seq, record } => {
                    let submission = self.submission(seq, record);
                    self.submit(submission)?;
                }
                Effect::Send { worker, message, after } => {
                    let nonce = self.sessions.get(&worker).map(|session| session.nonce.clone()).unwrap_or_default();
                    self.gated.push_back((after, Gated::Send { worker, nonce, message }));
                }
                Effect::Disconnect { worker, connection } => {
                    if let Some(session) = self.sessions.get_mut(&worker) {
                        session.disconnect(connection);
                    }
                }
                Effect::Note { text } => tracing::warn!("{text}"),
            }
        }
        self.effects = effects;
        self.release(self.durable);
        Ok(())
    }

    /// Never waits: a store that is away must not make the master deaf to its workers, whose leases it renews.
    fn submit(&mut self, submission: Submission) -> Result<(), DriveError> {
        self.waiting.push_back(submission);
        self.submit_waiting()
    }

    fn submit_waiting(&mut self) -> Result<(), DriveError> {
        let submitted = self.setup.committer.submit_from(&mut self.waiting);
        submitted.map_err(|_| commit_error(&self.setup.durability))
    }

    fn submission(&self, seq: Seq, record: Record) -> Submission {
        let entry = |kind: Kind, unit: UnitId, grant: GrantRef, worker: WorkerId, payload| Entry {
            kind: kind.into(),
            unit: unit.0,
            task: grant.task.0,
            attempt: grant.attempt.0,
            epoch: grant.epoch.0,
            worker: worker.0,
            payload,
        };
        let (entry, op) = match record {
            Record::Attempt { attempt, unit, samples, .. } => {
                let key = self.setup.keys.attempt(&Keys::attempt_key(unit, &samples));
                (None, Some(Op::Put { key, value: attempt.0.to_le_bytes().to_vec() }))
            }
            Record::Sample { unit, grant, worker, result } => {
                (Some(entry(Kind::Sample, unit, grant, worker, result)), None)
            }
            Record::Divergence { unit, grant, worker, result } => {
                (Some(entry(Kind::Divergence, unit, grant, worker, result)), None)
            }
            Record::Report { worker, report } => {
                (Some(Entry { kind: Kind::Report.into(), worker: worker.0, payload: report, ..Entry::default() }), None)
            }
        };
        Submission { seq, entry, op }
    }

    /// Lets out what waited for records up to `durable`. Numbers in the queue ascend, so the front decides.
    fn release(&mut self, durable: Seq) {
        self.durable = self.durable.max(durable);
        while self.gated.front().is_some_and(|(after, _)| *after <= self.durable) {
            match self.gated.pop_front() {
                Some((_, Gated::Send { worker, nonce, message })) => {
                    // By now the worker may be another process, or the grant somebody else's.
                    let stale =
                        matches!(&message, Message::Grant { grant, .. } if !self.setup.core.is_live(&worker, grant));
                    let session = self.sessions.get_mut(&worker).filter(|session| session.nonce == nonce && !stale);
                    if let Some(session) = session {
                        session.send(&message, &self.setup.terms);
                    }
                }
                Some((_, Gated::Acknowledge { worker, nonce, seq })) => {
                    if let Some(session) = self.sessions.get_mut(&worker).filter(|session| session.nonce == nonce) {
                        session.acknowledge(seq);
                    }
                }
                None => {}
            }
        }
    }

    fn publish(&self) {
        let progress = self.setup.core.progress();
        self.setup.board.publish(Snapshot {
            recorded: progress.recorded,
            workers: progress.workers,
            slots: progress.slots,
        });
    }

    /// Tells every worker that the run is over and gives the frames a moment to leave.
    async fn farewell(&mut self, ending: Ending) {
        if ending == Ending::Interrupted {
            for session in self.sessions.values_mut() {
                session.send(&Message::Shutdown { reason: "the master was asked to stop" }, &self.setup.terms);
            }
        }
        let deadline = Instant::now() + FAREWELL;
        let mut open = self.sessions.values().filter(|session| session.is_connected()).count();
        while open > 0 && Instant::now() < deadline {
            match tokio::time::timeout(FAREWELL, self.setup.inbound.recv()).await {
                Ok(Some(Inbound::Closed { .. })) => open -= 1,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => break,
            }
        }
    }
}
