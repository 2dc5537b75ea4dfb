//! Results that come from elsewhere, written into the ledger of a run before it begins.

use super::folder::RunFolder;
use crate::ledger::{Entry, Kind, Ledger, LedgerError};
use compass_common::ids::{Digest, Epoch, UnitId};
use compass_common::result::SampleResult;
use compass_proto::v1;
use prost::Message as _;

/// Where results come from that another evaluator wrote: its files stay as they are.
pub(super) const ADOPTED: &str = "adopted predictions";
/// Leaders count from 1: what is imported came before all of them.
const BEFORE_ALL: Epoch = Epoch(0);
/// Entries written at once.
const BATCH: usize = 4096;

/// Takes over the predictions that lie in the folder itself.
///
/// # Errors
/// As [`import`].
pub fn import_adopted(folder: &RunFolder, plan: Digest, results: &[(UnitId, SampleResult)]) -> Result<(), LedgerError> {
    import(folder, plan, ADOPTED, results)
}

/// Writes `results` as a segment of their own. `from` names where they come from: the place of the worker's name.
///
/// # Errors
/// The run has imported before, or the disk refuses.
pub fn import(
    folder: &RunFolder,
    plan: Digest,
    from: &str,
    results: &[(UnitId, SampleResult)],
) -> Result<(), LedgerError> {
    let mut segment = Ledger::new(folder.ledger(), plan).create_segment(BEFORE_ALL, "imported")?;
    for batch in results.chunks(BATCH) {
        let entries: Vec<Entry> = batch
            .iter()
            .map(|(unit, result)| Entry {
                kind: Kind::Sample.into(),
                unit: unit.0,
                task: 0,
                attempt: 0,
                epoch: BEFORE_ALL.0,
                worker: from.to_owned(),
                payload: v1::SampleResult::from(result).encode_to_vec(),
            })
            .collect();
        segment.append(&entries)?;
    }
    Ok(())
}
