//! Samples that failed for a reason that may have passed, and are run again: their failures stay in the ledger and count no more.

use super::record::{Kind, LedgerEntry};
use compass_common::encode::{self, EncodeError};
use compass_proto::IndexMark;
use compass_types::ids::{Epoch, UnitId};
use compass_types::intervals::IntervalSet;
use prost::Message as _;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Samples of units that a leader runs again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reopened(pub BTreeMap<UnitId, IntervalSet>);

impl Reopened {
    /// The entries that a segment begins with.
    ///
    /// # Errors
    /// They cannot be written as JSON.
    pub fn entries(&self, epoch: Epoch) -> Result<Vec<LedgerEntry>, EncodeError> {
        let entry = |(unit, samples): (&UnitId, &IntervalSet)| {
            let payload = encode::json("samples that are run again", &samples.pairs())?;
            Ok(LedgerEntry {
                kind: Kind::Reopened.into(),
                unit: unit.0,
                epoch: epoch.0,
                payload,
                ..LedgerEntry::default()
            })
        };
        self.0.iter().map(entry).collect()
    }

    /// Takes the next entry of a segment; breaks at the first that is of another kind.
    pub(super) fn begins_with(&mut self, entry: &LedgerEntry) -> ControlFlow<()> {
        let Some((unit, samples)) = Self::of(entry) else { return ControlFlow::Break(()) };
        self.add(unit, &samples);
        ControlFlow::Continue(())
    }

    /// The samples of a unit that an entry says are run again; `None` where it is of another kind.
    pub fn of(entry: &LedgerEntry) -> Option<(UnitId, IntervalSet)> {
        let pairs = || serde_json::from_slice::<Vec<(u32, u32)>>(&entry.payload).unwrap_or_default();
        (entry.kind() == Kind::Reopened).then(|| (UnitId(entry.unit), IntervalSet::from_pairs(pairs())))
    }

    /// Returns whether an entry of an earlier segment counts no more.
    pub(super) fn covers(&self, entry: &LedgerEntry) -> bool {
        let Some(samples) = self.0.get(&UnitId(entry.unit)) else { return false };
        entry.is_result()
            && IndexMark::decode(entry.payload.as_slice()).is_ok_and(|result| samples.contains(result.index))
    }

    /// Adds samples of a unit.
    pub fn add(&mut self, unit: UnitId, samples: &IntervalSet) {
        let known = self.0.entry(unit).or_default();
        *known = IntervalSet::from_pairs(known.pairs().iter().chain(samples.pairs()).copied());
    }

    /// Both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        other.0.iter().for_each(|(unit, samples)| self.add(*unit, samples));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ledger;
    use compass_types::ids::Digest;

    #[test]
    fn what_is_run_again_counts_with_its_new_result_alone() {
        let dir = tempfile::tempdir().unwrap();
        let ledger = Ledger::new(dir.path().to_owned(), Digest::of(b"plan"));
        let entry = |kind: Kind, unit: u32, index: u32, worker: &str| LedgerEntry {
            kind: kind.into(),
            unit,
            worker: worker.into(),
            payload: IndexMark { index }.encode_to_vec(),
            ..LedgerEntry::default()
        };
        let old = [
            entry(Kind::Sample, 0, 3, "old"),
            entry(Kind::Sample, 0, 4, "old"),
            entry(Kind::Divergence, 0, 3, "old"),
            entry(Kind::Sample, 1, 3, "old"),
        ];
        ledger.create_segment(Epoch(1), "a").unwrap().append(&old).unwrap();
        let reopened = Reopened(BTreeMap::from([(UnitId(0), IntervalSet::range(3, 4))]));
        let mut segment = ledger.create_segment(Epoch(2), "b").unwrap();
        segment.append(&reopened.entries(Epoch(2)).unwrap()).unwrap();
        let read = || {
            let mut samples = Vec::new();
            let summary = ledger.read(&BTreeMap::new(), &mut |entry| {
                if matches!(entry.kind(), Kind::Sample | Kind::Divergence) {
                    let index = IndexMark::decode(entry.payload.as_slice()).unwrap().index;
                    samples.push((entry.unit, index, entry.worker));
                }
            });
            (samples, summary.unwrap().reopened)
        };
        let known = |unit: u32, index: u32, worker: &str| (unit, index, worker.to_owned());
        assert_eq!(read().0, [known(0, 4, "old"), known(1, 3, "old")]);
        segment.append(&[entry(Kind::Sample, 0, 3, "new")]).unwrap();
        assert_eq!(read().0, [known(0, 4, "old"), known(1, 3, "old"), known(0, 3, "new")]);
        assert_eq!(read().1, reopened.0);
        // Again, by a third.
        let mut third = ledger.create_segment(Epoch(3), "c").unwrap();
        third.append(&reopened.entries(Epoch(3)).unwrap()).unwrap();
        assert_eq!(read().0, [known(0, 4, "old"), known(1, 3, "old")]);
    }
}
