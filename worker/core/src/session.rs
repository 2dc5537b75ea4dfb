//! The core of the agent: what it knows, and the life of its connections.

use super::connect_error::ConnectError;
use super::credit_control::CreditControl;
use super::drain::Drain;
use super::ending::Ending;
use super::grants::Grants;
use super::idle_time::IdleTimeMeter;
use super::lease::Lease;
use super::order::ModelOrder;
use super::outbox::Outbox;
use super::output::Output;
use super::parts::{PART_CACHE_BYTES, PartCache};
use super::result_batch::ResultBatches;
use super::send::upload_pauses;
use super::slots::SlotState;
use super::spool::SpoolFile;
use compass_common::backoff::{self, FullJitter};
use compass_plan::Plan;
use compass_proto::session::ReceiveWindow;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use compass_types::ids::{Digest, Epoch, ModelId, UnitId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use v1::worker_frame::Body;

/// How long an open stream may stay without a welcome.
const WELCOME_TIMEOUT_MS: u64 = 10_000;

/// Longest pause between two attempts to reach the one master.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The same where another master may lead by now: who waits long is missing when the new leader asks who holds what.
const LONGEST_PAUSE_OF_MANY: Duration = Duration::from_secs(1);

/// The agent looks at its clock far more often, unless it was stopped.
const LONGEST_TURN_MS: u64 = 3_000;

/// A stream is not given up for a shorter silence, whatever the master's terms.
const LEAST_SILENCE_MS: u64 = 5_000;

/// What engines must be told of a unit, encoded once.
#[derive(Clone, Debug)]
pub(super) struct UnitOrder {
    pub(super) model: Arc<ModelOrder>,
    pub(super) spec: Arc<Vec<u8>>,
}

/// The terms of the master that welcomed this worker last.
#[derive(Clone, Debug)]
pub(super) struct Terms {
    pub(super) epoch: Epoch,
    pub(super) plan: Digest,
    pub(super) lease_ttl_ms: u64,
    pub(super) heartbeat_ms: u64,
    pub(super) active_slots: usize,
    /// Whether samples that were granted are begun although no master renews the lease.
    pub(super) offline_continue: bool,
    /// How long an engine may compute nothing.
    pub(super) engine_timeout: Duration,
    /// Beginnings of model paths and what stands in their place here.
    pub(super) paths: Vec<(String, String)>,
}

/// An open stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) hello_sent_ms: u64,
    pub(super) welcomed: bool,
    /// When the master last said that there is nothing to do yet.
    pub(super) asked_to_wait_ms: u64,
    /// The master's frames on this stream: after the welcome it goes on with any number.
    pub(super) received: ReceiveWindow,
    /// Attachments up to this seq of ours are at the master.
    pub(super) uploaded: u64,
    pub(super) uploading: bool,
    pub(super) upload_pauses: FullJitter,
    /// Whether the master had no room for the last upload.
    pub(super) upload_waits: bool,
}

/// What an agent is told and finds when it starts, and does not look for again.
#[derive(Clone, Debug)]
pub struct Boot {
    /// Unique among the master's workers.
    pub name: String,
    /// Names this process: two of the same worker have two.
    pub session: String,
    /// The pool that it works for; empty where nobody said one.
    pub pool: String,
    /// Name of the host.
    pub host: String,
    /// `host:port` of every master that may lead; never empty.
    pub masters: Vec<String>,
    /// How long to go on without a word from any master.
    pub master_lost_timeout: Duration,
    /// Engines at once.
    pub slots: u32,
    /// The device that engines are told: `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// `cpu` or `cuda`, as far as one can tell before an engine has looked.
    pub device_kind: &'static str,
    /// Whether real models can be run, or only the echo engine.
    pub has_engine: bool,
    /// What was found out about running programs; `None` when nobody looked.
    pub sandbox: Option<v1::Sandbox>,
    /// Whether programs can be run.
    pub runs_programs: bool,
    /// Of the pauses between tries.
    pub seed: u64,
}

