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
    /// A worker that is to leave a job is asked to end before its results are acknowledged.
    ReleasedIsDismissed,
    /// A worker that had to wait is not taken when a job wants it.
    WaitingNeverAssigned,
    /// A new server does not keep workers for the jobs that it is about to lead.
    JobNotExpected,
    /// An agent does not hear of the death of its engine.
    EngineDeathUnheard,
    /// A worker that is gone counts as heard.
    LostWorkerHeard,
    /// A new leader takes nothing over from the ledger.
    LedgerForgotten,
    /// A new leader makes a key of its own, where the store has the job's.
    KeyMadeAgain,
    /// A leader that the store does not answer steps down.
    UnansweredEndsLead,
    /// A master takes the lead while another one has it.
    LeadTakenFromHolder,
    /// A leader does not hear that its job is cancelled.
    CancelUnheard,
    /// A job gets more slots than its bound.
    BoundForgotten,
    /// A pool that is to continue while it is cut off is not informed of that.
    OfflineTermsWithheld,
    /// A leader learns that no further worker can come.
    SupplyDenied,
    /// A leader does not know in which pools a model loads.
    PlacesForgotten,
    /// An engine loads its model for every batch.
    ModelUnloaded,
    /// A worker that is to drain ends at once.
    DrainEndsAtOnce,
    /// The death of an engine is taken for the loss of its device.
    DeathTakenForLostDevice,
    /// The loss of a device is taken for the death of an engine.
    LostDeviceTakenForDeath,
    /// A sample without room is tried again like any other.
    NoRoomTakenForTransient,
    /// Samples that ask the same are each computed.
    DuplicatesComputed,
    /// A second result of a sample is dropped before it is compared.
    RepeatsDropped,
    /// A leader does not hear from a launcher that a process has ended.
    ExitUnheard,
}

impl Mutant {
    /// Mutants that drawn histories find.
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

    /// Mutants that scripts find, each at the moment that it needs.
    pub const SCRIPTED: [Self; 19] = [
        Self::EngineDeathUnheard,
        Self::LostWorkerHeard,
        Self::LedgerForgotten,
        Self::KeyMadeAgain,
        Self::UnansweredEndsLead,
        Self::LeadTakenFromHolder,
        Self::CancelUnheard,
        Self::BoundForgotten,
        Self::OfflineTermsWithheld,
        Self::SupplyDenied,
        Self::PlacesForgotten,
        Self::ModelUnloaded,
        Self::DrainEndsAtOnce,
        Self::DeathTakenForLostDevice,
        Self::LostDeviceTakenForDeath,
        Self::NoRoomTakenForTransient,
        Self::DuplicatesComputed,
        Self::RepeatsDropped,
        Self::ExitUnheard,
    ];

    /// The mutant of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain(Self::SCRIPTED).find(|mutant| format!("{mutant:?}") == name)
    }
}
