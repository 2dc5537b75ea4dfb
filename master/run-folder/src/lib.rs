//! The folder of a run: its files, the plan in it, and their faults.

mod folder;
mod plan_error;
mod plan_folder;
mod plan_parts;
mod planned;

pub use folder::{
    ADOPTED_WORKER, Begun, FolderError, RunFolder, check_writable, keep_config, keep_written, remove_leftovers,
    write_atomically, write_atomically_by,
};
pub use plan_error::PlanError;
pub use plan_folder::{
    check_part, plan_digest, read_duplicates, read_file, read_head, read_part, read_plan, write_plan,
};
pub use plan_parts::{PartCutter, PlanFiles};
pub use planned::{Planned, ReadPlan};
