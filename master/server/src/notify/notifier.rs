//! Sends notices: to addresses and to a program, side by side, each with a deadline.

use super::notice::Notice;
use compass_cli::exit;
use compass_common::status_output::report;
use compass_diagnostic::Diagnostic;
use compass_jobs::{Failure, JobRegistry};
use compass_run::JobHandle;
use compass_run_folder::RunFolder;
use compass_scheduler::broker::JobId;
use compass_settings::{NotifyConfig, NotifyEvent};
use compass_storage::post_json;
use serde_json::Value;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;

/// For a program to end.
const PROGRAM: Duration = Duration::from_secs(30);

/// Tells the people of one job.
#[derive(Clone, Debug)]
pub(crate) struct Notifier {
    pub config: NotifyConfig,
    /// Name and place of the run folder.
    run: String,
    folder: String,
    job_handle: JobHandle,
    /// Registry that knows the job's share of the workers.
    registry: Arc<JobRegistry>,
    id: JobId,
}

impl Notifier {
    /// For the job of this folder.
    pub(crate) fn new(
        config: NotifyConfig,
        folder: &RunFolder,
        job_handle: JobHandle,
        (registry, id): (Arc<JobRegistry>, JobId),
    ) -> Self {
        let place = std::fs::canonicalize(folder.root()).unwrap_or_else(|_| folder.root().into());
        Self { config, run: folder.name(), folder: place.display().to_string(), job_handle, registry, id }
    }

    /// Returns the reasons why nothing comes in: the text of `explain`.
    pub(crate) async fn reasons(&self) -> Vec<String> {
        match self.registry.job(&self.id.0) {
            Ok(job) => self.registry.explain_job(&job).await,
            // It has just ended.
            Err(_) => Vec::new(),
        }
    }

    pub(super) fn idle_after(&self) -> Duration {
        self.config.idle
    }

    pub(super) fn job_handle(&self) -> &JobHandle {
        &self.job_handle
    }

    /// Tells how the job ended. A job that another master leads by now is that one's to tell of.
    pub(crate) async fn ended(&self, ran: &Result<u8, Failure>) {
        let notice = match ran {
            Ok(code) => {
                let words = match self.job_handle.cancelled() {
                    Some(reason) => format!("was cancelled ({reason})"),
                    None if *code == exit::SCORED => "has ended".to_owned(),
                    None => "has ended, and something is missing".to_owned(),
                };
                let table = self.job_handle.table().unwrap_or_default();
                self.notice(NotifyEvent::End, Some(*code), &words, table)
            }
            Err(failure) if failure.code == exit::LEADERSHIP_LOST => return,
            Err(failure) => {
                let words = format!("ended without a table, with exit code {}", failure.code);
                self.notice(NotifyEvent::Failure, Some(failure.code), &words, failure.diagnostics.to_string())
            }
        };
        self.tell(&notice).await;
    }

    /// A notice of this job as it stands now.
    pub(super) fn notice(&self, event: NotifyEvent, code: Option<u8>, words: &str, details: String) -> Notice {
        let (_, view) = self.job_handle.view();
        let headline = format!("run {} {words}", self.run);
        let (run, folder) = (self.run.clone(), self.folder.clone());
        // Where answers of an earlier run are scored, no stage has counted any.
        let samples = (view.expected_samples > 0).then_some((view.recorded_samples, view.expected_samples));
        Notice { event, run, folder, code, samples, cancelled: self.job_handle.cancelled(), headline, details }
    }

