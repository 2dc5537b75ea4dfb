//! Where the files of a plan lie in a run folder: the one place that master and worker agree on beside the wire.

use compass_types::ids::Digest;
use std::path::{Path, PathBuf};

/// The plan's head, which names everything else.
pub fn head_path(run: &Path) -> PathBuf {
    run.join("plan/job.json")
}

/// A part, named by its content.
pub fn part_path(run: &Path, digest: &Digest) -> PathBuf {
    run.join("plan/parts").join(format!("{digest}.json"))
}

/// The tasks into which the run was cut when its master last began, see [`crate::partition::TaskList`].
pub fn tasks_path(run: &Path) -> PathBuf {
    run.join("logs/tasks.json")
}
