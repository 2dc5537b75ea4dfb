//! The rules of the state, asked of the state.

use super::{C2, G1, Violation};
use crate::state::Core;
use crate::task::TaskState;

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
