//! What the store tells of the grants of older leaders: their attempts, and who may still hold what.

use crate::core::Former;
use crate::store::{Holding, Keys, LeaseStore, StoreError};
use compass_common::ids::{Epoch, UnitId};
use compass_common::intervals::IntervalSet;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Every grant that was made durable, by its key without the prefix.
pub(super) async fn holdings(store: &impl LeaseStore, keys: &Keys) -> Result<BTreeMap<String, Holding>, StoreError> {
    let prefix = keys.attempts();
    let entries = store.scan_all(&prefix).await?.into_iter();
    Ok(entries
        .filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_owned(), Holding::decode(&value)?)))
        .collect())
}

/// The last epoch whose leader told its workers to go before it went itself.
pub(super) async fn released(store: &impl LeaseStore, keys: &Keys) -> Result<Epoch, StoreError> {
    let key = keys.released();
    let found = store.scan_all(&key).await?.into_iter().find(|(name, _)| *name == key);
    Ok(Epoch(found.and_then(|(_, value)| value.try_into().ok()).map_or(0, u64::from_le_bytes)))
}

/// Who may still hold what: for every sample the latest grant, if its epoch did not end with a release.
pub(crate) fn former(holdings: BTreeMap<String, Holding>, released: &Epoch) -> Vec<Former> {
    let unit = |key: &str| key.split('/').next().and_then(|unit| unit.parse().ok()).map(UnitId);
    let mut latest: Vec<(UnitId, Holding)> =
        holdings.into_iter().filter_map(|(key, holding)| Some((unit(&key)?, holding))).collect();
    latest.sort_by_key(|(_, holding)| Reverse((holding.epoch, holding.seq)));
    let mut seen: BTreeMap<UnitId, IntervalSet> = BTreeMap::new();
    let mut former = Vec::new();
    for (unit, holding) in latest {
        let known = seen.entry(unit).or_default();
        let samples = holding.samples.minus(known);
        *known = IntervalSet::from_pairs(known.pairs().iter().chain(samples.pairs()).copied());
        if holding.epoch > *released && !samples.is_empty() {
            former.push(Former { worker: holding.worker, unit, samples });
        }
    }
    former
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_common::ids::{Attempt, WorkerId};

    fn holding(epoch: u64, seq: u64, worker: &str, first: u32, end: u32) -> (String, Holding) {
        let samples = IntervalSet::range(first, end);
        let key = Keys::attempt_key(UnitId(3), &samples);
        (key, Holding { attempt: Attempt(1), epoch: Epoch(epoch), seq, worker: WorkerId(worker.into()), samples })
    }

    #[test]
    fn of_a_sample_the_latest_grant_counts_unless_it_was_released() {
        let holdings =
            BTreeMap::from([holding(2, 9, "a", 0, 10), holding(2, 12, "b", 6, 10), holding(1, 40, "c", 2, 30)]);
        let of = |released| -> Vec<_> {
            let former = former(holdings.clone(), &Epoch(released));
            former.into_iter().map(|former| (former.worker.0, former.samples.pairs().to_vec())).collect()
        };
        let (b, a, c) = (("b".into(), vec![(6, 10)]), ("a".into(), vec![(0, 6)]), ("c".into(), vec![(10, 30)]));
        assert_eq!(of(0), [b.clone(), a.clone(), c]);
        assert_eq!(of(1), [b, a]);
        assert!(of(2).is_empty());
    }
}
