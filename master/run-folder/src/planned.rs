//! A plan in memory, and one in a run folder.

use super::folder::RunFolder;
use super::plan_parts::PlanFiles;
use compass_plan::{DuplicateGroups, Plan, head_path, part_path};
use compass_types::ids::Digest;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A plan in memory with the bytes of its files.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    /// The bytes of `plan/job.json`; their digest is the job.
    pub head: Vec<u8>,
    pub parts: PlanFiles,
    /// Content of the file that [`Plan::duplicates`] names.
    pub duplicates: DuplicateGroups,
}

/// A plan in a run folder, as it was read or written.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    pub plan: Arc<Plan>,
    /// The job.
    pub digest: Digest,
    /// Path of every file of it, for workers to fetch.
    pub files: BTreeMap<Digest, PathBuf>,
}

impl Planned {
    /// The plan as it is in `folder`, where [`write_plan`] has put it.
    pub fn in_folder(&self, folder: &RunFolder) -> ReadPlan {
        let digest = Digest::of(&self.head);
        let parts = self.parts.names().map(|part| (*part, part_path(folder.root(), part)));
        let files = parts.chain([(digest, head_path(folder.root()))]).collect();
        ReadPlan { plan: Arc::new(self.plan.clone()), digest, files }
    }
}
