//! Group commit as decisions: what is written next, and when something is durable. Its owner appends, syncs and
//! commits, and says what has become of that; a step of which nothing is heard leaves everything as it is.

use super::batch::{AssignmentLog, Batch, Submission, transactions};
use super::record::LedgerEntry;
use compass_scheduler::Seq;
use compass_store::{Keys, Op};
use std::collections::VecDeque;

/// Step that is to be done. One at a time: the next one follows from what has become of it.
#[derive(Debug, PartialEq)]
pub enum CommitStep {
    /// Append these to the segment and sync it, see [`GroupCommit::appended`].
    Append(Vec<LedgerEntry>),
    /// Nothing is to be appended. The segment must be there all the same, since what comes next relies on it.
    Check,
    /// Write these in one fenced transaction, see [`GroupCommit::committed`].
    Commit(Vec<Op>),
    /// Nothing more: everything up to this number is durable.
    Durable(Seq),
}

/// Decides what is written next, and when something is durable.
#[derive(Debug)]
pub struct GroupCommit {
    assignment_log: AssignmentLog,
    /// The key under which the segment's durable length is recorded.
    length_key: String,
    waiting: VecDeque<Submission>,
    /// Most submissions of a group.
    most: usize,
    group: Option<Group>,
}

/// Submissions that are made durable together.
#[derive(Debug)]
struct Group {
    /// The number of the last of them.
    last: Seq,
    /// Writes to the store as long as the segment is not synced; then none.
    ops: Vec<Op>,
    /// The transactions that are left, in order. The first is under way.
    transactions: VecDeque<Vec<Op>>,
}

impl GroupCommit {
    /// Creates the state of a leader that writes to the segment of this name; groups are of at most `most` submissions.
    pub fn new(assignment_log: AssignmentLog, keys: &Keys, segment: &str, most: usize) -> Self {
        let (length_key, waiting) = (keys.segment(segment), VecDeque::new());
        Self { assignment_log, length_key, waiting, most, group: None }
    }

    /// Something more to make durable.
    pub fn submit(&mut self, submissions: impl IntoIterator<Item = Submission>) {
        self.waiting.extend(submissions);
    }

    /// Returns whether everything that was submitted is durable.
    pub fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.group.is_none()
    }

    /// The number of the last submission of the group under way.
    pub fn under_way(&self) -> Option<Seq> {
        self.group.as_ref().map(|group| group.last)
    }

    /// Begins a group of what has gathered; `None` where nothing has, or a group is under way.
    pub fn begin(&mut self) -> Option<CommitStep> {
        if self.group.is_some() || self.waiting.is_empty() {
            return None;
        }
        let count = self.waiting.len().min(self.most);
        let Batch { last, entries, ops } = self.assignment_log.batch(self.waiting.drain(..count));
        self.group = Some(Group { last, ops, transactions: VecDeque::new() });
        Some(if entries.is_empty() { CommitStep::Check } else { CommitStep::Append(entries) })
    }

    /// Notes that everything to be appended is synced, and that the segment has this length now; `None` where there was
    /// nothing.
    pub fn appended(&mut self, length: Option<u64>) -> CommitStep {
        let Some(group) = &mut self.group else { return CommitStep::Durable(Seq::default()) };
        let mut ops = std::mem::take(&mut group.ops);
        let recorded = length.map(|length| {
            let value = length.to_le_bytes().to_vec();
            Op::Put { key: self.length_key.clone(), value }
        });
        // Last, so that whatever refers to the entries is there when they are.
        ops.extend(recorded);
        group.transactions = transactions(ops).into();
        self.next()
    }

    /// The transaction that was to be written took effect.
    pub fn committed(&mut self) -> CommitStep {
        if let Some(group) = &mut self.group {
            group.transactions.pop_front();
        }
        self.next()
    }

    fn next(&mut self) -> CommitStep {
        let last = self.under_way().unwrap_or_default();
        match self.group.as_ref().and_then(|group| group.transactions.front()) {
            Some(ops) => CommitStep::Commit(ops.clone()),
            None => {
                self.group = None;
                CommitStep::Durable(last)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Kind};
    use compass_store::MAX_OPS;
    use compass_types::ids::{Digest, Epoch};

    fn commit(most: usize) -> (GroupCommit, Keys) {
        let keys = Keys::new(&Digest::of(b"plan"));
        (GroupCommit::new(AssignmentLog::new(keys.clone(), Epoch(1), Vec::new()), &keys, "segment", most), keys)
    }

    fn entry(index: u8) -> LedgerEntry {
        LedgerEntry { kind: Kind::Sample.into(), payload: vec![index], ..LedgerEntry::default() }
    }

    fn entries(numbers: std::ops::Range<u64>) -> Vec<Submission> {
        numbers.map(|seq| Submission { seq: Seq(seq), content: Content::Entry(entry(seq as u8)) }).collect()
    }

    fn op(seq: u64) -> Submission {
        Submission { seq: Seq(seq), content: Content::Op(Op::Delete { key: format!("{seq}") }) }
    }

    #[test]
    fn the_length_is_recorded_after_the_sync_and_only_then_is_anything_durable() {
        let (mut commit, keys) = commit(3);
        assert_eq!(commit.begin(), None);
        commit.submit(entries(1..6));
        assert_eq!(commit.begin(), Some(CommitStep::Append((1..4).map(entry).collect())));
        assert_eq!((commit.begin(), commit.under_way()), (None, Some(Seq(3))), "one group at a time");
        let length = Op::Put { key: keys.segment("segment"), value: 77_u64.to_le_bytes().to_vec() };
        assert_eq!(commit.appended(Some(77)), CommitStep::Commit(vec![length]));
        assert!(!commit.is_settled());
        assert_eq!(commit.committed(), CommitStep::Durable(Seq(3)));
        assert_eq!(commit.begin(), Some(CommitStep::Append(vec![entry(4), entry(5)])));
    }

    #[test]
    fn what_no_transaction_holds_is_durable_with_the_last_of_them() {
        let (mut commit, _) = commit(1_000);
        commit.submit((1..=MAX_OPS as u64 + 1).map(op));
        assert_eq!(commit.begin(), Some(CommitStep::Check), "nothing for the ledger");
        let CommitStep::Commit(first) = commit.appended(None) else { unreachable!("there are writes") };
        let CommitStep::Commit(second) = commit.committed() else { unreachable!("there are more") };
        assert_eq!((first.len(), second.len()), (MAX_OPS, 1));
        assert_eq!(commit.committed(), CommitStep::Durable(Seq(MAX_OPS as u64 + 1)));
        assert!(commit.is_settled());
    }
}
