//! A job on the echo engine whose workers are jobs of a fake `dlc`.

use crate::gate::GATE_VARIABLE;
use crate::job::Job;
use crate::processes::{program, wait_until};
use std::fs;
use std::path::PathBuf;

/// A folder with a fake `dlc`, and its commands.
pub struct FakeDlc {
    state: PathBuf,
    bin: PathBuf,
}

impl FakeDlc {
    /// Puts a fake `dlc` beside the job, and its settings into `aliyun.toml`; the job's programs find it from now on.
    /// `settings` are further lines of that file. What a job's command inherits is the job's own environment: its engines
    /// learn of the gate of `job` from there.
    pub fn install(job: &mut Job, settings: &str) -> Self {
        let dlc = Self { state: job.path("dlc_state"), bin: job.path("bin") };
        let made = fs::create_dir_all(&dlc.state)
            .and_then(|()| fs::create_dir_all(&dlc.bin))
            .and_then(|()| std::os::unix::fs::symlink(program("fake-dlc"), dlc.bin.join("dlc")));
        assert!(made.is_ok(), "{made:?}");
        let path = std::env::var("PATH").unwrap_or_default();
        job.set_env("PATH", &format!("{}:{path}", dlc.bin.display()));
        job.set_env("FAKE_DLC_STATE", &dlc.state.display().to_string());
        let gate = job.gate().path().display().to_string();
        let aliyun = format!(
            "workspace_id = \"ws1\"\nresource_id = \"quota1\"\nworker_image = \"registry/pai:1\"\ndata_sources = [\"d-1\"]\n\
             dlc_sleep_time = 0\nextra_envs = [\"{GATE_VARIABLE}={gate}\"]\n{settings}\n"
        );
        job.write("aliyun.toml", &aliyun);
        dlc
    }

    /// Sets the faults: `name=number`, one in each line.
    pub fn faults(&self, faults: &str) {
        let partial = self.state.join("faults.partial");
        let written = fs::write(&partial, faults).and_then(|()| fs::rename(&partial, self.state.join("faults")));
        assert!(written.is_ok(), "{written:?}");
    }

    /// Takes the program away.
    pub fn uninstall(&self) {
        let removed = fs::remove_file(self.bin.join("dlc"));
        assert!(removed.is_ok(), "{removed:?}");
    }

    /// Every call so far, as its words.
    pub fn calls(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.state.join("calls")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Jobs with their states, by id.
    pub fn jobs(&self) -> Vec<(String, String)> {
        let entries = fs::read_dir(&self.state).into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|id| id.starts_with("dlc"));
        let mut jobs: Vec<(String, String)> = ids
            .filter_map(|id| {
                let bytes = fs::read(self.state.join(&id).join("status.json")).ok()?;
                let state: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
                Some((id, state["status"].as_str()?.to_owned()))
            })
            .collect();
        jobs.sort();
        jobs
    }

    /// Takes the place of a job that runs.
    pub fn preempt(&self, job: &str) {
        let asked = fs::write(self.state.join(job).join("preempt"), "");
        assert!(asked.is_ok(), "{asked:?}");
    }

    /// Has the node of a job that runs fail, which DLC answers by a restart of the job; returns once its command has ended.
    pub fn fail_node(&self, job: &str) {
        let path = self.state.join(job).join("fail_node");
        let asked = fs::write(&path, "");
        assert!(asked.is_ok(), "{asked:?}");
        wait_until("the job is restarted", || (!path.exists()).then_some(()));
    }

    /// The job that runs; there must be one alone.
    pub fn running(&self) -> String {
        let mut running = self.jobs().into_iter().filter(|(_, state)| state == "Running");
        match (running.next(), running.next()) {
            (Some((id, _)), None) => id,
            _ => unreachable!("one job runs: {:?}", self.jobs()),
        }
    }

    /// State of a job.
    pub fn state(&self, job: &str) -> String {
        self.jobs().into_iter().find_map(|(id, state)| (id == job).then_some(state)).unwrap_or_default()
    }

    /// Waits until no job is left that waits or runs.
    pub fn assert_all_over(&self) {
        let is_over = |state: &str| matches!(state, "Succeeded" | "Failed" | "Stopped");
        wait_until("every job has ended", || self.jobs().iter().all(|(_, state)| is_over(state)).then_some(()));
    }
}
