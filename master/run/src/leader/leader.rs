//! The leader of a job: takes frames, says what is to be sent and what is to be made durable.

use super::costs::Costs;
use super::durability::{DurabilityBarrier, HeldBack, bound_to};
use super::failed_samples::FailedSamples;
use super::pins::{Loaded, Pins};
use super::submission::submission;
use compass_ledger::{Content, Submission};
use compass_plan::engine::UnableKind;
use compass_progress::Refusals;
use compass_proto::session::Arrival;
use compass_proto::{PROTOCOL_VERSION, Protocols, v1};
use compass_rpc::{Output, Parsed, ParsedFrame, Rejection, RunParameters, Session, misfit, refusal};
use compass_scheduler::{
    Capabilities, ConnectionId, Core, Effect, Event, FailureClass, Message, SHUTDOWN, SandboxState, Seq, Violation,
    Watch,
};
use compass_store::{Keys, Op};
use compass_types::ids::{ModelId, WorkerId};
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A load that is said to have taken longer is taken for one of so long.
const MOST_LOAD_SECONDS: f64 = 86_400.0;

/// Content of a frame, beside the scheduler's business: for the facts of the run and the screen.
#[derive(Debug)]
pub enum FrameContent {
    /// Nothing to take note of.
    Nothing,
    /// A number of results.
    Results { count: u64 },
    /// A shard report.
    Report { report: Box<v1::ShardReport> },
    /// Reason for which the worker cannot begin yet; empty where there is nothing.
    Waiting { reason: String },
    /// The worker has room for more: it wants more than before, or gave a grant back. A report ends a grant as well.
    Asks,
    /// Facts of a model, as JSON.
    Facts { model: ModelId, facts: Vec<u8> },
}

/// Outcome of a frame by the weights that it speaks of.
struct Judged {
    counts: bool,
    event: Option<Event>,
}

/// Sessions of the workers, the scheduler, and what waits for durability.
#[derive(Debug)]
pub struct Leader {
    core: Core,
    pub terms: RunParameters,
    keys: Keys,
    /// Only looked up, but at the end.
    pub sessions: HashMap<WorkerId, Session, BuildHasherDefault<DefaultHasher>>,
    barrier: DurabilityBarrier,
    pub pins: Pins,
    pub(super) costs: Costs,
    failed: FailedSamples,
    watch: Watch,
    violations: u64,
    effects: Vec<Effect>,
    /// Outputs for connections that were not yet asked for.
    outputs: Vec<Output>,
    pub refusals: BTreeMap<WorkerId, Refusals>,
}

impl Leader {
    /// A leader without any session yet; `watch` knows what was recorded before it.
    pub fn new(core: Core, terms: RunParameters, keys: Keys, watch: Watch) -> Self {
        let (sessions, barrier, effects) = (HashMap::default(), DurabilityBarrier::default(), Vec::new());
        Self {
            core,
            terms,
            keys,
            sessions,
            barrier,
            pins: Pins::default(),
            costs: Costs::default(),
            failed: FailedSamples::default(),
            watch,
            violations: 0,
            effects,
            outputs: Vec::new(),
            refusals: BTreeMap::new(),
        }
    }

    /// With what the models of the job are pinned to.
    #[must_use]
    pub fn with_pins(self, pins: Pins) -> Self {
        Self { pins, ..self }
    }

    /// With what the answers of endpoints have cost by now.
    #[must_use]
    pub fn with_costs(self, costs: Costs) -> Self {
        Self { costs, ..self }
    }

    /// With the samples that are recorded as failed by now.
    #[must_use]
    pub fn with_failed(self, failed: FailedSamples) -> Self {
        Self { failed, ..self }
    }

    /// Samples that are recorded as failed.
    pub fn failed(&self) -> &FailedSamples {
        &self.failed
    }

