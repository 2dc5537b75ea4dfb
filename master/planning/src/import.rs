//! Results that come from elsewhere, written into the ledger of a run before it begins.

use super::carry_over::CarriedOver;
use compass_common::encode;
use compass_ledger::{Kind, Ledger, LedgerEntry, LedgerError};
use compass_proto::v1;
use compass_run_folder::{ADOPTED_WORKER, RunFolder};
use compass_types::ids::{Digest, Epoch, UnitId};
use compass_types::result::SampleResult;
use prost::Message as _;

/// Leaders count from 1: what is imported came before all of them.
const BEFORE_ALL: Epoch = Epoch(0);
/// Entries written at once.
const BATCH: usize = 4096;

/// Takes over the predictions that lie in the folder itself.
///
/// # Errors
/// As [`import`].
pub fn import_adopted(folder: &RunFolder, plan: Digest, results: &[(UnitId, SampleResult)]) -> Result<(), LedgerError> {
    let carried = CarriedOver { results: results.to_vec(), ..CarriedOver::default() };
    import(folder, plan, ADOPTED_WORKER, &carried)
}

/// Writes results, and what they pin models to, as a segment of their own. `from` names where they come from: the place of the
/// worker's name.
///
/// # Errors
/// The run has imported before, or the disk refuses.
pub fn import(folder: &RunFolder, plan: Digest, from: &str, carried: &CarriedOver) -> Result<(), LedgerError> {
    let mut segment = Ledger::new(folder.ledger(), plan).create_segment(BEFORE_ALL, "imported")?;
    let pins = carried.pins.iter().map(|(model, pin)| {
        let payload = encode::json("the digest of a model's weights", pin)?;
        Ok(LedgerEntry {
            kind: Kind::Pin.into(),
            unit: model.0,
            worker: from.to_owned(),
            payload,
            ..LedgerEntry::default()
        })
    });
    segment.append(&pins.collect::<Result<Vec<_>, LedgerError>>()?)?;
    for (kind, results) in [(Kind::Sample, &carried.results), (Kind::Drawn, &carried.drawn)] {
        for batch in results.chunks(BATCH) {
            let entries: Vec<LedgerEntry> = batch
                .iter()
                .map(|(unit, result)| LedgerEntry {
                    kind: kind.into(),
                    unit: unit.0,
                    task: 0,
                    attempt: 0,
                    epoch: BEFORE_ALL.0,
                    worker: from.to_owned(),
                    payload: v1::SampleResult::from(result).encode_to_vec(),
                    device: 0,
                })
                .collect();
            segment.append(&entries)?;
        }
    }
    Ok(())
}
