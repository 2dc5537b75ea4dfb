//! The output of `squeue`, in JSON and in columns, as of Slurm 22.05 and of later versions. Pure.
//!
//! Numbers are plain in 22.05 and `{ "set": true, "number": 7 }` later; a job's state is a word, then a list of words. Tasks
//! of an array that still wait are one entry with `array_task_string`, `"3-5,7%2"`.

use super::launcher::{JobOutcome, JobState, LauncherJobId, SIGTERM, TERMINATED};
use serde_json::Value;

/// The entry of one job, or of one task of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedJob {
    /// `17`, or `17_3` for a task of an array.
    pub(super) job: LauncherJobId,
    pub(super) user: u32,
    pub(super) comment: String,
    /// Number of times that it was put back into the queue.
    pub(super) restarts: u64,
    pub(super) state: JobState,
}

impl QueuedJob {
    /// Returns whether it waits or runs.
    pub(super) fn is_live(&self) -> bool {
        !matches!(self.state, JobState::Ended(_))
    }
}

/// Form in which the queue is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueForm {
    Json,
    /// For a Slurm that was built without JSON, or is slow to make it.
    Columns,
}

/// Columns of known width, in bytes, before the exit code.
const COLUMNS: [(&str, usize); 6] =
    [("JobArrayID", 40), ("UserID", 16), ("RestartCnt", 16), ("State", 40), ("Reason", 100), ("Comment", 1000)];

impl QueueForm {
    /// The arguments of `squeue` for all jobs of a user.
    pub(super) fn arguments(self, user: u32) -> Vec<String> {
        let mut line = vec![format!("--user={user}"), "--states=all".into()];
        match self {
            Self::Json => line.push("--json".into()),
            Self::Columns => {
                let columns: Vec<String> = COLUMNS.iter().map(|(name, width)| format!("{name}:{width}")).collect();
                line.extend(["--noheader".into(), "--array".into()]);
                line.push(format!("--Format={},exit_code:20", columns.join(",")));
            }
        }
        line
    }

    /// Reads the answer; `None` when it is none.
    pub(super) fn entries(self, text: &str) -> Option<Vec<QueuedJob>> {
        match self {
            Self::Json => entries(text),
            Self::Columns => text.lines().filter(|line| !line.trim().is_empty()).map(entry_of_columns).collect(),
        }
    }
}

/// The entry of a line; `None` where it has other columns.
fn entry_of_columns(line: &str) -> Option<QueuedJob> {
    let mut rest = line;
    let mut column = |width: usize| {
        let (column, after) = rest.split_at_checked(width)?;
        rest = after;
        Some(column.trim())
    };
    let [job, user, restarts, state, reason, comment] = COLUMNS.map(|(_, width)| column(width));
    let (job, state, reason) = (job?, state?, reason?);
    if !job.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    // Version 22.05 prints the code as `waitpid` gives it, later ones its parts.
    let exit = match rest.trim().split_once(':') {
        Some((status, signal)) => (status.parse().ok()?, signal.parse().ok()?),
        None => parts(rest.trim().parse().unwrap_or(0)),
    };
    Some(QueuedJob {
        job: LauncherJobId(job.to_owned()),
        user: user?.parse().ok()?,
        comment: comment?.to_owned(),
        restarts: restarts?.parse().ok()?,
        state: state_of(&words(state), reason, exit),
    })
}

fn entries(json: &str) -> Option<Vec<QueuedJob>> {
    let answer: Value = serde_json::from_str(json).ok()?;
    let jobs = answer.get("jobs")?.as_array()?;
    Some(jobs.iter().flat_map(entries_of).collect())
}

