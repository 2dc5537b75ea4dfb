//! Keys whose values no master of this version wrote: damaged, or another version's.

/// A key that cannot be read, and what is lost when it is removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key {key} does not hold {expected}")]
pub struct Damage {
    pub key: String,
    /// Content that it should hold.
    pub expected: &'static str,
    /// Consequence of its removal, as the second half of a sentence.
    pub then: &'static str,
}

impl Damage {
    pub(super) fn leader(key: &str) -> Self {
        Self {
            key: key.into(),
            expected: "the record of a leader of this version, with a lease",
            then: "the next master to start then leads",
        }
    }

    pub(super) fn epoch(key: &str) -> Self {
        let then = "the next leader then takes the epoch after the last one that has a segment in the run's ledger/";
        Self { key: key.into(), expected: "an epoch", then }
    }

    pub(super) fn commits(key: &str) -> Self {
        let then = "the next leader writes it again; end this master first";
        Self { key: key.into(), expected: "the number of this leader's last commit", then }
    }

    /// The length of a ledger segment.
    pub fn segment(key: &str) -> Self {
        let then = "the segment's own checksums then decide which of its results exist";
        Self { key: key.into(), expected: "the length of a ledger segment", then }
    }

    /// A page of the log of assignments.
    pub fn assignments(key: &str) -> Self {
        let then = "samples that workers still hold may then be run twice";
        Self { key: key.into(), expected: "a page of the log of assignments", then }
    }

    /// The last epoch that released its workers.
    pub fn released(key: &str) -> Self {
        let then = "the next leader then waits up to 30 s for workers that have gone";
        Self { key: key.into(), expected: "the last epoch that released its workers", then }
    }

    /// Returns the damage of a run record, by which masters tell each other of a run.
    pub fn run(key: &str) -> Self {
        let then = "the next leader writes it again";
        Self { key: key.into(), expected: "a run record of this version", then }
    }
}
