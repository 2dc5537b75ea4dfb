//! See the module: frames in, frames and submissions out.

use super::gate::{Gate, Gated, bound_to};
use super::submission::submission;
use crate::core::{
    Capabilities, ConnectionId, Core, Effect, Event, GrantRef, HeldGrant, Message, SandboxState, Seq, Watch,
};
use crate::ledger::{Content, Submission};
use crate::rpc::{Parsed, Session, Terms, Uploads, parse_frame, refuse};
use crate::store::{Keys, Op};
use compass_common::ids::{Attempt, Epoch, TaskId, UnitId, WorkerId};
use compass_proto::{intervals_from_wire, v1};
use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use tokio::sync::mpsc;
use tonic::Status;

/// What a frame told, beside the scheduler's business: for the facts of the run and the screen.
#[derive(Debug)]
pub enum Heard {
    /// Nothing to take note of.
    Nothing,
    /// So many results.
    Results { count: u64 },
    /// A shard report, encoded.
    Report { unit: UnitId, report: Vec<u8> },
    /// Facts of a model, as JSON.
    Facts { model: u32, facts: Vec<u8> },
}

/// See the module.
#[derive(Debug)]
pub struct Leader {
    core: Core,
    terms: Terms,
    keys: Keys,
    /// Only looked up, but at the end.
    sessions: HashMap<WorkerId, Session, BuildHasherDefault<DefaultHasher>>,
    gate: Gate,
    watch: Watch,
    violations: u64,
    effects: Vec<Effect>,
}

impl Leader {
    /// A leader that has heard nobody yet; `watch` knows what was recorded before it.
    pub fn new(core: Core, terms: Terms, keys: Keys, watch: Watch) -> Self {
        let (sessions, gate, effects) = (HashMap::default(), Gate::default(), Vec::new());
        Self { core, terms, keys, sessions, gate, watch, violations: 0, effects }
    }

    /// The scheduler, to be asked.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// How often a rule was broken; each time is logged.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// Grants leave before their attempt is durable from here on: for the simulation, which must find out.
    #[cfg(any(test, feature = "simulation"))]
    pub fn leak_grants(&mut self) {
        self.gate.leaks_grants = true;
    }

    /// A stream is up and said who it is. Whether the worker was let in.
    pub fn hello(
        &mut self,
        now: u64,
        connection: ConnectionId,
        hello: v1::Hello,
        outbound: mpsc::Sender<Result<v1::MasterFrame, Status>>,
        out: &mut Vec<Submission>,
    ) -> bool {
        let worker = WorkerId(hello.worker);
        // Were the newcomer let in, the two would throw each other out for ever and finish nothing.
        if self.sessions.get(&worker).is_some_and(|session| session.belongs_to_another(&hello.session)) {
            let text = format!("a worker named {worker} is connected already; give this one another --name");
            tracing::warn!(%worker, "refused a worker whose name another one has");
            refuse(&outbound, text);
            return false;
        }
        let session = self.sessions.entry(worker.clone()).or_insert_with(|| Session::new(hello.session.clone()));
        if *session.nonce != *hello.session {
            *session = Session::new(hello.session.clone());
        }
        if session.is_overtaken(hello.dial) {
            tracing::info!(%worker, dial = hello.dial, "a hello came after that of a later connection; it is void");
            return false;
        }
        session.pool.clone_from(&hello.pool);
        session.connect(connection, outbound, hello.dial, hello.last_ack, hello.first_seq);
        let sandbox = match hello.sandbox {
            None => SandboxState::Unknown,
            Some(sandbox) if sandbox.refusal.is_empty() => SandboxState::Works,
            Some(sandbox) => SandboxState::Refused { reason: sandbox.refusal },
        };
        let (session, slots, has_engine, pool) = (hello.session, hello.slots, hello.has_engine, hello.pool);
        let capabilities = Capabilities { session, slots, has_engine, sandbox, pool };
        let held = hello.held.into_iter().map(|held| HeldGrant {
            grant: GrantRef { epoch: Epoch(held.epoch), task: TaskId(held.task), attempt: Attempt(held.attempt) },
            unit: UnitId(held.unit),
            samples: intervals_from_wire(&held.samples),
        });
        let event = Event::Attached { worker: worker.clone(), connection, capabilities, held: held.collect() };
        self.decide(now, event, out);
        if let Some(session) = self.sessions.get_mut(&worker) {
            // What the hello did not list has gone back into the queue: no replay may start it.
            session.keep_grants(|grant| self.core.is_live(&worker, grant));
        }
        self.let_out();
        true
    }

    /// A stream is down.
    pub fn closed(&mut self, now: u64, worker: WorkerId, connection: ConnectionId, out: &mut Vec<Submission>) {
        if let Some(session) = self.sessions.get_mut(&worker) {
            session.disconnect(connection);
        }
        self.apply(now, Event::Detached { worker, connection }, out);
    }

