//! The tables of jobs that have ended, read from their run folders once each.

use compass_common::regular_file;
use compass_types::ids::Digest;
use compass_watch::{EndingKind, EvaluationState, ResultRow, Watch, rows_of};
use std::collections::BTreeMap;
use std::path::Path;

/// Tables by the content that they are of.
#[derive(Debug, Default)]
pub(super) struct Tables(pub(super) BTreeMap<Digest, Vec<ResultRow>>);

impl Tables {
    /// Reads those that are there by now.
    pub(super) fn read(&mut self, work_dir: &Path, watch: &Watch) {
        for (content, evaluation) in watch.evaluations() {
            let (EvaluationState::Ended(ending), Some(folder)) = (&evaluation.state, &evaluation.folder) else {
                continue;
            };
            if matches!(ending.kind(), EndingKind::Refused | EndingKind::Failed) || self.0.contains_key(content) {
                continue;
            }
            let rows = table(&work_dir.join(folder)).unwrap_or_default();
            let suffix = format!("-{}", evaluation.name);
            // The column of the checkpoint says by itself which one it is.
            let bare = |mut row: ResultRow| {
                row.model.truncate(row.model.strip_suffix(&suffix).map_or(row.model.len(), str::len));
                row
            };
            self.0.insert(*content, rows.into_iter().map(bare).collect());
        }
    }
}

/// The latest table of a run.
fn table(run: &Path) -> Option<Vec<ResultRow>> {
    rows_of(&regular_file::read_text(&compass_scoring::latest_table(run)?, regular_file::SMALL).ok()?)
}
