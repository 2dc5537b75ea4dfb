//! The plan: everything that a job's numbers depend on, written once and named by its content.

mod duplicates;
mod generation;
mod generation_defaults;
mod head;
mod layout;
mod program;
mod sample;
mod shape;
mod spec;

pub use duplicates::DuplicateGroups;
pub use generation::{ChatMode, Decoding, GenSpec};
pub use generation_defaults::GenerationDefaults;
pub use head::{DatasetPlan, PLAN_FORMAT, PartRef, Plan, Unit};
pub use layout::{head_path, part_path, tasks_path};
pub use program::{Program, Stage};
pub use sample::{Body, ChatTurn, OptionPrompt, OptionText, Part, Sample};
pub use shape::{Misfit, ResultShape, entries_of_all};
pub use spec::{BosPolicy, DeviceRequest, Dtype, EvalSpec, InferSpec, ModelKind, ModelPlan, NumericProfile};
