//! The walk of the data: configuration -> plan -> tasks -> results -> scores -> summary.

mod adopt;
mod carry_over;
mod clock;
mod desk;
mod drive;
mod dry_run;
pub(crate) mod entrance;
mod execution;
mod execution_plan;
mod facts;
mod floor;
mod folder;
pub(crate) mod former;
mod import;
mod infer;
mod launching;
mod lead;
mod listing;
mod live;
#[cfg(test)]
mod live_tests;
mod origins;
mod planner;
mod progress;
mod reasons;
mod residence;
mod rows;
mod score;
#[cfg(test)]
mod score_tests;
mod task_list;

pub use adopt::{Adopted, adopt};
pub use carry_over::{CarryOverError, carry_over};
pub use desk::{Ask, Demands, Desk};
pub use drive::{DriveError, Driven, Driver, Ending, Setup};
pub use dry_run::{check_launcher, dry_run};
pub(crate) use entrance::Entrance;
pub use execution::{ExecuteError, Executed, Source, execute, execution_options, has_programs};
pub use facts::{RunFacts, WorkerFacts};
pub use floor::{Floor, Seat, StageEntry};
pub use folder::{FolderError, RunFolder, check_writable, keep_config};
pub use import::{import, import_adopted};
pub use infer::{InferError, InferOptions, infer};
pub(crate) use launching::fleet_of;
pub use lead::{Reign, candidate, recorded_lengths, running_elsewhere};
pub use listing::{list_models, list_presets, show_preset};
pub use live::LiveWriting;
pub use planner::{PlanError, Planned, plan, plan_digest, read_plan, write_plan};
pub use progress::{ProgressBoard, Snapshot, StageBar};
pub use residence::Residence;
pub use score::{Evidence, Executions, ScoreError, Scored, score, summarize};
pub use task_list::recorded_tasks;
