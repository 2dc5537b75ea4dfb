//! Samples that were computed twice with different results, read back from the ledger: what no master has to remember.

use compass_ledger::{Kind, LedgerEntry};
use compass_proto::v1;
use compass_scheduler::DeviceType;
use compass_types::ids::UnitId;
use prost::Message as _;
use std::collections::BTreeMap;

/// A second result of a sample that differs from the first, both from devices of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divergence {
    pub(super) unit: UnitId,
    pub(super) sample: u32,
    /// Worker whose result is recorded.
    pub(super) recorded: String,
    /// Worker whose result differs.
    pub(super) differs: String,
}

/// The divergences of a ledger, in order of its entries. Results of different device types may differ.
pub(super) fn divergences(entries: &[LedgerEntry]) -> Vec<Divergence> {
    let index = |entry: &LedgerEntry| Some(v1::SampleResult::decode(entry.payload.as_slice()).ok()?.index);
    let of_kind = |kind: Kind| entries.iter().filter(move |entry| entry.kind() == kind);
    let later: Vec<(u32, u32, &LedgerEntry)> =
        of_kind(Kind::Divergence).filter_map(|entry| Some((entry.unit, index(entry)?, entry))).collect();
    if later.is_empty() {
        return Vec::new();
    }
    let mut first: BTreeMap<(u32, u32), &LedgerEntry> = BTreeMap::new();
    for entry in of_kind(Kind::Sample) {
        if let Some(index) = index(entry) {
            first.entry((entry.unit, index)).or_insert(entry);
        }
    }
    let device = |entry: &LedgerEntry| DeviceType::from_number(entry.device);
    let diverged = later.into_iter().filter_map(|(unit, sample, later)| {
        let first = first.get(&(unit, sample)).filter(|first| device(first).agrees_with(device(later)))?;
        let (recorded, differs) = (first.worker.clone(), later.worker.clone());
        Some(Divergence { unit: UnitId(unit), sample, recorded, differs })
    });
    diverged.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: Kind, worker: &str, index: u32, device: DeviceType) -> LedgerEntry {
        let payload = v1::SampleResult { index, tokens: worker.len() as u32, ..Default::default() }.encode_to_vec();
        LedgerEntry {
            kind: kind.into(),
            unit: 4,
            worker: worker.into(),
            payload,
            device: device.number(),
            ..LedgerEntry::default()
        }
    }

    #[test]
    fn only_results_of_one_device_type_diverge() {
        use DeviceType::{Cpu, Cuda, Unknown};
        let entries = [
            entry(Kind::Sample, "a", 1, Cpu),
            entry(Kind::Sample, "a", 2, Cuda),
            entry(Kind::Sample, "imported", 3, Unknown),
            entry(Kind::Divergence, "bb", 1, Cpu),
            entry(Kind::Divergence, "cc", 2, Cpu),
            entry(Kind::Divergence, "dd", 3, Unknown),
        ];
        let (recorded, differs) = ("a".into(), "bb".into());
        assert_eq!(divergences(&entries), [Divergence { unit: UnitId(4), sample: 1, recorded, differs }]);
        assert!(divergences(&entries[..3]).is_empty());
    }
}