    /// A frame of a connection; of one that is no longer current, nothing.
    pub fn frame(
        &mut self,
        now: u64,
        worker: WorkerId,
        connection: ConnectionId,
        frame: v1::WorkerFrame,
        uploads: &Uploads,
        out: &mut Vec<Submission>,
    ) -> Heard {
        let Some(session) = self.sessions.get_mut(&worker).filter(|session| session.is_current(connection)) else {
            return Heard::Nothing;
        };
        session.acknowledged(frame.ack);
        if !session.is_new(frame.seq) {
            uploads.discard(&frame);
            return Heard::Nothing;
        }
        if !session.follows(frame.seq) {
            tracing::warn!(%worker, seq = frame.seq, "cut off a worker whose frames are out of order");
            self.closed(now, worker, connection, out);
            return Heard::Nothing;
        }
        let mut heard = Heard::Nothing;
        match parse_frame(&worker, frame.body, &self.terms.plan, uploads) {
            Err(error) => {
                tracing::warn!(%worker, %error, "cut off a worker that sent a malformed frame");
                self.closed(now, worker, connection, out);
                return Heard::Nothing;
            }
            Ok(Parsed::Nothing) => {}
            Ok(Parsed::Facts { model, facts }) => heard = Heard::Facts { model, facts },
            Ok(Parsed::Heartbeat { sent_ms }) => {
                session.heartbeat(sent_ms);
                self.apply(now, Event::Heartbeat { worker: worker.clone() }, out);
            }
            Ok(Parsed::Event(event)) => {
                match &event {
                    Event::Results { samples, .. } => heard = Heard::Results { count: samples.len() as u64 },
                    Event::Report { unit, report, .. } => heard = Heard::Report { unit: *unit, report: report.clone() },
                    _ => {}
                }
                self.apply(now, event, out);
            }
        }
        if frame.seq > 0
            && let Some(session) = self.sessions.get_mut(&worker)
        {
            session.handled(frame.seq);
            let nonce = session.nonce.clone();
            self.gate.push(self.core.last_seq(), Gated::Acknowledge { worker, nonce, seq: frame.seq });
            self.let_out();
        }
        heard
    }

    /// Lets the scheduler decide and carries out what needs no record; the rest is for `out` to make durable.
    pub fn apply(&mut self, now: u64, event: Event, out: &mut Vec<Submission>) {
        self.decide(now, event, out);
        self.let_out();
    }

    fn decide(&mut self, now: u64, event: Event, out: &mut Vec<Submission>) {
        if matches!(event, Event::Cancel { .. }) {
            self.watch.cancelled();
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.core.apply(now, event, &mut effects);
        for effect in effects.drain(..) {
            if let Some(violation) = self.watch.observe(&effect) {
                self.violations += 1;
                tracing::error!(
                    id = violation.id,
                    detail = violation.detail,
                    "an invariant of the scheduler is broken"
                );
            }
            match effect {
                Effect::Persist { seq, record } => out.push(submission(seq, record)),
                Effect::Send { worker, message, after } => {
                    let nonce = self.sessions.get(&worker).map(|session| session.nonce.clone());
                    let nonce = nonce.unwrap_or_default();
                    self.gate.push(after, Gated::Send { worker, nonce, message });
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
    }

    /// Everything up to `up_to` is durable: what waited for it leaves.
    pub fn durable(&mut self, up_to: Seq) {
        self.gate.open(up_to);
        self.let_out();
    }

    fn let_out(&mut self) {
        let mut owed: BTreeSet<WorkerId> = BTreeSet::new();
        let mut leaving = Vec::new();
        // First all that is durable by now, so that the frames which leave anyway say so.
        while let Some(gated) = self.gate.next() {
            match gated {
                Gated::Send { worker, nonce, message } => leaving.push((worker, nonce, message)),
                Gated::Acknowledge { worker, nonce, seq } => {
                    if let Some(session) = self.sessions.get_mut(&worker).filter(|session| session.nonce == nonce) {
                        session.acknowledge(seq);
                        owed.insert(worker);
                    }
                }
            }
        }
        for (worker, nonce, message) in leaving {
            // By now the worker may be another process or on another connection, the grant somebody else's.
            let stale = matches!(&message, Message::Grant { grant, .. } if !self.core.is_live(&worker, grant));
            let session = self.sessions.get_mut(&worker).filter(|session| session.nonce == nonce && !stale);
            let session = session.filter(|session| bound_to(&message).is_none_or(|at| session.is_current(at)));
            if let Some(session) = session {
                session.send(&message, &self.terms);
            }
        }
        for worker in owed {
            if let Some(session) = self.sessions.get_mut(&worker) {
                session.flush();
            }
        }
    }

    /// Whether the job is over and everything about it is durable and told.
    pub fn is_settled(&self) -> bool {
        self.core.is_finished() && self.gate.is_settled(self.core.last_seq())
    }

    /// Whether a worker's stream is up.
    pub fn is_connected(&self, worker: &WorkerId) -> bool {
        self.sessions.get(worker).is_some_and(Session::is_connected)
    }

    /// How many workers are connected.
    pub fn connected(&self) -> usize {
        self.sessions.values().filter(|session| session.is_connected()).count()
    }

    /// Tells every worker to end; the next leader need not wait for them.
    pub fn shut_down(&mut self, reason: &'static str, out: &mut Vec<Submission>) {
        let (key, value) = (self.keys.released(), self.terms.epoch.0.to_le_bytes().to_vec());
        out.push(Submission { seq: self.core.last_seq(), content: Content::Op(Op::Put { key, value }) });
        for session in self.sessions.values_mut() {
            session.send(&Message::Shutdown { reason }, &self.terms);
        }
    }

    /// The scheduler, at the end.
    pub fn into_core(self) -> Core {
        self.core
    }
}
