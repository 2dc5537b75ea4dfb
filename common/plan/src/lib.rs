//! The plan: everything that a job's numbers depend on, written once and named by its content.
//!
//! This crate defines a job ([`Plan`], [`Sample`]), the making of prompts ([`prompt`], [`retriever`]), the division of
//! work ([`partition`]), the names by which judging is asked for ([`evaluation`], [`summary`]), the identity of weights
//! ([`weights`]), and the contract between a plan and what runs it ([`engine`]). It has data and pure functions only; both
//! ends of the wire use them, so that a prompt is rendered by the same code wherever it happens.

pub mod architecture;
mod body;
mod duplicates;
mod endpoint;
pub mod engine;
pub mod evaluation;
mod generation;
mod generation_defaults;
mod head;
mod known_kind;
mod layout;
pub mod partition;
mod program;
pub mod prompt;
pub mod retriever;
mod sample;
mod shape;
mod spec;
pub mod summary;
mod thinking;
mod truncation;
pub mod weights;

pub use duplicates::DuplicateGroups;
pub use endpoint::{
    ENDPOINT_REFUSED, Endpoint, EndpointApi, EndpointBudget, KEY_MARK, KeySource, MAX_COST_REACHED, Price, Reported,
};
pub use generation::{ChatMode, Decoding, GenSpec, REST};
pub use generation_defaults::GenerationDefaults;
pub use head::{DatasetPlan, FORMAT_OF_THINKING, OLDEST_PLAN_FORMAT, PLAN_FORMAT, PartRef, Plan, Unit};
pub use layout::{found_part, head_path, pack, part_path, read_plan_file, tasks_path, unpack};
pub use program::{Program, Stage};
pub use sample::{Body, ChatTurn, OptionPrompt, OptionText, Part, Sample};
pub use shape::{EntryRuns, Misfit, ResultShape, entries_of_all};
pub use spec::{
    BosPolicy, DeviceRequest, Dtype, EvalSpec, InferSpec, ModelKind, ModelPlan, NumericProfile, RefusedSystem,
};
pub use thinking::{AtBudget, EXTENSION, FORCED_END, Thinking, ThinkingMode, Unfinished};
pub use truncation::{DropMiddle, Truncation};
