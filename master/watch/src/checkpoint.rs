//! State of one checkpoint, by its name.

use compass_types::ids::Digest;

/// A checkpoint of the folder.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    pub(super) step: Option<u64>,
    pub(super) phase: Phase,
    /// Time of the last look at it.
    pub(super) looked_at: u64,
    /// Last reported reason why it is not whole.
    pub(super) said: Option<String>,
}

/// Progress of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It has not been looked at.
    New,
    /// It may still be being written; it looks so since then.
    Settling {
        fingerprint: Digest,
        since: u64,
        unfinished: Option<String>,
    },
    /// It is being read.
    Examining {
        fingerprint: Digest,
    },
    /// It is at rest and not whole.
    Lacking {
        fingerprint: Digest,
        since: u64,
        reason: String,
    },
    /// Its content is known.
    Known {
        fingerprint: Digest,
        content: Digest,
    },
    Gone,
}

impl Checkpoint {
    pub(super) fn new(step: Option<u64>) -> Self {
        Self { step, phase: Phase::New, looked_at: 0, said: None }
    }

    /// Its content, where that is known.
    pub(super) fn content(&self) -> Option<Digest> {
        match self.phase {
            Phase::Known { content, .. } => Some(content),
            _ => None,
        }
    }

    /// Returns whether it is due for a look: at every pass while it may still be being written, every `recheck` milliseconds
    /// while nothing of it changes.
    pub(super) fn is_due(&self, now: u64, recheck: u64) -> bool {
        let rests = now.saturating_sub(self.looked_at) >= recheck;
        match &self.phase {
            Phase::New => true,
            Phase::Settling { since, .. } | Phase::Lacking { since, .. } => {
                rests || now.saturating_sub(*since) < recheck.saturating_mul(5)
            }
            Phase::Known { .. } => rests,
            Phase::Examining { .. } | Phase::Gone => false,
        }
    }
}
