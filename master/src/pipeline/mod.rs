//! The walk of the data: configuration -> plan -> tasks -> results -> scores -> summary.

mod adopt;
mod adopt_files;
mod adopt_gold;
mod adopt_prompt;
mod adopt_record;
mod carry_over;
mod clock;
mod connections;
mod data_column;
mod dataset_plan;
mod divergence;
mod drive;
mod dry_run;
mod endpoints;
mod execution;
mod execution_plan;
mod facts;
mod folder;
mod import;
mod infer;
mod job_handle;
mod judged;
mod kept_scores;
mod latency;
mod launching;
mod lead;
mod listing;
mod live;
mod live_metric;
#[cfg(test)]
mod live_tests;
mod model_placement;
#[cfg(test)]
mod mutated_frames;
pub mod opening;
mod origins;
mod pins;
mod plan_parts;
mod planner;
pub mod previous_assignments;
mod progress;
mod reasons;
mod recalled;
mod recent;
mod remarks;
mod rows;
mod run_fold;
mod sample_notes;
mod score;
#[cfg(test)]
mod score_tests;
mod task_list;
mod view;
mod weights_gone;
#[cfg(test)]
mod wire_mutator;
pub(crate) mod worker_endpoint;
mod worker_source;

pub use adopt::{Adopted, Gaps, adopt};
pub use adopt_gold::is_gold_of;
pub use carry_over::{CarriedOver, CarryOverError, EarlierRun, recorded};
pub use data_column::data_column;
pub use drive::{DriveError, Driven, Driver, Ending, Setup};
pub use dry_run::{check_launcher, dry_run, planned_slots};
pub use endpoints::{EndpointFacts, estimates, is_refused, notes as endpoint_notes};
pub use execution::{ExecuteError, Executed, Source, execute, execution_options, has_programs};
pub use facts::{RunFacts, UnitTook, WorkerFacts};
pub(crate) use folder::write_atomically;
pub use folder::{Begun, FolderError, RunFolder, check_writable, keep_config, keep_written};
pub use import::{import, import_adopted};
pub use infer::{InferError, InferOptions, infer};
pub use job_handle::{DemandPublisher, JobCommand, JobHandle, JobReasons, Pulse};
pub use judged::RecordedRun;
pub use launching::shared_cores;
pub(crate) use launching::{cores, fleet_of, fleet_of_stage, open_at};
pub(crate) use lead::would_listen;
pub use lead::{RunTerm, candidate, claim_for_planning, recorded_lengths, running_elsewhere};
pub use listing::{list_models, list_presets, show_preset};
pub use live::LiveWriting;
pub use live_metric::LiveMetric;
pub use model_placement::ModelPlacement;
pub use pins::holds;
pub use plan_parts::PlanFiles;
pub use planner::{PlanError, Planned, ReadPlan, plan, plan_digest, plan_scores, read_plan, write_plan};
pub use progress::{FollowedBar, ProgressBoard, Snapshot, StageBar};
pub use recalled::recalled;
pub use remarks::remarks;
pub use score::{
    Answers, Evidence, Executions, ScoreError, Scored, latest_summary, latest_table, latest_table_within, score,
    summarize,
};
pub use task_list::{TaskListError, recorded_tasks};
pub use view::{Histogram, Latencies, ModelView, RunView, WorkerView};
pub(crate) use worker_endpoint::{EndpointError, WorkerEndpoint, listen};
pub use worker_source::{StageRegistration, StageWorkers, WorkerSource};
