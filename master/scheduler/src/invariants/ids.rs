//! The ids of the invariants, and a rule that was broken.

/// One leader can commit per epoch, and none once a later epoch has begun.
pub const L1: &str = "L1";
/// One live grant per attempt: a task that is out is held by exactly the worker that its state names.
pub const G1: &str = "G1";
/// An attempt is durable before a worker hears of its grant.
pub const G2: &str = "G2";
/// A committed result stays committed.
pub const C1: &str = "C1";
/// One committed result per sample, the first.
pub const C2: &str = "C2";
/// Nothing beyond the recorded length of a segment is believed, and no worker is told that such a thing is committed.
pub const C3: &str = "C3";
/// The report is the fold of the committed.
pub const C4: &str = "C4";
/// A worker begins no sample past its own deadline: never one that was granted to another since.
pub const W1: &str = "W1";
/// Only rights make records: a result counts, and a claim is kept, only of what was granted to that worker.
pub const H1: &str = "H1";
/// Records fit the plan: their kind, one entry per option, finite numbers.
pub const H2: &str = "H2";
/// A worker that has said that it cannot load a model is granted no more tasks of it.
pub const B1: &str = "B1";
/// No frame is larger than a frame may be: what is larger travels beside it.
pub const S1: &str = "S1";
/// No worker idles while a task that it could take waits unbegun at another and would end earlier here.
pub const I1: &str = "I1";
/// No other worker begins what a worker has begun while that one is heard all the time.
pub const N1: &str = "N1";
/// Slots stay within the job's bound, and no worker is granted more than it announced.
pub const R1: &str = "R1";
/// A task that is neither done, failed nor out waits in the queue, and ends while fair workers are there.
pub const P1: &str = "P1";
/// After a cancellation nothing is granted, and what is out is taken back.
pub const X1: &str = "X1";

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The id under which ARCHITECTURE.md lists the rule.
    pub id: &'static str,
    pub detail: String,
}
