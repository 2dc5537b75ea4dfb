//! What the agent asks of a slot and what it hears back.

use compass_plan::engine::{PrefixSegment, TokenCounters, UnableKind};
use compass_proto::v1;
use compass_types::ids::Digest;
use std::sync::Arc;
use std::time::Duration;

/// The model that must be resident; a slot that holds another replaces its child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelOrder {
    /// A `ModelPlan` as JSON.
    pub plan: Vec<u8>,
    /// `auto`, `cpu` or `cuda:N`.
    pub device: String,
    /// GPUs that a replica of it takes.
    pub num_gpus: u32,
}

/// A part of the plan.
#[derive(Clone, Debug)]
pub struct PartOrder {
    pub digest: Digest,
    pub bytes: Arc<Vec<u8>>,
}

/// Samples of one part to run on one model.
#[derive(Clone, Debug)]
pub struct BatchOrder {
    /// Unique within the agent.
    pub id: u64,
    pub model: Arc<ModelOrder>,
    /// A `BatchSpec` as JSON.
    pub spec: Arc<Vec<u8>>,
    pub part: PartOrder,
    pub samples: Vec<u32>,
    /// How long its engine may compute nothing before it is ended.
    pub timeout: Duration,
}

/// What a slot says about its child and its batch.
#[derive(Debug)]
pub enum SlotEvent {
    /// A child holds the model of the batch under way; `facts` are `ModelFacts` as JSON. Said before every batch, with the time
    /// that the load took where there was one.
    Ready { facts: Vec<u8>, loaded_seconds: Option<f64> },
    /// One sample of the batch under way.
    Result(v1::SampleResult),
    /// The batch is over; the slot is idle.
    Ended { batch: u64, end: BatchEnd },
}

/// What a slot says, with its number.
#[derive(Debug)]
pub struct SlotReport {
    pub slot: usize,
    pub event: SlotEvent,
}

/// How a batch ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// Every sample has its result.
    Done { tokens: TokenCounters, notes: Vec<String>, prefix_segments: Vec<PrefixSegment> },
    /// The model cannot be loaded here.
    LoadFailed { kind: UnableKind, message: String },
    /// Children kept dying before they began the batch: its samples are not to blame.
    NeverStarted { message: String },
    /// The child died in the middle, or gave up: samples without a result are suspects.
    Broken { message: String },
}
