//! A job: a folder with its request, its state, and its log. Files are written whole, so that readers see whole ones.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The states that the service knows and this stand-in uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Queuing,
    EnvPreparing,
    Running,
    Restarting,
    Stopping,
    Succeeded,
    Failed,
    Stopped,
}

impl Status {
    const ALL: [Self; 8] = [
        Self::Queuing,
        Self::EnvPreparing,
        Self::Running,
        Self::Restarting,
        Self::Stopping,
        Self::Succeeded,
        Self::Failed,
        Self::Stopped,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Queuing => "Queuing",
            Self::EnvPreparing => "EnvPreparing",
            Self::Running => "Running",
            Self::Restarting => "Restarting",
            Self::Stopping => "Stopping",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Stopped => "Stopped",
        }
    }

    /// Returns whether nothing follows.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Stopped)
    }
}

/// Folder of a job: its request, its state, and its log.
#[derive(Debug)]
pub(super) struct Job {
    id: String,
    state: PathBuf,
    folder: PathBuf,
}

impl Job {
    /// The job of this id, whether it exists or not.
    pub(super) fn new(state: &Path, id: &str) -> Self {
        let is_id = id.starts_with("dlc") && id.chars().all(|c| c.is_ascii_alphanumeric());
        let name = if is_id { id } else { "none" };
        Self { id: id.to_owned(), state: state.to_owned(), folder: state.join(name) }
    }

    /// A new job.
    pub(super) fn create(state: &Path, name: &str, command: &str) -> Result<Self, String> {
        for number in 0u32.. {
            let job = Self::new(state, &format!("dlc{:x}{number:x}", 0x1a2b_3c4d_u32 ^ std::process::id()));
            match fs::create_dir(&job.folder) {
                Ok(()) => {
                    let asked = json!({ "name": name, "command": command, "created": timestamp() });
                    job.write("asked.json", &asked.to_string());
                    job.set(Status::Queuing, "");
                    return Ok(job);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("no id is left".into())
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The folder with everything about all jobs.
    pub(super) fn state(&self) -> &Path {
        &self.state
    }

    /// Returns whether anybody is still interested in the job.
    pub(super) fn is_there(&self) -> bool {
        self.folder.is_dir()
    }

    fn write(&self, name: &str, text: &str) {
        let partial = self.folder.join(format!("{name}.{}", std::process::id()));
        let _ = fs::write(&partial, text).and_then(|()| fs::rename(&partial, self.folder.join(name)));
    }

    fn read(&self, name: &str) -> Option<Value> {
        serde_json::from_slice(&fs::read(self.folder.join(name)).ok()?).ok()
    }

    /// Sets the state, with the reason of one that is not as usual.
    pub(super) fn set(&self, status: Status, reason: &str) {
        self.write("status.json", &json!({ "status": status.name(), "reason": reason }).to_string());
    }

    pub(super) fn status(&self) -> Option<Status> {
        let state = self.read("status.json")?;
        Status::ALL.into_iter().find(|status| state["status"] == status.name())
    }

    pub(super) fn command(&self) -> String {
        self.read("asked.json").and_then(|asked| Some(asked["command"].as_str()?.to_owned())).unwrap_or_default()
    }

    /// JobCommands the supervisor for something.
    pub(super) fn ask(&self, what: &str) {
        let _ = fs::write(self.folder.join(what), "");
    }

    /// Returns whether the supervisor is asked for it.
    pub(super) fn is_asked(&self, what: &str) -> bool {
        self.folder.join(what).exists()
    }

    /// Notes that the supervisor has done what was requested.
    pub(super) fn answer(&self, what: &str) {
        let _ = fs::remove_file(self.folder.join(what));
    }

    /// Returns the document that `dlc get job` prints.
    pub(super) fn document(&self) -> Option<Value> {
        let (asked, state) = (self.read("asked.json")?, self.read("status.json")?);
        let reason = state["reason"].as_str().unwrap_or_default();
        let code = reason.split(':').next().unwrap_or_default();
        Some(json!({
            "JobId": self.id,
            "DisplayName": asked["name"],
            "JobType": "PyTorchJob",
            "Status": state["status"],
            "ReasonCode": code,
            "ReasonMessage": reason,
            "GmtCreateTime": asked["created"],
            "UserCommand": asked["command"],
        }))
    }

    /// Returns the path of the log.
    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Returns the time at which each line of the log was written, and the line.
    pub(super) fn log_lines(&self) -> Vec<(String, String)> {
        let text = fs::read(self.log_path()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().filter_map(|line| line.split_once('\t')).map(|(at, line)| (at.into(), line.into())).collect()
    }
}

/// Now, as the service writes it.
pub(super) fn timestamp() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_what_was_asked_and_how_it_stands() {
        let state = tempfile::tempdir().unwrap();
        let job = Job::create(state.path(), "a name", "exit 3").unwrap();
        assert_eq!((job.status(), job.command().as_str()), (Some(Status::Queuing), "exit 3"));
        job.set(Status::Stopped, "JobPreempted: by a job of higher priority");
        let again = Job::new(state.path(), job.id());
        let document = again.document().unwrap();
        assert_eq!(
            (document["Status"].as_str(), document["ReasonCode"].as_str()),
            (Some("Stopped"), Some("JobPreempted"))
        );
        assert!(document["GmtCreateTime"].as_str().unwrap().ends_with('Z'));
        assert!(Job::new(state.path(), "../etc").document().is_none());
    }
}