    /// Tells everybody, side by side.
    pub(super) async fn tell(&self, notice: &Notice) {
        // Where samples are missing somebody who asked for failures alone is told as well.
        let is_lacking = notice.event == NotifyEvent::End && notice.code != Some(exit::SCORED);
        let also = is_lacking.then_some(NotifyEvent::Failure);
        if ![Some(notice.event), also].into_iter().flatten().any(|event| self.config.on.contains(&event)) {
            return;
        }
        let (json, text) = (notice.json(), notice.lark());
        let webhook = async {
            if let Some(url) = &self.config.webhook {
                warn("webhook", post_json(url, &json.to_string()).await.map_err(|error| error.to_string()));
            }
        };
        let lark = async {
            if let Some(url) = &self.config.lark {
                let answered = post_json(url, &text.to_string()).await.map_err(|error| error.to_string());
                warn("lark", answered.and_then(|answer| taken(&answer)));
            }
        };
        let command = async {
            if let Some((program, arguments)) = self.config.command.split_first() {
                warn("command", run(program, arguments, notice, &json).await);
            }
        };
        tokio::join!(webhook, lark, command);
    }
}

/// Lark answers 200 to what it does not take, and says so in `code`.
fn taken(answer: &str) -> Result<String, String> {
    let read: Value = serde_json::from_str(answer).unwrap_or_default();
    match read.get("code").and_then(Value::as_i64).unwrap_or(0) {
        0 => Ok(String::new()),
        code => {
            let said = read.get("msg").and_then(Value::as_str).unwrap_or_default();
            Err(format!("the bot does not take it: code {code} {said}").trim_end().to_owned())
        }
    }
}

async fn run(program: &str, arguments: &[String], notice: &Notice, json: &Value) -> Result<String, String> {
    let mut command = tokio::process::Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).kill_on_drop(true);
    command.env("COMPASS_EVENT", notice.event.name()).env("COMPASS_RUN_DIR", &notice.folder);
    let mut child = command.spawn().map_err(|error| format!("cannot start `{program}`: {error}"))?;
    let input = child.stdin.take();
    let ended = async {
        if let Some(mut input) = input {
            // A program may end without reading it.
            let _ = input.write_all(json.to_string().as_bytes()).await;
        }
        child.wait().await
    };
    match tokio::time::timeout(PROGRAM, ended).await {
        Err(_) => Err(format!("`{program}` did not end within {} s", PROGRAM.as_secs())),
        Ok(Err(error)) => Err(format!("cannot wait for `{program}`: {error}")),
        Ok(Ok(status)) if status.success() => Ok(String::new()),
        Ok(Ok(status)) => Err(format!("`{program}` ended with {status}")),
    }
}

fn warn(key: &str, told: Result<String, String>) {
    if let Err(reason) = told {
        report(Diagnostic::warning(format!("[notify] {key}: {reason}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bot_that_refuses_is_heard() {
        assert_eq!(taken("{\"code\":0,\"msg\":\"success\"}"), Ok(String::new()));
        assert_eq!(taken("ok"), Ok(String::new()));
        let refused = taken("{\"code\":19024,\"msg\":\"Key Words Not Found\"}").unwrap_err();
        assert_eq!(refused, "the bot does not take it: code 19024 Key Words Not Found");
    }

    #[tokio::test]
    async fn people_are_told_that_a_job_was_cancelled_and_why() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(work_dir.path(), "20260102_030405").unwrap();
        let told = work_dir.path().join("told");
        let command = ["sh", "-c", &format!("cat > {}", told.display())].map(str::to_owned).to_vec();
        let on = [NotifyEvent::End].into();
        let config = NotifyConfig { webhook: None, lark: None, command, on, idle: Duration::from_secs(60) };
        let (job_handle, registry) = (JobHandle::default(), Arc::default());
        let notifier = Notifier::new(config, &folder, job_handle.clone(), (registry, JobId("3f".into())));
        job_handle.cancel("wrong model".into()).await;
        notifier.ended(&Ok(exit::INCOMPLETE)).await;
        let told: Value = serde_json::from_slice(&std::fs::read(told).unwrap()).unwrap();
        assert_eq!((&told["event"], &told["cancelled"]), (&"end".into(), &"wrong model".into()));
        assert_eq!(told["text"], "run 20260102_030405 was cancelled (wrong model)");
    }
}
