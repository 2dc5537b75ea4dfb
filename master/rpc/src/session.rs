//! One worker's session: sequence numbers, acknowledgements, replay. Survives its connections.

use super::proof::{Claim, JobKey};
use super::rights::Rights;
use super::unit_terms::UnitTerms;
use compass_plan::Plan;
use compass_proto::session::{Arrival, ReceiveWindow, SendWindow, Seq};
use compass_proto::{MAX_REJECTIONS, PROTOCOL_VERSION, grant_from_wire, intervals_from_wire, intervals_to_wire, v1};
use compass_scheduler::{ConnectionId, HeldGrant, KeptGrant, Message};
use compass_types::ids::{Digest, Epoch, GrantId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;
use std::collections::BTreeMap;
use std::sync::Arc;
use v1::master_frame::Body;

/// Facts of the run that every message needs to know.
#[derive(Clone, Debug)]
pub struct RunParameters {
    pub plan: Digest,
    pub epoch: Epoch,
    pub lease_ttl_ms: u32,
    pub heartbeat_ms: u32,
    /// Longest time for which an engine may compute nothing before its worker ends it; 0 leaves it to the worker.
    pub engine_timeout_ms: u32,
    /// Terms that hold in the pools, by their names.
    pub pools: BTreeMap<String, PoolTerms>,
    /// Key of the proofs that go out with grants.
    pub key: JobKey,
    /// Known facts of units.
    pub units: BTreeMap<UnitId, UnitTerms>,
}

impl RunParameters {
    /// The units of a plan.
    pub fn units_of(plan: &Plan) -> BTreeMap<UnitId, UnitTerms> {
        plan.units().map(|unit| (unit.id, UnitTerms::new(&unit))).collect()
    }

    /// Returns the name by which a person calls a unit; its number where the plan does not have the unit.
    pub fn unit_name(&self, unit: UnitId) -> String {
        self.units.get(&unit).map_or_else(|| format!("unit {unit}"), |unit| unit.name.clone())
    }
}

/// Terms that the workers of one pool are told beside.
#[derive(Clone, Debug, Default)]
pub struct PoolTerms {
    pub offline_continue: bool,
    /// Prefixes of model paths, and what stands in their place there.
    pub paths: Vec<(String, String)>,
}

/// Rejections of one frame before the worker is told to end: it first replaces the frame by the failure of its samples, then
/// by an empty one.
const MOST_REJECTIONS_ANSWERED: u32 = 2 * MAX_REJECTIONS;

/// Action to be taken on a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send this frame, after all that were output for the connection before.
    Frame { connection: ConnectionId, frame: v1::MasterFrame },
    /// End the connection once it has carried these. Nothing follows.
    Close { connection: ConnectionId },
}

/// The frame that turns a worker away; it hears why and ends.
pub fn refusal(reason: String) -> v1::MasterFrame {
    v1::MasterFrame { seq: 0, ack: 0, body: Some(Body::Refused(v1::Refused { reason })) }
}

/// A worker's session, over all of its connections.
///
/// Output to be sent goes into the `out` of each call: the owner of the connections carries it out, and says with
/// [`Self::disconnect`] when one cannot take a frame.
#[derive(Debug)]
pub struct Session {
    worker: WorkerId,
    /// The agent process behind it.
    pub nonce: Arc<str>,
    /// Device type of the worker, as it says itself: `cpu`, `cuda`.
    pub device: String,
    /// Grants under which its results count.
    pub rights: Rights,
    /// The pool that it says it works for.
    pub pool: String,
    /// The version of the protocol that both ends speak.
    pub protocol: u32,
    connection: Option<ConnectionId>,
    /// Set once the connection has had its welcome. Nothing goes before it: a new frame that overtook the replay of an
    /// older one would make the worker take the older one for handled.
    welcomed: bool,
    /// Bodies of our frames; none where it was given up.
    ours: SendWindow<Option<Body>>,
    /// The worker's frames.
    theirs: ReceiveWindow,
    /// The worker's count of its connections, as of the latest.
    dial: u64,
    /// Rejections in a row of frames that have no number.
    hopeless: u32,
}

