//! Orders to slots, and their reports.

use compass_plan::engine::{PrefixSegment, TokenCounters, UnableKind};
use compass_proto::v1;
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

/// The model to load; a slot with another model replaces its child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOrder {
    /// A `ModelPlan` as JSON.
    pub plan: Vec<u8>,
    /// `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// Number of GPUs per replica.
    pub num_gpus: u32,
    /// Set if a sample's numbers must not depend on what a GPU computes beside it.
    pub deterministic: bool,
}

/// A part of the plan.
#[derive(Clone, Debug)]
pub struct PartOrder {
    pub digest: Digest,
    pub bytes: Arc<Vec<u8>>,
}

/// Samples of one part to run on one model: a batch, or an addition to one.
#[derive(Clone, Debug)]
pub struct BatchOrder {
    /// Unique within the agent, but for additions to a batch.
    pub id: u64,
    /// Set if the samples are added to the batch of this id.
    pub extends: bool,
    /// Readable name of its unit: `model/dataset`.
    pub name: Arc<str>,
    pub model: Arc<ModelOrder>,
    /// Differs between jobs.
    pub job: Arc<Vec<u8>>,
    /// A `BatchSpec` as JSON.
    pub spec: Arc<Vec<u8>>,
    pub part: PartOrder,
    pub samples: Vec<u32>,
    /// Samples among these with answers that were drawn before.
    pub drawn: Vec<v1::Drawn>,
    /// Time without progress after which the engine is killed.
    pub timeout: Duration,
}

/// Report of a slot about its child and its batch.
#[derive(Debug)]
pub enum SlotEvent {
    /// The model of the running batch is loaded; `facts` are `ModelFacts` as JSON. Sent before every batch, with the
    /// loading time if the model was loaded now.
    Ready { facts: Vec<u8>, loaded_seconds: Option<f64> },
    /// The model of the running batch cannot be loaded yet, and why; the engine tries again.
    Waiting { reason: String },
    /// Result of one sample of the running batch.
    Result(v1::SampleResult),
    /// The slot did not take the samples that were to be added to a batch.
    NotTaken { batch: u64, samples: Vec<u32> },
    /// This many orders of the batch have ended. If others are to come, and it was not for a failure, the slot runs them
    /// next; otherwise it is idle.
    Ended { batch: u64, orders: u32, end: BatchEnd },
}

/// Report of the slot with this number.
#[derive(Debug)]
pub struct SlotReport {
    pub slot: usize,
    pub event: SlotEvent,
}

/// End of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// Every sample has its result.
    Done { tokens: TokenCounters, notes: Vec<String>, prefix_segments: Vec<PrefixSegment> },
    /// This worker cannot load the model.
    LoadFailed { kind: UnableKind, message: String },
    /// Children kept dying before the batch started: its samples are not the cause.
    NeverStarted { message: String },
    /// The child's device is gone or broken: its samples are not the cause.
    DeviceLost { message: String },
    /// The model's endpoint refuses every request: no worker can do better.
    Refused { message: String },
    /// The child died during the batch, or gave up: samples without a result are suspects.
    EngineDied { message: String },
}