fn entries_of(job: &Value) -> Vec<QueuedJob> {
    let Some(id) = number(job.get("job_id")) else { return Vec::new() };
    let user = number(job.get("user_id")).unwrap_or(u64::MAX) as u32;
    let comment = job.get("comment").map(comment).unwrap_or_default();
    let restarts = number(job.get("restart_cnt")).unwrap_or(0);
    let state = state(job);
    let entry = |job: String| QueuedJob {
        job: LauncherJobId(job),
        user,
        comment: comment.clone(),
        restarts,
        state: state.clone(),
    };
    match number(job.get("array_job_id")).filter(|array| *array > 0) {
        None => vec![entry(id.to_string())],
        Some(array) => {
            let waiting = job.get("array_task_string").and_then(Value::as_str).filter(|tasks| !tasks.is_empty());
            match (waiting, number(job.get("array_task_id"))) {
                (Some(tasks), _) => {
                    task_numbers(tasks).into_iter().map(|task| entry(format!("{array}_{task}"))).collect()
                }
                (None, Some(task)) => vec![entry(format!("{array}_{task}"))],
                (None, None) => vec![entry(array.to_string())],
            }
        }
    }
}

/// A comment is text; later versions nest what the administrator and the system say.
fn comment(value: &Value) -> String {
    let text = value.as_str().or_else(|| value.get("job").and_then(Value::as_str));
    text.unwrap_or_default().to_owned()
}

fn number(value: Option<&Value>) -> Option<u64> {
    let value = value?;
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let is_set = value.get("set").and_then(Value::as_bool).unwrap_or(false);
    value.get("number").and_then(Value::as_u64).filter(|_| is_set)
}