/// Outcome of the worker's rejection of one of our frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// It is sent again on the next connection.
    Again,
    /// It was rejected too often; an empty frame replaces it.
    GivenUp,
    /// It was a grant, which the worker will not run; an empty frame replaces it. Not sent again: after a reconnect another
    /// frame would carry the samples, and rejections of one frame would never add up.
    Returned(GrantId),
    /// It was a frame without a number, such as a welcome: the worker can never work here.
    Hopeless,
}

impl Session {
    /// A session without a connection yet.
    pub fn new(worker: WorkerId, nonce: String) -> Self {
        Self {
            worker,
            nonce: nonce.into(),
            device: String::new(),
            rights: Rights::default(),
            pool: String::new(),
            protocol: PROTOCOL_VERSION,
            connection: None,
            welcomed: false,
            ours: SendWindow::default(),
            theirs: ReceiveWindow::default(),
            dial: 0,
            hopeless: 0,
        }
    }

    /// Returns whether the worker has opened a later connection than this one, whose hello was faster.
    pub fn is_overtaken(&self, dial: u64) -> bool {
        dial < self.dial
    }

    /// A connection takes over, the `dial`th of the worker; frames up to `last_ack` need no replay, and the worker
    /// continues with `first_seq`.
    pub fn connect(&mut self, id: ConnectionId, dial: u64, last_ack: u64, first_seq: u64, out: &mut Vec<Output>) {
        self.dial = dial;
        self.close(out);
        self.connection = Some(id);
        self.welcomed = false;
        self.theirs.continues_from(first_seq);
        self.ours.rewind();
        self.acknowledged(last_ack);
    }

    /// Begins the session's rights again, with the grants of a hello whose proofs verify; returns those as claims to what
    /// of them is open, and how many do not verify.
    pub fn claims(&mut self, held: Vec<v1::HeldGrant>, terms: &RunParameters) -> (Vec<HeldGrant>, usize) {
        self.rights.reset();
        let presented = held.len();
        let mut claims = Vec::with_capacity(presented);
        for held in held {
            let Ok(grant) = grant_from_wire(held.id) else { continue };
            let (unit, samples) = (UnitId(held.unit), intervals_from_wire(&held.samples));
            let granted = if held.granted.is_empty() { samples.clone() } else { intervals_from_wire(&held.granted) };
            let claim = self.claim(grant, unit, &granted, terms);
            if samples.minus(&granted).is_empty() && terms.key.verifies(claim, &held.proof) {
                self.rights.begin(grant, unit, granted, None);
                claims.push(HeldGrant { grant, unit, samples });
            }
        }
        let void = presented - claims.len();
        (claims, void)
    }

