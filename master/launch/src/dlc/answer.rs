//! The meaning of `dlc`'s answers. Pure.

use serde_json::Value;

/// A job as the service tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DlcJob {
    pub(super) status: Status,
    /// Reason for the status, where one is given.
    pub(super) reason: String,
    /// Time at which it was made, by the clock of the service.
    pub(super) created: String,
}

/// The states of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// It waits, or its machine is prepared: as the service calls it.
    Waiting(String),
    Running,
    Restarting,
    Stopping,
    Succeeded,
    Failed,
    Stopped,
    Preempted,
}

/// The id in the table that a submission prints: a cell of its own that begins with `dlc`.
pub(super) fn job_id(output: &str) -> Option<&str> {
    let cells = output.lines().filter(|line| line.contains('|')).flat_map(|line| {
        // What stands before the first bar and after the last is outside the table.
        let inner = line.split_once('|').and_then(|(_, rest)| rest.rsplit_once('|'));
        inner.map_or("", |(inner, _)| inner).split('|')
    });
    cells.map(str::trim).find(|cell| {
        let id = cell.strip_prefix("dlc");
        id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase()))
    })
}

/// The job that `dlc get job` prints, whatever lines stand before and after its JSON.
pub(super) fn job_state(output: &str) -> Option<DlcJob> {
    let starts = output.match_indices('{').map(|(at, _)| at);
    let mut starts = starts.filter(|at| output[..*at].chars().next_back().is_none_or(|before| before == '\n'));
    let document: Value = starts.find_map(|at| {
        let mut values = serde_json::Deserializer::from_str(&output[at..]).into_iter::<Value>();
        values.next()?.ok().filter(|value| value.get("Status").is_some_and(Value::is_string))
    })?;
    let text = |key: &str| document.get(key).and_then(Value::as_str).unwrap_or_default();
    let mut reason = text("ReasonMessage").trim();
    if reason.is_empty() {
        reason = text("ReasonCode");
    }
    let preempted = ["ReasonCode", "ReasonMessage", "SubStatus"]
        .iter()
        .any(|key| text(key).to_ascii_lowercase().contains("preempt"));
    let status = match text("Status") {
        "Running" => Status::Running,
        "Restarting" => Status::Restarting,
        "Stopping" => Status::Stopping,
        "Succeeded" | "SucceededReserving" => Status::Succeeded,
        // A job that is preempted for good may be called either.
        "Failed" | "FailedReserving" | "Stopped" if preempted => Status::Preempted,
        "Failed" | "FailedReserving" => Status::Failed,
        "Stopped" => Status::Stopped,
        other => Status::Waiting(other.into()),
    };
    Some(DlcJob { status, reason: one_line(reason), created: text("GmtCreateTime").into() })
}

/// Returns the refusal of `dlc`: the text behind `[FAILED]`, without the number of the request.
pub(super) fn refusal(output: &str) -> Option<String> {
    let line = output.lines().find_map(|line| line.trim().strip_prefix("[FAILED]"))?;
    let line = line.split(" request id:").next().unwrap_or(line);
    Some(one_line(line))
}

/// Returns whether a request to stop came too late, which is as good.
pub(super) fn is_over_already(refusal: &str) -> bool {
    refusal.contains("can't be stopped, because it is")
}

/// Returns whether a refusal is for good: the service understood and said no (code 4xx).
pub(super) fn is_for_good(refusal: &str) -> bool {
    let code = refusal.split_once("code:").map(|(_, rest)| rest.trim_start());
    code.is_some_and(|code| code.starts_with('4') && !code.starts_with("429"))
}

/// Lines of a log, where there are some.
pub(super) fn log_lines(output: &str) -> Option<&str> {
    let nothing = output.trim().is_empty() || output.contains("[WARN] No logs found for the pod");
    (!nothing && refusal(output).is_none()).then_some(output)
}

/// The first line that says something, short enough for a sentence.
pub(super) fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().filter(|c| !c.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_stands_in_a_table() {
        let table =
            "warning: dlcnot this\n+---+---+\n| JOBID | REQUESTID |\n+---+---+\n|  dlc1a2b3c  | 5F-dlc |\n+---+---+\n";
        assert_eq!(job_id(table), Some("dlc1a2b3c"));
        assert_eq!(job_id("|dlc9|"), Some("dlc9"));
        for none in ["", "dlc1a2b", "| dlc |", "| dlcABC |", "|", "| adlc1 |", "[FAILED] code: 400, no | dlc1"] {
            assert_eq!(job_id(none), None, "{none}");
        }
    }

    #[test]
    fn the_job_is_found_behind_whatever_is_printed_before() {
        let json = r#"{"LauncherJobId": "dlc1", "Status": "Running", "GmtCreateTime": "2026-01-02T03:04:05Z"}"#;
        for before in ["", "[OK] Get job\n", "[FAILED] hm\n", "/bin/bash: warning: {x}\n", "{\"x\": 1}\n", "{ broken\n"]
        {
            let state = job_state(&format!("{before}{json}\n")).unwrap();
            assert_eq!((state.status, state.created.as_str()), (Status::Running, "2026-01-02T03:04:05Z"), "{before}");
        }
        for none in ["", "[FAILED] code: 503, Service unavailable", "{\"Status\": \"Run", "{}", "null"] {
            assert_eq!(job_state(none), None, "{none}");
        }
    }

    #[test]
    fn states_and_their_reasons() {
        let status = |status: &str, reason: &str| {
            let state = job_state(&serde_json::json!({"Status": status, "ReasonCode": reason}).to_string()).unwrap();
            (state.status, state.reason)
        };
        assert_eq!(status("Queuing", "").0, Status::Waiting("Queuing".into()));
        assert_eq!(status("SomethingNew", "").0, Status::Waiting("SomethingNew".into()));
        assert_eq!(status("Stopped", "JobStoppedByUser").0, Status::Stopped);
        assert_eq!(status("Stopped", "JobPreempted").0, Status::Preempted);
        assert_eq!(status("Failed", "Preempted by x").0, Status::Preempted);
        assert_eq!(status("Failed", "ImagePull"), (Status::Failed, "ImagePull".into()));
        assert_eq!(status("FailedReserving", "").0, Status::Failed);
        assert_eq!(status("Running", "was preempted once").0, Status::Running);
    }

    #[test]
    fn refusals_are_sentences_and_some_are_for_good() {
        let refused =
            refusal("warn\n[FAILED] code: 400, Job can't be stopped, because it is Stopped request id: 5-A\n").unwrap();
        assert_eq!(refused, "code: 400, Job can't be stopped, because it is Stopped");
        assert!(is_over_already(&refused) && is_for_good(&refused));
        assert!(
            !is_for_good("code: 503, Service unavailable") && !is_for_good("code: 429, slower") && !is_for_good("no")
        );
        assert_eq!(refusal("[OK] fine"), None);
        assert_eq!(log_lines("[WARN] No logs found for the pod\n"), None);
        assert_eq!(log_lines("a\nb\n"), Some("a\nb\n"));
    }
}