/// Decides all that a worker does, and does nothing itself: [`AgentCore::step`] takes what has happened and says what is to
/// be done.
#[derive(Debug)]
pub struct AgentCore {
    pub(super) boot: Boot,
    /// The time of the step under way, in milliseconds since the agent began.
    pub(super) now_ms: u64,
    /// What is to be done, as far as the step under way has got.
    pub(super) outputs: Vec<Output>,
    /// The master that is dialled now or next.
    master: usize,
    pub(super) link: u64,
    backoff: FullJitter,
    pub(super) stream: Option<Stream>,
    last_heard_ms: u64,
    /// When [`Self::check_silence`] looked last.
    last_check_ms: u64,
    pub(super) next_heartbeat_ms: u64,
    /// Frames that are not replayed: heartbeats and credit. At most one of each kind.
    pub(super) control: VecDeque<Body>,
    pub(super) outbox: Outbox,
    pub(super) result_batches: ResultBatches,
    pub(super) lease: Lease,
    pub(super) credit_control: CreditControl,
    /// Grants that the master was last told would be held.
    pub(super) credit: u32,
    pub(super) idle_time: IdleTimeMeter,
    pub(super) terms: Option<Terms>,
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) unit_orders: BTreeMap<UnitId, UnitOrder>,
    pub(super) parts: PartCache,
    pub(super) fetching: BTreeSet<Digest>,
    pub(super) grants: Grants,
    pub(super) slots: Vec<SlotState>,
    pub(super) last_batch: u64,
    /// `ModelFacts` as JSON by the model's position in the plan.
    pub(super) facts: BTreeMap<ModelId, Vec<u8>>,
    /// How long models took to load here, in milliseconds, by their position in the plan.
    pub(super) loads: BTreeMap<ModelId, f64>,
    /// How long a sample of a model takes a slot, in milliseconds: all of them and their number.
    pub(super) sample_ms: BTreeMap<ModelId, (f64, f64)>,
    pub(super) drain: Option<Drain>,
    /// Whether another job waits for this worker: it dials again when nothing is left of this one.
    pub(super) released: bool,
    pub(super) ending: Option<Ending>,
    /// Whether a frame waits until the connection has room.
    pub(super) wants_to_send: bool,
}

fn new_backoff(boot: &Boot, link: u64) -> FullJitter {
    let longest = if boot.masters.len() > 1 { LONGEST_PAUSE_OF_MANY } else { LONGEST_PAUSE };
    backoff::seeded_policy(Duration::from_millis(200), longest, boot.seed.wrapping_add(link))
}

impl AgentCore {
    /// A core that has not dialled yet. What it puts aside for want of memory goes to `spool`.
    pub fn new(boot: Boot, spool: Box<dyn SpoolFile>) -> Self {
        let slots = (0..boot.slots).map(|_| SlotState::default()).collect();
        Self {
            now_ms: 0,
            outputs: Vec::new(),
            master: 0,
            link: 0,
            backoff: new_backoff(&boot, 0),
            boot,
            stream: None,
            last_heard_ms: 0,
            last_check_ms: 0,
            next_heartbeat_ms: 0,
            control: VecDeque::new(),
            outbox: Outbox::new(spool),
            result_batches: ResultBatches::default(),
            lease: Lease::default(),
            credit_control: CreditControl::default(),
            credit: 0,
            idle_time: IdleTimeMeter::default(),
            terms: None,
            plan: None,
            unit_orders: BTreeMap::new(),
            parts: PartCache::new(PART_CACHE_BYTES),
            fetching: BTreeSet::new(),
            grants: Grants::default(),
            slots,
            last_batch: 0,
            facts: BTreeMap::new(),
            loads: BTreeMap::new(),
            sample_ms: BTreeMap::new(),
            drain: None,
            released: false,
            ending: None,
            wants_to_send: false,
        }
    }

