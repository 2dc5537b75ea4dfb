//! The invariants by id, defined once.
//!
//! Those of the state are asked of the state, by [`check`]. Those of a history (G2, C1, C2) are kept by
//! [`super::Watch`], which is fed with effects and is cheap enough to run in production; what breaks I1 or P1 by its
//! duration is found by [`super::standstill`] in every run. Those that span processes (L1, B1, C3, C4, H1, H2, N1, S1, W1)
//! are asserted by the simulation, under the same ids.

use super::state::Core;
use super::task::TaskState;

/// One leader can commit per epoch, and none once a later epoch has begun.
pub const L1: &str = "L1";
/// One live grant per attempt: a task that is out is held by exactly the worker that its state names.
pub const G1: &str = "G1";
/// An attempt is durable before a worker hears of its grant.
pub const G2: &str = "G2";
/// What is committed stays so.
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
/// What a worker has begun, and is heard all the time, no other worker begins.
pub const N1: &str = "N1";
/// Slots stay within the job's bound, and no worker is granted more than it announced.
pub const R1: &str = "R1";
/// What is neither done, failed nor out waits in the queue, and ends while fair workers are there.
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

/// Every rule of the state that it breaks; none, if all is well. G1, C2, R1, P1; time grows with tasks and workers. Each
/// owner checks its own; here stands what holds between them.
pub fn check(core: &Core) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut fail = |id, detail: String| found.push(Violation { id, detail });
    core.tasks.check(&mut fail);
    core.queue.check(&core.tasks, &mut fail);
    core.recovering.check(&core.tasks, &mut fail);
    core.workers.check(core.limits.max_slots, &mut fail);
    core.duplicates.check(&core.tasks, &core.recorded, &mut fail);
    for (id, task) in core.tasks.iter() {
        if let TaskState::Granted { worker, .. } = task.state
            && !core.workers.get(worker).is_some_and(|worker| worker.held.contains(&id))
        {
            fail(G1, format!("task {id} is granted to {}, which does not hold it", core.workers.name(worker)));
        }
        for &(first, end) in task.remaining.pairs() {
            if let Some(index) = (first..end).find(|&index| core.recorded.contains(task.unit, index)) {
                fail(C2, format!("sample {index} of unit {} is recorded and still to do", task.unit));
            }
        }
    }
    let held: u32 = core.workers.values().map(|worker| worker.held.len() as u32).sum();
    if held != core.tasks.granted() {
        fail(G1, format!("{held} tasks are held, {} granted", core.tasks.granted()));
    }
    found
}