    fn claim<'a>(
        &'a self,
        grant: GrantId,
        unit: UnitId,
        samples: &'a IntervalSet,
        terms: &'a RunParameters,
    ) -> Claim<'a> {
        Claim { plan: &terms.plan, worker: &self.worker.0, nonce: &self.nonce, grant, unit, samples }
    }

    fn proof(&self, grant: GrantId, unit: UnitId, samples: &IntervalSet, terms: &RunParameters) -> Vec<u8> {
        terms.key.proof(self.claim(grant, unit, samples, terms)).to_vec()
    }

    /// Empties the frames of grants that are no longer `live`, so that a replay does not start what others do by now.
    pub fn keep_grants(&mut self, live: impl Fn(&GrantId) -> bool) {
        self.empty(|body| matches!(body, Body::Grant(grant) if !live(&grant_of(grant))));
    }

    /// Empties the frames that tell the worker to go: it has gone, and has come back.
    pub fn stays(&mut self) {
        self.empty(|body| matches!(body, Body::Release(_)));
    }

    fn empty(&mut self, is_void: impl Fn(&Body) -> bool) {
        self.ours.iter_mut().filter(|body| body.as_ref().is_some_and(&is_void)).for_each(|body| *body = None);
    }

    /// Ends the connection in use, if there is one.
    fn close(&mut self, out: &mut Vec<Output>) {
        out.extend(self.connection.take().map(|connection| Output::Close { connection }));
    }

    /// Ends the connection, if it is still the one in use.
    pub fn hang_up(&mut self, id: ConnectionId, out: &mut Vec<Output>) {
        if self.is_current(id) {
            self.close(out);
        }
    }

    /// The connection is down, if it is still the one in use.
    pub fn disconnect(&mut self, id: ConnectionId) {
        if self.is_current(id) {
            self.connection = None;
        }
    }

    /// Returns whether a connection is up.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Returns whether another process is at work under this name: its connection is up, and `nonce` is not its own.
    pub fn belongs_to_another(&self, nonce: &str) -> bool {
        self.is_connected() && *self.nonce != *nonce
    }

    /// Returns whether `id` is the connection in use.
    pub fn is_current(&self, id: ConnectionId) -> bool {
        self.connection == Some(id)
    }

    /// Judges a frame of the worker's by its number.
    pub fn accept(&self, seq: Seq) -> Arrival {
        self.theirs.accept(seq)
    }

    /// The frame was applied.
    pub fn handled(&mut self, seq: Seq) {
        self.theirs.handled(seq);
    }

    /// The worker has handled our frames up to `ack`.
    pub fn acknowledged(&mut self, ack: Seq) {
        self.ours.acknowledged(ack).for_each(drop);
    }

    /// Rejects the next of the worker's frames and closes the connection. A worker that still sends the same frame after
    /// [`MOST_REJECTIONS_ANSWERED`] rejections is told to end.
    pub fn reject(&mut self, reason: String, out: &mut Vec<Output>) {
        let (seq, times) = self.theirs.reject();
        let body = match times {
            0..=MOST_REJECTIONS_ANSWERED => Body::Rejected(v1::Rejected { seq, reason }),
            _ => Body::Refused(v1::Refused { reason: format!("its frame {seq} cannot be taken: {reason}") }),
        };
        self.transmit(0, Some(body), out);
        self.close(out);
    }

    /// Handles the worker's rejection of our frame `seq`.
    pub fn rejected(&mut self, seq: u64) -> Rejection {
        if seq == 0 {
            self.hopeless += 1;
            return if self.hopeless >= MAX_REJECTIONS { Rejection::Hopeless } else { Rejection::Again };
        }
        self.hopeless = 0;
        let is_last = self.ours.rejected(seq) >= MAX_REJECTIONS;
        // The worker does not know the number of a frame that it could not decode: it is the first that it has not handled.
        let known = if self.ours.get(seq).is_some() { seq } else { self.ours.first_seq() };
        let Some(body) = self.ours.get_mut(known) else { return Rejection::Again };
        match body {
            Some(Body::Grant(grant)) => {
                let grant = grant_of(grant);
                *body = None;
                Rejection::Returned(grant)
            }
            _ if is_last => {
                *body = None;
                Rejection::GivenUp
            }
            _ => Rejection::Again,
        }
    }

    /// The consequences of the worker's frames up to `seq` are durable: to be told with the next frame, or by
    /// [`Self::flush`].
    pub fn acknowledge(&mut self, seq: Seq) {
        self.theirs.durable(seq);
    }

    /// Tells what is durable and was not told yet.
    pub fn flush(&mut self, out: &mut Vec<Output>) {
        if self.theirs.owes() {
            self.transmit(0, None, out);
        }
    }

    /// Echoes a heartbeat.
    pub fn heartbeat(&mut self, sent_ms: u64, out: &mut Vec<Output>) {
        self.transmit(0, Some(Body::HeartbeatAck(v1::HeartbeatAck { sent_ms })), out);
    }

    /// Sends a message; kept for replay until acknowledged, but for those that open or refuse a session.
    pub fn send(&mut self, message: &Message, terms: &RunParameters, out: &mut Vec<Output>) {
        match message {
            Message::Welcome { max_slots, kept, .. } => {
                let pool = terms.pools.get(&self.pool);
                let rule = |(from, to): &(String, String)| v1::PathRule { from: from.clone(), to: to.clone() };
                let welcome = v1::Welcome {
                    epoch: terms.epoch.0,
                    plan: terms.plan.0.to_vec(),
                    lease_ttl_ms: terms.lease_ttl_ms,
                    heartbeat_ms: terms.heartbeat_ms,
                    last_ack: self.theirs.last_durable(),
                    max_slots: *max_slots,
                    kept: kept.iter().map(|kept| self.kept_to_wire(kept, terms)).collect(),
                    offline_continue: pool.is_some_and(|pool| pool.offline_continue),
                    engine_timeout_ms: terms.engine_timeout_ms,
                    protocol: self.protocol,
                    run: terms.key.run_id().to_vec(),
                    paths: pool.into_iter().flat_map(|pool| &pool.paths).map(rule).collect(),
                };
                for KeptGrant { held, now } in kept {
                    self.rights.begin(now.grant, now.unit, now.samples.clone(), Some(*held));
                }
                self.welcomed = true;
                self.transmit(0, Some(Body::Welcome(welcome)), out);
                self.transmit_unsent(out);
            }
            Message::Refused { reason } => {
                let body = Some(Body::Refused(v1::Refused { reason: reason.clone() }));
                self.welcomed = true;
                self.transmit(0, body, out);
                self.close(out);
            }
            message => {
                let mut body = body_of(message, terms);
                if let (Message::Grant { grant, unit, samples, .. }, Some(Body::Grant(wire))) = (message, &mut body) {
                    wire.proof = self.proof(*grant, *unit, samples, terms);
                    self.rights.begin(*grant, *unit, samples.clone(), None);
                }
                self.ours.push(body);
                self.transmit_unsent(out);
            }
        }
    }

    fn kept_to_wire(&self, kept: &KeptGrant, terms: &RunParameters) -> v1::KeptGrant {
        let HeldGrant { grant, unit, samples } = &kept.now;
        let now = v1::HeldGrant {
            id: Some((*grant).into()),
            unit: unit.0,
            samples: intervals_to_wire(samples),
            proof: self.proof(*grant, *unit, samples, terms),
            granted: Vec::new(),
        };
        v1::KeptGrant { held: Some(kept.held.into()), now: Some(now) }
    }

    /// Hands the numbered frames to the connection that it has not carried.
    fn transmit_unsent(&mut self, out: &mut Vec<Output>) {
        while self.welcomed
            && self.connection.is_some()
            && let Some((seq, body)) = self.ours.unsent()
        {
            let body = body.clone();
            self.ours.sent(seq);
            self.transmit(seq, body, out);
        }
    }

    /// Hands a frame to the connection, if it has had its welcome.
    fn transmit(&mut self, seq: Seq, body: Option<Body>, out: &mut Vec<Output>) {
        if let Some(connection) = self.connection.filter(|_| self.welcomed) {
            // Every frame says how far all is durable; after a reconnect the welcome does.
            let ack = self.theirs.acknowledge();
            out.push(Output::Frame { connection, frame: v1::MasterFrame { seq, ack, body } });
        }
    }
}

