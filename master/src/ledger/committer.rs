//! The committer: group commit on a thread of its own.
//!
//! Takes everything that has gathered, appends and syncs the ledger, and only then writes one fenced transaction that
//! holds the attempts and the segment's durable length. What it confirms is durable.

use super::record::Entry;
use super::segment::{LedgerError, SegmentWriter};
use crate::core::Seq;
use crate::store::{Keys, Leadership, LeaseStore, Op, StoreError};
use std::sync::Arc;
use tokio::sync::{mpsc, watch};

/// Something to make durable.
#[derive(Debug)]
pub struct Submission {
    /// Its number; submissions ascend.
    pub seq: Seq,
    /// For the ledger.
    pub entry: Option<Entry>,
    /// For the store.
    pub op: Option<Op>,
}

/// What the committer reports: never queued, only the latest counts.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// Everything up to this number is durable.
    pub up_to: Seq,
    /// Bytes of this leader's segment that are recorded as durable.
    pub length: u64,
    /// Set once, by the failure after which nothing more becomes durable.
    pub failure: Option<Arc<CommitError>>,
}

/// Why nothing more becomes durable.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Most submissions of one transaction, below etcd's 128 operations with room for the segment's length.
const MAX_BATCH: usize = 120;
/// Most submissions that wait; beyond it the driver waits, and with it every worker.
const QUEUE: usize = 8192;

/// Handle to the thread.
#[derive(Debug)]
pub struct Committer {
    submissions: mpsc::Sender<Submission>,
    thread: std::thread::JoinHandle<()>,
}

impl Committer {
    /// Starts the thread; its reports go to `reports`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start<S: LeaseStore + 'static>(
        store: S,
        leadership: Leadership,
        keys: Keys,
        segment: SegmentWriter,
        reports: watch::Sender<Committed>,
    ) -> std::io::Result<Self> {
        let (submissions, receiver) = mpsc::channel(QUEUE);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("committer".into()).spawn(move || {
            let work = Work { store, leadership, keys, segment, reports };
            runtime.block_on(work.run(receiver));
        })?;
        Ok(Self { submissions, thread })
    }

    /// Hands something over; waits while the queue is full. An error means that the committer has failed and said so.
    ///
    /// # Errors
    /// The thread has ended.
    pub async fn submit(&self, submission: Submission) -> Result<(), mpsc::error::SendError<Submission>> {
        self.submissions.send(submission).await
    }

    /// Lets the thread finish what was submitted, and waits for it.
    pub async fn finish(self) {
        drop(self.submissions);
        let thread = self.thread;
        let _ = tokio::task::spawn_blocking(move || thread.join()).await;
    }
}

struct Work<S> {
    store: S,
    leadership: Leadership,
    keys: Keys,
    segment: SegmentWriter,
    reports: watch::Sender<Committed>,
}

impl<S: LeaseStore> Work<S> {
    async fn run(mut self, mut receiver: mpsc::Receiver<Submission>) {
        let mut batch = Vec::new();
        while receiver.recv_many(&mut batch, MAX_BATCH).await > 0 {
            match self.commit(&mut batch).await {
                Ok(up_to) => {
                    let length = self.segment.durable_length();
                    self.reports.send_modify(|report| (report.up_to, report.length) = (up_to, length));
                }
                Err(error) => {
                    self.reports.send_modify(|report| report.failure = Some(Arc::new(error)));
                    break;
                }
            }
        }
    }

    async fn commit(&mut self, batch: &mut Vec<Submission>) -> Result<Seq, CommitError> {
        let last = batch.last().map_or(Seq(0), |submission| submission.seq);
        let mut entries = Vec::new();
        let mut ops = Vec::new();
        for submission in batch.drain(..) {
            entries.extend(submission.entry);
            ops.extend(submission.op);
        }
        if !entries.is_empty() {
            let length = self.segment.append(&entries)?;
            let key = self.keys.segment(self.segment.name());
            ops.push(Op::Put { key, value: length.to_le_bytes().to_vec() });
        }
        if !ops.is_empty() {
            self.store.commit(&self.leadership, ops).await?;
        }
        Ok(last)
    }
}
