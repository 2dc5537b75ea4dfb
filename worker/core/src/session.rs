//! The core of the agent: its state, and the life of its connections.

use super::connect_error::ConnectError;
use super::credit_control::CreditControl;
use super::drain_state::Drain;
use super::ending::ExitReason;
use super::grants::Grants;
use super::idle_time::IdleTimeMeter;
use super::lease::Lease;
use super::order::ModelOrder;
use super::outbox::Outbox;
use super::output::Output;
use super::parts::{PART_CACHE_BYTES, PartCache};
use super::result_batch::ResultBatches;
use super::slots::SlotState;
use super::spool::SpoolFile;
use super::unbegun_timer::UnbegunTimer;
use super::upload_pauses::upload_pauses;
use compass_common::backoff::{self, FullJitter};
use compass_plan::Plan;
use compass_proto::session::ReceiveWindow;
use compass_proto::{OLDEST_PROTOCOL, PROTOCOL_VERSION, v1};
use compass_types::ids::{Digest, Epoch, ModelId, UnitId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use v1::worker_frame::Body;

/// Time limit for a welcome on an open stream.
const WELCOME_TIMEOUT_MS: u64 = 10_000;

/// Longest pause between two attempts to reach the only master.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Longest pause with several masters: a worker that waits for long misses the new leader's survey of held grants.
const MAX_PAUSE_AMONG_MASTERS: Duration = Duration::from_secs(1);

/// Longest time between two steps, unless the process was stopped.
const MAX_STEP_MS: u64 = 3_000;

/// Shortest silence after which a stream is given up, whatever the lease.
const MIN_SILENCE_MS: u64 = 5_000;

/// Specification of a unit for engines, encoded once.
#[derive(Clone, Debug)]
pub(super) struct UnitOrder {
    pub(super) name: Arc<str>,
    pub(super) model: Arc<ModelOrder>,
    pub(super) spec: Arc<Vec<u8>>,
}

/// Settings of the last welcome.
#[derive(Clone, Debug)]
pub(super) struct WelcomeTerms {
    pub(super) protocol: u32,
    pub(super) epoch: Epoch,
    pub(super) plan: Digest,
    /// Bytes that tell the run from others of this plan, whose epochs, tasks and attempts have the same numbers.
    pub(super) run: Vec<u8>,
    pub(super) lease_ttl_ms: u64,
    pub(super) heartbeat_ms: u64,
    pub(super) active_slots: usize,
    /// Set if granted samples may start although no master renews the lease.
    pub(super) offline_continue: bool,
    /// Time without progress after which an engine is killed.
    pub(super) engine_timeout: Duration,
    /// Prefixes of model paths and their replacements on this worker.
    pub(super) paths: Vec<(String, String)>,
}

/// An open stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) hello_sent_ms: u64,
    pub(super) welcomed: bool,
    /// Time at which the master last reported that there is no work.
    pub(super) asked_to_wait_ms: u64,
    /// Received frames: after the welcome, the master continues from any number.
    pub(super) received: ReceiveWindow,
    /// Attachments up to this seq are uploaded.
    pub(super) uploaded: u64,
    pub(super) uploading: bool,
    pub(super) upload_pauses: FullJitter,
    /// Set if the master had no room for the last upload.
    pub(super) upload_waits: bool,
}

/// Configuration of an agent, fixed at its start.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Unique among the master's workers.
    pub name: String,
    /// Identifies this process: two processes of one worker have different sessions.
    pub session: String,
    /// Pool of the worker; empty if none was given.
    pub pool: String,
    /// Name of the host.
    pub host: String,
    /// `host:port` of every master that may lead; never empty.
    pub masters: Vec<String>,
    /// Time without an answer from any master after which the agent exits.
    pub master_lost_timeout: Duration,
    /// Number of engines.
    pub slots: u32,
    /// Device for engines: `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// `cpu` or `cuda`, a guess until an engine has started.
    pub device_kind: &'static str,
    /// Set if the binary can run real models, or only the echo engine.
    pub has_engine: bool,
    /// Result of the sandbox's detection; `None` if it was not looked for.
    pub sandbox: Option<v1::Sandbox>,
    /// Set if programs can run.
    pub runs_programs: bool,
    /// Seed of the pauses between attempts.
    pub seed: u64,
}