/// `0-2,7%3` is 0, 1, 2 and 7, three of them at a time. Long lists end in `...`.
fn task_numbers(text: &str) -> Vec<u64> {
    let list = text.split('%').next().unwrap_or_default();
    let mut tasks = Vec::new();
    for range in list.split(',') {
        let (range, step) = range.split_once(':').unwrap_or((range, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if let (Ok(first), Ok(last), Ok(step)) = (first.trim().parse(), last.trim().parse::<u64>(), step.parse()) {
            tasks.extend((first..=last.min(first + 100_000)).step_by(std::cmp::max(step, 1)));
        }
    }
    tasks
}

/// The words of a state, such as `RUNNING+COMPLETING`.
fn words(state: &str) -> Vec<&str> {
    state.split(['+', ' ', ',']).collect()
}

fn state(job: &Value) -> JobState {
    let states: Vec<&str> = match job.get("job_state") {
        Some(Value::String(state)) => words(state),
        Some(Value::Array(states)) => states.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let reason = job.get("state_reason").and_then(Value::as_str).unwrap_or_default();
    state_of(&states, reason, exit(job.get("exit_code")))
}

/// Returns the state that a job's states, Slurm's reason, exit code and signal mean.
fn state_of(states: &[&str], reason: &str, exit: (u64, u64)) -> JobState {
    let is = |state: &str| states.contains(&state);
    // Its processes may still run, and its GPUs are not free yet.
    if is("COMPLETING") || is("STAGE_OUT") {
        return JobState::Running;
    }
    for state in states {
        let outcome = match *state {
            "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "REQUEUE_FED" | "SPECIAL_EXIT" => {
                let reason = if reason == "None" { String::new() } else { reason.to_owned() };
                // After a launch that failed on a sick node. A user's own hold is the user's wish.
                let is_held =
                    ["JobHeldAdmin", "JobHoldMaxRequeue", "launch failed requeued held"].contains(&reason.as_str());
                return if is_held { JobState::Held { reason } } else { JobState::Queued { reason } };
            }
            "RUNNING" | "CONFIGURING" | "SUSPENDED" | "STOPPED" | "RESIZING" | "SIGNALING" => return JobState::Running,
            "COMPLETED" => JobOutcome::Done,
            "CANCELLED" | "REVOKED" => JobOutcome::Cancelled,
            "PREEMPTED" => JobOutcome::Preempted,
            "TIMEOUT" | "DEADLINE" => JobOutcome::Walltime,
            "NODE_FAIL" | "BOOT_FAIL" => JobOutcome::NodeFailed,
            "OUT_OF_MEMORY" => JobOutcome::Failed { reason: "Slurm ended it for want of memory".into() },
            "FAILED" => failed(exit, reason),
            _ => continue,
        };
        return JobState::Ended(outcome);
    }
    // An unknown state: the job is there.
    JobState::Running
}

/// Exit code and signal, which 22.05 gives as `waitpid` does, and later versions in parts.
fn exit(code: Option<&Value>) -> (u64, u64) {
    match code.and_then(Value::as_u64) {
        Some(raw) => parts(raw),
        None => {
            let part = |key: &str| code.and_then(|code| number(code.get(key)));
            let signal = code.and_then(|code| number(code.get("signal")?.get("id")));
            (part("return_code").unwrap_or(0), signal.unwrap_or(0))
        }
    }
}

/// Exit code and signal of what `waitpid` gives.
fn parts(raw: u64) -> (u64, u64) {
    (raw >> 8, raw & 0x7f)
}

fn failed((status, signal): (u64, u64), why: &str) -> JobOutcome {
    let reason = match (status, signal, why) {
        (_, 53, _) => "Slurm could not write its output: do the nodes see work_dir?".to_owned(),
        (_, signal, _) if signal == u64::from(SIGTERM.unsigned_abs()) => return JobOutcome::Terminated,
        (_, signal, _) if signal > 0 => format!("its worker was ended by signal {signal}"),
        (_, _, "BadConstraints") => "no node can ever give it what it asks for (BadConstraints)".to_owned(),
        (0, _, why) => format!("Slurm could not run it ({why})"),
        (status, _, _) if status == u64::from(TERMINATED.unsigned_abs()) => return JobOutcome::Terminated,
        (status, _, _) => format!("its worker ended with exit code {status}"),
    };
    JobOutcome::Failed { reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(id: &str) -> LauncherJobId {
        LauncherJobId(id.into())
    }

    fn queued(reason: &str) -> JobState {
        JobState::Queued { reason: reason.into() }
    }

    /// `squeue --json` of a Slurm 22.05.8, less the keys that are not read: tasks of arrays and jobs that wait, run, have
    /// ended in good order, with an exit code, by a signal, were cancelled, lost their node, reached their time.
    #[test]
    fn a_captured_answer() {
        let found = entries(include_str!("slurm_queue_22_05.json")).unwrap();
        let seen: Vec<(&str, &JobState)> = found.iter().map(|entry| (entry.job.0.as_str(), &entry.state)).collect();
        let expected: Vec<(&str, JobState)> = vec![
            ("1_0", JobState::Running),
            ("1_1", JobState::Ended(JobOutcome::Cancelled)),
            ("1_2", JobState::Running),
            ("1_3", JobState::Ended(JobOutcome::Done)),
            ("5", JobState::Ended(JobOutcome::Walltime)),
            ("6", JobState::Ended(JobOutcome::Failed { reason: "its worker ended with exit code 3".into() })),
            ("7", JobState::Ended(JobOutcome::Failed { reason: "its worker was ended by signal 9".into() })),
            ("8", JobState::Ended(JobOutcome::NodeFailed)),
            ("14", queued("BeginTime")),
            ("15_0", queued("Resources")),
            ("15_1", queued("Resources")),
            ("15_2", queued("Resources")),
            ("16_0", queued("Priority")),
        ];
        for (job, state) in &expected {
            assert!(seen.contains(&(job, state)), "{job} {state:?} in {seen:#?}");
        }
        assert!(found.iter().all(|entry| entry.comment.starts_with("compass ") && entry.user == 0), "{found:#?}");
    }

    /// A line of `squeue --Format` of a Slurm 22.05.8.
    fn line(columns: [&str; 6], exit_code: &str) -> String {
        let columns = columns.iter().zip(COLUMNS).map(|(column, (_, width))| format!("{column:width$}"));
        columns.chain([format!("{exit_code:20}\n")]).collect()
    }

    #[test]
    fn columns_say_the_same() {
        let comment = "compass run=é job=b stage=c pool=p master=h:1";
        let of = |job, state, reason, code| line([job, "5", "2", state, reason, comment], code);
        let text = [
            of("1_0", "RUNNING", "None", "0"),
            of("1_1", "PENDING", "Resources", "0"),
            of("2_0", "FAILED", "NonZeroExitCode", "768"),
            of("2_1", "FAILED", "NonZeroExitCode", "3:0"),
            of("3", "FAILED", "NonZeroExitCode", "0:15"),
            of("4", "TIMEOUT", "TimeLimit", "0"),
            of("5", "COMPLETING", "None", ""),
        ];
        let found = QueueForm::Columns.entries(&text.concat()).unwrap();
        let seen: Vec<(&str, JobState)> =
            found.iter().map(|entry| (entry.job.0.as_str(), entry.state.clone())).collect();
        let failed = || JobState::Ended(JobOutcome::Failed { reason: "its worker ended with exit code 3".into() });
        let expected = [
            ("1_0", JobState::Running),
            ("1_1", queued("Resources")),
            ("2_0", failed()),
            ("2_1", failed()),
            ("3", JobState::Ended(JobOutcome::Terminated)),
            ("4", JobState::Ended(JobOutcome::Walltime)),
            ("5", JobState::Running),
        ];
        assert_eq!(seen, expected);
        assert!(found.iter().all(|entry| entry.comment == comment && entry.user == 5 && entry.restarts == 2));
        assert_eq!(QueueForm::Columns.entries(""), Some(Vec::new()));
        assert_eq!((QueueForm::Columns.entries("{\"jobs\": []}"), QueueForm::Columns.entries("17 R")), (None, None));
    }

    #[test]
    fn later_versions_say_it_otherwise() {
        let text = r#"{"jobs": [
            {"job_id": 9, "user_id": 5, "array_job_id": {"set": true, "infinite": false, "number": 9},
             "array_task_id": {"set": false, "infinite": false, "number": 0}, "array_task_string": "1-4:2,8%3",
             "comment": "compass x", "job_state": ["PENDING"], "state_reason": "Priority"},
            {"job_id": 10, "user_id": 5, "array_job_id": {"set": true, "infinite": false, "number": 9},
             "array_task_id": {"set": true, "infinite": false, "number": 0}, "array_task_string": "",
             "comment": {"administrator": "", "job": "compass x", "system": ""}, "job_state": ["RUNNING", "COMPLETING"]},
            {"job_id": 11, "user_id": 5, "array_job_id": {"set": true, "infinite": false, "number": 0},
             "job_state": ["FAILED"], "comment": "compass x", "state_reason": "NonZeroExitCode",
             "exit_code": {"return_code": {"set": true, "number": 4}, "signal": {"id": {"set": false, "number": 0}}}}
        ]}"#;
        let found = entries(text).unwrap();
        let ids: Vec<&str> = found.iter().map(|entry| entry.job.0.as_str()).collect();
        assert_eq!(ids, ["9_1", "9_3", "9_8", "9_0", "11"]);
        assert_eq!((found[0].state.clone(), found[3].state.clone()), (queued("Priority"), JobState::Running));
        let reason = "its worker ended with exit code 4".to_owned();
        assert_eq!(found[4].state, JobState::Ended(JobOutcome::Failed { reason }));
        for exit_code in [143 << 8, 15] {
            let ended = format!(
                r#"{{"jobs": [{{"job_id": 4, "job_state": "FAILED", "state_reason": "x", "exit_code": {exit_code}}}]}}"#
            );
            assert_eq!(entries(&ended).unwrap()[0].state, JobState::Ended(JobOutcome::Terminated), "{exit_code}");
        }
        assert!(found.iter().all(|entry| entry.comment == "compass x" && entry.user == 5));
        let held =
            r#"{"jobs": [{"job_id": 4, "job_state": "PENDING", "state_reason": "launch failed requeued held"}]}"#;
        assert!(matches!(entries(held).unwrap()[0].state, JobState::Held { .. }));
        assert_eq!((entries("squeue: error"), entries("{}")), (None, None));
        assert_eq!(job("11"), found[4].job);
    }
}
