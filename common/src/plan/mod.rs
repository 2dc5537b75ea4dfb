//! The plan: everything that a job's numbers depend on, written once and named by its content.

mod generation;
mod head;
mod layout;
mod program;
mod sample;
mod spec;

pub use generation::{ChatMode, Decoding, GenSpec};
pub use head::{DatasetPlan, PLAN_FORMAT, PartRef, Plan, Unit};
pub use layout::{head_path, part_path, tasks_path};
pub use program::{Program, Stage};
pub use sample::{Body, ChatTurn, OptionPrompt, OptionText, Part, Sample};
pub use spec::{BosPolicy, Dtype, EvalSpec, InferSpec, ModelKind, ModelPlan, NumericProfile};
