//! The committer: carries out a group commit on a thread of its own.
//!
//! Everything that has gathered is appended to the ledger and synced, and only then recorded in fenced transactions that hold
//! the leases and the segment's durable length, as [`GroupCommit`] says. What it confirms is durable.

use super::batch::{AssignmentLog, Submission};
use super::error::LedgerError;
use super::group_commit::{CommitStep, GroupCommit};
use super::segment::SegmentWriter;
use compass_scheduler::Seq;
use compass_store::{AnyStore, CoordinationStore, Keys, Leadership, LeadershipStatus, StoreError};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// Report of the committer: never queued, only the latest counts.
#[derive(Clone, Debug, Default)]
pub struct Committed {
    /// Everything up to this number is durable.
    pub up_to: Seq,
    /// Bytes of this leader's segment that are recorded as durable.
    pub length: u64,
    /// Set once, by the failure after which nothing more becomes durable.
    pub failure: Option<Arc<CommitError>>,
}

/// Reason why nothing more becomes durable.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Most submissions that are made durable at once. Their writes may take several transactions, in order.
const MAX_BATCH: usize = 4096;
/// Most submissions that wait; beyond it the driver waits, and with it every worker.
const QUEUE: usize = 8192;

/// Interval at which the segment is looked at while there is nothing to write.
const LOOK: Duration = Duration::from_secs(2);

/// Handle to the thread.
#[derive(Debug)]
pub struct Committer<S = AnyStore> {
    submissions: mpsc::Sender<Submission>,
    thread: std::thread::JoinHandle<S>,
}

impl<S: CoordinationStore + 'static> Committer<S> {
    /// Starts the thread; its reports go to `reports`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        store: S,
        leadership: Leadership,
        keys: Keys,
        assignment_log: AssignmentLog,
        segment: SegmentWriter,
        reports: watch::Sender<Committed>,
    ) -> std::io::Result<Self> {
        let (submissions, receiver) = mpsc::channel(QUEUE);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new().name("committer".into()).spawn(move || {
            let commit = GroupCommit::new(assignment_log, &keys, segment.name(), MAX_BATCH);
            let work = Work { store, leadership, commit, segment, reports };
            runtime.block_on(work.run(receiver))
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

    /// Waits until the queue has a place, or the thread has ended.
    pub async fn ready(&self) {
        let _ = self.submissions.reserve().await;
    }

    /// Hands over from the front of `waiting` as much as the queue has places for.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn submit_from(&self, waiting: &mut VecDeque<Submission>) -> Result<(), mpsc::error::SendError<()>> {
        while !waiting.is_empty() {
            match self.submissions.try_reserve() {
                Ok(place) => waiting.pop_front().map_or((), |submission| place.send(submission)),
                Err(mpsc::error::TrySendError::Full(())) => return Ok(()),
                Err(mpsc::error::TrySendError::Closed(())) => return Err(mpsc::error::SendError(())),
            }
        }
        Ok(())
    }

    /// Lets the thread finish what was submitted, waits for it, and takes the store back.
    pub async fn finish(self) -> Option<S> {
        drop(self.submissions);
        let thread = self.thread;
        tokio::task::spawn_blocking(move || thread.join()).await.ok()?.ok()
    }
}

struct Work<S> {
    store: S,
    leadership: Leadership,
    commit: GroupCommit,
    segment: SegmentWriter,
    reports: watch::Sender<Committed>,
}

impl<S: CoordinationStore> Work<S> {
    async fn run(mut self, mut receiver: mpsc::Receiver<Submission>) -> S {
        let mut status = self.store.status();
        let mut batch = Vec::new();
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let lost = status.wait_for(|status| *status == LeadershipStatus::Lost);
            let committed = tokio::select! {
                count = receiver.recv_many(&mut batch, MAX_BATCH) => match count {
                    0 => break,
                    _ => {
                        self.gather(&mut receiver, &mut batch).await;
                        self.commit.submit(batch.drain(..));
                        self.commit().await
                    }
                },
                // A leader that has nothing to write must hear it too.
                Ok(_) = lost => Err(StoreError::Fenced(self.leadership.epoch).into()),
                // So must one whose run folder is gone: workers may find nothing there that they could run.
                _ = look.tick() => match self.segment.check() {
                    Ok(()) => continue,
                    Err(error) => Err(error.into()),
                },
            };
            match committed {
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
        self.store
    }

    /// Lets a group grow where a transaction is costly.
    async fn gather(&self, receiver: &mut mpsc::Receiver<Submission>, batch: &mut Vec<Submission>) {
        let pause = self.store.gathering();
        if pause.is_zero() {
            return;
        }
        tokio::time::sleep(pause).await;
        while batch.len() < MAX_BATCH
            && let Ok(submission) = receiver.try_recv()
        {
            batch.push(submission);
        }
    }

    /// Makes durable what was submitted, and says up to which number that is.
    async fn commit(&mut self) -> Result<Seq, CommitError> {
        let mut durable = Seq::default();
        let mut step = self.commit.begin();
        while let Some(now) = step {
            step = match now {
                CommitStep::Append(entries) => {
                    let length = self.segment.append(&entries)?;
                    Some(self.commit.appended(Some(length)))
                }
                CommitStep::Check => {
                    self.segment.check()?;
                    Some(self.commit.appended(None))
                }
                CommitStep::Commit(ops) => {
                    self.store.commit(&self.leadership, ops).await?;
                    Some(self.commit.committed())
                }
                CommitStep::Durable(up_to) => {
                    durable = up_to;
                    self.commit.begin()
                }
            };
        }
        Ok(durable)
    }
}