    /// Takes what is to be done with connections since the last call, in this order. One that cannot take a frame is to
    /// be [closed](Self::closed): the worker dials again, and hears all that it has not acknowledged.
    pub fn outputs(&mut self) -> std::vec::Drain<'_, Output> {
        self.outputs.drain(..)
    }

    /// The scheduler, to be asked.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// Returns the number of times that a rule was broken; each time is logged.
    pub fn violations(&self) -> u64 {
        self.violations
    }

    /// A stream is up and said who it is. Whether the worker was let in.
    pub fn hello(&mut self, now: u64, connection: ConnectionId, hello: v1::Hello, out: &mut Vec<Submission>) -> bool {
        if let Some(reason) = misfit(&hello) {
            tracing::warn!(worker = hello.worker, reason, "refused a worker");
            self.refuse(connection, reason);
            return false;
        }
        let protocol = Protocols::OURS.common(Protocols::from(&hello));
        let worker = WorkerId(hello.worker);
        // Were the newcomer let in, the two would throw each other out indefinitely and finish nothing.
        if self.sessions.get(&worker).is_some_and(|session| session.belongs_to_another(&hello.session)) {
            let text = format!("a worker named {worker} is connected already; give this one another --name");
            tracing::warn!(%worker, "refused a worker whose name another one has");
            self.refuse(connection, text);
            return false;
        }
        let session =
            self.sessions.entry(worker.clone()).or_insert_with(|| Session::new(worker.clone(), hello.session.clone()));
        if *session.nonce != *hello.session {
            *session = Session::new(worker.clone(), hello.session.clone());
            self.pins.begins_anew(&worker);
        }
        if session.is_overtaken(hello.dial) {
            tracing::info!(%worker, dial = hello.dial, "a hello came after that of a later connection; it is void");
            self.outputs.push(Output::Close { connection });
            return false;
        }
        session.pool.clone_from(&hello.pool);
        // A peer without a common version was refused before.
        session.protocol = protocol.unwrap_or(PROTOCOL_VERSION);
        session.device.clone_from(&hello.device);
        session.connect(connection, hello.dial, hello.last_ack, hello.first_seq, &mut self.outputs);
        let presented = session.claims(hello.held, &self.terms);
        let sandbox = match hello.sandbox {
            None => SandboxState::Unknown,
            Some(sandbox) if sandbox.refusal.is_empty() => SandboxState::Works,
            Some(sandbox) => SandboxState::Refused { reason: sandbox.refusal },
        };
        let (session, slots, has_engine) = (hello.session, hello.slots, hello.has_engine);
        let (pool, host) = (hello.pool, hello.host);
        let capabilities = Capabilities { session, slots, has_engine, sandbox, pool, host };
        let (held, void) = presented;
        self.claims_are_void(&worker, void);
        let event = Event::Attached { worker: worker.clone(), connection, capabilities, held };
        self.decide(now, event, out);
        if let Some(session) = self.sessions.get_mut(&worker) {
            // What the hello did not list has gone back into the queue: no replay may start it.
            session.keep_grants(|grant| self.core.is_live(&worker, grant));
            if !self.core.is_going(&worker) {
                session.stays();
            }
        }
        self.let_out();
        true
    }

    /// Turns a worker away that has no session.
    fn refuse(&mut self, connection: ConnectionId, reason: String) {
        self.outputs.push(Output::Frame { connection, frame: refusal(reason) });
        self.outputs.push(Output::Close { connection });
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
        frame: impl Into<ParsedFrame>,
        out: &mut Vec<Submission>,
    ) -> FrameContent {
        let frame: ParsedFrame = frame.into();
        let Some(session) = self.sessions.get_mut(&worker).filter(|session| session.is_current(connection)) else {
            return FrameContent::Nothing;
        };
        session.acknowledged(frame.ack);
        match session.accept(frame.seq) {
            Arrival::New => {}
            Arrival::Repeat => return FrameContent::Nothing,
            Arrival::Gap => {
                tracing::warn!(%worker, seq = frame.seq, "cut off a worker whose frames are out of order");
                self.cut_off(now, worker, connection, out);
                return FrameContent::Nothing;
            }
        }
        let mut heard = FrameContent::Nothing;
        let said = match frame.body {
            Ok(said) => said,
            Err(error) => {
                self.reject(now, worker, connection, frame.seq > 0, error.to_string(), out);
                return FrameContent::Nothing;
            }
        };
        let judged = self.judge_weights(&worker, &said);
        if let Some(event) = judged.event {
            self.apply(now, event, out);
        }
        match if judged.counts { said } else { Parsed::Nothing } {
            Parsed::Nothing => {}
            Parsed::Rejected { seq, reason } => {
                self.rejected(now, worker, connection, seq, &reason, out);
                return FrameContent::Nothing;
            }
            Parsed::Facts { model, facts, load } => {
                if let Some(load) = load {
                    let ms = (load.seconds.clamp(0.0, MOST_LOAD_SECONDS) * 1000.0) as u64;
                    let event = Event::Loaded { worker: worker.clone(), model, slot: load.slot, ms };
                    self.apply(now, event, out);
                }
                heard = FrameContent::Facts { model, facts };
            }
            Parsed::Heartbeat { sent_ms, waiting } => {
                heard = FrameContent::Waiting { reason: waiting };
                if let Some(session) = self.sessions.get_mut(&worker) {
                    session.heartbeat(sent_ms, &mut self.outputs);
                }
                self.apply(now, Event::Heartbeat { worker: worker.clone() }, out);
            }
            Parsed::Results(handed) => heard = self.results(now, &worker, handed, out),
            Parsed::Report { grant, unit, samples, busy_ms, bytes, report } => {
                if self.may_report(now, &worker, &grant, unit, out) {
                    heard = FrameContent::Report { report };
                    self.ends_right(&worker, &grant);
                    let event = Event::Report { worker: worker.clone(), grant, unit, samples, busy_ms, report: bytes };
                    self.apply(now, event, out);
                }
            }
            Parsed::Failed { grant, class, message } => {
                heard = FrameContent::Asks;
                // A report on the samples that had room follows.
                if class != FailureClass::NoRoom {
                    self.ends_right(&worker, &grant);
                }
                self.apply(now, Event::Failed { worker: worker.clone(), grant, class, message }, out);
            }
            Parsed::Returned { grant, samples, held, unbegun } => {
                match held {
                    true => self.shrinks_right(&worker, &grant, &samples),
                    false => self.ends_right(&worker, &grant),
                }
                if !held {
                    heard = FrameContent::Asks;
                }
                if unbegun {
                    let samples = samples.clone();
                    self.apply(now, Event::Unbegun { worker: worker.clone(), grant, samples }, out);
                }
                self.apply(now, Event::Returned { worker: worker.clone(), grant, samples, held }, out);
            }
            Parsed::Credit { grants } => {
                if grants > 0 {
                    heard = FrameContent::Asks;
                }
                self.apply(now, Event::Credit { worker: worker.clone(), grants }, out);
            }
            Parsed::Draining { reason } => {
                tracing::info!(%worker, reason, "worker is draining");
                self.apply(now, Event::Draining { worker: worker.clone() }, out);
            }
        }
        if frame.seq > 0
            && let Some(session) = self.sessions.get_mut(&worker)
        {
            session.handled(frame.seq);
            let (nonce, after) = (session.nonce.clone(), self.core.last_seq());
            let violation = self.watch.acknowledges(after);
            self.broken(violation);
            self.barrier.push(after, HeldBack::Acknowledge { worker, nonce, seq: frame.seq });
            self.let_out();
        }
        heard
    }

    /// Rejects the next frame of a connection, which cannot be decoded: it is too large, or its content is not a body.
    pub fn unreadable(
        &mut self,
        now: u64,
        worker: WorkerId,
        connection: ConnectionId,
        reason: String,
        out: &mut Vec<Submission>,
    ) {
        if self.sessions.get(&worker).is_some_and(|session| session.is_current(connection)) {
            self.reject(now, worker, connection, true, reason, out);
        }
    }

    /// Closes a connection over a malformed frame. Where the worker would replay the frame, it is told which one it was.
    fn reject(
        &mut self,
        now: u64,
        worker: WorkerId,
        connection: ConnectionId,
        numbered: bool,
        reason: String,
        out: &mut Vec<Submission>,
    ) {
        tracing::warn!(%worker, reason, "cut off a worker that sent a malformed frame");
        if let Some(session) = self.sessions.get_mut(&worker).filter(|_| numbered) {
            session.reject(reason, &mut self.outputs);
        }
        self.cut_off(now, worker, connection, out);
    }

    /// Handles a worker's rejection of one of our frames, after which it closes the connection.
    fn rejected(
        &mut self,
        now: u64,
        worker: WorkerId,
        connection: ConnectionId,
        seq: u64,
        reason: &str,
        out: &mut Vec<Submission>,
    ) {
        let Some(session) = self.sessions.get_mut(&worker) else { return };
        let rejection = session.rejected(seq);
        tracing::warn!(%worker, seq, reason, ?rejection, "a worker cannot take a frame");
        match rejection {
            Rejection::Again | Rejection::GivenUp => {}
            Rejection::Hopeless => {
                let reason = format!("it cannot read what this master sends: {reason}");
                session.send(&Message::Refused { reason }, &self.terms, &mut self.outputs);
            }
            Rejection::Returned(grant) => {
                let message = format!("worker {worker} cannot take the grant: {reason}");
                let class = FailureClass::Infrastructure;
                self.apply(now, Event::Failed { worker: worker.clone(), grant, class, message }, out);
            }
        }
        self.cut_off(now, worker, connection, out);
    }

    /// Ends a connection for the worker's own fault.
    fn cut_off(&mut self, now: u64, worker: WorkerId, connection: ConnectionId, out: &mut Vec<Submission>) {
        if let Some(session) = self.sessions.get_mut(&worker) {
            session.hang_up(connection, &mut self.outputs);
        }
        self.closed(now, worker, connection, out);
    }

    /// Judges a frame by the weights that a worker loaded or computed with, and by its device, and decides whether it
    /// counts.
    fn judge_weights(&mut self, worker: &WorkerId, said: &Parsed) -> Judged {
        let unable = |model, kind, text| Event::Unable { worker: worker.clone(), model, kind, text };
        let (counts, event) = match said {
            Parsed::Facts { model, facts, .. } => match self.pins.loaded(worker, *model, facts) {
                Loaded::Fits => (true, None),
                // Plain data always serialises.
                Loaded::First(pin) => match serde_json::to_vec(&pin) {
                    Ok(pin) => (true, Some(Event::Pinned { worker: worker.clone(), model: *model, pin })),
                    Err(error) => (false, Some(unable(*model, UnableKind::Content, error.to_string()))),
                },
                Loaded::Differs(refusal) => (false, Some(unable(*model, refusal.kind, refusal.text))),
            },
            Parsed::Results(results) => {
                let model = self.pins.model_of(results.unit);
                let known = self.pins.is_refused(worker, model);
                match self.pins.admit(worker, results.unit, &results.weights, &results.device) {
                    Ok(()) => (!known, None),
                    Err(refusal) => (false, (!known).then(|| unable(model, refusal.kind, refusal.text))),
                }
            }
            // It tells of samples that did not count.
            Parsed::Report { unit, .. } => (!self.pins.is_refused(worker, self.pins.model_of(*unit)), None),
            _ => (true, None),
        };
        Judged { counts, event }
    }

    /// Lets the scheduler decide and carries out what needs no record; the rest is for `out` to make durable.
    pub fn apply(&mut self, now: u64, event: Event, out: &mut Vec<Submission>) {
        self.decide(now, event, out);
        self.let_out();
    }

    pub fn decide(&mut self, now: u64, event: Event, out: &mut Vec<Submission>) {
        if matches!(event, Event::Cancel { .. }) {
            self.watch.cancelled();
        }
        let mut effects = std::mem::take(&mut self.effects);
        self.core.apply(now, event, &mut effects);
        for violation in self.core.take_violations() {
            self.broken(Some(violation));
        }
        for effect in effects.drain(..) {
            let violation = self.watch.observe(&effect);
            self.broken(violation);
            match effect {
                Effect::Persist { seq, record } => {
                    self.name_divergence(&record);
                    self.failed.observe(&record);
                    out.push(submission(seq, record));
                }
                Effect::Send { worker, message, after } => {
                    let nonce = self.sessions.get(&worker).map(|session| session.nonce.clone());
                    let nonce = nonce.unwrap_or_default();
                    self.barrier.push(after, HeldBack::Send { worker, nonce, message });
                }
                Effect::Disconnect { worker, connection } => {
                    if let Some(session) = self.sessions.get_mut(&worker) {
                        session.hang_up(connection, &mut self.outputs);
                    }
                }
                Effect::Note { text } => tracing::warn!("{text}"),
                Effect::Event { text } => tracing::info!("{text}"),
            }
        }
        self.effects = effects;
    }

    fn broken(&mut self, violation: Option<Violation>) {
        let Some(Violation { id, detail }) = violation else { return };
        self.violations += 1;
        tracing::error!(id, detail, "an invariant of the scheduler is broken");
    }

    /// Everything up to `up_to` is durable: what waited for it leaves.
    pub fn durable(&mut self, up_to: Seq) {
        self.barrier.raise(up_to);
        self.let_out();
    }

    pub(super) fn let_out(&mut self) {
        let mut owed: Vec<WorkerId> = Vec::new();
        let mut leaving = Vec::new();
        // First all that is durable by now, so that the frames which leave anyway say so.
        while let Some(held) = self.barrier.next() {
            match held {
                HeldBack::Send { worker, nonce, message } => leaving.push((worker, nonce, message)),
                HeldBack::Acknowledge { worker, nonce, seq } => {
                    if let Some(session) = self.sessions.get_mut(&worker).filter(|session| session.nonce == nonce) {
                        session.acknowledge(seq);
                        // Those of one worker mostly come in a row; once told, it is owed nothing.
                        if owed.last() != Some(&worker) {
                            owed.push(worker);
                        }
                    }
                }
            }
        }
        for (worker, nonce, message) in leaving {
            // By now the worker may be another process or on another connection, the grant somebody else's.
            let stale = matches!(&message, Message::Grant { grant, .. } if !self.core.may_leave(&worker, grant));
            let session = self.sessions.get_mut(&worker).filter(|session| session.nonce == nonce && !stale);
            let session = session.filter(|session| bound_to(&message).is_none_or(|at| session.is_current(at)));
            if let Some(session) = session {
                session.send(&message, &self.terms, &mut self.outputs);
            }
        }
        for worker in owed {
            if let Some(session) = self.sessions.get_mut(&worker) {
                session.flush(&mut self.outputs);
            }
        }
    }

    /// Returns whether the job is over and everything about it is durable and told.
    pub fn is_settled(&self) -> bool {
        self.core.is_finished() && self.barrier.is_settled(self.core.last_seq())
    }

    /// Returns whether a worker's stream is up.
    pub fn is_connected(&self, worker: &WorkerId) -> bool {
        self.sessions.get(worker).is_some_and(Session::is_connected)
    }

    /// Returns whether the frames of this connection are taken in: it is the worker's latest, and is not cut off.
    pub fn is_current(&self, worker: &WorkerId, connection: ConnectionId) -> bool {
        self.sessions.get(worker).is_some_and(|session| session.is_current(connection))
    }

    /// Returns the number of connected workers.
    pub fn connected(&self) -> usize {
        self.sessions.values().filter(|session| session.is_connected()).count()
    }

    /// Returns whether every connected worker has said its last of what it was granted: its report of the last samples
    /// comes after their results, and may have to be uploaded.
    pub fn has_heard_all(&self) -> bool {
        self.sessions.values().filter(|session| session.is_connected()).all(|session| session.rights.is_empty())
    }

    /// Tells every worker that nothing is left to do.
    pub fn dismiss(&mut self) {
        for session in self.sessions.values_mut() {
            session.send(&SHUTDOWN, &self.terms, &mut self.outputs);
        }
    }

    /// Tells every worker to end; the next leader need not wait for them.
    pub fn shut_down(&mut self, reason: &'static str, out: &mut Vec<Submission>) {
        let (key, value) = (self.keys.released(), self.terms.epoch.0.to_le_bytes().to_vec());
        out.push(Submission { seq: self.core.last_seq(), content: Content::Op(Op::Put { key, value }) });
        for session in self.sessions.values_mut() {
            session.send(&Message::Shutdown { reason }, &self.terms, &mut self.outputs);
        }
    }

    /// The scheduler, at the end.
    pub fn into_core(self) -> Core {
        self.core
    }
}
