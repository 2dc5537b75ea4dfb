//! Information from Slurm about a task of a step: name, GPUs, end time, and whether another task of the node does the work.
//!
//! Pure: the environment is an argument.

use std::time::{Duration, SystemTime};

/// Task of a Slurm step; outside Slurm every field is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SlurmTask {
    /// Unique among all tasks of the cluster.
    pub(crate) name: Option<String>,
    /// Number of engines unless the command line sets it.
    pub(crate) slots: u32,
    /// Time at which Slurm ends the job.
    pub(crate) ends_at: Option<SystemTime>,
    /// Reason why this task has no work; another task of its node does it.
    pub(crate) idle_reason: Option<String>,
}

impl SlurmTask {
    /// Reads the environment through `get`.
    pub(crate) fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| get(name).filter(|value| !value.is_empty());
        let Some(job) = get("SLURM_JOB_ID") else {
            return Self { name: None, slots: 1, ends_at: None, idle_reason: None };
        };
        let number = |name: &str| get(name).and_then(|value| value.parse::<u64>().ok());
        let seen = get("CUDA_VISIBLE_DEVICES").map_or(0, |list| count(&list));
        let of_step = get("SLURM_STEP_GPUS").or_else(|| get("SLURM_JOB_GPUS")).map_or(seen, |list| count(&list));
        let local = number("SLURM_LOCALID").unwrap_or(0);
        // Tasks with bound GPUs see a part of the step's; if every task sees all GPUs, only one can use them.
        let shared = seen > 0 && seen >= of_step && tasks_here(&get) > 1;
        let idle_reason = (shared && local > 0).then(|| {
            format!("task {local} of this node sees the same {seen} GPUs as task 0, which uses all of them: nothing left to do")
        });
        let step = get("SLURM_STEP_ID").map(|step| format!(".{step}")).unwrap_or_default();
        let task = number("SLURM_PROCID").unwrap_or(0);
        // An earlier worker of a requeued job may still run on an unreachable node.
        let restarts = number("SLURM_RESTART_COUNT").filter(|count| *count > 0);
        let restarts = restarts.map(|count| format!("r{count}")).unwrap_or_default();
        Self {
            name: Some(format!("slurm-{job}{step}-{task}{restarts}")),
            slots: seen.clamp(1, 1024),
            ends_at: number("SLURM_JOB_END_TIME").map(|end| SystemTime::UNIX_EPOCH + Duration::from_secs(end)),
            idle_reason,
        }
    }
}

/// Counts list entries: `0,1,3` has three.
fn count(list: &str) -> u32 {
    list.split(',').map(str::trim).take_while(|name| !name.is_empty() && !name.starts_with('-')).count() as u32
}

/// Number of the step's tasks on this node: `SLURM_STEP_TASKS_PER_NODE` reads `8(x2),4`, indexed by node number.
fn tasks_here(get: &impl Fn(&str) -> Option<String>) -> u32 {
    let list = get("SLURM_STEP_TASKS_PER_NODE").or_else(|| get("SLURM_TASKS_PER_NODE")).unwrap_or_default();
    let node: u32 = get("SLURM_NODEID").and_then(|node| node.parse().ok()).unwrap_or(0);
    let mut first = 0u32;
    for run in list.split(',') {
        let (tasks, nodes) = run.split_once("(x").unwrap_or((run, "1)"));
        let nodes: u32 = nodes.trim_end_matches(')').parse().unwrap_or(1);
        if node < first.saturating_add(nodes) {
            return tasks.parse().unwrap_or(1);
        }
        first = first.saturating_add(nodes);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(environment: &[(&str, &str)]) -> SlurmTask {
        SlurmTask::read(|name| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn outside_slurm_all_fields_are_empty() {
        let task = read(&[("CUDA_VISIBLE_DEVICES", "0,1")]);
        assert_eq!((task.name, task.slots, task.idle_reason), (None, 1, None));
    }

    #[test]
    fn single_task_of_a_node_uses_all_gpus() {
        let step = [("SLURM_JOB_ID", "7"), ("SLURM_STEP_ID", "0"), ("SLURM_STEP_TASKS_PER_NODE", "1(x8)")];
        let more = [("SLURM_NODEID", "3"), ("SLURM_PROCID", "3"), ("SLURM_LOCALID", "0"), ("SLURM_STEP_GPUS", "0,1")];
        let task = read(&[&step[..], &more[..], &[("CUDA_VISIBLE_DEVICES", "0,1")]].concat());
        assert_eq!((task.name.as_deref(), task.slots, task.idle_reason), (Some("slurm-7.0-3"), 2, None));
    }

    #[test]
    fn requeued_job_has_another_name() {
        let name = |restarts| read(&[("SLURM_JOB_ID", "7"), ("SLURM_RESTART_COUNT", restarts)]).name.unwrap();
        assert_eq!((name("0").as_str(), name("2").as_str()), ("slurm-7-0", "slurm-7-0r2"));
    }

    #[test]
    fn first_of_several_unbound_tasks_uses_all_gpus() {
        let step = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_TASKS_PER_NODE", "2(x2),4"),
            ("SLURM_STEP_GPUS", "0,1,2,3"),
            ("CUDA_VISIBLE_DEVICES", "0,1,2,3"),
        ];
        let at = |node, local| read(&[&step[..], &[("SLURM_NODEID", node), ("SLURM_LOCALID", local)]].concat());
        assert_eq!((at("2", "0").idle_reason, at("2", "0").slots), (None, 4));
        assert!(at("2", "3").idle_reason.unwrap().contains("task 3 of this node"));
        assert!(at("0", "1").idle_reason.is_some());
    }

    #[test]
    fn tasks_with_bound_gpus_or_without_gpus_all_work() {
        let bound = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_STEP_TASKS_PER_NODE", "4"),
            ("SLURM_STEP_GPUS", "4,5,6,7"),
            ("CUDA_VISIBLE_DEVICES", "0"),
            ("SLURM_LOCALID", "2"),
            ("SLURM_PROCID", "2"),
        ];
        assert_eq!((read(&bound).idle_reason, read(&bound).slots), (None, 1));
        let without = [("SLURM_JOB_ID", "7"), ("SLURM_TASKS_PER_NODE", "4"), ("SLURM_LOCALID", "2")];
        assert_eq!((read(&without).idle_reason, read(&without).slots), (None, 1));
    }

    #[test]
    fn end_of_the_job_comes_from_slurm() {
        let end = read(&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_END_TIME", "1800000000")]).ends_at;
        assert_eq!(end, Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)));
    }
}
