//! The invariants by id, defined once. Checked after every step in tests; cheap enough to be asked at any time.

use super::state::{Core, TaskState};

/// A rule that the state breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The id under which ARCHITECTURE.md lists the rule.
    pub id: &'static str,
    pub detail: String,
}

/// Every rule that the state breaks; none, if all is well.
///
/// - G1: a task out on a grant is held by exactly the worker that its state names.
/// - C2: no sample is both recorded and still to do.
/// - R1: the slots of all workers stay within the job's bound.
/// - P1: a task that is neither done, failed nor granted waits in the queue.
pub fn check(core: &Core) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut fail = |id, detail: String| found.push(Violation { id, detail });
    for (at, task) in core.tasks.iter().enumerate() {
        let id = compass_common::ids::TaskId(at as u32);
        let holders: Vec<_> =
            core.workers.iter().filter(|(_, worker)| worker.held.contains(&id)).map(|(id, _)| id).collect();
        match &task.state {
            TaskState::Granted { worker } if holders != [worker] => {
                fail("G1", format!("task {id} is granted to {worker} but held by {holders:?}"));
            }
            TaskState::Granted { .. } => {}
            _ if !holders.is_empty() => fail("G1", format!("task {id} is {:?} but held by {holders:?}", task.state)),
            _ => {}
        }
        if (task.state == TaskState::Pending) != core.pending.contains(&id) {
            fail("P1", format!("task {id} is {:?} and in the queue: {}", task.state, core.pending.contains(&id)));
        }
        let done = core.recorded.done(task.unit);
        if let Some(index) = task.remaining.iter().find(|&index| done.contains(index)) {
            fail("C2", format!("sample {index} of unit {} is recorded and still to do", task.unit));
        }
    }
    let slots: u32 = core.workers.values().map(|worker| worker.slots).sum();
    if core.limits.max_slots.is_some_and(|most| slots > most) {
        fail("R1", format!("{slots} slots, {:?} allowed", core.limits.max_slots));
    }
    found
}
