//! Samples that were computed twice with different results, read back from the ledger: what no master has to remember.

use compass_ledger::{Kind, Ledger, LedgerEntry, LedgerError};
use compass_scheduler::DeviceType;
use compass_types::ids::UnitId;
use std::collections::{BTreeMap, BTreeSet};

/// A second result of a sample that differs from the first, both from devices of one type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Divergence {
    pub unit: UnitId,
    pub sample: u32,
    /// Worker whose result is recorded.
    pub recorded: String,
    /// Worker whose result differs.
    pub differs: String,
}

/// Later results of samples, while a ledger is read.
#[derive(Debug, Default)]
pub(super) struct LaterResults(Vec<(SampleKey, Source)>);

/// Unit and sample.
type SampleKey = (u32, u32);
/// Worker and device that a result comes from.
type Source = (String, DeviceType);

fn key(entry: &LedgerEntry) -> Option<SampleKey> {
    Some((entry.unit, entry.mark()?.index))
}

fn source(entry: &LedgerEntry) -> Source {
    (entry.worker.clone(), DeviceType::from_number(entry.device))
}

impl LaterResults {
    /// Takes the next entry.
    pub(crate) fn take(&mut self, entry: &LedgerEntry) {
        if entry.kind() == Kind::Divergence {
            self.0.extend(key(entry).map(|key| (key, source(entry))));
        }
    }

    /// The divergences, in order of the ledger's entries; where there may be any, it is read once more for the first results.
    /// Results of different device types may differ.
    ///
    /// # Errors
    /// Those of the ledger.
    pub(crate) fn divergences(
        self,
        ledger: &Ledger,
        recorded: &BTreeMap<String, u64>,
    ) -> Result<Vec<Divergence>, LedgerError> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let wanted: BTreeSet<SampleKey> = self.0.iter().map(|(key, _)| *key).collect();
        let mut first: BTreeMap<SampleKey, Source> = BTreeMap::new();
        ledger.read(recorded, &mut |entry| {
            if let Some(key) = key(&entry).filter(|key| entry.kind() == Kind::Sample && wanted.contains(key)) {
                first.entry(key).or_insert_with(|| source(&entry));
            }
        })?;
        let diverged = self.0.into_iter().filter_map(|((unit, sample), (differs, device))| {
            let (recorded, of_first) = first.get(&(unit, sample))?;
            let recorded = recorded.clone();
            of_first.agrees_with(device).then_some(Divergence { unit: UnitId(unit), sample, recorded, differs })
        });
        Ok(diverged.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_proto::v1;
    use compass_types::ids::{Digest, Epoch};
    use prost::Message as _;

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
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(folder.path().to_owned(), Digest::of(b"plan"));
        ledger.create_segment(Epoch(1), "m").unwrap().append(&entries).unwrap();
        let divergences = |entries: &[LedgerEntry]| {
            let mut later = LaterResults::default();
            entries.iter().for_each(|entry| later.take(entry));
            later.divergences(&ledger, &BTreeMap::new()).unwrap()
        };
        let (recorded, differs) = ("a".into(), "bb".into());
        assert_eq!(divergences(&entries), [Divergence { unit: UnitId(4), sample: 1, recorded, differs }]);
        assert!(divergences(&entries[..3]).is_empty());
    }
}
