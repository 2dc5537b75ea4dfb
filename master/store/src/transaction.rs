//! A transaction as every backend with revisions runs it: if all comparisons hold the steps are taken, else keys are read.
//!
//! Plain data, in the terms of etcd, so that the simulated store and the real one run the very same requests.

/// Most steps of one transaction: etcd takes 128 (`--max-txn-ops`), and a fenced commit adds one of its own.
pub(super) const MAX_STEPS: usize = 127;

/// Most writes of one commit: a transaction takes 127 steps, and the count is one of them.
pub const MAX_OPS: usize = MAX_STEPS - 1;

/// A key with what the store knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    pub key: String,
    pub value: Vec<u8>,
    /// The revision at which the key came into being.
    pub created: i64,
    /// The lease that the key ends with; 0 for none.
    pub lease: i64,
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compare {
    /// The key came into being at this revision; 0 says that it does not exist.
    Created { key: String, at: i64 },
    /// The key has this value.
    Value { key: String, is: Vec<u8> },
}

/// A write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `lease` 0 keeps the key for good.
    Put {
        key: String,
        value: Vec<u8>,
        lease: i64,
    },
    Delete {
        key: String,
    },
}

/// Comparisons, the steps that are taken if all hold, and the keys that are read if not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    pub when: Vec<Compare>,
    pub then: Vec<Step>,
    /// Keys to read when a comparison fails.
    pub otherwise: Vec<String>,
}

/// Outcome of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Set if every comparison held and the steps were taken.
    pub applied: bool,
    /// The store's revision afterwards.
    pub revision: i64,
    /// The keys of `otherwise`, in order, when it was not applied.
    pub read: Vec<Option<StoredKey>>,
}
