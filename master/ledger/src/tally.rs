//! Events of a run, over all of its leaders: kept in the ledger, since a killed leader cannot report them.

use super::record::{Kind, LedgerEntry};
use compass_types::ids::Epoch;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Counts of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Time at which its first leader began.
    pub started: String,
    /// Time that its leaders led, in milliseconds. Up to a minute of a leader that was killed is not in it.
    pub milliseconds: u64,
    /// Grants that followed a failed or lost one.
    pub retries: u64,
    /// Times that the process of a worker ended in mid-run, by its name.
    pub deaths: BTreeMap<String, u32>,
    /// Results that came again and differed.
    pub divergences: u64,
    /// Results that do not fit the plan.
    pub misfits: u64,
    /// Grants that workers kept from an older leader, or from before they were given up.
    pub adopted: u64,
    /// Times that samples went over from a busy worker to an idle one.
    pub stolen: u64,
    /// Models that slots loaded.
    pub loads: u64,
    /// Invariants of the scheduler that were found broken.
    pub violations: u64,
}

impl Tally {
    /// Returns the tally of an entry; `None` where it is of another kind.
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
    fn tallies_of_older_versions_are_read() {
        let payload = br#"{"retries": 3, "deaths": {"w": 1}}"#.to_vec();
        let entry = LedgerEntry { kind: Kind::Tally.into(), payload, ..LedgerEntry::default() };
        let tally = Tally { retries: 3, deaths: BTreeMap::from([("w".into(), 1)]), ..Tally::default() };
        assert_eq!(Tally::of(&entry), Some(tally.clone()));
        assert_eq!(Tally::of(&tally.entry(Epoch(2)).unwrap()), Some(tally));
        assert_eq!(Tally::of(&LedgerEntry::default()), None);
    }
}
