//! What befell a run, over all of its leaders: kept in the ledger, since a killed leader cannot report it.

use super::record::{Kind, LedgerEntry};
use compass_types::ids::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Grants that followed a failed or lost one.
    pub retries: u64,
    /// Times that the process of a worker ended in mid-run, by its name.
    pub deaths: BTreeMap<String, u32>,
}

impl Tally {
    /// The latest among entries in the order in which they became durable.
    pub fn latest(entries: &[LedgerEntry]) -> Self {
        let last = entries.iter().rev().find(|entry| entry.kind() == Kind::Tally);
        last.and_then(|entry| serde_json::from_slice(&entry.payload).ok()).unwrap_or_default()
    }

    /// What an entry says; `None` where it is of another kind.
    pub fn of(entry: &LedgerEntry) -> Option<Self> {
        (entry.kind() == Kind::Tally).then(|| serde_json::from_slice(&entry.payload).ok()).flatten()
    }

    /// The entry that makes it durable.
    ///
    /// # Errors
    /// It cannot be written as JSON.
    pub fn entry(&self, epoch: Epoch) -> serde_json::Result<LedgerEntry> {
        let payload = serde_json::to_vec(self)?;
        Ok(LedgerEntry { kind: Kind::Tally.into(), epoch: epoch.0, payload, ..LedgerEntry::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_counts() {
        assert_eq!(Tally::latest(&[]), Tally::default());
        let tally = |retries| Tally { retries, deaths: BTreeMap::from([("w".into(), retries as u32)]) };
        let entries = [tally(1).entry(Epoch(1)).unwrap(), tally(3).entry(Epoch(2)).unwrap(), LedgerEntry::default()];
        assert_eq!(Tally::latest(&entries), tally(3));
    }
}