/// The name of a grant of ours.
fn grant_of(grant: &v1::Grant) -> GrantId {
    grant.id.unwrap_or_default().into()
}

fn body_of(message: &Message, terms: &RunParameters) -> Option<Body> {
    Some(match message {
        Message::Grant { grant, unit, samples, slots } => Body::Grant(v1::Grant {
            id: Some((*grant).into()),
            slots: *slots,
            unit: unit.0,
            samples: intervals_to_wire(samples),
            plan: terms.plan.0.to_vec(),
            proof: Vec::new(),
            suspects: terms.units.get(unit).map(|known| known.suspects(samples)).unwrap_or_default(),
            drawn: terms.units.get(unit).map(|known| known.drawn(samples)).unwrap_or_default(),
        }),
        Message::Revoke { grant, samples, reason, only_unbegun } => Body::Revoke(v1::Revoke {
            grant: Some((*grant).into()),
            reason: (*reason).to_owned(),
            samples: samples.as_ref().map(intervals_to_wire).unwrap_or_default(),
            only_unbegun: *only_unbegun,
        }),
        Message::Release => Body::Release(v1::Release {}),
        Message::Shutdown { reason } => Body::Shutdown(v1::Shutdown { reason: (*reason).to_owned() }),
        Message::Welcome { .. } | Message::Refused { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_types::ids::TaskId;

    const TERMS: RunParameters = RunParameters {
        plan: Digest([1; 32]),
        epoch: Epoch(3),
        lease_ttl_ms: 30_000,
        heartbeat_ms: 2_000,
        engine_timeout_ms: 0,
        pools: BTreeMap::new(),
        key: JobKey::new([5; 32]),
        units: BTreeMap::new(),
    };

    fn grant(task: u32) -> Message {
        let grant = GrantId::new(3, task, 1);
        Message::Grant { grant, unit: UnitId(0), samples: IntervalSet::range(0, 2), slots: 1 }
    }

    fn welcome() -> Message {
        Message::Welcome { connection: ConnectionId(1), max_slots: 1, kept: vec![] }
    }

    /// Returns what a connection was told: tasks granted, with "welcome" where it came.
    fn told(out: &mut Vec<Output>, on: u64) -> Vec<String> {
        let say = |output: Output| match output {
            Output::Frame { connection, frame } if connection == ConnectionId(on) => Some(match frame.body {
                Some(Body::Grant(grant)) => format!("{}: grant {}", frame.seq, grant_of(&grant).task),
                Some(Body::Welcome(_)) => "welcome".to_owned(),
                other => format!("{other:?}"),
            }),
            _ => None,
        };
        out.drain(..).filter_map(say).collect()
    }

    #[test]
    fn nothing_overtakes_the_welcome_and_the_replay_after_it() {
        let (mut session, mut out) = (Session::new(WorkerId("w".into()), "s".into()), Vec::new());
        session.connect(ConnectionId(1), 1, 0, 1, &mut out);
        session.send(&welcome(), &TERMS, &mut out);
        session.send(&grant(5), &TERMS, &mut out);
        out.clear();
        session.connect(ConnectionId(2), 2, 0, 1, &mut out);
        assert_eq!(out, [Output::Close { connection: ConnectionId(1) }]);
        // A grant whose record became durable only now, before the answer to the new hello.
        session.send(&grant(6), &TERMS, &mut out);
        session.acknowledge(9);
        session.flush(&mut out);
        assert!(told(&mut out, 2).is_empty());
        session.send(&welcome(), &TERMS, &mut out);
        assert_eq!(told(&mut out, 2), ["welcome", "1: grant 5", "2: grant 6"]);
    }

    #[test]
    fn grants_that_others_have_by_now_are_not_replayed() {
        let (mut session, mut out) = (Session::new(WorkerId("w".into()), "s".into()), Vec::new());
        session.send(&grant(5), &TERMS, &mut out);
        session.send(&grant(6), &TERMS, &mut out);
        session.keep_grants(|grant| grant.task == TaskId(6));
        session.connect(ConnectionId(1), 1, 0, 1, &mut out);
        session.send(&welcome(), &TERMS, &mut out);
        assert_eq!(told(&mut out, 1), ["welcome", "None", "2: grant 6"]);
    }

    #[test]
    fn one_word_says_how_far_all_is_durable() {
        let (mut session, mut out) = (Session::new(WorkerId("w".into()), "s".into()), Vec::new());
        session.connect(ConnectionId(1), 1, 0, 1, &mut out);
        session.send(&welcome(), &TERMS, &mut out);
        (1..5000).for_each(|seq| session.acknowledge(seq));
        session.send(&grant(5), &TERMS, &mut out);
        session.flush(&mut out);
        assert_eq!(told(&mut out, 1), ["welcome", "1: grant 5"], "the grant says it");
        session.acknowledge(5000);
        session.flush(&mut out);
        session.flush(&mut out);
        assert_eq!(told(&mut out, 1).len(), 1);
        assert_eq!(session.ours.len(), 1, "nothing but the grant would be said again");
    }
}
