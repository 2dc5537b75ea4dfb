//! From submissions to what is written for them: entries of the ledger, and writes to the store. Pure.

use super::record::LedgerEntry;
use compass_scheduler::Seq;
use compass_store::{AssignmentPage, AssignmentRecord, Keys, MAX_OPS, Op};
use compass_types::ids::Epoch;

/// Something to make durable.
#[derive(Debug)]
pub struct Submission {
    /// Its number; submissions ascend.
    pub seq: Seq,
    pub content: Content,
}

/// Content of a submission.
#[derive(Debug)]
pub enum Content {
    /// For the ledger.
    Entry(LedgerEntry),
    /// For the store.
    Op(Op),
    /// For the store: a grant that is about to be told.
    Assignment(AssignmentRecord),
    /// For the store: all that is out, and may be held by workers, now.
    Checkpoint(Vec<AssignmentRecord>),
}

/// Entries and operations that are written for some submissions.
#[derive(Debug, Default)]
pub struct Batch {
    /// The number of the last of them.
    pub last: Seq,
    pub entries: Vec<LedgerEntry>,
    /// In this order, see [`transactions`].
    pub ops: Vec<Op>,
}

/// Position in the log of assignments, see [`AssignmentPage`].
#[derive(Debug)]
pub struct AssignmentLog {
    keys: Keys,
    epoch: Epoch,
    next: u64,
    /// Keys that the next word on all that is out makes superfluous.
    written: Vec<String>,
}

/// Assignments of one key at most: tens of bytes each, if their samples are few runs.
const PAGE: usize = 2048;
/// Bytes of one transaction: etcd takes 1.5 MiB.
const MOST_BYTES: usize = 512 * 1024;

impl AssignmentLog {
    /// The log of a leader that has written nothing; `written` are the keys of leaders before it.
    pub fn new(keys: Keys, epoch: Epoch, written: Vec<String>) -> Self {
        Self { keys, epoch, next: 0, written }
    }

    /// Returns what to write for `submissions`.
    pub fn batch(&mut self, submissions: impl IntoIterator<Item = Submission>) -> Batch {
        let (mut batch, mut assignments) = (Batch::default(), Vec::new());
        for Submission { seq, content } in submissions {
            batch.last = seq;
            match content {
                Content::Entry(entry) => batch.entries.push(entry),
                Content::Op(op) => batch.ops.push(op),
                Content::Assignment(assignment) => assignments.push(assignment),
                Content::Checkpoint(all) => {
                    // What came before them in this batch is among them, or over.
                    assignments.clear();
                    let first = self.next;
                    let before = std::mem::take(&mut self.written);
                    self.pages(all, Some(first), &mut batch.ops);
                    batch.ops.extend(before.into_iter().map(|key| Op::Delete { key }));
                }
            }
        }
        self.pages(assignments, None, &mut batch.ops);
        batch
    }

    /// A key for each so many assignments; the last of them says what they replace.
    fn pages(&mut self, assignments: Vec<AssignmentRecord>, replaces: Option<u64>, ops: &mut Vec<Op>) {
        let count = assignments.len().div_ceil(PAGE).max(usize::from(replaces.is_some()));
        let mut assignments = assignments.into_iter();
        for at in 0..count {
            let replaces = replaces.filter(|_| at + 1 == count);
            let page = AssignmentPage { assignments: assignments.by_ref().take(PAGE).collect(), replaces };
            let key = self.keys.assignment_page(self.epoch, self.next);
            self.next += 1;
            self.written.push(key.clone());
            ops.push(Op::Put { key, value: page.encode() });
        }
    }
}

