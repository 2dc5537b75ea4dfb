//! From a configuration to a plan: rows, prompts, pinned weights, results of earlier runs, and what the job will take.

pub mod adopt;
mod adopt_files;
mod adopt_gold;
mod adopt_prompt;
mod adopt_record;
mod carry_over;
mod dataset_plan;
pub mod endpoints;
pub mod estimate;
mod execution_plan;
pub mod import;
mod judged;
mod pins;
mod planner;
pub mod remarks;
mod rows;

pub use adopt::{Gaps, adopt};
pub use adopt_gold::is_gold_of;
pub use carry_over::{CarriedOver, CarryOverError, EarlierRun, recorded};
pub use dataset_plan::{plan_dataset, rendered_sample};
pub use endpoints::{estimates, is_refused, notes};
pub use estimate::{SpeedStore, Speeds, Wishes};
pub use execution_plan::{executing, has_programs, outline, plan_execution};
pub use import::{import, import_adopted};
pub use judged::RecordedRun;
pub use pins::{found_again, holds, is_on_hosts, recorded_pin};
pub use planner::{plan, plan_scores};
pub use remarks::remarks;
pub use rows::{Faults, Rows};