/// Decides everything that a worker does and has no side effects: [`AgentCore::step`] takes an input and returns
/// outputs.
#[derive(Debug)]
pub struct AgentCore {
    pub(super) boot: AgentConfig,
    /// Time of the current step, in milliseconds since the agent started.
    pub(super) now_ms: u64,
    /// Outputs of the current step.
    pub(super) outputs: Vec<Output>,
    /// The master of the current or next connection.
    master: usize,
    pub(super) link: u64,
    backoff: FullJitter,
    pub(super) stream: Option<Stream>,
    last_heard_ms: u64,
    /// Time of the last run of [`Self::check_silence`].
    last_check_ms: u64,
    pub(super) next_heartbeat_ms: u64,
    /// Frames that are not replayed: heartbeats and credit. At most one of each kind.
    pub(super) control: VecDeque<Body>,
    pub(super) outbox: Outbox,
    pub(super) result_batches: ResultBatches,
    pub(super) lease: Lease,
    pub(super) credit_control: CreditControl,
    /// The credit that the master was last sent.
    pub(super) credit: u32,
    pub(super) idle_time: IdleTimeMeter,
    pub(super) terms: Option<WelcomeTerms>,
    pub(super) plan: Option<Arc<Plan>>,
    pub(super) unit_orders: BTreeMap<UnitId, UnitOrder>,
    pub(super) parts: PartCache,
    pub(super) fetching: BTreeSet<Digest>,
    pub(super) grants: Grants,
    pub(super) slots: Vec<SlotState>,
    pub(super) last_batch: u64,
    /// `ModelFacts` as JSON by the model's position in the plan.
    pub(super) facts: BTreeMap<ModelId, Vec<u8>>,
    /// Number of sequences that the engine of a model generates at once.
    pub(super) sequences: BTreeMap<ModelId, u32>,
    /// Loading times of models on this worker, in milliseconds, by their position in the plan.
    pub(super) loads: BTreeMap<ModelId, f64>,
    /// Time of samples in a slot by model, in milliseconds: their sum and number.
    pub(super) sample_ms: BTreeMap<ModelId, (f64, f64)>,
    /// Timer of the time in which no slot has begun what the worker holds.
    pub(super) unbegun: UnbegunTimer,
    pub(super) drain: Option<Drain>,
    /// Set if another job needs this worker: it reconnects when this job has everything.
    pub(super) released: bool,
    pub(super) ending: Option<ExitReason>,
    /// Set if a frame waits for the connection.
    pub(super) wants_to_send: bool,
}

fn new_backoff(boot: &AgentConfig, link: u64) -> FullJitter {
    let longest = if boot.masters.len() > 1 { MAX_PAUSE_AMONG_MASTERS } else { MAX_PAUSE };
    backoff::seeded_policy(Duration::from_millis(200), longest, boot.seed.wrapping_add(link))
}

impl AgentCore {
    /// Creates a core without a connection. Excess results are written to `spool`.
    pub fn new(boot: AgentConfig, spool: Box<dyn SpoolFile>) -> Self {
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
            sequences: BTreeMap::new(),
            loads: BTreeMap::new(),
            sample_ms: BTreeMap::new(),
            unbegun: UnbegunTimer::default(),
            drain: None,
            released: false,
            ending: None,
            wants_to_send: false,
        }
    }

    /// Connects after `pause`; closes the current connection.
    pub(super) fn dial(&mut self, pause: Duration) {
        self.stream = None;
        self.control.clear();
        // The hello lists all held grants; unacknowledged results count as held.
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
            // A master that lost this session would count from 1 again, and our acknowledgement would make it drop
            // frames that never arrived. It learns from the frames what was handled; the others are sent again, which
            // is harmless.
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

    /// Handles that the connection is open and its hello was sent.
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

    /// Handles that the connection has ended, or could not be opened.
    pub(super) fn closed(&mut self, why: ConnectError) {
        match why {
            ConnectError::Unavailable(_) => self.redial(&why.to_string()),
            // Under a server every job ends so. Where samples run, it is no end that a worker expects.
            ConnectError::Closed if !self.is_computing() => {
                tracing::info!("the master ended the session; asking for the next job");
                self.dial_next();
            }
            ConnectError::Closed => self.redial(&why.to_string()),
            ConnectError::Refused(reason) => self.ending = Some(ExitReason::NotAdmitted { reason }),
        }
    }

    /// Notes that the master has sent something.
    pub(super) fn note_received(&mut self) {
        self.last_heard_ms = self.now_ms;
    }

    /// Resets the back-off after a welcome.
    pub(super) fn reset_backoff(&mut self) {
        self.backoff = new_backoff(&self.boot, self.link);
    }

    /// Leaves the master and connects to the next one after a pause; to the same if there is only one.
    pub(super) fn redial(&mut self, reason: &str) {
        let pause = self.dial_next();
        tracing::warn!(
            master = self.boot.masters.get(self.master),
            reason,
            pause_ms = pause.as_millis() as u64,
            "no session; dialling again"
        );
    }

    /// Connects to the next master after the pause that it returns.
    fn dial_next(&mut self) -> Duration {
        self.master = (self.master + 1) % self.boot.masters.len().max(1);
        let pause = self.backoff.next().unwrap_or(MAX_PAUSE);
        self.dial(pause);
        pause
    }

    /// Returns whether a sample of the current plan runs.
    fn is_computing(&self) -> bool {
        self.slots.iter().filter_map(|slot| slot.busy.as_ref()).any(|busy| !busy.stale && busy.left > 0)
    }

    /// Leaves a dead stream, and gives up when no master has answered for too long.
    pub(super) fn check_silence(&mut self, now_ms: u64) {
        // While this process was stopped, it could not receive anything: this is no silence of the master.
        let absent_ms = now_ms.saturating_sub(self.last_check_ms);
        self.last_check_ms = now_ms;
        if absent_ms > MAX_STEP_MS {
            self.last_heard_ms = (self.last_heard_ms + absent_ms).min(now_ms);
        }
        if let Some(stream) = &self.stream {
            let (since, limit) = match (&self.terms, stream.welcomed) {
                (Some(terms), true) => {
                    // Half the lease: a dead connection is replaced before the lease expires.
                    (self.last_heard_ms, (terms.lease_ttl_ms / 2).max(3 * terms.heartbeat_ms).max(MIN_SILENCE_MS))
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
            self.ending = Some(ExitReason::MasterLost { after });
        }
    }
}
