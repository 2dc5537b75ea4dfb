//! Faults of the protocol itself, one at a time, that the simulation must find.

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// A grant is sent before its attempt is durable.
    GrantBeforeDurable,
    /// The store takes writes of a leader whose epoch is over.
    StaleEpochAccepted,
    /// A transaction without an answer is taken for done.
    NoRereadAfterTimeout,
    /// A worker counts its deadline from when the answer to its heartbeat came, not from when it sent it.
    DeadlineFromReceipt,
    /// Samples are granted to the thief before their holder has let go of them.
    SplitWithoutAck,
    /// Workers hear of a commit after the sync, before the store knows the segment's length.
    CommitBeforeLength,
    /// A transaction does not name the one before it, so that one that was held up on its way takes the record back.
    UnguardedLength,
    /// A new leader grants at once what workers of the old one may still hold.
    NoRecoveringWindow,
    /// A result counts, whichever worker hands it in.
    NoRightNeeded,
    /// A hello keeps what it claims to hold without a proof.
    ClaimWithoutProofKept,
    /// Results are recorded whatever they look like.
    KindUnchecked,
    /// A body that is too large for its frame goes in it all the same.
    BodyNotSpilled,
    /// The master frees what a worker uploaded before the frame that names it has come.
    UploadFreedEarly,
    /// A worker does not say again, on a new connection, what the last one may have lost.
    OutboxNotRewound,
    /// A worker listens to a connection that it has left.
    OldLinkHeard,
    /// A leader says again a grant that is another's by now.
    DeadGrantReplayed,
    /// A hello keeps quiet about samples whose results were sent and are not acknowledged.
    HelloOmitsUnacknowledged,
    /// A worker that cannot load a model is granted more tasks of it.
    BarredGrantedAgain,
    /// A task that waits at a busy worker is not moved to an idle one.
    QueuedTaskNeverMoved,
    /// A worker that holds results of a job is handed to whichever job wants a worker.
    HandedOverWithResults,
    /// A worker that is to leave a job is told to end before its results are acknowledged.
    ReleasedIsDismissed,
    /// A worker that had to wait is not taken when a job wants it.
    WaitingNeverAssigned,
    /// A new server does not keep workers for the jobs that it is about to lead.
    JobNotExpected,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::GrantBeforeDurable,
        Self::StaleEpochAccepted,
        Self::NoRereadAfterTimeout,
        Self::DeadlineFromReceipt,
        Self::SplitWithoutAck,
        Self::CommitBeforeLength,
        Self::UnguardedLength,
        Self::NoRecoveringWindow,
        Self::NoRightNeeded,
        Self::ClaimWithoutProofKept,
        Self::KindUnchecked,
        Self::BodyNotSpilled,
        Self::UploadFreedEarly,
        Self::OutboxNotRewound,
        Self::OldLinkHeard,
        Self::DeadGrantReplayed,
        Self::HelloOmitsUnacknowledged,
        Self::BarredGrantedAgain,
        Self::QueuedTaskNeverMoved,
        Self::HandedOverWithResults,
        Self::ReleasedIsDismissed,
        Self::WaitingNeverAssigned,
        Self::JobNotExpected,
    ];
}
