//! Events that can happen to the scheduler.

use super::bars::Supply;
use super::recorded::DeviceType;
use compass_plan::Misfit;
use compass_plan::engine::UnableKind;
use compass_types::ids::{GrantId, ModelId, UnitId, WorkerId};
use compass_types::intervals::IntervalSet;

/// One connection of a worker; a reconnect has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConnectionId(pub u64);

/// Offer of a worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Chosen once per agent process.
    pub session: String,
    /// Replicas that it can run at once.
    pub slots: u32,
    /// Set if it can run real models.
    pub has_engine: bool,
    /// Its ability to run programs that a model wrote.
    pub sandbox: SandboxState,
    /// The pool that it works for; empty where it did not say.
    pub pool: String,
    /// Name of its host; empty when it did not say.
    pub host: String,
}

/// Findings of a worker about its sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SandboxState {
    /// It did not look.
    #[default]
    Unknown,
    /// It holds.
    Works,
    /// There is none, and why.
    Refused { reason: String },
}

/// A grant that a worker brings along when it attaches: `samples` are those of it whose results are not durable yet,
/// whether they wait, run or are on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldGrant {
    pub grant: GrantId,
    pub unit: UnitId,
    pub samples: IntervalSet,
}

/// Reason why a grant was handed back; decides what may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureClass {
    /// The model or its configuration: never tried again.
    User,
    /// The model's weights were removed or overwritten while the job ran: never tried again.
    WeightsGone,
    /// Two distinct workers failed with the same words: tried no more.
    Deterministic,
    /// Tried again, `retry` times.
    Transient,
    /// The node or its device: tried again elsewhere, within a budget of its own; a worker that goes on so gets nothing
    /// more while others are there.
    Infrastructure,
    /// The samples left have no room in the worker's memory: tried on workers that have not tried them.
    NoRoom,
    /// The worker is gone; tried again while anything gets done between losses.
    Lost,
    /// The worker cannot load the model; tried elsewhere, never counted.
    Unable(UnableKind),
    /// The worker said that it would go, or got things done before it went: never counted.
    Preempted,
}

/// A result that a worker sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    pub index: u32,
    /// The encoded `SampleResult`.
    pub result: Vec<u8>,
    /// Set if it has a reason in the place of a score.
    pub failed: bool,
    /// Type of the device that computed it.
    pub device: DeviceType,
}

/// A result that does not fit the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    pub index: u32,
    /// As it came.
    pub result: Vec<u8>,
    pub misfit: Misfit,
}

/// An input of [`super::Core::apply`].
#[derive(Clone, Debug)]
pub enum Event {
    /// A worker's stream is up.
    Attached { worker: WorkerId, connection: ConnectionId, capabilities: Capabilities, held: Vec<HeldGrant> },
    /// The stream ended; the process may live and come back.
    Detached { worker: WorkerId, connection: ConnectionId },
    /// The launcher saw the process end; `wanted` when it was preempted, cancelled or out of time: no fault of its tasks.
    Exited { worker: WorkerId, wanted: bool },
    /// A sign of life.
    Heartbeat { worker: WorkerId },
    /// Number of grants that the worker is willing to hold at once.
    Credit { worker: WorkerId, grants: u32 },
    /// Results of samples that were granted to the worker, and that fit the plan.
    Results { worker: WorkerId, grant: GrantId, unit: UnitId, samples: Vec<Handed> },
    /// Results of samples that were granted to the worker and do not fit the plan: they are none.
    Misfits { worker: WorkerId, grant: GrantId, unit: UnitId, samples: Vec<Unfit> },
    /// Results or reports of a worker were refused this many times: it was never granted what they are of.
    Refused { worker: WorkerId, times: u64 },
    /// A shard report, encoded, of a grant that the worker has finished. It covers `samples` samples, on which engines
    /// spent `busy_ms`.
    Report { worker: WorkerId, grant: GrantId, unit: UnitId, samples: u32, busy_ms: u64, report: Vec<u8> },
    /// The first worker that loaded a model says what it is, encoded for the ledger.
    Pinned { worker: WorkerId, model: ModelId, pin: Vec<u8> },
    /// Samples of a grant that the worker was asked for and has not begun; it will not begin them. `held` says whether it
    /// holds any others of that grant.
    Returned { worker: WorkerId, grant: GrantId, samples: IntervalSet, held: bool },
    /// Samples of a grant that no slot of the worker began in time; it will not begin them. [`Event::Returned`] of the same
    /// samples follows.
    Unbegun { worker: WorkerId, grant: GrantId, samples: IntervalSet },
    /// A grant is handed back.
    Failed { worker: WorkerId, grant: GrantId, class: FailureClass, message: String },
    /// The worker cannot load a model, by its position in the plan.
    Unable { worker: WorkerId, model: ModelId, kind: UnableKind, text: String },
    /// A slot of the worker has loaded a model, in so many milliseconds.
    Loaded { worker: WorkerId, model: ModelId, slot: u32, ms: u64 },
    /// The weights that the plan pins a model to do not lie at their path any more. Workers that hold the model continue
    /// with it.
    WeightsGone { model: ModelId },
    /// Nothing more of a model is wanted, and why: what has begun ends, the rest fails.
    Stop { model: ModelId, reason: String },
    /// The launchers' remaining possibilities have changed.
    Supply(Supply),
    /// The worker will take no more.
    Draining { worker: WorkerId },
    /// The worker is wanted by another job.
    Release { worker: WorkerId },
    /// Nothing more of the job is wanted: grants are taken back, what is recorded stays.
    Cancel { reason: String },
    /// Time has passed.
    Tick,
}