/// Cuts writes into transactions that a store takes, in order.
pub fn transactions(ops: Vec<Op>) -> Vec<Vec<Op>> {
    let (mut parts, mut bytes): (Vec<Vec<Op>>, usize) = (Vec::new(), 0);
    for op in ops {
        let size = match &op {
            Op::Put { key, value } => key.len() + value.len(),
            Op::Delete { key } => key.len(),
        };
        match parts.last_mut().filter(|part| part.len() < MAX_OPS && bytes + size <= MOST_BYTES) {
            Some(part) => {
                part.push(op);
                bytes += size;
            }
            None => {
                parts.push(vec![op]);
                bytes = size;
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use compass_store::current_assignments;
    use compass_types::ids::{Attempt, Digest, UnitId, WorkerId};
    use compass_types::intervals::IntervalSet;
    use std::collections::BTreeMap;

    fn assignment(worker: u32) -> AssignmentRecord {
        let samples = IntervalSet::range(worker, worker + 1);
        AssignmentRecord { worker: WorkerId(format!("w{worker}")), unit: UnitId(0), attempt: Attempt(1), samples }
    }

    fn submission(seq: u64, content: Content) -> Submission {
        Submission { seq: Seq(seq), content }
    }

    fn apply(store: &mut BTreeMap<String, Vec<u8>>, ops: Vec<Op>) {
        for op in ops {
            match op {
                Op::Put { key, value } => drop(store.insert(key, value)),
                Op::Delete { key } => drop(store.remove(&key)),
            }
        }
    }

    /// Returns the workers that may hold something, as a new leader reads it.
    fn holders(store: &BTreeMap<String, Vec<u8>>, keys: &Keys) -> Vec<String> {
        let pages = store
            .iter()
            .map(|(key, value)| (keys.assignment_page_of(key).unwrap(), AssignmentPage::decode(value).unwrap()));
        current_assignments(pages.collect()).into_iter().map(|(_, assignment)| assignment.worker.0).collect()
    }

    #[test]
    fn checkpoint_truncates_lease_log_without_losing_leases() {
        let keys = Keys::new(&Digest::of(b"plan"));
        let mut store = BTreeMap::new();
        let mut older = AssignmentLog::new(keys.clone(), Epoch(1), Vec::new());
        apply(&mut store, older.batch([submission(1, Content::Assignment(assignment(1)))]).ops);
        let mut assignment_log = AssignmentLog::new(keys.clone(), Epoch(2), store.keys().cloned().collect());
        apply(
            &mut store,
            assignment_log.batch((2..9).map(|seq| submission(seq, Content::Assignment(assignment(seq as u32))))).ops,
        );
        assert_eq!(holders(&store, &keys).len(), 8);
        let all: Vec<AssignmentRecord> = (3..3 + 2 * PAGE as u32).map(assignment).collect();
        let submissions =
            [Content::Assignment(assignment(3)), Content::Checkpoint(all.clone()), Content::Assignment(assignment(2))];
        let batch = assignment_log.batch(submissions.into_iter().map(|content| submission(9, content)));
        // Wherever a master dies, every worker that may hold something is known.
        for done in 0..=batch.ops.len() {
            let mut store = store.clone();
            apply(&mut store, batch.ops[..done].to_vec());
            let known = holders(&store, &keys);
            assert!((3..9).all(|worker| known.contains(&format!("w{worker}"))), "{done}: {known:?}");
        }
        apply(&mut store, batch.ops);
        assert_eq!((store.len(), holders(&store, &keys).len()), (3, all.len() + 1));
    }

    #[test]
    fn transactions_are_as_large_as_a_store_takes_and_keep_the_order() {
        let put = |at: usize, bytes: usize| Op::Put { key: format!("{at:06}"), value: vec![0; bytes] };
        let ops: Vec<Op> = (0..300).map(|at| put(at, if at < 20 { 100_000 } else { 1 })).collect();
        let parts = transactions(ops.clone());
        assert!(parts.iter().all(|part| part.len() <= MAX_OPS));
        assert_eq!(parts[0].len(), 5, "half a MiB");
        assert_eq!(parts.concat(), ops);
    }
}