    /// Dials after `pause`; what was connected before is closed.
    pub(super) fn dial(&mut self, pause: Duration) {
        self.stream = None;
        self.control.clear();
        // The hello lists all that is held, and what is under way to the master is held until it is acknowledged.
        for grant in self.result_batches.grants() {
            self.send_results(grant);
        }
        self.link += 1;
        let hello = v1::Hello {
            protocol: PROTOCOL_VERSION,
            oldest_protocol: OLDEST_PROTOCOL,
            worker: self.boot.name.clone(),
            session: self.boot.session.clone(),
            slots: self.boot.slots,
            device: self.boot.device_kind.to_owned(),
            has_engine: self.boot.has_engine,
            held: self.grants.to_wire(self.outbox.unacknowledged()),
            // A master that forgot this session counts from 1 again, and ours would make it drop what was never here.
            // What it was told is handled it knows from the frames; the rest comes again, and twice is harmless.
            last_ack: 0,
            dial: self.link,
            first_seq: self.outbox.first_seq(),
            sandbox: self.boot.sandbox.clone(),
            plan: self.terms.as_ref().map(|terms| terms.plan.0.to_vec()).unwrap_or_default(),
            models: self.models_held(),
            pool: self.boot.pool.clone(),
            host: self.boot.host.clone(),
        };
        self.outputs.push(Output::Dial { link: self.link, master: self.master, pause, hello: Box::new(hello) });
    }

    /// The connection is open, and its hello has left.
    pub(super) fn opened(&mut self, hello_sent_ms: u64) {
        self.stream = Some(Stream {
            hello_sent_ms,
            welcomed: false,
            asked_to_wait_ms: 0,
            received: ReceiveWindow::default(),
            uploaded: 0,
            uploading: false,
            upload_pauses: upload_pauses(self.boot.seed),
            upload_waits: false,
        });
    }

    /// The connection is down, or never came up.
    pub(super) fn closed(&mut self, why: ConnectError) {
        match why {
            ConnectError::Unavailable(reason) => self.redial(&reason),
            ConnectError::Refused(reason) => self.ending = Some(Ending::NotAdmitted { reason }),
        }
    }

    /// Notes that the master has sent something.
    pub(super) fn note_heard(&mut self) {
        self.last_heard_ms = self.now_ms;
    }

    /// The master took this worker in: the next failure is a new one.
    pub(super) fn reset_backoff(&mut self) {
        self.backoff = new_backoff(&self.boot, self.link);
    }

    /// Leaves the master and dials the next one after a pause; the same again where there is only one.
    pub(super) fn redial(&mut self, reason: &str) {
        self.master = (self.master + 1) % self.boot.masters.len().max(1);
        let pause = self.backoff.next().unwrap_or(LONGEST_PAUSE);
        tracing::warn!(
            master = self.boot.masters.get(self.master),
            reason,
            pause_ms = pause.as_millis() as u64,
            "no session; dialling again"
        );
        self.dial(pause);
    }

    /// What the passing of time brings about: a dead stream is left, and a master that stays away is given up.
    pub(super) fn check_silence(&mut self, now_ms: u64) {
        // While this process was stopped, what the master said could not be heard: that is no silence of the master's.
        let absent_ms = now_ms.saturating_sub(self.last_check_ms);
        self.last_check_ms = now_ms;
        if absent_ms > LONGEST_TURN_MS {
            self.last_heard_ms = (self.last_heard_ms + absent_ms).min(now_ms);
        }
        if let Some(stream) = &self.stream {
            let (since, limit) = match (&self.terms, stream.welcomed) {
                (Some(terms), true) => {
                    // Half the lease: a dead connection is left in time to come back before the lease runs out.
                    (self.last_heard_ms, (terms.lease_ttl_ms / 2).max(3 * terms.heartbeat_ms).max(LEAST_SILENCE_MS))
                }
                _ => (stream.hello_sent_ms.max(stream.asked_to_wait_ms), WELCOME_TIMEOUT_MS),
            };
            if now_ms >= since + limit {
                self.redial("the master is silent");
            }
        }
        let after = self.boot.master_lost_timeout;
        let welcomed = self.stream.as_ref().is_some_and(|stream| stream.welcomed);
        if !welcomed && now_ms >= self.last_heard_ms + after.as_millis() as u64 {
            self.ending = Some(Ending::MasterLost { after });
        }
    }
}
